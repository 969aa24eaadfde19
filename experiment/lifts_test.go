package experiment

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/noregret/noregret/api"
	"github.com/noregret/noregret/experiment/join"
	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/stat"
	"github.com/noregret/noregret/internal/testsize"
	"github.com/noregret/noregret/policy"
)

// liftWorld is an experiment whose level rises tenfold while the share of the arm "new" rises from
// a tenth to almost all. The arm's true effect is the same in all rounds.
type liftWorld struct {
	*scenario
	r      *random.Source
	effect float64
	spread float64 // 0: values of 0 and 1
	rounds int
}

func newLiftWorld(t *testing.T, seed uint64, metric string) *liftWorld {
	t.Helper()
	w := &liftWorld{scenario: newScenario(t), r: random.New(seed, "lift"), rounds: 10}
	w.run("apply\n" + liftDefinition(metric, 0.1))
	return w
}

func liftDefinition(metric string, share float64) string {
	return fmt.Sprintf("name: w\narms: [{name: old, value: 0}, {name: new, value: 1}]\ncontrol: {arm: old}\n"+
		"metrics: [%s]\nobjective: {goals: [{metric: x}]}\nguardrails: [{metric: x, min_change: -0.05, hard: false}]\n"+
		"policy: {kind: fixed, split: {old: %v, new: %v}}\nround: {length: 1h}\nattribution_window: 1h\n",
		metric, 1-share, share)
}

// round sends units, with the given mean of the control and the effect of the other arm. It returns
// the round's weight in the arm's contrast.
func (w *liftWorld) round(metric string, round, units int, level float64) float64 {
	w.t.Helper()
	var seen [2]float64
	if round > 0 {
		w.run("apply\n" + liftDefinition(metric, 0.1+0.8*float64(round)/float64(w.rounds-1)))
	}
	exposed, said := join.Units{Experiment: "w"}, join.Units{Experiment: "w"}
	for i := range units {
		d := w.state.Policy("w").Decide(fmt.Sprint(round, "-", i))
		token := policy.Token{
			Experiment: "w", Version: d.Version, Arm: d.Arm, Propensity: d.Propensity, Unit: d.Unit,
			Time: time.Unix(0, w.now),
		}
		seen[d.Arm]++
		x := level
		if d.Name == "new" {
			x += w.effect
		}
		switch {
		case w.spread > 0:
			x += w.spread * stat.Normal(w.r)
		case w.r.Float64() < x:
			x = 1
		default:
			x = 0
		}
		exposed.Items = append(exposed.Items, join.UnitOf(token, nil))
		said.Items = append(said.Items, join.UnitOf(token, map[string]float64{"x": x}))
	}
	w.event(KindExposures, exposed)
	w.event(KindFeedback, said)
	w.now += int64(time.Hour)
	w.run("due")
	return seen[0] * seen[1] / (seen[0] + seen[1])
}

// quantity returns the report's lift of a quantity.
func (w *liftWorld) quantity(kind string) api.LiftQuantity {
	w.t.Helper()
	r, err := w.state.Report("w")
	if err != nil {
		w.t.Fatal(err)
	}
	for _, q := range r.Lift.Quantities {
		if q.Kind == kind {
			return q
		}
	}
	w.t.Fatalf("no %s in %+v", kind, r.Lift)
	return api.LiftQuantity{}
}

// TestLiftUnderTrend lets the level of all arms rise while the mixture moves to an arm without
// effect. The interval of the lift contains 0; the difference of the pooled means is far outside of
// it.
func TestLiftUnderTrend(t *testing.T) {
	t.Parallel()
	const metric = "{name: x}"
	w := newLiftWorld(t, 1, metric)
	w.spread = 0.3
	for round := range w.rounds {
		w.round(metric, round, 600, 1+float64(round))
	}
	q := w.quantity(api.LiftGoal)
	lift := q.Arms["new"]
	if lift.Low == nil || *lift.Low > 0 || *lift.High < 0 || math.Abs(*lift.Estimate) > 0.05 ||
		lift.Verdict != api.NoDifference {
		t.Errorf("the lift of an arm without effect: %v in %v, %v: %s", number(lift.Estimate), number(lift.Low),
			number(lift.High), lift.Verdict)
	}
	r, err := w.state.Report("w")
	if err != nil {
		t.Fatal(err)
	}
	pooled := *r.Arms["new"].Metrics["x"].Mean - *r.Arms["old"].Metrics["x"].Mean
	if !(pooled > 5*(*lift.High-*lift.Low)) || !(pooled > 1) {
		t.Errorf("the pooled means differ only by %v, but the test needs means that mislead", pooled)
	}
	if g := w.quantity(api.LiftGuardrail).Arms["new"]; g.Verdict != api.ShownToHold {
		t.Errorf("an arm without effect under a guardrail of −5 %%: %+v", g)
	}
	if got := w.quantity(api.LiftObjective); got.Arms["new"].Interval != lift.Interval &&
		number(got.Arms["new"].Low) != number(lift.Low) {
		t.Errorf("the objective %+v is not the goal %+v", got.Arms["new"], lift)
	}
	w.check()
}

