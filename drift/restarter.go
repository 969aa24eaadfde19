package drift

import (
	"encoding"
	"fmt"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/forget"
	"github.com/noregret/noregret/internal/snapshot"
)

const snapshotMagic = "noregret-drift-2\n"

// Restarter restarts learners of any type L: when its [forget.Trigger] says so it discards the
// learner and makes a new one. It is the part that all restarted learners share, and serves on its
// own for learners that have no wrapper here, such as classifiers:
//
//	l := r.Learner()
//	... play a round with l, pay a loss ...
//	restarted, err := r.End(loss)
//
// Batches are numbered from 0. Feedback that belongs to a round of an earlier batch must not reach
// the new learner: compare [Restarter.Batch] at the round with the one at its feedback.
//
// It adds O(1) to a round and allocates nothing, except that a restart makes a learner. It is not
// safe for concurrent use.
type Restarter[L any] struct {
	trigger forget.Trigger
	make    func(batch int) (L, error)
	learner L
	s       restarterState
	failed  error
}

type restarterState struct {
	Rounds int // in all
	Batch  int // the number of restarts so far
	Age    int // rounds of the current batch
}

// savedRestarter is what a snapshot holds.
type savedRestarter struct {
	State            restarterState
	Trigger, Learner []byte
}

// NewRestarter returns a restarter that has made the learner of batch 0. The function makes the
// learner of a batch at its start; it must return equal learners for equal batches.
func NewRestarter[L any](trigger forget.Trigger, make func(batch int) (L, error)) (*Restarter[L], error) {
	if trigger == nil {
		return nil, noregret.BadInputf("trigger", "nil: want a trigger")
	}
	if make == nil {
		return nil, noregret.BadInputf("make", "nil: want a function")
	}
	r := &Restarter[L]{trigger: trigger, make: make}
	var err error
	if r.learner, err = r.begin(0); err != nil {
		return nil, err
	}
	return r, nil
}

// begin makes the learner of a batch.
func (r *Restarter[L]) begin(batch int) (L, error) {
	l, err := r.make(batch)
	if err == nil && any(l) == nil {
		err = noregret.BadInputf("make", "the learner is nil: want a learner")
	}
	if err != nil {
		return l, fmt.Errorf("batch %d: %w", batch, err)
	}
	return l, nil
}

// Learner is the learner of the current batch.
func (r *Restarter[L]) Learner() L { return r.learner }

// Rounds is the number of rounds that have ended.
func (r *Restarter[L]) Rounds() int { return r.s.Rounds }

// Batch is the number of restarts so far, the number of the current batch.
func (r *Restarter[L]) Batch() int { return r.s.Batch }

// Age is the number of rounds of the current batch that have ended.
func (r *Restarter[L]) Age() int { return r.s.Age }

// Check returns the error that End(loss) would return because of the loss, or the error with which
// a restart has failed.
func (r *Restarter[L]) Check(loss float64) error {
	if r.failed != nil {
		return r.failed
	}
	return r.trigger.Check(loss)
}

// End ends a round with its loss and reports whether the learner was restarted; the trigger is then
// at its start, too. Call it after the learner has received its feedback. It returns an error of
// code bad_input, and changes nothing, for a loss that the trigger does not accept. If the next
// learner cannot be made, End and Check return that error from then on.
func (r *Restarter[L]) End(loss float64) (restarted bool, err error) {
	if r.failed != nil {
		return false, r.failed
	}
	restart, err := r.trigger.Add(loss)
	if err != nil {
		return false, err
	}
	r.s.Rounds++
	r.s.Age++
	if !restart {
		return false, nil
	}
	l, err := r.begin(r.s.Batch + 1)
	if err != nil {
		r.failed = err
		return false, err
	}
	r.trigger.Reset()
	r.learner = l
	r.s.Batch++
	r.s.Age = 0
	return true, nil
}

// String describes the restarter in one line, without the options of its learners.
func (r *Restarter[L]) String() string {
	return fmt.Sprintf("restarter(%T, %s)", r.learner, textOf(r.trigger))
}

// MarshalBinary saves the trigger, the learner and the batch. The learner must have a snapshot.
func (r *Restarter[L]) MarshalBinary() ([]byte, error) {
	if r.failed != nil {
		return nil, r.failed
	}
	s := savedRestarter{State: r.s}
	var err error
	if s.Trigger, err = r.trigger.MarshalBinary(); err != nil {
		return nil, err
	}
	if s.Learner, err = marshal(r.learner); err != nil {
		return nil, err
	}
	return snapshot.Seal(snapshotMagic, r.String(), &s)
}

// UnmarshalBinary restores a snapshot of a restarter made with the same arguments, which then
// continues bit for bit. It makes the learner of the batch anew. An error changes nothing.
func (r *Restarter[L]) UnmarshalBinary(data []byte) error {
	var s savedRestarter
	if err := snapshot.Open(data, snapshotMagic, r.String(), &s); err != nil {
		return err
	}
	if s.State.Rounds < 0 || s.State.Batch < 0 || s.State.Age < 0 || s.State.Age > s.State.Rounds ||
		s.State.Batch > s.State.Rounds-s.State.Age {
		return snapshot.Bad("damaged: %d rounds, %d of them in batch %d", s.State.Rounds, s.State.Age, s.State.Batch)
	}
	l, err := r.begin(s.State.Batch)
	if err != nil {
		return err
	}
	if err := unmarshal(l, s.Learner); err != nil {
		return err
	}
	if err := r.trigger.UnmarshalBinary(s.Trigger); err != nil {
		return err
	}
	r.learner, r.s, r.failed = l, s.State, nil
	return nil
}

func marshal(l any) ([]byte, error) {
	m, ok := l.(encoding.BinaryMarshaler)
	if !ok {
		return nil, noregret.BadInputf("learner", "%s cannot be saved: it has no snapshot", textOf(l))
	}
	return m.MarshalBinary()
}

func unmarshal(l any, data []byte) error {
	m, ok := l.(encoding.BinaryUnmarshaler)
	if !ok {
		return noregret.BadInputf("learner", "%s cannot be restored: it has no snapshot", textOf(l))
	}
	return m.UnmarshalBinary(data)
}
