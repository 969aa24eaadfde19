package client

import (
	"context"
	"errors"
	"math"
	"net/http"
	"sync"
	"time"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/policy"
)

// ReporterOptions tune a [Reporter]. The zero value of each field is its default.
type ReporterOptions struct {
	// Batch is how many items are sent at once: default 500, 1 to 10,000. A batch that the service
	// finds too large is sent in halves.
	Batch int
	// Every is how long an item waits for company: default 1 s.
	Every time.Duration
	// Queue bounds the items that wait; who reports more waits, too: default ten batches.
	Queue int
	// Done is called with the result of each batch: the items, exposures or feedback, and the
	// result or the error with which they were given up. It is called by the Reporter's goroutine
	// and may be nil.
	Done func(exposures bool, items []policy.FeedbackItem, result policy.FeedbackResult, err error)
	// Waiting is called with each error that is waited for: the service is away, or refuses the
	// access token. It is called by the Reporter's goroutine and may be nil.
	Waiting func(err error)
}

// Reporter sends exposures and feedback in batches. While the service is away, or does not know the
// access token, it tries on with growing pauses, up to 30 s: the queue fills meanwhile, and holds
// the program back. Its methods are safe for concurrent use.
type Reporter struct {
	client  *Client
	options ReporterOptions
	queue   chan queued
	stop    context.CancelFunc
	ended   chan struct{}

	closing chan struct{} // closed by Close
	idle    chan struct{} // closed when nobody is putting any more
	mu      sync.Mutex
	closed  bool
	putting int
	lost    lost // of the goroutine, and of Close after its end
}

type queued struct {
	exposure bool
	item     policy.FeedbackItem
	flush    chan error // of a marker: gets what was lost before it
}

// lost counts items that were given up.
type lost struct {
	items int
	first error
}

func (l *lost) err() error {
	if l.items == 0 {
		return nil
	}
	return noregret.Errorf(noregret.Internal, "reporter", "%d items were given up, the first ones as: %w", l.items,
		l.first)
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
		return nil, noregret.Errorf(noregret.Usage, "reporter",
			"batches of %d every %v, a queue of %d: want 1 to 10000, a length of time, at least 1", o.Batch, o.Every,
			o.Queue)
	}
	ctx, stop := context.WithCancel(context.Background())
	r := &Reporter{
		client: c, options: o, queue: make(chan queued, o.Queue), stop: stop,
		ended: make(chan struct{}), closing: make(chan struct{}), idle: make(chan struct{}),
	}
	go r.run(ctx)
	return r, nil
}

var errClosed = noregret.Errorf(noregret.Usage, "reporter", "it is closed")

// Exposure takes an exposure. It waits while the queue is full, until ctx ends or the reporter is
// closed.
func (r *Reporter) Exposure(ctx context.Context, token string) error {
	if err := checkToken(token); err != nil {
		return err
	}
	return r.put(ctx, queued{exposure: true, item: policy.FeedbackItem{Token: token}})
}

// TryExposure is [Reporter.Exposure] that does not wait: where the queue is full it is an error,
// and the exposure is lost.
func (r *Reporter) TryExposure(token string) error {
	if err := checkToken(token); err != nil {
		return err
	}
	if err := r.enter(); err != nil {
		return err
	}
	defer r.leave()
	select {
	case r.queue <- queued{exposure: true, item: policy.FeedbackItem{Token: token}}:
		return nil
	default:
		return noregret.Errorf(noregret.Internal, "reporter", "the queue is full: %d items wait", cap(r.queue))
	}
}

// Feedback takes a unit's metrics, finite numbers. It waits while the queue is full, until ctx ends
// or the reporter is closed. The map must not be changed afterwards.
func (r *Reporter) Feedback(ctx context.Context, token string, metrics map[string]float64) error {
	if err := checkToken(token); err != nil {
		return err
	}
	if len(metrics) == 0 {
		return noregret.BadInputf("metrics", "none: want at least one")
	}
	for name, v := range metrics {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return noregret.BadInputf("metrics."+name, "%v: want a finite number", v)
		}
	}
	return r.put(ctx, queued{item: policy.FeedbackItem{Token: token, Metrics: metrics}})
}

