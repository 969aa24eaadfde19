package oco

import (
	"math"
	"testing"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/convex"
	"github.com/noregret/noregret/internal/random"
)

// TestMiniBatchIsTheMean: the learner inside sees the means of the batches, and its point stays for
// each of them.
func TestMiniBatchIsTheMean(t *testing.T) {
	inner, plain := descent(space(3), nil, Constant(.5)), descent(space(3), nil, Constant(.5))
	l := must(NewMiniBatch(inner, 2))
	for k, g := range g4 {
		nearVector(t, "x", l.Predict(), plain.Predict())
		if err := l.Update(g); err != nil {
			t.Fatal(err)
		}
		if k%2 == 1 {
			mean := make([]float64, 3)
			for i := range mean {
				mean[i] = (g4[k-1][i] + g[i]) / 2
			}
			if err := plain.Update(mean); err != nil {
				t.Fatal(err)
			}
		}
	}
	if l.Rounds() != 4 || inner.Rounds() != 2 {
		t.Errorf("%d rounds, of the learner %d", l.Rounds(), inner.Rounds())
	}
	u := []float64{1, -1, 0}
	near(t, "bound", bound(t, l, u), 2*bound(t, plain, u))
	if err := l.UpdateSparse(Sparse{Index: []uint32{1}, Value: []float64{3}}); err != nil {
		t.Fatal(err)
	}
	near(t, "bound in a batch", bound(t, l, u), 2*bound(t, plain, u)+3*(l.Predict()[1]+1))
	if _, err := NewMiniBatch(inner, 0); err == nil {
		t.Error("batches of no rounds were taken")
	}
}

// TestImportanceIsScaling: weights scale subgradients and strong convexity, dense and sparse.
func TestImportanceIsScaling(t *testing.T) {
	box := must(convex.NewCube(3, -1, 1))
	l, plain := must(NewImportance(descent(box, nil, StronglyConvex(1)))), descent(box, nil, StronglyConvex(1))
	r := random.New(1, "importance")
	for k, g := range g4 {
		w := 3 * r.Float64()
		scaled := []float64{w * g[0], w * g[1], w * g[2]}
		var err error
		switch k {
		case 0:
			err = l.UpdateWeightedSparse(Sparse{Index: []uint32{0, 1, 2}, Value: g}, w)
			_ = plain.Update(scaled)
		case 1:
			err = l.UpdateWeightedCurved(g, w, .5)
			_ = plain.UpdateCurved(scaled, .5*w)
		default:
			err = l.UpdateWeighted(g, w)
			_ = plain.Update(scaled)
		}
		if err != nil {
			t.Fatal(err)
		}
		nearVector(t, "x", l.Predict(), plain.Predict())
	}
	for _, w := range []float64{-1, math.NaN(), math.Inf(1)} {
		if l.UpdateWeighted(g4[0], w) == nil ||
			l.UpdateWeightedSparse(Sparse{Index: []uint32{0}, Value: []float64{1}}, w) == nil {
			t.Errorf("the weight %v was taken", w)
		}
	}
	if l.Rounds() != 4 {
		t.Errorf("%d rounds", l.Rounds())
	}
}

// TestDoublingConstant: the bound is within √2/(√2 − 1) of that of a known horizon, at every T, and
// phases end after rounds 1, 3, 7, ...
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
			t.Errorf("after %v rounds the bound is %v, %v times that of a known horizon", rounds, b,
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
		t.Error("no learner was taken")
	}
}
