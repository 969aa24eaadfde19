package appendqueue

import (
	"context"
	"slices"
	"sync"

	"github.com/noregret/noregret"
)

// Request is an append in progress, of events of a type.
type Request[E any] struct {
	Events []E
	At     uint64 // the position that the first event must get, 0 for any

	// First and Err are what the append returns: the first position, or why there is none. The
	// writer that has taken the request sets them before Done.
	First uint64
	Err   error

	size int           // of the events, in bytes
	done chan struct{} // closed when First and Err are final
}

// Queue is a queue of requests. Its methods are safe for concurrent use; one writer calls Take.
type Queue[E any] struct {
	limit int // of bytes

	mu      sync.Mutex
	filled  sync.Cond     // the writer waits here
	waiting []*Request[E] // in the order in which they were added; none while the queue is stopped
	bytes   int           // of waiting and of what is taken and not done: at most limit
	changed chan struct{} // closed when Append should look again, nil if no call waits for room
	stopped error         // of Stop, nil while the queue is not stopped
	closed  error         // of Close, nil while the queue is not closed
}

// New returns a queue for requests of at most limit bytes together.
func New[E any](limit int) *Queue[E] {
	q := &Queue[E]{limit: limit}
	q.filled.L = &q.mu
	return q
}

// Append adds a request for events of a size in bytes, which are those from position at on, or any
// if that is 0, and waits for its outcome. It waits while the queue is full. If ctx ends before the
// request is taken, nothing is appended.
func (q *Queue[E]) Append(ctx context.Context, at uint64, events []E, size int) (first uint64, err error) {
	if size > q.limit {
		return 0, noregret.Errorf(noregret.Usage, "append", "%d bytes of events: the queue takes at most %d", size,
			q.limit)
	}
	r := &Request[E]{Events: events, At: at, size: size, done: make(chan struct{})}
	if err := q.add(ctx, r); err != nil {
		return 0, err
	}
	select {
	case <-r.done:
	case <-ctx.Done():
		if q.remove(r) {
			return 0, notAppended(ctx)
		}
		<-r.done
	}
	return r.First, r.Err
}

func notAppended(ctx context.Context) error {
	return noregret.Errorf(noregret.Internal, "append", "nothing was appended: %w", context.Cause(ctx))
}

// add waits for room and adds a request to the end.
func (q *Queue[E]) add(ctx context.Context, r *Request[E]) error {
	for {
		if ctx.Err() != nil {
			return notAppended(ctx)
		}
		changed, err := q.tryAdd(r)
		if changed == nil {
			return err
		}
		select {
		case <-changed:
		case <-ctx.Done():
		}
	}
}

// tryAdd adds a request to the end or says why it is refused. If there is no room, it returns the
// channel that is closed when it is worth another look.
func (q *Queue[E]) tryAdd(r *Request[E]) (changed <-chan struct{}, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case q.closed != nil:
		return nil, q.closed
	case q.stopped != nil:
		return nil, q.stopped
	case q.bytes+r.size > q.limit:
		if q.changed == nil {
			q.changed = make(chan struct{})
		}
		return q.changed, nil
	}
	q.waiting = append(q.waiting, r)
	q.bytes += r.size
	q.filled.Signal()
	return nil, nil
}

// wake lets those look again who wait for room. The caller holds mu.
func (q *Queue[E]) wake() {
	if q.changed != nil {
		close(q.changed)
		q.changed = nil
	}
}

// remove removes a request and reports whether it was waiting still.
func (q *Queue[E]) remove(r *Request[E]) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	i := slices.Index(q.waiting, r)
	if i < 0 {
		return false
	}
	q.waiting = slices.Delete(q.waiting, i, i+1)
	q.bytes -= r.size
	q.wake()
	return true
}

// Take waits for requests and takes as many from the front as have at most so many bytes and events
// together, but at least one. A request for a position is the first one of its group: where the log
// ends then is known only when what comes before is written. The group is nil if the queue is
// closed and has no more. Their bytes count until Done.
func (q *Queue[E]) Take(bytes, events int) (group []*Request[E]) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.waiting) == 0 {
		if q.closed != nil {
			return nil
		}
		q.filled.Wait()
	}
	n := 0
	for _, r := range q.waiting {
		bytes, events = bytes-r.size, events-len(r.Events)
		if n > 0 && (r.At > 0 || bytes < 0 || events < 0) {
			break
		}
		n++
	}
	group = slices.Clone(q.waiting[:n])
	q.waiting = slices.Delete(q.waiting, 0, n)
	return group
}

// Done ends requests that were taken: their calls of Append return what was set.
func (q *Queue[E]) Done(group []*Request[E]) {
	q.mu.Lock()
	for _, r := range group {
		q.bytes -= r.size
	}
	q.wake()
	q.mu.Unlock()
	for _, r := range group {
		close(r.done)
	}
}

// Stop ends the requests that wait with an error, and those that come, until Resume. What was taken
// is not touched. A later error replaces an earlier one.
func (q *Queue[E]) Stop(err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.stopped = err
	for _, r := range q.waiting {
		r.Err = err
		q.bytes -= r.size
		close(r.done)
	}
	q.waiting = nil
	q.wake()
}

// Resume ends what Stop has begun. A queue that is closed stays so.
func (q *Queue[E]) Resume() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.stopped = nil
}

// Close refuses requests that come with an error, also if the queue is stopped. A later error
// replaces an earlier one.
func (q *Queue[E]) Close(err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = err
	q.filled.Broadcast()
	q.wake()
}

// Bytes returns the size of the requests that wait, and of those that were taken and are not done.
func (q *Queue[E]) Bytes() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.bytes
}
