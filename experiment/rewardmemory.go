package experiment

import (
	"fmt"
	"math"
	"slices"

	"github.com/noregret/noregret/bandit"
	"github.com/noregret/noregret/experiment/join"
	"github.com/noregret/noregret/forget"
	"github.com/noregret/noregret/internal/snapshot"
)

// rewardMemoryState is what the snapshot of a bandit that forgets holds.
type rewardMemoryState struct {
	Bandit []byte
	Memory forget.MemoryState
	Kept   []keptBatch // of a window
}

// keptBatch is a batch of a window.
type keptBatch struct {
	Parts  []bandit.Batch
	Shares []float64
	Asleep []bandit.Batch
}

// forgetBy makes the learner forget.
func (l *rewardLearner) forgetBy(r forget.Rule) (err error) {
	l.memory, err = forget.NewMemory(r, l.Arms())
	return err
}

// take passes a batch to the bandit, which forgets as it is to.
func (l *rewardLearner) take(batch []bandit.Batch, shares []float64, asleep []bandit.Batch) error {
	m := l.memory
	if m == nil {
		return l.Batched.ObserveMasked(batch, shares, asleep)
	}
	rule := m.Rule()
	var residuals []float64
	switch rule.Kind {
	case forget.Detector:
		residuals = l.residuals(batch)
	case forget.Discount:
		if err := l.Batched.Discount(rule.Keep()); err != nil {
			return err
		}
	}
	if err := l.Batched.ObserveMasked(batch, shares, asleep); err != nil {
		return err
	}
	m.Next()
	switch rule.Kind {
	case forget.Restart:
		if m.Due() {
			l.Batched.Restart()
		}
	case forget.Window:
		var relearn bool
		round := keptBatch{slices.Clone(batch), slices.Clone(shares), asleep}
		if l.kept, relearn = forget.Slide(l.kept, round, rule.Rounds); relearn {
			return l.relearn()
		}
	case forget.Detector:
		return l.detect(batch, residuals)
	}
	return nil
}

// relearn learns from the window alone.
func (l *rewardLearner) relearn() error {
	l.Batched.Restart()
	for i := range l.kept {
		b := &l.kept[i]
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

// detect passes residuals to the detectors of their arms, and restarts the bandit after an alarm.
func (l *rewardLearner) detect(batch []bandit.Batch, residuals []float64) error {
	if err := l.memory.Grow(l.Arms()); err != nil {
		return err
	}
	alarm, largest := false, 0.0
	for i, z := range residuals {
		if math.IsNaN(z) {
			continue
		}
		changed, err := l.memory.Detect(batch[i].Arm, min(max(z, -1e9), 1e9))
		if err != nil {
			return err
		}
		if changed {
			alarm, largest = true, max(largest, math.Abs(z))
		}
	}
	if alarm {
		l.Batched.Restart()
		l.memory.Alarm(nil, largest)
	}
	return nil
}

// RetireArm implements [learner].
func (l *rewardLearner) RetireArm(k int) error {
	if err := l.Batched.RetireArm(k); err != nil {
		return err
	}
	for i := range l.kept {
		l.kept[i].Parts = slices.DeleteFunc(slices.Clone(l.kept[i].Parts), func(b bandit.Batch) bool {
			return b.Arm == k
		})
	}
	return nil
}

const rewardMemoryMagic = "noregret-experiment-reward-2\n"

func (l *rewardLearner) memoryText() string { return fmt.Sprintf("%v, %s", l.Batched, l.memory.Rule()) }

// MarshalBinary implements [learner].
func (l *rewardLearner) MarshalBinary() ([]byte, error) {
	b, err := l.Batched.MarshalBinary()
	if err != nil || l.memory == nil {
		return b, err
	}
	s := rewardMemoryState{Bandit: b, Kept: l.kept}
	if s.Memory, err = l.memory.State(); err != nil {
		return nil, err
	}
	return snapshot.Seal(rewardMemoryMagic, l.memoryText(), &s)
}

// UnmarshalBinary implements [learner].
func (l *rewardLearner) UnmarshalBinary(data []byte) error {
	if l.memory == nil {
		return l.Batched.UnmarshalBinary(data)
	}
	var s rewardMemoryState
	if err := snapshot.Open(data, rewardMemoryMagic, l.memoryText(), &s); err != nil {
		return err
	}
	if err := l.Batched.UnmarshalBinary(s.Bandit); err != nil {
		return err
	}
	m, err := l.memory.Restore(s.Memory, l.Arms())
	if err != nil {
		return err
	}
	for i := range s.Kept {
		for _, b := range slices.Concat(s.Kept[i].Parts, s.Kept[i].Asleep) {
			if b.Arm < 0 || b.Arm >= l.Arms() {
				return snapshot.Bad("damaged: a window with arm %d of %d", b.Arm, l.Arms())
			}
		}
	}
	l.memory, l.kept = m, s.Kept
	return nil
}

// weighted returns the sums of a round as if no unit had allowed all arms, by which rounds of
// other mixtures can be added. An arm without a share is asleep in all units.
func (x *roundStats) weighted(metrics int) *join.MaskedSums {
	arms := len(x.Mixture)
	out := join.NewMaskedSums(arms, metrics)
	if x.Masked != nil {
		out.Add(x.Masked)
	}
	for k, p := range x.Mixture {
		if k >= len(x.Stats) {
			continue
		}
		if p > 0 {
			out.Arms[k].Wake(&x.Stats[k], p)
			continue
		}
		out.Arms[k] = join.NewMaskedSums(1, metrics).Arms[0]
		for i := range x.Stats[:min(arms, len(x.Stats))] {
			out.Arms[k].Sleep(&x.Stats[i])
		}
	}
	return out
}
