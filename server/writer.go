package server

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/eventlog"
	"github.com/noregret/noregret/experiment"
)

// command is what a request asks of the writer: events to append, or, for changes that depend on
// the state, a function that makes them. The writer answers on done.
type command struct {
	events []experiment.Event
	make   func(s *experiment.State, now int64) ([]experiment.Event, error)
	done   chan answer

	answered bool // the writer's own note
}

// answer is the fate of a command's events, after they are durable and applied.
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

// Why the writer takes nothing.
var (
	errDraining = errors.New("the service is shutting down")
	errFailed   = errors.New("the log has failed, the service must be restarted")
)

// submit hands a command to the writer and waits for its answer. A context that ends while the
// command waits in the queue takes nothing back: what the answer would have been is then unknown.
func (s *Server) submit(ctx context.Context, c *command) ([]experiment.Outcome, error) {
	if err := s.fits(c); err != nil {
		return nil, err
	}
	done := make(chan answer, 1)
	c.done = done
	s.submitting.RLock()
	if s.drained {
		s.submitting.RUnlock()
		return nil, unavailable(errDraining)
	}
	select {
	case s.queue <- c:
		s.submitting.RUnlock()
	case <-ctx.Done():
		s.submitting.RUnlock()
		return nil, unavailable(errors.New("the queue of the log is full"))
	}
	select {
	case a := <-done:
		return a.outcomes, a.err
	case <-ctx.Done():
		return nil, unavailable(errors.New("the log did not answer in time; the events may or may not have been kept"))
	}
}

// write is the writer: the one goroutine that appends to the log and folds it into the state, in
// order.
func (s *Server) write() {
	defer close(s.written)
	var held *command
	for {
		c := held
		held = nil
		if c == nil {
			var ok bool
			if c, ok = <-s.queue; !ok {
				return
			}
		}
		group := []*command{c}
		if err := s.failed.Load(); err != nil {
			s.stopTaking("", *err, group)
			continue
		}
		if c.make != nil {
			s.decideEvents(c)
			s.commit(group)
			continue
		}
		events, size := len(c.events), sizeOf(c)
	gather:
		for events < groupEvents && size < groupBytes {
			select {
			case next, ok := <-s.queue:
				if !ok {
					break gather
				}
				if next.make != nil || size+sizeOf(next) > groupBytes {
					held = next
					break gather
				}
				group = append(group, next)
				events += len(next.events)
				size += sizeOf(next)
			default:
				break gather
			}
		}
		s.commit(group)
	}
}

// fits refuses a command that a group cannot hold, before the log does.
func (s *Server) fits(c *command) error {
	if n := sizeOf(c); n > s.config.maxEvent() || len(c.events) > groupEvents {
		return withStatus(http.StatusRequestEntityTooLarge, noregret.BadInput, "request",
			"it becomes %d events of %d bytes: want at most %d and %d", len(c.events), n, groupEvents,
			s.config.maxEvent())
	}
	return nil
}

func sizeOf(c *command) (n int) {
	for i := range c.events {
		n += len(c.events[i].Payload) + 64
	}
	return n
}

// decideEvents makes a command's events of the state, which no other event can come before.
func (s *Server) decideEvents(c *command) {
	events, err := c.make(s.state, s.clock())
	if err != nil {
		c.answer(nil, err)
		return
	}
	c.events = events
	if err := s.fits(c); err != nil {
		c.events = nil
		c.answer(nil, err)
	}
}

// clock is the time of the next event.
func (s *Server) clock() int64 { return s.config.Now().UnixNano() }

// commit appends the events of a group, applies them, and answers.
func (s *Server) commit(group []*command) {
	var events []eventlog.Event
	now := s.clock()
	for _, c := range group {
		for i := range c.events {
			e := &c.events[i]
			events = append(events, eventlog.Event{Kind: e.Kind, Time: now, Payload: e.Payload})
		}
	}
	if len(events) == 0 {
		for _, c := range group {
			c.answer(nil, nil)
		}
		return
	}
	first, _, err := s.log.Append(context.Background(), events...)
	if err == nil && first != s.state.Position()+1 {
		err = noregret.Errorf(noregret.Internal, "log",
			"position %d was given, %d is next: somebody else writes to the log", first, s.state.Position()+1)
	}
	if err != nil {
		s.stopTaking("the log has failed: nothing is taken any more; restart the service", err, group)
		return
	}
	renewed := false
	outcomes := make([]experiment.Outcome, len(events))
	s.mu.Lock()
	for i := range events {
		o, err := s.state.Apply(first+uint64(i),
			experiment.Event{Kind: events[i].Kind, Time: events[i].Time, Payload: events[i].Payload})
		if err != nil { // a defect: the event is in the log, what the state has of it is not known
			s.mu.Unlock()
			s.stopTaking("the fold has met a defect: nothing is taken any more", err, group)
			return
		}
		renewed = renewed || o.Renewed
		outcomes[i] = o
	}
	if renewed {
		err = s.publish()
	}
	s.mu.Unlock()
	if err != nil {
		s.stopTaking("a policy cannot be published: nothing is taken any more", err, group)
		return
	}
	s.pulse()
	at := 0
	for _, c := range group {
		c.answer(outcomes[at:at+len(c.events)], nil)
		at += len(c.events)
	}
	s.maintain()
}

