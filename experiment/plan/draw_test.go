package plan

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/experiment/definition"
	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/testsize"
)

// dropped is the definition whose simulation was refused with "squares: 153 for 17 observations
// with sum 3": few units of a count of a large deviation under a hard guardrail.
const dropped = `
name: drops
arms: [{name: old, value: 1}, {name: new, value: 2}]
control: {arm: old, share: 0.2}
metrics: [{name: clicks, kind: count, range: [0, 1]}, {name: drops, kind: count, range: [0, 50]}]
objective: {goals: [{metric: clicks}]}
guardrails: [{metric: drops, max_change: 0.2}]
round: {length: 1h}
attribution_window: 1h
plan:
  units_per_day: 500
  expect: {clicks: {mean: 0.1}, drops: {mean: 0.3, sd: 3}}
`

// A count with a deviation of its own plays under a hard guardrail.
func TestCountWithDeviation(t *testing.T) {
	o := DefaultOptions()
	o.Runs, o.Horizon = 3, 7
	if _, err := Compute(context.Background(), parse(t, dropped), o); err != nil {
		t.Error(err)
	}
}

// metricText draws a metric and its expectation that a definition may have.
func metricText(r *rapid.T, name string) (metric, expect string) {
	for range 20 {
		metric, expect = anyMetric(r, name)
		text := metricDefinition(strings.Replace(metric, name, "x", 1), strings.Replace(expect, name, "x", 1))
		if _, err := definition.Parse("x.yaml", []byte(text)); err == nil {
			return metric, expect
		}
	}
	r.Skip("no valid metric")
	return "", ""
}

// anyMetric draws a metric and its expectation, also such as are refused.
func anyMetric(r *rapid.T, name string) (metric, expect string) {
	pick := func(label string, values ...string) string { return rapid.SampledFrom(values).Draw(r, label) }
	kind := pick("kind", "count", "mean")
	form := "{name: " + name + ", kind: " + kind
	low, high := 0.0, math.Inf(1)
	if ends := pick("range", "", "0 1", "0 50", "0 3", "2 9", "-5 20", "0 1e6", "0.5 7.5", "0 1e15"); ends != "" &&
		(kind == "mean" || ends[0] != '-') {
		_, _ = fmt.Sscanf(ends, "%g %g", &low, &high)
		form += fmt.Sprintf(", range: [%g, %g]", low, high)
	}
	if c := pick("cap", "", "", "3", "2.5", "100"); c != "" {
		form += ", cap: " + c
	}
	top := min(high, 1e15)
	mean := rapid.OneOf(rapid.SampledFrom([]float64{low, top, low + 1, 0, 1, 1e-9, low + (top-low)*0.999}),
		rapid.Float64Range(0, 10), rapid.Float64Range(low, min(high, 1000))).Draw(r, "mean")
	expect = fmt.Sprintf("%s: {mean: %.17g", name, mean)
	switch pick("spread", "", "sd", "rate") {
	case "sd":
		expect += fmt.Sprintf(", sd: %.6g", rapid.OneOf(rapid.SampledFrom([]float64{1e-9, 1e-3, 1, 3, 1e6}),
			rapid.Float64Range(1e-3, 30)).Draw(r, "sd"))
	case "rate":
		expect += fmt.Sprintf(", rate: %.6g, sigma: %.6g", rapid.Float64Range(1e-3, 1).Draw(r, "rate"),
			rapid.Float64Range(0.01, 3).Draw(r, "sigma"))
	}
	return form + "}", expect + "}"
}

// Whatever metric and expectation a definition may have, the intake accepts every draw, for few
// units and for many, and for means of arms that are better or worse as far as the range allows.
func TestDrawsPassTheIntake(t *testing.T) {
	source := random.New(1, "draws")
	rapid.Check(t, func(r *rapid.T) {
		metric, expect := metricText(r, "x")
		d, err := definition.Parse("x.yaml", []byte(metricDefinition(metric, expect)))
		if err != nil {
			r.Skip(err.Error())
		}
		e, m := d.Plan.Expect["x"], &d.Metrics[0]
		low, high := m.Counted()
		at := mean(d, 0)
		for _, value := range []float64{at, low, high, min(max(1.05*at, low), high), min(max(0.3*at-1, low), high)} {
			n := rapid.OneOf(rapid.Int64Range(1, 20), rapid.Int64Range(1, 20_000)).Draw(r, "n")
			if e.Rate == nil && rapid.Bool().Draw(r, "many") {
				n = rapid.Int64Range(1, 1e15).Draw(r, "n")
			}
			s := draw(source, m, &e, value, n)
			if s.N != n {
				r.Fatalf("%d observations for %d units", s.N, n)
			}
			if _, err := m.FromSums(s); err != nil {
				text, _ := json.Marshal(s)
				r.Fatalf("%s, %s, mean %v, %d units: %s: %v", metric, expect, value, n, text, err)
			}
		}
	})
}

