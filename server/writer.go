package server

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/eventlog"
	"github.com/noregret/noregret/experiment"
	"github.com/noregret/noregret/server/internal/web"
)

// command is a request to the writer: events to append or, for changes that depend on the state, a
// function that makes them. The writer answers on done.
type command struct {
	events []experiment.Event
	make   func(s *experiment.State, now int64) ([]experiment.Event, error)
	made   bool // the events were made by the writer, for a time
	// do changes the writer itself, such as opening a log again that has failed.
	do func() error
	// reads says that make appends nothing, so that a node that follows may call it.
	reads bool
	done  chan answer

	answered bool // used by the writer only
}

// answer is the outcome of a command, after its events are durable and applied.
type answer struct {
	outcomes []experiment.Outcome
	err      error
}

// Bounds of a group of commands that share an append.
const (
	queueLength = 1024
	groupEvents = 2048
	groupBytes  = 4 << 20
)

// errDraining is the error of commands that come too late.
var errDraining = errors.New("the service is shutting down")

// writer appends events to the log and folds them into the state, in order, in one goroutine.
type writer struct {
	log       eventlog.Log
	recovery  *recovery
	live      *liveState
	policies  *policyTable
	intake    *intake
	privacy   *privacyHost
	snapshots *snapshotter
	maxEvent  int           // bytes of a command's events
	largest   int           // bytes of an event that fits into the log
	noteTime  time.Duration // how long an event of the audit trail may take
	now       func() time.Time
	logger    *slog.Logger
	refused   map[string]string // by experiment, why its last due event was refused
	node      *node             // nil for a service that is alone
	digests   *comparison       // of a node
	leads     atomic.Bool       // only then it appends: always, if it is alone
	term      uint64            // with which it leads, or has led
	latest    int64             // the time of the last event applied

	queue      chan *command
	submitting sync.RWMutex  // close holds it to close the queue
	closed     bool          // the queue is closed
	ended      chan struct{} // closed when run has returned
}

// submit hands a command to the writer and waits for its answer. Cancelling ctx does not cancel a
// queued command; its outcome is then unknown.
func (w *writer) submit(ctx context.Context, c *command) ([]experiment.Outcome, error) {
	if err := w.checkSize(c); err != nil {
		return nil, err
	}
	done := make(chan answer, 1)
	c.done = done
	w.submitting.RLock()
	if w.closed {
		w.submitting.RUnlock()
		return nil, web.Unavailable(errDraining)
	}
	select {
	case w.queue <- c:
		w.submitting.RUnlock()
	case <-ctx.Done():
		w.submitting.RUnlock()
		return nil, web.Unavailable(errors.New("the queue of the log is full"))
	}
	select {
	case a := <-done:
		return a.outcomes, a.err
	case <-ctx.Done():
		return nil, web.Unavailable(errors.New(
			"the log did not answer in time; it may or may not have stored the events"))
	}
}

// close ends the writer after the commands that are queued.
func (w *writer) close() {
	w.submitting.Lock()
	w.closed = true
	close(w.queue)
	w.submitting.Unlock()
	<-w.ended
}

// err returns the failure because of which no events are accepted now, or nil.
func (w *writer) err() error {
	if o := w.recovery.outage(); o != nil {
		return o.err
	}
	return nil
}

// run appends groups of commands until the queue is closed.
func (w *writer) run() {
	defer close(w.ended)
	var next *command // taken from the queue but not in a group yet
	for {
		c := next
		if next = nil; c == nil {
			var ok bool
			if c, ok = <-w.queue; !ok {
				return
			}
		}
		switch err := w.refusal(); {
		case c.do != nil:
			c.answer(nil, c.do())
		case err != nil:
			refuse(err, []*command{c})
		case !w.leads.Load() && (len(c.events) > 0 || c.make != nil && !c.reads):
			refuse(errFollows, []*command{c})
		case c.make != nil:
			w.makeEvents(c)
			w.commit([]*command{c})
		default:
			var group []*command
			group, next = w.gather(c)
			w.commit(group)
		}
	}
}

// gather takes from the queue the commands that fit into one group with the first one. It returns
// the command that did not fit, if any.
func (w *writer) gather(first *command) (group []*command, next *command) {
	group = []*command{first}
	events, size := len(first.events), sizeOf(first.events)
	for events < groupEvents && size < groupBytes {
		select {
		case c, ok := <-w.queue:
			if !ok {
				return group, nil
			}
			if c.make != nil || c.do != nil || size+sizeOf(c.events) > groupBytes {
				return group, c
			}
			group = append(group, c)
			events += len(c.events)
			size += sizeOf(c.events)
		default:
			return group, nil
		}
	}
	return group, nil
}

