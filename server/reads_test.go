package server

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/noregret/noregret/api"
	"github.com/noregret/noregret/experiment"
)

// TestOtherSitesRead checks that without access tokens a page of another site gets no answer to any
// method, and that a header forbids browsers to hand answers to other sites.
func TestOtherSitesRead(t *testing.T) {
	w := newWorld(t)
	w.apply(toy)
	for _, path := range []string{"/v1/state", "/v1/export", "/v1/experiments/toy/report", "/metrics", "/", "/livez"} {
		for _, header := range [][]string{
			{"Sec-Fetch-Site", "cross-site"},
			{"Sec-Fetch-Site", "same-site"},
			{"Origin", "http://evil.example"},
			{"Origin", "null"},
		} {
			for _, method := range []string{"GET", "HEAD"} {
				if status, b := w.do(method, path, "", header...); status != http.StatusForbidden {
					t.Errorf("%s %s with %q: status %d: %s", method, path, header, status, b)
				}
			}
		}
		for _, site := range []string{"same-origin", "none"} {
			if status, b := w.do("GET", path, "", "Sec-Fetch-Site", site); status != http.StatusOK {
				t.Errorf("GET %s from %s: status %d: %s", path, site, status, b)
			}
		}
		if status, b := w.do("GET", path, "", "Origin", w.http.URL); status != http.StatusOK {
			t.Errorf("GET %s from its own origin: status %d: %s", path, status, b)
		}
	}
	for _, path := range []string{"/v1/state", "/", "/nothing", "/v1//state"} {
		r, err := http.NewRequest("GET", w.http.URL+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, _ := w.send(r)
		if got := resp.Header.Get("Cross-Origin-Resource-Policy"); got != "same-origin" {
			t.Errorf("%s: Cross-Origin-Resource-Policy is %q", path, got)
		}
	}
}

// TestStateIsShared checks that many requests for the state at once cost little more than one.
// Before they shared one computation, 32 of them allocated 32 times as much.
func TestStateIsShared(t *testing.T) {
	w := newWorld(t, func(c *Config) { c.MaxBody = 8 << 20 })
	w.apply(toy)
	units := make([]string, 5000)
	for i := range units {
		units[i] = fmt.Sprint("u", i)
	}
	var items []item
	for _, d := range w.decide("toy", units...) {
		items = append(items, item{Token: d.Token})
	}
	if f := w.post("/v1/exposures", items...); f.Accepted != 5000 {
		t.Fatalf("%+v", f)
	}
	allocated := func(n int) uint64 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		var wg sync.WaitGroup
		for range n {
			wg.Go(func() {
				if _, err := w.server.State(); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		runtime.ReadMemStats(&after)
		return after.TotalAlloc - before.TotalAlloc
	}
	one := allocated(1)
	w.post("/v1/exposures", items[0]) // a new position
	many := allocated(32)
	t.Logf("one call allocated %d bytes, 32 at once %d", one, many)
	if many > 3*one {
		t.Errorf("32 calls at once allocated %d bytes, one %d", many, one)
	}
}

// TestStateNamer checks that callers share a computation only if it began after they arrived.
func TestStateNamer(t *testing.T) {
	n, computed := newStateNamer(false), 0
	state := experiment.NewState()
	name := func(position uint64) (api.StateName, error) {
		return n.name(context.Background(), position, func() (*experiment.Frozen, error) {
			computed++
			return state.Freeze()
		})
	}
	advance := func() {
		t.Helper()
		e := experiment.Event{Kind: experiment.KindClock, Time: int64(state.Position())}
		if _, err := state.Apply(state.Position()+1, e); err != nil {
			t.Fatal(err)
		}
	}
	advance()
	for _, c := range []struct {
		position, want uint64
		computed       int
	}{{1, 1, 1}, {1, 1, 1}, {0, 1, 1}, {3, 3, 2}, {2, 3, 2}} {
		for state.Position() < c.position {
			advance()
		}
		v, err := name(c.position)
		if err != nil || v.Position != c.want || computed != c.computed {
			t.Errorf("at %d: %+v, %v after %d computations", c.position, v, err, computed)
		}
	}
	n.busy <- struct{}{}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := n.name(ctx, 4, state.Freeze); err == nil {
		t.Error("a request that has ended still waits")
	}
}

// TestReadLimit checks that heavy reads beyond the limit wait and are then refused, and that light
// ones are not.
func TestReadLimit(t *testing.T) {
	w := newWorld(t, func(c *Config) { c.MaxReads, c.RequestTime = 1, 20*time.Millisecond })
	w.apply(toy)
	release, err := w.server.live.reads.acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	const report = "/v1/experiments/toy/report"
	status, b := w.do("GET", report, "")
	if status != http.StatusServiceUnavailable || !bytes.Contains(b, []byte("too many reports are being computed")) {
		t.Errorf("status %d: %s", status, b)
	}
	w.get(200, nil, "GET", "/v1/experiments/toy", "")
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	patient := newReadLimit(1, time.Hour)
	patient.places <- struct{}{}
	// Before, a request that had ended waited for its turn.
	if _, err := patient.acquire(ended); err == nil {
		t.Error("a request that has ended gets a place")
	}
	release()
	w.get(200, nil, "GET", report, "")
}

// TestReadLimitOfPages checks that the pages which read, compare and write definitions are heavy
// reads: without a place nobody gets them, and they give their places back.
func TestReadLimitOfPages(t *testing.T) {
	w := newWorld(t, func(c *Config) { c.MaxReads = 1 })
	w.apply(toy)
	const edit, history = "/experiments/toy/edit", "/experiments/toy/history"
	form := formOf(w.text(200, edit))
	form.Set("step", "review")
	for range 3 {
		w.text(200, history)
		w.text(200, edit)
		if resp, _ := w.sendForm(edit, form); resp.StatusCode != 200 {
			t.Errorf("a review: status %d", resp.StatusCode)
		}
	}
	w = newWorld(t, func(c *Config) { c.MaxReads, c.RequestTime = 1, 20*time.Millisecond })
	w.apply(toy)
	release, err := w.server.live.reads.acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	const text = "too many reports are being computed"
	wants(t, w.text(http.StatusServiceUnavailable, edit), text)
	wants(t, w.text(http.StatusServiceUnavailable, history), text)
	if resp, _ := w.sendForm(edit, form); resp.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("a review without a place: status %d", resp.StatusCode)
	}
	release()
}

// TestSharedReads checks that requests which wait for the same report share one computation, that
// one which arrives later does not, and that a request that ends does not end the others.
func TestSharedReads(t *testing.T) {
	s := newSharedReads(newReadLimit(1, time.Hour))
	busy, err := s.limit.acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var computed atomic.Int64
	begun, goOn := make(chan struct{}, 2), make(chan struct{})
	read := func(ctx context.Context) (string, error) {
		b, err := s.do(ctx, "toy", false, func() (any, error) {
			n := computed.Add(1)
			begun <- struct{}{}
			<-goOn
			return n, nil
		})
		if err != nil {
			return "", err
		}
		return string(b.Bytes()), nil
	}
	waiting := func(want int) {
		t.Helper()
		for got := -1; got != want; runtime.Gosched() {
			s.mu.Lock()
			if x := s.waiting["toy"]; x != nil {
				got = x.readers
			}
			s.mu.Unlock()
		}
	}
	var first, second sync.WaitGroup
	results := make(chan string, 20)
	all := func(wg *sync.WaitGroup, n int) {
		for range n {
			wg.Go(func() {
				text, err := read(t.Context())
				if err != nil {
					t.Error(err)
				}
				results <- text
			})
		}
	}
	all(&first, 8)
	waiting(8)
	ended, cancel := context.WithCancel(t.Context())
	var gone sync.WaitGroup
	gone.Go(func() {
		if _, err := read(ended); err == nil {
			t.Error("a request that has ended got an answer")
		}
	})
	waiting(9)
	cancel()
	gone.Wait()
	busy()
	<-begun
	all(&second, 8) // while the first is computed
	waiting(8)
	close(goOn)
	first.Wait()
	second.Wait()
	close(results)
	counts := map[string]int{}
	for text := range results {
		counts[text]++
	}
	if counts["1\n"] != 8 || counts["2\n"] != 8 || computed.Load() != 2 || len(s.waiting) != 0 {
		t.Errorf("%d computations, answers %v, %d still waited for", computed.Load(), counts, len(s.waiting))
	}
	if _, err := s.do(t.Context(), "toy", true, func() (any, error) { return nil, errReads }); err != errReads {
		t.Errorf("the error is %v", err)
	}
}

// TestReadsRest checks that a place that was used for long is not free at once, but after as long
// again, and at most a quarter of the time for which others wait: before, readers that did not
// pause left the writer nothing but the gaps.
func TestReadsRest(t *testing.T) {
	l := newReadLimit(1, time.Second)
	now := time.Unix(0, 0)
	l.now = func() time.Time { return now }
	var rests []time.Duration
	var end func()
	l.after = func(d time.Duration, f func()) { rests, end = append(rests, d), f }
	for _, c := range []struct{ took, rest time.Duration }{
		{leastRest - 1, 0},
		{leastRest, leastRest},
		{4 * leastRest, 4 * leastRest},
		{time.Second, time.Second / restShare},
	} {
		rests, end = nil, nil
		release, err := l.acquire(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		now = now.Add(c.took)
		release()
		if c.rest == 0 {
			if len(rests) != 0 || len(l.places) != 0 {
				t.Errorf("a read of %v: the place rests for %v", c.took, rests)
			}
			continue
		}
		if len(rests) != 1 || rests[0] != c.rest || len(l.places) != 1 {
			t.Fatalf("a read of %v: the place rests for %v, %d are taken; want %v",
				c.took, rests, len(l.places), c.rest)
		}
		if end(); len(l.places) != 0 {
			t.Errorf("a read of %v: the place is not free after its rest", c.took)
		}
	}
}

// TestSnapshotIsShared checks that downloads at once share the bytes of a snapshot, which are
// dropped with the last of them.
func TestSnapshotIsShared(t *testing.T) {
	w := newWorld(t, func(c *Config) { c.SnapshotEvery, c.Retain = 2, time.Hour })
	w.apply(toy)
	for i := range 12 {
		w.post("/v1/exposures", item{Token: w.decide("toy", fmt.Sprint(i))[0].Token})
		w.wait(2 * time.Hour)
		w.settle()
	}
	s := &sharedSnapshots{log: w.server.log}
	a, releaseA, errA := s.oldest(t.Context())
	b, releaseB, errB := s.oldest(t.Context())
	if errA != nil || errB != nil || len(a.State) == 0 || &a.State[0] != &b.State[0] {
		t.Fatalf("%v, %v: %d and %d bytes", errA, errB, len(a.State), len(b.State))
	}
	releaseA()
	releaseB()
	if len(s.open) != 0 {
		t.Errorf("%d snapshots are still in memory", len(s.open))
	}
}
