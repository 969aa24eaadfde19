package report_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/noregret/noregret/api"
	"github.com/noregret/noregret/experiment/definition"
	"github.com/noregret/noregret/experiment/report"
	"github.com/noregret/noregret/policy"
)

// text is a definition with a goal and a hard guardrail.
const text = `
name: shop
unit: user
arms: [{name: off, value: 0}, {name: low, value: 0.1}, {name: mid, value: 0.2}, {name: high, value: 0.3}]
control: {arm: off, share: 0.1}
metrics:
  - {name: sales, kind: mean, range: [0, 1]}
  - {name: complaints, kind: mean, range: [0, 1], direction: down}
objective: {goals: [{metric: sales}]}
guardrails:
  - {metric: complaints, max_change: 0.1, hard: true}
`

func define(t *testing.T) *definition.Definition {
	t.Helper()
	d, err := definition.Parse("test", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func number(v float64) *float64 { return &v }

func interval(estimate, low, high float64) api.Interval {
	return api.Interval{Estimate: number(estimate), Low: number(low), High: number(high)}
}

// day is the n-th day of the experiment.
func day(n int) time.Time { return time.Date(2026, 3, 1+n, 0, 0, 0, 0, time.UTC) }

// running is a report on day 10: sales are shown to be 5 % higher, and the guardrail is shown to
// hold.
func running() *api.Report {
	better := api.Comparison{
		Interval: interval(0.001, 0.0004, 0.0016), Relative: interval(0.05, 0.02, 0.08), Verdict: api.Better,
	}
	held := api.Comparison{Interval: interval(0.0001, 0, 0.0002), Verdict: api.ShownToHold}
	r := &api.Report{
		State: policy.Running, Created: day(0), Time: day(10), Arms: map[string]api.ArmReport{},
		Deployed: map[string]float64{"off": 0, "low": 0.1, "mid": 0.05, "high": 0.85},
		Lift: api.Lift{Control: "off", Quantities: []api.LiftQuantity{
			{Kind: api.LiftObjective, Direction: "up", Served: better, Deployed: &better},
			{Kind: api.LiftGoal, Metric: "sales", Direction: "up", Served: better, Deployed: &better},
			{Kind: api.LiftGuardrail, Metric: "complaints", Direction: "down", Served: held, Deployed: &held},
		}},
		Guardrails: []api.GuardrailReport{{
			Metric: "complaints", Kind: "max_change", Limit: 0.1, State: api.GuardHeld, Since: day(7),
			Interval: interval(0.04, 0, 0.08), Action: "alert",
		}},
	}
	for name, v := range map[string]string{"off": "0", "low": "0.1", "mid": "0.2", "high": "0.3"} {
		r.Arms[name] = api.ArmReport{Active: true, Value: json.RawMessage(v)}
	}
	return r
}

func TestHeadline(t *testing.T) {
	t.Parallel()
	goal := func(r *api.Report, c api.Comparison) {
		for i := range 2 {
			r.Lift.Quantities[i].Served, r.Lift.Quantities[i].Deployed = c, &c
		}
	}
	open := func(estimate, low, high float64) func(r *api.Report) {
		return func(r *api.Report) {
			r.Guardrails[0].State, r.Guardrails[0].Interval = api.GuardOk, interval(estimate, low, high)
			r.Lift.Quantities[2].Deployed.Verdict = api.NotYetKnown
			r.Lift.Quantities[2].Deployed.Relative = r.Guardrails[0].Interval
		}
	}
	private := func(released int64, ended string) func(r *api.Report) {
		return func(r *api.Report) {
			r.Lift = api.Lift{Reason: "the experiment is private: there are no confidence sequences of raw feedback"}
			r.Guardrails[0].State, r.Guardrails[0].Interval = api.GuardOk, api.Interval{}
			r.Privacy = &api.PrivacyReport{Rounds: 28, Released: released, Ended: ended}
		}
	}
	for _, c := range []struct {
		name   string
		change func(r *api.Report)
		next   string
		days   float64 // 0 for none
		has    string  // what the text has, after ^ what it begins with
	}{
		{"all is known", func(*api.Report) {}, api.NextConclude, 0, "what is served raises sales by 5.0 % against " +
			"off (+2.0 % to +8.0 %); guardrails shown to hold: complaints (since 2026-03-08); conclude."},
		{"two neighbours", func(r *api.Report) {
			r.Deployed = map[string]float64{"off": 0.1, "low": 0, "mid": 0.4, "high": 0.5}
		}, api.NextAddArms, 0, "conclude, or add arms between mid and high."},
		{"two arms that are no neighbours", func(r *api.Report) {
			r.Deployed = map[string]float64{"off": 0.5, "low": 0, "mid": 0, "high": 0.5}
		}, api.NextConclude, 0, "conclude."},
		// half-width .06 at distance .05 from 0, after 10 days: 10·(1.44 − 1) = 4.4
		{"a gain that is not shown yet", func(r *api.Report) {
			goal(r, api.Comparison{
				Interval: interval(0.05, -0.01, 0.11), Relative: interval(0.05, -0.01, 0.11), Verdict: api.NoDifference,
			})
		}, api.NextWait, 5, "shows no difference from off in sales yet (−1.0 % to +11.0 %); guardrails shown to " +
			"hold: complaints (since 2026-03-08); wait some 5 days for sales."},
		// half-width .12 at distance .06 from the limit .1: 10·(4 − 1) = 30
		{"a guardrail that is open", open(0.04, -0.08, 0.16), api.NextWait, 30, "guardrails not yet known: " +
			"complaints; wait some 30 days for complaints."},
		{"a guardrail that stays open", open(0.09, -0.08, 0.26), api.NextDropMetric, 2880, "complaints would stay " +
			"open for some 2880 days: drop it, or give it a wider limit."},
		{"a guardrail beyond its limit", open(0.12, 0.05, 0.2), api.NextWait, 0, "wait for complaints."},
		{"a guardrail that is open in what would be deployed", func(r *api.Report) {
			open(0.04, -0.08, 0.16)(r)
			r.Guardrails[0].State, r.Guardrails[0].Interval = api.GuardHeld, interval(0.01, 0, 0.02)
		}, api.NextWait, 30, "shown to hold: complaints (since 2026-03-08); wait some 30 days for complaints, which " +
			"is open in what would be deployed."},
		{"contexts", func(r *api.Report) {
			r.Lift = api.Lift{Reason: "means do not compare"}
			g := api.UniformGoal{Metric: "sales", Gain: interval(0.02, 0.01, 0.03)}
			r.Uniform = &api.UniformReport{Covered: 100, Goals: []api.UniformGoal{g}}
		}, api.NextWait, 0, "what is served changes sales by 0.02 per unit against the uniform policy (0.01 to 0.03)"},
		{"no data", func(r *api.Report) {
			goal(r, api.Comparison{Verdict: api.TooFew})
		}, api.NextWait, 0, "there is not enough data to say what is gained in sales"},
		{"a small gain that stays open", func(r *api.Report) {
			goal(r, api.Comparison{Interval: interval(0.01, -0.09, 0.11), Verdict: api.NoDifference})
		}, api.NextDropMetric, 990, "sales would stay open for some 990 days: conclude, or try arms that differ more."},
		{"a loss", func(r *api.Report) {
			goal(r, api.Comparison{
				Interval: interval(-0.05, -0.1, -0.01), Relative: interval(-0.05, -0.1, -0.01), Verdict: api.Worse,
			})
		}, api.NextLook, 0, "what is served lowers sales by 5.0 % against off (−10.0 % to −1.0 %), which is a loss"},
		{"broken", func(r *api.Report) {
			r.Guardrails[0].State = api.GuardBreached
		}, api.NextLook, 0, "guardrails shown broken: complaints (since 2026-03-08); roll back, or retire the arms " +
			"that break complaints."},
		{"a wrong ratio of samples", func(r *api.Report) {
			r.Health.SampleRatio.Mismatch = true
		}, api.NextLook, 0, "not exposed as they were decided"},
		{"paused", func(r *api.Report) { r.State = policy.Paused }, api.NextResume, 0, "it is paused"},
		{"rolled back", func(r *api.Report) {
			goal(r, api.Comparison{Interval: interval(0, 0, 0), Relative: interval(0, 0, 0), Verdict: api.NoDifference})
			r.State = policy.RolledBack
		}, api.NextResume, 0, "^it is rolled back and all units get the control arm: resume it when the cause is " +
			"mended, or delete it."},
		{"the control arm alone", func(r *api.Report) {
			goal(r, api.Comparison{Interval: interval(0, 0, 0), Relative: interval(0, 0, 0), Verdict: api.NoDifference})
			r.State = policy.Concluded
		}, api.NextNothing, 0, "^all units get the control arm, off; guardrails"},
		{"concluded without a difference", func(r *api.Report) {
			goal(r, api.Comparison{Interval: interval(0.01, -0.09, 0.11), Verdict: api.NoDifference})
			r.State = policy.Concluded
		}, api.NextNothing, 0, "shows no difference from off in sales (−0.09 to 0.11)"},
		{"private", private(3, ""), api.NextWait, 0, "^the experiment is private, so no interval is published and no " +
			"guardrail is judged; look at the released sums, and conclude when they say enough."},
		{"private, without a release", private(0, ""), api.NextWait, 0, "judged; wait for the first release of sums."},
		{"private, after the last release", private(28, ""), api.NextConclude, 0, "judged; nothing more is released: " +
			"look at the released sums, and conclude."},
		{"private, ended", private(0, "the key is lost"), api.NextConclude, 0, "judged; nothing more is released: "},
		{"concluded", func(r *api.Report) { r.State = policy.Concluded }, api.NextNothing, 0, "nothing is left to do"},
		{"without a control", func(r *api.Report) {
			r.Lift = api.Lift{Reason: "there is no control arm to compare the others with"}
		}, api.NextWait, 0, "no gain is estimated, because there is no control arm"},
	} {
		r := running()
		c.change(r)
		h := report.Headline(define(t), r)
		var days float64
		if h.Days != nil {
			days = *h.Days
		}
		start, first := strings.CutPrefix(c.has, "^")
		has := strings.Contains(h.Text, start) && (!first || strings.HasPrefix(h.Text, start))
		if h.Next != c.next || !has || days < c.days-1e-6 || days > c.days+1e-6 {
			t.Errorf("%s: %s after %v days: %q; want %s after %v days: %q", c.name, h.Next, days, h.Text, c.next,
				c.days, c.has)
		}
	}
}
