package server

import (
	"context"
	"errors"
	"time"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/eventlog"
	"github.com/noregret/noregret/experiment"
)

// What the writer of a node does beside its commands. Its goroutine calls these methods.

// mostAhead is how far the time of the last event may be ahead of the clock of a node that begins
// to lead: time does not go back, so it would stand still until then.
const mostAhead = 2 * time.Second

// errAhead is the error of a node that must not lead.
var errAhead = errors.New("the last event is ahead of this node's clock")

// errLeaseOver is the error of a node whose lease has ended before it could lead.
var errLeaseOver = errors.New("the lease has ended meanwhile")

// errReplaced is the error of a node that has led in a term of which the lease still speaks.
var errReplaced = errors.New("another node has led since")

// mostFences bounds the attempts to begin to lead while another node appends.
const mostFences = 8

// lead begins to lead: it appends the event that says so behind the last one. From then on nothing
// is behind it that a node of an earlier term appends, since that node expects the log to end
// before. An append may take longer than the lease lasts, so the node looks at its lease before and
// after each: without it, it would put out the one that leads now.
func (w *writer) lead(term uint64) error {
	if w.leads.Load() && w.term == term {
		return nil // an earlier attempt, for whose end nobody has waited
	}
	for range mostFences {
		if err := w.refusal(); err != nil {
			return err
		}
		if err := w.catchUpWith(); err != nil {
			return err
		}
		if !w.node.holds(term) {
			return errLeaseOver
		}
		if l := experiment.Leader(w.live.state); w.term == term && l.Term != term {
			return errReplaced // the lease could not be asked
		}
		if off := time.Duration(w.latest - w.now().UnixNano()); off > mostAhead {
			return noregret.Errorf(noregret.Internal, "clock", "%w, by %v: want at most %v; set the clocks of "+
				"the nodes", errAhead, off.Round(time.Millisecond), mostAhead)
		}
		// Nothing that it looks at changes with the event that says that the node leads.
		if err := w.privacy.takeOver(w.live.state); err != nil {
			return err
		}
		e, err := w.node.leads(w.live.state, term, w.time())
		if err != nil {
			return err
		}
		first := w.live.state.Position() + 1
		record := eventlog.Event{Kind: e.Kind, Time: e.Time, Payload: e.Payload}
		err = w.log.AppendAt(context.Background(), first, record)
		if errors.Is(err, eventlog.ErrFenced) {
			continue
		}
		if err != nil {
			w.fail(logFailed, outage{err: err}, nil)
			return err
		}
		if _, err := w.fold(first, []experiment.Event{e}); err != nil {
			return err
		}
		if w.term = term; !w.node.claim(term) {
			return errLeaseOver
		}
		return nil
	}
	return noregret.Errorf(noregret.Internal, "log", "%w", eventlog.ErrFenced)
}

// catchUpWith applies what other nodes have appended, as far as the log shows it. An error begins
// an outage.
func (w *writer) catchUpWith() error {
	if w.log.Stats().Last <= w.live.state.Position() {
		return nil
	}
	err := w.catchUp()
	if err != nil {
		w.fail(logFailed, outage{
			err: err, defect: errors.Is(err, errDefect), final: errors.Is(err, errLost) || isMisfit(err),
		}, nil)
		return err
	}
	w.live.notify()
	return nil
}

// follow applies events that another node has appended. Those that the state has already are passed
// over.
func (w *writer) follow(records []eventlog.Record) error {
	if err := w.refusal(); err != nil {
		return err
	}
	at := w.live.state.Position()
	var events []experiment.Event
	for _, r := range records {
		if r.Position > at {
			events = append(events, experiment.Event{Kind: r.Kind, Time: r.Time, Payload: r.Payload})
		}
	}
	if len(events) == 0 {
		return nil
	}
	if w.leads.Load() {
		w.fenced()
	}
	if _, err := w.fold(at+1, events); err != nil {
		return err
	}
	w.snapshots.maintain(w.live.state, int64(sizeOf(events)))
	return nil
}

// fenced ends the lead, because another node has appended to the log.
func (w *writer) fenced() {
	if w.leads.Swap(false) {
		w.logger.Warn("this node leads no longer: another one appends to the log",
			"position", w.live.state.Position())
	}
}
