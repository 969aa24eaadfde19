package drift

import (
	"encoding"
	"errors"
	"fmt"
	"math"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/bandit"
	"github.com/noregret/noregret/forget"
	"github.com/noregret/noregret/internal/portable"
	"github.com/noregret/noregret/internal/snapshot"
)

// Rand is a source of uniform numbers on [0, 1), such as the generators of math/rand/v2.
type Rand = bandit.Rand

// CostLearner is a learner that sees of each round nothing but the cost of the point it has played,
// perhaps with noise. It is not safe for concurrent use.
type CostLearner interface {
	// Dim is the dimension d of its points.
	Dim() int
	// Play begins a round and returns the point to play. It takes its randomness from r. The slice
	// belongs to the learner and is valid until the next call. It is an error of code bad_input,
	// and changes nothing, to begin a round before the last one has ended.
	Play(r Rand) ([]float64, error)
	// Observe ends the round with the cost of the point. It returns an error of code bad_input, and
	// changes nothing, if no round has begun or the cost is not a finite number of size at most
	// 1e100.
	Observe(cost float64) error
	// Restart restarts the learner between two rounds. [Schedule] has the effect of [Project]. A
	// round that has begun is an error.
	Restart(m Mode) error
	encoding.BinaryMarshaler
	encoding.BinaryUnmarshaler
}

// largestLoss bounds the losses of rounds.
const largestLoss = 1e100

// checkLoss returns an error if x is not a finite number of size at most 1e100.
func checkLoss(place string, x float64) error {
	if math.Abs(x) <= largestLoss {
		return nil
	}
	return noregret.BadInputf(place, "%v: want a finite number, of size at most %v", x, largestLoss)
}

// checkTurn returns an error unless a round has begun, or unless none has.
func checkTurn(begun, want bool) error {
	switch {
	case begun && !want:
		return noregret.BadInputf("round", "the last one has not ended: want its cost by Observe first")
	case !begun && want:
		return noregret.BadInputf("round", "none has begun: want a call of Play first")
	}
	return nil
}

// checkDiscount returns an error if the discount of a baseline is not in [0, 1).
func checkDiscount(v float64) error {
	if !(v >= 0 && v < 1) {
		return noregret.BadInputf("baseline", "%v: want a discount from 0, for none, to below 1", v)
	}
	return nil
}

// gaussians writes independent standard normal numbers to dst, by the method of Box and Muller.
func gaussians(dst []float64, r Rand) {
	for i := 0; i < len(dst); i += 2 {
		radius := math.Sqrt(-2 * portable.Log(1-r.Float64()))
		cos, sin := portable.Turn(r.Float64())
		dst[i] = radius * cos
		if i+1 < len(dst) {
			dst[i+1] = radius * sin
		}
	}
}

// RestartedCost restarts a [CostLearner]. Restarted every Δ rounds, a learner with the expected
// static regret S(n) has against the minimizers of all costs the expected regret ⌈T/Δ⌉·S(Δ) + 2Δ·V
// ([Budget.RestartBound]).
//
// It is a [CostLearner] itself. It adds O(1) to a round and allocates nothing.
type RestartedCost struct {
	learner CostLearner
	trigger forget.Trigger
	mode    Mode
	s       restarterState
}

// NewRestartedCost restarts a learner that is at its start. The trigger gets the costs that are
// observed.
func NewRestartedCost(learner CostLearner, trigger forget.Trigger, mode Mode) (*RestartedCost, error) {
	if learner == nil {
		return nil, noregret.BadInputf("learner", "nil: want a learner")
	}
	if trigger == nil {
		return nil, noregret.BadInputf("trigger", "nil: want a trigger")
	}
	if err := mode.check(); err != nil {
		return nil, err
	}
	return &RestartedCost{learner: learner, trigger: trigger, mode: mode}, nil
}

// Dim implements [CostLearner].
func (l *RestartedCost) Dim() int { return l.learner.Dim() }

// Rounds is the number of rounds that have ended.
func (l *RestartedCost) Rounds() int { return l.s.Rounds }

// Batch is the number of restarts so far.
func (l *RestartedCost) Batch() int { return l.s.Batch }

// Age is the number of rounds of the current batch that have ended.
func (l *RestartedCost) Age() int { return l.s.Age }

// Play implements [CostLearner].
func (l *RestartedCost) Play(r Rand) ([]float64, error) { return l.learner.Play(r) }

// Observe implements [CostLearner].
func (l *RestartedCost) Observe(cost float64) error {
	if err := l.trigger.Check(cost); err != nil {
		return err
	}
	if err := l.learner.Observe(cost); err != nil {
		return err
	}
	restart, err := l.trigger.Add(cost)
	if err != nil {
		return err
	}
	l.s.Rounds++
	l.s.Age++
	if !restart {
		return nil
	}
	l.trigger.Reset()
	l.s.Batch++
	l.s.Age = 0
	return l.learner.Restart(l.mode)
}

// Restart implements [CostLearner]: it restarts the learner, and the trigger as well.
func (l *RestartedCost) Restart(m Mode) error {
	if err := l.learner.Restart(m); err != nil {
		return err
	}
	l.trigger.Reset()
	l.s.Batch++
	l.s.Age = 0
	return nil
}

// String describes the learner and its options in one line.
func (l *RestartedCost) String() string {
	return fmt.Sprintf("restarted(%s, %s, %v)", textOf(l.learner), textOf(l.trigger), l.mode)
}

// MarshalBinary implements [CostLearner].
func (l *RestartedCost) MarshalBinary() ([]byte, error) {
	s := savedRestarter{State: l.s}
	var err error
	if s.Trigger, err = l.trigger.MarshalBinary(); err != nil {
		return nil, err
	}
	if s.Learner, err = l.learner.MarshalBinary(); err != nil {
		return nil, err
	}
	return snapshot.Seal(snapshotMagic, l.String(), &s)
}

// UnmarshalBinary implements [CostLearner]. An error changes nothing.
func (l *RestartedCost) UnmarshalBinary(data []byte) error {
	var s savedRestarter
	if err := snapshot.Open(data, snapshotMagic, l.String(), &s); err != nil {
		return err
	}
	if s.State.Rounds < 0 || s.State.Batch < 0 || s.State.Age < 0 || s.State.Age > s.State.Rounds {
		return snapshot.Bad("damaged: %d rounds, %d of them in batch %d", s.State.Rounds, s.State.Age, s.State.Batch)
	}
	before, err := l.learner.MarshalBinary()
	if err != nil {
		return err
	}
	if err := l.learner.UnmarshalBinary(s.Learner); err != nil {
		return err
	}
	if err := l.trigger.UnmarshalBinary(s.Trigger); err != nil {
		return errors.Join(err, l.learner.UnmarshalBinary(before)) // back to where it was
	}
	l.s = s.State
	return nil
}
