package pasto

import (
	"fmt"
	"math"
	"testing"

	"github.com/noregret/noregret/internal/random"
)

// Spec 2.2 and 7: a thousand random instances (B), others than the specification's. The shares of
// optima with one, two and three atoms (none has more), that of optima which are a single arm, and
// the means of the best single arm, the optimum and the gap are its, within four standard errors of
// the difference of two samples.
func TestRandomInstancesStatistically(t *testing.T) {
	const n = 1000
	f := goals(t, 5, false, .5, .5)
	var atoms [4]float64
	equal := 0.0
	var sum, square [3]float64 // of best single, optimum, gap
	for seed := range uint64(n) {
		m, err := UniformTable(100, 3, seed)
		if err != nil {
			t.Fatal(err)
		}
		_, single, err := BestSingle(f, m)
		if err != nil {
			t.Fatal(err)
		}
		o, err := Maximize(f, m, SolverOptions{Tolerance: 1e-10})
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
		near(t, fmt.Sprintf("share of %d atoms", k), atoms[k]/n, spec, 4*math.Sqrt(2*spec*(1-spec)/n))
	}
	if equal != atoms[1] {
		t.Errorf("%v optima are a single arm's, %v have one atom", equal, atoms[1])
	}
	for i, spec := range []float64{.810, .886, .076} {
		mean := sum[i] / n
		near(t, []string{"best single", "optimum", "gap"}[i], mean, spec,
			4*math.Sqrt(2*(square[i]/n-mean*mean)/n)+.0005)
	}
}

// Spec 1.1 and T6: for a linear objective mixing gains nothing, F(p*) = F(p_S).
func TestLinearGainsNothing(t *testing.T) {
	f := one(t, Metric{Name: "a", Weight: 2}, Metric{Name: "b", Weight: .5}, Metric{Name: "c", Direction: Down})
	for seed := range uint64(50) {
		m, err := UniformTable(30, 3, seed)
		if err != nil {
			t.Fatal(err)
		}
		arm, single, err := BestSingle(f, m)
		if err != nil {
			t.Fatal(err)
		}
		o, err := Maximize(f, m, SolverOptions{})
		if err != nil {
			t.Fatal(err)
		}
		theta := m.Arm(arm)
		near(t, "F(p_S)", single, 2*theta[0]+.5*theta[1]-theta[2], 1e-14)
		near(t, "F(p*)", o.Value, single, 1e-12)
		near(t, "weight of the best single", o.Mixture[arm], 1, 1e-12)
	}
}

// Spec T6: p_k ≥ ε_t/K in every round, for the arms of the time, with equality where π_k is
// nothing: steps are so large that they drive all but one arm there. Shares sum to 1.
func TestExplorationInEveryRound(t *testing.T) {
	f := goals(t, 5, false, 0)
	paper := func(t int) float64 { return .1 / math.Sqrt(float64(t)+10) }
	options := func(change func(o *Options)) func() (Roster, error) {
		return func() (Roster, error) {
			o := PaperOptions(3)
			o.Step = Constant(20)
			change(&o)
			return New(f, 3, o)
		}
	}
	for _, c := range []struct {
		name string
		make func() (Roster, error)
		eps  func(t int) float64
	}{
		{"paper", options(func(*Options) {}), paper},
		{"systematic", options(func(o *Options) { o.Scheme = Systematic }), paper},
		{"floor", options(func(o *Options) {
			o.MinExploration = .02
		}), func(t int) float64 { return max(paper(t), .02) }},
		{"theorem", options(func(o *Options) {
			o.Exploration = TheoremExploration(1)
		}), func(t int) float64 { return min(.75, 1/math.Sqrt(float64(t))) }},
		{"s-scgd", func() (Roster, error) { return NewSCGD(f, 3, SCGDOptions{Step: Constant(20)}) }, paper},
	} {
		l, err := c.make()
		if err != nil {
			t.Fatal(err)
		}
		mu, r, active := table(t, []float64{2, 0, 1, -1}, []float64{-2, 2, 0, 1}), random.New(1, "explore"), 3.0
		tight := 0
		for n := 1; n <= 300; n++ {
			sum := 0.0
			for k, p := range l.Serving() {
				least := c.eps(n) / active
				if n > 200 && k == 0 {
					least = 0
				}
				if sum += p; p < least-1e-15 {
					t.Fatalf("%s, round %d: p[%d] = %v is below %v", c.name, n, k, p, least)
				} else if p < least+1e-12 {
					tight++
				}
			}
			near(t, "Σp", sum, 1, 1e-12)
			play(t, l, mu, 2, 1, 1, r)
			if n == 100 {
				if _, err := l.AddArm(); err != nil {
					t.Fatal(err)
				}
				active++
			}
			if n == 200 {
				if err := l.RetireArm(0); err != nil {
					t.Fatal(err)
				}
				active--
			}
		}
		if tight < 300 {
			t.Errorf("%s: %d shares are the least possible: the test sees little", c.name, tight)
		}
	}
}

