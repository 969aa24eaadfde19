package pasto

import (
	"bytes"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/testsize"
)

// All named algorithms: deterministic, a snapshot continues bit for bit, distributions stay
// distributions, nothing is allocated.
func TestAllAlgorithms(t *testing.T) {
	f := goals(t, 5, false, 0)
	mu := table(t, []float64{2, 0, 1, -1}, []float64{-2, 2, 0, 1})
	for _, e := range Algorithms() {
		t.Run(e.Name, func(t *testing.T) {
			a, err := e.New(f, 4, 1000, nil)
			if err != nil {
				t.Fatal(err)
			}
			b, _ := e.New(f, 4, 1000, nil)
			r := random.New(1, "test")
			play(t, a, mu, 3, 333, 1, r)
			saved, err := a.MarshalBinary()
			if err != nil {
				t.Fatal(err)
			}
			state, _ := r.MarshalBinary()
			play(t, a, mu, 3, 300, 1, r)
			if err := b.UnmarshalBinary(saved); err != nil {
				t.Fatal(err)
			}
			r2 := random.New(0, "")
			_ = r2.UnmarshalBinary(state)
			play(t, b, mu, 3, 300, 1, r2)
			x, _ := a.MarshalBinary()
			y, _ := b.MarshalBinary()
			if !bytes.Equal(x, y) {
				t.Error("a restored learner goes on differently")
			}
			for _, p := range [][]float64{a.Serving(), a.Deployed()} {
				if err := checkMixture("p", p, 4); err != nil {
					t.Error(err)
				}
			}
			saved[len(saved)-1] ^= 1
			if err := b.UnmarshalBinary(saved); err == nil {
				t.Error("a damaged snapshot is taken")
			}
			arms, obs := make([]int, 3), make([]Observation, 3)
			var row [2]float64
			allocs := testing.AllocsPerRun(1, func() { // of 500 rounds: it rounds down
				for range 500 {
					a.Draw(r, arms)
					for q, k := range arms {
						row = [2]float64{mu.Arm(k)[0] + float64(q), mu.Arm(k)[1] - float64(q)}
						obs[q] = Observation{Arm: k, Metrics: row[:]}
					}
					if err := a.Observe(obs); err != nil {
						t.Fatal(err)
					}
				}
			})
			if allocs != 0 {
				t.Errorf("%v allocations a round", allocs)
			}
		})
	}
	if _, err := NewByName("nothing", f, 2, 10, nil); err == nil || !strings.Contains(err.Error(), "s-scgd") {
		t.Errorf("%v", err)
	}
}

// served is an arm of positive propensity.
func served(l Learner) int {
	return slices.IndexFunc(l.Serving(), func(v float64) bool { return v > 0 })
}

// What is refused, by every algorithm, and that nothing changes then.
func TestRefusedObservations(t *testing.T) {
	f := goals(t, 5, false, 0)
	ok := []float64{1, 1}
	for _, e := range Algorithms() {
		l, err := e.New(f, 2, 100, nil)
		if err != nil {
			t.Fatal(err)
		}
		play(t, l, toy(t), 2, 20, 1, random.New(1, "test"))
		before, _ := l.MarshalBinary()
		for name, obs := range map[string][]Observation{
			"empty":        {},
			"unknown":      {{Arm: 2, Metrics: ok}},
			"negative arm": {{Arm: -1, Metrics: ok}},
			"NaN":          {{Arm: 0, Metrics: ok}, {Arm: 1, Metrics: []float64{1, math.NaN()}}},
			"infinite":     {{Arm: 0, Metrics: []float64{math.Inf(-1), 0}}},
			"huge":         {{Arm: 0, Metrics: []float64{1e200, 0}}},
			"short":        {{Arm: 0, Metrics: ok[:1]}},
			"duplicate":    {{Arm: 0, Metrics: ok, Round: 20}},
			"future":       {{Arm: 0, Metrics: ok, Round: 22}},
			"size":         {{Arm: 0, Metrics: ok, Size: -1}},
			"half sized":   {{Arm: 0, Metrics: ok, Size: 5}, {Arm: 1, Metrics: ok}},
		} {
			err := l.Observe(obs)
			if err == nil || noregret.CodeOf(err) != noregret.BadInput {
				t.Errorf("%s: %s: %v", e.Name, name, err)
			}
			if after, _ := l.MarshalBinary(); !bytes.Equal(before, after) {
				t.Errorf("%s: %s changed the state", e.Name, name)
			}
		}
		if err := l.Observe([]Observation{{Arm: served(l), Metrics: ok, Round: 21}}); err != nil {
			t.Errorf("%s: %v", e.Name, err)
		}
	}
}