// checkSize returns an error for a command that does not fit into a group.
func (w *writer) checkSize(c *command) error {
	most := w.maxEvent
	if c.make != nil { // the events say what is served, which may be more than a request
		most = mostEvent
	}
	if n := sizeOf(c.events); n > most || len(c.events) > groupEvents {
		return web.WithStatus(http.StatusRequestEntityTooLarge, noregret.BadInput, "request",
			"it becomes %d events of %d bytes: want at most %d and %d", len(c.events), n, groupEvents, most)
	}
	for i := range c.events {
		if err := w.checkEvent(&c.events[i]); err != nil {
			return err
		}
	}
	return nil
}

// checkEvent returns an error for an event that does not fit into the log. To append it would be no
// failure of the log, and look like one.
func (w *writer) checkEvent(e *experiment.Event) error {
	if n := len(e.Payload); n > w.largest {
		return web.WithStatus(http.StatusRequestEntityTooLarge, noregret.BadInput, "request",
			"it becomes an event %s of %d bytes: want at most %d; on several nodes, max_payload of the NATS servers "+
				"bounds it", e.Kind, n, w.largest)
	}
	return nil
}

// sizeOf returns about how many bytes events take in the log.
func sizeOf(events []experiment.Event) (n int) {
	for i := range events {
		n += len(events[i].Payload) + 64
	}
	return n
}

// makeEvents makes a command's events from the state. No other event can be applied before them.
func (w *writer) makeEvents(c *command) {
	events, err := c.make(w.live.state, w.time())
	if err != nil {
		c.answer(nil, err)
		return
	}
	c.events = events
	if err := w.checkSize(c); err != nil {
		c.events = nil
		c.answer(nil, err)
	}
}

// commit appends the events of a group, applies them, does what guardrails then ask for, and
// answers.
func (w *writer) commit(group []*command) {
	outcomes, ok := w.store(group)
	if !ok {
		return
	}
	added := 0
	for _, c := range group {
		added += sizeOf(c.events)
	}
	if slices.ContainsFunc(outcomes, func(o experiment.Outcome) bool { return o.Asks }) {
		added += w.grant()
	}
	at := 0
	for _, c := range group {
		c.answer(outcomes[at:at+len(c.events)], nil)
		at += len(c.events)
	}
	added += w.compare()
	if added > 0 {
		w.snapshots.maintain(w.live.state, int64(added))
	}
}

// grant appends the events that guardrails ask for, and returns their bytes: until an arm is
// stopped, or a breach has its action, the service serves what it did. What cannot be appended now,
// comes with the next tick.
func (w *writer) grant() (added int) {
	for range mostGrants {
		c := &command{made: true, answered: true}
		for _, e := range w.live.state.Asked(w.time()) {
			if done, ok := w.complete(e); ok {
				c.events = append(c.events, done)
			}
		}
		if len(c.events) == 0 || w.refusal() != nil {
			return added
		}
		if _, ok := w.store([]*command{c}); !ok {
			return added
		}
		added += sizeOf(c.events)
	}
	return added
}

// complete completes an event that is due. It returns false if it is refused, which it logs: the
// service then serves what it did.
func (w *writer) complete(e experiment.Event) (experiment.Event, bool) {
	done, err := w.live.state.Complete(e)
	if err == nil {
		err = w.checkEvent(&done)
	}
	name := experiment.Concerns(e.Payload)
	why := ""
	if err != nil {
		why = e.Kind + ": " + err.Error()
	}
	if why != "" && why != w.refused[name] { // it is due again at every tick
		w.logger.Error("an event that is due is refused", "experiment", name, "kind", e.Kind, "error", err)
	}
	if why != "" || w.refused[name] != "" {
		w.refused[name] = why
	}
	return done, err == nil
}

// mostGrants bounds what guardrails ask for at once: an arm is stopped, then the mixture without it
// breaks a guardrail.
const mostGrants = 8

// store appends the events of a group and applies them. Events made by the writer keep their time,
// so that the results of [experiment.State.Try] for them can be reused. It returns false if it has
// answered the group with an error.
func (w *writer) store(group []*command) (outcomes []experiment.Outcome, ok bool) {
	var events []experiment.Event
	var records []eventlog.Event
	now := w.time()
	for _, c := range group {
		for _, e := range c.events {
			if !c.made && c.make == nil {
				e.Time = now
			}
			events = append(events, e)
			records = append(records, eventlog.Event{Kind: e.Kind, Time: e.Time, Payload: e.Payload})
		}
	}
	if len(events) > 0 {
		first := w.live.state.Position() + 1
		err := w.log.AppendAt(context.Background(), first, records...)
		switch {
		case errors.Is(err, eventlog.ErrFenced) && w.node != nil:
			w.fenced()
			refuse(errFollows, group)
			return nil, false
		case err != nil:
			w.fail(logFailed, outage{err: err}, group)
			return nil, false
		}
		if outcomes, err = w.fold(first, events); err != nil {
			refuse(err, group)
			return nil, false
		}
	}
	return outcomes, true
}

