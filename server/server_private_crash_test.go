package server_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/noregret/noregret/api"
	"github.com/noregret/noregret/client"
	"github.com/noregret/noregret/dp"
	"github.com/noregret/noregret/eventlog"
	"github.com/noregret/noregret/experiment"
	"github.com/noregret/noregret/experiment/join"
	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/server"
)

// crashPrivate is an experiment that releases while the service is killed.
const crashPrivate = `name: secret
arms: [{name: control, value: 0}, {name: gain, value: 1}]
control: {arm: control, share: 0.3}
metrics: [{name: buy, range: [0, 1], default: 0}]
objective: {goals: [{metric: buy}]}
round: {length: 8ms, min_units: 4}
attribution_window: 1s
privacy: {epsilon: 4, delta: 1e-6, unit_contribution: 2, rounds: 10000}
`

// crowd is what the clients of a private experiment know. Its units come again and again.
type crowd struct {
	mu    sync.Mutex
	shown map[string]int // exposures by unit that were answered as accepted
	maybe map[string]int // that were sent, answered or not
	// accepted is the number of decisions whose feedback was answered as accepted.
	accepted int
	releases map[int64]release
	bad      []string
}

// release is what a report says of the last release, by arm.
type release struct {
	sums   [2]float64
	counts [2]int64
}

// visit lets units decide, be exposed and report until a request fails. Every tenth unit reports
// twice.
func (g *crowd) visit(c *client.Client, rng *random.Source) {
	ctx := context.Background()
	for {
		units := make([]string, 8)
		for i := range units {
			units[i] = fmt.Sprint("p", rng.IntN(3000))
		}
		slices.Sort(units)
		units = slices.Compact(units)
		ds, err := c.Decide(ctx, "secret", units...)
		if err != nil {
			return
		}
		var shown, said []api.FeedbackItem
		g.mu.Lock()
		for i, d := range ds {
			shown = append(shown, api.FeedbackItem{Token: d.Token})
			said = append(said, api.FeedbackItem{Token: d.Token, Metrics: map[string]float64{"buy": 1}})
			if i == 0 {
				said = append(said, said[len(said)-1])
			}
			g.maybe[d.Unit]++
		}
		g.mu.Unlock()
		e, err := c.Exposures(ctx, shown...)
		if err != nil {
			return
		}
		g.mu.Lock()
		for i, it := range e.Items {
			if it.Status == api.Accepted {
				g.shown[ds[i].Unit]++
			}
		}
		g.mu.Unlock()
		f, err := c.Feedback(ctx, said...)
		if err != nil {
			return
		}
		g.mu.Lock()
		for i, it := range f.Items {
			if it.Status == api.Accepted && i != 1 { // the second item repeats the first
				g.accepted++
			}
		}
		g.mu.Unlock()
	}
}

// watch reads the report and the ledger until a request fails: a release once seen stays, and
// nothing is out that the ledger has not charged.
func (g *crowd) watch(c *client.Client, data string) {
	for {
		r, err := c.Report(context.Background(), "secret")
		if err != nil {
			return
		}
		p := r.Privacy
		steps, spent, err := ledgerOf(data)
		g.mu.Lock()
		switch {
		case err != nil || steps < p.Released || spent > 4:
			g.bad = append(g.bad, fmt.Sprintf("release %d is out, the ledger has %d, ε = %v: %v", p.Released, steps,
				spent, err))
		case p.Ended != "":
			g.bad = append(g.bad, p.Ended)
		}
		if p.Released > 0 {
			g.saw(p.Released, release{
				[2]float64{p.Sums["control"]["buy"], p.Sums["gain"]["buy"]},
				[2]int64{p.Counts["control"], p.Counts["gain"]},
			})
		}
		g.mu.Unlock()
	}
}

// saw records a release, of which there is only one for each step. It holds the lock.
func (g *crowd) saw(step int64, r release) {
	if old, ok := g.releases[step]; ok && old != r {
		g.bad = append(g.bad, fmt.Sprintf("step %d was %v and is %v", step, old, r))
	}
	g.releases[step] = r
}

// ledgerOf reads the ledger of a service.
func ledgerOf(data string) (steps int64, spent float64, err error) {
	store, err := dp.OpenFileStore(server.PrivacyLedgerDir(data))
	if err != nil {
		return 0, 0, err
	}
	l, err := dp.OpenLedger(store)
	if err != nil {
		return 0, 0, err
	}
	_, runs, err := l.Account("secret")
	if err != nil || len(runs) != 1 {
		return 0, 0, fmt.Errorf("%d runs: %w", len(runs), err)
	}
	spent, err = l.Spent("secret", 1e-6)
	return runs[0].Steps, spent, err
}

// contributions reads the log of a service that is dead. It returns the releases, and by unit the
// number of decisions that were exposed, each once.
func contributions(t *testing.T, data string) (releases map[int64][]float64, exposed map[string]int) {
	t.Helper()
	log, err := eventlog.Open(nil, server.LogDir(data), eventlog.DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = log.Close() }()
	releases, exposed = map[int64][]float64{}, map[string]int{}
	state, last := experiment.NewState(), int64(0)
	for r, err := range log.Read(context.Background(), 1) {
		if err != nil {
			t.Fatal(err)
		}
		o, err := state.Apply(r.Position, experiment.Event{Kind: r.Kind, Time: r.Time, Payload: r.Payload})
		if err != nil {
			t.Fatal(err)
		}
		switch r.Kind {
		case experiment.KindRelease:
			var p experiment.ReleaseEvent
			if err := json.Unmarshal(r.Payload, &p); err != nil || p.Step != last+1 || o.Err != nil {
				t.Fatalf("step %d (%s) after step %d: %v, %v", p.Step, p.Ended, last, err, o.Err)
			}
			last, releases[p.Step] = p.Step, p.Sums
		case experiment.KindExposures:
			var p join.Units
			if err := json.Unmarshal(r.Payload, &p); err != nil {
				t.Fatal(err)
			}
			for i, it := range o.Items {
				if it.Status == api.Accepted {
					exposed[p.Items[i].Unit]++
				}
			}
		}
	}
	return releases, exposed
}

