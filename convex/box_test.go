package convex_test

import (
	"math"
	"testing"

	"github.com/noregret/noregret/convex"
)

func TestOpenBox(t *testing.T) {
	b := must(convex.NewOpenBox([]float64{0, math.Inf(-1)}, []float64{1, 2}))
	x := []float64{-3, 5}
	b.Project(x, x)
	if !(x[0] > 0 && x[0] < 1e-300 && x[1] < 2 && x[1] > 2-1e-15) {
		t.Errorf("projected to %v, want the points next to 0 and 2", x)
	}
	if b.Contains([]float64{0, 0}, 0) || b.Contains([]float64{0.5, 2}, 0) {
		t.Error("the open sides are members")
	}
}
