package client

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"math"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/api"
	"github.com/noregret/noregret/policy"
)

// LocalOptions configure a [Local]. Begin with [DefaultLocalOptions]. The functions are called by a
// goroutine of the Local, and may be nil.
type LocalOptions struct {
	// Source names this process in its reports, 1 to 100 bytes. NewLocal appends a random part,
	// which a restart with the same Outbox keeps.
	Source string
	// Every is the interval between reports, above 0.
	Every time.Duration
	// Queue is the number of units of [Local.RecordIn] that can wait to be sent, at least 1.
	Queue int
	// Wait is how long one poll waits for a new policy, above 0, at most 1 m.
	Wait time.Duration
	// Outbox, unless it is nil, keeps the sums that are not sent through restarts of the process,
	// and through a long outage of the service. They are written to it every Every, so a killed
	// process loses what it recorded since. Units of RecordIn are not kept.
	Outbox Outbox
	// Remember is the number of the latest units of [Local.RecordOnce] that are known, at least 0.
	// Up to twice as many take memory, and 8 bytes each in a [UnitOutbox].
	Remember int
	// First, unless it is nil, decides until the service has sent a policy: NewLocal does not wait
	// for the service then.
	First *policy.Policy
	// Renewed is called with each new policy after the first.
	Renewed func(p *policy.Policy)
	// Done is called with the result of each report of sums.
	Done func(sums api.Aggregate, result api.FeedbackResult, err error)
	// Waiting is called with each temporary error before the report is sent again, and by another
	// goroutine with each error of the outbox.
	Waiting func(err error)
}

// DefaultLocalOptions returns options for the source "local", reports every 5 s, a queue of 100,000
// units and polls of 30 s.
func DefaultLocalOptions() LocalOptions {
	return LocalOptions{Source: "local", Every: 5 * time.Second, Queue: 100_000, Wait: 30 * time.Second}
}

// Local decides in the process for one experiment and reports sums of the recorded metrics or, for
// a contextual policy, each unit ([Local.DecideIn], [Local.RecordIn]). Its methods are safe for
// concurrent use. [Local.Decide] and [Local.DecideIn] take no lock.
type Local struct {
	client  *Client
	name    string
	options LocalOptions
	policy  atomic.Pointer[policy.Policy]
	stop    context.CancelFunc
	done    sync.WaitGroup
	source  string
	// failure is the error of the last poll, nil if it succeeded.
	failure atomic.Pointer[error]
	// confirmed is the time of the last poll that succeeded, in Unix nanoseconds, 0 for none.
	confirmed atomic.Int64

	mu       sync.Mutex
	sums     map[sumKey]*api.AggregateItem
	units    localUnits
	known    units
	sequence uint64
	// pending is the report not yet sent, nil for none. To write it takes both sending and mu.
	pending *api.Aggregate
	sending sync.Mutex // guards the sending of reports
	keeping sync.Mutex // guards the outbox; taken before mu
}

// sumKey identifies the sums that one item of a report holds.
type sumKey struct {
	version uint64
	arm     string
	held    bool
}

// NewLocal fetches the experiment's policy and starts two goroutines, which keep it up to date and
// report sums until [Local.Close].
func (c *Client) NewLocal(ctx context.Context, name string, o LocalOptions) (*Local, error) {
	if n := len(o.Source); n < 1 || n > 100 || o.Queue < 1 || o.Every <= 0 || o.Wait <= 0 || o.Wait > time.Minute ||
		o.Remember < 0 {
		return nil, noregret.Errorf(noregret.Usage, "local",
			"source of %d bytes, reports every %v, polls of %v, a queue of %d, %d units remembered: want 1 to 100, "+
				"lengths of time above 0, at most 1m, at least 1, at least 0", n, o.Every, o.Wait, o.Queue, o.Remember)
	}
	l := &Local{
		client: c, name: name, options: o, source: o.Source + "-" + rand.Text(), sums: map[sumKey]*api.AggregateItem{},
		known: newUnits(o.Remember),
	}
	if err := l.restore(); err != nil {
		return nil, err
	}
	p := o.First
	if p == nil {
		var err error
		if p, err = c.Policy(ctx, name, "", 0); err != nil {
			return nil, err
		}
		l.confirmed.Store(time.Now().UnixNano())
	}
	run, stop := context.WithCancel(context.Background())
	l.stop = stop
	l.policy.Store(p)
	l.done.Add(2)
	go l.poll(run)
	go l.report(run)
	if o.Outbox != nil {
		l.done.Add(1)
		go l.keepOn(run)
	}
	return l, nil
}

// Policy returns the current policy.
func (l *Local) Policy() *policy.Policy { return l.policy.Load() }

