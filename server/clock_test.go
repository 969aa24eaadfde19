package server

import (
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"
)

// stepped is a machine whose clock can be set.
type stepped struct {
	mu      sync.Mutex
	wall    time.Time
	elapsed time.Duration
}

func (m *stepped) now() time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.wall
}

func (m *stepped) since() time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.elapsed
}

// pass lets time pass, and sets the clock by a step.
func (m *stepped) pass(d, step time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.wall, m.elapsed = m.wall.Add(d+step), m.elapsed+d
}

// TestSteadyClock checks that the clock never goes back, follows small differences, and follows
// steps by a hundredth of the time that passes.
func TestSteadyClock(t *testing.T) {
	logs := &lockedBuffer{}
	m := &stepped{wall: time.Unix(1_800_000_000, 0)}
	start := m.wall
	c := newSteadyClock(m.now, m.since, slog.New(slog.NewTextHandler(logs, nil)))
	c.Now()
	last := time.Duration(0)
	for _, s := range []struct {
		pass, step, want, ahead time.Duration
		steps                   int64
	}{
		{pass: time.Second, want: time.Second},
		{pass: time.Second, step: time.Second, want: 3 * time.Second}, // a small correction ahead
		{pass: time.Second, step: -time.Second, want: 3*time.Second + 500*time.Millisecond},
		{pass: time.Second, want: 4 * time.Second}, // it went at half the speed until now
		{
			pass: 50 * time.Second, step: -2 * time.Hour, want: 53*time.Second + 500*time.Millisecond,
			ahead: -2*time.Hour + 500*time.Millisecond, steps: 1,
		},
		{pass: 50 * time.Second, want: 103 * time.Second, ahead: -2*time.Hour + time.Second, steps: 1},
		{step: 2 * time.Hour, want: 104 * time.Second, steps: 1},
		{
			pass: 100 * time.Second, step: 21 * time.Hour, want: 205 * time.Second,
			ahead: 21*time.Hour - time.Second, steps: 2,
		},
		{step: -21 * time.Hour, want: 205 * time.Second, steps: 2},
		{pass: time.Hour, want: time.Hour + 204*time.Second, steps: 2},
	} {
		m.pass(s.pass, s.step)
		got := c.Now().Sub(start)
		if ahead, steps := c.ahead(); got != s.want || ahead != s.ahead || steps != s.steps || got < last {
			t.Errorf("after %v with a step of %v: %v, ahead %v, %d steps; want %+v", s.pass, s.step, got, ahead, steps,
				s)
		}
		last = got
	}
	if n := strings.Count(logs.String(), "made a step"); n != 2 {
		t.Errorf("%d steps were logged: %s", n, logs)
	}
	if n := strings.Count(logs.String(), "that of the machine again"); n != 2 {
		t.Errorf("%d ends of steps were logged: %s", n, logs)
	}
}

// TestClockSteps checks that feedback counts although the machine's clock is set two hours back, or
// 21 hours ahead and back again. Before, all of it was late or rejected, in silence.
func TestClockSteps(t *testing.T) {
	for name, steps := range map[string][]time.Duration{
		"back": {-2 * time.Hour}, "ahead and back": {21 * time.Hour, -21 * time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			m := &stepped{wall: time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)}
			w := newWorld(t, func(c *Config) { c.Now, c.Elapsed = m.now, m.since })
			w.apply(toy)
			sent := 0
			for _, step := range steps {
				before := w.decide("toy", unitNames("before", 20)...)
				m.pass(time.Second, step)
				w.server.Tick()
				after := w.decide("toy", unitNames("after", 20)...)
				m.pass(time.Minute, 0)
				w.server.Tick()
				var items []item
				for _, d := range append(before, after...) {
					items = append(items, item{d.Token, map[string]float64{"x": 1}})
				}
				if f := w.post("/v1/feedback", items...); f.Late+f.Rejected > 0 {
					t.Errorf("after a step of %v: %d late, %d rejected: %s", step, f.Late, f.Rejected, f.Items[0].Error)
				}
				sent += len(items)
				if got := w.problems("toy"); step == steps[0] &&
					!strings.Contains(got, "the machine's clock has made a step") {
					t.Errorf("the problems are %q", got)
				}
			}
			_, b := w.do("GET", "/metrics", "")
			if !strings.Contains(string(b), "noregret_clock_steps_total 1\n") ||
				!strings.Contains(string(b), "noregret_clock_step_seconds ") {
				t.Error("the metrics do not show the step")
			}
			if !strings.Contains(w.logs.String(), "the machine's clock has made a step") {
				t.Error("the log does not show the step")
			}
		})
	}
}
