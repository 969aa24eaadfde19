// Package released turns noisy sums, as private/aggregate releases them after every round, into
// observations for the default learner of package pasto. What the learner then does is a function
// of the released sums and of public counts.
package released

import (
	"fmt"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/vec"
	"github.com/noregret/noregret/pasto"
)

// Source is where the sums come from: *aggregate.Sums of package private/aggregate is one. All that
// it says is public and does not change.
type Source interface {
	// Midpoint is what values of a metric are centred at.
	Midpoint(metric int) float64
	// Deviation is the standard deviation of the noise in the sums of a metric that round t
	// releases, 0 for t = 0.
	Deviation(t int64, metric int) float64
	// Between is an upper bound on that of the difference of the sums of two rounds.
	Between(earlier, t int64, metric int) float64
}

// A Reader reads the released sums of the rounds of an experiment, one after the other. Its state
// is public. It is not safe for concurrent use.
type Reader struct {
	// State is what the reader keeps, for snapshots.
	State  State
	source Source
}

// State is the state of a [Reader] of K arms and M metrics.
type State struct {
	Rounds int64     // that have been read
	Seen   []int64   // K: the last round in which the arm had units; 0 for none
	Sums   []float64 // K·M: what that round released; 0 for none
}

// New returns a reader of the sums of so many arms and metrics, before the first round. The error
// is that of a number below 1 or a missing source.
func New(source Source, arms, metrics int) (*Reader, error) {
	switch {
	case source == nil:
		return nil, noregret.BadInputf("source", "nil: want *aggregate.Sums")
	case arms < 1:
		return nil, noregret.BadInputf("arms", "%d: want 1 or more", arms)
	case metrics < 1:
		return nil, noregret.BadInputf("metrics", "%d: want 1 or more", metrics)
	}
	s := State{Seen: make([]int64, arms), Sums: make([]float64, arms*metrics)}
	return &Reader{source: source, State: s}, nil
}

// Round reads the next round: the number of units of each arm that its sums count, and the sums
// that it released, arm by arm. It returns an observation for each arm with units, for
// [confident.Learner], and none if no arm has any. What is released of an arm without units waits
// for its next units, so that the observations of an arm add up to its last sum. The error is that
// of a wrong length, a negative number of units or a number that is not finite; the state is then
// unchanged. It takes O(K·M).
func (r *Reader) Round(units []int64, sums []float64) ([]pasto.Observation, error) {
	s := &r.State
	if len(units) != len(s.Seen) || len(sums) != len(s.Sums) {
		return nil, noregret.BadInputf("round", "%d numbers of units and %d sums: want %d and %d", len(units),
			len(sums), len(s.Seen), len(s.Sums))
	}
	for k, n := range units {
		if n < 0 {
			return nil, noregret.BadInputf(fmt.Sprintf("units[%d]", k), "%d: want 0 or more", n)
		}
	}
	for j, v := range sums {
		if !vec.IsFinite(v) {
			return nil, noregret.BadInputf(fmt.Sprintf("sums[%d]", j), "%v: want a finite number", v)
		}
	}
	s.Rounds++
	m := len(s.Sums) / len(s.Seen)
	var round []pasto.Observation
	for k, n := range units {
		if n == 0 {
			continue
		}
		o := pasto.Observation{
			Arm: k, Size: float64(n), Earlier: true, Metrics: make([]float64, m),
			Noise: &pasto.Noise{Step: make([]float64, m), Total: make([]float64, m)},
		}
		for i := range m {
			j := k*m + i
			o.Metrics[i] = r.source.Midpoint(i) + (sums[j]-s.Sums[j])/o.Size
			step, total := r.source.Between(s.Seen[k], s.Rounds, i), r.source.Deviation(s.Rounds, i)
			o.Noise.Step[i], o.Noise.Total[i] = float64(step*step), float64(total*total)
			s.Sums[j] = sums[j]
		}
		s.Seen[k] = s.Rounds
		round = append(round, o)
	}
	return round, nil
}
