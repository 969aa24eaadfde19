package experiment

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/noregret/noregret/experiment/join"
	"github.com/noregret/noregret/internal/random"
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

// play lets units of a version come, whose bad values arrive late, and reports whether the arm a
// was beyond the limit at any time. The rates are those of the control and of a. Then the version
// closes, and the next one has no units yet.
func (c *contrastCase) play(x *experimentState, rng *random.Source, units int, common, rate float64) bool {
	type report struct {
		slot int
		at   float64
	}
	of, v := x.joiner.Running(), earlyContrastView{&x.roster}
	of.Early = [][]join.Early{make([]join.Early, 2), make([]join.Early, 2)}
	low, width, _ := join.EarlyScale(x.roster.def, 1)
	add := func(slot int, value float64) {
		e, scaled := &of.Early[slot][1], (value-low)/width
		e.N++
		e.Sum += min(scaled, 1)
		e.Uncut += scaled
	}
	var waiting []report
	for i := range units {
		u, slot, r := rng.Float64(), 1, rate
		if u < of.Mixture[0] {
			slot, r = 0, common
		}
		of.Stats[slot].Units++
		if rng.Float64() >= r {
			add(slot, c.value[0])
		} else {
			waiting = append(waiting, report{slot, float64(i) - 30*math.Log(1-rng.Float64())})
		}
		for k := 0; k < len(waiting); k++ {
			if w := waiting[k]; w.at <= float64(i) {
				add(w.slot, c.value[1])
				waiting = append(waiting[:k], waiting[k+1:]...)
				k--
			}
		}
		x.roster.EarlyContrasts[0].open = nil // the version was changed behind its back
		if v.beyond(0, 1, 1) {
			return true
		}
	}
	v.closeVersion(of)
	of.Early, of.Stats[0].Units, of.Stats[1].Units = nil, 0, 0
	return false
}

// TestEarlyContrastHolds checks that an arm which just holds a limit is ever beyond it in at most
// the part of alpha that is its own, with bad values that arrive late, shares that change with the
// version and a crash of all arms, and that an arm which crashes is found.
func TestEarlyContrastHolds(t *testing.T) {
	testsize.NoRace(t)
	t.Parallel()
	runs := testsize.Of(1000, 100)
	for _, c := range contrastCases {
		s := newScenario(t)
		if out := s.run(c.definition("hard: false, action: shrink, alpha: 0.5")); !strings.Contains(out, "version 1") {
			t.Fatal(out)
		}
		x := s.state.live["x"]
		alpha := earlyContrastView{&x.roster}.alpha(&x.roster.def.Guardrails[0], 1)
		if want := 0.5 * 0.8 * 0.8 / 2; math.Abs(alpha-want) > 1e-12 {
			t.Fatalf("alpha is %v, want %v", alpha, want)
		}
		wrong, found := 0, 0
		for seed := range uint64(runs) {
			rng, out := random.New(seed, c.limit), false
			earlyContrastView{&x.roster}.begin(1)
			of := x.joiner.Running()
			for _, share := range []float64{0.5, 0.1, 0.8} {
				of.Mixture[0], of.Mixture[1], of.Mixture[2] = 1-share, share, 0
				common, rate := c.common, c.good
				if share == 0.1 && c.limit[:3] == "max" && c.value[0] == 0 { // all arms crash
					common, rate = common*1.5, rate*1.5
				}
				out = out || c.play(x, rng, 1000, common, rate)
			}
			if out {
				wrong++
			}
			earlyContrastView{&x.roster}.begin(1)
			of.Early, of.Stats[0].Units, of.Stats[1].Units = nil, 0, 0
			of.Mixture[0], of.Mixture[1] = 0.5, 0.5
			if c.play(x, rng, 2000, c.common, c.bad) {
				found++
			}
		}
		n := float64(runs)
		if most := n*alpha + 3*math.Sqrt(n*alpha*(1-alpha)); float64(wrong) > most {
			t.Errorf("%s, %s: beyond it in %d of %d runs, want at most %v of them", c.metric, c.limit, wrong, runs,
				alpha)
		}
		if float64(found) < 0.9*n {
			t.Errorf("%s, %s: an arm that crashes is found in %d of %d runs", c.metric, c.limit, found, runs)
		}
	}
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
			if got := s.state.live["x"].roster.Arms[1].Stop == suspended; got != want {
				t.Errorf("%s, %s, rate %v: stopped is %v, want %v", c.metric, c.limit, rate, got, want)
			}
			if n := len(s.state.live["x"].roster.EarlyContrasts); (n == 1) != (i >= len(late)) {
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
		if got := s.state.live["x"].roster.Arms[1].Stop == suspended; got != want {
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
		"none":            func(p *persistedParts) { p.EarlyContrasts = nil },
		"another":         func(p *persistedParts) { p.EarlyContrasts[0].Guardrail = 7 },
		"of more arms":    func(p *persistedParts) { p.EarlyContrasts[0].Logs = make([]f64s, 4) },
		"of fewer ratios": func(p *persistedParts) { p.EarlyContrasts[0].Logs = []f64s{{1}} },
		"twice":           func(p *persistedParts) { p.EarlyContrasts = append(p.EarlyContrasts, p.EarlyContrasts...) },
	} {
		if err := new(State).UnmarshalBinary(alteredParts(t, s.state, damage)); err == nil {
			t.Errorf("comparisons %s: the state opened", what)
		}
	}
	if e := s.state.live["x"].roster.EarlyContrasts[0]; e.From > 1 || len(e.open) == 0 || e.open[0].arms[1][0] == 0 {
		t.Errorf("%+v", e)
	}
	s.run(strings.Replace(c.definition("hard: false, action: shrink"), "max_change: 0", "max_change: 0.5", 1))
	if e := s.state.live["x"].roster.EarlyContrasts[0]; e.From != s.state.Policy("x").Version || len(e.Logs) != 0 {
		t.Errorf("after a change of the limit in version %d: %+v", s.state.Policy("x").Version, e)
	}
	s.check()
}
