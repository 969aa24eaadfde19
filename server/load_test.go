package server_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/noregret/noregret/client"
	"github.com/noregret/noregret/policy"
	"github.com/noregret/noregret/server"
)

// The load tests (make load) print figures and check only that they are plausible. Client and
// service share the machine.

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
	c,
		err := client.New(client.Options{
		URL:  url,
		HTTP: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}, Timeout: time.Minute},
	})
	if err != nil {
		b.Fatal(err)
	}
	if _, err := c.Apply(ctx, "load", []byte(loadToy)); err != nil {
		b.Fatal(err)
	}
	return s, c, url
}

// hammer sends requests over the given number of connections for a time and returns their sorted
// durations.
func hammer(b *testing.B, connections int, during time.Duration,
	send func(h *http.Client, i int) error,
) []time.Duration {
	b.Helper()
	var mu sync.Mutex
	var all []time.Duration
	var wg sync.WaitGroup
	var n atomic.Int64
	end := time.Now().Add(during)
	for range connections {
		wg.Go(func() {
			tr := &http.Transport{}
			defer tr.CloseIdleConnections()
			h := &http.Client{Transport: tr}
			var mine []time.Duration
			for time.Now().Before(end) {
				begin := time.Now()
				if err := send(h, int(n.Add(1))); err != nil {
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

func post(h *http.Client, url, body string) error {
	resp, err := h.Post(url, "application/json", strings.NewReader(body))
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		return err
	}
	if resp.StatusCode != 200 {
		return fmt.Errorf("status %d", resp.StatusCode)
	}
	return nil
}

// BenchmarkLoadDecide compares decisions with a bare net/http handler that reads the same JSON and
// answers JSON of the same form. It measures both in turns within one run.
func BenchmarkLoadDecide(b *testing.B) {
	_, _, url := loaded(b)
	bare := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var in struct {
			Units []string `json:"units"`
		}
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
			w.WriteHeader(400)
			return
		}
		var out struct {
			Decisions []policy.Decision `json:"decisions"`
		}
		for _, u := range in.Units {
			out.Decisions = append(out.Decisions,
				policy.Decision{
					Unit: u, Arm: "control", Value: json.RawMessage(`{"w":0}`), Propensity: .4,
					Version: 1, Token: strings.Repeat("x", 80),
				})
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(out)
	})}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	go func() { _ = bare.Serve(l) }()
	defer func() { _ = bare.Close() }()
	for _, units := range []int{1, 100} {
		body := func(i int) string {
			var text bytes.Buffer
			text.WriteString(`{"units":[`)
			for j := range units {
				if j > 0 {
					text.WriteByte(',')
				}
				fmt.Fprintf(&text, `"user-%d-%d"`, i, j)
			}
			text.WriteString("]}")
			return text.String()
		}
		var ours, theirs []time.Duration
		const turns, each = 5, 2 * time.Second
		for range turns {
			ours = append(ours, hammer(b, 8, each, func(h *http.Client, i int) error {
				return post(h, url+"/v1/experiments/load/decide", body(i))
			})...)
			theirs = append(theirs, hammer(b, 8, each, func(h *http.Client, i int) error {
				return post(h, "http://"+l.Addr().String(), body(i))
			})...)
		}
		slices.Sort(ours)
		slices.Sort(theirs)
		seconds := (turns * each).Seconds()
		b.Logf("decide, %d units a request, 8 connections: %.0f requests/s, %s", units, float64(len(ours))/seconds,
			quantiles(ours))
		b.Logf("bare handler, the same: %.0f requests/s, %s; ratio %.2f", float64(len(theirs))/seconds,
			quantiles(theirs), float64(len(ours))/float64(len(theirs)))
	}
}

// BenchmarkLoadFeedback measures durable feedback, one item a request and many.
func BenchmarkLoadFeedback(b *testing.B) {
	for _, batch := range []int{1, 500} {
		_, c, url := loaded(b)
		// The tokens are made before the clock starts: only feedback is measured.
		var tokens []string
		for len(tokens) < 600_000*min(batch, 2)/2 {
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
		durations := hammer(b, 32, 8*time.Second, func(h *http.Client, _ int) error {
			var text bytes.Buffer
			text.WriteString(`{"items":[`)
			for j := range batch {
				if j > 0 {
					text.WriteByte(',')
				}
				fmt.Fprintf(&text, `{"token":%q,"metrics":{"x":1.5}}`, tokens[int(at.Add(1))%len(tokens)])
			}
			text.WriteString("]}")
			return post(h, url+"/v1/feedback", text.String())
		})
		b.Logf("durable feedback, %d items a request, 32 connections: %.0f items/s, %s", batch,
			float64(len(durations)*batch)/8, quantiles(durations))
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
			var exposures, feedback []policy.FeedbackItem
			for i, d := range ds {
				exposures = append(exposures, policy.FeedbackItem{Token: d.Token})
				feedback = append(feedback, policy.FeedbackItem{
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
			s.durations = append(s.durations, hammer(b, 8, each, func(_ *http.Client, i int) error {
				units := make([]string, 100)
				for k := range units {
					units[k] = fmt.Sprint("u", (i*67+k)%50_000) // they come again
				}
				ds, err := s.client.Decide(ctx, "private", units...)
				if err != nil {
					return err
				}
				var shown, said []policy.FeedbackItem
				for k, d := range ds {
					shown = append(shown, policy.FeedbackItem{Token: d.Token})
					said = append(said, policy.FeedbackItem{
						Token: d.Token, Metrics: map[string]float64{"x": float64(k % 10), "n": 1},
					})
				}
				if _, err := s.client.Exposures(ctx, shown...); err != nil {
					return err
				}
				f, err := s.client.Feedback(ctx, said...)
				s.items.Add(int64(f.Accepted))
				return err
			})...)
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
