package experiment

import (
	"encoding/json"
	"fmt"
	"math"
	"runtime"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/noregret/noregret/api"
	"github.com/noregret/noregret/experiment/join"
	"github.com/noregret/noregret/internal/testsize"
	"github.com/noregret/noregret/policy"
)

const pausable = "apply\nname: x\narms: [{name: a, value: 1}, {name: b, value: 2}]\nmetrics: [{name: m, range: [0, " +
	"1]}]\n" +
	"objective: {goals: [{metric: m}]}\nround: {length: 1m}\nattribution_window: 1m\nopen_tokens: 500\n" +
	"exploration: {share: 0.5}"

// TestPauseKeepsGoing checks a paused experiment. Its rows are freed in time, so that it never
// refuses all traffic; its mixture stays the same; units from before the pause are learned from,
// and units decided during the pause are counted as unlearned.
func TestPauseKeepsGoing(t *testing.T) {
	s := newScenario(t)
	s.run(pausable)
	const before = 8 * 100
	for i := range 8 { // the last rounds mature during the pause
		s.simulate([]string{"simulate", fmt.Sprint(i * 100), "100", "0", "m=a:.9,b:.1"})
		s.run("wait 60s")
		s.run("due")
	}
	mixture := fmt.Sprint(s.state.Policy("x").Mixture())
	s.run("pause")
	unit := 1000
	for range 10 {
		s.simulate([]string{"simulate", fmt.Sprint(unit), "90", "0", "m=a:.9,b:.1"})
		unit += 90
		s.run("wait 65s")
		s.run("due")
		if got := fmt.Sprint(s.state.Policy("x").Mixture()); got != mixture {
			t.Fatalf("the mixture moved from %s to %s during the pause", mixture, got)
		}
	}
	r, err := s.state.Report("x")
	if err != nil {
		t.Fatal(err)
	}
	if r.Feedback.Rejected > 0 || r.Feedback.Accepted != int64(unit-1000+before) || r.Health.Open > 270 {
		t.Errorf("%+v, %d open", r.Feedback, r.Health.Open)
	}
	x := s.state.live["x"]
	if n := x.health.Matured[0] - x.learning.Unlearned; n != before || x.learning.Unlearned < 600 {
		t.Errorf("%d units were learned from and %d were not, want the %d from before the pause", n,
			x.learning.Unlearned,
			before)
	}
	s.run("resume")
	if p := s.state.Policy("x").Mixture(); fmt.Sprint(p) == mixture {
		t.Errorf("after the resume the mixture ignores the units from before the pause: %v", p)
	}
	s.checkEvery()
}

// TestTooFewUnitsAge checks that rows are freed even if a round never reaches its minimum of units
// or no exposure is ever reported.
func TestTooFewUnitsAge(t *testing.T) {
	s := newScenario(t)
	s.run(strings.Replace(pausable, "length: 1m", "length: 1m, min_units: 1000000", 1))
	for i := range 1000 {
		u := fmt.Sprint("u", i)
		s.decide(u)
		if out := s.run("feedback " + u + ":m=1"); !strings.Contains(out, "accepted") {
			t.Fatalf("unit %d: %s", i, out)
		}
		s.run("wait 1s")
		s.run("due")
	}
	if x := s.state.live["x"]; x.rounds.Round != 1 || x.health.Orphans < 700 {
		t.Errorf("round %d, %d orphans", x.rounds.Round, x.health.Orphans)
	}
	s.check()
}

// TestUnlearnedOnce checks that a new objective learns from the kept rounds and that units it
// cannot use are counted as unlearned only once.
func TestUnlearnedOnce(t *testing.T) {
	s := newScenario(t)
	goal := func(m string) string {
		return "apply\nname: x\narms: [{name: a, value: 1}, {name: b, value: 2}]\nmetrics: [{name: m}, {name: " +
			"n}]\nobjective: {goals: [{metric: " + m + "}]}\nround: {length: 1m}\nattribution_window: 1m"
	}
	s.run(goal("m"))
	s.simulate([]string{"simulate", "0", "50", "1", "n=a:1,b:1"}) // without values of m
	s.run("wait 65s")
	s.run("due")
	s.run("wait 65s")
	s.run("due")
	x := s.state.live["x"]
	if x.learning.Unlearned != 50 {
		t.Fatalf("%d units are unlearned", x.learning.Unlearned)
	}
	for _, m := range []string{"n", "m", "n", "m"} {
		s.run(goal(m))
	}
	if x := s.state.live["x"]; x.learning.Unlearned != 50 {
		t.Errorf("after four changes of the objective %d units are unlearned, want 50", x.learning.Unlearned)
	}
}

