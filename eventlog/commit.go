package eventlog

import (
	"bytes"
	"context"
	"errors"
	"runtime"
	"slices"

	"github.com/cockroachdb/pebble/v2"

	"github.com/noregret/noregret"
)

// request is a call of Append in progress.
type request struct {
	events []Event
	size   int
	at     uint64        // the position that the first event must get, 0 for any
	done   chan struct{} // closed when first and err are set
	first  uint64
	err    error
}

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
	r := &request{events: events, size: size, at: at, done: make(chan struct{})}
	if err := s.enqueue(ctx, r); err != nil {
		return 0, err
	}
	select {
	case <-r.done:
	case <-ctx.Done():
		if s.takeBack(r) {
			return 0, notAppended(ctx)
		}
		<-r.done
	}
	return r.first, r.err
}

func notAppended(ctx context.Context) error {
	return noregret.Errorf(noregret.Internal, "append", "nothing was appended: %w", context.Cause(ctx))
}

// enqueue waits for capacity and adds r to the end of the queue.
func (s *Store) enqueue(ctx context.Context, r *request) error {
	for {
		if ctx.Err() != nil {
			return notAppended(ctx)
		}
		s.mu.Lock()
		if err := s.writable(); err != nil {
			s.mu.Unlock()
			return err
		}
		if s.queued+r.size <= s.opts.QueueBytes {
			s.queue = append(s.queue, r)
			s.queued += r.size
			s.work.Signal()
			s.mu.Unlock()
			return nil
		}
		capacity := s.capacity
		s.mu.Unlock()
		select {
		case <-capacity:
		case <-s.closed:
		case <-s.failed:
		case <-ctx.Done():
		}
	}
}

// takeBack removes r from the queue unless the committer has already taken it.
func (s *Store) takeBack(r *request) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.Index(s.queue, r)
	if i < 0 {
		return false
	}
	s.queue = slices.Delete(s.queue, i, i+1)
	s.release(r.size)
	return true
}

// release returns capacity of the queue. The caller holds s.mu.
func (s *Store) release(size int) {
	s.queued -= size
	close(s.capacity)
	s.capacity = make(chan struct{})
}

// commit is the committer: it writes one group after the other until the log is closed or fails.
func (s *Store) commit() {
	for {
		group, size := s.takeGroup()
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
		}
		s.mu.Lock()
		s.release(size)
		s.mu.Unlock()
		for _, r := range group {
			if err != nil {
				r.err = err
			}
			close(r.done)
		}
		// Let the callers that just got their answers append again. Otherwise callers that append
		// in a loop divide into two halves that wait for each other, and each flush carries only
		// half of the events that it could.
		runtime.Gosched()
	}
}

// takeGroup waits for requests and takes as many as fit into a group, or nil at the end. If the log
// has failed, it ends all waiting requests.
func (s *Store) takeGroup() (group []*request, size int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.queue) == 0 && !s.closing && s.cause == nil {
		s.work.Wait()
	}
	if s.cause != nil {
		for _, r := range s.queue {
			r.err = s.failureLocked()
			close(r.done)
			s.release(r.size)
		}
		s.queue = nil
		return nil, 0
	}
	n, count := 0, 0
	for _, r := range s.queue {
		if n > 0 && r.at > 0 {
			break // it is compared with the log before the group is written
		}
		if n > 0 && (size+r.size > s.opts.GroupBytes || count+len(r.events) > s.opts.GroupEvents) {
			break
		}
		n, size, count = n+1, size+r.size, count+len(r.events)
	}
	if n == 0 {
		return nil, 0
	}
	group = slices.Clone(s.queue[:n])
	s.queue = slices.Delete(s.queue, 0, n)
	return group, size
}

// fence returns the part of a group that is to be written. The first request may lack: it is for a
// position that does not follow the last one, or its events are in the log already.
func (s *Store) fence(group []*request) []*request {
	r := group[0]
	s.mu.Lock()
	next := s.last.position + 1
	s.mu.Unlock()
	if r.at == 0 || r.at == next {
		return group
	}
	held, err := s.holds(r.at, r.events)
	if err == nil && !held {
		err = noregret.Errorf(noregret.Internal, s.dir, "%w: %d was expected, the next one is %d", ErrFenced, r.at,
			next)
	}
	r.first, r.err = r.at, err
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
		r.first = last.position + 1
		for _, e := range r.events {
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
