package service

import (
	"context"
	"fmt"
	"math"
	"sync"
	"testing"
	"time"

	"golang.org/x/time/rate"

	"github.com/noregret/noregret/api"
	"github.com/noregret/noregret/client"
)

// The experiments of the soak. Feedback of soak is in time although the service is not there for
// some seconds; that of brief is sent when its window has closed.
const (
	soakDefinition = `name: soak
arms: [{name: a, value: 0}, {name: b, value: 1}, {name: c, value: 2}]
control: {arm: a, share: 0.2}
metrics: [{name: x, range: [0, 9]}]
objective: {goals: [{metric: x}]}
round: {length: 2s, min_units: 1}
attribution_window: 1m
`
	briefDefinition = `name: brief
arms: [{name: a, value: 0}, {name: b, value: 1}]
metrics: [{name: x, range: [0, 9]}]
objective: {goals: [{metric: x}]}
round: {length: 1s, min_units: 1}
attribution_window: 1s
`
	briefOver = 4 * time.Second // its window and its grace period are over by far
)

// tally has what the client knows of items of one kind: their results, and how many were in
// requests without an answer, which the service may have stored or not.
type tally struct {
	api.Counts
	unsure int64
}

// balance compares the service's counts with the client's. What was accepted must be equal; of the
// rest, a request without an answer may have been counted.
func (y *tally) balance(t *testing.T, what string, got api.Counts) {
	t.Helper()
	within := func(status string, got, answered int64) {
		if got < answered || got > answered+y.unsure {
			t.Errorf("%s: the service has counted %d as %s, the client got %d answers of it and %d items without an "+
				"answer", what, got, status, answered, y.unsure)
		}
	}
	if got.Accepted != y.Accepted {
		t.Errorf("%s: the service has accepted %d, the client knows of %d", what, got.Accepted, y.Accepted)
	}
	within("duplicate", got.Duplicate, y.Duplicate)
	within("late", got.Late, y.Late)
	within("rejected", got.Rejected, y.Rejected)
}

// books are what the clients of the soak have sent and been told.
type books struct {
	mu        sync.Mutex
	exposures tally
	feedback  tally
	late      tally   // feedback of brief
	sum       float64 // of x of all feedback that was accepted
	faults    []string
	waits     time.Duration // the longest time to an answer
}

func (b *books) fault(format string, args ...any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.faults) < 20 {
		b.faults = append(b.faults, fmt.Sprintf(format, args...))
	}
}

// units returns the number of units whose feedback was accepted.
func (b *books) units() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.feedback.Accepted
}

// soaker is the load of the soak.
type soaker struct {
	books
	client *client.Client
	pace   *rate.Limiter // of batches
	// running is held by a batch from its decisions to its last answer: who holds it for writing
	// knows that nothing is under way.
	running sync.RWMutex
}

const soakBatch = 20

// drive sends batches of units until ctx ends. Each batch is finished.
func (s *soaker) drive(ctx context.Context, worker int) {
	var old []api.FeedbackItem // of brief
	var since time.Time
	for i := 0; s.pace.Wait(ctx) == nil; i++ {
		units := make([]string, soakBatch)
		for j := range units {
			units[j] = fmt.Sprintf("%d-%d-%d", worker, i, j)
		}
		s.running.RLock()
		s.batch(units, i%10 == 9)
		if old == nil {
			old, since = s.forget(units[:2]), time.Now()
		} else if time.Since(since) > briefOver {
			s.send("/late", old, api.Late)
			old = nil
		}
		s.running.RUnlock()
	}
}

