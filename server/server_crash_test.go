package server_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/noregret/noregret/api"
	"github.com/noregret/noregret/client"
	"github.com/noregret/noregret/eventlog"
	"github.com/noregret/noregret/experiment"
	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/testsize"
	"github.com/noregret/noregret/policy"
	"github.com/noregret/noregret/server"
)

// full reports whether the tests run in their long form (NOREGRET_FULL=1, make crash).
func full() bool { return os.Getenv("NOREGRET_FULL") != "" }

const crashToy = `name: toy
arms: [{name: control, value: 0}, {name: gain, value: 1}, {name: guard, value: 2}]
control: {arm: control, share: 0.2}
metrics: [{name: x}, {name: n, kind: count, default: 0}]
objective: {goals: [{metric: x}]}
guardrails: [{metric: x, min: -1, hard: false, action: rollback}]
round: {length: 20ms, min_units: 20}
attribution_window: 8784h
`

// crashFast is an experiment that learns while the service is killed. Its versions mature within a
// run, sums and units with defaults are pending, and in some runs its guardrail fires.
const crashFast = `name: fast
arms: [{name: control, value: 0}, {name: gain, value: 1}, {name: guard, value: "<2>&"}]
control: {arm: control, share: 0.2}
metrics: [{name: x, range: [0, 1]}, {name: bad, kind: count, range: [0, 1], default: 0},
  {name: r, kind: ratio, numerator: x, denominator: bad}]
objective: {goals: [{metric: x}]}
guardrails: [{metric: bad, max: 0.15, hard: false, action: rollback}]
round: {length: 8ms, min_units: 8}
attribution_window: 16ms
open_tokens: 5000
`

var quiet = slog.New(slog.NewTextHandler(io.Discard, nil))

