package jetstream

import (
	"context"
	"errors"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/noregret/noregret/eventlog"
)

// inspectEvery is how many polls for messages come between two looks at the stream itself.
const inspectEvery = 8

// hinted is the newest message that a writer has told of.
type hinted struct {
	sequence atomic.Uint64
	told     chan struct{}
}

// hear notes what a writer tells. It may be wrong: it only lets the follower look.
func (h *hinted) hear(m *nats.Msg) {
	n, err := strconv.ParseUint(string(m.Data), 10, 64)
	if err != nil || n <= h.sequence.Load() {
		return
	}
	h.sequence.Store(n) // one goroutine delivers
	select {
	case h.told <- struct{}{}:
	default:
	}
}

// followStream reads the messages of other writers as they come, until the log is closed. It goes
// on while the servers do not answer. It ends the log's work if the stream is not what it was, or
// if a message cannot be read.
func (l *Log) followStream() {
	// A replica may have a message a little later than its writer tells of it: so many looks.
	const quick = 20
	poll, renew := l.untilPoll()
	defer func() { renew() }()
	for n, soon := 0, 0; l.life.Err() == nil; {
		l.mu.Lock()
		failed, changed, last := l.cause != nil, l.changed, l.last.sequence
		l.mu.Unlock()
		if failed {
			select {
			case <-changed:
			case <-l.life.Done():
			}
			continue
		}
		if told := l.hint.sequence.Load(); told <= last || soon >= quick {
			// What this node has appended itself, it is told of, too: that is no reason to look.
			soon = 0
			select {
			case <-l.hint.told:
				continue
			case <-poll.Done():
			}
		} else if soon++; soon > 1 {
			pause(l.life, time.Duration(soon)*time.Millisecond)
		}
		if err := l.pull(l.life); l.serious(err) {
			_ = l.fail(err)
			continue
		}
		if poll.Err() != nil { // also where it is told of messages all the time
			renew()
			poll, renew = l.untilPoll()
			if n++; n%inspectEvery == 0 {
				l.glance()
			}
		}
	}
}

// untilPoll returns a context that ends when it is time for the next poll.
func (l *Log) untilPoll() (context.Context, context.CancelFunc) {
	return context.WithTimeout(l.life, l.o.Poll)
}

// serious reports whether an error ends the log's work.
func (l *Log) serious(err error) bool {
	return l.life.Err() == nil && (errors.Is(err, eventlog.ErrDamaged) || errors.Is(err, eventlog.ErrGone) ||
		errors.Is(err, eventlog.ErrCompacted) || errors.Is(err, errMark))
}

// pull makes one look for messages behind the last one.
func (l *Log) pull(ctx context.Context) error {
	l.mu.Lock()
	from := l.last.sequence + 1
	l.mu.Unlock()
	raws, err := l.wire.fetch(ctx, from, fetchMost)
	if err != nil || len(raws) == 0 {
		return err
	}
	out, _ := whole(raws, from, raws[len(raws)-1].sequence)
	if len(out) == 0 { // a gap: the others or the leader may have the message
		return l.catchUpTo(ctx, raws[0].sequence)
	}
	return l.apply(out...)
}

// glance looks at the stream itself: it may have been replaced, be shorter than it was, or have
// messages that no replica has given. One look proves nothing of that, because a leader that was
// deposed may answer, so inspect and catchUp look again.
func (l *Log) glance() {
	l.mu.Lock()
	last := l.last.sequence // before the look, as there may be more behind it
	l.mu.Unlock()
	state, err := l.wire.look(l.life)
	switch {
	case errors.Is(err, errNoStream), err == nil && (state.created != l.created || state.last < last):
		err = l.inspect(l.life)
	case err == nil && state.last > last:
		err = l.catchUpTo(l.life, state.last)
	case err == nil:
		err = l.readBase(l.life)
	}
	if l.serious(err) {
		_ = l.fail(err)
	}
}

// inspect checks that the stream is the one that was opened and has all that was seen of it.
func (l *Log) inspect(ctx context.Context) error {
	t := l.tries(ctx)
	defer t.stop()
	for {
		l.mu.Lock()
		last := l.last // before the look, as there may be more behind it
		l.mu.Unlock()
		state, err := l.wire.look(ctx)
		switch {
		case errors.Is(err, errNoStream):
			err = l.lost("there is no such stream, and %d was acknowledged", last.position)
		case err != nil:
		case state.created != l.created:
			return l.otherStream(state.created, l.created)
		case state.last < last.sequence:
			err = l.lost("it ends with message %d, but message %d, with position %d, was acknowledged", state.last,
				last.sequence, last.position)
		default:
			l.mu.Lock()
			l.firstSeq = max(l.firstSeq, state.first)
			l.mu.Unlock()
			return l.readBase(ctx)
		}
		if !t.again() {
			return err
		}
	}
}

// otherStream makes the error of a stream that was made again.
func (l *Log) otherStream(now, then int64) error {
	at := func(t int64) string { return time.Unix(0, t).UTC().Format(time.RFC3339Nano) }
	return l.lost("it was created at %s, that of this node at %s", at(now), at(then))
}

// catchUp reads what the stream has now.
func (l *Log) catchUp(ctx context.Context) error {
	t := l.tries(ctx)
	defer t.stop()
	for {
		state, err := l.wire.look(ctx)
		if err == nil {
			return l.catchUpTo(ctx, state.last)
		}
		if !t.again() {
			return err
		}
	}
}

// catchUpTo reads up to a message that the stream is known to have.
func (l *Log) catchUpTo(ctx context.Context, to uint64) error {
	for {
		l.mu.Lock()
		last := l.last
		l.mu.Unlock()
		if last.sequence >= to {
			return nil
		}
		found, err := l.messages(ctx, last.sequence+1, to)
		if errors.Is(err, errPurged) {
			return l.purged(ctx, last.position+1)
		}
		if err != nil {
			return err
		}
		if err := l.apply(found...); err != nil {
			return err
		}
	}
}
