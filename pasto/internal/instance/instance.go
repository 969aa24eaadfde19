// Package instance makes the reproducible random tables of means that scenarios and tests use.
package instance

import (
	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/pasto"
)

// Uniform returns a table with entries 2u − 1, where u are draws from SplitMix64 with state seed,
// metric by metric.
func Uniform(arms, metrics int, seed uint64) (*pasto.Table, error) {
	t, err := pasto.NewTable(arms, metrics)
	if err != nil {
		return nil, err
	}
	s := random.SplitMix64(seed)
	for m := range metrics {
		for k := range arms {
			t.Arm(k)[m] = float64(2*float64(s.Float64())) - 1
		}
	}
	return t, nil
}
