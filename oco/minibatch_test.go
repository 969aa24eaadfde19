package oco

import (
	"bytes"
	"testing"

	"github.com/noregret/noregret/convex"
	"github.com/noregret/noregret/internal/random"
)

// TestMiniBatchIsTheMean: the inner learner sees the means of the batches, and its point does not
// change within a batch.
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
		t.Errorf("%d rounds, the inner learner has %d", l.Rounds(), inner.Rounds())
	}
	u := []float64{1, -1, 0}
	near(t, "bound", bound(t, l, u), 2*bound(t, plain, u))
	if err := l.UpdateSparse(Sparse{Index: []uint32{1}, Value: []float64{3}}); err != nil {
		t.Fatal(err)
	}
	near(t, "bound in a batch", bound(t, l, u), 2*bound(t, plain, u)+3*(l.Predict()[1]+1))
	if _, err := NewMiniBatch(inner, 0); err == nil {
		t.Error("batches of 0 rounds were accepted")
	}
}

// TestMiniBatchCurved: with strongly convex losses the regret is within the bound, also if only
// some rounds of a batch state a constant. A snapshot in the middle of a batch keeps the constants.
func TestMiniBatchCurved(t *testing.T) {
	const mu = 2
	cube := must(convex.NewCube(1, -1, 1))
	make := func() *MiniBatch { return must(NewMiniBatch(descent(cube, nil, StronglyConvex(mu)), 4)) }
	for name, given := range map[string]func(k int) bool{
		"all rounds":      func(int) bool { return true },
		"some rounds":     func(k int) bool { return k%4 != 1 },
		"no rounds":       func(int) bool { return false },
		"batches in turn": func(k int) bool { return k/4%2 == 0 },
	} {
		l, r := make(), random.New(1, name)
		u := []float64{.2}
		var regret float64
		for k := range 402 {
			x, c := l.Predict()[0], u[0]+float64(2*r.IntN(2)-1)
			regret += (x-c)*(x-c) - (u[0]-c)*(u[0]-c)
			g := []float64{2 * (x - c)}
			if given(k) {
				if err := l.UpdateCurved(g, mu); err != nil {
					t.Fatal(err)
				}
			} else if err := l.Update(g); err != nil {
				t.Fatal(err)
			}
			if k == 200 { // in a batch
				data := must(l.MarshalBinary())
				l = make()
				if err := l.UnmarshalBinary(data); err != nil {
					t.Fatal(err)
				}
				if !bytes.Equal(data, must(l.MarshalBinary())) {
					t.Errorf("%s: the snapshot differs after a restore", name)
				}
			}
		}
		if b := bound(t, l, u); !(regret <= b+1e-9) || b > 100 {
			t.Errorf("%s: regret %v, bound %v", name, regret, b)
		}
	}
	l := make()
	if l.UpdateCurved([]float64{1}, -1) == nil {
		t.Error("a negative constant was accepted")
	}
}
