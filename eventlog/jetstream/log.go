package jetstream

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/eventlog"
	"github.com/noregret/noregret/eventlog/internal/appendqueue"
	"github.com/noregret/noregret/internal/atomicfile"
)

// place names a stream in errors.
func place(stream string) string { return "stream " + stream }

// Log is a log in a stream. Its methods are safe for concurrent use.
type Log struct {
	o       Options
	events  eventlog.Options
	place   string
	wire    *wire
	keys    nodeKeys // the base, and the snapshots of the nodes
	node    string
	lock    *atomicfile.Lock
	created int64
	largest int // the size of the events of a message

	reads     bool   // takes no events
	temporary string // the directory, if it is removed at the end
	begins    uint64 // the position after which Create lets the log begin

	life  context.Context // ends with the process or Close
	end   context.CancelFunc
	ended sync.WaitGroup
	hint  hinted

	// queue has the appends that wait. It is stopped, resumed and closed with mu held, as cause,
	// closing and closed change.
	queue   *appendqueue.Queue[eventlog.Event]
	drained chan struct{} // closed when the writer has ended

	snapMu  sync.Mutex // held while snapshots are written or read
	writeMu sync.Mutex // held while a group is written, and by Reopen and Compact

	mu        sync.Mutex
	marks     *marks
	seen      mark       // what the mark said when the log was opened
	last      point      // what was seen and verified
	base      point      // up to which the events were dropped
	firstSeq  uint64     // the first message of the stream, or before it
	recent    []*message // the newest messages up to last
	recentB   int
	index     []spot // positions of some messages
	snapshots []uint64
	cause     error         // why the log has failed, nil if it has not
	closing   bool          // no more appends
	closed    bool          // Close has returned
	changed   chan struct{} // closed when there are more events, or a failure or the end
	pending   *message      // the message whose outcome is unknown
	stats     eventlog.Stats
}

var _ eventlog.Log = (*Log)(nil)

// wake lets those who wait look again. The caller holds mu.
func (l *Log) wake() {
	close(l.changed)
	l.changed = make(chan struct{})
}

// usable returns an error if the log is closed or has failed. The caller holds mu.
func (l *Log) usable() error {
	switch {
	case l.closed:
		return l.errorf(noregret.Usage, "%w", eventlog.ErrClosed)
	case l.cause != nil:
		return l.cause
	}
	return nil
}

// writable is usable for what changes the log.
func (l *Log) writable() error {
	switch {
	case l.closing:
		return l.errorf(noregret.Usage, "%w", eventlog.ErrClosed)
	case l.reads:
		return l.errorf(noregret.Usage, "%w", eventlog.ErrReadOnly)
	}
	return l.usable()
}

// errorf is [noregret.Errorf] at the stream, for any number of causes. What is said of the same
// stream is not said twice.
func (l *Log) errorf(code noregret.Code, format string, args ...any) error {
	return errorAt(l.place, code, format, args...)
}

func errorAt(place string, code noregret.Code, format string, args ...any) error {
	for i, a := range args {
		if e, ok := a.(*noregret.Error); ok && e.Place == place {
			args[i] = &noregret.Error{Code: e.Code, Message: e.Message, Err: e.Err}
		}
	}
	err := fmt.Errorf(format, args...)
	return &noregret.Error{Code: code, Place: place, Message: err.Error(), Err: err}
}

// failure makes the error of a log that fails. What was lost or changed is named as such.
func (l *Log) failure(cause error) error {
	if errors.Is(cause, eventlog.ErrFailed) {
		return cause
	}
	code := noregret.Internal
	if noregret.CodeOf(cause) == noregret.BadInput { // the log is damaged, or another one
		code = noregret.BadInput
	}
	return l.errorf(code, "%w: %w", eventlog.ErrFailed, cause)
}

// fail notes that the log has failed and returns its error. The first failure stays.
func (l *Log) fail(cause error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.failLocked(cause)
}

func (l *Log) failLocked(cause error) error {
	if l.cause == nil {
		l.cause = l.failure(cause)
		l.queue.Stop(l.cause)
		l.wake()
	}
	return l.cause
}

// lost makes the error of a stream that is not what this node has seen.
func (l *Log) lost(format string, args ...any) error {
	return l.errorf(noregret.BadInput, "%w; %w: %s; what was acknowledged may be lost: compare the nodes, and remove "+
		"the file %s of a node that should accept the stream", eventlog.ErrDamaged, eventlog.ErrGone,
		fmt.Sprintf(format, args...), markName)
}

// damaged makes the error of messages that cannot be read.
func (l *Log) damaged(format string, args ...any) error { return damagedAt(l.place, format, args...) }

func damagedAt(place, format string, args ...any) error {
	return errorAt(place, noregret.BadInput, "%w: %s", eventlog.ErrDamaged, fmt.Sprintf(format, args...))
}

