package ascent

import (
	"fmt"
	"testing"

	"github.com/noregret/noregret/pasto"
	"github.com/noregret/noregret/pasto/internal/pastotest"
)

// The forms without importance weights are unbiased under a fixed p, given that the arm has been
// observed. The test enumerates all draws of three rounds with one group and all signs of a
// two-valued noise. Self-normalized weights are unbiased too, because all weights of an arm are
// then equal.
func TestMeansUnbiasedByEnumeration(t *testing.T) {
	mu, p := []float64{1, -2, .5}, []float64{.5, .3, .2}
	const rounds, outcomes = 3, 6
	for _, form := range []Estimator{
		ArmMeans(), SelfNormalized(), DiscountedMeans(.3), WindowMeans(2),
		WindowMeans(5),
	} {
		sum, weight := [3]float64{}, [3]float64{}
		for code := range outcomes * outcomes * outcomes {
			e, prob, c := newEstimate(form, 3, 1, nil, 0), 1.0, code
			var seen [3]bool
			for range rounds {
				k, sign := c%3, float64(1-2*(c/3%2))
				c /= outcomes
				prob *= p[k] / 2
				seen[k] = true
				e.add(p, []pasto.Observation{{Arm: k, Metrics: []float64{mu[k] + 4*sign}}}, 0)
			}
			for k := range 3 {
				if seen[k] {
					sum[k] += prob * e.value(k, 0)
					weight[k] += prob
				}
			}
		}
		for k := range 3 {
			pastotest.Near(t, fmt.Sprintf("%v: E V̂[%d] given that it was seen", form, k), sum[k]/weight[k], mu[k],
				1e-12)
			pastotest.Near(t, "probability to be seen", weight[k], 1-(1-p[k])*(1-p[k])*(1-p[k]), 1e-12)
		}
	}
}