// Spec T6: x and λ times c scale g by c in every round, so that steps of γ/c serve the same; the
// optimum is the same mixture and c times the value.
func TestScaling(t *testing.T) {
	const c = 3
	f, scaled := goals(t, 5, false, 0), goals(t, 5*c, false, 0)
	o := PaperOptions(2)
	a := newAlgorithm(t, f, 2, o)
	o.Step = Constant(.05 / c)
	b := newAlgorithm(t, scaled, 2, o)
	r, arms := random.New(1, "scale"), make([]int, 1)
	for range 100 {
		a.Draw(r, arms)
		x, y := toy(t).Arm(arms[0])[0]+r.NormFloat64(), toy(t).Arm(arms[0])[1]+r.NormFloat64()
		for l, v := range map[*Algorithm]float64{a: x, b: c * x} {
			if err := l.Observe([]Observation{{Arm: arms[0], Metrics: []float64{v, y}}}); err != nil {
				t.Fatal(err)
			}
		}
		for k := range 2 {
			near(t, "g", b.g[k], c*a.g[k], 1e-12*(1+math.Abs(c*a.g[k])))
			near(t, "p", b.Serving()[k], a.Serving()[k], 1e-12)
		}
	}
	p, err := Maximize(f, toy(t), SolverOptions{})
	if err != nil {
		t.Fatal(err)
	}
	q, err := Maximize(scaled, table(t, []float64{2 * c, 0}, []float64{-2, 2}), SolverOptions{})
	if err != nil {
		t.Fatal(err)
	}
	near(t, "optimum", q.Value, c*p.Value, 1e-9)
	near(t, "q", q.Mixture[0], p.Mixture[0], 1e-6)
}

// Spec 8: a step of γ = 0 is legal, and learns nothing: π stays what it was to start from, while V̂
// is learned.
func TestNoStep(t *testing.T) {
	f, start := goals(t, 5, false, 0), []float64{.7, .2, .1}
	o := PaperOptions(3)
	o.Step, o.Start = Constant(0), start
	a := newAlgorithm(t, f, 3, o)
	s, err := NewSCGD(f, 3, SCGDOptions{Step: Constant(0), Start: start})
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range []iterates{a, s} {
		play(t, l, table(t, []float64{2, 0, 1}, []float64{-2, 2, 0}), 3, 500, 0, random.New(1, "zero"))
		for k, v := range start {
			near(t, "π", l.Exploit()[k], v, 1e-12)
			near(t, "π̄", l.AverageExploit()[k], v, 1e-12)
		}
		near(t, "p", l.Serving()[2], (1-.1/math.Sqrt(511))*.1+.1/math.Sqrt(511)/3, 1e-12)
	}
	near(t, "V̂", a.Estimate().Arm(0)[0], 2, .5)
}
