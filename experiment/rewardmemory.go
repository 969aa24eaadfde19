package experiment

import (
	"encoding"
	"fmt"
	"math"
	"slices"

	"github.com/noregret/noregret/bandit"
	"github.com/noregret/noregret/drift"
	"github.com/noregret/noregret/experiment/definition"
	"github.com/noregret/noregret/internal/snapshot"
	"github.com/noregret/noregret/pasto/drifting"
)

// rewardMemory says how a bandit forgets.
type rewardMemory struct {
	drift    drifting.Options
	triggers []drift.Trigger // one of a restart, one by arm of a detector
	s        rewardMemoryState
}

// rewardMemoryState is the state of a bandit that forgets.
type rewardMemoryState struct {
	Bandit   []byte // in snapshots
	Triggers [][]byte
	Kept     []keptBatch // of a window
	Rounds   int
	Since    int // rounds since the last restart
	Events   []drifting.Event
	Count    int
}

// keptBatch is a batch of a window.
type keptBatch struct {
	Parts  []bandit.Batch
	Shares []float64
	Asleep []bandit.Batch
}

// mostEvents is the number of events that a learner keeps.
const mostEvents = 100

// windowSlack is the part of a window by which it may be longer, before the rounds that are too old
// are dropped and the others learned from again.
const windowSlack = 64

// forgetBy makes the learner forget.
func (l *rewardLearner) forgetBy(d *definition.Drift) error {
	l.forgets = &rewardMemory{drift: driftOf(d)}
	return l.forgets.addTriggers(l.Arms())
}

// addTriggers makes the triggers for so many arms.
func (m *rewardMemory) addTriggers(arms int) error {
	switch m.drift.Kind {
	case drifting.Restart:
		if len(m.triggers) > 0 {
			return nil
		}
		t, err := drift.Every(m.drift.Rounds)
		m.triggers = []drift.Trigger{t}
		return err
	case drifting.Detect:
		for len(m.triggers) < arms {
			t, err := drifting.DetectResiduals(m.drift.Detector)
			if err != nil {
				return err
			}
			m.triggers = append(m.triggers, t)
		}
	}
	return nil
}

// happened keeps an event.
func (m *rewardMemory) happened(arms []int, cause string, statistic float64) {
	if len(m.s.Events) == mostEvents {
		m.s.Events = slices.Delete(m.s.Events, 0, 1)
	}
	m.s.Count++
	m.s.Events = append(m.s.Events, drifting.Event{
		Round: m.s.Rounds, Arms: arms, Cause: cause, Statistic: statistic,
	})
}

// take passes a batch to the bandit, which forgets as it is to.
func (l *rewardLearner) take(batch []bandit.Batch, shares []float64, asleep []bandit.Batch) error {
	m := l.forgets
	if m == nil {
		return l.Batched.ObserveMasked(batch, shares, asleep)
	}
	var residuals []float64
	switch m.drift.Kind {
	case drifting.Detect:
		residuals = l.residuals(batch)
	case drifting.Discount:
		if err := l.Batched.Discount(1 - m.drift.Rate); err != nil {
			return err
		}
	}
	if err := l.Batched.ObserveMasked(batch, shares, asleep); err != nil {
		return err
	}
	m.s.Rounds++
	m.s.Since++
	switch m.drift.Kind {
	case drifting.Restart:
		if due, err := m.triggers[0].Add(0); err != nil || !due {
			return err
		}
		l.restart(nil, "interval", 0)
	case drifting.Window:
		m.s.Kept = append(m.s.Kept, keptBatch{slices.Clone(batch), slices.Clone(shares), asleep})
		if extra := len(m.s.Kept) - m.drift.Rounds; extra > m.drift.Rounds/windowSlack {
			m.s.Kept = slices.Clone(m.s.Kept[extra:])
			return l.relearn()
		}
	case drifting.Detect:
		return l.detect(batch, residuals)
	}
	return nil
}

// restart discards what the bandit has learned.
func (l *rewardLearner) restart(arms []int, cause string, statistic float64) {
	l.Batched.Restart()
	l.forgets.s.Since = 0
	l.forgets.happened(arms, cause, statistic)
}

// relearn learns from the window alone.
func (l *rewardLearner) relearn() error {
	l.Batched.Restart()
	for i := range l.forgets.s.Kept {
		b := &l.forgets.s.Kept[i]
		if len(b.Parts) == 0 {
			continue
		}
		if err := l.Batched.ObserveMasked(b.Parts, b.Shares, b.Asleep); err != nil {
			return err
		}
	}
	return nil
}

// residuals returns by how many standard errors the means of a batch differ from those before, NaN
// where that is not known.
func (l *rewardLearner) residuals(batch []bandit.Batch) []float64 {
	out := make([]float64, len(batch))
	for i, b := range batch {
		if out[i] = math.NaN(); b.Size == 0 {
			continue
		}
		mean, se := l.Estimate(b.Arm)
		n := l.Size(b.Arm)
		se *= math.Sqrt(1 + n/b.Size) // of the difference
		if out[i] = (b.Mean - mean) / se; !(se > 0) || math.IsInf(se, 1) {
			out[i] = math.NaN()
		}
	}
	return out
}

