package experiment

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/noregret/noregret/api"
	"github.com/noregret/noregret/internal/testsize"
)

// pausedDefinition has a control arm with at least a tenth of the traffic and two other arms.
const pausedDefinition = "apply\nname: e\narms: [{name: c, value: 0}, {name: a, value: 1}, {name: b, value: " +
	"2}]\ncontrol: {arm: c, share: 0.1}\n" +
	"metrics: [{name: x, range: [0, 1]}, {name: g, kind: count, range: [0, 1]}]\nobjective: {goals: [{metric: x}]}\n" +
	"guardrails: [{metric: g, max: 0.3, hard: false, action: shrink}, {metric: x, min: 0, hold: deployed}]\n" +
	"attribution_window: 10s\n" +
	"drift: {memory: 1000}\nround: {length: 1s}"

// pausedRun returns an experiment that is paused before the windows of its first round close. It
// serves a and b equally although its learner, once the windows have closed, knows that b is
// better.
func pausedRun(t *testing.T) (*scenario, func(first int, g float64)) {
	s := newScenario(t)
	s.run(pausedDefinition)
	send := func(first int, g float64) {
		var seen, told []string
		for i := range 600 {
			u := fmt.Sprint("u", first*1000+i)
			d, v := s.decide(u), 0
			if d.Name != "c" && float64(i%100) < 100*g {
				v = 1
			}
			seen = append(seen, u)
			told = append(told, fmt.Sprintf("%s:x=%v,g=%d", u, map[string]float64{"c": .1, "a": .2, "b": .9}[d.Name],
				v))
		}
		s.run("expose " + strings.Join(seen, " "))
		s.run("feedback " + strings.Join(told, " "))
	}
	for k := range 6 {
		send(k, .1)
		s.now += int64(1100 * time.Millisecond)
		s.run("due")
	}
	s.run("pause")
	for range 10 {
		s.now += int64(3 * time.Second)
		s.run("due")
	}
	would, err := s.state.live["e"].proposed("round", (*proposer).learned)
	if err != nil {
		t.Fatal(err)
	}
	if m := would.Shares.Shares(); !(m[2] > m[1]+.1) {
		t.Fatalf("the learner would serve %v: it has learned nothing", m)
	}
	return s, send
}

func (s *scenario) mixtureIs(what string, want map[string]float64) {
	s.t.Helper()
	r, err := s.state.Report(s.name)
	if err != nil {
		s.t.Fatal(err)
	}
	if len(r.Mixture) != len(want) {
		s.t.Errorf("%s: the mixture is %v, want %v", what, r.Mixture, want)
	}
	for _, k := range slices.Sorted(maps.Keys(want)) {
		if math.Abs(r.Mixture[k]-want[k]) > 1e-9 {
			s.t.Errorf("%s: the mixture is %v, want %v", what, r.Mixture, want)
		}
	}
}

// TestPausedShrink checks that a breach during a pause moves the mixture towards the control arm
// and changes nothing else.
func TestPausedShrink(t *testing.T) {
	t.Parallel()
	s, send := pausedRun(t)
	s.mixtureIs("paused", map[string]float64{"c": 1 / 3., "a": 1 / 3., "b": 1 / 3.})
	for k := 20; s.state.live["e"].guards.Guards[0].State != api.GuardBreached; k++ {
		if k == 60 {
			t.Fatal("the guardrail was not breached")
		}
		send(k, .8)
	}
	r, err := s.state.Report("e")
	if err != nil {
		t.Fatal(err)
	}
	if p := r.Mixture; !(p["a"] < .3) || math.Abs(p["a"]-p["b"]) > 1e-9 || !(p["c"] > .4) ||
		r.History[len(r.History)-1].Cause != "shrunk" {
		t.Errorf("after the breach the mixture is %v: want equal shares of a and b", p)
	}
	s.check()
}

