package forget

import (
	"math"
	"slices"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/portable"
	"github.com/noregret/noregret/internal/snapshot"
)

// Event says when and why something was forgotten at once.
type Event struct {
	// Round is the round at whose end it happened.
	Round int
	// Arms are the parts of the learner that were begun anew; none stands for all.
	Arms []int
	// Cause is "interval" of a restart, the name of a detector, or what the learner says.
	Cause string
	// Statistic is the largest standardized residual of the round where a detector is the cause,
	// otherwise 0 or what the learner says.
	Statistic float64
}

// MostEvents is the number of events that a [Memory] keeps.
const MostEvents = 100

// Memory is what a learner that forgets by a rule keeps beside what it has learned. In each round
// the learner multiplies the weight of what it knows by Keep of the rule, learns, and calls Next;
// then it begins anew if Due says so, or passes residuals to Detect and begins anew after Alarm. A
// learner with the rule Window keeps its rounds by [Slide].
//
// It is not safe for concurrent use.
type Memory struct {
	rule     Rule
	triggers []Trigger // one for each series of residuals with the rule Detector, otherwise none
	s        MemoryState
}

// MemoryState is the state of a [Memory] in the snapshot of a learner.
type MemoryState struct {
	Rounds int // in all
	// Since is the number of rounds since everything was forgotten: 0 ≤ Since ≤ Rounds, and below
	// the interval of the rule Restart.
	Since    int
	Events   []Event // the last MostEvents, the oldest first
	Count    int     // of all events: Count ≥ len(Events)
	Triggers [][]byte
}

// NewMemory returns the memory of a rule at its start, for so many series of residuals. It returns
// an error of code bad_input for a rule that is not valid.
func NewMemory(r Rule, series int) (*Memory, error) {
	if err := r.Validate(); err != nil {
		return nil, err
	}
	m := &Memory{rule: r}
	return m, m.Grow(series)
}

// Grow makes the detectors of series that are new, so that there are at least so many.
func (m *Memory) Grow(series int) error {
	for m.rule.Kind == Detector && len(m.triggers) < series {
		t, err := m.rule.Trigger(Residuals)
		if err != nil {
			return err
		}
		m.triggers = append(m.triggers, t)
	}
	return nil
}

// Rule returns the rule.
func (m *Memory) Rule() Rule { return m.rule }

// Next counts a round, which the learner has learned from.
func (m *Memory) Next() {
	m.s.Rounds++
	m.s.Since++
}

// Due reports whether the learner is to begin anew because the interval of the rule Restart has
// ended, and records it.
func (m *Memory) Due() bool {
	if m.rule.Kind != Restart || m.s.Since < m.rule.Rounds {
		return false
	}
	m.s.Since = 0
	m.Note(nil, "interval", 0)
	return true
}

// Detect passes a standardized residual of a series to its detector, and reports whether that finds
// a change. It returns an error of code bad_input, and changes nothing, if z is not finite.
func (m *Memory) Detect(series int, z float64) (changed bool, err error) {
	return m.triggers[series].Add(z)
}

// Alarm records that the detector is the cause of what the learner begins anew, and resets the
// detectors of all series.
func (m *Memory) Alarm(arms []int, residual float64) {
	for _, t := range m.triggers {
		t.Reset()
	}
	m.s.Since = 0
	m.Note(arms, m.rule.DetectorName(), residual)
}

// Note records that something was forgotten at once. The arms are copied.
func (m *Memory) Note(arms []int, cause string, statistic float64) {
	if len(m.s.Events) == MostEvents {
		m.s.Events = slices.Delete(m.s.Events, 0, 1)
	}
	m.s.Count++
	m.s.Events = append(m.s.Events, Event{m.s.Rounds, slices.Clone(arms), cause, statistic})
}

// Events returns the last hundred events, the oldest first, and how many there have been in all.
func (m *Memory) Events() (last []Event, count int) { return slices.Clone(m.s.Events), m.s.Count }

// Worth returns the number of rounds that what is left is worth: the sum of their weights.
func (m *Memory) Worth() float64 {
	switch m.rule.Kind {
	case Window:
		return float64(min(m.s.Rounds, m.rule.Rounds))
	case Discount:
		return Discounted(m.rule.Rate, m.s.Rounds)
	}
	return float64(m.s.Since)
}

// Discounted returns the sum of the weights of so many rounds whose weight falls by rate, in [0,
// 1), each round: (1 − (1−rate)^n)/rate.
func Discounted(rate float64, rounds int) float64 {
	if rate == 0 {
		return float64(rounds)
	}
	left := portable.Exp(float64(float64(rounds) * portable.Log(1-rate)))
	return (1 - left) / rate
}

// State returns the state for a snapshot.
func (m *Memory) State() (MemoryState, error) {
	s := m.s
	for _, t := range m.triggers {
		b, err := t.MarshalBinary()
		if err != nil {
			return MemoryState{}, err
		}
		s.Triggers = append(s.Triggers, b)
	}
	return s, nil
}

// Restore returns a memory of the same rule with the state of a snapshot, which then continues bit
// for bit. It returns an error, if the state is not one of this rule with at most so many series.
func (m *Memory) Restore(s MemoryState, series int) (*Memory, error) {
	if s.Rounds < 0 || s.Since < 0 || s.Since > s.Rounds || len(s.Events) > MostEvents || s.Count < len(s.Events) ||
		m.rule.Kind == Restart && s.Since >= m.rule.Rounds {
		return nil, snapshot.Bad("damaged: a memory of %d rounds, %d since a restart, with %d events", s.Rounds,
			s.Since, len(s.Events))
	}
	next, err := NewMemory(m.rule, len(s.Triggers))
	if err != nil {
		return nil, err
	}
	if len(next.triggers) != len(s.Triggers) || len(s.Triggers) > series {
		return nil, snapshot.Bad("damaged: %d detectors for %d series of residuals", len(s.Triggers), series)
	}
	for i, b := range s.Triggers {
		if err := next.triggers[i].UnmarshalBinary(b); err != nil {
			return nil, err
		}
	}
	s.Triggers = nil
	next.s = s
	return next, nil
}

// slack is the part of a window by which it may be longer.
const slack = 64

// Slide appends a round to those that are kept for a window. A learner cannot take a round back, so
// up to a 64th more than the window are kept. When there are more, the oldest are dropped down to
// the window, and relearn says that the learner is to learn again from those that are left.
func Slide[T any](kept []T, round T, window int) (left []T, relearn bool) {
	kept = append(kept, round)
	extra := len(kept) - window
	if extra <= window/slack {
		return kept, false
	}
	return slices.Clone(kept[extra:]), true
}

// Mean is a discounted mean: a number has the weight keep^n after n more. The zero value is the
// mean of none. Its fields are exported for snapshots.
type Mean struct{ Sum, Weight float64 }

// Value is the mean, 0 of none.
func (m *Mean) Value() float64 {
	if m.Weight == 0 {
		return 0
	}
	return m.Sum / m.Weight
}

// Add multiplies the weight of the numbers so far by keep, in (0, 1], and adds x.
func (m *Mean) Add(x, keep float64) {
	m.Sum = float64(keep*m.Sum) + x
	m.Weight = float64(keep*m.Weight) + 1
}

// Check returns an error of code bad_input unless the mean is one that finite numbers can have.
func (m *Mean) Check() error {
	if !(math.Abs(m.Sum) <= math.MaxFloat64) || !(m.Weight >= 0 && m.Weight <= math.MaxFloat64) {
		return noregret.BadInputf("mean", "%v/%v: want finite numbers and a weight of at least 0", m.Sum, m.Weight)
	}
	return nil
}
