package optimum

import (
	"fmt"
	"math"
	"testing"

	"github.com/noregret/noregret/pasto"
	"github.com/noregret/noregret/pasto/internal/instance"
	"github.com/noregret/noregret/pasto/internal/pastotest"
)

// The toy's optima by hand, F(q) = 2q − λ(4q−2)².
func TestToyOptima(t *testing.T) {
	m := pastotest.Toy(t)
	arm, v, err := BestSingle(pastotest.Goals(t, 5, false, 0), m)
	if err != nil || arm != 1 || v != 0 {
		t.Fatalf("best single %d, %v, %v", arm, v, err)
	}
	if v := pastotest.Goals(t, 5, false, 0).Value(m.Arm(0)); v != -18 {
		t.Errorf("arm 1 alone is %v, want -18", v)
	}
	for _, lambda := range []float64{1, 5, 50} {
		o, err := Maximize(pastotest.Goals(t, lambda, false, 0), m, DefaultOptions())
		if err != nil {
			t.Fatal(err)
		}
		pastotest.Near(t, "value", o.Value, 1+1/(16*lambda), 1e-9)
		pastotest.Near(t, "q", o.Mixture[0], 0.5+1/(16*lambda), 1e-6)
		if o.Gap > 1e-9 {
			t.Errorf("gap %v", o.Gap)
		}
	}
	o, err := MaximizeHard(pastotest.Goals(t, 5, true, 0), m)
	if err != nil {
		t.Fatal(err)
	}
	pastotest.Near(t, "hard value", o.Value, 1, 1e-12)
	pastotest.Near(t, "hard q", o.Mixture[0], 0.5, 1e-12)
	pastotest.Near(t, "price", o.Prices[1], 0.5, 1e-12)
	pastotest.Near(t, "gap", o.Gap, 0, 1e-12)
}

// Four arms, two guardrails, the LP, its duals and the soft form for four prices.
func TestFourArms(t *testing.T) {
	m := pastotest.Table(t, []float64{1, .4, -.2, .1}, []float64{-.6, .3, .9, -.1}, []float64{.2, -.5, .3, .8})
	o, err := MaximizeHard(pastotest.Goals(t, 5, true, .2, .1), m)
	if err != nil {
		t.Fatal(err)
	}
	pastotest.Near(t, "value", o.Value, 73.0/190, 1e-12)
	pastotest.Near(t, "gap", o.Gap, 0, 1e-12)
	for k, want := range []float64{0.3859649123, 0.2017543860, 0.4122807018, 0} {
		pastotest.Near(t, "p", o.Mixture[k], want, 1e-10)
	}
	pastotest.Near(t, "price 1", o.Prices[1], 15.0/19, 1e-12)
	pastotest.Near(t, "price 2", o.Prices[2], 3.0/19, 1e-12)
	for lambda, want := range map[float64]float64{
		5: 0.4166204986, 50: 0.3874515235, 500: 0.3845346260,
		5000: 0.3842429363,
	} {
		s, err := Maximize(pastotest.Goals(t, lambda, false, .2, .1), m, DefaultOptions())
		if err != nil {
			t.Fatal(err)
		}
		pastotest.Near(t, "soft value", s.Value, want, 2e-9)
		// Section 1.3: the soft optimum is the hard one and Σν²/(4λ), with violations of ν/(2λ).
		pastotest.Near(t, "soft by duals", s.Value, o.Value+(15.0*15+3*3)/(19*19*4*lambda), 2e-9)
		for j, price := range []float64{0, 15.0 / 19, 3.0 / 19} {
			pastotest.Near(t, "violation by duals", s.Violations[j], price/(2*lambda), 1e-9)
		}
		if lambda != 5 {
			continue
		}
		for k, p := range []float64{0.4330563250, 0.2156048015, 0.3513388735, 0} {
			pastotest.Near(t, "soft p", s.Mixture[k], p, 1e-9)
		}
	}
	arm, v, err := BestSingle(pastotest.Goals(t, 5, false, .2, .1), m)
	if err != nil || arm != 2 || math.Abs(v+0.2) > 1e-12 {
		t.Errorf("best single %d, %v, %v", arm, v, err)
	}
}