// Decide returns the decision for a unit, which is the service's own while both have the same
// policy. It returns an error if the unit's name does not pass [policy.CheckUnit]. It allocates
// nothing.
func (l *Local) Decide(unit string) (policy.Assignment, error) {
	if err := policy.CheckUnit("unit", unit); err != nil {
		return policy.Assignment{}, err
	}
	return l.policy.Load().Decide(unit), nil
}

// Err returns the error of the last poll if it failed, so that the policy may be out of date, and
// nil otherwise.
func (l *Local) Err() error {
	if e := l.failure.Load(); e != nil {
		return *e
	}
	return nil
}

// Confirmed returns when the service last said which policy is in force, the zero time if it has
// not yet.
func (l *Local) Confirmed() time.Time {
	if at := l.confirmed.Load(); at != 0 {
		return time.Unix(0, at)
	}
	return time.Time{}
}

// mostOlder is the number of polls in a row after which an older policy is in force: the service
// was restored from a backup. Before, it is that of a node that does not have the newer one yet, as
// a Local may ask another node each time.
const mostOlder = 20

// poll keeps the policy up to date.
func (l *Local) poll(ctx context.Context) {
	defer l.done.Done()
	pause := pauses{l.client.pause, longestPause}
	step := pauses{l.client.pause, min(100*l.client.pause, longestPause)}
	older := 0 // polls in a row that found an older policy
	for ctx.Err() == nil {
		wait := l.options.Wait
		if l.confirmed.Load() == 0 || l.failure.Load() != nil {
			wait = 0 // whether the policy is in force is not known
		}
		p, err := l.client.Policy(ctx, l.name, l.policy.Load().Digest, wait)
		if err != nil {
			if ctx.Err() != nil {
				return
			}
			l.failure.Store(&err)
			pause.wait(ctx, err)
			continue
		}
		pause.next = l.client.pause
		if p != nil && p.Version < l.policy.Load().Version {
			if older++; older < mostOlder {
				step.wait(ctx, nil)
				continue
			}
		}
		older, step.next = 0, l.client.pause
		l.failure.Store(nil)
		l.confirmed.Store(time.Now().UnixNano())
		if p != nil {
			l.policy.Store(p)
			if l.options.Renewed != nil {
				l.options.Renewed(p)
			}
		}
	}
}

// Record counts a unit as exposed and adds its metrics to the sums. Call it once for each unit and
// policy version, when the metrics are known. A missing metric counts as its default, or not at all
// if it has none. Record returns an error for metrics that the service would reject, and then
// counts nothing.
//
// A decision of a Local counts as an exposure only by Record: "exposure: immediate" in the
// experiment's definition applies to decisions of the service.
func (l *Local) Record(d policy.Assignment, metrics map[string]float64) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.record(d, metrics)
}

// record is Record. The caller holds mu.
func (l *Local) record(d policy.Assignment, metrics map[string]float64) error {
	p := l.policy.Load()
	for name, v := range metrics {
		if err := checkMetric(p, name, v); err != nil {
			return err
		}
	}
	key := sumKey{d.Version, d.Name, d.HeldBack}
	s := l.sums[key]
	if s == nil {
		s = &api.AggregateItem{
			Version: d.Version, Arm: d.Name, HeldBack: d.HeldBack,
			Metrics: map[string]api.Sums{},
		}
		l.sums[key] = s
	}
	s.Units++
	all := metrics
	for i := range p.Metrics {
		m := &p.Metrics[i]
		v, ok := metrics[m.Name]
		if !ok && m.Default != nil {
			if len(all) == len(metrics) {
				all = maps.Clone(metrics)
			}
			if all == nil {
				all = map[string]float64{}
			}
			v, ok = *m.Default, true
			all[m.Name] = v
		}
		if !ok {
			continue
		}
		if c := m.Count(v); c != v {
			if len(all) == len(metrics) {
				all = maps.Clone(all)
			}
			v = c
			all[m.Name] = v
		}
		q := s.Metrics[m.Name]
		q.Add(v)
		s.Metrics[m.Name] = q
	}
	for i := range p.Metrics {
		m := &p.Metrics[i]
		x, hasX := all[m.Numerator]
		y, hasY := all[m.Denominator]
		if m.Kind == "ratio" && hasX && hasY {
			if s.Pairs == nil {
				s.Pairs = map[string]api.PairSums{}
			}
			q := s.Pairs[m.Name]
			q.Add(x, y)
			s.Pairs[m.Name] = q
		}
	}
	return nil
}

