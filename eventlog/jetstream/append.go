package jetstream

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strconv"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/eventlog"
)

// request is a call of Append in progress.
type request struct {
	events []eventlog.Event
	size   int
	at     uint64        // the position that the first event must get, 0 for any
	done   chan struct{} // closed when first and err are set
	first  uint64
	err    error
}

// queue has the requests that wait. The log's mutex guards it.
type queue struct {
	waiting  []*request
	bytes    int
	work     chan struct{} // has an item when the writer should look
	capacity chan struct{} // closed when there is more room
	drained  chan struct{} // closed when the writer has ended
}

func newQueue() queue {
	return queue{work: make(chan struct{}, 1), capacity: make(chan struct{}), drained: make(chan struct{})}
}

// signal lets the writer look.
func (q *queue) signal() {
	select {
	case q.work <- struct{}{}:
	default:
	}
}

// release returns room of the queue.
func (q *queue) release(size int) {
	q.bytes -= size
	close(q.capacity)
	q.capacity = make(chan struct{})
}

// Append implements [eventlog.Appender]. Calls that wait together share one message.
func (l *Log) Append(ctx context.Context, events ...eventlog.Event) (first, last uint64, err error) {
	first, err = l.append(ctx, 0, events)
	if err != nil {
		return 0, 0, err
	}
	return first, first + uint64(len(events)) - 1, nil
}

// AppendAt implements [eventlog.Appender].
func (l *Log) AppendAt(ctx context.Context, first uint64, events ...eventlog.Event) error {
	if first == 0 {
		return noregret.Errorf(noregret.Usage, "append", "position 0: positions begin at 1")
	}
	_, err := l.append(ctx, first, events)
	return err
}

func (l *Log) append(ctx context.Context, at uint64, events []eventlog.Event) (uint64, error) {
	size, err := l.events.CheckEvents(events)
	if err != nil {
		return 0, err
	}
	if size > l.largest {
		return 0, l.errorf(noregret.Usage, "the %d events have %d bytes: at most %d fit into a message; "+
			"max_payload of the servers bounds it", len(events), size, l.largest)
	}
	r := &request{events: events, size: size, at: at, done: make(chan struct{})}
	if err := l.enqueue(ctx, r); err != nil {
		return 0, err
	}
	select {
	case <-r.done:
	case <-ctx.Done():
		if l.takeBack(r) {
			return 0, notAppended(ctx)
		}
		<-r.done
	}
	return r.first, r.err
}

func notAppended(ctx context.Context) error {
	return noregret.Errorf(noregret.Internal, "append", "nothing was appended: %w", context.Cause(ctx))
}

// enqueue waits for room in the queue and adds a request to its end.
func (l *Log) enqueue(ctx context.Context, r *request) error {
	for {
		if ctx.Err() != nil {
			return notAppended(ctx)
		}
		l.mu.Lock()
		if err := l.writable(); err != nil {
			l.mu.Unlock()
			return err
		}
		if l.queue.bytes+r.size <= l.events.QueueBytes {
			l.queue.waiting = append(l.queue.waiting, r)
			l.queue.bytes += r.size
			l.queue.signal()
			l.mu.Unlock()
			return nil
		}
		capacity, changed := l.queue.capacity, l.changed
		l.mu.Unlock()
		select {
		case <-capacity:
		case <-changed: // perhaps a failure
		case <-ctx.Done():
		}
	}
}

// takeBack removes a request from the queue unless the writer has taken it.
func (l *Log) takeBack(r *request) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	i := slices.Index(l.queue.waiting, r)
	if i < 0 {
		return false
	}
	l.queue.waiting = slices.Delete(l.queue.waiting, i, i+1)
	l.queue.release(r.size)
	return true
}

// write is the writer: it stores one group after the other until the log is closed. One message is
// in flight, never more: of two, the second could be stored behind a foreign message that has taken
// the first one's place.
func (l *Log) write() {
	defer close(l.queue.drained)
	for range l.queue.work {
		for {
			group, closing := l.take()
			if len(group) == 0 {
				if closing {
					return
				}
				break
			}
			l.writeMu.Lock()
			err := l.storeGroup(group)
			if err != nil {
				err = l.fail(err)
			}
			l.writeMu.Unlock()
			for _, r := range group {
				if err != nil && r.first == 0 && r.err == nil {
					r.err = err
				}
				close(r.done)
			}
		}
	}
}

// take takes as many requests as fit into a group. If the log has failed, it ends all of them.
func (l *Log) take() (group []*request, closing bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.cause != nil || l.closed {
		for _, r := range l.queue.waiting {
			r.err = l.usable()
			l.queue.bytes -= r.size
			close(r.done)
		}
		l.queue.waiting = nil
		l.queue.release(0)
		return nil, l.closing
	}
	size, count := 0, 0
	for _, r := range l.queue.waiting {
		if n := len(group); n > 0 && (r.at > 0 || size+r.size > l.largest ||
			count+len(r.events) > l.events.GroupEvents) {
			break
		}
		group, size, count = append(group, r), size+r.size, count+len(r.events)
	}
	l.queue.waiting = slices.Delete(l.queue.waiting, 0, len(group))
	l.queue.release(size)
	return group, l.closing
}

