package experiment

import (
	"fmt"
	"math"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/noregret/noregret/experiment/definition"
	"github.com/noregret/noregret/experiment/guard"
	"github.com/noregret/noregret/internal/testsize"
	"github.com/noregret/noregret/policy"
)

// TestPointIsNoControl checks that a point of a box cannot have the control's name. It once ended
// the process.
func TestPointIsNoControl(t *testing.T) {
	for _, name := range []string{"point-1", "point-4", "point-99"} {
		_,
			err := definition.Parse("d",
			[]byte(`{"name":"p","arms":{"box":{"d":{"low":0,"high":1}},"nodes":4},"control":{"arm":"`+name+
				`","value":{"d":0},"share":0.2},"metrics":[{"name":"m"}],"objective":{"goals":[{"metric":"m"}]}}`))
		if err == nil || !strings.Contains(err.Error(), "control.arm") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestDefectStopsTheFold checks that a panic in the fold becomes an error and that the broken state
// refuses further use. Try refuses the same event and leaves the state unchanged.
func TestDefectStopsTheFold(t *testing.T) {
	s := newScenario(t)
	s.run("apply\nname: x\narms: [{name: a, value: 1}, {name: b, value: 2}]\nmetrics: [{name: m}]\nobjective: " +
		"{goals: [{metric: m}]}")
	e, err := NewEvent(KindPause, s.now, NameEvent{Experiment: "x"})
	if err != nil {
		t.Fatal(err)
	}
	whole, err := s.state.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	if e, err = s.state.Try("x", e); err != nil {
		t.Fatal(err)
	}
	s.state.trial = nil
	x := s.state.live["x"]
	guards := x.roster.def.Guardrails
	// a guardrail without its definition: the fold panics
	x.roster.def.Guardrails, x.guards.Guards = nil, make([]guard.State, 1)
	if _, err := s.state.Try("x", e); err == nil || s.state.Broken() != nil {
		t.Errorf("the event was not refused: %v", err)
	}
	if _, err := s.state.Apply(s.state.Position()+1, e); err == nil || s.state.Broken() == nil {
		t.Errorf("the defect was not reported: %v", err)
	}
	if _, err := s.state.Apply(s.state.Position()+1, e); err == nil {
		t.Error("a broken state applies events")
	}
	if _, err := s.state.MarshalBinary(); err == nil {
		t.Error("a broken state was saved")
	}
	x.roster.def.Guardrails = guards
	var again State
	if err := again.UnmarshalBinary(whole); err != nil {
		t.Fatal(err)
	}
	if _, err := again.Apply(again.Position()+1, e); err != nil {
		t.Errorf("the state from before the defect cannot continue: %v", err)
	}
}

// definitionOf returns an apply command for arms with a fixed split.
func definitionOf(arms map[string]float64, stickiness string) string {
	var list, split []string
	for k := range 4000 {
		name := fmt.Sprint("a", k)
		if p, ok := arms[name]; ok {
			list = append(list, fmt.Sprintf("{name: %s, value: %d}", name, k))
			split = append(split, fmt.Sprintf("%s: %v", name, p))
		}
	}
	return "apply\nname: x\narms: [" + strings.Join(list, ", ") +
		"]\nmetrics: [{name: m}]\npolicy: {kind: fixed, split: {" + strings.Join(split, ", ") +
		"}}\nstickiness: " + stickiness
}

// TestOneApplyMovesLeast checks that one apply that retires an arm, adds one and changes shares
// makes one version. It moves half the sum of the absolute differences of the shares, which is the
// minimum.
func TestOneApplyMovesLeast(t *testing.T) {
	s := newScenario(t)
	s.run(definitionOf(map[string]float64{"a0": .5, "a1": .3, "a2": .2}, "unit"))
	before := s.state.Policy("x")
	if out := s.run(definitionOf(map[string]float64{"a0": .5, "a2": .1, "a3": .4}, "unit")); strings.Contains(out,
		"error") {
		t.Fatal(out)
	}
	after := s.state.Policy("x")
	if after.Version != before.Version+1 {
		t.Errorf("%d versions for one apply", after.Version-before.Version)
	}
	const n = 20_000
	moved := 0
	for i := range n {
		u := fmt.Sprint("u", i)
		if before.Decide(u).Name != after.Decide(u).Name {
			moved++
		}
	}
	if got, want := float64(moved)/n, .4; math.Abs(got-want) > .015 {
		t.Errorf("%v of the units moved, want %v", got, want)
	}
	s.check()
}

// TestManyArmsAtOnce checks that an apply that changes hundreds of arms is one event and one
// version: deciding stays one draw and one link, and the history stays complete.
func TestManyArmsAtOnce(t *testing.T) {
	learned := func(n, from int) string {
		var b strings.Builder
		for k := range n {
			fmt.Fprintf(&b, "\n  - {name: a%d, value: %d}", from+k, k)
		}
		return "apply\nname: x\nstickiness: unit\nmetrics: [{name: m}]\nobjective: {goals: [{metric: m}]}\narms:" +
			b.String()
	}
	s := newScenario(t)
	s.run(learned(300, 0))
	first := s.state.live["x"].rounds.Versions[0].Version
	for _, n := range []int{1000, 1000} {
		before := len(s.events)
		if out := s.run(learned(n, 1000-n)); strings.Contains(out, "error") {
			t.Fatal(out)
		}
		if got := len(s.events) - before; got > 1 {
			t.Errorf("%d events for one apply", got)
		}
	}
	p := s.state.Policy("x")
	if p.Version != first+1 || len(p.Links) != 2 || s.state.live["x"].rounds.Versions[0].Version != first {
		t.Errorf("version %d, %d links, history from %d", p.Version, len(p.Links),
			s.state.live["x"].rounds.Versions[0].Version)
	}
	s.check()
}

// TestLongRound makes many changes within one round. They cut the stream of links for both kinds of
// stickiness, and every version of the running stream can be explained.
func TestLongRound(t *testing.T) {
	testsize.NoRace(t)
	for _, stickiness := range []string{"round", "unit"} {
		s := newScenario(t)
		s.run(definitionOf(map[string]float64{"a0": .5, "a1": .5}, stickiness))
		x := s.state.live["x"]
		for i := range 1100 {
			x.event = consequence{ask: true}
			x.roster.def.Policy.Split["a0"] = .25 + .5*float64(i%2)
			x.roster.def.Policy.Split["a1"] = 1 - x.roster.def.Policy.Split["a0"]
			if err := x.learning.rebuildLearner(&x.roster, x.joiner); err != nil {
				t.Fatal(err)
			}
			if err := x.renew(s.now, "changed"); err != nil {
				t.Fatal(err)
			}
		}
		p := s.state.Policy("x")
		if len(p.Links) > keepVersions(len(x.roster.Arms))/2 || x.rounds.First < x.rounds.Versions[0].Version {
			t.Errorf("%s: %d links, a stream from version %d, versions kept from %d", stickiness, len(p.Links),
				x.rounds.First,
				x.rounds.Versions[0].Version)
		}
		d := p.Decide("u")
		e, err := s.state.Explain(policy.Token{
			Experiment: "x", Version: d.Version, Arm: d.Arm, Propensity: d.Propensity, Unit: d.Unit,
			Time: time.Unix(0, s.now),
		})
		if err != nil || !e.Consistent {
			t.Errorf("%s: %+v %v", stickiness, e, err)
		}
	}
}

// TestEqualValues checks that equal values, and values that would give two arms the same name, are
// refused with their path.
func TestEqualValues(t *testing.T) {
	grid := func(values string) string {
		return `{"name":"g","arms":{"grid":` + values +
			`},"metrics":[{"name":"m"}],"objective":{"goals":[{"metric":"m"}]}}`
	}
	for values, place := range map[string]string{
		`{"a":[1,"1"]}`:                         "arms.grid.a[1]",
		`{"a":[1.0,1]}`:                         "arms.grid.a[1]",
		`{"a":[2,1,1e0]}`:                       "arms.grid.a[2]",
		`{"a":[true,"true"]}`:                   "arms.grid.a[1]",
		`{"a":[{"x":1,"y":2},{"y":2.0,"x":1}]}`: "arms.grid.a[1]",
		`{"a":["1,b=2","1"],"b":["2","2,b=2"]}`: "arms.grid",
		`{}`:                                    "arms.grid",
		`{"a":[1e999]}`:                         "arms.grid.a[0]",
		`{"a":["` + strings.Repeat("x", 250) + `"]}`: "arms.grid.a[0]",
	} {
		if _, err := definition.Parse("d", []byte(grid(values))); err == nil ||
			!strings.Contains(err.Error(), ": "+place+": ") {
			t.Errorf("%.60s: %v, want it at %s", values, err, place)
		}
	}
	if _, err := definition.Parse("d", []byte(grid(`{"a":[1,"b",true,"c",[1],10]}`))); err != nil {
		t.Error(err)
	}
	if _,
		err := definition.Parse("d",
		[]byte(
			`{"name":"p","arms":{"box":{"d":{"low":-1e308,"high":1.7e308}}},"metrics":[{"name":"m"}],`+
				`"objective":{"goals":[{"metric":"m"}]}}`)); err == nil {
		t.Error("a box with sides beyond float64 was accepted")
	}
}

// TestLargeGridIsCheap checks that a grid that is too large is refused by its parameters, before
// the names of its points are built.
func TestLargeGridIsCheap(t *testing.T) {
	text := []byte(`{"name":"g","arms":{"grid":{"a":[` + strings.Repeat(`0,`, 30) + `1],"b":["` +
		strings.Repeat("x", 900_000) + `"]}},"metrics":[{"name":"m"}]}`)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if _, err := definition.Parse("d", text); err == nil {
		t.Fatal("the definition was accepted")
	}
	runtime.ReadMemStats(&after)
	if used := (after.TotalAlloc - before.TotalAlloc) >> 20; used > 64 {
		t.Errorf("%d MiB were allocated for a definition of 1 MB", used)
	}
}

// awkward is a definition with characters that some JSON encoders escape and others do not.
const awkward = "apply\nname: w\narms:\n  - {name: \"<a>&\", value: \"<b>&\\u2028\\u2029\"}\n  - {name: b, value: " +
	"{\"<k>\": [1.50, \"\\u003c\", \"é\"]}}\n" +
	"metrics: [{name: m}]\nobjective: {goals: [{metric: m}]}\nround: {length: 1m}\nattribution_window: 1m"

// TestAwkwardValues checks that a restart after any event changes neither a byte of the state nor
// which changes are accepted afterwards.
func TestAwkwardValues(t *testing.T) {
	s := newScenario(t)
	s.run(awkward)
	restart := func() {
		b, err := s.state.MarshalBinary()
		if err != nil {
			t.Fatal(err)
		}
		var next State
		if err := next.UnmarshalBinary(b); err != nil {
			t.Fatal(err)
		}
		s.state = &next
	}
	policy, definition := s.state.Policy("w").Digest, string(s.state.Definition("w").Arms.List[0].Value)
	restart()
	if p := s.state.Policy("w").Digest; p != policy ||
		string(s.state.Definition("w").Arms.List[0].Value) != definition {
		t.Errorf("the policy %s became %s", policy, p)
	}
	if out := s.run(awkward); !strings.Contains(out, "no change") {
		t.Errorf("the same definition after a restart: %s", out)
	}
	if out := s.run(awkward + "\ndescription: <other>"); strings.Contains(out, "error") {
		t.Errorf("another description after a restart: %s", out)
	}
	s.run("arm.add <c> {\"x\":\"<c>\\u2028\"}")
	restart()
	s.simulate([]string{"simulate", "0", "30", "1", "m=<a>&:1,b:0,<c>:2"})
	s.checkEvery()
}

// TestExplainFits checks that an explanation is consistent: the draw falls on the first step's arm
// in the distribution, each step follows from its coin, and the last step is the decision.
func TestExplainFits(t *testing.T) {
	s := newScenario(t)
	s.run(definitionOf(map[string]float64{"a0": .5, "a1": .3, "a2": .2}, "unit"))
	s.run(definitionOf(map[string]float64{"a0": .1, "a1": .3, "a2": .6}, "unit"))
	s.run(definitionOf(map[string]float64{"a0": .1, "a2": .4, "a3": .5}, "unit"))
	moved := 0
	for i := range 500 {
		u := fmt.Sprint("u", i)
		d := s.decide(u)
		e, err := s.state.Explain(s.tokens[u])
		if err != nil || !e.Consistent || len(e.Steps) != 3 {
			t.Fatalf("%+v %v", e, err)
		}
		drawn := ""
		for _, share := range e.Distribution {
			if e.Fraction >= share.From {
				drawn = share.Arm
			}
		}
		if drawn != e.Steps[0].Arm {
			t.Fatalf("%s: the draw %v falls on %s, the first step says %s", u, e.Fraction, drawn, e.Steps[0].Arm)
		}
		arm, p := e.Steps[0].Arm, e.Steps[0].P
		for _, step := range e.Steps[1:] {
			kept := *step.Coin**step.Before < *step.After
			if *step.Before != p || kept != (step.Arm == arm) || kept != (step.Draw == nil) {
				t.Fatalf("%s: %+v after %s with %v", u, step, arm, p)
			}
			if !kept {
				moved++
			}
			arm, p = step.Arm, step.P
		}
		if arm != d.Name || p != e.Propensity {
			t.Fatalf("%s: the steps end with %s at %v, the decision is %s at %v", u, arm, p, d.Name, e.Propensity)
		}
		for _, share := range e.Served {
			if share.Arm == arm && share.P != p {
				t.Fatalf("%s: served with %v", u, share.P)
			}
		}
	}
	if moved < 100 {
		t.Errorf("%d moves", moved)
	}
}