// What constructors refuse.
func TestRefusedOptions(t *testing.T) {
	f := goals(t, 5, false, 0)
	nan := math.NaN()
	for name, change := range map[string]func(o *Options){
		"estimator":      func(o *Options) { o.Estimator = Estimator{} },
		"weight":         func(o *Options) { o.Estimator = Clipped(.5) },
		"zeta":           func(o *Options) { o.Estimator = ImplicitExploration(-1) },
		"rho":            func(o *Options) { o.Estimator = DiscountedMeans(0) },
		"window":         func(o *Options) { o.Estimator = WindowMeans(0) },
		"baseline":       func(o *Options) { o.Estimator = IPW().Centred([]float64{1, nan}) },
		"baseline means": func(o *Options) { o.Estimator = ArmMeans().Centred([]float64{1, 1}) },
		"step":           func(o *Options) { o.Step = Constant(-1) },
		"no step":        func(o *Options) { o.Step = Schedule{} },
		"exploration":    func(o *Options) { o.Exploration = Constant(1.5) },
		"floor":          func(o *Options) { o.MinExploration = nan },
		"pseudo":         func(o *Options) { o.Pseudo = -1 },
		"clip":           func(o *Options) { o.StepClip = nan },
		"decay":          func(o *Options) { o.AverageDecay = 2 },
		"scheme":         func(o *Options) { o.Scheme = 7 },
		"ship":           func(o *Options) { o.Ship = 9 },
		"start":          func(o *Options) { o.Start = []float64{.5, .6} },
		"U0":             func(o *Options) { o.U0 = table(t, []float64{1}, []float64{1}) },
		"U0 NaN": func(o *Options) {
			o.U0 = newTable(2, 2)
			o.U0.data[3] = nan
		},
	} {
		o := PaperOptions(2)
		change(&o)
		if _, err := New(f, 2, o); err == nil {
			t.Errorf("%s is taken", name)
		}
	}
	for name, o := range map[string]ConfidentOptions{
		"optimism": {Optimism: math.Inf(1)}, "caution": {Caution: nan},
		"floor": {Floor: 2}, "alarm": {Alarm: nan}, "hard caution": {HardCaution: nan}, "shrink": {Shrink: nan},
	} {
		if _, err := NewConfident(f, 2, o); err == nil {
			t.Errorf("%s is taken", name)
		}
	}
	var e *noregret.Error
	_, err := New(f, 2, Options{})
	if !errors.As(err, &e) || e.Code != noregret.BadInput {
		t.Errorf("%v", err)
	}
}

// What every algorithm refuses, and that one arm is legal.
func TestRefusedProblems(t *testing.T) {
	f := goals(t, 5, false, 0)
	for _, e := range Algorithms() {
		if _, err := e.New(f, 0, 10, nil); err == nil {
			t.Errorf("%s: no arms", e.Name)
		}
		if _, err := e.New(goals(t, 5, true, 0), 2, 10, nil); (err == nil) != strings.HasPrefix(e.Name, "default") {
			t.Errorf("%s: hard guardrails", e.Name)
		}
		if _, err := e.New(nil, 2, 10, nil); err == nil {
			t.Errorf("%s: nil objective", e.Name)
		}
		if l, err := e.New(f, 1, 10, nil); err != nil || l.Serving()[0] != 1 {
			t.Errorf("%s: one arm is legal: %v", e.Name, err)
		}
	}
	if _, err := Maximize(f, table(t, []float64{1}), SolverOptions{}); err == nil {
		t.Error("a table of other metrics is taken")
	}
}

