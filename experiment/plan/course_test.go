package plan

import (
	"context"
	"strings"
	"testing"

	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/testsize"
)

// shop is a definition with a hard guardrail and a place for another form of it.
const shop = `
name: shop
arms: [{name: today, value: 0}, {name: a, value: 1}, {name: b, value: 2}, {name: c, value: 3}]
control: {arm: today, share: 0.2}
metrics: [{name: clicks, kind: count, range: [0, 1]}, {name: buys, kind: count, range: [0, 1]}, REVENUE]
objective: {goals: [{metric: clicks}]}
guardrails: [GUARDRAIL]
round: {length: 6h}
attribution_window: 6h
plan:
  units_per_day: 200000
  expect: {clicks: {mean: 0.1}, buys: {mean: 0.05}, revenue: {mean: 1.2, rate: 0.02, sigma: 1.8}}
  improvement: 0.05
`

// shopWith returns the definition with a guardrail and a form of revenue.
func shopWith(guardrail, revenue string) string {
	return strings.NewReplacer("GUARDRAIL", guardrail, "REVENUE", "{name: revenue"+revenue+"}").Replace(shop)
}

// rare returns the definition with a guardrail on a rate of .3 %.
func rare(guardrail string) string {
	return strings.ReplaceAll(shopWith(guardrail, ""), "buys: {mean: 0.05}", "buys: {mean: 0.003}")
}

// other returns the definition with other arms and a control with a value of its own.
func other(arms string) string {
	text := shopWith("{metric: buys, min_change: -0.05}", "")
	from, to := strings.Index(text, "arms: "), strings.Index(text, "metrics: ")
	return text[:from] + "arms: " + arms + "\ncontrol: {arm: today, share: 0.2, value: {weight: 0.2, fresh: false}}\n" +
		text[to:]
}

// The days until the gain is served, by the course without noise and by simulation, are within a
// factor of two of each other, where hard guardrails leave little room and where there is none.
func TestGainAgreesWithSimulation(t *testing.T) {
	testsize.NoRace(t)
	for _, c := range []struct {
		name, text string
		horizon    float64
	}{
		{"free", shopWith("", ""), 10},
		{"soft", shopWith("{metric: buys, min_change: -0.05, hard: false}", ""), 10},
		{"change", shopWith("{metric: buys, min_change: -0.05}", ""), 20},
		{"limit", shopWith("{metric: buys, min: 0.04}", ""), 20},
		{
			"change of capped revenue", shopWith("{metric: revenue, min_change: -0.1}", ", range: [0, 1e6], cap: 500"),
			30,
		},
		{"change of revenue without a range", shopWith("{metric: revenue, min_change: -0.1}", ""), 80},
		{"soft limit on a rare rate", rare("{metric: buys, min: 0.0025, hard: false}"), 20},
		{"limit on a rare rate", rare("{metric: buys, min: 0.0025}"), 40},
		{"grid", other("{grid: {weight: [0, 0.5, 1], fresh: [false, true]}}"), 40},
		{"box", other("{box: {weight: {low: 0, high: 1}}, nodes: 6, every: 50}"), 40},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := DefaultOptions()
			o.Runs, o.Horizon = testsize.Of(20, 5), c.horizon
			d, _ := Simplify(parse(t, c.text))
			r, err := Compute(context.Background(), d, o)
			if err != nil {
				t.Fatal(err)
			}
			form, simulated := r.Gain.Days.ClosedForm, r.Gain.Days.Simulated
			if form == nil || simulated == nil {
				t.Fatalf("%v: want both methods to answer within %v days", r.Gain.Days, c.horizon)
			}
			t.Logf("%v days in closed form, %v simulated", *form, *simulated)
			if ratio := *simulated / *form; ratio < 0.5 || ratio > 2 {
				t.Errorf("%v days in closed form, %v simulated: want a factor of at most 2", *form, *simulated)
			}
		})
	}
}

// What hard guardrails leave room for decides when the gain is served: the less room, the later.
func TestRoomDelaysTheGain(t *testing.T) {
	days := func(guardrail string) float64 {
		r, err := Compute(context.Background(), parse(t, shopWith(guardrail, "")), Options{})
		if err != nil {
			t.Fatal(err)
		}
		if r.Gain.Days.ClosedForm == nil {
			t.Fatalf("%s: no answer", guardrail)
		}
		return *r.Gain.Days.ClosedForm
	}
	free := days("")
	for _, form := range []string{"min_change: -0.2", "min_change: -0.05", "min_change: -0.02"} {
		v := days("{metric: buys, " + form + "}")
		if !(v >= free) || form != "min_change: -0.2" && v == free {
			t.Errorf("%s: %v days, want more than %v", form, v, free)
		}
		free = v
	}
	if one, two := days("{metric: buys, min_change: -0.05}"),
		days("{metric: buys, min_change: -0.05}, {metric: buys, min: 0.045}"); two < one {
		t.Errorf("%v days with one guardrail, %v with two", one, two)
	}
}

// A policy that holds a guardrail in what it serves is not expected to breach it.
func TestPrevented(t *testing.T) {
	for guardrail, want := range map[string]bool{
		"{metric: buys, min_change: -0.05}":                 true,
		"{metric: buys, min_change: -0.05, hold: deployed}": false,
		"{metric: buys, min_change: -0.05, hard: false}":    false,
	} {
		r, err := Compute(context.Background(), parse(t, shopWith(guardrail, "")), Options{})
		if err != nil {
			t.Fatal(err)
		}
		g := &r.Guardrails[0]
		if g.Prevented != want || (g.Breached.ClosedForm == nil) != want || g.Held.ClosedForm == nil {
			t.Errorf("%s: %+v", guardrail, g)
		}
	}
}

// The moments of capped log-normal values are those of simulated ones.
func TestLognormal(t *testing.T) {
	d := parse(t, shopWith("", ", cap: 300"))
	r := random.New(1, "lognormal")
	e, m := d.Plan.Expect["revenue"], d.Metric("revenue")
	s := draw(r, m, &e, mean(d, 2), 40_000_000)
	first, square := s.Sum/float64(s.N), s.Squares/float64(s.N)
	wanted := variance(d, 2) + mean(d, 2)*mean(d, 2)
	if relative := first/mean(d, 2) - 1; relative < -0.01 || relative > 0.01 {
		t.Errorf("mean %v, want %v", first, mean(d, 2))
	}
	if relative := square/wanted - 1; relative < -0.03 || relative > 0.03 {
		t.Errorf("mean square %v, want %v", square, wanted)
	}
	if *s.High > 300 || mean(d, 2) > 1.2 {
		t.Errorf("a value of %v, and a mean of %v: want at most the cap of 300 and less than 1.2", *s.High, mean(d, 2))
	}
}
