package client

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"net/http"
	"sync"
	"time"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/api"
)

// ReporterOptions configure a [Reporter]. Begin with [DefaultReporterOptions]. The functions are
// called by the Reporter's goroutine, and may be nil.
type ReporterOptions struct {
	// Batch is the number of items in a request, 1 to 10,000. A batch that is too large for the
	// service is split.
	Batch int
	// Every is the longest time that an item waits for its batch to fill, above 0.
	Every time.Duration
	// Queue is the number of items that can wait to be sent, at least 1; while it is full, callers
	// wait.
	Queue int
	// Done is called after each batch with its items, which are exposures or feedback, and with the
	// result, or with the error if the batch was dropped.
	Done func(exposures bool, items []api.FeedbackItem, result api.FeedbackResult, err error)
	// Waiting is called with each temporary error before the batch is sent again: the service is
	// unavailable or refuses the access token.
	Waiting func(err error)
}

// DefaultReporterOptions returns options for batches of 500 items, a wait of at most 1 s and a
// queue of 5,000 items.
func DefaultReporterOptions() ReporterOptions {
	return ReporterOptions{Batch: 500, Every: time.Second, Queue: 5000}
}

// Reporter sends exposures and feedback in batches. While the service is unavailable or refuses the
// access token, it retries with growing pauses of up to 30 s; the queue fills meanwhile, and then
// callers wait. Its methods are safe for concurrent use.
type Reporter struct {
	client  *Client
	options ReporterOptions
	queue   chan queued
	stop    context.CancelFunc
	ended   chan struct{}

	closing chan struct{} // closed by Close
	idle    chan struct{} // closed after Close when the last put has ended
	mu      sync.Mutex
	closed  bool
	putting int  // puts in progress
	lost    lost // owned by the goroutine, and by Close after its end
}

// queued is an item of the queue, or a marker of Flush.
type queued struct {
	exposure bool
	item     api.FeedbackItem
	flush    chan error // a marker's: receives the error of the items dropped before it
}

// lost counts dropped items and holds the first error.
type lost struct {
	items int
	first error
}

func (l *lost) err() error {
	if l.items == 0 {
		return nil
	}
	return noregret.Errorf(noregret.Internal, "reporter", "%d items were dropped; the first error: %w", l.items,
		l.first)
}

// NewReporter starts a reporter with a goroutine, which [Reporter.Close] ends. It returns an error
// of code usage for an option out of range.
func (c *Client) NewReporter(o ReporterOptions) (*Reporter, error) {
	if o.Batch < 1 || o.Batch > 10_000 || o.Every <= 0 || o.Queue < 1 {
		return nil, noregret.Errorf(noregret.Usage, "reporter",
			"batches of %d every %v, a queue of %d: want 1 to 10000, a length of time above 0, at least 1", o.Batch,
			o.Every, o.Queue)
	}
	ctx, stop := context.WithCancel(context.Background())
	r := &Reporter{
		client: c, options: o, queue: make(chan queued, o.Queue), stop: stop,
		ended: make(chan struct{}), closing: make(chan struct{}), idle: make(chan struct{}),
	}
	go r.run(ctx)
	return r, nil
}

var errClosed = noregret.Errorf(noregret.Usage, "reporter", "closed")

// Exposure queues an exposure. It waits while the queue is full, until ctx ends or the reporter is
// closed. A nil error means that the item is queued, not yet that it is sent.
func (r *Reporter) Exposure(ctx context.Context, token string) error {
	return r.ExposureIn(ctx, token, nil)
}

// ExposureIn is [Reporter.Exposure] with the context of a decision of a contextual policy.
func (r *Reporter) ExposureIn(ctx context.Context, token string, seen json.RawMessage) error {
	if err := checkToken(token); err != nil {
		return err
	}
	return r.put(ctx, queued{exposure: true, item: api.FeedbackItem{Token: token, Context: seen}})
}

// TryExposure is like [Reporter.Exposure] but does not wait: if the queue is full, it drops the
// exposure and returns an error.
func (r *Reporter) TryExposure(token string) error { return r.TryExposureIn(token, nil) }

// TryExposureIn is [Reporter.TryExposure] with the context of a decision of a contextual policy.
func (r *Reporter) TryExposureIn(token string, seen json.RawMessage) error {
	if err := checkToken(token); err != nil {
		return err
	}
	if err := r.enter(); err != nil {
		return err
	}
	defer r.leave()
	select {
	case r.queue <- queued{exposure: true, item: api.FeedbackItem{Token: token, Context: seen}}:
		return nil
	default:
		return noregret.Errorf(noregret.Internal, "reporter", "the queue is full: %d items wait", cap(r.queue))
	}
}

// Feedback queues a unit's metrics, which must be finite. It waits while the queue is full, until
// ctx ends or the reporter is closed. The caller must not change the map afterwards.
func (r *Reporter) Feedback(ctx context.Context, token string, metrics map[string]float64) error {
	if err := checkToken(token); err != nil {
		return err
	}
	if len(metrics) == 0 {
		return noregret.BadInputf("metrics", "none: at least one is required")
	}
	for name, v := range metrics {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return noregret.BadInputf("metrics."+name, "%v: want a finite number", v)
		}
	}
	return r.put(ctx, queued{item: api.FeedbackItem{Token: token, Metrics: metrics}})
}

func checkToken(token string) error {
	if token == "" {
		return noregret.BadInputf("token", "empty: want the token of a decision")
	}
	return nil
}

// put appends to the queue, waiting while it is full.
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

// enter begins a put, which leave ends. It returns an error if the reporter is closed.
func (r *Reporter) enter() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return errClosed
	}
	r.putting++
	return nil
}

// leave ends a put. The last one after Close closes r.idle.
func (r *Reporter) leave() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.putting--
	if r.closed && r.putting == 0 {
		close(r.idle)
	}
}

// Flush sends the queued items and returns when they are sent. The error says how many items were
// dropped since the last Flush.
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

// Close sends the queued items, retrying until ctx ends, and ends the reporter. Calls that wait for
// a full queue return an error. The error of Close says how many items were dropped since the last
// [Reporter.Flush]; Done was called with each of them.
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

// run collects batches and sends each one when it is full or Every has passed.
func (r *Reporter) run(ctx context.Context) {
	defer close(r.ended)
	t := time.NewTimer(r.options.Every)
	defer t.Stop()
	var g gathered
	for {
		select {
		case q := <-r.queue:
			r.add(ctx, &g, q)
		case <-t.C:
			r.sendAll(ctx, &g)
			t.Reset(r.options.Every)
		case <-r.idle:
			for len(r.queue) > 0 {
				r.add(ctx, &g, <-r.queue)
			}
			r.sendAll(ctx, &g)
			return
		}
	}
}

// gathered holds the items of the next batches.
type gathered struct{ exposures, feedback []api.FeedbackItem }

// add adds an item to its batch, which it sends if full, or answers a marker of Flush.
func (r *Reporter) add(ctx context.Context, g *gathered, q queued) {
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

// sendAll sends both batches, exposures first, as feedback joins them.
func (r *Reporter) sendAll(ctx context.Context, g *gathered) {
	r.send(ctx, true, g.exposures)
	r.send(ctx, false, g.feedback)
	*g = gathered{}
}

// send sends a batch, and splits it in half if it is too large.
func (r *Reporter) send(ctx context.Context, exposure bool, items []api.FeedbackItem) {
	if len(items) == 0 {
		return
	}
	send := r.client.Feedback
	if exposure {
		send = r.client.Exposures
	}
	var result api.FeedbackResult
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
