package private

import (
	"fmt"
	"sync"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/dp"
	"github.com/noregret/noregret/internal/snapshot"
)

// Learner is a private online learner, made by [NewTOFW] or [NewPOFW]: records become clipped
// increments, batches of increments become vertices by a private mechanism, and vertices move the
// point. Steps are for one goroutine at a time, others get ErrBusy. A step allocates nothing.
//
// Its adjacency and its unit of privacy are those of [Noise].Protection, one record or all records
// of a user; [Learner.Charge] and [Learner.Statement] repeat them.
type Learner struct {
	busy      sync.Mutex
	problem   Problem
	text      string
	front     frontEnd
	mechanism mechanism
	path      path
	records   int64
	count     int // records in the current batch
	vertex    []float64
	closed    bool
}

// mechanism chooses the next vertex from the increments. It is the only place at which secrets
// become public.
type mechanism interface {
	// include clips an increment and adds it to the current step. An error changes nothing.
	include(g []float64) error
	// choose ends a step and writes the next vertex. An error changes nothing.
	choose(vertex []float64) error
	// save returns the state, which is secret; load reads it.
	save() ([]byte, error)
	load(state []byte) error
	// charge is the cost of the whole run.
	charge() dp.Charge
	// close erases secrets.
	close()
}

func newLearner(p Problem, m mechanism, text string) *Learner {
	return &Learner{
		problem: p, text: text, front: newFrontEnd(p), mechanism: m, path: newPath(p.Domain),
		vertex: make([]float64, p.Domain.Dim()),
	}
}

// Step adds one record. It returns ErrBusy, ErrClosed, ErrDimension or ErrHorizon, and then changes
// nothing. No error depends on earlier records, and a record with numbers that are not finite is no
// error: it counts as a null record.
//
// The new point is public as soon as Step has returned. A program that survives crashes writes the
// snapshot of the learner to disk before it shows the point to anyone: a step that is done again
// with fresh noise is a second release.
func (l *Learner) Step(x []float64, y float64) error {
	if !l.busy.TryLock() {
		return noregret.Errorf(noregret.Usage, "step", "%w", ErrBusy)
	}
	defer l.busy.Unlock()
	if err := l.ready(); err != nil {
		return err
	}
	if len(x) != l.Dim() {
		return noregret.BadInputf("features", "length %d, want %d: %w", len(x), l.Dim(), dp.ErrDimension)
	}
	return l.add(l.front.increment(l.path.T+1, x, y, l.path.Theta, l.path.Previous))
}

// StepNull counts a null record: it adds nothing and otherwise is a step like any other. The errors
// are those of Step.
func (l *Learner) StepNull() error {
	if !l.busy.TryLock() {
		return noregret.Errorf(noregret.Usage, "step", "%w", ErrBusy)
	}
	defer l.busy.Unlock()
	if err := l.ready(); err != nil {
		return err
	}
	clear(l.front.g)
	return l.add(l.front.g)
}

// ready reports why no step is possible.
func (l *Learner) ready() error {
	if l.closed {
		return noregret.Errorf(noregret.Usage, "step", "the learner is closed: %w", dp.ErrClosed)
	}
	if l.records >= l.problem.Horizon {
		return noregret.Errorf(noregret.Usage, "step", "all %d declared records are done: %w", l.records, dp.ErrHorizon)
	}
	return nil
}

// add counts a record by its increment, and moves the point at the end of a batch.
func (l *Learner) add(g []float64) error {
	if err := l.mechanism.include(g); err != nil {
		return err
	}
	l.records++
	if l.count++; l.count < l.problem.Batch && l.records < l.problem.Horizon {
		return nil
	}
	if err := l.mechanism.choose(l.vertex); err != nil {
		return err
	}
	l.path.advance(l.vertex, l.problem.StepScale)
	l.count = 0
	return nil
}

// Theta returns the current point, which is public. The slice is valid until the next step; do not
// change it.
func (l *Learner) Theta() []float64 { return l.path.Theta }

// Dim is d.
func (l *Learner) Dim() int { return len(l.vertex) }

// Steps is the number of completed steps, which is the number of records for batches of one.
func (l *Learner) Steps() int64 { return l.path.T }

// Records is the number of records so far, null records included. It is public.
func (l *Learner) Records() int64 { return l.records }

// Problem returns what the learner was made for.
func (l *Learner) Problem() Problem { return l.problem }

// Charge is what the whole run costs the units that it protects, however many of its steps are
// made. Reserve it before the first step.
func (l *Learner) Charge() dp.Charge { return l.mechanism.charge() }

// Insecure reports whether the points protect nobody: the noise comes from a seed, or there is
// none.
func (l *Learner) Insecure() bool { return l.mechanism.charge().Insecure }

// String describes the learner in one line with all parameters.
func (l *Learner) String() string { return l.text }

// Close erases the secret state. Later steps return ErrClosed; Theta still works.
func (l *Learner) Close() {
	l.busy.Lock()
	defer l.busy.Unlock()
	if l.closed {
		return
	}
	l.closed = true
	l.mechanism.close()
	clear(l.front.x)
	clear(l.front.g)
}

const magic = "noregret private learner-2\n"

// learnerState is the persisted state. Mechanism is secret.
type learnerState struct {
	Path      path
	Records   int64
	Count     int
	Mechanism []byte
}

// MarshalBinary returns a snapshot. It is SECRET: it holds the exact sums and the noise, from which
// the data follow. Encrypt it, do not log it, and erase it when the run is over. A learner restored
// from an older snapshot than the last published point must not continue: it would publish other
// points for the same steps.
func (l *Learner) MarshalBinary() ([]byte, error) {
	l.busy.Lock()
	defer l.busy.Unlock()
	if l.closed {
		return nil, noregret.Errorf(noregret.Usage, "snapshot", "the learner is closed: %w", dp.ErrClosed)
	}
	state, err := l.mechanism.save()
	if err != nil {
		return nil, err
	}
	return snapshot.Seal(magic, l.text, learnerState{l.path, l.records, l.count, state})
}

// UnmarshalBinary restores a snapshot of a learner with the same parameters. An error changes
// nothing.
func (l *Learner) UnmarshalBinary(data []byte) error {
	l.busy.Lock()
	defer l.busy.Unlock()
	if l.closed {
		return noregret.Errorf(noregret.Usage, "snapshot", "the learner is closed: %w", dp.ErrClosed)
	}
	var s learnerState
	if err := snapshot.Open(data, magic, l.text, &s); err != nil {
		return err
	}
	steps := l.problem.steps()
	if !s.Path.valid(l.problem.Domain, steps) || s.Records < 0 || s.Records > l.problem.Horizon || !l.consistent(s) {
		return snapshot.Bad("damaged: its counts or lengths are wrong")
	}
	if err := l.mechanism.load(s.Mechanism); err != nil {
		return err
	}
	l.path, l.records, l.count = s.Path, s.Records, s.Count
	return nil
}

// consistent reports whether the steps of a state are those of its records.
func (l *Learner) consistent(s learnerState) bool {
	if s.Records == l.problem.Horizon {
		return s.Path.T == l.problem.steps() && s.Count == 0
	}
	return s.Path.T == s.Records/int64(l.problem.Batch) && s.Count == int(s.Records%int64(l.problem.Batch))
}

// describe is the text of a learner, which its snapshots carry.
func describe(name string, p Problem, mechanism string) string {
	return fmt.Sprintf("%s(%v; %s)", name, p, mechanism)
}