// TestSourcesForgotten checks that a source is forgotten once every version its last report may
// have counted in has closed. A repeated report is a duplicate until then and late afterwards.
func TestSourcesForgotten(t *testing.T) {
	testsize.NoRace(t)
	t.Parallel()
	s := newScenario(t)
	s.run("apply\nname: x\narms: [{name: a, value: 1}]\nmetrics: [{name: y}]\nobjective: {goals: [{metric: " +
		"y}]}\nround: {length: 1m}\nattribution_window: 1m")
	send := func(source int, version uint64) api.ItemStatus {
		return s.event(KindAggregate, api.Aggregate{
			Experiment: "x", Source: fmt.Sprint("s", source), Sequence: 1,
			Items: []api.AggregateItem{{Version: version, Arm: "a", Units: 1}},
		}).Items[0].Status
	}
	units, versions := 0, []uint64{}
	for i := range 3 * 10_000 / 1000 {
		v := s.state.Policy("x").Version
		versions = append(versions, v)
		for k := range 1000 {
			if got := send(i*1000+k, v); got != api.Accepted {
				t.Fatalf("source %d: %s", i*1000+k, got)
			}
			units++
		}
		if got := send(i*1000, v); got != api.Duplicate {
			t.Fatalf("repeated at once: %s", got)
		}
		s.run("wait 40s")
		s.run("due")
		if i >= 5 {
			if got := send((i-5)*1000, versions[i-5]); got != api.Late {
				t.Fatalf("repeated after its version has closed: %s", got)
			}
		}
	}
	x := s.state.live["x"]
	if len(x.joiner.Sources) > 6000 || x.joiner.Arms[0].Units != int64(units) {
		t.Errorf("%d sources, %d units of %d", len(x.joiner.Sources), x.joiner.Arms[0].Units, units)
	}
	s.check()
}

// TestStalePolicies checks copies of a policy whose version has ended. They may decide for a 20th
// of the window, at least 5 s, and such units have their whole window. Later decisions by them are
// late.
func TestStalePolicies(t *testing.T) {
	s := newScenario(t)
	s.run("apply\nname: x\narms: [{name: a, value: 1}, {name: b, value: 2}]\nmetrics: [{name: m}]\nobjective: " +
		"{goals: [{metric: m}]}\nround: {length: 20m}\nattribution_window: 20m")
	s.decide("first")
	s.run("expose first")
	old := s.state.Policy("x")
	s.run("wait 20m")
	s.run("due")
	stale := func(unit string, after time.Duration) {
		s.now += int64(after)
		d := old.Decide(unit)
		s.tokens[unit] = policy.Token{
			Experiment: "x", Version: d.Version, Arm: d.Arm, Propensity: d.Propensity,
			Unit: d.Unit, Time: time.Unix(0, s.now).UTC(),
		}
	}
	stale("in", 59*time.Second)
	stale("out", 2*time.Second)
	if out := s.run("feedback out:m=1"); !strings.Contains(out, "late") {
		t.Errorf("decided 61 s after the end: %s", out)
	}
	s.run("wait 19m57s")
	s.run("clock")
	if out := s.run("feedback in:m=1"); !strings.Contains(out, "accepted") {
		t.Errorf("decided 59 s after the end, feedback a moment before its window closes: %s", out)
	}
	s.run("wait 3s")
	if out := s.run("feedback in:m=1"); !strings.Contains(out, "late") {
		t.Errorf("after its window: %s", out)
	}
}