// crashChild is the service that is killed.
func crashChild(dir string) error {
	config := server.DefaultConfig(dir)
	config.Logger, config.SnapshotEvery, config.Tick = quiet, 150, 5*time.Millisecond
	s, err := server.New(config)
	if err != nil {
		return err
	}
	l, err := s.Listen("127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Println("http://" + l.Addr().String())
	return s.Serve(context.Background(), l, nil, time.Second)
}

// ledger records what the clients know: every item that they sent, and which were answered.
type ledger struct {
	mu       sync.Mutex
	items    []*sent
	sums     uint64 // sequence number of the source
	units    int64  // units of the answered sums
	answered uint64 // the last answered sequence number
	unsure   *api.Aggregate
	refused  []string
	dropped  int64 // sent items that the ledger has forgotten, see keep
}

// sent is one unit's exposure and feedback.
type sent struct {
	token             string
	exposed, reported bool // answered as accepted or duplicate
}

// drive sends items until a request fails. Every unit is new, so each item may count only once.
func (g *ledger) drive(c *client.Client, worker string) {
	ctx := context.Background()
	for i := 0; ; i++ {
		ds, err := c.Decide(ctx, "toy", worker+fmt.Sprint("-a", i), worker+fmt.Sprint("-b", i))
		if err != nil {
			return
		}
		for _, d := range ds {
			it := &sent{token: d.Token}
			g.mu.Lock()
			g.items = append(g.items, it)
			g.mu.Unlock()
			if !g.finish(ctx, c, it) {
				return
			}
		}
	}
}

// finish sends the parts of an item that are not answered yet.
func (g *ledger) finish(ctx context.Context, c *client.Client, it *sent) bool {
	step := func(done *bool, send func(context.Context, ...api.FeedbackItem) (api.FeedbackResult, error),
		r api.FeedbackItem,
	) bool {
		if *done {
			return true
		}
		f, err := send(ctx, r)
		if err != nil {
			return false
		}
		g.mu.Lock()
		*done = true
		g.mu.Unlock()
		if f.Accepted+f.Duplicate != 1 {
			g.mu.Lock()
			g.refused = append(g.refused, fmt.Sprintf("%+v", f))
			g.mu.Unlock()
		}
		return true
	}
	return step(&it.exposed, c.Exposures, api.FeedbackItem{Token: it.token}) &&
		step(&it.reported, c.Feedback, api.FeedbackItem{
			Token:   it.token,
			Metrics: map[string]float64{"x": 1, "n": 2},
		})
}

// aggregate sends one report of sums: the last one again if it was not answered, else a new one.
func (g *ledger) aggregate(c *client.Client) bool {
	ctx := context.Background()
	if g.unsure == nil {
		p, err := c.Policy(ctx, "toy", "", 0)
		if err != nil {
			return false
		}
		g.sums++
		arm := p.DecideHash(g.sums * 0x9e3779b97f4a7c15).Name
		g.unsure = &api.Aggregate{
			Experiment: "toy", Source: "sums", Sequence: g.sums,
			Items: []api.AggregateItem{{
				Version: p.Version, Arm: arm, Units: 3,
				Metrics: map[string]api.Sums{"x": {N: 3, Sum: 3, Squares: 3}},
			}},
		}
	}
	f, err := c.Aggregate(ctx, *g.unsure)
	if err != nil {
		return false
	}
	if f.Accepted+f.Duplicate != 1 {
		g.refused = append(g.refused, fmt.Sprintf("sums: %+v", f))
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.unsure = nil
	g.units += 3
	g.answered = g.sums
	return true
}

// learn drives the learning experiment until a request fails or enough reports true. It does not
// record the results of its items, as many are late. With harm, the guardrail fires; learn resumes
// after a rollback.
func learn(c *client.Client, worker string, harm bool, fired *atomic.Bool, enough func(*api.Report) bool) {
	ctx := context.Background()
	for i := uint64(1); ; i++ {
		var units []string
		for k := range 12 {
			units = append(units, fmt.Sprint(worker, "-", i, "-", k))
		}
		ds, err := c.Decide(ctx, "fast", units...)
		if err != nil {
			return
		}
		var exposures, feedback []api.FeedbackItem
		for k, d := range ds {
			m := map[string]float64{"x": map[string]float64{"control": .3, "gain": .9, "guard": .5}[d.Arm]}
			if harm && k%4 > 0 || k%12 == 5 {
				m["bad"] = 1
			}
			exposures = append(exposures, api.FeedbackItem{Token: d.Token})
			feedback = append(feedback, api.FeedbackItem{Token: d.Token, Metrics: m})
		}
		if _, err := c.Exposures(ctx, exposures...); err != nil {
			return
		}
		if _, err := c.Feedback(ctx, feedback...); err != nil {
			return
		}
		sums := api.Aggregate{
			Experiment: "fast", Source: worker, Sequence: i,
			Items: []api.AggregateItem{{
				Version: ds[0].Version, Arm: ds[0].Arm, Units: 5,
				Metrics: map[string]api.Sums{
					"x":   {N: 4, Sum: 2, Squares: 1.5},
					"bad": {N: 4, Sum: 1, Squares: 1},
				},
				Pairs: map[string]api.PairSums{"r": {N: 4, X: 2, Y: 1, XX: 1.5, YY: 1, XY: .5}},
			}},
		}
		if _, err := c.Aggregate(ctx, sums); err != nil {
			return
		}
		r, err := c.Report(ctx, "fast")
		if err != nil {
			return
		}
		if r.State == policy.RolledBack {
			fired.Store(true)
		}
		if enough(r) {
			return
		}
		if r.State != policy.Running {
			_, err = c.Change(ctx, "fast", "resume", "crash test")
		} else if i%40 == 0 {
			_, err = c.Change(ctx, "fast", "pause", "crash test")
		}
		var refused *client.Error
		if err != nil && (!errors.As(err, &refused) || refused.Status >= 500) {
			return // a refusal because the state has changed meanwhile is no failure
		}
	}
}

// never makes [learn] run until the service is gone.
func never(*api.Report) bool { return false }

// matured counts the versions of a report whose windows have closed with units in them.
func matured(r *api.Report) (n int) {
	for _, v := range r.History {
		if v.Units > 0 && v.Metrics["bad"] != nil {
			n++
		}
	}
	return n
}

// acknowledged returns a copy of what has been answered so far.
func (g *ledger) acknowledged() (items []*sent, answered uint64, units int64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, it := range g.items {
		if it.exposed && it.reported {
			items = append(items, it)
		}
	}
	return items, g.answered, g.units
}

// keep forgets everything except what was answered before the power loss. What was sent later may
// or may not be in the log.
func (g *ledger) keep(items []*sent, answered uint64, units int64) {
	g.dropped += int64(len(g.items)-len(items)) + int64(g.sums-g.answered) + 1
	g.items, g.answered, g.units, g.unsure = items, answered, units, nil
}

// present sends every answered item once more. Each must be a duplicate, which shows that it was
// not lost, and the counters must show that nothing counted twice.
func (g *ledger) present(t *testing.T, c *client.Client) {
	t.Helper()
	ctx := context.Background()
	for at := 0; at < len(g.items); at += 500 {
		var exposures, feedback []api.FeedbackItem
		for _, it := range g.items[at:min(at+500, len(g.items))] {
			exposures = append(exposures, api.FeedbackItem{Token: it.token})
			feedback = append(feedback, api.FeedbackItem{Token: it.token, Metrics: map[string]float64{"x": 1}})
		}
		e, err := c.Exposures(ctx, exposures...)
		f, err2 := c.Feedback(ctx, feedback...)
		if err != nil || err2 != nil || e.Duplicate != len(exposures) || f.Duplicate != len(feedback) {
			t.Fatalf("%d acknowledged units: %d exposures and %d feedback items are duplicates, %v %v", len(exposures),
				e.Duplicate, f.Duplicate, err, err2)
		}
	}
	if g.answered > 0 {
		f,
			err := c.Aggregate(ctx, api.Aggregate{
			Experiment: "toy", Source: "sums", Sequence: g.answered,
			Items: []api.AggregateItem{{Version: 1, Arm: "gain"}},
		})
		if err != nil || f.Duplicate != 1 {
			t.Fatalf("the acknowledged sums %d were lost: %+v %v", g.answered, f, err)
		}
	}
	r, err := c.Report(ctx, "toy")
	if err != nil {
		t.Fatal(err)
	}
	least := int64(len(g.items)) + g.units/3
	if got := r.Feedback.Accepted; got < least || got > least+g.dropped {
		t.Fatalf("%d items are accepted, want %d to %d", got, least, least+g.dropped)
	}
}

// settle sends the unanswered items again and checks that everything counts exactly once.
func (g *ledger) settle(t *testing.T, c *client.Client) {
	t.Helper()
	for _, it := range g.items {
		if !g.finish(context.Background(), c, it) {
			t.Fatal("the service that was started again does not answer")
		}
	}
	for g.unsure != nil {
		if !g.aggregate(c) {
			t.Fatal("the service that was started again does not answer")
		}
	}
	r, err := c.Report(context.Background(), "toy")
	if err != nil {
		t.Fatal(err)
	}
	units := int64(0)
	for _, a := range r.Arms {
		units += a.N
	}
	n := int64(len(g.items))
	if r.Feedback.Accepted != n+int64(g.sums) || r.Health.Exposures.Accepted != n || units != n+g.units ||
		len(g.refused) > 0 {
		t.Fatalf("%d units were sent and %d in %d sums; %d feedback and %d exposures are accepted, %d units counted; "+
			"refused: %v",
			n, g.units, g.sums, r.Feedback.Accepted, r.Health.Exposures.Accepted, units, g.refused)
	}
}

// checkLog checks the log, and that a service recovers from it the state that a fold of the whole
// log gives.
func checkLog(t *testing.T, fs vfs.FS, data string) {
	t.Helper()
	ctx := context.Background()
	real := fs
	if real == nil {
		real = vfs.Default
	}
	report, err := eventlog.Check(ctx, real, server.LogDir(data))
	if err != nil || report.Damaged() {
		t.Fatalf("%+v %v", report, err)
	}
	log, err := eventlog.Open(fs, server.LogDir(data), eventlog.DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = log.Close() }()
	state, _, err := server.Recover(ctx, log)
	if err != nil {
		t.Fatal(err)
	}
	want, err := server.ReplayEvents(experiment.NewState(), log.Read(ctx, 1), 0)
	if err != nil {
		t.Fatal(err)
	}
	digest, err := state.Digest()
	if err != nil || digest != want.Digest || want.Different > 0 || want.Unknown > 0 {
		t.Fatalf("recovered %s at %d, the log folds to %+v, %v", digest, state.Position(), want, err)
	}
}

// TestCrashKill kills the service with SIGKILL at random moments under load. After each start every
// answered item has been counted exactly once, and the state is the fold of the log.
func TestCrashKill(t *testing.T) {
	kills := 4
	if full() {
		kills = 110
	}
	dir, g, rng := t.TempDir(), &ledger{}, random.New(1, "kill")
	var fired atomic.Bool
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
			applyBoth(t, c, "drift: {memory: 9}\n")
		}
		if k == kills || k%10 == 3 {
			g.settle(t, c)
		}
		if k == kills { // on a slow machine the runs may have been too short for the rest
			learn(c, "fast-last", true, &fired, func(r *api.Report) bool {
				return matured(r) >= 5 && fired.Load()
			})
			r, err := c.Report(context.Background(), "fast")
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("fast: version %d, round %d, %d of the stored versions have matured, mixture %v", r.Version, r.Round,
				matured(r), r.Mixture)
			if matured(r) < 5 || !fired.Load() {
				t.Errorf("the learning experiment did not learn, or its guardrail did not fire: %+v", r.Notes)
			}
		}
		if k < kills {
			var wg sync.WaitGroup
			for w := range 6 {
				wg.Go(func() { g.drive(c, fmt.Sprintf("k%d-w%d", k, w)) })
			}
			wg.Go(func() {
				for g.aggregate(c) {
				}
			})
			wg.Go(func() { learn(c, fmt.Sprint("fast-", k), k%3 == 1, &fired, never) })
			timer := time.NewTimer(time.Duration(5+rng.IntN(250)) * time.Millisecond)
			<-timer.C // only the moment is random
			_ = cmd.Process.Kill()
			wg.Wait()
		} else {
			_ = cmd.Process.Kill()
		}
		_ = cmd.Wait()
		transport.CloseIdleConnections()
		checkLog(t, nil, dir)
	}
	t.Logf("%d kills, %d units and %d reports of sums sent", kills, len(g.items), g.sums)
}