// Metrics, names and tables that are refused.
func TestRefusedMetrics(t *testing.T) {
	nan := math.NaN()
	for name, m := range map[string][]Metric{
		"none":        {},
		"no name":     {{}},
		"twice":       {{Name: "x"}, {Name: "x"}},
		"no primary":  {{Name: "x", Role: Guardrail}},
		"lambda":      {{Name: "x"}, {Name: "y", Role: Guardrail, Lambda: -1}},
		"threshold":   {{Name: "x"}, {Name: "y", Role: Guardrail, Threshold: nan}},
		"weight":      {{Name: "x", Weight: -1}},
		"range":       {{Name: "x", Lower: 1, Upper: 0}},
		"hard metric": {{Name: "x", Hard: true}},
		"direction":   {{Name: "x", Direction: 3}},
		"role":        {{Name: "x", Role: 8}},
		"slack":       {{Name: "x"}, {Name: "y", Role: Guardrail, Slack: -1}},
	} {
		if _, err := NewGoals(m, 0); err == nil {
			t.Errorf("%s is taken", name)
		}
	}
	if _, err := NewGoals([]Metric{{Name: "x"}}, -1); err == nil {
		t.Error("negative softness is taken")
	}
	if err := ValidateNames([]string{"a", "b", "a"}); err == nil || !strings.Contains(err.Error(), "arms[2]") {
		t.Errorf("%v", err)
	}
	if ValidateNames(nil) == nil || ValidateNames([]string{""}) == nil || ValidateNames([]string{"a", "b"}) != nil {
		t.Error("names")
	}
	for _, rows := range [][][]float64{{}, {{}}, {{1, 2}, {1}}, {{1, nan}}} {
		if _, err := TableOf(rows...); err == nil {
			t.Errorf("%v is taken", rows)
		}
	}
}