// TestLiftSays checks the words for effects, for goals up and down and for guardrails.
func TestLiftSays(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		metric      string
		effect      float64
		goal, guard api.Verdict
	}{
		{"{name: x}", 0.5, api.Better, api.ShownToHold},
		{"{name: x}", -0.5, api.Worse, api.ShownBroken},
		{"{name: x, direction: down}", 0.5, api.Worse, api.ShownToHold},
		{"{name: x, direction: down}", -0.5, api.Better, api.ShownBroken},
	} {
		w := newLiftWorld(t, 2, c.metric)
		w.spread, w.effect = 0.3, c.effect
		if got := w.quantity(api.LiftGoal).Arms["new"].Verdict; got != api.TooFew {
			t.Errorf("before any data: %s", got)
		}
		for round := range 5 {
			w.round(c.metric, round, 300, 3)
		}
		goal, guard := w.quantity(api.LiftGoal), w.quantity(api.LiftGuardrail)
		if goal.Arms["new"].Verdict != c.goal || guard.Arms["new"].Verdict != c.guard {
			t.Errorf("%s, effect %v: goal %+v, guardrail %s", c.metric, c.effect, goal.Arms["new"],
				guard.Arms["new"].Verdict)
		}
		relative := goal.Arms["new"].Relative
		if want := c.effect / 3; relative.Low == nil || *relative.Low > want || *relative.High < want ||
			*relative.High-*relative.Low > 0.2 {
			t.Errorf("%s, effect %v: relative lift %s in %s, %s", c.metric, c.effect, number(relative.Estimate),
				number(relative.Low), number(relative.High))
		}
		if _, listed := goal.Arms["old"]; listed {
			t.Error("the control is compared with itself")
		}
	}
}

// TestLiftCoverage checks intervals after every round of an experiment whose level and mixture
// change, with and without an effect. In at most 5 % of the runs an interval ever misses the truth:
// that of the arm, its relative form and, without an effect, those of what was served and of the
// current mixture.
func TestLiftCoverage(t *testing.T) {
	testsize.NoRace(t)
	t.Parallel()
	runs, most := 300, 24 // at most 15 expected; 25 or more have probability .008
	if testsize.Short() {
		runs, most = 30, 5 // at most 1.5 expected; 6 or more have probability .003
	}
	for _, c := range []struct {
		metric         string
		spread, effect float64
	}{
		{"{name: x}", 0.5, 0},
		{"{name: x}", 0.5, 0.2},
		{"{name: x, kind: count, range: [0, 1]}", 0, 0},
	} {
		wrong := 0
		for seed := range uint64(runs) {
			if misses(t, seed, c.metric, c.spread, c.effect) {
				wrong++
			}
		}
		if wrong > most {
			t.Errorf("%s, effect %v: missed in %d of %d runs, want at most 5 %%", c.metric, c.effect, wrong, runs)
		}
		t.Logf("%s, effect %v: missed in %d of %d runs", c.metric, c.effect, wrong, runs)
	}
}

// misses reports whether an interval ever missed the truth.
func misses(t *testing.T, seed uint64, metric string, spread, effect float64) bool {
	t.Helper()
	w := newLiftWorld(t, seed, metric)
	w.spread, w.effect = spread, effect
	outside := func(q api.Interval, truth float64) bool {
		return q.Low != nil && *q.Low > truth || q.High != nil && *q.High < truth
	}
	top, bottom, finite := 0.0, 0.0, false
	for round := range w.rounds {
		level := 0.05 + 0.05*float64(round)
		weight := w.round(metric, round, 120, level)
		q := w.quantity(api.LiftGoal)
		arm := q.Arms["new"]
		finite = finite || arm.Low != nil && arm.High != nil
		if outside(arm.Interval, effect) || effect == 0 && (outside(q.SoFar.Interval, 0) ||
			outside(q.Served.Interval, 0)) {
			return true
		}
		if top += effect * weight; outside(arm.Relative, top/(bottom+level*weight)) {
			return true
		}
		bottom += level * weight
	}
	if !finite {
		t.Fatalf("%s: no interval was ever finite", metric)
	}
	return false
}

// TestLiftWithoutControl checks that without a control arm the report says why it has no lift.
func TestLiftWithoutControl(t *testing.T) {
	t.Parallel()
	s := newScenario(t)
	s.run("apply\nname: n\narms: [{name: a, value: 0}, {name: b, value: 1}]\nmetrics: [{name: x}]\n" +
		"objective: {goals: [{metric: x}]}\nround: {length: 1h}\nattribution_window: 1h")
	for range 3 {
		s.run("simulate 0 400 1 x=a:0,b:1")
		s.run("wait 1h")
		s.run("due")
	}
	r, err := s.state.Report("n")
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Lift.Quantities) != 0 || r.Lift.Control != "" || r.Lift.Reason == "" {
		t.Errorf("%+v", r.Lift)
	}
	if len(r.Deployed) != 2 {
		t.Errorf("deployed %v", r.Deployed)
	}
	s.checkEvery()
}