// fold applies durable events, and wakes those who wait for a change. If it returns an error, an
// outage has begun.
func (w *writer) fold(first uint64, events []experiment.Event) ([]experiment.Outcome, error) {
	outcomes, what, err := w.apply(first, events)
	if err != nil {
		final := isLost(err) || isMisfit(err)
		w.fail(what, outage{err: err, defect: !final, final: final}, nil)
		return nil, w.refusal()
	}
	if slices.ContainsFunc(events, func(e experiment.Event) bool { return !experiment.IsHidden(e.Kind) }) {
		w.live.notify()
	}
	return outcomes, nil
}

// time returns the time for events. On a cluster it is not before that of the last event, which
// another node may have made by its own clock.
func (w *writer) time() int64 {
	now := w.now().UnixNano()
	if w.node != nil {
		now = max(now, w.latest)
	}
	return now
}

// apply folds durable events into the state and publishes the renewed policies. If it returns an
// error, the state may differ from the log; the second result is the message to log.
func (w *writer) apply(first uint64, events []experiment.Event) (out []experiment.Outcome, what string, err error) {
	w.live.mu.Lock()
	defer w.live.mu.Unlock()
	renewed, names := map[string]bool{}, map[string]bool{}
	out = make([]experiment.Outcome, len(events))
	for i, e := range events {
		if w.node != nil && e.Kind == experiment.KindLeads {
			if err := w.node.admit(e); err != nil {
				return nil, misfits, err
			}
		}
		if out[i], err = w.live.state.Apply(first+uint64(i), e); err != nil {
			if isLost(err) {
				return nil, unitsLost, err
			}
			return nil, "the fold has found a defect: no further events are accepted", err
		}
		if out[i].Renewed {
			renewed[out[i].Experiment] = true
		}
		names[out[i].Experiment] = true
		w.latest = e.Time
		if e.Kind == experiment.KindPrivacy && out[i].Err == nil {
			w.privacy.learn(out[i].Experiment)
		}
		if w.node != nil && e.Kind == experiment.KindDigest {
			if err := w.mark(e); err != nil {
				return nil, "the state cannot be written", err
			}
		}
	}
	for name := range names {
		w.intake.measure(name)
	}
	if len(renewed) > 0 {
		if err := w.policies.publish(w.live.state, maps.Keys(renewed)); err != nil {
			return nil, "a policy cannot be published: no further events are accepted", err
		}
	}
	if w.node != nil {
		w.node.applied()
	}
	return out, "", nil
}

// unitsLost is the message of an outage that ends with a restart only.
const unitsLost = "the disk has lost units that wait for feedback: restart the service, which reads them from the log"

// lost begins the outage of units that cannot be read back, which a reader has found.
func (w *writer) lost(err error) { w.fail(unitsLost, outage{err: err, final: true}, nil) }

// fail begins an outage and refuses a group. Decisions continue with the policies in force.
func (w *writer) fail(what string, o outage, group []*command) {
	if w.recovery.begin(o) {
		w.logger.Error(what, "error", o.err)
	}
	refuse(w.refusal(), group)
}

// refuse answers a group with an error.
func refuse(err error, group []*command) {
	for _, c := range group {
		c.answer(nil, web.Unavailable(err))
	}
}

func (c *command) answer(outcomes []experiment.Outcome, err error) {
	if !c.answered {
		c.answered = true
		c.done <- answer{outcomes, err}
	}
}

// expire drops events beyond the retention time, if it is time to look for them, and saves a
// snapshot in the place of one that failed.
func (w *writer) expire(ctx context.Context) error {
	_, err := w.submit(ctx, &command{make: func(state *experiment.State, _ int64) ([]experiment.Event, error) {
		w.snapshots.again(state)
		return nil, w.snapshots.expire(state)
	}})
	return err
}

// closeRounds submits the events that are due, such as the end of a round, and waits until they are
// durable. Those that do not fit into a group come in another one.
func (w *writer) closeRounds(ctx context.Context) error {
	for more := w.live.due(); more; {
		make := func(s *experiment.State, now int64) (events []experiment.Event, _ error) {
			events, more = w.due(s, now)
			return events, nil
		}
		_, err := w.submit(ctx, &command{make: make})
		if err != nil {
			return err
		}
	}
	return nil
}

// due returns the first events that are due, as many as fit into a group, and whether there are
// more.
func (w *writer) due(state *experiment.State, now int64) (events []experiment.Event, more bool) {
	size := 0
	for _, e := range state.Due(now) {
		done, ok := w.complete(e)
		if !ok {
			continue
		}
		if size += len(done.Payload); len(events) == groupEvents || size > groupBytes && len(events) > 0 {
			return events, true
		}
		events = append(events, done)
	}
	return events, false
}
