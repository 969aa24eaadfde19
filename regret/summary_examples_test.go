package regret_test

import (
	"context"
	"math"
	"testing"

	"github.com/noregret/noregret/convex"
	"github.com/noregret/noregret/loss"
	"github.com/noregret/noregret/oco"
	"github.com/noregret/noregret/regret"
)

// TestExampleSummary: the best point over distinct examples is that of a replay of all rounds.
func TestExampleSummary(t *testing.T) {
	for _, rounds := range []int{7, 40, 101} {
		g, f, err := must(regret.FindGame("classification")).New(
			regret.GameParams{Dim: 4, Seed: 6, Options: map[string]float64{"examples": 40}})
		if err != nil {
			t.Fatal(err)
		}
		l := must(must(oco.Find("ogd-adaptive")).New(problem(g.Set(), rounds, f), nil))
		c := must(regret.Play(context.Background(), l, g, rounds, regret.Options{Checkpoints: 3}))
		if len(c.Curve) != 3 || !c.Holds() {
			t.Errorf("curve %v, regret %v, bound %v", c.Curve, c.Regret, c.Bound)
		}
		_, value, gap, err := regret.Replay(context.Background(), g, rounds)
		if err != nil || math.Abs(value-c.ComparatorLoss) > gap+c.Gap+1e-12*value || c.Gap > 1e-6*value {
			t.Errorf("T = %d: best %v with gap %v, by replays %v with gap %v (%v)", rounds, c.ComparatorLoss, c.Gap,
				value, gap, err)
		}
	}
	g := must(regret.NewClassification([]regret.Example{{[]float64{1}, 1}, {[]float64{2}, -1}}, 1))
	s := g.Summary()
	if s.Add(must(loss.NewExample([]float64{1}, 1, loss.LogisticLoss{}))) == nil {
		t.Error("another game's loss was accepted")
	}
	if _, _, err := s.Best(make([]float64, 1), must(convex.NewSpace(1))); err == nil {
		t.Error("an unbounded set has a best point")
	}
}