// check compares what clients know with the log of the dead service, and with a report that was
// read before.
func (g *crowd) check(t *testing.T, data string, r *api.Report) {
	t.Helper()
	releases, exposed := contributions(t, data)
	p := r.Privacy
	for step, seen := range g.releases {
		at := releases[step] // about the midpoint
		for k := range at {
			if len(at) != 2 || seen.sums[k] != 0.5*float64(seen.counts[k])+at[k] {
				t.Errorf("step %d was seen as %v, the log has %v", step, seen, at)
			}
		}
		if at == nil {
			t.Errorf("step %d was seen as %v, the log does not have it", step, seen)
		}
	}
	all, most := 0, int64(0) // exposures, and those that may count
	for _, n := range exposed {
		all += n
		most += int64(min(n, 2))
	}
	acknowledged := 0
	for _, n := range g.shown {
		acknowledged += n
	}
	sent := 0
	for _, n := range g.maybe {
		sent += n
	}
	if all < acknowledged || all > sent {
		t.Errorf("%d exposures are in the log, %d were acknowledged and %d sent", all, acknowledged, sent)
	}
	counted, sum := int64(0), 0.0
	for arm, n := range p.Counts {
		counted += n
		sum += p.Sums[arm]["buy"]
	}
	if counted > most || p.Excess != int64(all)-most {
		t.Errorf("%d decisions count and %d are in excess, of %d exposures of which %d may count", counted, p.Excess,
			all, most)
	}
	// Every decision reports 1 or, if its feedback was never answered, perhaps nothing.
	noise := 8 * math.Sqrt2 * p.Noise["buy"]
	if sum > float64(counted)+noise || sum < float64(counted)-noise-float64(sent-g.accepted) {
		t.Errorf("%d decisions have the sum %v with noise %v", counted, sum, p.Noise["buy"])
	}
	if len(g.bad) > 0 {
		t.Errorf("%d times: %s", len(g.bad), g.bad[0])
	}
	t.Logf("%d units, %d exposures acknowledged, %d counted, %d in excess; %d releases, %d seen; sum %.0f ± %.0f",
		len(exposed), acknowledged, counted, p.Excess, p.Released, len(g.releases), sum, noise/8)
}

// TestCrashPrivate kills the service with SIGKILL under a load of a private experiment whose units
// come back. However often it is killed, a unit counts in at most unit_contribution decisions, each
// release is the only one of its step, and the ledger is ahead of every release and within the
// budget.
func TestCrashPrivate(t *testing.T) {
	kills := 5
	if full() {
		kills = 60
	}
	dir, rng := t.TempDir(), random.New(1, "private kill")
	g := &crowd{shown: map[string]int{}, maybe: map[string]int{}, releases: map[int64]release{}}
	var r *api.Report
	for k := range kills + 1 {
		cmd, url := startChild(t, dir)
		transport := &http.Transport{MaxIdleConnsPerHost: 16}
		o := client.DefaultOptions(url)
		o.Attempts, o.HTTP = 1, &http.Client{Transport: transport, Timeout: 20 * time.Second}
		c, err := client.New(o)
		if err != nil {
			t.Fatal(err)
		}
		if k == 0 {
			if _, err := c.Apply(context.Background(), "secret", []byte(crashPrivate)); err != nil {
				t.Fatal(err)
			}
		}
		if k == kills {
			r = g.quiet(t, c)
		} else {
			var wg sync.WaitGroup
			for w := range 4 {
				visitor := random.New(uint64(k), fmt.Sprint("visitor ", w))
				wg.Go(func() { g.visit(c, visitor) })
			}
			wg.Go(func() { g.watch(c, dir) })
			timer := time.NewTimer(time.Duration(1200+rng.IntN(400)) * time.Millisecond)
			<-timer.C // only the moment is random: the windows of a second close meanwhile
			_ = cmd.Process.Kill()
			wg.Wait()
		}
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		transport.CloseIdleConnections()
		checkLog(t, nil, dir)
	}
	if len(g.releases) < kills || r.Privacy.Released < int64(2*kills) {
		t.Errorf("%d releases were seen of %d: want more, so that the kills hit some", len(g.releases),
			r.Privacy.Released)
	}
	g.check(t, dir, r)
}

// quiet waits until nothing waits for its window or its release, and returns the last report.
func (g *crowd) quiet(t *testing.T, c *client.Client) *api.Report {
	t.Helper()
	for end := time.Now().Add(time.Minute); ; {
		r, err := c.Report(context.Background(), "secret")
		if err != nil {
			t.Fatal(err)
		}
		if r.Health.Open == 0 && r.Privacy.Waiting == 0 {
			return r
		}
		if time.Now().After(end) {
			t.Fatalf("%d units and %d releases still wait", r.Health.Open, r.Privacy.Waiting)
		}
	}
}