// storeGroup stores the events of requests as one message behind what the log has. It sets what
// each of them returns. After an error the log has failed.
func (l *Log) storeGroup(group []*request) error {
	ctx := l.life
	for len(group) > 0 {
		if r := group[0]; r.at > 0 {
			next, err := l.fence(ctx, r)
			if err != nil {
				return err
			}
			if !next {
				group = group[1:]
				continue
			}
		}
		l.mu.Lock()
		after := l.last
		l.mu.Unlock()
		var events []eventlog.Event
		for _, r := range group {
			events = append(events, r.events...)
		}
		m := encode(after, events)
		stored, err := l.store(ctx, m)
		if err != nil {
			l.mu.Lock()
			l.pending = m
			l.mu.Unlock()
			return err
		}
		if !stored { // another writer has appended
			if err := l.catchUp(ctx); err != nil {
				return err
			}
			continue
		}
		l.mu.Lock()
		l.stats.Groups++
		l.stats.Appends += uint64(len(group))
		l.stats.Events += uint64(len(events))
		l.mu.Unlock()
		at := m.first
		for _, r := range group {
			r.first = at
			at += uint64(len(r.events))
		}
		return nil
	}
	return nil
}

// fence reports whether a request's position is the next one. If not, it sets what the request
// returns.
func (l *Log) fence(ctx context.Context, r *request) (next bool, err error) {
	l.mu.Lock()
	end := l.last.position
	l.mu.Unlock()
	if r.at > end+1 { // this node may be behind
		if err := l.catchUp(ctx); err != nil {
			return false, err
		}
		l.mu.Lock()
		end = l.last.position
		l.mu.Unlock()
	}
	if r.at == end+1 {
		return true, nil
	}
	held, err := l.holds(ctx, r.at, end, r.events)
	if err != nil {
		return false, err
	}
	if r.first = r.at; !held {
		r.err = l.errorf(noregret.Internal, "%w: %d was expected, the next one is %d",
			eventlog.ErrFenced, r.at, end+1)
	}
	return false, nil
}

// holds reports whether the log, which ends at a position, has exactly these events from another
// one on.
func (l *Log) holds(ctx context.Context, first, end uint64, events []eventlog.Event) (bool, error) {
	last := first + uint64(len(events)) - 1
	if last < first || last > end {
		return false, nil
	}
	c := cursor{next: first}
	for c.next <= last {
		m, err := l.at(ctx, &c)
		if errors.Is(err, eventlog.ErrCompacted) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		for ; c.next <= min(last, m.last()); c.next++ {
			if !same(m.events[c.next-m.first], events[c.next-first]) {
				return false, nil
			}
		}
	}
	return true, nil
}

// store stores a message behind what the log had when it was made, or finds that another message
// has its place. It sends the same bytes until there is an answer: an attempt without one may be
// stored at any time, so that reading proves nothing, but only one message can be accepted there.
func (l *Log) store(ctx context.Context, m *message) (stored bool, err error) {
	t := l.tries(ctx)
	defer t.stop()
	for {
		err := l.wire.publish(ctx, m)
		if errors.Is(err, errRefused) {
			held, found, readErr := l.inPlace(ctx, m)
			if found && !held {
				return false, nil
			}
			if found {
				err = nil
			} else if readErr != nil {
				err = errors.Join(err, readErr)
			}
		}
		if err == nil {
			if err := l.apply(m); err != nil {
				return false, err
			}
			// If it gets lost, the others look all the same.
			_ = l.wire.conn.Publish(l.wire.hint(), strconv.AppendUint(nil, m.sequence, 10))
			return true, nil
		}
		if !t.again() {
			return false, l.unknown(ctx, err)
		}
	}
}

// inPlace looks which message has the place of another one: the same, or a foreign one. A refusal
// may speak of one that is not committed, and a replica may be behind or damaged: then none is
// found.
func (l *Log) inPlace(ctx context.Context, m *message) (held, found bool, err error) {
	look := func(got raw) bool {
		held = got.sequence == m.sequence && bytes.Equal(got.data, m.data)
		_, damage := decode(got.sequence, got.data)
		return held || got.sequence == m.sequence && damage == nil
	}
	raws, err := l.wire.fetch(ctx, m.sequence, 1)
	if err == nil && len(raws) > 0 && look(raws[0]) {
		return held, true, nil
	}
	got, err := l.wire.leading(ctx, m.sequence)
	if err != nil || got == nil {
		return false, false, err
	}
	found = look(*got)
	return held, found, nil
}

// unknown makes the error of an append without an answer. If the stream is not what it was, it says
// so.
func (l *Log) unknown(ctx context.Context, cause error) error {
	if err := l.inspect(ctx); errors.Is(err, eventlog.ErrGone) {
		return err
	}
	return l.errorf(noregret.Internal, "no answer to an append for %v, which may be stored: %w",
		l.o.Patience, cause)
}
