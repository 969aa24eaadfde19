package experiment

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/noregret/noregret/api"
	"github.com/noregret/noregret/experiment/definition"
	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/testsize"
)

// serve ranks units, and rewards each by its arm.
func (w *rankWorld) serve(name string, units int, reward func(arm int) float64) {
	w.t.Helper()
	for i := range units {
		unit := fmt.Sprint(name, i)
		c, e := w.rank(unit, false)
		w.status(KindExposures, e)
		w.reward(unit, reward(c.Arm))
	}
}

// mature closes the running version and its window.
func (w *rankWorld) mature() {
	w.t.Helper()
	w.now = w.now.Add(time.Hour)
	w.apply(KindRound, NameEvent{Experiment: "shop"})
	w.now = w.now.Add(time.Hour)
	w.apply(KindClock, NameEvent{Experiment: "shop"})
}

// redefine changes the definition.
func (w *rankWorld) redefine(text string) {
	w.t.Helper()
	d, err := definition.Parse("test.yaml", []byte(text))
	if err != nil {
		w.t.Fatal(err)
	}
	b, err := json.Marshal(d)
	if err != nil {
		w.t.Fatal(err)
	}
	if o := w.apply(KindDefinition, DefinitionEvent{Experiment: "shop", Definition: b}); o.Err != nil {
		w.t.Fatal(o.Err)
	}
}

func contains(i api.Interval, x float64) bool {
	return i.Estimate != nil && i.Low != nil && i.High != nil && *i.Low <= x && x <= *i.High
}

const uniformDef = `name: shop
arms: [{name: a, value: 1}, {name: b, value: 2}, {name: c, value: 3}]
metrics: [{name: revenue}]
objective: {goals: [{metric: revenue}]}
policy: {kind: fixed, split: {a: 0.8, b: 0.1, c: 0.1}}
attribution_window: 10m
round: {length: 5m}
`

// TestUniform serves two versions whose mixture and level both change. The uniform policy would
// have earned the mean of the arms at the levels of the times, which the arms' overall means do not
// give: arm a would look the worst by far, because it was served while the level was low. A third
// version in which an arm has no share counts for nothing.
func TestUniform(t *testing.T) {
	testsize.NoRace(t)
	w, rng := newRankWorld(t, uniformDef), random.New(1, "uniform")
	arms := []float64{2, 1, 0}
	at := func(level float64) func(arm int) float64 {
		return func(arm int) float64 { return level + arms[arm] + rng.NormFloat64() }
	}
	units := testsize.Of(20_000, 5000)
	w.serve("one", units, at(0))
	w.mature()
	w.redefine(strings.Replace(uniformDef, "a: 0.8, b: 0.1, c: 0.1", "a: 0.1, b: 0.1, c: 0.8", 1))
	w.serve("two", units, at(20))
	w.mature()
	check := func() {
		t.Helper()
		u := w.report().Uniform
		if u == nil || len(u.Goals) != 1 || u.Covered != int64(2*units) {
			t.Fatalf("%+v", u)
		}
		g := u.Goals[0]
		served := (1.7 + 20.3) / 2
		uniform := (1 + 21.0) / 2
		if !contains(g.Served, served) || !contains(g.Uniform, uniform) || !contains(g.Gain, served-uniform) {
			t.Errorf("%s: want %v, %v and %v", describe(g), served, uniform, served-uniform)
		}
		if math.Abs(*g.Served.Estimate-*g.Uniform.Estimate-*g.Gain.Estimate) > 1e-9 {
			t.Errorf("%s: the gain is not the difference", describe(g))
		}
		if *g.Gain.High-*g.Gain.Low > 2 {
			t.Errorf("%s: the interval of the gain is too wide to show anything", describe(g))
		}
	}
	check()
	w.redefine(strings.Replace(uniformDef, "a: 0.8, b: 0.1, c: 0.1", "a: 1", 1))
	w.serve("three", 100, at(-50))
	w.mature()
	check()
	if u := w.report().Uniform; u.Units != int64(2*units+100) {
		t.Errorf("%d units in all", u.Units)
	}
}

func describe(g api.UniformGoal) string {
	b, _ := json.Marshal(g)
	return string(b)
}

// TestUniformLearns compares a policy that learns with the uniform one: the report must show the
// gain, with an interval that excludes 0, and the truth for the uniform policy.
func TestUniformLearns(t *testing.T) {
	testsize.NoRace(t)
	for _, kind := range []string{"pasto", "thompson", "tsallis-inf"} {
		w := newRankWorld(t, strings.NewReplacer(
			"kind: fixed, split: {a: 0.8, b: 0.1, c: 0.1}", "kind: "+kind, "name: revenue",
			"name: revenue, range: [0, 1]",
		).Replace(uniformDef)+"exploration_floor: 0.2\n")
		rng := random.New(1, "uniform")
		for round := range 12 {
			w.serve(fmt.Sprint(round, "-"), 400, func(arm int) float64 {
				if rng.Float64() < []float64{0.7, 0.3, 0.2}[arm] {
					return 1
				}
				return 0
			})
			w.mature()
		}
		r := w.report()
		g := r.Uniform.Goals[0]
		if r.Uniform.Covered != r.Uniform.Units || r.Uniform.Units != 12*400 {
			t.Errorf("%s: %d of %d units are covered", kind, r.Uniform.Covered, r.Uniform.Units)
		}
		if !contains(g.Uniform, 0.4) || !(*g.Gain.Low > 0) {
			t.Errorf("%s: %s, want 0.4 for the uniform policy and a gain", kind, describe(g))
		}
	}
}

// TestUniformAbsent checks experiments that are not compared.
func TestUniformAbsent(t *testing.T) {
	w := newRankWorld(t, uniformDef)
	if u := w.report().Uniform; u == nil || u.Units != 0 || u.Goals[0].Served.Estimate != nil {
		t.Errorf("before the first version has matured: %+v", u)
	}
	w = newRankWorld(t, strings.Replace(uniformDef, "objective: {goals: [{metric: revenue}]}\n", "", 1))
	if u := w.report().Uniform; u != nil {
		t.Errorf("without an objective: %+v", u)
	}
}