// Gradients by central differences, directions and roles, the soft minimum and its limits,
// constants by sampling.
func TestObjectives(t *testing.T) {
	metrics := []Metric{
		{Name: "gain", Weight: 2},
		{Name: "cost", Direction: Down},
		{Name: "floor", Role: Guardrail, Threshold: .3, Lambda: 3},
		{Name: "ceiling", Role: Guardrail, Direction: Down, Threshold: -.2},
		{Name: "watched", Role: Report},
	}
	for _, soft := range []float64{0, .5, 10} {
		f, err := NewGoals(metrics, soft)
		if err != nil {
			t.Fatal(err)
		}
		lower, upper := []float64{-1, -1, -1, -1, -1}, []float64{1, 1, 1, 1, 1}
		if err := CheckConcave(f, lower, upper, 2000, 1); err != nil {
			t.Error(err)
		}
		r := random.New(2, "test")
		g := make([]float64, 5)
		for range 100 {
			theta := []float64{r.Float64(), r.Float64(), r.Float64() - .3, r.Float64() - .5, r.Float64()}
			f.Gradient(g, theta)
			for i := range theta {
				const h = 1e-6
				x := theta[i]
				theta[i] = x + h
				up := f.Value(theta)
				theta[i] = x - h
				down := f.Value(theta)
				theta[i] = x
				near(t, "gradient", g[i], (up-down)/(2*h), 1e-5)
			}
		}
	}
	f, _ := NewGoals(metrics, 0)
	near(t, "value", f.Value([]float64{1, 2, .1, 0, 99}), -3*.04-5*.04, 1e-12)
	v := make([]float64, 5)
	near(t, "violations", f.Violations(v, []float64{1, 2, .1, 0, 99}), .4, 1e-12)
	// Errata E1 and E2: a value at the threshold is no violation; the whole truncated value is
	// squared, and lowers f.
	near(t, "at the threshold", f.Value([]float64{0, 0, .3, -.2, 0}), 0, 0)
	if h := goals(t, 5, true, 0); h.Value([]float64{1, 0}) != 1 || !math.IsInf(h.Value([]float64{1, -1.1e-9}), -1) ||
		h.Value([]float64{1, -0.9e-9}) != 1 {
		t.Error("hard guardrail")
	}
	if q := goals(t, 5, false, 0).Value([]float64{0, 3}); q != 0 {
		t.Errorf("min(0, y−c²) in place of (min(0, y−c))² would be %v", q)
	}
	// Spec 1.2's constants.
	lip, smooth := goals(t, 5, false, 0, 0).Constants([]float64{-1, -2, -2}, []float64{1, 2, 2})
	near(t, "G_f", lip, math.Sqrt(1+2*400), 1e-12)
	near(t, "L_f", smooth, 10, 0)
	bad := &Utility{Metrics: 1, U: func(x []float64) float64 {
		return x[0] * x[0]
	}, DU: func(d, x []float64) { d[0] = 2 * x[0] }}
	if err := CheckConcave(bad, []float64{-1}, []float64{1}, 100, 1); err == nil ||
		!strings.Contains(err.Error(), "not concave") {
		t.Errorf("%v", err)
	}
	good := &Utility{Metrics: 1, U: func(x []float64) float64 {
		return math.Sqrt(x[0])
	}, DU: func(d, x []float64) { d[0] = .5 / math.Sqrt(x[0]) }, Lipschitz: 1.6}
	if err := CheckConcave(good, []float64{.1}, []float64{1}, 100, 1); err != nil {
		t.Error(err)
	}
	good.Lipschitz = 1
	if err := CheckConcave(good, []float64{.1}, []float64{1}, 100, 1); err == nil {
		t.Error("a wrong constant is not noticed")
	}
}

// Relative guardrails are contrasts to the concurrent control: common swings cancel.
func TestContrast(t *testing.T) {
	f, err := NewGoals([]Metric{{Name: "x"}, {Name: "y", Role: Guardrail, Relative: true, Threshold: -.02}}, 0)
	if err != nil {
		t.Fatal(err)
	}
	dst := make([]float64, 2)
	if err := f.Contrast(dst, []float64{1, 99}, []float64{0, 100}); err != nil {
		t.Fatal(err)
	}
	near(t, "contrast", dst[1], 1, 1e-12) // 99 − 0.98·100
	near(t, "value", f.Value(dst), 1, 1e-12)
	if err := f.Contrast(dst, []float64{1, 97}, []float64{0, 100}); err != nil {
		t.Fatal(err)
	}
	near(t, "violated", f.Value(dst), 1-5, 1e-12)
	if f.Contrast(dst, []float64{1, 97}, nil) == nil ||
		f.Contrast(dst, []float64{1, math.NaN()}, []float64{0, 1}) == nil {
		t.Error("refused")
	}
	g, _ := NewGoals([]Metric{{Name: "rate", Lower: 0, Upper: 1}}, 0)
	if g.Contrast(dst[:1], []float64{1.5}, nil) == nil {
		t.Error("a value out of its range is taken")
	}
}

