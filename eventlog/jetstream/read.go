package jetstream

import (
	"context"
	"errors"
	"iter"
	"slices"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/eventlog"
)

const (
	recentBytes = 32 << 20 // of the newest messages, which are kept in memory
	indexEvery  = 64       // messages
	indexMost   = 4096     // entries
)

// errPurged: the stream has dropped the message.
var errPurged = errors.New("the message was dropped")

// spot is the first position of a message.
type spot struct{ sequence, first uint64 }

// note adds a message to the index. The caller holds mu.
func (l *Log) note(sequence, first uint64) {
	i, found := slices.BinarySearchFunc(l.index, sequence, func(s spot, n uint64) int { return int(s.sequence - n) })
	if found {
		return
	}
	if l.index = slices.Insert(l.index, i, spot{sequence, first}); len(l.index) > indexMost {
		for i := range indexMost / 2 {
			l.index[i] = l.index[2*i]
		}
		l.index = l.index[:indexMost/2]
	}
}

// messages reads messages from a sequence number on: one or more, without a gap, and at most up to
// another number, which the stream is known to have. What one replica lacks or has damaged, another
// one may have, so it asks again, and then the leader. The error is errPurged if the stream begins
// later.
func (l *Log) messages(ctx context.Context, from, to uint64) ([]*message, error) {
	t := l.tries(ctx)
	defer t.stop()
	why := errors.New("no replica has it")
	leader := errors.New("the leader was not asked") // why its last answer is not known
	for try := 1; ; try++ {
		raws, err := l.wire.fetch(ctx, from, int(min(to-from+1, fetchMost)))
		out, problem := whole(raws, from, to)
		if len(out) > 0 {
			return out, nil
		}
		if problem != nil {
			why = problem
		}
		if err == nil && (try == 1 || try%3 == 0) {
			out, leader = l.messageOfLeader(ctx, from)
			if len(out) > 0 || errors.Is(leader, errPurged) {
				return out, leader
			}
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if t.again() {
			continue
		}
		if err == nil {
			err = leader
		}
		if err != nil { // the one that did not answer may have the message
			return nil, l.errorf(noregret.Internal, "no answer for %v: %w", l.o.Patience, err)
		}
		return nil, l.damaged("message %d cannot be read from any replica, nor from the leader: %v; remove the "+
			"store of a server that is damaged while it is stopped, so that it is copied from the others", from, why)
	}
}

// messageOfLeader reads one message from the leader, or finds that the stream begins later.
func (l *Log) messageOfLeader(ctx context.Context, sequence uint64) ([]*message, error) {
	got, err := l.wire.leading(ctx, sequence)
	if err != nil {
		return nil, err
	}
	if got != nil {
		if m, err := decode(got.sequence, got.data); err == nil {
			return []*message{m}, nil
		}
		return nil, nil
	}
	state, err := l.wire.look(ctx)
	if err == nil && state.first > sequence {
		err = errPurged
	}
	return nil, err
}

// whole decodes the messages before the first gap or damage.
func whole(raws []raw, from, to uint64) (out []*message, problem error) {
	for i, r := range raws {
		if r.sequence != from+uint64(i) || r.sequence > to {
			break
		}
		m, err := decode(r.sequence, r.data)
		if err != nil {
			return out, err
		}
		out = append(out, m)
	}
	return out, nil
}

// cursor is a place in the log. The zero values of all but next are those of a reader that begins.
type cursor struct {
	next  uint64     // position
	after point      // the message before, once there is one
	ahead []*message // have been read
}

// at returns the message that has the cursor's position, which the log is known to have.
func (l *Log) at(ctx context.Context, c *cursor) (*message, error) {
	for len(c.ahead) > 0 && c.ahead[0].last() < c.next {
		c.ahead = c.ahead[1:]
	}
	if len(c.ahead) == 0 {
		if err := l.load(ctx, c); err != nil {
			return nil, err
		}
	}
	m := c.ahead[0]
	switch {
	case m.first > c.next || m.last() < c.next:
		return nil, l.damaged("message %d has the positions %d to %d in the place of %d", m.sequence, m.first, m.last(),
			c.next)
	case c.after.sequence != 0 && c.after.sequence != m.sequence && !m.follows(c.after):
		return nil, l.damaged("message %d, from position %d on, does not follow message %d", m.sequence, m.first,
			c.after.sequence)
	}
	c.after = m.end()
	return m, nil
}

// load reads messages from the cursor on.
func (l *Log) load(ctx context.Context, c *cursor) error {
	l.mu.Lock()
	err, last := l.usable(), l.last
	if err == nil {
		err = l.kept(c.next)
	}
	if err == nil && len(l.recent) > 0 && l.recent[0].first <= c.next {
		i, _ := slices.BinarySearchFunc(l.recent, c.next, func(m *message, p uint64) int {
			if m.last() < p {
				return -1
			}
			return 1
		})
		c.ahead = []*message{l.recent[i]} // apply overwrites the slice's elements
		l.mu.Unlock()
		return nil
	}
	l.mu.Unlock()
	if err != nil {
		return err
	}
	from := c.after.sequence + 1
	if from == 1 {
		if from, err = l.locate(ctx, c.next); err != nil {
			return err
		}
	}
	c.ahead, err = l.messages(ctx, from, last.sequence)
	if errors.Is(err, errPurged) {
		return l.purged(ctx, c.next)
	}
	return err
}

// kept returns an error if a position was dropped. The caller holds mu.
func (l *Log) kept(at uint64) error {
	if base := l.base.position; at <= base {
		return l.errorf(noregret.NotFound, "%w: %d, the first is %d", eventlog.ErrCompacted, at, base+1)
	}
	return nil
}

// purged says why the message of a position is gone: it was dropped on purpose, or the log is
// damaged. The replica that says what was dropped may be behind, so it asks again.
func (l *Log) purged(ctx context.Context, position uint64) error {
	t := l.tries(ctx)
	defer t.stop()
	for {
		err := l.readBase(ctx)
		if err != nil {
			return err
		}
		l.mu.Lock()
		err = l.kept(position)
		l.mu.Unlock()
		if err != nil {
			return err
		}
		if !t.again() {
			break
		}
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.damaged("the stream begins behind position %d, and only the events up to %d were dropped on purpose",
		position, l.base.position)
}

// locate returns the sequence number of the message that has a position.
func (l *Log) locate(ctx context.Context, position uint64) (uint64, error) {
	l.mu.Lock()
	low, high := l.firstSeq, l.last.sequence+1
	if s := l.base.sequence; l.base.position+1 <= position && s > low {
		low = s // it may have later positions, too
	}
	for _, s := range l.index {
		if s.first <= position {
			low = max(low, s.sequence)
		} else {
			high = min(high, s.sequence)
		}
	}
	if len(l.recent) > 0 && l.recent[0].first > position {
		high = min(high, l.recent[0].sequence)
	}
	l.mu.Unlock()
	for low+1 < high { // the message is at low or later, and before high
		middle := low + (high-low)/2
		found, err := l.messages(ctx, middle, middle)
		if errors.Is(err, errPurged) {
			low = middle // the ones behind it are still to be tried
			continue
		}
		if err != nil {
			return 0, err
		}
		l.mu.Lock()
		l.note(middle, found[0].first)
		l.mu.Unlock()
		if found[0].first <= position {
			low = middle
		} else {
			high = middle
		}
	}
	return low, nil
}

// begin checks that reading can begin at a position. It returns the last position, and the channel
// that is closed when there is more.
func (l *Log) begin(ctx context.Context, from uint64) (last uint64, changed <-chan struct{}, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch err := ctx.Err(); {
	case err != nil:
		return 0, nil, err
	case l.usable() != nil:
		return 0, nil, l.usable()
	case from == 0 || from > l.last.position+1:
		return 0, nil, l.errorf(noregret.Usage, "cannot read from position %d: it must be 1 to %d", from,
			l.last.position+1)
	}
	return l.last.position, l.changed, l.kept(from)
}

// Read implements [eventlog.Reader]. The end is what this node has seen of the log.
func (l *Log) Read(ctx context.Context, from uint64) iter.Seq2[eventlog.Record, error] {
	return func(yield func(eventlog.Record, error) bool) {
		to, _, err := l.begin(ctx, from)
		if err != nil {
			yield(eventlog.Record{}, err)
			return
		}
		l.yield(ctx, &cursor{next: from}, to, yield)
	}
}

// Tail implements [eventlog.Reader].
func (l *Log) Tail(ctx context.Context, from uint64) iter.Seq2[eventlog.Record, error] {
	return func(yield func(eventlog.Record, error) bool) {
		c := &cursor{next: from}
		to, changed, err := l.begin(ctx, from)
		for err == nil {
			if !l.yield(ctx, c, to, yield) {
				return
			}
			select {
			case <-changed:
			case <-ctx.Done():
			}
			to, changed, err = l.begin(ctx, c.next)
		}
		yield(eventlog.Record{}, err)
	}
}

// yield yields the events up to a position, or an error, and reports whether to continue.
func (l *Log) yield(ctx context.Context, c *cursor, to uint64, yield func(eventlog.Record, error) bool) bool {
	for c.next <= to {
		m, err := l.at(ctx, c)
		if err != nil {
			yield(eventlog.Record{}, err)
			return false
		}
		for ; c.next <= min(to, m.last()); c.next++ {
			l.mu.Lock()
			err := l.usable()
			l.mu.Unlock()
			if err == nil {
				err = ctx.Err()
			}
			if err != nil {
				yield(eventlog.Record{}, err)
				return false
			}
			if !yield(m.record(c.next), nil) {
				c.next++
				return false
			}
		}
	}
	return true
}