// TestOpenVersionsBounded checks that short rounds in a long window do not accumulate waiting
// versions without limit, and that the waiting versions take the memory that docs/service.md
// states.
func TestOpenVersionsBounded(t *testing.T) {
	testsize.NoRace(t)
	t.Parallel()
	s := newScenario(t)
	var arms strings.Builder
	for k := range 100 {
		fmt.Fprintf(&arms, "\n  - {name: a%d, value: %d}", k, k)
	}
	s.run("apply\nname: x\narms:" + arms.String() +
		"\nmetrics: [{name: m}, {name: n}, {name: o}]\npolicy: {kind: fixed, split: {a0: 0.5, a1: 0.5}}\nround: " +
		"{length: 1s}\nattribution_window: 24h")
	var before, after runtime.MemStats
	use := func(m *runtime.MemStats) {
		runtime.GC()
		runtime.GC()
		runtime.ReadMemStats(m)
	}
	use(&before)
	p := uint64(1)
	for i := range 4000 {
		d := s.state.Policy("x").Decide(fmt.Sprint("u", i))
		e, err := NewEvent(KindExposures, s.now,
			join.Units{Experiment: "x", Items: []join.Unit{
				join.UnitOf(policy.Token{
					Experiment: "x", Version: d.Version, Arm: d.Arm, Propensity: d.Propensity,
					Unit: d.Unit, Time: time.Unix(0, s.now),
				}, nil),
			}})
		if err != nil {
			t.Fatal(err)
		}
		s.now += int64(time.Second)
		for _, e := range append([]Event{e}, s.state.Due(s.now)...) {
			p++
			if _, _, err := s.state.Step(e); err != nil {
				t.Fatal(err)
			}
		}
	}
	use(&after)
	x := s.state.live["x"]
	grown := int64(after.HeapAlloc) - int64(before.HeapAlloc)
	per := float64(grown) / float64(len(x.joiner.Versions)) / 1024
	t.Logf("%d versions wait, %d MiB, %.0f KiB each with their history", len(x.joiner.Versions), grown>>20, per)
	if len(x.joiner.Versions) > x.roster.maxOpen() || grown>>20 > 40 {
		t.Errorf("%d versions wait in %d MiB, want at most %d in 40", len(x.joiner.Versions), grown>>20,
			x.roster.maxOpen())
	}
	if r, err := s.state.Report("x"); err != nil ||
		!strings.Contains(strings.Join(r.Health.Problems, ";"), "rounds wait") {
		t.Errorf("the report does not mention the waiting rounds: %v", err)
	}
	for i := 0; ; i++ { // changes by hand do not accumulate either
		o := s.eventAt(&p, KindPause)
		if o.Err != nil && strings.Contains(o.Err.Error(), "wait for their attribution window") {
			break
		}
		s.eventAt(&p, KindResume)
		if i > x.roster.maxOpen() {
			t.Fatal("changes by hand are not bounded")
		}
	}
	runtime.KeepAlive(s)
}

// eventAt applies an event without recording it in the scenario.
func (s *scenario) eventAt(position *uint64, kind string) Outcome {
	e, err := NewEvent(kind, s.now, NameEvent{Experiment: "x"})
	if err != nil {
		s.t.Fatal(err)
	}
	*position++
	_, o, err := s.state.Step(e)
	if err != nil {
		s.t.Fatal(err)
	}
	return o
}

// TestClockLeaps checks that a clock that was ahead for one event and then corrected does not make
// all later feedback late, and that a clock behind every time seen changes nothing.
func TestClockLeaps(t *testing.T) {
	s := newScenario(t)
	s.run(pausable)
	start := s.now
	s.now = start + int64(400*24*time.Hour)
	s.run("clock")
	s.now = start + int64(10*time.Second)
	s.decide("u")
	if out := s.run("feedback u:m=1"); !strings.Contains(out, "accepted") {
		t.Errorf("after the clock was 400 days ahead: %s", out)
	}
	s.now = start + int64(80*time.Second)
	s.run("expose u")
	s.run("due")
	if s.state.Time() != s.now {
		t.Errorf("time is %v off", time.Duration(s.state.Time()-s.now))
	}
	s.decide("v")
	s.now = 0 // a clock that starts in 1970
	s.run("clock")
	if s.state.Time() != start+int64(80*time.Second) {
		t.Error("time went back to 1970")
	}
	s.now = start + int64(90*time.Second)
	if out := s.run("feedback v:m=1"); !strings.Contains(out, "accepted") {
		t.Errorf("after the clock was at 1970: %s", out)
	}
	// After a real month without events, the clock is not set back once another day has passed.
	s.now += int64(30 * 24 * time.Hour)
	s.run("clock")
	s.now += int64(25 * time.Hour)
	s.run("clock")
	at := s.now
	s.now -= int64(26 * time.Hour)
	s.run("clock")
	if s.state.Time() != at {
		t.Error("time went back after a month without events")
	}
	s.checkEvery()
}

