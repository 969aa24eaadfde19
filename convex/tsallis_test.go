package convex_test

import (
	"math"
	"testing"

	"github.com/noregret/noregret/convex"
)

// TestTsallisValues compares values with ones computed independently, and the limit q → 1 with the
// negative entropy.
func TestTsallisValues(t *testing.T) {
	x := []float64{.2, .3, .5}
	for q, want := range map[float64]float64{.5: -1.404085868, .9: -1.091939818, .999: -1.030249843} {
		near(t, "ψ_q", must(convex.NewTsallis(3, q)).Value(x), want, 1e-9)
	}
	near(t, "q → 1", must(convex.NewTsallis(3, 1-1e-12)).Value([]float64{.25, .25, .5}), -1.5*math.Ln2, 1e-9)
	near(t, "Shannon", must(convex.NewNegativeEntropy(3)).Value(x), -1.029653014, 1e-9)
}
