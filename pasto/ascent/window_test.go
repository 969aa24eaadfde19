package ascent

import (
	"testing"

	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/pasto"
	"github.com/noregret/noregret/pasto/internal/pastotest"
)

// The window's means depend only on the observations in the window.
func TestWindow(t *testing.T) {
	e := newEstimate(WindowMeans(7), 3, 1, nil, 0)
	r := random.New(5, "test")
	var all [][]pasto.Observation
	for n := range 100 {
		obs := []pasto.Observation{
			{Arm: r.IntN(3), Metrics: []float64{r.NormFloat64()}},
			{Arm: r.IntN(2), Metrics: []float64{r.NormFloat64()}},
		}
		all = append(all, obs)
		e.add(nil, obs, 0)
		sum, count := [3]float64{}, [3]float64{}
		for _, round := range all[max(0, n-6):] {
			for _, o := range round {
				sum[o.Arm] += o.Metrics[0]
				count[o.Arm]++
			}
		}
		for k := range 3 {
			if count[k] > 0 {
				pastotest.Near(t, "mean", e.value(k, 0), sum[k]/count[k], 1e-12)
			}
		}
	}
}
