package experiment

import (
	"fmt"
	"strings"
	"testing"

	"github.com/noregret/noregret/experiment/guard"
	"github.com/noregret/noregret/internal/column"
	"github.com/noregret/noregret/internal/testsize"
)

// contrastCase is a metric and a relative limit that an arm holds exactly where its rate is good of
// a control with the rate common, and breaks where it is bad. Both are rates of bad values.
type contrastCase struct {
	metric, limit     string
	common, good, bad float64
	value             [2]float64 // of a unit without and with a bad value
}

var contrastCases = []contrastCase{
	{"kind: count, default: 0", "max_change: 0", 0.02, 0.02, 0.2, [2]float64{0, 1}},
	{"kind: count, default: 0", "max_change: 1", 0.02, 0.04, 0.4, [2]float64{0, 1}},
	{"range: [0, 2], default: 0", "max_change: 0.5", 0.2, 0.3, 0.9, [2]float64{0, 2}},
	{"range: [2, 4], default: 2", "max_change: 0.1", 0.1, 0.21, 0.7, [2]float64{2, 4}},
	{"range: [0, 1], default: 1", "min_change: -0.05", 0.02, 0.069, 0.4, [2]float64{1, 0}},
}

// definition returns a definition with a control and two arms.
func (c *contrastCase) definition(guardrail string) string {
	return "apply\nname: x\narms: [{name: c, value: 0}, {name: a, value: 1}, {name: b, value: 2}]\n" +
		"control: {arm: c, share: 0.4}\nmetrics: [{name: s, range: [0, 1]}, {name: m, " + c.metric +
		"}]\nobjective: {goals: [{metric: s}]}\nguardrails: [{metric: m, " + c.limit + ", " + guardrail +
		"}]\nround: {length: 1h}\nattribution_window: 24h"
}

// TestEarlyContrastStops checks that an arm which breaks a relative limit is stopped while its
// window is open, that one which holds it is not, and that no arm is where the limit makes no
// statement before the window has closed.
func TestEarlyContrastStops(t *testing.T) {
	testsize.NoRace(t)
	t.Parallel()
	late := []contrastCase{
		{"kind: count, default: 0", "min_change: -0.05", 0.02, 0.06, 0.8, [2]float64{1, 0}},
		{"range: [-1, 1], default: 0", "max_change: 1", 0.02, 0.04, 0.8, [2]float64{0, 1}},
	}
	for i, c := range append(late, contrastCases...) {
		if c.value[1] > 1 { // the values of simulate are 0 and 1
			continue
		}
		for j, rate := range []float64{c.bad, c.good} {
			s := newScenario(t)
			if out := s.run(c.definition("hard: false, action: shrink")); !strings.Contains(out, "version 1") {
				t.Fatal(out)
			}
			value := func(rate float64) string {
				return fmt.Sprint(rate)
			}
			if c.value[0] == 1 {
				value = func(rate float64) string { return fmt.Sprint(1 - rate) }
			}
			s.simulate([]string{
				"simulate", "0", "900", "0", "s=a:.5,b:.5,c:.5",
				"m=a:" + value(rate) + ",b:" + value(c.common) + ",c:" + value(c.common),
			})
			want := i >= len(late) && j == 0
			if got := s.state.live["x"].roster.Arms[1].Stop == guard.Suspended; got != want {
				t.Errorf("%s, %s, rate %v: stopped is %v, want %v", c.metric, c.limit, rate, got, want)
			}
			if n := len(s.state.live["x"].guards.Early); (n == 1) != (i >= len(late)) {
				t.Errorf("%s, %s: %d comparisons", c.metric, c.limit, n)
			}
			s.check()
		}
	}
}

// TestEarlyContrastOfSums checks that sums count as the same units do one by one.
func TestEarlyContrastOfSums(t *testing.T) {
	t.Parallel()
	c := contrastCases[1]
	for reported, want := range map[int]bool{60: true, 3: false} {
		s := newScenario(t)
		s.run(c.definition("hard: false, action: shrink"))
		s.run(fmt.Sprintf("aggregate source 1\n1 a 100 s=100/50/50 m=%d/%d/%d\n1 c 133 s=133/60/60 m=2/2/2", reported,
			reported, reported))
		if got := s.state.live["x"].roster.Arms[1].Stop == guard.Suspended; got != want {
			t.Errorf("%d of 100 as sums: stopped is %v", reported, got)
		}
		s.check()
	}
}

// TestEarlyContrastSaved checks that a changed guardrail begins the comparisons anew, and that a
// state without them or with damaged ones is refused.
func TestEarlyContrastSaved(t *testing.T) {
	t.Parallel()
	c := contrastCases[0]
	s := newScenario(t)
	s.run(c.definition("hard: false, action: shrink"))
	s.simulate([]string{"simulate", "0", "300", "0", "s=a:.5,b:.5,c:.5", "m=a:.1,b:.1,c:.1"})
	for what, damage := range map[string]func(p *persistedParts){
		"none":            func(p *persistedParts) { p.Early = nil },
		"another":         func(p *persistedParts) { p.Early[0].Guardrail = 7 },
		"of more arms":    func(p *persistedParts) { p.Early[0].Logs = make([]column.Float64s, 4) },
		"of fewer ratios": func(p *persistedParts) { p.Early[0].Logs = []column.Float64s{{1}} },
		"twice":           func(p *persistedParts) { p.Early = append(p.Early, p.Early...) },
	} {
		if err := new(State).UnmarshalBinary(alteredParts(t, s.state, damage)); err == nil {
			t.Errorf("comparisons %s: the state opened", what)
		}
	}
	if e := s.state.live["x"].guards.Early[0]; e.From > 1 {
		t.Errorf("%+v", e)
	}
	s.run(strings.Replace(c.definition("hard: false, action: shrink"), "max_change: 0", "max_change: 0.5", 1))
	if e := s.state.live["x"].guards.Early[0]; e.From != s.state.Policy("x").Version || len(e.Logs) != 0 {
		t.Errorf("after a change of the limit in version %d: %+v", s.state.Policy("x").Version, e)
	}
	s.check()
}
