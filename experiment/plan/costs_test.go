package plan

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/noregret/noregret/experiment/definition"
)

// parsed returns a definition that is planned.
func parsed(t *testing.T, text string) *definition.Definition {
	t.Helper()
	d, err := definition.Parse("x.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

const limited = `name: x
arms: [{name: a, value: 0}, {name: b, value: 1}, {name: c, value: 2}, {name: d, value: 3}]
control: {arm: a, share: 0.1}
metrics: [{name: y, kind: count, range: [0, 1], default: 0}, {name: bad, kind: count, range: [0, 1], default: 0,
  direction: down}]
objective: {goals: [{metric: y}]}
guardrails: [{metric: bad, max: LIMIT}]
max_share: {arms: {c: 0.5}}
round: {length: 6h}
attribution_window: 24h
plan: {units_per_day: 20000, expect: {y: {mean: 0.05}, bad: {mean: 0.02}}, improvement: 0.1}
`

// TestCosts checks that the days are those of the definition without the part, the earliest first.
func TestCosts(t *testing.T) {
	d := parsed(t, strings.Replace(limited, "LIMIT", "0.022", 1))
	r, err := Closed(t.Context(), d)
	if err != nil {
		t.Fatal(err)
	}
	free := *d
	free.Guardrails = nil
	want, err := gainDays(t.Context(), &free)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Gain.Costs) != 2 || r.Gain.WaitsFor != "guardrail bad max 0.022" {
		t.Fatalf("%+v", r.Gain)
	}
	for _, c := range r.Gain.Costs {
		if c.Without == "guardrail bad max 0.022" && (c.Days == nil || *c.Days != *want) {
			t.Errorf("without the guardrail %v days, want %v", c.Days, *want)
		}
	}
}

// TestTwoArmsWithoutControl checks that a definition from which no arm can be left out is planned.
func TestTwoArmsWithoutControl(t *testing.T) {
	d := parsed(t, `name: x
arms: [{name: a, value: 0}, {name: b, value: 1}]
metrics: [{name: y, kind: count, range: [0, 1], default: 0}]
objective: {goals: [{metric: y}]}
plan: {units_per_day: 10000, expect: {y: {mean: 0.05}}, improvement: 0.1}
`)
	if r, err := Closed(t.Context(), d); err != nil || len(r.Gain.Costs) != 0 {
		t.Errorf("%+v, %v", r, err)
	}
}

// TestAdvise checks that what is proposed is a definition that is in time, whose limits are wider.
func TestAdvise(t *testing.T) {
	d := parsed(t, strings.Replace(limited, "LIMIT", "0.022", 1))
	days, err := gainDays(t.Context(), d)
	if err != nil {
		t.Fatal(err)
	}
	within := *days / 2
	a, err := Advise(t.Context(), d, within)
	if err != nil || len(a.Changes) == 0 || a.Days == nil || *a.Days > within {
		t.Fatalf("%+v, %v", a, err)
	}
	got := parsed(t, a.Definition)
	if now, err := gainDays(t.Context(), got); err != nil || now == nil || *now > within {
		t.Errorf("the proposed definition takes %v days, want at most %v: %v", now, within, err)
	}
	if limit, _, _, _ := got.Guardrails[0].Limit(); limit < 0.022 {
		t.Errorf("the limit is %v, tighter than before", limit)
	}
}

// TestAdviseLeavesLimitsThatDoNotHold checks that a limit which the control is expected to break is
// not made tighter, and a soft one is left alone.
func TestAdviseLeavesLimitsThatDoNotHold(t *testing.T) {
	for _, limit := range []string{"0.015", "0.03, hard: false"} {
		d := parsed(t, strings.Replace(limited, "LIMIT", limit, 1))
		list, err := steps(d, []int{0})
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range list {
			if v.guardrail >= 0 {
				t.Errorf("%s: %s", limit, v.what)
			}
		}
	}
}

// TestFewerArmsIsADefinition checks that the definition with half of the arms is accepted, although
// an arm that is left out has a largest share.
func TestFewerArmsIsADefinition(t *testing.T) {
	c, out, of, err := fewerArms(parsed(t, strings.Replace(limited, "LIMIT", "0.022", 1)))
	if err != nil || out != 1 || of != 3 {
		t.Fatal(out, of, err)
	}
	text, err := definition.Text(c)
	if err != nil {
		t.Fatal(err)
	}
	if got := parsed(t, text); len(got.Arms.List) != 3 {
		t.Errorf("%d arms", len(got.Arms.List))
	}
}

// A plan that is no longer wanted ends with the error of its context.
func TestClosedEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Closed(ctx, parsed(t, manyParts(100, 6))); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v: want that of the context", err)
	}
}

// TestAdviseUnits checks that where changes are not enough the advice is a number of units a day
// that is, and where no number is, the days that windows and rounds take alone.
func TestAdviseUnits(t *testing.T) {
	d := parsed(t, strings.Replace(limited, "LIMIT", "0.022", 1))
	d.Guardrails[0].Hard = false // no limit can be widened
	with := func(units float64) float64 {
		t.Helper()
		c, p := *d, *d.Plan
		p.UnitsPerDay, c.Plan = units, &p
		days, err := gainDays(t.Context(), &c)
		if err != nil {
			t.Fatal(err)
		}
		return *days
	}
	least := with(mostPlanned)
	within := least + 0.1
	for _, planned := range []float64{10, 2000} {
		d.Plan.UnitsPerDay = planned
		a, err := Advise(t.Context(), d, within)
		if err != nil || a.UnitsPerDay == nil || a.LeastDays != nil {
			t.Fatalf("%v units a day: %+v, %v", planned, a, err)
		}
		if at, below := with(*a.UnitsPerDay), with(0.99**a.UnitsPerDay); !(at <= within && below > within) {
			t.Errorf("%v units a day: %v days with %v, %v with fewer, want at most %v", planned, at, *a.UnitsPerDay,
				below, within)
		}
	}
	a, err := Advise(t.Context(), d, least-0.1)
	if err != nil || a.UnitsPerDay != nil || a.LeastDays == nil || *a.LeastDays != least {
		t.Errorf("%+v, %v: want %v days at least", a, err, least)
	}
}
