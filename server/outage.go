package server

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/eventlog"
	"github.com/noregret/noregret/experiment"
	"github.com/noregret/noregret/internal/pages"
)

// An outage is a time in which the log takes no events. The first one may begin with the service,
// on a disk that is full or read-only. The service tries to end it: see [writer.retry].
type outage struct {
	// err is the failure.
	err error
	// since is when it began, in the service's time.
	since time.Time
	// fromStart: the service began with it, so that a restart does not help unless it is final.
	fromStart bool
	// final: the log cannot be opened again by this process.
	final bool
	// defect: the state is no longer the fold of the log. A restart finds the same defect.
	defect bool
}

// The pace of attempts to open the log again. Each attempt that fails after the disk looked sound
// costs memory (see [eventlog.Log]), so their number is bounded.
const (
	firstRetry  = 250 * time.Millisecond
	lastRetry   = 10 * time.Second
	mostReopens = 16
)

// recovery decides when the log is opened again, and what probes say.
type recovery struct {
	now   func() time.Time
	grace time.Duration // how long an outage may last before livez fails

	mu       sync.Mutex
	current  *outage // nil while the log works
	next     time.Time
	pause    time.Duration
	attempts int // that opened the log, since the service began
	failures int // outages, since the service began
}

// begin begins an outage, unless there is one, and reports whether it did.
func (r *recovery) begin(o outage) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.current != nil {
		return false
	}
	o.since = r.now()
	r.current, r.failures = &o, r.failures+1
	r.pause = firstRetry
	r.next = o.since.Add(r.pause)
	return true
}

// outage returns the present outage, or nil.
func (r *recovery) outage() *outage {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.current == nil {
		return nil
	}
	o := *r.current
	return &o
}

// counts returns the numbers of outages and of attempts that opened the log.
func (r *recovery) counts() (failures, attempts int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.failures, r.attempts
}

// due reports whether the log should be opened again now, and sets the time of the next attempt.
func (r *recovery) due() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.now()
	if o := r.current; o == nil || o.final || o.defect || now.Before(r.next) {
		return false
	}
	r.pause = min(2*r.pause, lastRetry)
	r.next = now.Add(r.pause)
	return true
}

// opened counts an attempt that found the disk sound. Without an error it ends the outage. The
// outage becomes final if that was the last attempt, or if the log or the state is not what it was.
func (r *recovery) opened(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.attempts++; err == nil {
		r.current = nil
		return
	}
	r.current.defect = errors.Is(err, errDefect)
	r.current.final = r.attempts >= mostReopens || errors.Is(err, errMissing) || errors.Is(err, errLost) ||
		isMisfit(err)
}

// hopeless reports whether the process should be restarted: its log has failed for long, and
// restarting may help.
func (r *recovery) hopeless() bool {
	o := r.outage()
	return o != nil && !o.defect && (o.final || !o.fromStart && r.now().Sub(o.since) > r.grace)
}

// end returns the error with which the process should end, nil while it should go on. Under systemd
// nothing watches /livez, but a process that ends with an error is started again. It goes on while
// the log's directory is gone, as the next process would begin a new log.
func (r *recovery) end() error {
	o := r.outage()
	if o != nil && isMisfit(o.err) {
		return o.err
	}
	if r.hopeless() && !errors.Is(o.err, eventlog.ErrGone) {
		return noregret.Errorf(noregret.Internal, "log", "failed, and could not be opened again: %w", o.err)
	}
	return nil
}

// reopen asks the writer to open a failed log again if the time has come, and to note a failure
// that no append has met yet, such as that of a snapshot.
func (w *writer) reopen(ctx context.Context) error {
	if unnoticed := w.recovery.outage() == nil && w.log.Health() != nil; !unnoticed && !w.recovery.due() {
		return nil
	}
	_, err := w.submit(ctx, &command{do: w.retry})
	return err
}

// logFailed is the message of an outage that begins while the service runs.
const logFailed = "the log has failed: no events are accepted until it is opened again"

// retry opens the log again, and applies the events that an append may have stored although it
// failed. Only the writer calls it.
func (w *writer) retry() error {
	switch o := w.recovery.outage(); {
	case o == nil:
		if err := w.log.Health(); err != nil {
			w.fail(logFailed, outage{err: err}, nil)
		}
		return nil
	case o.final || o.defect:
		return nil
	}
	err := w.log.Reopen(context.Background())
	if errors.Is(err, eventlog.ErrNotReady) {
		return err
	}
	if err == nil {
		err = w.catchUp()
	}
	w.recovery.opened(err)
	if err != nil {
		w.logger.Error("the log could not be opened again", "error", err)
		return err
	}
	w.logger.Info("the log was opened again: events are accepted", "position", w.live.state.Position())
	w.live.notify()
	return nil
}

// catchUp applies the events of the log that the state lacks.
func (w *writer) catchUp() error {
	at, last := w.live.state.Position(), w.log.Stats().Last
	if last < at {
		return noregret.Errorf(noregret.Internal, "log", "%w: it ends at position %d, but %d was acknowledged",
			errMissing, last, at)
	}
	var events []experiment.Event
	apply := func() error {
		first := w.live.state.Position() + 1
		_, what, err := w.apply(first, events)
		if err != nil {
			w.logger.Error(what, "error", err)
			switch {
			case isLost(err):
				return errLost
			case isMisfit(err):
				return err
			}
			return errDefect
		}
		events = nil
		return nil
	}
	if last == at {
		return nil
	}
	for r, err := range w.log.Read(context.Background(), at+1) {
		if err != nil {
			return err
		}
		events = append(events, experiment.Event{Kind: r.Kind, Time: r.Time, Payload: r.Payload})
		if len(events) == groupEvents {
			if err := apply(); err != nil {
				return err
			}
		}
	}
	if len(events) == 0 {
		return nil
	}
	return apply()
}

// What clients read while no events are accepted; the service's log has the reason.
var (
	errNoWrites = errors.New("the log takes no events at present; the service keeps trying")
	errDefect   = errors.New("the service has found a defect in itself: no further events are accepted")
	errMissing  = errors.New("the log was opened again and lacks events")
	errLost     = errors.New("the disk has lost units that wait for feedback")
	errFinal    = errors.New("the log takes no events until the service is restarted")
)

// isLost reports whether an error of the fold is that units in the file cannot be read back. A
// restart reads them from the log.
func isLost(err error) bool {
	var lost *pages.ReadError
	return errors.As(err, &lost)
}

// refusal returns the error for commands during an outage, nil if there is none.
func (w *writer) refusal() error {
	switch o := w.recovery.outage(); {
	case o == nil:
		return nil
	case o.defect:
		return errDefect
	case o.final:
		return errFinal
	}
	return errNoWrites
}