// metricDefinition is a definition with a metric x.
func metricDefinition(metric, expect string) string {
	return `
name: draws
arms: [{name: old, value: 1}, {name: new, value: 2}]
control: {arm: old, share: 0.2}
metrics: [` + metric + `]
objective: {goals: [{metric: x}]}
round: {length: 6h}
attribution_window: 1h
plan: {units_per_day: 1000, expect: {` + expect + `}}
`
}

// The draws have the mean and the deviation that the definition states, for any number of units.
func TestDrawsHaveTheStatedMoments(t *testing.T) {
	testsize.NoRace(t)
	for _, c := range []struct{ metric, expect string }{
		{"{name: x, kind: count, range: [0, 1]}", "x: {mean: 0.02}"},
		{"{name: x, kind: count}", "x: {mean: 0.02}"},
		{"{name: x, kind: count}", "x: {mean: 3.7}"},
		{"{name: x, kind: count, range: [0, 5]}", "x: {mean: 4.5}"},
		{"{name: x, kind: count, range: [2, 9]}", "x: {mean: 2.25}"},
		{"{name: x, kind: count, range: [0, 50]}", "x: {mean: 0.3, sd: 3}"},
		{"{name: x, kind: count}", "x: {mean: 0.3, sd: 3}"},
		{"{name: x, kind: count}", "x: {mean: 7.25, sd: 0.5}"},
		{"{name: x, kind: count, cap: 8}", "x: {mean: 6.5, sd: 1}"},
		{"{name: x, range: [0, 100]}", "x: {mean: 10, sd: 5}"},
		{"{name: x, range: [0, 1]}", "x: {mean: 0.01, sd: 0.09}"},
		{"{name: x, range: [0, 1]}", "x: {mean: 0.98, sd: 0.1}"},
		{"{name: x, range: [-5, 20], cap: 3}", "x: {mean: 2, sd: 2}"},
		{"{name: x}", "x: {mean: -4, sd: 11}"},
		{"{name: x}", "x: {mean: 1.2, rate: 0.3, sigma: 1}"},
		{"{name: x, cap: 9}", "x: {mean: 1.2, rate: 0.3, sigma: 1}"},
	} {
		for _, n := range []int64{1, 7, 400} {
			t.Run(fmt.Sprintf("%s %s %d", c.metric, c.expect, n), func(t *testing.T) {
				d := parse(t, metricDefinition(c.metric, c.expect))
				e := d.Plan.Expect["x"]
				source := random.New(uint64(n), "moments")
				times := max(int64(testsize.Of(400_000, 100_000))/n, 2000)
				var sum, squares, fourth float64
				for range times {
					s := draw(source, &d.Metrics[0], &e, mean(d, 0), n)
					sum += s.Sum
					squares += s.Squares
					fourth += s.Squares * s.Squares
				}
				units := float64(times * n)
				wanted, v := mean(d, 0), variance(d, 0)
				if got := sum / units; math.Abs(got-wanted) > 5*math.Sqrt(v/units) {
					t.Errorf("mean %v, want %v", got, wanted)
				}
				// The error of the mean square, from that of the draws.
				draws := float64(times)
				each := squares / draws
				off := math.Sqrt(max(fourth/draws-each*each, 0)/draws) / float64(n)
				if got := squares / units; math.Abs(got-(v+wanted*wanted)) > 5*off+1e-9 {
					t.Errorf("mean square %v ± %v, want %v", got, off, v+wanted*wanted)
				}
			})
		}
	}
}

