package convex_test

import (
	"math"
	"testing"

	"github.com/noregret/noregret/convex"
	"pgregory.net/rapid"
)

// TestKL holds KL to Pinsker's inequality on the simplex, KL ≥ ½‖x−y‖₁², and to known values.
func TestKL(t *testing.T) {
	x, y := []float64{.5, .3, .2}, []float64{.2, .2, .6}
	near(t, "KL(x;y)", convex.KL(x, y), 0.3600624406, 1e-10)
	near(t, "KL(y;x)", convex.KL(y, x), 0.3948162052, 1e-10)
	near(t, "½l1²", 0.5*math.Pow(convex.L1.Of(sub(x, y)), 2), 0.32, 1e-12)
	rapid.Check(t, func(t *rapid.T) {
		r := source(t)
		d := rapid.IntRange(2, 9).Draw(t, "d")
		s := must(convex.NewSimplex(d))
		x, y := member(s, r), member(s, r)
		for i := range y {
			y[i] = (y[i] + 0.01/float64(d)) / 1.01
		}
		if l := convex.L1.Of(sub(x, y)); convex.KL(x, y) < 0.5*l*l*(1-1e-12) {
			t.Fatalf("KL(%v; %v) = %v < ½·%v²", x, y, convex.KL(x, y), l)
		}
	})
	if got := convex.KL([]float64{1, 0}, []float64{0.5, 0.5}); math.Abs(got-math.Ln2) > 1e-15 {
		t.Errorf("0 ln 0 is not 0: %v", got)
	}
	if got := convex.KL([]float64{1, 1}, []float64{1, 0}); !math.IsInf(got, 1) {
		t.Errorf("KL with y_i = 0 < x_i is %v", got)
	}
	if got := convex.KL([]float64{1 + 1e-12}, []float64{1}); math.Abs(got/5e-25-1) > 1e-3 {
		t.Errorf("KL(1+1e-12; 1) = %v, want 5e-25", got)
	}
}

// TestConjugateOfExp: the conjugate of e^x is θ ln θ − θ for θ > 0, 0 at 0 and +Inf below, here
// against a supremum by search.
func TestConjugateOfExp(t *testing.T) {
	// The value of m is the conjugate of e^x, as its conjugate is e^θ.
	m := must(convex.NewUnnormalizedEntropy(1))
	for _, theta := range []float64{0, 0.2, 1, 2.5} {
		best := math.Inf(-1)
		for x := -40.0; x < 5; x += 1e-4 {
			best = max(best, theta*x-math.Exp(x))
		}
		near(t, "conjugate of e^x", m.Value([]float64{theta}), best, 1e-7)
	}
	if !math.IsInf(m.Value([]float64{-1}), 1) {
		t.Error("the conjugate of e^x is finite below 0")
	}
	near(t, "e^1", m.Conjugate([]float64{1}), math.E, 1e-15)
}
