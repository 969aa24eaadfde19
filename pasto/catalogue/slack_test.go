package catalogue

import (
	"strings"
	"testing"

	"github.com/noregret/noregret/pasto"
)

// A utility that is not concave in its box is refused by every learner before it learns; one whose
// gradient is by differences is not.
func TestLearnersRefuseConvexUtility(t *testing.T) {
	square := func(theta []float64) float64 { return theta[0] * theta[0] }
	u := &pasto.Utility{Name: "square", Metrics: 1, U: square, DU: func(dst, theta []float64) {
		dst[0] = 2 * theta[0]
	}, Lower: []float64{-1}, Upper: []float64{1}}
	rough := &pasto.Utility{
		Name: "rough", Metrics: 1, U: func(theta []float64) float64 { return -square(theta) },
		DU: func(dst, theta []float64) {
			dst[0] = (square([]float64{theta[0] - 1e-6}) - square([]float64{theta[0] + 1e-6})) / 2e-6
		},
		Lower: []float64{-1}, Upper: []float64{1},
	}
	for _, a := range Algorithms() {
		if _, err := New(a.Name, u, 2, 100, nil); err == nil ||
			!strings.Contains(err.Error(), "objective: it is not concave") {
			t.Errorf("%s: %v", a.Name, err)
		}
		if _, err := New(a.Name, rough, 2, 100, nil); err != nil {
			t.Errorf("%s: %v", a.Name, err)
		}
	}
}
