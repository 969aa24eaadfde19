package experiment

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/noregret/noregret/experiment/join"
	"github.com/noregret/noregret/internal/random"
)

// windowed plays rounds of a fixed policy. Each unit reports at once, within the windows of all
// metrics, and in the end all windows have closed.
func windowed(t *testing.T, windows [3]string) *scenario {
	t.Helper()
	s := newScenario(t)
	var b strings.Builder
	s.define(fmt.Sprintf(`
name: w
arms: [{name: a, value: 1}, {name: b, value: 2}, {name: c, value: 3}]
control: {arm: a}
metrics:
  - {name: click, range: [0, 1], default: 0, window: %s}
  - {name: buy, kind: count, default: 0, window: %s}
  - {name: stay, range: [0, 9], window: %s}
  - {name: rate, kind: ratio, numerator: buy, denominator: click}
objective: {goals: [{metric: click}, {metric: stay}]}
guardrails: [{metric: buy, min_change: -0.5, action: alert}, {metric: rate, min: 0.1}]
policy: {kind: fixed, split: {a: 0.5, b: 0.25, c: 0.25}}
round: {length: 1h}
`, windows[0], windows[1], windows[2]), func(o Outcome) {
		if o.Err != nil {
			t.Fatal(o.Err)
		}
	}, &b)
	if s.name != "w" {
		t.Fatal(b.String())
	}
	r := random.New(7, "windows")
	for round := range 12 {
		shown, said := join.Units{Experiment: "w"}, join.Units{Experiment: "w"}
		for i := range 60 {
			u := fmt.Sprintf("%d-%d", round, i)
			d := s.decide(u)
			metrics := map[string]float64{"stay": 9 * r.Float64()}
			if r.Float64() < 0.3+0.1*float64(d.Arm) {
				metrics["click"], metrics["buy"] = 1, float64(r.IntN(3))
			}
			shown.Items = append(shown.Items, join.UnitOf(s.tokens[u], nil))
			said.Items = append(said.Items, join.UnitOf(s.tokens[u], metrics))
		}
		s.event(KindExposures, shown)
		s.event(KindFeedback, said)
		s.step(time.Hour)
	}
	for range 40 {
		s.step(time.Hour)
	}
	return s
}

// step lets time pass and applies what it makes possible.
func (s *scenario) step(d time.Duration) {
	s.now += int64(d)
	for due := s.state.Due(s.now); len(due) > 0; due = s.state.Due(s.now) {
		for _, e := range due {
			s.apply(e)
		}
	}
}

// differences are those of the sequences. Their variances are measured from the control's mean when
// a version began, which is known earlier where a window is shorter.
func differences(x *experimentState) any {
	var out [][]float64
	for i := range x.Sequences {
		for _, c := range append(x.Sequences[i].Arms, x.Sequences[i].Served) {
			out = append(out, []float64{c.Units, c.Weight, c.Difference, c.Level})
		}
	}
	return out
}

// TestWindowsAtTheEnd: when all windows have closed, the sums, the store and the comparisons are,
// bit for bit, those of one window for all metrics, however late a metric came.
func TestWindowsAtTheEnd(t *testing.T) {
	one := windowed(t, [3]string{"30m", "30m", "30m"})
	want := one.state.live["w"]
	for _, windows := range [][3]string{
		{"24h", "24h", "24h"}, {"30m", "30m", "24h"}, {"5h", "5h", "30m"}, {"90m", "90m", "24h"}, {"24h", "24h", "1s"},
	} {
		s := windowed(t, windows)
		got := s.state.live["w"]
		if n := len(got.joiner.Versions); n != 1 {
			t.Fatalf("%v: %d versions are open", windows, n)
		}
		for name, of := range map[string]func(x *experimentState) any{
			"arms":      func(x *experimentState) any { return x.joiner.Arms },
			"early":     func(x *experimentState) any { return x.joiner.Early },
			"store":     func(x *experimentState) any { return x.learning.Store },
			"sequences": differences,
			"guards":    func(x *experimentState) any { return x.guards.Early },
			"health":    func(x *experimentState) any { return x.health },
			"recent":    func(x *experimentState) any { return x.learning.Recent },
			"unlearned": func(x *experimentState) any { return x.learning.Unlearned },
			"uniform":   func(x *experimentState) any { return x.Uniform },
		} {
			a, err := json.Marshal(of(want))
			b, err2 := json.Marshal(of(got))
			if err != nil || err2 != nil || !bytes.Equal(a, b) {
				t.Errorf("%v: %s\n%s, and with one window\n%s (%v, %v)", windows, name, b, a, err, err2)
			}
		}
		s.check()
	}
}

// TestWindowsCount: while the window of a metric is open, the evidence of guardrails has each unit
// once: those of closed windows in the sequences, the others in the open versions.
func TestWindowsCount(t *testing.T) {
	s := newScenario(t)
	var b strings.Builder
	s.define(`
name: w
arms: [{name: a, value: 1}, {name: b, value: 2}]
control: {arm: a, share: 0.5}
metrics: [{name: m, range: [0, 1], window: 1h}, {name: n, range: [0, 1], window: 24h}]
objective: {goals: [{metric: m}]}
guardrails: [{metric: m, min_change: -0.5, hard: false}, {metric: n, min_change: -0.5, hard: false}]
round: {length: 1h}
`, func(Outcome) {}, &b)
	for i := range 8 {
		s.simulate([]string{"simulate", fmt.Sprint(100 * i), "100", "0", "m=a:0.5,b:0.5", "n=a:0.5,b:0.5"})
		x := s.state.live["w"]
		e := x.guardEvidence(false)
		m, n := e.Compared(0), e.Compared(1)
		if got, want := m.Served.Weight, n.Served.Weight; got != want || !(got > 0) {
			t.Errorf("round %d: the comparison has the weight %v with a window of an hour, %v with one of a day", i,
				got, want)
		}
		s.step(time.Hour)
	}
	if x := s.state.live["w"].learning.Store; x.Rounds(0) != 6 || x.Rounds(1) != 0 {
		t.Errorf("the store has %d and %d rounds, want 6 and none", x.Rounds(0), x.Rounds(1))
	}
	s.check()
}

// TestWindowsAged: versions that end because a short window has passed leave room for the round to
// end while they wait for a long window.
func TestWindowsAged(t *testing.T) {
	s := newScenario(t)
	var b strings.Builder
	var arms []string
	for i := range 400 {
		arms = append(arms, fmt.Sprintf("{name: a%d, value: %d}", i, i))
	}
	s.define(fmt.Sprintf(`
name: w
arms: [%s]
metrics: [{name: m, range: [0, 1], default: 0, window: 1m}, {name: n, range: [0, 1], default: 0, window: 24h}]
objective: {goals: [{metric: m}]}
policy: {kind: thompson}
round: {length: 1m, min_units: 260}
`, strings.Join(arms, ", ")), func(o Outcome) {
		if o.Err != nil {
			t.Fatal(o.Err)
		}
	}, &b)
	x := s.state.live["w"]
	most := x.roster.maxOpen()
	for i := range most + 20 { // a unit a minute
		s.simulate([]string{"simulate", fmt.Sprint(i), "1", "0", "m=a0:0.5"})
		s.step(time.Minute)
	}
	if n := len(x.joiner.Versions); x.rounds.Round < 2 || n > most/2 {
		t.Errorf("round %d with %d open versions of %d: want a second round, and at most half", x.rounds.Round, n, most)
	}
}