// The reproducible random instances.
func TestRandomInstances(t *testing.T) {
	for _, c := range []struct {
		seed            uint64
		first, last     float64
		arm             int
		single, optimum float64
		weights         map[int]float64
		uniform         float64
	}{
		{
			42, 0.4831297575, -0.6211864737, 49, 0.9387424759, 0.9433094950,
			map[int]float64{20: 0.0025483352, 49: 0.8406930136, 66: 0.1567586512},
			-1.7693321568,
		},
		{
			7, -0.2203405032, -0.1197185542, 97, 0.7801401098, 0.8753434819,
			map[int]float64{30: 0.3470405743, 93: 0.3335607972, 97: 0.3193986284},
			-2.6057107996,
		},
		{
			1, 0.1331231503, -0.0701026240, 59, 0.7512305464, 0.8509169210,
			map[int]float64{29: 0.2557973404, 53: 0.3107700874, 59: 0.4334325722},
			-3.3959694160,
		},
	} {
		m, err := instance.Uniform(100, 3, c.seed)
		if err != nil {
			t.Fatal(err)
		}
		pastotest.Near(t, "first", m.Arm(0)[0], c.first, 1e-10)
		pastotest.Near(t, "last", m.Arm(99)[2], c.last, 1e-10)
		f := pastotest.Goals(t, 5, false, .5, .5)
		arm, v, _ := BestSingle(f, m)
		if arm != c.arm {
			t.Errorf("seed %d: best single is %d, want %d", c.seed, arm, c.arm)
		}
		pastotest.Near(t, "single", v, c.single, 1e-10)
		o, err := Maximize(f, m, Options{Tolerance: 1e-11, Iterations: 200_000})
		if err != nil {
			t.Fatal(err)
		}
		pastotest.Near(t, "optimum", o.Value, c.optimum, 1e-10)
		if len(o.Support()) != len(c.weights) {
			t.Errorf("support %v", o.Support())
		}
		for k, w := range c.weights {
			pastotest.Near(t, "weight", o.Mixture[k], w, 1e-5)
		}
		u := make([]float64, 100)
		for k := range u {
			u[k] = 0.01
		}
		theta := make([]float64, 3)
		m.Mean(theta, u)
		pastotest.Near(t, "uniform", f.Value(theta), c.uniform, 1e-9)
		if gap, err := Gap(f, m, u); err != nil || gap < o.Value-f.Value(theta) {
			t.Errorf("the gap %v of the uniform mixture is below its distance from the optimum", gap)
		}
	}
	m, _ := instance.Uniform(100, 3, 42)
	o, err := MaximizeHard(pastotest.Goals(t, 5, true, .5, .5), m)
	if err != nil {
		t.Fatal(err)
	}
	pastotest.Near(t, "hard", o.Value, 0.9424946785, 1e-10)
	pastotest.Near(t, "hard weight", o.Mixture[49], 0.7921584129, 1e-9)
	pastotest.Near(t, "hard weight", o.Mixture[20], 0.0589097192, 1e-9)
}

// The relative gain is signed: with the absolute value that the paper prints, a loss would look
// like a gain.
func TestErratumSign(t *testing.T) {
	mu := pastotest.Toy(t)
	f := pastotest.Goals(t, 5, false, 0)
	_, single, _ := BestSingle(f, mu)
	o, _ := Maximize(f, mu, DefaultOptions())
	theta := make([]float64, 2)
	mu.Mean(theta, []float64{.9, .1})
	if r := (f.Value(theta) - single) / (o.Value - single); r > -5 {
		t.Errorf("r = %v for a mixture far worse than the best arm", r)
	}
}

// On a thousand random instances the statistics agree with those of an independent sample within
// four standard errors of the difference: the shares of optima with one, two and three atoms (none
// has more), the share of optima that are a single arm, and the means of the best single arm, the
// optimum and the gap.
func TestRandomInstancesStatistically(t *testing.T) {
	const n = 1000
	f := pastotest.Goals(t, 5, false, .5, .5)
	var atoms [4]float64
	equal := 0.0
	var sum, square [3]float64 // of best single, optimum, gap
	for seed := range uint64(n) {
		m, err := instance.Uniform(100, 3, seed)
		if err != nil {
			t.Fatal(err)
		}
		_, single, err := BestSingle(f, m)
		if err != nil {
			t.Fatal(err)
		}
		o, err := Maximize(f, m, Options{Tolerance: 1e-10, Iterations: 200_000})
		if err != nil {
			t.Fatal(err)
		}
		k := len(o.Support())
		if k > 3 || o.Gap > 1e-10 {
			t.Fatalf("seed %d: %d atoms, a gap of %v", seed, k, o.Gap)
		}
		if atoms[k]++; o.Value-single < 1e-9 {
			equal++
		}
		for i, v := range []float64{single, o.Value, o.Value - single} {
			sum[i] += v
			square[i] += v * v
		}
	}
	t.Logf("atoms %v, equal to the best single %v", atoms[1:], equal)
	for k, spec := range []float64{0, .075, .336, .589} {
		pastotest.Near(t, fmt.Sprintf("share of %d atoms", k), atoms[k]/n, spec, 4*math.Sqrt(2*spec*(1-spec)/n))
	}
	if equal != atoms[1] {
		t.Errorf("%v optima are a single arm's, %v have one atom", equal, atoms[1])
	}
	for i, spec := range []float64{.810, .886, .076} {
		mean := sum[i] / n
		pastotest.Near(t, []string{"best single", "optimum", "gap"}[i], mean, spec,
			4*math.Sqrt(2*(square[i]/n-mean*mean)/n)+.0005)
	}
}

// For a linear objective mixing gains nothing, F(p*) = F(p_S).
func TestLinearGainsNothing(t *testing.T) {
	f := pastotest.One(t, pasto.Metric{Name: "a", Weight: 2}, pasto.Metric{Name: "b", Weight: .5},
		pasto.Metric{Name: "c", Direction: pasto.Down})
	for seed := range uint64(50) {
		m, err := instance.Uniform(30, 3, seed)
		if err != nil {
			t.Fatal(err)
		}
		arm, single, err := BestSingle(f, m)
		if err != nil {
			t.Fatal(err)
		}
		o, err := Maximize(f, m, DefaultOptions())
		if err != nil {
			t.Fatal(err)
		}
		theta := m.Arm(arm)
		pastotest.Near(t, "F(p_S)", single, 2*theta[0]+.5*theta[1]-theta[2], 1e-14)
		pastotest.Near(t, "F(p*)", o.Value, single, 1e-12)
		pastotest.Near(t, "weight of the best single", o.Mixture[arm], 1, 1e-12)
	}
}
