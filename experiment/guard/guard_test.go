package guard

import (
	"math"
	"slices"
	"testing"

	"github.com/noregret/noregret/api"
	"github.com/noregret/noregret/confseq"
	"github.com/noregret/noregret/experiment/definition"
	"github.com/noregret/noregret/experiment/join"
)

func parse(t *testing.T, text string) *definition.Definition {
	t.Helper()
	d, err := definition.Parse("test", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// evidenceOf returns the evidence of an experiment whose first arm is the control, if it has one,
// and whose first version serves a mixture.
func evidenceOf(t *testing.T, d *definition.Definition, mixture []float64) *Evidence {
	t.Helper()
	control := -1
	if d.Control != nil {
		control = 0
	}
	x := join.New(nil, d)
	for range mixture {
		x.AddArm(d)
	}
	x.Begin(d, join.Start{Version: 1, Round: 1, Stream: 1, Mixture: mixture, Control: control, Learnable: true}, 0)
	return &Evidence{Definition: d, Control: control, Initial: len(mixture), Joined: x}
}

// units lets n units of an arm have values of a metric with a mean, half of them above it by the
// deviation and half below.
func (e *Evidence) units(arm, metric int, n int64, mean, deviation float64) {
	v := e.Joined.Running()
	s := confseq.Sequence{
		N: n, Mean: mean, M2: float64(n) * deviation * deviation, Low: mean - deviation, High: mean + deviation,
	}
	v.Stats[arm].Units += n
	v.Stats[arm].Metrics[metric].Merge(s)
	e.Joined.Arms[arm].Units += n
	e.Joined.Arms[arm].Metrics[metric].Merge(s)
	e.all = nil
}

// TestAlphaIsSpentOnce checks that the arms' parts of alpha never sum to more than alpha, however
// many arms are added.
func TestAlphaIsSpentOnce(t *testing.T) {
	d := parse(t, "name: x\narms: [{name: a, value: 1}]\nmetrics: [{name: m}]\n"+
		"policy: {kind: fixed, split: {a: 1}}\nguardrails: [{metric: m, min: 0}]\n")
	for founders := 1; founders < 2000; founders += 333 {
		e, sum := &Evidence{Definition: d, Initial: founders}, 0.0
		for k := range 10_000 {
			sum += e.armAlpha(&d.Guardrails[0], k)
		}
		if sum += servedAlpha * .05; sum > .05+1e-12 || sum < .0499 {
			t.Errorf("%d initial arms: alpha sums to %v", founders, sum)
		}
	}
}

const judged = "name: x\narms: [{name: c, value: 0}, {name: a, value: 1}, {name: b, value: 2}]\n" +
	"control: {arm: c, share: 0.4}\nmetrics: [{name: s, range: [0, 1]}, {name: m, range: [0, 1]}]\n" +
	"objective: {goals: [{metric: s}]}\n"

// stoppable returns arms of which none is stopped.
func stoppable(names ...string) (out []Arm) {
	for _, name := range names {
		out = append(out, Arm{Name: name, Active: true, Stopped: &Stopped{}})
	}
	return out
}

// TestJudge judges a mixture before there are data, when it holds its limit, and when it breaks it:
// the demand and what is remembered are those of the guardrail's action, once for each breach.
func TestJudge(t *testing.T) {
	for _, c := range []struct {
		action string
		want   *Demand
	}{
		{"alert", nil},
		{"shrink", &Demand{Cause: Shrink}},
		{"rollback", &Demand{Cause: Rollback, Metric: "m"}},
	} {
		d := parse(t, judged+"guardrails: [{metric: m, min: 0.5, hard: false, action: "+c.action+"}]\n")
		e := evidenceOf(t, d, []float64{.4, .3, .3})
		x := New(d, 1, 5)
		j := &Judgement{Mixture: []float64{.4, .3, .3}, Version: 1, Now: 10}
		arms := stoppable("c", "a", "b")
		if v := x.Judge(e, arms, j); v.Demand != nil || len(v.Notes) > 0 || x.Guards[0].State != api.GuardUnknown {
			t.Errorf("%s: before there are data: %+v, %+v", c.action, v, x.Guards[0])
		}
		for k := range 3 {
			e.units(k, 1, 1000, 0.8, 0.1)
		}
		if v := x.Judge(e, arms, j); v.Demand != nil || len(v.Notes) != 1 || x.Guards[0].State != api.GuardHeld {
			t.Errorf("%s: good: %+v, %+v", c.action, v, x.Guards[0])
		}
		arms[1].Stop, arms[2].Stop = Vetoed, Vetoed // they are not judged by themselves
		for k := range 3 {
			e.units(k, 1, 100_000, 0.2, 0.1)
		}
		j.Now = 20
		v := x.Judge(e, arms, j)
		if x.Guards[0].State != api.GuardBreached || x.Guards[0].Since != 20 ||
			(v.Demand == nil) != (c.want == nil) || v.Demand != nil && *v.Demand != *c.want {
			t.Errorf("%s: broken: %+v, %+v", c.action, v.Demand, x.Guards[0])
		}
		if want := []Action{{Metric: "m", Action: c.action, Version: 1, Time: 20}}; !slices.Equal(x.Actions, want) {
			t.Errorf("actions %+v, want %+v", x.Actions, want)
		}
		if v := x.Judge(e, arms, j); v.Demand != nil || len(v.Notes) > 0 || len(x.Actions) != 1 {
			t.Errorf("%s: again: %+v", c.action, v)
		}
		if err := x.Logged(&x.Actions[0]); err != nil || !x.Actions[0].Logged {
			t.Errorf("logged: %v", err)
		}
		if err := x.Logged(&Action{Metric: "m", Action: "shrink", Version: 9}); err == nil {
			t.Error("an action that was not done is logged")
		}
	}
}

// TestStops stops an arm that by itself breaks a limit that every arm must hold, once, and leaves
// the control and the other arm.
func TestStops(t *testing.T) {
	d := parse(t, judged+"guardrails: [{metric: m, min: 0.5, each_arm: true, hard: false}]\n")
	e := evidenceOf(t, d, []float64{.4, .3, .3})
	x, arms := New(d, 1, 0), stoppable("c", "a", "b")
	for k, mean := range []float64{0.1, 0.9, 0.1} {
		e.units(k, 1, 10_000, mean, 0.05)
	}
	j := &Judgement{Mixture: []float64{.4, .3, .3}, Version: 1}
	v := x.Judge(e, arms, j)
	if v.Demand == nil || v.Demand.Cause != Stop || !v.Vetoed || len(v.Notes) != 1 {
		t.Fatalf("%+v", v)
	}
	for k, want := range []Reason{"", "", Vetoed} {
		if arms[k].Stop != want {
			t.Errorf("arm %s is stopped by %q: want %q", arms[k].Name, arms[k].Stop, want)
		}
	}
	// The veto is lifted: the arm still breaks the limit, and is not stopped again.
	arms[2].Stop = ""
	if v := x.Judge(e, arms, j); v.Demand != nil && v.Demand.Cause == Stop {
		t.Errorf("stopped again: %+v", v)
	}
}

// TestShrink moves a mixture that is not shown to hold a limit towards the control arm, which is,
// about so far that it is shown.
func TestShrink(t *testing.T) {
	d := parse(t, judged+"guardrails: [{metric: m, min: 0.5, hard: false, action: shrink}]\n")
	e := evidenceOf(t, d, []float64{.4, .3, .3})
	x := New(d, 1, 0)
	for k, mean := range []float64{0.9, 0.1, 0.9} {
		e.units(k, 1, 20_000, mean, 0.05)
	}
	p := []float64{0.1, 0.8, 0.1}
	x.Shrink(e, p)
	if p[1] != 0.8 {
		t.Errorf("no guardrail shrinks, and the mixture is %v", p)
	}
	x.Guards[0].Shrinking = true
	before := x.Slack(e, 0, p)
	x.Shrink(e, p)
	after := x.Slack(e, 0, p)
	if !(before.Low < 0) || !(after.Low >= -0.01) || !(p[1] > 0.05) || math.Abs(p[0]+p[1]+p[2]-1) > 1e-12 {
		t.Errorf("shrunk to %v, whose lower bound is %v of %v", p, after.Low, before.Low)
	}
	if !x.Guards[0].Shrinking || !x.Shown(e, 0, []float64{1, 0, 0}) || x.Shown(e, 0, []float64{0, 1, 0}) {
		t.Errorf("the guardrail no longer shrinks, or the control is not shown to hold it: %+v", x.Guards[0])
	}
}

// TestCacheChangesNothing judges with a cache what it judges without, while a version gets units.
func TestCacheChangesNothing(t *testing.T) {
	d := parse(t, judged+"guardrails: [{metric: m, min_change: -0.1, hard: false}, "+
		"{metric: s, min: 0.1, hard: false}]\n")
	e := evidenceOf(t, d, []float64{.4, .3, .3})
	e.Closed.Watch(d.ComparedMetrics())
	x, cache, p := New(d, 1, 0), new(Cache), []float64{.4, .3, .3}
	for i := range 20 {
		for k := range 3 {
			for m := range 2 {
				e.units(k, m, int64(10+i), 0.5-0.02*float64(k), 0.1)
			}
		}
		v := *e.Joined.Running() // as after an event: its sums have changed
		e.Cache, e.Fold = nil, false
		for g := range d.Guardrails {
			e.all = nil
			plain := x.Slack(e, g, p)
			cache.Forget()
			e.Cache, e.Fold, e.all = cache, true, nil
			for range 2 {
				got := x.Slack(e, g, p)
				if got.Low != plain.Low || got.High != plain.High || got.Estimate != plain.Estimate {
					t.Fatalf("version %d: %+v with a cache, %+v without", v.Version, got, plain)
				}
				e.all = nil
			}
			e.Cache, e.Fold = nil, false
		}
	}
}

// TestRamp waits for units and time, and enters the stage of a new ramp that has at least the share
// that is served.
func TestRamp(t *testing.T) {
	d := parse(t, judged+"ramp: [{share: 0.1, units: 100}, {share: 0.5, time: 1h}]\n")
	e := evidenceOf(t, d, []float64{.4, .3, .3})
	x, r := New(d, 1, 0), Ramp{}
	if w := r.Waits(&x, e, 0, 40, nil); !slices.Equal(w, []string{"units: 40 of 100"}) {
		t.Errorf("waits for %q", w)
	}
	if w := r.Waits(&x, e, 0, 100, nil); len(w) > 0 {
		t.Errorf("waits for %q", w)
	}
	r.Enter(1, 10, 100)
	if w := r.Waits(&x, e, 10, 100, nil); len(w) != 1 || r.Describe(d) != "ramp: stage 2 of 2, 0.5 of the traffic" {
		t.Errorf("waits for %q in %q", w, r.Describe(d))
	}
	after := parse(t, judged+"ramp: [{share: 0.2, time: 1h}, {share: 0.4, time: 1h}, {share: 0.7, time: 1h}]\n")
	r.Follow(d, after, 20, 300)
	if r != (Ramp{2, 20, 300}) || r.Over(after) {
		t.Errorf("%+v", r)
	}
	p := []float64{0.2, 0.8, 0}
	Dilute(p, 0.5, 0)
	if !slices.Equal(p, []float64{0.6, 0.4, 0}) {
		t.Errorf("diluted to %v", p)
	}
}
