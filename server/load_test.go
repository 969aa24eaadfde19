package server_test

import (
	"context"
	"fmt"
	"net/http"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/noregret/noregret/api"
	"github.com/noregret/noregret/client"
	"github.com/noregret/noregret/server"
)

// The load tests (make load) print figures and check only that they are plausible. Client and
// service share the machine; where they are compared with a bare handler, each is a process of its
// own.

const loadToy = `name: load
arms: [{name: control, value: {w: 0}}, {name: a, value: {w: 1}}, {name: b, value: {w: 2}}]
control: {arm: control, share: 0.2}
metrics: [{name: x}, {name: n, kind: count, default: 0}]
objective: {goals: [{metric: x}]}
round: {length: 1s, min_units: 1}
attribution_window: 1s
open_tokens: 10000000
`

// loaded starts a service on the disk, as noregret serve runs it.
func loaded(b *testing.B) (*server.Server, *client.Client, string) {
	b.Helper()
	config := server.DefaultConfig(b.TempDir())
	config.Logger = quiet
	s, err := server.New(config)
	if err != nil {
		b.Fatal(err)
	}
	l, err := s.Listen("127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- s.Serve(ctx, l, nil, time.Minute) }()
	b.Cleanup(func() {
		cancel()
		if err := <-served; err != nil {
			b.Error(err)
		}
	})
	url := "http://" + l.Addr().String()
	o := client.DefaultOptions(url)
	o.HTTP = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}, Timeout: time.Minute}
	c, err := client.New(o)
	if err != nil {
		b.Fatal(err)
	}
	if _, err := c.Apply(ctx, "load", []byte(loadToy)); err != nil {
		b.Fatal(err)
	}
	return s, c, url
}

// connect makes one connection of a load: send sends the i-th request of all, end closes the
// connection.
type connect func() (send func(i int) error, end func())

// hammer sends requests over the given number of connections for a time and returns their sorted
// durations.
func hammer(b *testing.B, connections int, during time.Duration, open connect) []time.Duration {
	b.Helper()
	var mu sync.Mutex
	var all []time.Duration
	var wg sync.WaitGroup
	var n atomic.Int64
	end := time.Now().Add(during)
	for range connections {
		wg.Go(func() {
			send, done := open()
			defer done()
			var mine []time.Duration
			for time.Now().Before(end) {
				begin := time.Now()
				if err := send(int(n.Add(1))); err != nil {
					b.Error(err)
					return
				}
				mine = append(mine, time.Since(begin))
			}
			mu.Lock()
			defer mu.Unlock()
			all = append(all, mine...)
		})
	}
	wg.Wait()
	slices.Sort(all)
	return all
}

func quantiles(d []time.Duration) string {
	at := func(q float64) time.Duration { return d[min(len(d)-1, int(q*float64(len(d))))].Round(time.Microsecond) }
	return fmt.Sprintf("p50 %v, p99 %v, p99.9 %v", at(.5), at(.99), at(.999))
}

// appendUnits appends the body of the i-th request for decisions.
func appendUnits(b []byte, units, i int) []byte {
	b = append(b, `{"units":[`...)
	for j := range units {
		if j > 0 {
			b = append(b, ',')
		}
		b = append(b, `"user-`...)
		b = strconv.AppendInt(b, int64(i), 10)
		b = append(b, '-')
		b = strconv.AppendInt(b, int64(j), 10)
		b = append(b, '"')
	}
	return append(b, "]}"...)
}

// measured is a process under load, with what it has answered.
type measured struct {
	*process
	name, path string
	durations  []time.Duration
	cpu        time.Duration
}

// turn loads the process for a time.
func (m *measured) turn(b *testing.B, connections int, during time.Duration, open func(*process, string) connect) {
	begin := m.processor()
	m.durations = append(m.durations, hammer(b, connections, during, open(m.process, m.path))...)
	slices.Sort(m.durations)
	m.cpu += m.processor() - begin
}

func (m *measured) each() time.Duration {
	return (m.cpu / time.Duration(max(len(m.durations), 1))).Round(100 * time.Nanosecond)
}

