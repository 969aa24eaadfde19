package client

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/experiment"
)

// ReporterOptions tune a [Reporter]. The zero value of each field is its default.
type ReporterOptions struct {
	// Batch is how many items are sent at once: default 500, 1 to 10,000.
	Batch int
	// Every is how long an item waits for company: default 1 s.
	Every time.Duration
	// Queue bounds the items that wait; who reports more waits, too: default ten batches.
	Queue int
	// Done is told what became of each batch: the items, exposures or feedback, and the fates or the error
	// with which they were given up. It is called by the Reporter's goroutine and may be nil.
	Done func(exposures bool, items []experiment.Reported, fates experiment.Fates, err error)
}

// Reporter sends exposures and feedback in batches. Its methods are safe for concurrent use.
type Reporter struct {
	client  *Client
	options ReporterOptions
	queue   chan queued
	stop    context.CancelFunc
	ended   chan struct{}
	mu      sync.RWMutex
	closed  bool
}

type queued struct {
	exposure bool
	item     experiment.Reported
	flush    chan struct{} // of a marker: closed when all before it was sent
}

// NewReporter starts a reporter, which [Reporter.Close] ends.
func (c *Client) NewReporter(o ReporterOptions) (*Reporter, error) {
	if o.Batch == 0 {
		o.Batch = 500
	}
	if o.Every == 0 {
		o.Every = time.Second
	}
	if o.Queue == 0 {
		o.Queue = 10 * o.Batch
	}
	if o.Batch < 1 || o.Batch > 10_000 || o.Every < 0 || o.Queue < 1 {
		return nil, noregret.Errorf(noregret.Usage, "reporter", "batches of %d every %v, a queue of %d: want 1 to 10000, a length of time, at least 1", o.Batch, o.Every, o.Queue)
	}
	ctx, stop := context.WithCancel(context.Background())
	r := &Reporter{client: c, options: o, queue: make(chan queued, o.Queue), stop: stop, ended: make(chan struct{})}
	go r.run(ctx)
	return r, nil
}

var errClosed = noregret.Errorf(noregret.Usage, "reporter", "it is closed")

// Exposure takes an exposure. It waits while the queue is full, until ctx ends.
func (r *Reporter) Exposure(ctx context.Context, token string) error {
	return r.put(ctx, queued{exposure: true, item: experiment.Reported{Token: token}})
}

// Feedback takes a unit's metrics. It waits while the queue is full, until ctx ends.
func (r *Reporter) Feedback(ctx context.Context, token string, metrics map[string]float64) error {
	return r.put(ctx, queued{item: experiment.Reported{Token: token, Metrics: metrics}})
}

func (r *Reporter) put(ctx context.Context, q queued) error {
	r.mu.RLock()
	defer r.mu.RUnlock()
	if r.closed {
		return errClosed
	}
	select {
	case r.queue <- q:
		return nil
	case <-ctx.Done():
		return noregret.Errorf(noregret.Internal, "reporter", "the queue is full: %w", ctx.Err())
	}
}

// Flush sends what waits and returns when it was sent, or given up.
func (r *Reporter) Flush(ctx context.Context) error {
	done := make(chan struct{})
	if err := r.put(ctx, queued{flush: done}); err != nil {
		return err
	}
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Close sends what waits, for as long as ctx allows, and ends the reporter. What could not be sent was told
// to Done with its error.
func (r *Reporter) Close(ctx context.Context) error {
	r.mu.Lock()
	if r.closed {
		r.mu.Unlock()
		return nil
	}
	r.closed = true
	close(r.queue)
	r.mu.Unlock()
	defer r.stop()
	select {
	case <-r.ended:
		return nil
	case <-ctx.Done():
		r.stop()
		<-r.ended
		return ctx.Err()
	}
}

// run gathers batches, and sends each when it is full or has waited long enough.
func (r *Reporter) run(ctx context.Context) {
	defer close(r.ended)
	var exposures, feedback []experiment.Reported
	t := time.NewTimer(r.options.Every)
	defer t.Stop()
	send := func() {
		// Exposures first: feedback then finds its unit.
		r.send(ctx, true, exposures)
		r.send(ctx, false, feedback)
		exposures, feedback = nil, nil
		t.Reset(r.options.Every)
	}
	for {
		select {
		case q, ok := <-r.queue:
			switch {
			case !ok:
				send()
				return
			case q.flush != nil:
				send()
				close(q.flush)
			case q.exposure:
				exposures = append(exposures, q.item)
			default:
				feedback = append(feedback, q.item)
			}
			if len(exposures) >= r.options.Batch || len(feedback) >= r.options.Batch {
				send()
			}
		case <-t.C:
			send()
		}
	}
}

func (r *Reporter) send(ctx context.Context, exposure bool, items []experiment.Reported) {
	if len(items) == 0 {
		return
	}
	send := r.client.Feedback
	if exposure {
		send = r.client.Exposures
	}
	var fates experiment.Fates
	var err error
	for {
		fates, err = send(ctx, items...)
		// A service that is away for longer than the client's attempts is waited for: the queue fills meanwhile and
		// holds the program back.
		e, refused := errors.AsType[*Error](err)
		if err == nil || refused && !e.temporary() || ctx.Err() != nil {
			break
		}
	}
	if r.options.Done != nil {
		r.options.Done(exposure, items, fates, err)
	}
}