// checkMetric returns an error for a value that the service would reject.
func checkMetric(p *policy.Policy, name string, v float64) error {
	i := slices.IndexFunc(p.Metrics, func(m policy.MetricForm) bool { return m.Name == name && m.Kind != "ratio" })
	if i < 0 {
		return noregret.BadInputf("metrics."+name, "not a metric of %q", p.Experiment)
	}
	m := &p.Metrics[i]
	low, high := -1e15, 1e15
	if m.Kind == "count" {
		low = 0
	}
	if len(m.Range) == 2 {
		low, high = m.Range[0], m.Range[1]
	}
	if !(v >= low && v <= high) {
		return noregret.BadInputf("metrics."+name, "%v: want a number in [%v, %v]", v, low, high)
	}
	if m.Kind == "count" && v != math.Trunc(v) {
		return noregret.BadInputf("metrics."+name, "%v: a count is a whole number", v)
	}
	return nil
}

// report sends the sums at regular intervals.
func (l *Local) report(ctx context.Context) {
	defer l.done.Done()
	t := time.NewTicker(l.options.Every)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
			_ = l.Flush(ctx) // Done gets the error
		}
	}
}

// Flush sends the sums and the units recorded so far. While the service is unavailable it retries
// until ctx ends. A report that was not sent, or that the service refuses for another reason than
// what is in it, such as the access token, keeps its sequence number and goes out with the next
// Flush; sums recorded meanwhile form one further report, so that memory does not grow. The error
// includes the sums that the service rejected or that arrived too late.
func (l *Local) Flush(ctx context.Context) error {
	l.sending.Lock()
	defer l.sending.Unlock()
	var refused error
	for l.pending != nil || l.collect() {
		// A report that is sent and not kept would be followed by another one of the same number.
		if err := l.Keep(); err != nil {
			return errors.Join(refused, err)
		}
		said, err := l.send(ctx)
		refused = errors.Join(refused, said)
		if err != nil {
			return errors.Join(refused, err)
		}
	}
	return errors.Join(refused, l.flushUnits(ctx))
}

// send sends the pending report. Its first result describes the sums that the service rejected.
func (l *Local) send(ctx context.Context) (refused, err error) {
	var result api.FeedbackResult
	err = l.client.persist(ctx, l.options.Waiting, func() (err error) {
		result, err = l.client.Aggregate(ctx, *l.pending)
		return err
	})
	if l.options.Done != nil {
		l.options.Done(*l.pending, result, err)
	}
	for i, f := range result.Items {
		if err == nil && (f.Status == api.Rejected || f.Status == api.Late) && i < len(l.pending.Items) {
			it := l.pending.Items[i]
			refused = errors.Join(refused, noregret.BadInputf(fmt.Sprintf("version %d, arm %s", it.Version, it.Arm),
				"the sums of %d units are %s: %s", it.Units,
				f.Status, f.Error))
		}
	}
	if err == nil || isBad(err) {
		l.mu.Lock()
		l.pending = nil
		l.mu.Unlock()
	}
	return refused, err
}

// isBad reports whether a report cannot be counted, whoever sends it and whenever. All other
// failures can be mended: those of an access token, of an address, of a limit. The units in the
// report were acknowledged.
func isBad(err error) bool {
	e, ok := errors.AsType[*Error](err)
	if !ok {
		return !passes(err) // it cannot be encoded
	}
	return e.Status == http.StatusBadRequest || e.Status == http.StatusConflict
}

// collect moves the sums recorded so far to the pending report. It reports whether there are any.
func (l *Local) collect() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.sums) == 0 {
		return false
	}
	l.sequence++
	l.pending = &api.Aggregate{Experiment: l.name, Source: l.source, Sequence: l.sequence, Items: l.items()}
	l.sums = map[sumKey]*api.AggregateItem{}
	return true
}

// items returns the sums in the order of versions, held back last, and arms. The caller holds mu.
func (l *Local) items() []api.AggregateItem {
	var out []api.AggregateItem
	for _, s := range l.sums {
		out = append(out, *s)
	}
	slices.SortFunc(out, func(x, y api.AggregateItem) int {
		switch {
		case x.Version != y.Version:
			return cmp.Compare(x.Version, y.Version)
		case x.HeldBack != y.HeldBack:
			return map[bool]int{false: -1, true: 1}[x.HeldBack]
		}
		return strings.Compare(x.Arm, y.Arm)
	})
	return out
}

// Close ends the goroutines and sends the remaining sums, retrying until ctx ends. What was not
// sent stays in the outbox, if there is one.
func (l *Local) Close(ctx context.Context) error {
	l.stop()
	l.done.Wait()
	return errors.Join(l.Flush(ctx), l.Keep())
}
