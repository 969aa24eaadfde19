package play

import (
	"context"
	"math"
	"testing"

	"github.com/noregret/noregret/drift"
	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/regret"
)

// TestCostPlayer: the referee gives the learner what it would observe by itself, and one point a
// round.
func TestCostPlayer(t *testing.T) {
	game, err := regret.NewTarget(regret.Jump, 50, 20, 0, 1)
	if err != nil {
		t.Fatal(err)
	}
	learner := func() *drift.EGS {
		l, err := drift.NewEGS(drift.EGSOptions{Set: game.Set(), Curvature: 1, Depth: 2})
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	p, err := NewCostPlayer(learner(), 7)
	if err != nil {
		t.Fatal(err)
	}
	if a, b := p.Predict()[0], p.Predict()[0]; a != b {
		t.Errorf("two points in a round: %v and %v", a, b)
	}
	if p.Update([]float64{1}) == nil {
		t.Error("a gradient was accepted")
	}
	if p.UpdateCost(math.NaN()) == nil {
		t.Error("a cost of NaN was accepted")
	}
	if p, err = NewCostPlayer(learner(), 7); err != nil {
		t.Fatal(err)
	}
	c, err := regret.Play(context.Background(), p, game, 50, regret.Options{})
	if err != nil {
		t.Fatal(err)
	}
	alone, r, want := learner(), random.New(7, "play/costs"), 0.0
	for k := 1; k <= 50; k++ {
		x, err := alone.Play(r)
		if err != nil {
			t.Fatal(err)
		}
		b := regret.Jump.Target(k, 20, 50)
		v := x[0]*x[0]/2 - b*x[0] + 1
		want += v
		if err := alone.Observe(v); err != nil {
			t.Fatal(err)
		}
	}
	if math.Abs(c.LearnerLoss-want) > 1e-9 {
		t.Errorf("loss %v, want %v", c.LearnerLoss, want)
	}
	if _, err := NewCostPlayer(nil, 1); err == nil {
		t.Error("no learner was accepted")
	}
}