// apply adds consecutive messages to what is known of the log. Those that are known already are
// passed over. The mark is written first: if that fails, nothing is added.
func (l *Log) apply(messages ...*message) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(messages) > 0 && messages[0].sequence <= l.last.sequence {
		messages = messages[1:]
	}
	if len(messages) == 0 {
		return nil
	}
	last := l.last
	for _, m := range messages {
		if !m.follows(last) {
			return l.lost("message %d, which begins at position %d and follows the checksum %08x, does not follow "+
				"what this node has seen: message %d, which ends at %d with the checksum %08x", m.sequence, m.first,
				m.previous, last.sequence, last.position, last.sum)
		}
		last = m.end()
	}
	if err := l.writeMark(last); err != nil {
		return err
	}
	l.last = last
	for _, m := range messages {
		l.recent = append(l.recent, m)
		l.recentB += len(m.data)
		if m.sequence%indexEvery == 0 {
			l.note(m.sequence, m.first)
		}
	}
	for l.recentB > recentBytes && len(l.recent) > 1 {
		l.recentB -= len(l.recent[0].data)
		l.recent[0] = nil
		l.recent = l.recent[1:]
	}
	l.wake()
	return nil
}

// errMark: the mark could not be written.
var errMark = errors.New("writing the mark")

// writeMark writes the mark of an end of the log. The caller holds mu.
func (l *Log) writeMark(end point) error {
	if err := l.marks.write(mark{end, l.created}); err != nil {
		return noregret.Errorf(noregret.Internal, l.o.Dir, "%w", fmt.Errorf("%w: %w", errMark, err))
	}
	return nil
}

// besidePayload is at least what an event has beside its payload.
const besidePayload = 1 << 10

// Stats implements [eventlog.Log]. Last is the last position that this node has seen.
func (l *Log) Stats() eventlog.Stats {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := l.stats
	out.First, out.Last, out.QueueBytes = l.base.position+1, l.last.position, int64(l.queue.Bytes())
	out.Largest = min(l.events.MaxEventBytes, l.largest-besidePayload)
	if n := len(l.snapshots); n > 0 {
		out.Snapshot = l.snapshots[n-1]
	}
	if l.cause != nil {
		out.Failed = l.cause.Error()
	}
	return out
}

// Health implements [eventlog.Log].
func (l *Log) Health() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.usable()
}

// Reopen implements [eventlog.Log]. An append whose outcome is unknown is sent again until the
// servers answer, so that it is in the log for good or never will be.
func (l *Log) Reopen(ctx context.Context) error {
	l.writeMu.Lock()
	defer l.writeMu.Unlock()
	l.mu.Lock()
	err, cause, pending := ctx.Err(), l.cause, l.pending
	if err == nil && l.closing {
		err = l.writable()
	}
	l.mu.Unlock()
	if err != nil || cause == nil {
		return err
	}
	if err := l.settle(ctx, pending); err != nil {
		if errors.Is(err, eventlog.ErrDamaged) {
			return err
		}
		return l.errorf(noregret.Internal, "%w: %w", eventlog.ErrNotReady, err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cause, l.pending, l.stats = nil, nil, eventlog.Stats{}
	l.queue.Resume()
	l.wake()
	return nil
}

// settle finds out what has become of a message, if there is one, and reads what the stream has.
func (l *Log) settle(ctx context.Context, pending *message) error {
	if pending != nil {
		if _, err := l.store(ctx, pending); err != nil {
			return err
		}
	}
	if err := l.inspect(ctx); err != nil {
		return err
	}
	return l.catchUp(ctx)
}

// tries bounds what is tried again and again.
type tries struct {
	limit context.Context
	stop  func()
	wait  time.Duration
}

// tries returns the tries of one undertaking. They end with the patience, with ctx and with the
// log; one attempt has its own bound.
func (l *Log) tries(ctx context.Context) *tries {
	t := newTries(ctx, l.o.Patience)
	cancel, stop := t.stop, context.AfterFunc(l.life, t.stop)
	t.stop = func() { stop(); cancel() }
	return t
}

// newTries returns tries that end with the patience and with ctx.
func newTries(ctx context.Context, patience time.Duration) *tries {
	limit, cancel := context.WithTimeout(ctx, patience)
	return &tries{limit, cancel, 5 * time.Millisecond}
}

// again waits before the next try, longer each time, and reports whether there is one.
func (t *tries) again() bool {
	t.wait = min(2*t.wait, 250*time.Millisecond)
	return pause(t.limit, t.wait)
}

// Close implements [eventlog.Log].
func (l *Log) Close() error {
	l.mu.Lock()
	if l.closing {
		l.mu.Unlock()
		return nil
	}
	l.closing = true
	l.queue.Close(l.writable())
	l.mu.Unlock()
	<-l.drained
	l.mu.Lock()
	err := l.usable()
	l.mu.Unlock()
	return errors.Join(err, l.kill(true))
}

// kill ends the log at once, as the end of its process does; regular flushes the mark.
func (l *Log) kill(regular bool) error {
	l.end()
	l.mu.Lock()
	ended := l.closed
	l.closing, l.closed = true, true
	l.queue.Close(l.writable())
	l.queue.Stop(l.writable())
	l.wake()
	l.mu.Unlock()
	if ended {
		return nil
	}
	l.wire.conn.Close()
	l.ended.Wait()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.temporary != "" {
		return errors.Join(l.marks.file.Close(), l.lock.Release(), os.RemoveAll(l.temporary))
	}
	if regular {
		return errors.Join(l.marks.close(), l.lock.Release())
	}
	return errors.Join(l.marks.file.Close(), l.lock.Release())
}