// The default finds the optimum without noise, does not depend on units, and comes and goes with
// arms.
func TestConfident(t *testing.T) {
	mu := toy(t)
	l, err := NewConfident(goals(t, 5, false, 0), 2, ConfidentOptions{})
	if err != nil {
		t.Fatal(err)
	}
	play(t, l, mu, 1, 20, 0, random.New(1, "test"))
	near(t, "noiseless optimum", l.Deployed()[0], .5125, 1e-4)

	// The same game in other units (x in thousandths, y in dozens, λ to match) is played the same
	// way, by powers of two exactly.
	scaled, err := NewGoals([]Metric{{Name: "x", Weight: 1 << 10}, {Name: "y", Role: Guardrail, Lambda: 5.0 / 64}}, 0)
	if err != nil {
		t.Fatal(err)
	}
	a, _ := NewConfident(goals(t, 5, false, 0), 2, ConfidentOptions{})
	b, _ := NewConfident(scaled, 2, ConfidentOptions{})
	r, s := random.New(3, "test"), random.New(3, "test")
	noise := random.New(4, "test")
	arms := make([]int, 2)
	for range 500 {
		a.Draw(r, arms)
		var x, y []Observation
		for _, k := range arms {
			u, v := mu.Arm(k)[0]+noise.NormFloat64(), mu.Arm(k)[1]+noise.NormFloat64()
			x = append(x, Observation{Arm: k, Metrics: []float64{u, v}})
			y = append(y, Observation{Arm: k, Metrics: []float64{u / (1 << 10), v * 8}})
		}
		b.Draw(s, arms)
		if arms[0] != x[0].Arm || arms[1] != x[1].Arm {
			t.Fatal("units change the draws")
		}
		if err := errors.Join(a.Observe(x), b.Observe(y)); err != nil {
			t.Fatal(err)
		}
	}
	near(t, "units", b.Deployed()[0], a.Deployed()[0], 1e-9)

	k, _ := a.AddArm()
	if a.Serving()[k] < .3 || a.Deployed()[k] != 0 {
		t.Errorf("a new arm is served %v, deployed %v", a.Serving()[k], a.Deployed()[k])
	}
	play(t, a, table(t, []float64{2, 0, 3}, []float64{-2, 2, 1}), 2, 1500, 1, random.New(5, "test"))
	if a.Deployed()[k] < .7 { // the new arm dominates, with y to spare for some of the first
		t.Errorf("the better new arm is not found: %v", a.Deployed())
	}
	if err := a.RetireArm(k); err != nil || a.Serving()[k] != 0 {
		t.Error(err, a.Serving())
	}
	data, _ := a.MarshalBinary()
	b, _ = NewConfident(goals(t, 5, false, 0), 2, ConfidentOptions{})
	if err := b.UnmarshalBinary(data); err != nil || b.Arms() != 3 {
		t.Error("arms are lost", err)
	}

	// All known arms retired: the new one is all there is.
	n, _ := a.AddArm()
	if err := errors.Join(a.RetireArm(0), a.RetireArm(1)); err != nil {
		t.Fatal(err)
	}
	if a.Serving()[n] != 1 || a.Deployed()[n] != 1 || a.RetireArm(n) == nil {
		t.Errorf("serving %v, deployed %v", a.Serving(), a.Deployed())
	}
	play(t, a, table(t, []float64{0, 0, 0, 1}, []float64{0, 0, 0, 1}), 2, 50, 1, r)
	near(t, "the last arm", a.Deployed()[n], 1, 0)
}

// Unchanged means raise no alarm in 200,000 observations of heavy noise; a change of half a
// standard deviation does, soon.
func TestConfidentAlarm(t *testing.T) {
	l, _ := NewConfident(goals(t, 5, false, 0), 2, ConfidentOptions{})
	r := random.New(1, "test")
	play(t, l, toy(t), 4, 50_000, 5, r)
	if l.Changes() != 0 {
		t.Errorf("%d false alarms", l.Changes())
	}
	play(t, l, table(t, []float64{2, 0}, []float64{-2, -.5}), 4, 400, 5, r)
	if l.Changes() == 0 {
		t.Error("a change is not noticed")
	}
}

