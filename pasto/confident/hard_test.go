package confident

import (
	"testing"

	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/stat"
	"github.com/noregret/noregret/internal/testsize"
	"github.com/noregret/noregret/pasto"
	"github.com/noregret/noregret/pasto/internal/instance"
	"github.com/noregret/noregret/pasto/internal/pastotest"
	"github.com/noregret/noregret/pasto/optimum"
)

// With hard guardrails the default deploys what holds them in nearly all runs: at most one in
// twenty breaks one, with noise of 1 and of 5 (before there was a caution of its own it was one in
// four), and comes near the optimum.
func TestHard(t *testing.T) {
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

// Rounds allocate nothing with hard guardrails too: of a linear reward, with soft guardrails beside
// and the soft minimum, with no room for caution, and where no mixture holds them.
func TestHardAllocatesNothing(t *testing.T) {
	mu, err := instance.Uniform(20, 4, 7)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		soft      float64
		threshold float64
		lambda    float64
	}{
		"linear": {0, .1, 0}, "soft beside": {0, .1, 3}, "soft minimum": {2, .1, 3}, "no room": {0, .55, 0},
		"infeasible": {0, 2, 0},
	} {
		t.Run(name, func(t *testing.T) {
			metrics := []pasto.Metric{
				{Name: "x"},
				{Name: "y", Role: pasto.Guardrail, Hard: true, Threshold: c.threshold},
				{Name: "z", Role: pasto.Guardrail, Hard: true, Threshold: c.threshold - .2},
				{Name: "w"},
			}
			if c.lambda > 0 {
				metrics[3] = pasto.Metric{Name: "w", Role: pasto.Guardrail, Lambda: c.lambda, Threshold: .2}
			}
			f, err := pasto.NewGoals(metrics, c.soft)
			if err != nil {
				t.Fatal(err)
			}
			l, err := New(f, 20, DefaultOptions())
			if err != nil {
				t.Fatal(err)
			}
			r := random.New(1, "allocations")
			arms, obs, values := make([]int, 5), make([]pasto.Observation, 5), make([]float64, 20)
			solved := 0
			round := func() {
				l.Draw(r, arms)
				for q, k := range arms {
					row := values[4*q : 4*q+4]
					for i, v := range mu.Arm(k) {
						row[i] = v + .5*stat.Normal(r)
					}
					obs[q] = pasto.Observation{Arm: k, Metrics: row}
				}
				before := l.s.Next
				if err := l.Observe(obs); err != nil {
					t.Fatal(err)
				}
				if l.s.Next != before {
					solved++
				}
			}
			for range testsize.Of(2000, 500) {
				round()
			}
			solved = 0
			// A solution that allocates shows, a lone allocation by the runtime does not.
			many := func() {
				for range testsize.Of(1000, 300) {
					round()
				}
			}
			if n := testing.AllocsPerRun(3, many); n != 0 {
				t.Errorf("%v allocations in some hundred rounds", n)
			}
			if solved < 5 {
				t.Errorf("%d solutions: the test sees nothing", solved)
			}
		})
	}
}

// The learner deploys the arm that only its guardrail's slack lets pass, and does not report it as
// infeasible.
func TestSlackLearner(t *testing.T) {
	g := pastotest.One(t, pasto.Metric{Name: "x"}, pasto.Metric{
		Name: "y", Role: pasto.Guardrail, Direction: pasto.Down, Threshold: .3, Hard: true,
		Slack: .05,
	})
	l, err := New(g, 2, DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	r, arms := random.New(1, "slack"), make([]int, 1)
	for range 5000 {
		l.Draw(r, arms)
		k := float64(arms[0])
		if err := l.Observe([]pasto.Observation{{
			Arm:     arms[0],
			Metrics: []float64{k + .1*stat.Normal(r), .31 + .03*k + .01*stat.Normal(r)},
		}}); err != nil {
			t.Fatal(err)
		}
	}
	if p := l.Deployed(); p[1] < .99 {
		t.Errorf("deployed %v: want the second arm", p)
	}
	if least, sure := l.Infeasible(); least != nil || sure {
		t.Errorf("infeasible %v, sure %v", least, sure)
	}
}

// One value that was far off, of an arm that nobody wants, does not send everything to the arm that
// breaks the guardrail.
func TestFarOutsideLearner(t *testing.T) {
	g := pastotest.One(t, pasto.Metric{Name: "x"}, pasto.Metric{Name: "y", Role: pasto.Guardrail, Hard: true})
	x, y := []float64{2, 0, -1}, []float64{-2, 2, 0}
	for seed := range uint64(5) {
		l, err := New(g, 3, DefaultOptions())
		if err != nil {
			t.Fatal(err)
		}
		r, arms, off := random.New(seed, "far"), make([]int, 1), -1e13
		for n := range 3000 {
			l.Draw(r, arms)
			k := arms[0]
			values := []float64{x[k] + stat.Normal(r), y[k] + stat.Normal(r)}
			if n >= 300 && k == 2 {
				values[1] += off
				off = 0
			}
			if err := l.Observe([]pasto.Observation{{Arm: k, Metrics: values}}); err != nil {
				t.Fatal(err)
			}
		}
		guard := 0.0
		for k, w := range l.Deployed() {
			guard += w * y[k]
		}
		if off != 0 || guard < -.3 {
			t.Errorf("seed %d: deployed %v, whose guardrail is at %v", seed, l.Deployed(), guard)
		}
	}
}
