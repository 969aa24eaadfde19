package plan

import (
	"context"
	"strings"
	"testing"

	"github.com/noregret/noregret/experiment/definition"
)

// TestWindows: the closed form waits for the window of each metric that decides, and for no other
// one.
func TestWindows(t *testing.T) {
	days := func(clicks, buys, revenue string) (gain, held float64) {
		t.Helper()
		text := shopWith("{metric: buys, min_change: -0.05}", ", range: [0, 1e6], default: 0, window: "+revenue)
		for name, window := range map[string]string{"clicks": clicks, "buys": buys} {
			text = strings.Replace(text, "{name: "+name+", kind: count, range: [0, 1]}",
				"{name: "+name+", kind: count, range: [0, 1], default: 0, window: "+window+"}", 1)
		}
		d, err := definition.Parse("shop.yaml", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		r, err := Closed(context.Background(), d)
		if err != nil {
			t.Fatal(err)
		}
		return *r.Gain.Days.ClosedForm, *r.Guardrails[0].Held.ClosedForm
	}
	soon, held := days("6h", "6h", "6h")
	if other, h := days("6h", "6h", "7d"); other != soon || h != held {
		t.Errorf("a metric that decides nothing, with a window of a week: %v and %v days, want %v and %v", other, h,
			soon, held)
	}
	// The guardrail holds the mixture back until it has matured.
	guarded, h := days("6h", "7d", "6h")
	late, all := days("7d", "7d", "7d")
	if !(guarded >= soon+6 && guarded <= late && h > held+6 && all > held+6) {
		t.Errorf("gain on day %v with a guardrail of a week, %v with one of six hours, %v with all of a week; held on "+
			"%v, %v, %v", guarded, soon, late, h, held, all)
	}
	goal, h := days("7d", "6h", "6h")
	if !(goal >= soon+6 && goal <= late+1 && h < held+6) {
		t.Errorf("gain on day %v with a goal of a week, %v with one of six hours; held on %v", goal, soon, h)
	}
}

// TestEffectsWaitForTheWindow: the smallest effect after some days is that of the units whose
// window has closed by then, of each metric by its own window.
func TestEffectsWaitForTheWindow(t *testing.T) {
	effects := func(purchases, days string) (clicks, bought []*float64) {
		t.Helper()
		r, err := Closed(t.Context(), parse(t, `name: checkout
arms: [{name: old, value: 1}, {name: new, value: 2}]
control: {arm: old, share: 0.2}
metrics:
  - {name: clicks, range: [0, 1], default: 0, window: 1d}
  - {name: purchases, range: [0, 1]`+purchases+`}
objective: {goals: [{metric: clicks}]}
round: {length: 1h}
plan:
  units_per_day: 20000
  expect: {clicks: {mean: 0.1, sd: 0.3}, purchases: {mean: 0.1, sd: 0.3}}
  days: [`+days+`]
`))
		if err != nil {
			t.Fatal(err)
		}
		return r.Effects[0].Smallest, r.Effects[1].Smallest
	}
	const week = ", default: 0, window: 7d"
	clicks, bought := effects(week, "7, 14, 28")
	sooner, _ := effects(week, "1, 8, 22")
	if bought[0] != nil || sooner[0] != nil {
		t.Error("an effect after as many days as the window has")
	}
	// As many units have matured of a week after 14 days as of a day after 8.
	for i := 1; i < 3; i++ {
		if *bought[i] != *sooner[i] || !(*bought[i] > *clicks[i]) {
			t.Errorf("effect %v with a window of a week, %v with one of a day after six days less, %v after the same "+
				"days", *bought[i], *sooner[i], *clicks[i])
		}
	}
	if _, month := effects(", default: 0, window: 30d", "7, 14, 28"); month[2] != nil {
		t.Errorf("an effect of %v after 28 days with a window of 30", *month[2])
	}
	// Without a default a value counts as soon as it is reported.
	if _, at := effects(", window: 7d", "7, 14, 28"); !(*at[0] < *clicks[0]) {
		t.Errorf("an effect of %v without a default, %v with one", *at[0], *clicks[0])
	}
}
