package convex_test

import (
	"math"
	"testing"

	"github.com/noregret/noregret/convex"
)

// TestDualMaps: the factor of the gradient of ½‖x‖_p² is ‖x‖_p^{2−p}.
func TestDualMaps(t *testing.T) {
	m := must(convex.NewPNorm(2, 1.5))
	y := make([]float64, 2)
	m.Gradient(y, []float64{1, 2})
	nearAll(t, "dualmap_1.5", y, []float64{1.5643723389, 2.2123565783}, 1e-10)
	m.Inverse(y, []float64{1, 2})
	nearAll(t, "dualmap_3", y, []float64{0.4807498568, 1.9229994271}, 1e-10)
	near(t, "‖·‖^{2−p}", math.Sqrt(must(convex.NewLp(1.5)).Of([]float64{1, 2})), 1.5643723389, 1e-10)
	m.Gradient(y, []float64{0, 0})
	nearAll(t, "at 0", y, []float64{0, 0}, 0)
	m.Gradient(y, []float64{1e200, -2e200})
	nearAll(t, "huge", []float64{y[0] / 1e200, y[1] / 1e200}, []float64{1.5643723389, -2.2123565783}, 1e-10)
}