// stopTaking refuses a group and everything that comes after it. Decisions go on, by the policies
// in force.
func (s *Server) stopTaking(what string, err error, group []*command) {
	if s.failed.CompareAndSwap(nil, &err) {
		s.config.Logger.Error(what, "error", err)
	}
	for _, c := range group {
		c.answer(nil, unavailable(err))
	}
}

func (c *command) answer(outcomes []experiment.Outcome, err error) {
	if !c.answered {
		c.answered = true
		c.done <- answer{outcomes, err}
	}
}

// pulse wakes those that wait for a change of the state.
func (s *Server) pulse() {
	next := make(chan struct{})
	close(*s.changed.Swap(&next))
}

// maintain saves a snapshot, in a goroutine of its own, when enough events have come since the
// last, and drops events that are old enough. Only the writer calls it.
func (s *Server) maintain() {
	if s.state.Position() < s.snapshotAt+s.config.SnapshotEvery || !s.saving.CompareAndSwap(false, true) {
		return
	}
	state, err := s.state.Freeze()
	if err != nil {
		s.saving.Store(false)
		s.config.Logger.Error("the state cannot be written", "error", err)
		return
	}
	s.snapshotAt = state.Position()
	s.background.Add(1)
	go func() {
		defer s.background.Done()
		defer s.saving.Store(false)
		if err := s.save(state); err != nil {
			s.config.Logger.Error("a snapshot failed", "error", err)
		}
	}()
}

// save saves a snapshot and drops the events that are older than the time they are kept and that
// the snapshot before covers.
func (s *Server) save(state *experiment.Frozen) error {
	b, err := state.MarshalBinary()
	if err != nil {
		return err
	}
	ctx := context.Background()
	before := s.log.Stats().Snapshot
	if err := s.log.SaveSnapshot(ctx, state.Position(), b); err != nil {
		return err
	}
	s.metrics.snapshots.Inc()
	if s.config.Retain < 0 || before == 0 {
		return nil
	}
	old := s.config.Now().Add(-s.config.Retain).UnixNano()
	upTo := uint64(0)
	for r, err := range s.log.Read(ctx, s.log.Stats().First) {
		if err != nil {
			return err
		}
		if r.Time >= old || r.Position > before {
			break
		}
		upTo = r.Position
	}
	if upTo == 0 {
		return nil
	}
	return s.log.Compact(ctx, upTo)
}

// tick lets rounds close when their time has come.
func (s *Server) tick() {
	defer s.background.Done()
	t := time.NewTicker(s.config.Tick)
	defer t.Stop()
	for {
		select {
		case <-s.stop:
			return
		case <-t.C:
		}
		s.Tick()
	}
}

// Tick looks whether time has made something possible, such as closing a round, and does it. The
// service calls it by itself; a test with a clock of its own calls it, too.
func (s *Server) Tick() {
	s.mu.RLock()
	due := len(s.state.Due(s.clock())) > 0
	s.mu.RUnlock()
	if !due {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), s.config.RequestTime)
	defer cancel()
	_, err := s.submit(ctx, &command{make: func(state *experiment.State, now int64) ([]experiment.Event, error) {
		return state.Due(now), nil
	}})
	if err != nil && s.failed.Load() == nil && !s.draining.Load() {
		s.config.Logger.Warn("a round could not be closed", "error", err)
	}
}

// table is what deciding needs: it is replaced as a whole, so that readers take no lock.
type table struct {
	entries map[string]*entry
}

// publish makes the table of the state. The writer calls it, with mu held.
func (s *Server) publish() error {
	old, next := s.table.Load(), &table{entries: map[string]*entry{}}
	for _, name := range s.state.Names() {
		p := s.state.Policy(name)
		if e := old.entries[name]; e != nil && e.policy == p {
			next.entries[name] = e
			continue
		}
		e, err := newEntry(p, s.metrics.of(name))
		if err != nil {
			return err
		}
		next.entries[name] = e
	}
	s.table.Store(next)
	renewed := make(chan struct{})
	close(*s.renewed.Swap(&renewed))
	for name := range old.entries {
		if next.entries[name] == nil {
			s.metrics.forget(name)
		}
	}
	return nil
}
