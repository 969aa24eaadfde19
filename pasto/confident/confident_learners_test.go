package confident

import (
	"errors"
	"math"
	"testing"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/testsize"
	"github.com/noregret/noregret/pasto"
	"github.com/noregret/noregret/pasto/ascent"
	"github.com/noregret/noregret/pasto/internal/instance"
	"github.com/noregret/noregret/pasto/internal/pastotest"
	"github.com/noregret/noregret/pasto/internal/round"
	"github.com/noregret/noregret/pasto/optimum"
)

// What constructors refuse.
func TestRefusedOptions(t *testing.T) {
	f := pastotest.Goals(t, 5, false, 0)
	nan := math.NaN()
	for name, change := range map[string]func(o *ascent.Options){
		"estimator":      func(o *ascent.Options) { o.Estimator = ascent.Estimator{} },
		"weight":         func(o *ascent.Options) { o.Estimator = ascent.Clipped(.5) },
		"zeta":           func(o *ascent.Options) { o.Estimator = ascent.ImplicitExploration(-1) },
		"rho":            func(o *ascent.Options) { o.Estimator = ascent.DiscountedMeans(0) },
		"window":         func(o *ascent.Options) { o.Estimator = ascent.WindowMeans(0) },
		"baseline":       func(o *ascent.Options) { o.Estimator = ascent.IPW().Centred([]float64{1, nan}) },
		"baseline means": func(o *ascent.Options) { o.Estimator = ascent.ArmMeans().Centred([]float64{1, 1}) },
		"step":           func(o *ascent.Options) { o.Step = ascent.Constant(-1) },
		"no step":        func(o *ascent.Options) { o.Step = ascent.Schedule{} },
		"exploration":    func(o *ascent.Options) { o.Exploration = ascent.Constant(1.5) },
		"floor":          func(o *ascent.Options) { o.MinExploration = nan },
		"pseudo":         func(o *ascent.Options) { o.Pseudocount = -1 },
		"clip":           func(o *ascent.Options) { o.StepClip = nan },
		"decay":          func(o *ascent.Options) { o.AverageDecay = 2 },
		"scheme":         func(o *ascent.Options) { o.Scheme = 7 },
		"ship":           func(o *ascent.Options) { o.Deploy = 9 },
		"start":          func(o *ascent.Options) { o.Start = []float64{.5, .6} },
		"U0":             func(o *ascent.Options) { o.U0 = pastotest.Table(t, []float64{1}, []float64{1}) },
		"U0 NaN": func(o *ascent.Options) {
			o.U0 = round.NewTable(2, 2)
			o.U0.Arm(1)[1] = nan
		},
	} {
		o := ascent.PaperOptions(2)
		change(&o)
		if _, err := ascent.New(f, 2, o); err == nil {
			t.Errorf("%s is taken", name)
		}
	}
	for name, change := range map[string]func(o *Options){
		"optimism": func(o *Options) {
			o.Exploration.Optimism = math.Inf(1)
		}, "caution": func(o *Options) { o.Caution = nan },
		"exploration share": func(o *Options) { o.Exploration.Share = 1.5 },
		"decay":             func(o *Options) { o.Exploration.Decay = -1 },
		"floor":             func(o *Options) { o.Floor = 2 },
		"alarm":             func(o *Options) { o.ChangeThreshold = nan },
		"hard caution":      func(o *Options) { o.HardCaution = nan },
		"control":           func(o *Options) { o.Control = 2 },
		"negative control":  func(o *Options) { o.Control = -2 },
		"share":             func(o *Options) { o.Share = .1 },
		"alpha":             func(o *Options) { o.Control, o.Alpha = 0, 0 },
		"hold":              func(o *Options) { o.Hold = 2 },
		"caps":              func(o *Options) { o.Caps = []float64{1} },
		"cap":               func(o *Options) { o.Caps = []float64{1, 1.5} },
		"caps below 1":      func(o *Options) { o.Caps = []float64{.5, .4} },
	} {
		o := DefaultOptions()
		change(&o)
		if _, err := New(f, 2, o); noregret.CodeOf(err) != noregret.BadInput {
			t.Errorf("%s: %v", name, err)
		}
	}
	var e *noregret.Error
	_, err := ascent.New(f, 2, ascent.Options{})
	if !errors.As(err, &e) || e.Code != noregret.BadInput {
		t.Errorf("%v", err)
	}
}

