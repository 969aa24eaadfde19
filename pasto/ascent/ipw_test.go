package ascent

import (
	"fmt"
	"math"
	"testing"

	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/stat"
	"github.com/noregret/noregret/internal/testsize"
	"github.com/noregret/noregret/pasto"
	"github.com/noregret/noregret/pasto/internal/pastotest"
	"github.com/noregret/noregret/pasto/internal/round"
)

// With a fixed p, the mean of Û over 10⁵ rounds is within five standard errors of μ, for Q
// = 1 and Q = 10, and its variance is (1/Q)·[(σ² + μ²)/p − μ²].
func TestImportanceWeightsStatistically(t *testing.T) {
	mu := pastotest.Table(t, []float64{1, -2, .5})
	p := []float64{.6, .3, .1}
	const sigma = 1.0
	steps := testsize.Of(100_000, 20_000)
	rounds := float64(steps)
	for _, q := range []int{1, 10} {
		for _, scheme := range []pasto.Scheme{pasto.IID, pasto.Systematic} {
			r := random.New(uint64(q), "test")
			e := newEstimate(IPW(), 3, 1, nil, 0)
			var s round.Sampler
			arms, obs := make([]int, q), make([]pasto.Observation, q)
			sum, square := [3]float64{}, [3]float64{}
			for range steps {
				s.Draw(r, p, arms, scheme)
				one := newEstimate(IPW(), 3, 1, nil, 0)
				for i, k := range arms {
					obs[i] = pasto.Observation{Arm: k, Metrics: []float64{mu.Arm(k)[0] + sigma*stat.Normal(r)}}
				}
				e.add(p, obs, 0)
				one.add(p, obs, 0)
				for k := range 3 {
					v := one.value(k, 0)
					sum[k] += v
					square[k] += v * v
				}
			}
			for k := range 3 {
				m := mu.Arm(k)[0]
				want := ((sigma*sigma+m*m)/p[k] - m*m) / float64(q)
				mean := sum[k] / rounds
				got := square[k]/rounds - mean*mean
				pastotest.Near(t, fmt.Sprintf("Q=%d mean of arm %d", q, k), mean, m, 5*math.Sqrt(want/rounds))
				pastotest.Near(t, "mean by V̂", e.value(k, 0), mean, 1e-9)
				if scheme == pasto.IID {
					pastotest.Near(t, "variance", got, want, .05*want*math.Sqrt(1e5/rounds))
				} else if got > want*(1+.02*math.Sqrt(1e5/rounds)) {
					t.Errorf("systematic draws have variance %v, independent ones %v", got, want)
				}
			}
		}
	}
}