// TestPausedChange checks that a change of the definition during a pause changes the policy only as
// the definition says.
func TestPausedChange(t *testing.T) {
	t.Parallel()
	apply := func(s *scenario, changes ...string) {
		t.Helper()
		if out := s.run(strings.NewReplacer(changes...).Replace(pausedDefinition)); strings.Contains(out, "error") ||
			strings.Contains(out, "no change") {
			t.Fatal(out)
		}
	}
	const arms = "{name: b, value: 2}"
	described, floor := []string{"name: e\n", "name: e\ndescription: other\n"},
		[]string{"attribution_window", "exploration_floor: 0.2\nattribution_window"}
	for name, c := range map[string]struct {
		change []string
		want   map[string]float64
	}{
		"description": {described, map[string]float64{"c": 1 / 3., "a": 1 / 3., "b": 1 / 3.}},
		"objective": {
			[]string{"{metric: x}", "{metric: x, weight: 3}"},
			map[string]float64{"c": 1 / 3., "a": 1 / 3., "b": 1 / 3.},
		},
		"guardrail": {[]string{"max: 0.3", "max: 0.4"}, map[string]float64{"c": 1 / 3., "a": 1 / 3., "b": 1 / 3.}},
		"window": {
			[]string{"window: 10s", "window: 20s"},
			map[string]float64{"c": 1 / 3., "a": 1 / 3., "b": 1 / 3.},
		},
		"share":   {[]string{"share: 0.1", "share: 0.4"}, map[string]float64{"c": .4, "a": .3, "b": .3}},
		"retired": {[]string{", " + arms, ""}, map[string]float64{"c": 2 / 3., "a": 1 / 3.}},
		"added": {
			[]string{arms, arms + ", {name: d, value: 4}"},
			map[string]float64{"c": 1 / 3., "a": 1 / 3., "b": 1 / 3., "d": 0},
		},
		"replaced": {
			[]string{"{name: a, value: 1}, {name: b, value: 2}", "{name: d, value: 4}, {name: f, value: 5}"},
			map[string]float64{"c": 1, "d": 0, "f": 0},
		},
		"floor": {floor, map[string]float64{"c": 1 / 3., "a": 1 / 3., "b": 1 / 3.}},
		"floor and added": {
			append([]string{arms, arms + ", {name: d, value: 4}"}, floor...),
			map[string]float64{"c": 1 / 3., "a": 1 / 3., "b": 1 / 3., "d": 0},
		},
	} {
		if testsize.Short() && !slices.Contains([]string{"share", "replaced", "floor and added"}, name) {
			continue
		}
		s, _ := pausedRun(t)
		apply(s, c.change...)
		s.mixtureIs(name, c.want)
		s.run("wait 5s")
		s.run("due")
		s.mixtureIs(name+", later", c.want)
		if out := s.run("resume"); strings.Contains(out, "error") {
			t.Fatal(out)
		}
		s.check()
	}
	// Single events do the same.
	s, _ := pausedRun(t)
	s.run("arm.add d 4")
	s.mixtureIs("an arm added", map[string]float64{"c": 1 / 3., "a": 1 / 3., "b": 1 / 3., "d": 0})
	s.run("arm.retire a")
	s.mixtureIs("an arm retired", map[string]float64{"c": 2 / 3., "b": 1 / 3., "d": 0})
	s.run("resume")
	if p := s.state.Policy("e").Mixture(); !(p[3] > 0) {
		t.Errorf("after the resume the new arm has no share: %v", p)
	}
	s.check()
	if _, err := json.Marshal(s.state.Policy("e")); err != nil {
		t.Error(err)
	}
}

// TestPausedFixed checks that a fixed split follows the definition during a pause as well.
func TestPausedFixed(t *testing.T) {
	s := newScenario(t)
	s.run(definitionOf(map[string]float64{"a0": .5, "a1": .3, "a2": .2}, "unit"))
	s.run("pause")
	s.run(definitionOf(map[string]float64{"a0": .1, "a1": .7, "a2": .2}, "unit"))
	s.mixtureIs("changed", map[string]float64{"a0": .1, "a1": .7, "a2": .2})
	s.run("arm.retire a2")
	s.mixtureIs("retired", map[string]float64{"a0": .125, "a1": .875})
	s.check()
}

// TestPausedControl checks that where the control arm is the learner's, a change during a pause
// moves units to the control arm only.
func TestPausedControl(t *testing.T) {
	t.Parallel()
	const arms = ", {name: b, value: 2}"
	for name, c := range map[string]struct {
		change []string
		want   map[string]float64
	}{
		"share": {[]string{"share: 0.1", "share: 0.5"}, map[string]float64{"c": .5, "a": .25, "b": .25}},
		"less": {
			[]string{"share: 0.1", "share: 0.05"},
			map[string]float64{"c": 1 / 3., "a": 1 / 3., "b": 1 / 3.},
		},
		"retired": {[]string{arms, ""}, map[string]float64{"c": 2 / 3., "a": 1 / 3.}},
		"added": {
			[]string{arms, arms + ", {name: d, value: 4}"},
			map[string]float64{"c": 1 / 3., "a": 1 / 3., "b": 1 / 3., "d": 0},
		},
		"both": {[]string{arms, "", "share: 0.1", "share: 0.8"}, map[string]float64{"c": .8, "a": .2}},
		"drift begins": {[]string{
			"drift: {kind: none}", "drift: {memory: 10}", "share: 0.1",
			"share: 0.5",
		}, nil},
	} {
		text := strings.Replace(pausedDefinition, "drift: {memory: 1000}",
			"drift: {kind: none}", 1)
		s := newScenario(t)
		s.run(text)
		s.run("pause")
		s.mixtureIs(name+", before", map[string]float64{"c": 1 / 3., "a": 1 / 3., "b": 1 / 3.})
		if out := s.run(strings.NewReplacer(c.change...).Replace(text)); strings.Contains(out, "error") {
			t.Fatalf("%s: %s", name, out)
		}
		if c.want != nil {
			s.mixtureIs(name, c.want)
		}
		if out := s.run("resume"); strings.Contains(out, "error") {
			t.Errorf("%s: %s", name, out)
		}
		s.check()
	}
}