// BenchmarkLoadDecide compares decisions with bare net/http handlers (bareHandler), each in its own
// process, in turns within one run, by several kinds of clients.
func BenchmarkLoadDecide(b *testing.B) {
	service := start(b, "service")
	service.apply(b, "load", loadToy)
	const turns, each = 3, time.Second
	for _, units := range []int{1, 100} {
		for _, c := range []struct {
			name        string
			connections int
			open        func(p *process, path string, body func([]byte, int) []byte) connect
		}{
			{"8 connections", 8, plain},
			{"64 connections", 64, plain},
			{"8 connections of Go's client", 8, standard},
			{"8 clients, a connection for each request", 8, newcomer},
		} {
			all := []*measured{{process: service, name: "service", path: "/v1/experiments/load/decide"}}
			for _, kind := range []string{"bare handler", "bytes"} {
				all = append(all, &measured{process: start(b, kind), name: kind, path: "/"})
			}
			for range turns {
				for _, m := range all {
					m.turn(b, c.connections, each, func(p *process, path string) connect {
						return c.open(p, path, func(b []byte, i int) []byte { return appendUnits(b, units, i) })
					})
				}
			}
			ours := all[0]
			b.Logf("decide, %d units a request, %s: %.0f requests/s, %s, %v of processor time", units, c.name,
				float64(len(ours.durations))/(turns*each).Seconds(), quantiles(ours.durations), ours.each())
			for _, m := range all[1:] {
				b.Logf("    %s: %.0f requests/s, %s, %v; ratio %.2f, by processor time %.2f", m.name,
					float64(len(m.durations))/(turns*each).Seconds(), quantiles(m.durations), m.each(),
					float64(len(ours.durations))/float64(len(m.durations)), float64(m.each())/float64(ours.each()))
				m.stop()
			}
		}
	}
}

// writers is the number of connections that send durable feedback; each waits for its answer.
const writers = 64

// BenchmarkLoadFeedback measures durable feedback, one item a request and many.
func BenchmarkLoadFeedback(b *testing.B) {
	const during = 8 * time.Second
	for _, batch := range []int{1, 500} {
		service := start(b, "service")
		// All tokens are in time, so that the items are counted.
		c := service.apply(b, "load", strings.Replace(loadToy, "window: 1s", "window: 1h", 1))
		// They are made before the clock starts: only feedback is measured.
		var tokens []string
		for len(tokens) < 300_000*min(batch, 3) {
			units := make([]string, 1000)
			for i := range units {
				units[i] = fmt.Sprint("u", len(tokens)+i)
			}
			ds, err := c.Decide(context.Background(), "load", units...)
			if err != nil {
				b.Fatal(err)
			}
			for _, d := range ds {
				tokens = append(tokens, d.Token)
			}
		}
		var at atomic.Int64
		m := &measured{process: service, path: "/v1/feedback"}
		flushes := service.metric(b, "noregret_log_groups_total")
		m.turn(b, writers, during, func(p *process, path string) connect {
			return plain(p, path, func(b []byte, _ int) []byte {
				b = append(b, `{"items":[`...)
				for j := range batch {
					if j > 0 {
						b = append(b, ',')
					}
					b = append(b, `{"token":"`...)
					b = append(b, tokens[int(at.Add(1))%len(tokens)]...)
					b = append(b, `","metrics":{"x":1.5}}`...)
				}
				return append(b, "]}"...)
			})
		})
		flushes = service.metric(b, "noregret_log_groups_total") - flushes
		r, err := c.Report(context.Background(), "load")
		if err != nil {
			b.Fatal(err)
		}
		n := len(m.durations)
		if f := r.Feedback; f.Late+f.Rejected > 0 || f.Accepted+f.Duplicate != int64(n*batch) {
			b.Errorf("%d items were sent, the report has %+v", n*batch, f)
		}
		b.Logf("durable feedback, %d items a request, %d connections: %.0f items/s, %s, %v of processor time a "+
			"request, %.0f flushes/s of %.0f requests", batch, writers, float64(n*batch)/during.Seconds(),
			quantiles(m.durations), m.each(), flushes/during.Seconds(), float64(n)/max(flushes, 1))
		service.stop()
	}
}