// TestLiftReportChangesNothing checks that reports change neither the state nor its later
// behaviour.
func TestLiftReportChangesNothing(t *testing.T) {
	t.Parallel()
	const metric = "{name: x}"
	w := newLiftWorld(t, 3, metric)
	w.spread, w.effect = 0.3, -0.5
	for round := range 4 {
		w.round(metric, round, 150, 3)
		before, err := w.state.Digest()
		if err != nil {
			t.Fatal(err)
		}
		w.quantity(api.LiftObjective)
		if after, err := w.state.Digest(); err != nil || after != before {
			t.Fatalf("a report changed the state: %v", err)
		}
	}
	w.checkEvery()
}

// lift prints the comparisons with the control, now and as of each version.
func (s *scenario) lift(b *strings.Builder) {
	r, err := s.state.Report(s.name)
	if err != nil {
		fmt.Fprintf(b, "error: %v\n", err)
		return
	}
	interval := func(q api.Interval) string {
		return number(q.Estimate) + " [" + number(q.Low) + ", " + number(q.High) + "]"
	}
	if r.Lift.Reason != "" {
		fmt.Fprintf(b, "none: %s\n", r.Lift.Reason)
	}
	for _, q := range r.Lift.Quantities {
		fmt.Fprintf(b, "%s %s %s %s\n", q.Kind, q.Metric, q.Guardrail, number(q.Limit))
		show := func(name string, c api.Comparison) {
			fmt.Fprintf(b, "  %s: %s, relative %s, %s\n", name, interval(c.Interval), interval(c.Relative), c.Verdict)
		}
		for _, name := range slices.Sorted(maps.Keys(q.Arms)) {
			show("arm "+name, q.Arms[name])
		}
		show("served", q.Served)
		if q.Deployed != nil {
			show("deployed", *q.Deployed)
		}
		show("so far", q.SoFar)
	}
	for _, h := range r.History {
		fmt.Fprintf(b, "version %d: served", h.Version)
		for _, p := range []map[string]float64{h.Mixture, h.Deployed} {
			for _, name := range slices.Sorted(maps.Keys(p)) {
				fmt.Fprintf(b, " %s=%.2f", name, p[name])
			}
			b.WriteString(",")
		}
		if h.Lift != nil {
			fmt.Fprintf(b, " lift %s, deployed %s", interval(h.Lift.Served), interval(h.Lift.Deployed))
		}
		b.WriteString("\n")
	}
}

// TestLiftWithinRange serves a mixture that is the control arm but for a share of 0.0006, of which
// next to nothing is known. Its values are in [0, 1], so that it differs from the control by no
// more than 0.0006, and loses 0.06 % of the control's mean at worst.
func TestLiftWithinRange(t *testing.T) {
	t.Parallel()
	const share, level, metric = 0.0006, 0.3, "{name: x, range: [0, 1]}"
	w := newLiftWorld(t, 5, metric)
	w.run("apply\n" + strings.Replace(liftDefinition(metric, share), "hard: false", "hard: true", 1))
	w.sums(0, []int64{4998, 2}, level)
	for _, kind := range []string{api.LiftGoal, api.LiftObjective, api.LiftGuardrail} {
		q := w.quantity(kind)
		for what, c := range map[string]api.Comparison{"served": q.Served, "new": q.Arms["new"], "so far": q.SoFar} {
			most := 1.0
			if what == "served" {
				most = share
			}
			if c.Low == nil || *c.Low < -most-1e-12 || *c.High > most+1e-12 || *c.Low > *c.Estimate ||
				*c.High < *c.Estimate {
				t.Errorf("%s: %s: %s in [%s, %s]: want within ±%v", kind, what, number(c.Estimate), number(c.Low),
					number(c.High), most)
			}
			if what == "new" {
				continue // the control's mean in its versions is not known well enough
			}
			r := c.Relative
			if r.Low == nil || *r.Low < -most-1e-12 || *r.High > most*(1/(level-0.1)-1) || *r.Low > *r.Estimate ||
				*r.High < *r.Estimate {
				t.Errorf("%s: %s: relative %s in [%s, %s]: want at least %v", kind, what, number(r.Estimate),
					number(r.Low), number(r.High), -most)
			}
		}
		if c := q.Arms["new"]; kind != api.LiftGuardrail && c.Verdict != api.TooFew {
			t.Errorf("%s: new: %s, of an arm of which only the range is known", kind, c.Verdict)
		}
	}
	r := w.shown()
	last := r.History[len(r.History)-1].Lift.Served
	if last.Low == nil || *last.Low < -share-1e-12 || *last.High > share+1e-12 {
		t.Errorf("the last version: [%s, %s]", number(last.Low), number(last.High))
	}
	w.check()
}
