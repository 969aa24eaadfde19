package client_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/client"
	"github.com/noregret/noregret/server/servicetest"
)

// memory is an outbox that survives its Local. Once killed it keeps nothing more.
type memory struct {
	data   []byte
	killed bool
	stored int
}

func (m *memory) Load() ([]byte, error) { return m.data, nil }

func (m *memory) Store(data []byte) error {
	if !m.killed {
		m.data, m.stored = slices.Clone(data), m.stored+1
	}
	return nil
}

// kill ends a Local as if its process had died: nothing more is sent or kept.
func kill(l *client.Local, m *memory) *memory {
	m.killed = true
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	_ = l.Close(ended)
	return &memory{data: m.data}
}

// TestOutboxCountsOnce records units, sends them to a service whose answers may be lost, and kills
// the process now and then. The service must count what was kept exactly once.
func TestOutboxCountsOnce(t *testing.T) {
	const counted, refused, lost = 0, 1, 2 // what happens to the next report
	var fate atomic.Int64
	service, url := servicetest.Start(t, func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/v1/aggregates" || fate.Load() == counted {
				h.ServeHTTP(w, r)
				return
			}
			if fate.Load() == lost {
				h.ServeHTTP(httptest.NewRecorder(), r) // the answer never arrives
			}
			w.WriteHeader(http.StatusServiceUnavailable)
		})
	})
	o := client.DefaultOptions(url)
	o.Attempts, o.Pause = 1, time.Millisecond
	c, err := client.New(o)
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	text := strings.Replace(toy, "hold_back: 0.1\n", "", 1)
	if _, err := c.Apply(ctx, "toy", []byte(text)); err != nil {
		t.Fatal(err)
	}
	want := map[string]int64{} // over all runs
	rapid.Check(t, func(t *rapid.T) {
		m := new(memory)
		options := hourly()
		start := func() *client.Local {
			options.Outbox = m
			l, err := c.NewLocal(ctx, "toy", options)
			if err != nil {
				t.Fatal(err)
			}
			return l
		}
		fate.Store(counted)
		l := start()
		since := map[string]int64{} // recorded and not yet kept
		keep := func() {
			for arm, n := range since {
				want[arm] += n
			}
			clear(since)
		}
		for step := range rapid.IntRange(1, 30).Draw(t, "steps") {
			switch rapid.IntRange(0, 3).Draw(t, "step") {
			case 0, 1:
				for i := range rapid.IntRange(1, 5).Draw(t, "units") {
					d, err := l.Decide(units(50)[(7*step+i)%50])
					if err == nil {
						err = l.Record(d, map[string]float64{"x": 1})
					}
					if err != nil {
						t.Fatal(err)
					}
					since[d.Name]++
				}
			case 2:
				fate.Store(rapid.Int64Range(counted, lost).Draw(t, "fate"))
				short, cancel := context.WithTimeout(ctx, 3*time.Millisecond)
				stored := m.stored
				_ = l.Flush(short)
				cancel()
				if m.stored > stored { // with each report, all that was recorded
					keep()
				}
			case 3:
				if rapid.Bool().Draw(t, "kept before") { // as an orderly end without a service
					fate.Store(refused)
					short, cancel := context.WithCancel(ctx)
					cancel()
					_ = l.Close(short)
					keep()
					m = &memory{data: m.data}
				} else {
					m = kill(l, m)
					clear(since)
				}
				fate.Store(counted)
				l = start()
			}
		}
		fate.Store(counted)
		if err := l.Close(ctx); err != nil {
			t.Fatal(err)
		}
		keep()
		r, err := service.Report("toy")
		if err != nil {
			t.Fatal(err)
		}
		for arm, a := range r.Arms {
			if a.N != want[arm] {
				t.Fatalf("%s: %d units were counted, want %d", arm, a.N, want[arm])
			}
		}
	})
}

// TestOutboxRefuses gives a Local outboxes that are not its own.
func TestOutboxRefuses(t *testing.T) {
	s := newService(t)
	for text, want := range map[string]string{
		"{":             "outbox: damaged: ",
		`{"format": 2}`: "outbox: format 2: want 1",
		`{"format": 1, "experiment": "other", "source": "a", "sequence": 1}`: `it is of the experiment "other"`,
		`{"format": 1, "experiment": "toy", "source": ""}`:                   "the source or the number",
		`{"format": 1, "experiment": "toy", "source": "a", "sequence": 2, "pending": {"source": "a", "sequence": 1}}`: "the " +
			"source or the number",
	} {
		o := hourly()
		o.Outbox = &memory{data: []byte(text)}
		_, err := s.client.NewLocal(t.Context(), "toy", o)
		if noregret.CodeOf(err) != noregret.BadInput || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

// TestFileOutbox ends a process whose service is away and starts it again.
func TestFileOutbox(t *testing.T) {
	s, ctx, path := newService(t), context.Background(), filepath.Join(t.TempDir(), "outbox.json")
	open := func() (*client.FileOutbox, *client.Local) {
		t.Helper()
		f, err := client.OpenFileOutbox(path)
		if err != nil {
			t.Fatal(err)
		}
		o := hourly()
		o.Outbox = f
		l, err := s.client.NewLocal(ctx, "toy", o)
		if err != nil {
			t.Fatal(err)
		}
		return f, l
	}
	f, l := open()
	if _, err := client.OpenFileOutbox(path); err == nil {
		t.Error("the outbox was opened twice")
	}
	n := int64(0)
	for _, u := range units(100) {
		d, err := l.Decide(u)
		if err == nil {
			err = l.Record(d, map[string]float64{"x": 1})
		}
		if err != nil {
			t.Fatal(err)
		}
		if !d.HeldBack {
			n++
		}
	}
	s.refuse.Store(1000)
	ended, cancel := context.WithCancel(ctx)
	cancel()
	if err := l.Close(ended); err == nil {
		t.Error("Close returned no error though nothing could be sent")
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	s.refuse.Store(0)
	f, l = open()
	if err := l.Close(ctx); err != nil {
		t.Error(err)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	if got := s.counted(t); got != n {
		t.Errorf("%d units arrived, want %d", got, n)
	}
}