// BenchmarkLoadSoak closes a round every second under a load of exposures and feedback of new
// units. The memory must not grow once the first windows have closed.
func BenchmarkLoadSoak(b *testing.B) {
	s, c, _ := loaded(b)
	ctx := context.Background()
	heap := func() float64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return float64(m.HeapAlloc) / (1 << 20)
	}
	var seen []float64
	n := 0
	begin := time.Now()
	for slot := range 6 {
		for end := begin.Add(time.Duration(slot+1) * 10 * time.Second); time.Now().Before(end); {
			units := make([]string, 500)
			for i := range units {
				units[i] = fmt.Sprint("s", n+i)
			}
			n += len(units)
			ds, err := c.Decide(ctx, "load", units...)
			if err != nil {
				b.Fatal(err)
			}
			var exposures, feedback []api.FeedbackItem
			for i, d := range ds {
				exposures = append(exposures, api.FeedbackItem{Token: d.Token})
				feedback = append(feedback, api.FeedbackItem{
					Token:   d.Token,
					Metrics: map[string]float64{"x": float64(i % 3)},
				})
			}
			if _, err := c.Exposures(ctx, exposures...); err != nil {
				b.Fatal(err)
			}
			if _, err := c.Feedback(ctx, feedback...); err != nil {
				b.Fatal(err)
			}
		}
		seen = append(seen, heap())
	}
	r, err := s.Report("load")
	if err != nil {
		b.Fatal(err)
	}
	b.Logf("soak: %d units in %.0f s, %d rounds, %d waiting; MiB of heap after each 10 s: %.1f", n,
		time.Since(begin).Seconds(), r.Round, r.Health.Open, seen)
	if last := slices.Max(seen[3:]); last > 2*seen[1]+20 {
		b.Errorf("the heap grew from %.1f to %.1f MiB", seen[1], last)
	}
}

// loadPrivate is an experiment that releases every second, and without its last line the same
// without privacy.
const loadPrivate = `name: private
arms: [{name: control, value: {w: 0}}, {name: a, value: {w: 1}}, {name: b, value: {w: 2}}]
control: {arm: control, share: 0.2}
metrics: [{name: x, range: [0, 10], default: 0}, {name: n, kind: count, range: [0, 5], default: 0}]
objective: {goals: [{metric: x}]}
round: {length: 1s, min_units: 1}
attribution_window: 1s
open_tokens: 10000000
privacy: {epsilon: 1, delta: 1e-6, unit_contribution: 2, rounds: 1000}
`

// BenchmarkLoadPrivate compares the feedback of a private experiment with that of the same one
// without privacy, in turns. Of every 100 units that are decided for and exposed all report.
func BenchmarkLoadPrivate(b *testing.B) {
	public, _, ok := strings.Cut(loadPrivate, "privacy:")
	if !ok {
		b.Fatal("the experiment is not private")
	}
	type side struct {
		name, text string
		client     *client.Client
		items      atomic.Int64
		durations  []time.Duration
	}
	sides := []*side{{name: "private", text: loadPrivate}, {name: "without privacy", text: public}}
	ctx := context.Background()
	for _, s := range sides {
		_, s.client, _ = loaded(b)
		if _, err := s.client.Apply(ctx, "private", []byte(s.text)); err != nil {
			b.Fatal(err)
		}
	}
	const turns, each = 6, 4 * time.Second
	for range turns {
		for _, s := range sides {
			s.durations = append(s.durations, hammer(b, 8, each, always(func(i int) error {
				units := make([]string, 100)
				for k := range units {
					units[k] = fmt.Sprint("u", (i*67+k)%2_000_000) // half of them come again
				}
				ds, err := s.client.Decide(ctx, "private", units...)
				if err != nil {
					return err
				}
				var shown, said []api.FeedbackItem
				for k, d := range ds {
					shown = append(shown, api.FeedbackItem{Token: d.Token})
					said = append(said, api.FeedbackItem{
						Token: d.Token, Metrics: map[string]float64{"x": float64(k % 10), "n": 1},
					})
				}
				if _, err := s.client.Exposures(ctx, shown...); err != nil {
					return err
				}
				f, err := s.client.Feedback(ctx, said...)
				s.items.Add(int64(f.Accepted))
				return err
			}))...)
		}
	}
	for _, s := range sides {
		r, err := s.client.Report(ctx, "private")
		if err != nil {
			b.Fatal(err)
		}
		slices.Sort(s.durations)
		released := ""
		if r.Privacy != nil {
			released = fmt.Sprintf(", %d releases, %d exposures beyond the contribution", r.Privacy.Released,
				r.Privacy.Excess)
			if r.Privacy.Released < turns {
				b.Errorf("%d releases in %v", r.Privacy.Released, turns*each)
			}
		}
		b.Logf("%s: %.0f items of feedback/s, each after its decision and exposure, 100 units a request, 8 "+
			"connections; %s for the three requests%s", s.name, float64(s.items.Load())/(turns*each).Seconds(),
			quantiles(s.durations), released)
	}
}