// crashDrifts are the kinds of drift of the experiment that learns.
var crashDrifts = []string{
	"", "drift: {memory: 5}\n", "changes: none\n", "strict: true\n", "drift: {memory: 10}\n",
	"exploration: {share: 0.2}\n", "drift: {memory: 9}\n", "",
}

// applyBoth creates the experiment whose units are counted and the one that learns, with drift.
func applyBoth(t *testing.T, c *client.Client, drift string) {
	t.Helper()
	for name, text := range map[string]string{"toy": crashToy, "fast": crashFast + drift} {
		if _, err := c.Apply(context.Background(), name, []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
}

// TestCrashDisk makes the disk fail at a random write, or cuts the power at a random moment: a
// clone keeps a random part of the data that was not flushed. It then starts a service on what the
// disk holds.
func TestCrashDisk(t *testing.T) {
	runs := testsize.Of(8, 4)
	if full() {
		runs = 80
	}
	ends, total := map[bool]int{}, 0
	for run := range runs {
		rng := random.New(uint64(run), "disk")
		mem, data, g := vfs.NewCrashableMem(), t.TempDir(), &ledger{}
		for life := range 3 {
			mem = crashLife(t, g, mem, data, fmt.Sprintf("r%d-l%d", run, life), run%2 == 0, rng)
			ends[run%2 == 0]++
		}
		config := server.DefaultConfig(data)
		config.FS, config.Logger, config.Tick = mem, quiet, time.Hour
		s, err := server.New(config)
		if err != nil {
			t.Fatalf("run %d: %v", run, err)
		}
		h := httptest.NewServer(s.Handler())
		c, err := client.New(client.DefaultOptions(h.URL))
		if err != nil {
			t.Fatal(err)
		}
		if len(g.items) > 0 {
			g.present(t, c)
		}
		total += len(g.items)
		h.Close()
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		checkLog(t, mem, data)
	}
	t.Logf("%d runs ended by a failing disk, %d by a crash clone; %d acknowledged units", ends[true], ends[false],
		total)
}

// crashLife runs a service under load until its disk fails or it loses power. It returns what the
// disk holds.
func crashLife(t *testing.T, g *ledger, mem *vfs.MemFS, data, name string, failing bool,
	rng *random.Source,
) *vfs.MemFS {
	t.Helper()
	var mu sync.Mutex
	count, limit, hit := 0, 60+rng.IntN(500), make(chan struct{})
	fs := errorfs.Wrap(mem, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if op.Kind.ReadOrWrite() != errorfs.OpIsWrite {
			return nil
		}
		mu.Lock()
		defer mu.Unlock()
		if count++; count == limit {
			close(hit)
		}
		if failing && count >= limit {
			return errorfs.ErrInjected
		}
		return nil
	}))
	config := server.DefaultConfig(data)
	config.FS, config.Logger, config.SnapshotEvery, config.Tick = fs, quiet, 60, 2*time.Millisecond
	s, err := server.New(config)
	if err != nil {
		t.Fatalf("%s: %v", name, err) // limit exceeds the number of writes of opening the log
	}
	h := httptest.NewServer(s.Handler())
	transport := &http.Transport{MaxIdleConnsPerHost: 8}
	o := client.DefaultOptions(h.URL)
	o.Attempts, o.HTTP = 1, &http.Client{Transport: transport, Timeout: 30 * time.Second}
	c, err := client.New(o)
	if err != nil {
		t.Fatal(err)
	}
	if s.Policy("toy") == nil {
		run := 0
		if _, err := fmt.Sscanf(name, "r%d-", &run); err != nil {
			t.Fatal(err)
		}
		applyBoth(t, c, crashDrifts[run%len(crashDrifts)])
	}
	var stop atomic.Bool
	var wg sync.WaitGroup
	for w := range 3 {
		wg.Go(func() { g.drive(c, fmt.Sprintf("%s-w%d", name, w)) })
	}
	wg.Go(func() {
		for !stop.Load() && g.aggregate(c) {
		}
	})
	wg.Go(func() { learn(c, "fast-"+name, !failing, new(atomic.Bool), never) })
	<-hit
	items, answered, units := g.acknowledged()
	clone := mem.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: rng.IntN(101), RNG: rng.Rand})
	stop.Store(true)
	h.CloseClientConnections()
	h.Close()
	wg.Wait()
	transport.CloseIdleConnections()
	_ = s.Close() // a service reports that its disk has failed
	g.keep(items, answered, units)
	return clone
}
