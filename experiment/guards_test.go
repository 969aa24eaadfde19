package experiment

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/noregret/noregret/api"
	"github.com/noregret/noregret/confseq"
	"github.com/noregret/noregret/experiment/compare"
	"github.com/noregret/noregret/experiment/definition"
	"github.com/noregret/noregret/experiment/guard"
	"github.com/noregret/noregret/experiment/join"
	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/stat"
	"github.com/noregret/noregret/internal/testsize"
	"github.com/noregret/noregret/policy"
)

// guardRun simulates an experiment whose arms have the given means of the guardrail's metric, in
// batches, with a mixture that learns. It reports whether the guardrail was breached after any
// batch.
func guardRun(t *testing.T, seed uint64, batches int, limit string, means map[string]float64) bool {
	t.Helper()
	s := newScenario(t)
	s.run("apply\nname: g\narms: [{name: c, value: 0}, {name: a, value: 1}, {name: b, value: 2}]\ncontrol: {arm: c, " +
		"share: 0.2}\n" +
		"metrics: [{name: x}, {name: y}]\nobjective: {goals: [{metric: x}]}\nguardrails: [{metric: y, hard: false, " +
		limit +
		", alpha: 0.2}]\n" +
		"exploration_floor: 0.3\nround: {length: 1m}\nattribution_window: 1m")
	r := random.New(seed, "guard")
	for b := range batches {
		p := join.Units{Experiment: "g"}
		for i := range 40 {
			unit := fmt.Sprint(seed, "-", b, "-", i)
			d := s.state.Policy("g").Decide(unit)
			tok := policy.Token{
				Experiment: "g", Version: d.Version, Arm: d.Arm, Propensity: d.Propensity, Unit: d.Unit,
				Time: time.Unix(0, s.now),
			}
			p.Items = append(p.Items, join.UnitOf(tok,
				map[string]float64{"x": stat.Normal(r), "y": means[d.Name] + stat.Normal(r)}))
		}
		q := join.Units{Experiment: "g"}
		for _, e := range p.Items {
			e.Metrics = nil
			q.Items = append(q.Items, e)
		}
		s.event(KindExposures, q)
		s.event(KindFeedback, p)
		if s.state.live["g"].guards.Guards[0].State == api.GuardBreached {
			return true
		}
		s.now += int64(time.Minute)
		s.run("due")
	}
	return false
}

// TestGuardrailCalls checks the error rates of a guardrail that is evaluated after every batch
// while the mixture moves. Arms exactly at the limit are called breached in at most alpha = 20 % of
// the runs. Arms beyond it are found, in either direction and relative to the control.
func TestGuardrailCalls(t *testing.T) {
	testsize.NoRace(t)
	const runs = 40
	wrong := 0
	for seed := range uint64(runs) {
		if guardRun(t, seed, 40, "min: 1", map[string]float64{"c": 1, "a": 1, "b": 1}) {
			wrong++
		}
	}
	if wrong > 14 { // at most 8 expected; 15 or more have probability .01
		t.Errorf("called breached in %d of %d runs where it holds, want at most 20 %%", wrong, runs)
	}
	for limit, means := range map[string]map[string]float64{
		"min: 1":           {"c": .7, "a": .6, "b": .7},
		"max: 1":           {"c": 1.3, "a": 1.4, "b": 1.3},
		"min_change: -0.1": {"c": 4, "a": 3, "b": 3},
		"max_change: 0.1":  {"c": 4, "a": 5, "b": 5},
	} {
		for seed := range uint64(3) {
			if !guardRun(t, seed, 80, limit, means) {
				t.Errorf("%s, seed %d: a breach was not found", limit, seed)
			}
		}
		if guardRun(t, 9, 40, limit, map[string]float64{"c": 1, "a": 1, "b": 1}) && limit != "min: 1" &&
			limit != "max: 1" {
			t.Errorf("%s: equal arms were called breached", limit)
		}
	}
}

// TestHealthyGuardrailStays evaluates a guardrail after every unit: a rate of 0.10 with a minimum
// of 0.05 and a rollback at alpha 0.05. At most 5 % of the runs are ever rolled back. (Bounds made
// of sample variances rolled back 118 of 200 runs.)
func TestHealthyGuardrailStays(t *testing.T) {
	testsize.NoRace(t)
	runs, most := 200, 19 // at most 10 expected; 19 or more have probability .006
	if testsize.Short() {
		runs, most = 40, 8 // at most 2 expected; 8 or more have probability .001
	}
	wrong := 0
	for seed := range uint64(runs) {
		s := newScenario(t)
		s.run("apply\nname: g\narms: [{name: c, value: 0}, {name: a, value: 1}]\ncontrol: {arm: c, share: " +
			"0.5}\nmetrics: [{name: x, range: [0, 1]}, {name: y, kind: count, range: [0, 1]}]\n" +
			"objective: {goals: [{metric: x}]}\nguardrails: [{metric: y, min: 0.05, hard: false, alpha: 0.05, " +
			"action: rollback}]")
		r := random.New(seed, "healthy")
		for i := range 400 {
			d := s.state.Policy("g").Decide(fmt.Sprint(i))
			y := 0.0
			if r.Float64() < .1 {
				y = 1
			}
			p := join.Units{Experiment: "g", Items: []join.Unit{
				join.UnitOf(policy.Token{
					Experiment: "g", Version: d.Version, Arm: d.Arm, Propensity: d.Propensity,
					Unit: d.Unit, Time: time.Unix(0, s.now),
				},
					map[string]float64{"y": y}),
			}}
			s.event(KindFeedback, p)
			p.Items[0].Metrics = nil
			s.event(KindExposures, p)
		}
		if s.state.live["g"].Status == policy.RolledBack {
			wrong++
		}
	}
	if wrong >= most {
		t.Errorf("rolled back in %d of %d runs, want at most 5 %%", wrong, runs)
	}
}