// The default finds the optimum without noise, does not depend on units, and comes and goes with
// arms.
func TestConfident(t *testing.T) {
	mu := pastotest.Toy(t)
	l, err := New(pastotest.Goals(t, 5, false, 0), 2, DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	pastotest.Play(t, l, mu, 1, 20, 0, random.New(1, "test"))
	pastotest.Near(t, "noiseless optimum", l.Deployed()[0], .5125, 1e-4)

	// The same game in other units (x in thousandths, y in dozens, λ to match) is played the same
	// way, by powers of two exactly.
	scaled,
		err := pasto.NewGoals([]pasto.Metric{
		{Name: "x", Weight: 1 << 10},
		{Name: "y", Role: pasto.Guardrail, Lambda: 5.0 / 64},
	}, 0)
	if err != nil {
		t.Fatal(err)
	}
	a, _ := New(pastotest.Goals(t, 5, false, 0), 2, DefaultOptions())
	b, _ := New(scaled, 2, DefaultOptions())
	r, s := random.New(3, "test"), random.New(3, "test")
	noise := random.New(4, "test")
	arms := make([]int, 2)
	for range 500 {
		a.Draw(r, arms)
		var x, y []pasto.Observation
		for _, k := range arms {
			u, v := mu.Arm(k)[0]+noise.NormFloat64(), mu.Arm(k)[1]+noise.NormFloat64()
			x = append(x, pasto.Observation{Arm: k, Metrics: []float64{u, v}})
			y = append(y, pasto.Observation{Arm: k, Metrics: []float64{u / (1 << 10), v * 8}})
		}
		b.Draw(s, arms)
		if arms[0] != x[0].Arm || arms[1] != x[1].Arm {
			t.Fatal("units change the draws")
		}
		if err := errors.Join(a.Observe(x), b.Observe(y)); err != nil {
			t.Fatal(err)
		}
	}
	pastotest.Near(t, "units", b.Deployed()[0], a.Deployed()[0], 1e-9)

	k, _ := a.AddArm()
	if a.Serving()[k] < .3 || a.Deployed()[k] != 0 {
		t.Errorf("a new arm is served %v, deployed %v", a.Serving()[k], a.Deployed()[k])
	}
	pastotest.Play(t, a, pastotest.Table(t, []float64{2, 0, 3}, []float64{-2, 2, 1}), 2, 1500, 1, random.New(5, "test"))
	if a.Deployed()[k] < .7 { // the new arm dominates, with y to spare for some of the first
		t.Errorf("the better new arm is not found: %v", a.Deployed())
	}
	if err := a.RetireArm(k); err != nil || a.Serving()[k] != 0 {
		t.Error(err, a.Serving())
	}
	data, _ := a.MarshalBinary()
	b, _ = New(pastotest.Goals(t, 5, false, 0), 2, DefaultOptions())
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
	pastotest.Play(t, a, pastotest.Table(t, []float64{0, 0, 0, 1}, []float64{0, 0, 0, 1}), 2, 50, 1, r)
	pastotest.Near(t, "the last arm", a.Deployed()[n], 1, 0)
}

// Unchanged means raise no alarm in 200,000 observations of heavy noise; a change of half a
// standard deviation does, soon.
func TestConfidentAlarm(t *testing.T) {
	l, _ := New(pastotest.Goals(t, 5, false, 0), 2, DefaultOptions())
	r := random.New(1, "test")
	pastotest.Play(t, l, pastotest.Toy(t), 4, 50_000, 5, r)
	if l.Changes() != 0 {
		t.Errorf("%d false alarms", l.Changes())
	}
	pastotest.Play(t, l, pastotest.Table(t, []float64{2, 0}, []float64{-2, -.5}), 4, 1500, 5, r)
	if l.Changes() == 0 {
		t.Error("a change is not noticed")
	}
}

// With hard guardrails the default deploys what holds them in nearly all runs: at most one in
// twenty breaks one, with noise of 1 and of 5 (before there was a caution of its own it was one in
// four), and comes near the optimum.
func TestConfidentHard(t *testing.T) {
	testsize.NoRace(t)
	mu := pastotest.Table(t, []float64{1, .4, -.2, .1}, []float64{-.6, .3, .9, -.1}, []float64{.2, -.5, .3, .8})
	four, two := pastotest.Goals(t, 5, true, .2, .1), pastotest.Goals(t, 5, true, 0)
	for _, c := range []struct {
		f      *pasto.Goals
		mu     *pasto.Table
		groups int
		sigma  float64
		best   float64
		near   float64
	}{
		{two, pastotest.Toy(t), 1, 1, 1, .03},
		{two, pastotest.Toy(t), 1, 5, 1, .12},
		{four, mu, 4, .5, 73.0 / 190, .04},
	} {
		runs := testsize.Of(60, 20)
		broken, mean := 0, 0.0
		for seed := range uint64(runs) {
			l, err := New(c.f, c.mu.Arms(), DefaultOptions())
			if err != nil {
				t.Fatal(err)
			}
			pastotest.Play(t, l, c.mu, c.groups, 10_000/c.groups, c.sigma, random.New(seed, "test"))
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
	many := pastotest.Goals(t, 5, true, .5, .5)
	broken := 0
	for seed := range uint64(20) {
		mu, _ := instance.Uniform(100, 3, seed)
		l, err := New(many, 100, DefaultOptions())
		if err != nil {
			t.Fatal(err)
		}
		pastotest.Play(t, l, mu, 10, 3000, 5, random.New(seed, "test"))
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
		err := pasto.NewGoals([]pasto.Metric{
		{Name: "x"},
		{Name: "a", Role: pasto.Guardrail, Threshold: .2, Hard: true},
		{Name: "b", Role: pasto.Guardrail, Threshold: .1},
	}, 0)
	if err != nil {
		t.Fatal(err)
	}
	want, _ := optimum.Maximize(f, mu, optimum.DefaultOptions())
	l, _ := New(f, 4, DefaultOptions())
	pastotest.Play(t, l, mu, 4, 1000, .01, random.New(1, "test"))
	for k, w := range want.Mixture {
		pastotest.Near(t, "share", l.Deployed()[k], w, .01)
	}
	// Guardrails that nothing can hold: the least violation.
	l, _ = New(pastotest.Goals(t, 5, true, 9), 2, DefaultOptions())
	pastotest.Play(t, l, pastotest.Toy(t), 2, 100, .1, random.New(1, "test"))
	if l.Deployed()[1] < .99 {
		t.Errorf("%v", l.Deployed())
	}
}
