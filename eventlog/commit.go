package eventlog

import (
	"bytes"
	"context"
	"errors"
	"runtime"

	"github.com/cockroachdb/pebble/v2"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/eventlog/internal/appendqueue"
)

// request is a call of Append in progress.
type request = appendqueue.Request[Event]

// Append implements [Appender]. Calls that wait together share one flush of the disk.
func (s *Store) Append(ctx context.Context, events ...Event) (first, last uint64, err error) {
	first, err = s.append(ctx, 0, events)
	if err != nil {
		return 0, 0, err
	}
	return first, first + uint64(len(events)) - 1, nil
}

// AppendAt implements [Appender]. It shares its flush with calls of Append that come after it.
func (s *Store) AppendAt(ctx context.Context, first uint64, events ...Event) error {
	if first == 0 {
		return noregret.Errorf(noregret.Usage, "append", "position 0: positions begin at 1")
	}
	_, err := s.append(ctx, first, events)
	return err
}

// append appends the events at a position, or at any if that is 0, and returns the first position.
func (s *Store) append(ctx context.Context, at uint64, events []Event) (first uint64, err error) {
	size, err := s.opts.CheckEvents(events)
	if err != nil {
		return 0, err
	}
	return s.queue.Append(ctx, at, events, size)
}

// commit is the committer: it writes one group after the other until the log is closed.
func (s *Store) commit() {
	for {
		group := s.queue.Take(s.opts.GroupBytes, s.opts.GroupEvents)
		if group == nil {
			return
		}
		s.commitMu.Lock()
		err := error(nil)
		if write := s.fence(group); len(write) > 0 {
			err = s.writeGroup(write)
		}
		s.commitMu.Unlock()
		if err != nil {
			s.fail(err)
			err = s.failure()
			for _, r := range group {
				r.Err = err
			}
		}
		s.queue.Done(group)
		// Let the callers that just got their answers append again. Otherwise callers that append
		// in a loop divide into two halves that wait for each other, and each flush carries only
		// half of the events that it could.
		runtime.Gosched()
	}
}

// fence returns the part of a group that is to be written. The first request may lack: it is for a
// position that does not follow the last one, or its events are in the log already.
func (s *Store) fence(group []*request) []*request {
	r := group[0]
	s.mu.Lock()
	next := s.last.position + 1
	s.mu.Unlock()
	if r.At == 0 || r.At == next {
		return group
	}
	held, err := s.holds(r.At, r.Events)
	if err == nil && !held {
		err = noregret.Errorf(noregret.Internal, s.dir, "%w: %d was expected, the next one is %d", ErrFenced, r.At,
			next)
	}
	r.First, r.Err = r.At, err
	return group[1:]
}

// holds reports whether the log has exactly these events from a position on. Only the committer
// calls it.
func (s *Store) holds(first uint64, events []Event) (bool, error) {
	s.mu.Lock()
	end := s.last.position
	s.mu.Unlock()
	last := first + uint64(len(events)) - 1
	if last < first || last > end {
		return false, nil
	}
	at := first
	for at <= last {
		c := s.cursor(at)
		chunk := new([]Record)
		err := s.guard(func() (err error) {
			*chunk, err = s.readChunk(&c.chain, last)
			return err
		})
		if errors.Is(err, ErrCompacted) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		for _, r := range *chunk {
			if !r.same(events[at-first]) {
				return false, nil
			}
			at++
		}
	}
	return true, nil
}

// same reports whether two events are the same.
func (e Event) same(f Event) bool {
	return e.Kind == f.Kind && e.Time == f.Time && bytes.Equal(e.Payload, f.Payload)
}

// writeGroup makes a group durable and then visible. Only the committer calls it, so s.last does
// not change meanwhile.
func (s *Store) writeGroup(group []*request) error {
	s.mu.Lock()
	last := s.last
	s.mu.Unlock()
	b := s.db.NewBatch()
	count := uint64(0)
	for _, r := range group {
		r.First = last.position + 1
		for _, e := range r.Events {
			last.position++
			op := b.SetDeferred(9, recordSize(e))
			copy(op.Key, eventKey(last.position))
			last.sum = encodeRecord(op.Value, Record{last.position, e}, last.sum)
			if err := op.Finish(); err != nil {
				return s.ioError("appending", err)
			}
			count++
		}
	}
	err := s.guard(func() error {
		if err := s.db.Apply(b, pebble.Sync); err != nil {
			return err
		}
		if err := s.marks.write(last); err != nil {
			return err
		}
		return b.Close()
	})
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last = last
	s.stats.Groups++
	s.stats.Appends += uint64(len(group))
	s.stats.Events += count
	close(s.grown)
	s.grown = make(chan struct{})
	return nil
}