// A simulation that fails or is stopped leaves the closed forms, and the runs that are in.
func TestPartialResults(t *testing.T) {
	d := parse(t, split)
	want, err := Compute(context.Background(), d, Options{})
	if err != nil {
		t.Fatal(err)
	}
	o := DefaultOptions()
	o.Runs, o.Horizon = 5, 2
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	perRun := 1 + len(d.Guardrails)
	o.Progress = func(done, _ int) {
		if done == 2*perRun+1 {
			cancel()
		}
	}
	r, err := Compute(ctx, d, o)
	if err != context.Canceled || r == nil || r.Runs != 2 || r.RunsAsked != 5 {
		t.Fatalf("%+v, %v: want 2 of 5 runs", r, err)
	}
	o.Runs, o.Progress = 2, nil
	two, err := Compute(context.Background(), d, o)
	if err != nil {
		t.Fatal(err)
	}
	two.RunsAsked = 5
	got, _ := json.Marshal(r)
	if full, _ := json.Marshal(two); string(got) != string(full) {
		t.Errorf("2 of 5 runs:\n%s\n2 runs:\n%s", got, full)
	}
	canceled, stop := context.WithCancel(context.Background())
	stop()
	if r, err = Compute(canceled, d, o); err != context.Canceled || r.Runs != 0 {
		t.Fatalf("%+v, %v: want the closed forms", r, err)
	}
	r.RunsAsked, r.Horizon = 0, 0
	got, _ = json.Marshal(r)
	if full, _ := json.Marshal(want); string(got) != string(full) {
		t.Errorf("no run:\n%s\nclosed forms:\n%s", got, full)
	}
}

// A deviation that no values of the range have is refused with those that are possible.
func TestImpossibleDeviation(t *testing.T) {
	for _, c := range []struct{ metric, expect, want string }{
		{
			"{name: x, range: [0, 1]}", "x: {mean: 0.1, sd: 0.4}",
			"sd: 0.4: values in [0, 1] with the mean 0.1 have at most 0.3",
		},
		{
			"{name: x, kind: count}", "x: {mean: 0.5, sd: 0.1}",
			"sd: 0.1: whole numbers with the mean 0.5 have at least 0.5",
		},
		{"{name: x, kind: count, range: [0, 3]}", "x: {mean: 3}", "every unit would have the same value"},
		{"{name: x, range: [0, 1]}", "x: {mean: 1, sd: 0.1}", "have at most 0"},
		{"{name: x, cap: 5}", "x: {mean: 7, sd: 0.1}", "mean: 7: want a number in the metric's range [-5, 5]"},
		{"{name: x, range: [1, 5]}", "x: {mean: 2, rate: 0.5, sigma: 1}", "a share of the units has the value 0"},
	} {
		_, err := definition.Parse("x.yaml", []byte(metricDefinition(c.metric, c.expect)))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %s: %v, want %q", c.metric, c.expect, err, c.want)
		}
	}
}

// Whatever definition is accepted, its plan is computed by both methods, or refused with the place
// of the fault before anything is simulated, and is written as JSON.
func TestEveryDefinitionIsSimulated(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		pick := func(label string, values ...string) string { return rapid.SampledFrom(values).Draw(r, label) }
		x, expectX := metricText(r, "x")
		y, expectY := metricText(r, "y")
		text := strings.Replace(metricDefinition(x+", "+y+", {name: q, kind: ratio, numerator: x, denominator: y}",
			expectX+", "+expectY), "units_per_day: 1000", "units_per_day: "+pick("units", "1", "17", "1000", "1e12"), 1)
		if strings.Contains(text, "1e12") && strings.Contains(text, "rate:") {
			r.Skip("log-normal values are drawn one by one")
		}
		if g := pick("guardrail", "", "metric: x, min_change: -0.05", "metric: y, max_change: 0.1",
			"metric: q, min_change: -0.1", "metric: q, max: 1.5", "metric: x, max: 2, hard: false"); g != "" {
			text += "guardrails: [{" + g + "}]\n"
		}
		switch kind := pick("policy", "pasto", "fixed", "thompson", "ucb", "kl-ucb", "tsallis-inf", "none"); kind {
		case "fixed":
			text = strings.Replace(text, ", share: 0.2", "", 1) + "policy: {kind: fixed, split: " +
				pick("split", "{old: 0.5, new: 0.5}", "{old: 1, new: 0}", "{old: 0, new: 1}") + "}\n"
		case "none":
		case "pasto":
			text += pick("ramp", "", "ramp: [{share: 0.01, time: 6h}, {share: 0.1, units: 10}]\n")
		default:
			text = strings.Replace(text, ", share: 0.2", "", 1) + "policy: {kind: " + kind + "}\n"
		}
		d, err := definition.Parse("x.yaml", []byte(text))
		if err != nil {
			r.Skip(err.Error())
		}
		p, err := Compute(context.Background(), d, Options{Runs: 1, Horizon: 1.5, Seed: 1})
		if err != nil {
			if p == nil && noregret.CodeOf(err) == noregret.BadInput {
				r.Skip(err.Error())
			}
			r.Fatalf("%s\n%v", text, err)
		}
		if _, err := json.Marshal(p); err != nil {
			r.Fatalf("%s\n%v: %+v", text, err, p)
		}
	})
}
