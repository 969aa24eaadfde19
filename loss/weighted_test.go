package loss

import (
	"testing"
)

// TestZeroWeight checks that an example of weight 0 has no loss, whatever the prediction.
func TestZeroWeight(t *testing.T) {
	f := must(NewWeighted(must(NewExample([]float64{1}, 1, LogLoss{})), 0))
	g := []float64{1}
	f.Subgradient(g, []float64{0}) // -1/0
	if f.Value([]float64{0}) != 0 || g[0] != 0 || f.Lipschitz(1) != 0 || f.Smoothness() != 0 {
		t.Errorf("value %v, subgradient %v, constants %v and %v, want 0", f.Value([]float64{0}), g, f.Lipschitz(1),
			f.Smoothness())
	}
}