// TestShrinkLetsArmsIn checks that an arm without observations gets some traffic while the mixture
// is shrunk, according to the metric's range or, without one, to a fixed allowance. The report says
// so.
func TestShrinkLetsArmsIn(t *testing.T) {
	testsize.NoRace(t)
	t.Parallel()
	for _, ranged := range []string{", range: [0, 1]", ""}[testsize.Of(0, 1):] {
		s := newScenario(t)
		s.run("apply\nname: g\narms: [{name: c, value: 0}, {name: a, value: 1}]\ncontrol: {arm: c, share: " +
			"0.3}\nmetrics: [{name: x" + ranged + "}, {name: y" + ranged + "}]\n" +
			"objective: {goals: [{metric: x}]}\nguardrails: [{metric: y, min: 0.8, hard: false, penalty: 1e-6, " +
			"action: shrink}]\nround: {length: " +
			"1m}\nattribution_window: 1m\ndrift: {memory: 1000}")
		s.simulate([]string{"simulate", "9000", "20", "0", "x=a:.9,c:.1", "y=a:.9,c:.9"})
		// the policy knows the arm: it is not stopped when it breaks the limit by itself
		for range 2 {
			s.run("wait 2m")
			s.run("due")
		}
		s.simulate([]string{"simulate", "0", "2000", "0", "x=a:.9,c:.1", "y=a:.2,c:.9"})
		x := s.state.live["g"]
		if !x.guards.Guards[0].Shrinking {
			t.Fatalf("%q: the mixture is not shrunk: %+v", ranged, x.guards.Guards[0])
		}
		s.run("arm.add b 2")
		r, err := s.state.Report("g")
		if err != nil {
			t.Fatal(err)
		}
		if b := r.Mixture["b"]; !(b > 0) || b > .2 || r.Mixture["c"] < .5 {
			t.Errorf("%q: the new arm has %v of %v", ranged, b, r.Mixture)
		}
		if said := strings.Join(r.Health.Problems, "; "); !strings.Contains(said, "is shrunk") || ranged == "" &&
			!strings.Contains(said, "too new for a bound") {
			t.Errorf("%q: the report says %q", ranged, said)
		}
		for round := range 60 { // the new arm is the best, which the data show
			s.simulate([]string{
				"simulate", fmt.Sprint(10_000 * (round + 1)), "500", "0", "x=a:.9,c:.1,b:.97",
				"y=a:.2,c:.9,b:.9",
			})
			s.run("wait 61s")
			s.run("due")
		}
		n := x.joiner.Arms[2].Units
		if x = s.state.live["g"]; x.joiner.Arms[2].Units < 300 {
			t.Errorf("%q: the new arm has %d units, and had %d", ranged, x.joiner.Arms[2].Units, n)
		}
		s.check()
	}
}

// TestNegativeControl checks that a change is relative to the absolute value of the control's mean.
func TestNegativeControl(t *testing.T) {
	testsize.NoRace(t)
	run := func(limit, means string) (api.GuardState, float64) {
		s := newScenario(t)
		s.run("apply\nname: g\narms: [{name: c, value: 0}, {name: a, value: 1}]\nmetrics: [{name: y, range: [-10, " +
			"10]}]\n" +
			"policy: {kind: fixed, split: {c: 0.5, a: 0.5}}\ncontrol: {arm: c}\nguardrails: [{metric: y, " + limit +
			"}]")
		s.simulate([]string{"simulate", "0", fmt.Sprint(testsize.Of(20_000, 6000)), "0.5", "y=" + means})
		r, err := s.state.Report("g")
		if err != nil {
			t.Fatal(err)
		}
		return r.Guardrails[0].State, *r.Guardrails[0].Estimate
	}
	for _, c := range []struct {
		limit, means string
		want         api.GuardState
		change       float64
	}{
		{"min_change: -0.1", "c:-2,a:-2", api.GuardHeld, 0},
		// half the units, so half the change
		{"min_change: -0.1", "c:-2,a:-4", api.GuardBreached, -.5},
		{"max_change: 0.1", "c:-2,a:-1", api.GuardBreached, .25},
		{"max_change: 0.1", "c:-2,a:-4", api.GuardHeld, -.5},
		{"min_change: -0.1", "c:2,a:1", api.GuardBreached, -.25},
		{"max_change: 0.1", "c:2,a:4", api.GuardBreached, .5},
	} {
		if state, change := run(c.limit, c.means); state != c.want || math.Abs(change-c.change) > .05 {
			t.Errorf("%s with %s: %s by %v, want %s by %v", c.limit, c.means, state, change, c.want, c.change)
		}
	}
	d, err := definition.Parse("d", []byte("name: g\narms: [{name: c, value: 0}, {name: a, value: 1}]\n"+
		"control: {arm: c, share: 0.1}\nmetrics: [{name: y}]\nobjective: {goals: [{metric: y}]}\n"+
		"guardrails: [{metric: y, min_change: -0.1, hard: false}]"))
	if err != nil {
		t.Fatal(err)
	}
	a, c := compare.NewStats(d), compare.NewStats(d)
	a.Metrics[0], c.Metrics[0] = confseq.Sequence{N: 10, Mean: -2.1}, confseq.Sequence{N: 10, Mean: -2}
	if z, _, ok := guard.SlackOf(d, &d.Guardrails[0], &a, &c); !ok || math.Abs(z-.1) > 1e-12 {
		t.Errorf("the learner observes %v, want 0.1", z)
	}
}