// With hard guardrails the default deploys what holds them in nearly all runs: at most one in
// twenty breaks one, with noise of 1 and of 5 (before there was a caution of its own it was one in
// four), and comes near the optimum.
func TestConfidentHard(t *testing.T) {
	testsize.NoRace(t)
	mu := table(t, []float64{1, .4, -.2, .1}, []float64{-.6, .3, .9, -.1}, []float64{.2, -.5, .3, .8})
	four, two := goals(t, 5, true, .2, .1), goals(t, 5, true, 0)
	for _, c := range []struct {
		f      *Goals
		mu     *Table
		groups int
		sigma  float64
		best   float64
		near   float64
	}{
		{two, toy(t), 1, 1, 1, .03},
		{two, toy(t), 1, 5, 1, .12},
		{four, mu, 4, .5, 73.0 / 190, .04},
	} {
		runs := testsize.Of(60, 20)
		broken, mean := 0, 0.0
		for seed := range uint64(runs) {
			l, err := NewConfident(c.f, c.mu.Arms(), ConfidentOptions{})
			if err != nil {
				t.Fatal(err)
			}
			play(t, l, c.mu, c.groups, 10_000/c.groups, c.sigma, random.New(seed, "test"))
			theta := make([]float64, c.mu.Metrics())
			c.mu.Mean(theta, l.Deployed())
			if !c.f.Holds(theta) {
				broken++
			}
			mean += theta[0] / float64(runs)
		}
		if broken > runs/20 {
			t.Errorf("σ=%v: the guardrails are broken in %d of %d runs", c.sigma, broken, runs)
		}
		if mean < c.best-c.near || mean > c.best {
			t.Errorf("σ=%v: x = %v, the optimum is %v", c.sigma, mean, c.best)
		}
	}
	// Many arms and much noise: where there is no room for all the caution, as much as there is
	// (the mixture of least violation by the cautious estimates broke a guardrail in half of the
	// runs).
	many := goals(t, 5, true, .5, .5)
	broken := 0
	for seed := range uint64(20) {
		mu, _ := UniformTable(100, 3, seed)
		l, err := NewConfident(many, 100, ConfidentOptions{})
		if err != nil {
			t.Fatal(err)
		}
		play(t, l, mu, 10, 3000, 5, random.New(seed, "test"))
		theta := make([]float64, 3)
		if mu.Mean(theta, l.Deployed()); !many.Holds(theta) {
			broken++
		}
	}
	if broken > 2 {
		t.Errorf("100 arms: the guardrails are broken in %d of 20 runs", broken)
	}
	// One hard and one soft: the soft one is traded off by its price.
	f,
		err := NewGoals([]Metric{
		{Name: "x"},
		{Name: "a", Role: Guardrail, Threshold: .2, Hard: true},
		{Name: "b", Role: Guardrail, Threshold: .1},
	}, 0)
	if err != nil {
		t.Fatal(err)
	}
	want, _ := Maximize(f, mu, SolverOptions{})
	l, _ := NewConfident(f, 4, ConfidentOptions{})
	play(t, l, mu, 4, 1000, .01, random.New(1, "test"))
	for k, w := range want.Mixture {
		near(t, "share", l.Deployed()[k], w, .01)
	}
	// Guardrails that nothing can hold: the least violation.
	l, _ = NewConfident(goals(t, 5, true, 9), 2, ConfidentOptions{})
	play(t, l, toy(t), 2, 100, .1, random.New(1, "test"))
	if l.Deployed()[1] < .99 {
		t.Errorf("%v", l.Deployed())
	}
}

// Deterministic baselines find the best single arm.
func TestSingle(t *testing.T) {
	mu := table(t, []float64{1, .4, -.2, .1}, []float64{-.6, .3, .9, -.1}, []float64{.2, -.5, .3, .8})
	for _, rule := range []Rule{Eliminate, UCB, Thompson} {
		l, err := NewSingle(goals(t, 5, false, .2, .1), 4, rule)
		if err != nil {
			t.Fatal(err)
		}
		play(t, l, mu, 2, 3000, .5, random.New(1, "test"))
		if l.Deployed()[2] != 1 {
			t.Errorf("rule %d deploys %v", rule, l.Deployed())
		}
	}
}
