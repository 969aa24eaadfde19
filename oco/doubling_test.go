package oco

import (
	"math"
	"testing"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/convex"
)

// TestDoublingConstant: at every T the bound is at most √2/(√2 − 1) times that for a known horizon,
// and phases end after rounds 1, 3, 7, ...
func TestDoublingConstant(t *testing.T) {
	const D, L = 2., 1.
	box := must(convex.NewCube(1, -1, 1))
	l := must(NewDoubling("ogd", func(rounds int) (Learner, error) {
		return NewSubgradientDescent(box, nil, FixedHorizon(D, L, rounds))
	}))
	for k := range 200 {
		if err := l.Update([]float64{math.Copysign(L, l.Predict()[0])}); err != nil {
			t.Fatal(err)
		}
		rounds := float64(k + 1)
		if b := bound(t, l, []float64{1}); b > math.Sqrt2/(math.Sqrt2-1)*D*L*math.Sqrt(rounds+1) {
			t.Errorf("after %v rounds the bound is %v, %v times that for a known horizon", rounds, b,
				b/(D*L*math.Sqrt(rounds)))
		}
	}
	if n := len(l.phases); n != 8 {
		t.Errorf("%d phases in 200 rounds, want 8", n)
	}
	few := must(NewDoubling("few", func(rounds int) (Learner, error) {
		if rounds > 2 {
			return nil, noregret.BadInputf("rounds", "%d: too many", rounds)
		}
		return descent(box, nil, Constant(1)), nil
	}))
	for range 3 {
		if err := few.Update([]float64{1}); err != nil {
			t.Fatal(err)
		}
	}
	if few.Update([]float64{1}) == nil || few.Rounds() != 3 {
		t.Error("a phase without a learner was played")
	}
	if _, err := NewDoubling("nil", func(int) (Learner, error) { return nil, nil }); err == nil {
		t.Error("no learner was accepted")
	}
}
