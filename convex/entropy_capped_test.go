package convex_test

import (
	"math"
	"testing"

	"github.com/noregret/noregret/convex"
	"pgregory.net/rapid"
)

// TestEntropyOnCappedSimplexFar guards the search for the multiplier where the largest coordinates
// of θ are further apart than the logarithms of all float64s.
func TestEntropyOnCappedSimplexFar(t *testing.T) {
	bounded := func(lower, upper, sum float64, d int) convex.Set {
		l, u := make([]float64, d), make([]float64, d)
		for i := range l {
			l[i], u[i] = lower, upper
		}
		return must(convex.NewBoundedSimplex(l, u, sum))
	}
	for _, tc := range []struct {
		set         convex.Set
		theta, want []float64
	}{
		{
			bounded(0.01, 0.6, 1, 5),
			[]float64{0, -1000, -2000, -3000, -4200},
			[]float64{0.6, 0.37, 0.01, 0.01, 0.01},
		},
		{bounded(0, 0.6, 1, 3), []float64{0, -1e9, -2e9}, []float64{0.6, 0.4, 0}},
		{bounded(0, 0.6, 1, 3), []float64{1e9, -1e9, -1e9}, []float64{0.6, 0.2, 0.2}},
		{bounded(0, 0.6, 1, 4), []float64{1e9, -1e9, 0, 0}, []float64{0.6, 0, 0.2, 0.2}},
		{bounded(0.1, 0.6, 1.2, 3), []float64{1e300, 0, -1e300}, []float64{0.6, 0.5, 0.1}},
		{bounded(0, 1, 2, 3), []float64{0, 1000, 5000}, []float64{0, 1, 1}},
		{bounded(0.5, 1, 1.5, 3), []float64{0, 1000, 5000}, []float64{0.5, 0.5, 0.5}},
		{bounded(0, 1, 3, 3), []float64{0, 1000, 5000}, []float64{1, 1, 1}},
		{bounded(1e-300, 0.6, 1, 3), []float64{0, -800, -3000}, []float64{0.6, 0.4, 1e-300}},
		// One ulp of θ exceeds the width of the whole set; two coordinates share the rest.
		{bounded(0, 0.6, 1, 3), []float64{1e25, -1e25, math.Nextafter(-1e25, 0)}, []float64{0.6, 0, 0.4}},
		{bounded(0, 0.6, 1, 3), []float64{1e25, -5, -5}, []float64{0.6, 0.2, 0.2}},
		{
			bounded(0, 0.6, 1, 3),
			[]float64{1e25, -5, -5 + math.Ln2},
			[]float64{0.6, 0.4 / 3, 0.8 / 3},
		},
	} {
		for _, m := range []convex.MirrorMap{
			must(convex.NewNegativeEntropy(len(tc.theta))), must(convex.NewUnnormalizedEntropy(len(tc.theta))),
		} {
			x := make([]float64, len(tc.theta))
			must(convex.Restrict(m, tc.set)).Argmax(x, tc.theta)
			for i, want := range tc.want {
				if !(math.Abs(x[i]-want) <= 1e-14*want) {
					t.Errorf("%s: the argmax of %v is %v, want %v", m, tc.theta, x, tc.want)
					break
				}
			}
			if !tc.set.Contains(x, 0) {
				t.Errorf("%s: the argmax %v of %v is not a member of %s", m, x, tc.theta, tc.set)
			}
		}
	}
}

// TestEntropyOnCappedSimplexMultiplier checks the optimality conditions: θ_i − ln x_i is the same
// for all coordinates strictly between their sides, at most that value at a lower side and at least
// that value at an upper one.
func TestEntropyOnCappedSimplexMultiplier(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := source(t)
		d := rapid.IntRange(1, 12).Draw(t, "d")
		set := cappedSimplex(r, d).(*convex.CappedSimplex)
		if r.IntN(2) == 0 {
			set = floored(r, d).(*convex.CappedSimplex)
		}
		theta, x := farther(r, d), make([]float64, d)
		must(convex.Restrict(must(convex.NewNegativeEntropy(d)), set)).Argmax(x, theta)
		if !set.Contains(x, 0) {
			t.Fatalf("the argmax %v of %v is not a member of %s", x, theta, set)
		}
		// Coordinate a can fall and b can rise, so moving mass from a to b must not raise the
		// objective.
		for a := range d {
			for b := range d {
				lower, _ := set.Bounds(a)
				_, upper := set.Bounds(b)
				if !(x[a] > lower*(1+1e-12)) || !(x[b] < upper*(1-1e-12)) || x[a] < 1e-300 {
					continue
				}
				least := math.Log(max(x[b], 5e-324))
				gain := (theta[b] - theta[a]) - (least - math.Log(x[a]))
				if gain > 1e-11*(1+1e-4*math.Abs(theta[b]-theta[a])) {
					t.Fatalf("θ = %v on %s: x = %v, and moving mass from %d to %d gains %v", theta, set, x, a, b, gain)
				}
			}
		}
	})
}
