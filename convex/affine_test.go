package convex_test

import (
	"testing"

	"github.com/noregret/noregret/convex"
	"gonum.org/v1/gonum/mat"
)

func TestRedundantRows(t *testing.T) {
	a := must(convex.NewAffine(mat.NewDense(3, 3, []float64{1, 1, 0, 2, 2, 0, 0, 0, 4}), []float64{1, 2, 8}))
	if a.Rank() != 2 {
		t.Errorf("rank %d, want 2", a.Rank())
	}
	x := []float64{0, 0, 0}
	a.Project(x, x)
	nearAll(t, "projection", x, []float64{.5, .5, 2}, 1e-15)
	if free := must(convex.NewAffine(mat.NewDense(1, 2, nil), []float64{0})); free.Rank() != 0 ||
		!free.Contains([]float64{5, 6}, 0) {
		t.Error("no equation is left, but the set is not all of ℝ²")
	}
}
