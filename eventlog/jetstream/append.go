package jetstream

import (
	"bytes"
	"context"
	"errors"
	"strconv"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/eventlog"
	"github.com/noregret/noregret/eventlog/internal/appendqueue"
)

// request is a call of Append in progress.
type request = appendqueue.Request[eventlog.Event]

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
	return l.queue.Append(ctx, at, events, size)
}

// write is the writer: it stores one group after the other until the log is closed. One message is
// in flight, never more: of two, the second could be stored behind a foreign message that has taken
// the first one's place.
func (l *Log) write() {
	defer close(l.drained)
	for {
		group := l.queue.Take(l.largest, l.events.GroupEvents)
		if group == nil {
			return
		}
		l.writeMu.Lock()
		err := l.storeGroup(group)
		if err != nil {
			err = l.fail(err)
		}
		l.writeMu.Unlock()
		for _, r := range group {
			if err != nil && r.First == 0 && r.Err == nil {
				r.Err = err
			}
		}
		l.queue.Done(group)
	}
}

// storeGroup stores the events of requests as one message behind what the log has. It sets what
// each of them returns. After an error the log has failed.
func (l *Log) storeGroup(group []*request) error {
	ctx := l.life
	for len(group) > 0 {
		if r := group[0]; r.At > 0 {
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
			events = append(events, r.Events...)
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
			r.First = at
			at += uint64(len(r.Events))
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
	if r.At > end+1 { // this node may be behind
		if err := l.catchUp(ctx); err != nil {
			return false, err
		}
		l.mu.Lock()
		end = l.last.position
		l.mu.Unlock()
	}
	if r.At == end+1 {
		return true, nil
	}
	held, err := l.holds(ctx, r.At, end, r.Events)
	if err != nil {
		return false, err
	}
	if r.First = r.At; !held {
		r.Err = l.errorf(noregret.Internal, "%w: %d was expected, the next one is %d",
			eventlog.ErrFenced, r.At, end+1)
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
//
// One replica is enough, whichever it is, also one that is behind or was deposed as the leader. A
// server puts a message into its copy of the stream, which is all that it reads from, when the
// message is committed, that is on a majority, and not before: a message that only the leader has
// is in its Raft log, and what may still be overwritten there was never in a copy. No message of a
// term that follows can have the place of a committed one. Only servers that lose what they have
// flushed could take it back, and then the leader's answer would prove no more: marks notice that.
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
