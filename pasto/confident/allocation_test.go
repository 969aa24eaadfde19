package confident

import (
	"math"
	"testing"

	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/stat"
	"github.com/noregret/noregret/pasto"
)

// Observe allocates nothing where hard guardrails are promised, rounds have effects, the variances
// of units are known or the sums are noisy, and arms change.
func TestObserveAllocatesNothing(t *testing.T) {
	for name, noisy := range map[string]bool{"variances of units": false, "noisy sums": true} {
		t.Run(name, func(t *testing.T) {
			l := newShop(t, 5)
			r := random.New(1, "allocations")
			const units = 20_000.
			obs, values, variances := make([]pasto.Observation, 5), make([]float64, 10), make([]float64, 10)
			noise := make([]pasto.Noise, 5)
			rates := [][2]float64{{.1, .05}, {.11, .05}, {.12, .051}, {.1, .052}, {.12, .049}}
			for k := range noise {
				noise[k] = pasto.Noise{Step: make([]float64, 2), Total: make([]float64, 2)}
			}
			n, changes := 0, 0
			round := func() {
				n++
				season := 1 + .2*math.Sin(float64(n)/7)
				for k := range obs {
					for i, v := range rates[k] {
						v *= season
						if k == 3 && n/60%2 == 1 { // it is much better at times
							v *= 1.5
						}
						j := 2*k + i
						variances[j] = v * (1 - v)
						values[j] = v + stat.Normal(r)*math.Sqrt(variances[j]/units)
						if noisy {
							values[j] += 10 * stat.Normal(r) / units
							noise[k].Step[i], noise[k].Total[i] = 100, 100
						}
					}
					obs[k] = pasto.Observation{Arm: k, Size: units, Metrics: values[2*k : 2*k+2]}
					if obs[k].Variances = variances[2*k : 2*k+2]; noisy {
						obs[k].Noise = &noise[k]
					}
					obs[k].Earlier = true
				}
				if err := l.Observe(obs); err != nil {
					t.Fatal(err)
				}
			}
			many := func() {
				before := l.Changes()
				for range 300 {
					round()
				}
				changes = l.Changes() - before
			}
			many()
			if n := testing.AllocsPerRun(3, many); n != 0 {
				t.Errorf("%v allocations in 300 rounds", n)
			}
			if changes == 0 {
				t.Error("no arm has changed: the test sees nothing")
			}
		})
	}
}
