package oco

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/noregret/noregret/convex"
)

// TestAdaGradKernel holds the vector code to the plain one, bit for bit, zeros' signs included.
func TestAdaGradKernel(t *testing.T) {
	if !hasAdagradStep {
		t.Log("this processor runs the plain code only")
	}
	values := []float64{0, math.Copysign(0, -1), 1, -1, 0.1, 1e-3, 1e3, 1e-150, 1e150, 0x1p-450, 0x1p450, 5e-324, 1e308}
	sides := []float64{-1e3, -1, -0.5, math.Copysign(0, -1), 0, 0.25, 2}
	rapid.Check(t, func(t *rapid.T) {
		d := rapid.IntRange(1, 19).Draw(t, "d")
		lower, upper := make([]float64, d), make([]float64, d)
		for i := range d {
			a, b := rapid.SampledFrom(sides).Draw(t, "side"), rapid.SampledFrom(sides).Draw(t, "side")
			lower[i], upper[i] = min(a, b), max(a, b)
		}
		box := must(convex.NewBox(lower, upper))
		fast, plain := must(NewAdaGrad(box, nil)), must(NewAdaGrad(box, nil))
		pool := values
		if rapid.Bool().Draw(t, "moderate") {
			pool = values[:7]
		}
		g := make([]float64, d)
		for range rapid.IntRange(1, 30).Draw(t, "rounds") {
			for i := range g {
				g[i] = rapid.SampledFrom(pool).Draw(t, "g") *
					rapid.SampledFrom([]float64{1, -1, 1.5, 0.7}).Draw(t, "factor")
				if math.IsInf(g[i], 0) {
					g[i] = math.MaxFloat64
				}
			}
			if err := fast.Update(g); err != nil {
				t.Fatal(err)
			}
			for i, v := range g {
				plain.step(i, v)
			}
			for i := range g {
				a, b := fast.state, plain.state
				if math.Float64bits(a.X[i]) != math.Float64bits(b.X[i]) || a.Q[i] != b.Q[i] || a.Exp[i] != b.Exp[i] {
					t.Fatalf("coordinate %d after g = %v: x %v and %v, q %v and %v", i, g[i], a.X[i], b.X[i], a.Q[i],
						b.Q[i])
				}
			}
		}
	})
}

// TestAdaGradMembership: a comparator counts as inside by the rule of the set, relative to its
// size, and not by an absolute tolerance.
func TestAdaGradMembership(t *testing.T) {
	tiny := must(NewAdaGrad(must(convex.NewCube(2, 0, 1e-12)), nil))
	huge := must(NewAdaGrad(must(convex.NewCube(2, 0, 1e12)), nil))
	for _, l := range []*AdaGrad{tiny, huge} {
		if err := l.Update([]float64{1, -1}); err != nil {
			t.Fatal(err)
		}
	}
	if b := bound(t, tiny, []float64{1e-10, 0}); !math.IsInf(b, 1) {
		t.Errorf("a comparator a hundred sides outside of the box has the bound %v", b)
	}
	if b := bound(t, huge, []float64{1e12 + .1, 0}); math.IsInf(b, 1) {
		t.Error("a comparator outside by rounding has no bound")
	}
}
