package ascent

import (
	"math"
	"testing"

	"github.com/noregret/noregret/pasto"
	"github.com/noregret/noregret/pasto/internal/pastotest"
)

// AverageDecay makes the averages ones over a window: round t has the share max(1/t, decay). By
// hand for a step that takes the weights' ratio to 3, 9 and 27, π_1 = 1/2, 3/4, 9/10 and 27/28, and
// ε = 1/5.
func TestAverageDecay(t *testing.T) {
	f := pastotest.One(t, pasto.Metric{Name: "x"})
	for _, c := range []struct{ decay, want float64 }{
		{0, (1./2 + 3./4 + 9./10 + 27./28) / 4},
		{.25, (1./2 + 3./4 + 9./10 + 27./28) / 4}, // no window of four rounds yet
		{.5, (1./2+3./4)/8 + 9./10/4 + 27./28/2},
		{1, 27. / 28},
	} {
		for _, ship := range []Deploy{DeployAverageExploit, DeployAverage} {
			a := newAlgorithm(t, f, 2, Options{
				Estimator: ArmMeans(), Step: Constant(1), Exploration: Constant(.2),
				Deploy: ship, AverageDecay: c.decay,
			})
			for range 4 {
				if err := a.Observe([]pasto.Observation{{Arm: 0, Metrics: []float64{math.Log(3)}}}); err != nil {
					t.Fatal(err)
				}
			}
			want := c.want
			if ship == DeployAverage { // p = 0.8·π + 0.1
				want = .8*c.want + .1
			}
			pastotest.Near(t, a.String(), a.Deployed()[0], want, 1e-14)
		}
	}
}