// TestDuplicateValues checks that a repeated metric within an accepted item is counted and named.
func TestDuplicateValues(t *testing.T) {
	s := newScenario(t)
	s.run("apply\nname: x\narms: [{name: a, value: 1}]\nmetrics: [{name: p}, {name: q}]\nobjective: {goals: " +
		"[{metric: p}]}")
	s.decide("u")
	s.run("expose u")
	s.run("feedback u:p=1")
	if out := s.run("feedback u:p=5,q=2"); !strings.Contains(out, "accepted") || !strings.Contains(out, "p") ||
		strings.Contains(out, "q") {
		t.Errorf("the outcome is %q", out)
	}
	r, err := s.state.Report("x")
	if err != nil || r.Health.DuplicateValues != 1 || *r.Arms["a"].Metrics["p"].Mean != 1 ||
		*r.Arms["a"].Metrics["q"].Mean != 2 {
		t.Errorf("%+v %v", r.Health, err)
	}
}

// TestUnitsAndSums checks that the same data, sent unit by unit or as sums in any partition, give
// the same arms, guardrails, shares of missing values and mixture.
func TestUnitsAndSums(t *testing.T) {
	const definition = "apply\nname: x\narms: [{name: a, value: 1}, {name: b, value: 2}]\ncontrol: {arm: a, share: " +
		"0.4}\n" +
		"metrics: [{name: m, range: [-2, 2]}, {name: n, kind: count, range: [0, 3], default: 1}, {name: o, kind: " +
		"count, default: 2}, {name: r, kind: ratio, numerator: n, denominator: o}, {name: q, kind: ratio, numerator: " +
		"m, denominator: n}]\n" +
		"objective: {goals: [{metric: m}]}\nguardrails: [{metric: r, max: 0.5}, {metric: n, max_change: 0.1}, " +
		"{metric: m, min: -1}]\nround: {length: 1m}\nattribution_window: 1m"
	rapid.Check(t, func(t *rapid.T) {
		one, two := newScenario(t), newScenario(t)
		one.run(definition)
		two.run(definition)
		sums := map[string]*api.AggregateItem{}
		report := api.Aggregate{Experiment: "x", Source: "s"}
		flush := func() {
			report.Sequence++
			report.Items = nil
			for _, arm := range []string{"a", "b"} {
				if it := sums[arm]; it != nil {
					report.Items = append(report.Items, *it)
				}
			}
			clear(sums)
			for i, it := range two.event(KindAggregate, report).Items {
				if it.Status != api.Accepted {
					t.Fatalf("%+v: %+v", report.Items[i], it)
				}
			}
		}
		// Each unit reports some of the metrics. pairs marks the units that have both parts of a
		// ratio.
		for i := range rapid.IntRange(1, 60).Draw(t, "units") {
			u := fmt.Sprint("u", i)
			d := one.decide(u)
			it := sums[d.Name]
			if it == nil {
				it = &api.AggregateItem{
					Version: d.Version, Arm: d.Name, Metrics: map[string]api.Sums{},
					Pairs: map[string]api.PairSums{},
				}
				sums[d.Name] = it
			}
			it.Units++
			m, n, o := rapid.Float64Range(-2, 2).Draw(t, "m"), float64(rapid.IntRange(0, 3).Draw(t, "n")),
				float64(rapid.IntRange(1, 9).Draw(t, "o"))
			one.run("expose " + u)
			values := map[string]float64{"m": m, "n": n, "o": o}
			var told []string
			for _, name := range []string{"m", "n", "o"} {
				if !rapid.Bool().Draw(t, "tells "+name) {
					delete(values, name)
					continue
				}
				v := values[name]
				p := it.Metrics[name]
				it.Metrics[name] = api.Sums{N: p.N + 1, Sum: p.Sum + v, Squares: p.Squares + v*v}
				told = append(told, fmt.Sprintf("%s=%v", name, v))
			}
			if len(told) > 0 {
				one.run("feedback " + u + ":" + strings.Join(told, ","))
			}
			for name, v := range map[string]float64{"n": 1, "o": 2} { // the defaults
				if _, ok := values[name]; !ok {
					values[name] = v
				}
			}
			add := func(ratio, x, y string) {
				if _, ok := values[x]; ok {
					p := it.Pairs[ratio]
					p.Add(values[x], values[y])
					it.Pairs[ratio] = p
				}
			}
			add("r", "n", "o")
			add("q", "m", "n")
			if rapid.IntRange(0, 9).Draw(t, "flush") == 0 {
				flush()
			}
		}
		flush()
		for range 3 {
			same(t, one, two)
			for _, s := range []*scenario{one, two} {
				s.run("wait 65s")
				s.run("due")
			}
		}
		same(t, one, two)
	})
}

