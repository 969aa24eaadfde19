package papers

import (
	"context"
	"testing"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/testsize"
)

// TestDriftRates: in every setting the measured regret is above the lower bound and below the upper
// one at every point, and grows with the horizon and with the variation by the theory's powers, up
// to what constants and logarithms change at these sizes (lab/docs/drift-tables.md has the full
// form).
func TestDriftRates(t *testing.T) {
	rates, err := runDriftRates(context.Background(), DriftOptions{Runs: testsize.Of(20, 3), Seed: 1},
		[]int{4000, 16000, 64000}, []float64{1, 4, 16}, 16000)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rates {
		for _, list := range [][]DriftPoint{r.Horizons, r.Variations} {
			if len(list) != 3 {
				t.Fatalf("%s: %d points", r.Setting, len(list))
			}
			for _, p := range list {
				if !(p.Regret-4*p.Error > p.Floor && p.Regret+4*p.Error < p.Bound && p.Floor > 0) {
					t.Errorf("%s: %+v", r.Setting, p)
				}
			}
		}
		for name, s := range map[string]DriftSlope{"T": r.InRounds, "V": r.InVariation} {
			within(t, r.Setting+": slope in "+name, float64(s.Value), float64(s.Theory), float64(0.12+3*s.Error))
		}
		if !(r.InRounds.Error > 0 && r.InRounds.Error < 0.1) || r.InVariation.Error != r.InVariation.Error {
			t.Errorf("%s: %+v, %+v", r.Setting, r.InRounds, r.InVariation)
		}
	}
	if _, err := RunDriftRates(context.Background(), DriftOptions{}); noregret.CodeOf(err) != noregret.Usage {
		t.Errorf("no runs: %v", err)
	}
}
