package plan

import (
	"context"
	"math"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/noregret/noregret/confseq"
	"github.com/noregret/noregret/experiment/definition"
	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/stat"
	"github.com/noregret/noregret/internal/testsize"
)

func parse(t *testing.T, text string) *definition.Definition {
	t.Helper()
	d, err := definition.Parse("plan.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

const split = `
name: button
arms: [{name: old, value: 1}, {name: new, value: 2}]
control: {arm: old}
metrics:
  - {name: clicks, kind: count, range: [0, 1]}
  - {name: time, range: [0, 100]}
guardrails:
  - {metric: clicks, min_change: -0.05}
  - {metric: clicks, min: 0.019}
policy: {kind: fixed, split: {old: 0.5, new: 0.5}}
round: {length: 6h}
attribution_window: 1h
plan:
  units_per_day: 400000
  expect: {clicks: {mean: 0.02}, time: {mean: 10, sd: 5}}
  days: [7, 28]
`

// The times of a private experiment are not those of raw feedback, and are refused, also without a
// simulation.
func TestPrivateRefused(t *testing.T) {
	text := strings.NewReplacer("range: [0, 1]}", "range: [0, 1], default: 0}", "range: [0, 100]}",
		"range: [0, 100], default: 0}", "policy: {kind: fixed, split: {old: 0.5, new: 0.5}}",
		"objective: {goals: [{metric: clicks}]}\nprivacy: {epsilon: 1, delta: 1e-6}", "{arm: old}",
		"{arm: old, share: 0.1}").Replace(split)
	for _, runs := range []int{0, 1} {
		o := DefaultOptions()
		o.Runs = runs
		r, err := Compute(context.Background(), parse(t, text), o)
		if err == nil || r != nil || !strings.Contains(err.Error(), "privacy: a plan is for raw feedback") {
			t.Errorf("%d runs: %v, %v", runs, r, err)
		}
	}
}

// Half of the runs should cross a boundary by the day on which their mean does.
func TestClosedFormAgreesWithSimulation(t *testing.T) {
	o := DefaultOptions()
	o.Runs = testsize.Of(60, 12)
	r, err := Compute(context.Background(), parse(t, split), o)
	if err != nil {
		t.Fatal(err)
	}
	for i := range r.Guardrails {
		g := &r.Guardrails[i]
		for _, v := range []Time{g.Held, g.Breached} {
			if v.ClosedForm == nil || v.Simulated == nil {
				t.Errorf("%s %s: %v, want both methods to answer", g.Metric, g.Kind, v)
				continue
			}
			if ratio := *v.Simulated / (*v.ClosedForm + 0.25); ratio < 0.5 || ratio > 1.7 {
				t.Errorf("%s %s: %v days in closed form, %v simulated", g.Metric, g.Kind, *v.ClosedForm, *v.Simulated)
			}
		}
	}
}

// The smallest detectable effect is detected by its day in about half of the runs, and an effect of
// twice the size in nearly all.
func TestSmallestEffect(t *testing.T) {
	d := parse(t, split)
	r, err := Compute(context.Background(), d, Options{})
	if err != nil {
		t.Fatal(err)
	}
	size := *r.Effects[0].Smallest[0]
	const days, perDay, alpha = 7, 200_000, 0.025
	runs := testsize.Of(400, 40)
	seen := func(effect float64) float64 {
		n := 0
		for run := range runs {
			source := random.New(uint64(run), "smallest effect")
			var c confseq.Contrast
			for range days {
				group := func(rate float64) confseq.Group {
					v := stat.Binomial(source, perDay, rate) / perDay
					return confseq.Group{N: perDay, Mean: v, Per: 1, Square: perDay * v * (1 - v), Farthest: 1 - v}
				}
				c.AddArm(group(0.02*(1+effect)), group(0.02), 2*perDay)
			}
			low, _ := c.Interval(0, alpha, confseq.ContrastOptions{Width: 1, Tight: c.Tight(effect), Inflation: 1})
			if low > 0 {
				n++
			}
		}
		return float64(n) / float64(runs)
	}
	if got := seen(size); got < 0.25 || got > 0.75 {
		t.Errorf("an effect of %v is detected in %v of the runs, want about half", size, got)
	}
	if got := seen(2 * size); got < 0.9 {
		t.Errorf("an effect of %v is detected in %v of the runs, want nearly all", 2*size, got)
	}
	if two := *r.Effects[0].Smallest[1]; math.Abs(two/size-0.5) > 0.05 {
		t.Errorf("in four times the days the smallest effect is %v, before it is %v: want half", two, size)
	}
}

const learned = `
name: ranking
arms: [{name: a, value: 1}, {name: b, value: 2}, {name: c, value: 3}]
control: {arm: a, share: 0.2}
metrics: [{name: clicks, kind: count, range: [0, 1]}]
objective: {goals: [{metric: clicks}]}
round: {length: 2h}
attribution_window: 1h
plan: {units_per_day: 400000, expect: {clicks: {mean: 0.02}}, improvement: 0.2}
`

func TestGain(t *testing.T) {
	d := parse(t, learned)
	o := DefaultOptions()
	o.Runs, o.Horizon = 4, 14
	r, err := Compute(context.Background(), d, o)
	if err != nil {
		t.Fatal(err)
	}
	if r.Gain == nil || r.Gain.Days.ClosedForm == nil || *r.Gain.Days.ClosedForm > 1 {
		t.Errorf("gain %+v: want 90 %% of an improvement of 20 %% within a day in closed form", r.Gain)
	}
	first, last := r.Gain.Curve[0], r.Gain.Curve[len(r.Gain.Curve)-1]
	if first.Gain > 0.6 || last.Gain < 0.7 || last.Day != 14 {
		t.Errorf("the served share of the gain goes from %v to %v, want it to grow", first, last)
	}
	again, err := Compute(context.Background(), d, o)
	if err != nil || !reflect.DeepEqual(r, again) {
		t.Errorf("the same seed gave another plan, %v", err)
	}
}

// With a control that breaks its own guardrail there is no answer.
func TestControlBreaks(t *testing.T) {
	r, err := Compute(context.Background(), parse(t, strings.Replace(split, "min: 0.019", "min: 0.03", 1)), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if g := r.Guardrails[1]; g.Held.ClosedForm != nil || g.Breached.ClosedForm != nil {
		t.Errorf("%+v: want no answer", g)
	}
}

func TestRefused(t *testing.T) {
	with := func(old, now string) *definition.Definition { return parse(t, strings.Replace(split, old, now, 1)) }
	box := parse(t, `
name: box
arms: {box: {x: {low: 0, high: 1}}}
metrics: [{name: y, range: [0, 1]}]
objective: {goals: [{metric: y}]}
plan: {units_per_day: 1000, expect: {y: {mean: 0.5, sd: 0.1}}}
`)
	none := with("clicks: {mean: 0.02}", "clicks: {mean: 0.02}")
	none.Plan = nil
	for _, c := range []struct {
		name string
		d    *definition.Definition
		o    Options
		want string
	}{
		{"no plan", none, Options{}, "plan: missing"},
		{"box", box, Options{}, "arms: a box"},
		{"runs", parse(t, split), Options{Runs: -1}, "runs: -1"},
		{"horizon", parse(t, split), Options{Runs: 1}, "horizon: 0"},
	} {
		if _, err := Compute(context.Background(), c.d, c.o); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Compute(ctx, parse(t, split), DefaultOptions()); err != context.Canceled {
		t.Errorf("a canceled context: %v", err)
	}
}

// A plan for a metric of negative mean has the days of its mirror image: y ↦ −y turns a lower limit
// of the change into an upper one.
func TestNegativeMeans(t *testing.T) {
	for _, form := range []string{
		"policy: {kind: fixed, split: {today: 0.5, a: 0.2, b: 0.2, c: 0.1}}", "",
		"ramp: [{share: 0.05, time: 48h}]",
	} {
		text := shopWith("{metric: revenue, max_change: 0.1}", "") + form
		text = strings.Replace(text, "{mean: 1.2, rate: 0.02, sigma: 1.8}", "{mean: 1.2, sd: 2}", 1)
		if strings.Contains(form, "fixed") {
			text = strings.Replace(text, ", share: 0.2", "", 1)
		}
		mirror := strings.NewReplacer("max_change: 0.1", "min_change: -0.1", "mean: 1.2, sd",
			"mean: -1.2, sd").Replace(text)
		compute := func(text string) *Result {
			r, err := Closed(t.Context(), parse(t, text))
			if err != nil {
				t.Fatal(err)
			}
			return r
		}
		show := func(v *float64) string {
			if v == nil {
				return "never"
			}
			return strconv.FormatFloat(*v, 'g', 9, 64)
		}
		one, other := compute(text), compute(mirror)
		a, b := &one.Guardrails[0], &other.Guardrails[0]
		if a.Held.ClosedForm == nil {
			t.Errorf("%s: never shown to hold", form)
		}
		for _, p := range [][2]*float64{
			{a.Held.ClosedForm, b.Held.ClosedForm}, {a.Breached.ClosedForm, b.Breached.ClosedForm},
		} {
			if show(p[0]) != show(p[1]) {
				t.Errorf("%s: %s days, mirrored %s", form, show(p[0]), show(p[1]))
			}
		}
	}
}