// same compares two reports up to rounding.
func same(t *rapid.T, one, two *scenario) {
	t.Helper()
	var flat [2]map[string]any
	for i, s := range []*scenario{one, two} {
		r, err := s.state.Report("x")
		if err != nil {
			t.Fatal(err)
		}
		for i := range r.Guardrails { // exactly at the limit, rounding decides
			g := &r.Guardrails[i]
			if g.Since = (time.Time{}); g.Estimate != nil && math.Abs(*g.Estimate-g.Limit) < 1e-9 {
				g.State = ""
			}
		}
		b, err := json.Marshal(map[string]any{
			"arms": r.Arms, "guardrails": r.Guardrails, "missing": r.Health.Missing,
			"mixture": r.Mixture, "unlearned": r.Health.Unlearned,
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(b, &flat[i]); err != nil {
			t.Fatal(err)
		}
	}
	if path := differ("", flat[0], flat[1]); path != "" {
		t.Fatalf("units and sums differ at %s", path)
	}
}

// differ returns the path where two JSON values differ by more than rounding, or "".
func differ(path string, a, b any) string {
	switch x := a.(type) {
	case map[string]any:
		y, ok := b.(map[string]any)
		if !ok || len(x) != len(y) {
			return path
		}
		for k := range x {
			if p := differ(path+"."+k, x[k], y[k]); p != "" {
				return p
			}
		}
		return ""
	case []any:
		y, ok := b.([]any)
		if !ok || len(x) != len(y) {
			return path
		}
		for i := range x {
			if p := differ(fmt.Sprint(path, "[", i, "]"), x[i], y[i]); p != "" {
				return p
			}
		}
		return ""
	case float64:
		y, ok := b.(float64)
		if !ok || math.Abs(x-y) > 1e-6*(1+math.Abs(x)) {
			return fmt.Sprint(path, ": ", a, " and ", b)
		}
		return ""
	}
	if a != b {
		return fmt.Sprint(path, ": ", a, " and ", b)
	}
	return ""
}

// TestLateDecision checks that a unit counts like any other, however short the window, if it is
// decided for while the end of its version is being made durable, or by a copy of the policy that
// is some seconds old.
func TestLateDecision(t *testing.T) {
	s := newScenario(t)
	s.run("apply\nname: x\narms: [{name: a, value: 1}, {name: b, value: 2}]\nmetrics: [{name: m}]\npolicy: {kind: " +
		"fixed, split: {a: .5, b: .5}}\nround: {length: 1s}\nattribution_window: 10s")
	old := s.state.Policy("x")
	s.run("pause") // ends the version
	if s.state.Policy("x") == old {
		t.Fatal("the version did not end")
	}
	for _, c := range []struct {
		unit  string
		after time.Duration
	}{{"ann", 4900 * time.Millisecond}, {"bob", 5100 * time.Millisecond}} {
		unit, after := c.unit, c.after
		began := s.now
		s.now += int64(after)
		d := old.Decide(unit)
		s.tokens[unit] = policy.Token{
			Experiment: "x", Version: d.Version, Arm: d.Arm, Propensity: d.Propensity,
			Unit: d.Unit, Time: time.Unix(0, s.now).UTC(),
		}
		out := s.run("expose " + unit)
		s.now = began
		if (unit == "ann") != strings.HasPrefix(out, "0: accepted") || unit == "bob" &&
			!strings.Contains(out, "it was decided more than 5s after version 1 had ended") {
			t.Errorf("%s: %s", unit, out)
		}
	}
	s.now += int64(14800 * time.Millisecond) // just before ann's window closes
	if out := s.run("feedback ann:m=1"); !strings.HasPrefix(out, "0: accepted") {
		t.Errorf("feedback: %s", out)
	}
	s.run("wait 1s")
	s.run("due")
	r, err := s.state.Report("x")
	if err != nil || r.Health.Orphans != 0 || r.Arms["a"].N+r.Arms["b"].N != 1 || r.Feedback.Accepted != 1 {
		t.Errorf("%+v, %v", r, err)
	}
	s.check()
}
