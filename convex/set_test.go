package convex_test

import (
	"math"
	"testing"

	"github.com/noregret/noregret/convex"
)

// TestContainsIsRelativeToSize guards the one rule of membership: the tolerance is relative to the
// set's size wherever the set lies. A comparator that is outside by much of a radius would beat the
// regret bounds, which are relative to the diameter.
func TestContainsIsRelativeToSize(t *testing.T) {
	const tol = 1e-9
	for _, far := range []float64{0, 1, -1e3, 1e6} {
		for _, size := range []float64{1e-4, 1, 1e4} {
			shift := func(s convex.Set) convex.Set { return must(convex.NewShifted(s, []float64{far, far, far})) }
			for _, tc := range []struct {
				set convex.Set
				at  func(out float64) []float64 // outside by out times the size
			}{
				{
					shift(must(convex.NewCenteredBall(3, size))),
					func(out float64) []float64 { return []float64{far, far - size*(1+out), far} },
				},
				{
					shift(must(convex.NewCenteredLpBall(3, math.Inf(1), size))),
					func(out float64) []float64 { return []float64{far, far, far + size*(1+out)} },
				},
				{
					shift(must(convex.NewCube(3, 0, size))),
					func(out float64) []float64 { return []float64{far - size*out, far, far} },
				},
				{
					shift(must(convex.NewScaledSimplex(3, size))),
					func(out float64) []float64 { return []float64{far + size*(1+out), far - size*out, far} },
				},
				{
					shift(must(convex.NewScaledSimplex(3, size))),
					func(out float64) []float64 { return []float64{far + size/2, far + size*(0.5+out), far} },
				},
				{
					must(convex.NewProduct(must(convex.NewSpace(1)), shift(must(convex.NewCenteredBall(3, size))))),
					func(out float64) []float64 { return []float64{7, far, far - size*(1+out), far} },
				},
			} {
				rounding := 1e-15 * (math.Abs(far) + size) / size
				if x := tc.at(0.1*tol - rounding); !tc.set.Contains(x, tol) {
					t.Errorf("%s does not contain %v, outside by less than the tolerance", tc.set, x)
				}
				if x := tc.at(10*tol + 10*rounding); tc.set.Contains(x, tol) {
					t.Errorf("%s contains %v, outside by more than the tolerance", tc.set, x)
				}
			}
		}
	}
	// A coordinate without a width still takes its own rounding.
	point := must(convex.NewCube(1, 0.3, 0.3))
	if x := []float64{math.Nextafter(0.3, 1)}; !point.Contains(x, tol) || point.Contains(x, 0) {
		t.Errorf("membership of %v is %v with a tolerance and %v without", x, point.Contains(x, tol),
			point.Contains(x, 0))
	}
	// One side is infinite: relative to the finite one, or 1.
	orthant := must(convex.NewOrthant(1))
	if !orthant.Contains([]float64{-1e-10}, tol) || orthant.Contains([]float64{-1e-8}, tol) {
		t.Error("the orthant's tolerance is not 1e-9")
	}
}
