package convex_test

import (
	"math"
	"testing"

	"github.com/noregret/noregret/convex"
)

// TestCappedSimplexFar projects points so large that neighbouring float64s differ by more than the
// width of the set.
func TestCappedSimplexFar(t *testing.T) {
	up := math.Nextafter(1e50, math.Inf(1))
	for _, tc := range []struct {
		sum     float64
		v, want []float64
	}{
		{1, []float64{1e50, 1e50, -1e50}, []float64{0.5, 0.5, 0}},
		{1, []float64{-1e50, -1e50, -1e50}, []float64{1. / 3, 1. / 3, 1. / 3}},
		{1.5, []float64{1e50, 0, 0.25}, []float64{1, 0.125, 0.375}},
		{1.5, []float64{1e50, up, 3}, []float64{0.5, 1, 0}},
		{2, []float64{1e50, up, 3}, []float64{1, 1, 0}},
		{2.5, []float64{1e50, up, -1e300}, []float64{1, 1, 0.5}},
		{1.5, []float64{math.MaxFloat64, -math.MaxFloat64, 1e-300}, []float64{1, 0, 0.5}},
		{0.5, []float64{math.MaxFloat64, math.MaxFloat64, math.MaxFloat64}, []float64{1. / 6, 1. / 6, 1. / 6}},
		{1.25, []float64{1e17, 1e17 + 16, 1e17 - 16}, []float64{0.25, 1, 0}},
	} {
		c, err := convex.NewCappedSimplex(3, 1, tc.sum)
		if err != nil {
			t.Fatal(err)
		}
		x := make([]float64, 3)
		c.Project(x, tc.v)
		for i := range x {
			if !(math.Abs(x[i]-tc.want[i]) <= 1e-15) {
				t.Errorf("the projection of %v with sum %v is %v, want %v", tc.v, tc.sum, x, tc.want)
				break
			}
		}
	}
}