// batch decides for units, exposes them and reports feedback; with more it also repeats some and
// sends some that is out of range.
func (s *soaker) batch(units []string, more bool) {
	ds := s.decide("soak", units)
	exposures, feedback := make([]api.FeedbackItem, len(ds)), make([]api.FeedbackItem, len(ds))
	for i, d := range ds {
		exposures[i] = api.FeedbackItem{Token: d.Token}
		feedback[i] = api.FeedbackItem{Token: d.Token, Metrics: map[string]float64{"x": float64(i % 10)}}
	}
	if more { // before any is accepted, as the unit's metric would be a duplicate
		s.send("/feedback", []api.FeedbackItem{
			{Token: ds[0].Token, Metrics: map[string]float64{"x": 10}},
		}, api.Rejected)
	}
	s.send("/exposures", exposures, api.Accepted)
	s.send("/feedback", feedback, api.Accepted)
	if more {
		s.send("/exposures", exposures[:2], api.Duplicate)
		s.send("/feedback", feedback[:3], api.Duplicate)
	}
}

// forget decides for units of brief, whose feedback will be late.
func (s *soaker) forget(units []string) (items []api.FeedbackItem) {
	for _, d := range s.decide("brief", units) {
		items = append(items, api.FeedbackItem{Token: d.Token, Metrics: map[string]float64{"x": 1}})
	}
	return items
}

// again calls f until it succeeds.
func (s *soaker) again(f func(ctx context.Context) error) {
	begin := time.Now()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for f(context.Background()) != nil {
		<-tick.C
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waits = max(s.waits, time.Since(begin))
}

func (s *soaker) decide(name string, units []string) (ds []api.Decision) {
	s.again(func(ctx context.Context) (err error) {
		ds, err = s.client.Decide(ctx, name, units...)
		return err
	})
	return ds
}

// send sends items until they are answered, and books the answers. Those to accept may be
// duplicates if an earlier attempt had no answer: then that one was stored.
func (s *soaker) send(kind string, items []api.FeedbackItem, want api.ItemStatus) {
	y, call, unsure := &s.feedback, s.client.Feedback, false
	switch kind {
	case "/exposures":
		y, call = &s.exposures, s.client.Exposures
	case "/late":
		y = &s.late
	}
	var out api.FeedbackResult
	s.again(func(ctx context.Context) (err error) {
		if out, err = call(ctx, items...); err != nil {
			unsure = true
			s.mu.Lock()
			defer s.mu.Unlock()
			y.unsure += int64(len(items))
		}
		return err
	})
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, r := range out.Items {
		if want == api.Accepted && unsure && r.Status == api.Duplicate {
			y.Accepted++ // by the attempt without an answer
			y.Duplicate++
		} else {
			y.Add(r.Status, 1)
			if r.Status != want {
				s.faults = append(s.faults, fmt.Sprintf("%s: %s %s, want %s", kind, r.Status, r.Error, want))
			}
		}
		if want == api.Accepted && kind == "/feedback" {
			s.sum += items[i].Metrics["x"]
		}
	}
}

// balance compares the books with the reports of the service.
func (s *soaker) balance(t *testing.T) {
	t.Helper()
	r, err := s.client.Report(context.Background(), "soak")
	if err != nil {
		t.Fatal(err)
	}
	brief, err := s.client.Report(context.Background(), "brief")
	if err != nil {
		t.Fatal(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.exposures.balance(t, "exposures", r.Health.Exposures)
	s.feedback.balance(t, "feedback", r.Feedback)
	s.late.balance(t, "late feedback", brief.Feedback)
	var units, values int64
	sum := 0.0
	for _, arm := range r.Arms {
		units += arm.N
		if m := arm.Metrics["x"]; m.N > 0 {
			values += m.N
			sum += float64(m.N) * *m.Mean
		}
	}
	if units != s.exposures.Accepted || values != s.feedback.Accepted || math.Abs(sum-s.sum) > 1e-6*s.sum {
		t.Errorf("the arms have %d units and %d values of the sum %v, the client knows of %d, %d and %v", units, values,
			sum, s.exposures.Accepted, s.feedback.Accepted, s.sum)
	}
	for _, text := range s.faults {
		t.Error(text)
	}
	t.Logf("books: exposures %+v, feedback %+v, late %+v; %d units and %d values counted, sum %v; longest wait %v",
		s.exposures, s.feedback, s.late, units, values, sum, s.waits.Round(time.Millisecond))
}
