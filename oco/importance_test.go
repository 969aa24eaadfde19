package oco

import (
	"math"
	"testing"

	"github.com/noregret/noregret/convex"
	"github.com/noregret/noregret/internal/random"
)

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
			t.Errorf("the weight %v was accepted", w)
		}
	}
	if l.Rounds() != 4 {
		t.Errorf("%d rounds", l.Rounds())
	}
}