func checkToken(token string) error {
	if token == "" {
		return noregret.BadInputf("token", "it is empty: want that of a decision")
	}
	return nil
}

// put puts into the queue, and waits for room in it.
func (r *Reporter) put(ctx context.Context, q queued) error {
	if err := r.enter(); err != nil {
		return err
	}
	defer r.leave()
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case r.queue <- q:
		return nil
	case <-r.closing:
		return errClosed
	case <-ctx.Done():
		return noregret.Errorf(noregret.Internal, "reporter", "the queue is full: %w", ctx.Err())
	}
}

// enter begins a put, which leave ends.
func (r *Reporter) enter() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return errClosed
	}
	r.putting++
	return nil
}

// leave ends a put. The last one after Close says so.
func (r *Reporter) leave() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.putting--
	if r.closed && r.putting == 0 {
		close(r.idle)
	}
}

// Flush sends what waits and returns when it was sent. The error says how many items were given up
// since the last one.
func (r *Reporter) Flush(ctx context.Context) error {
	done := make(chan error, 1)
	if err := r.put(ctx, queued{flush: done}); err != nil {
		return err
	}
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Close sends what waits, for as long as ctx allows, and ends the reporter; calls that wait for
// room in the queue return. The error says how many items were given up since the last
// [Reporter.Flush]; Done was told of each.
func (r *Reporter) Close(ctx context.Context) error {
	r.mu.Lock()
	if r.closed {
		r.mu.Unlock()
		return nil
	}
	r.closed = true
	close(r.closing)
	if r.putting == 0 {
		close(r.idle)
	}
	r.mu.Unlock()
	defer r.stop()
	select {
	case <-r.ended:
		return r.lost.err()
	case <-ctx.Done():
		r.stop()
		<-r.ended
		return errors.Join(ctx.Err(), r.lost.err())
	}
}

// run gathers batches, and sends each when it is full or has waited long enough.
func (r *Reporter) run(ctx context.Context) {
	defer close(r.ended)
	t := time.NewTimer(r.options.Every)
	defer t.Stop()
	var g gathered
	for {
		select {
		case q := <-r.queue:
			r.take(ctx, &g, q)
		case <-t.C:
			r.sendAll(ctx, &g)
			t.Reset(r.options.Every)
		case <-r.idle:
			for len(r.queue) > 0 {
				r.take(ctx, &g, <-r.queue)
			}
			r.sendAll(ctx, &g)
			return
		}
	}
}

// gathered are the items of the batches to come.
type gathered struct{ exposures, feedback []policy.FeedbackItem }

func (r *Reporter) take(ctx context.Context, g *gathered, q queued) {
	switch {
	case q.flush != nil:
		r.sendAll(ctx, g)
		q.flush <- r.lost.err()
		r.lost = lost{}
		return
	case q.exposure:
		g.exposures = append(g.exposures, q.item)
	default:
		g.feedback = append(g.feedback, q.item)
	}
	if max(len(g.exposures), len(g.feedback)) >= r.options.Batch {
		r.sendAll(ctx, g)
	}
}

// sendAll sends exposures first: feedback then finds its unit.
func (r *Reporter) sendAll(ctx context.Context, g *gathered) {
	r.send(ctx, true, g.exposures)
	r.send(ctx, false, g.feedback)
	*g = gathered{}
}

// send sends a batch, in halves if it is too large.
func (r *Reporter) send(ctx context.Context, exposure bool, items []policy.FeedbackItem) {
	if len(items) == 0 {
		return
	}
	send := r.client.Feedback
	if exposure {
		send = r.client.Exposures
	}
	var result policy.FeedbackResult
	err := r.client.persist(ctx, r.options.Waiting, func() (err error) {
		result, err = send(ctx, items...)
		return err
	})
	if e, ok := errors.AsType[*Error](err); ok && e.Status == http.StatusRequestEntityTooLarge && len(items) > 1 {
		r.send(ctx, exposure, items[:len(items)/2])
		r.send(ctx, exposure, items[len(items)/2:])
		return
	}
	if err != nil {
		if r.lost.items == 0 {
			r.lost.first = err
		}
		r.lost.items += len(items)
	}
	if r.options.Done != nil {
		r.options.Done(exposure, items, result, err)
	}
}