// detect passes residuals to their detectors, and restarts the bandit after an alarm.
func (l *rewardLearner) detect(batch []bandit.Batch, residuals []float64) error {
	m := l.forgets
	if err := m.addTriggers(l.Arms()); err != nil {
		return err
	}
	var arms []int
	largest := 0.0
	for i, z := range residuals {
		if math.IsNaN(z) {
			continue
		}
		changed, err := m.triggers[batch[i].Arm].Add(min(max(z, -1e9), 1e9))
		if err != nil {
			return err
		}
		if changed {
			arms = append(arms, batch[i].Arm)
			largest = max(largest, math.Abs(z))
		}
	}
	if len(arms) == 0 {
		return nil
	}
	for _, t := range m.triggers {
		t.Reset()
	}
	l.restart(nil, m.drift.Detector, largest)
	return nil
}

// RetireArm implements [learner].
func (l *rewardLearner) RetireArm(k int) error {
	if err := l.Batched.RetireArm(k); err != nil {
		return err
	}
	if m := l.forgets; m != nil {
		for i := range m.s.Kept {
			m.s.Kept[i].Parts = slices.DeleteFunc(slices.Clone(m.s.Kept[i].Parts), func(b bandit.Batch) bool {
				return b.Arm == k
			})
		}
	}
	return nil
}

// Events returns what was forgotten at once: see [drifting.Learner.Events].
func (l *rewardLearner) Events() (last []drifting.Event, count int) {
	if l.forgets == nil {
		return nil, 0
	}
	return slices.Clone(l.forgets.s.Events), l.forgets.s.Count
}

// Memory returns the number of rounds that what is known is worth: see [drifting.Learner.Memory].
func (l *rewardLearner) Memory() float64 {
	m := l.forgets
	switch {
	case m == nil:
		return everything
	case m.drift.Kind == drifting.Window:
		return float64(min(m.s.Rounds, m.drift.Rounds))
	case m.drift.Kind == drifting.Discount:
		return drifting.DiscountedRounds(m.drift.Rate, m.s.Rounds)
	}
	return float64(m.s.Since)
}

const rewardMemoryMagic = "noregret-experiment-reward-2\n"

func (l *rewardLearner) memoryText() string {
	return fmt.Sprintf("%v, %+v", l.Batched, l.forgets.drift)
}

// MarshalBinary implements [learner].
func (l *rewardLearner) MarshalBinary() ([]byte, error) {
	b, err := l.Batched.MarshalBinary()
	if err != nil || l.forgets == nil {
		return b, err
	}
	s := l.forgets.s
	s.Bandit = b
	if s.Triggers, err = marshalAll(l.forgets.triggers); err != nil {
		return nil, err
	}
	return snapshot.Seal(rewardMemoryMagic, l.memoryText(), &s)
}

// marshalAll returns the snapshots of triggers.
func marshalAll[T encoding.BinaryMarshaler](list []T) (out [][]byte, err error) {
	for _, t := range list {
		b, err := t.MarshalBinary()
		if err != nil {
			return nil, err
		}
		out = append(out, b)
	}
	return out, nil
}

// UnmarshalBinary implements [learner].
func (l *rewardLearner) UnmarshalBinary(data []byte) error {
	if l.forgets == nil {
		return l.Batched.UnmarshalBinary(data)
	}
	var s rewardMemoryState
	if err := snapshot.Open(data, rewardMemoryMagic, l.memoryText(), &s); err != nil {
		return err
	}
	if s.Rounds < 0 || s.Since < 0 || s.Since > s.Rounds || s.Count < len(s.Events) || len(s.Events) > mostEvents {
		return snapshot.Bad("damaged: %d rounds and %d events", s.Rounds, len(s.Events))
	}
	if err := l.Batched.UnmarshalBinary(s.Bandit); err != nil {
		return err
	}
	m := &rewardMemory{drift: l.forgets.drift}
	if err := m.addTriggers(len(s.Triggers)); err != nil {
		return err
	}
	if len(m.triggers) != len(s.Triggers) || m.drift.Kind == drifting.Detect && len(m.triggers) > l.Arms() {
		return snapshot.Bad("damaged: %d triggers for %d arms", len(s.Triggers), l.Arms())
	}
	for i, b := range s.Triggers {
		if err := m.triggers[i].UnmarshalBinary(b); err != nil {
			return err
		}
	}
	for i := range s.Kept {
		for _, b := range slices.Concat(s.Kept[i].Parts, s.Kept[i].Asleep) {
			if b.Arm < 0 || b.Arm >= l.Arms() {
				return snapshot.Bad("damaged: a window with arm %d of %d", b.Arm, l.Arms())
			}
		}
	}
	s.Bandit, s.Triggers = nil, nil
	m.s = s
	l.forgets = m
	return nil
}
