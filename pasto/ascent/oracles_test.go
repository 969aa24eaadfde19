package ascent

import (
	"math"
	"testing"

	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/pasto"
	"github.com/noregret/noregret/pasto/internal/pastotest"
	"github.com/noregret/noregret/pasto/optimum"
)

// iterates are the mixtures that a learner with a mirror step can deploy.
type iterates interface {
	pasto.Learner
	Exploit() []float64
	Average() []float64
	AverageExploit() []float64
}

// p_k ≥ ε_t/K in every round, for the arms of the time, with equality where π_k is
// nothing: steps are so large that they drive all but one arm there. Shares sum to 1.
func TestExplorationInEveryRound(t *testing.T) {
	f := pastotest.Goals(t, 5, false, 0)
	paper := func(t int) float64 { return .1 / math.Sqrt(float64(t)+10) }
	options := func(change func(o *Options)) func() (pasto.Roster, error) {
		return func() (pasto.Roster, error) {
			o := PaperOptions(3)
			o.Step = Constant(20)
			change(&o)
			return New(f, 3, o)
		}
	}
	for _, c := range []struct {
		name string
		make func() (pasto.Roster, error)
		eps  func(t int) float64
	}{
		{"paper", options(func(*Options) {}), paper},
		{"systematic", options(func(o *Options) { o.Scheme = pasto.Systematic }), paper},
		{"floor", options(func(o *Options) {
			o.MinExploration = .02
		}), func(t int) float64 { return max(paper(t), .02) }},
		{"theorem", options(func(o *Options) {
			o.Exploration = TheoremExploration(1)
		}), func(t int) float64 { return min(.75, 1/math.Sqrt(float64(t))) }},
		{"s-scgd", func() (pasto.Roster, error) {
			return NewSCGD(f, 3, scgdOptions(func(o *SCGDOptions) { o.Step = Constant(20) }))
		}, paper},
	} {
		l, err := c.make()
		if err != nil {
			t.Fatal(err)
		}
		mu, r, active := pastotest.Table(t, []float64{2, 0, 1, -1}, []float64{-2, 2, 0, 1}), random.New(1, "explore"),
			3.0
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
			pastotest.Near(t, "Σp", sum, 1, 1e-12)
			pastotest.Play(t, l, mu, 2, 1, 1, r)
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

// x and λ times c scale g by c in every round, so that steps of γ/c serve the same; the
// optimum is the same mixture and c times the value.
func TestScaling(t *testing.T) {
	const c = 3
	f, scaled := pastotest.Goals(t, 5, false, 0), pastotest.Goals(t, 5*c, false, 0)
	o := PaperOptions(2)
	a := newAlgorithm(t, f, 2, o)
	o.Step = Constant(.05 / c)
	b := newAlgorithm(t, scaled, 2, o)
	r, arms := random.New(1, "scale"), make([]int, 1)
	for range 100 {
		a.Draw(r, arms)
		x, y := pastotest.Toy(t).Arm(arms[0])[0]+r.NormFloat64(), pastotest.Toy(t).Arm(arms[0])[1]+r.NormFloat64()
		for l, v := range map[*Algorithm]float64{a: x, b: c * x} {
			if err := l.Observe([]pasto.Observation{{Arm: arms[0], Metrics: []float64{v, y}}}); err != nil {
				t.Fatal(err)
			}
		}
		for k := range 2 {
			pastotest.Near(t, "g", b.g[k], c*a.g[k], 1e-12*(1+math.Abs(c*a.g[k])))
			pastotest.Near(t, "p", b.Serving()[k], a.Serving()[k], 1e-12)
		}
	}
	p, err := optimum.Maximize(f, pastotest.Toy(t), optimum.DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	q, err := optimum.Maximize(scaled, pastotest.Table(t, []float64{2 * c, 0}, []float64{-2, 2}),
		optimum.DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	pastotest.Near(t, "optimum", q.Value, c*p.Value, 1e-9)
	pastotest.Near(t, "q", q.Mixture[0], p.Mixture[0], 1e-6)
}

// A step of γ = 0 is legal: π stays at its start while V̂ is still estimated.
func TestNoStep(t *testing.T) {
	f, start := pastotest.Goals(t, 5, false, 0), []float64{.7, .2, .1}
	o := PaperOptions(3)
	o.Step, o.Start = Constant(0), start
	a := newAlgorithm(t, f, 3, o)
	s, err := NewSCGD(f, 3, scgdOptions(func(o *SCGDOptions) { o.Step, o.Start = Constant(0), start }))
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range []iterates{a, s} {
		pastotest.Play(t, l, pastotest.Table(t, []float64{2, 0, 1}, []float64{-2, 2, 0}), 3, 500, 0,
			random.New(1, "zero"))
		for k, v := range start {
			pastotest.Near(t, "π", l.Exploit()[k], v, 1e-12)
			pastotest.Near(t, "π̄", l.AverageExploit()[k], v, 1e-12)
		}
		pastotest.Near(t, "p", l.Serving()[2], (1-.1/math.Sqrt(511))*.1+.1/math.Sqrt(511)/3, 1e-12)
	}
	pastotest.Near(t, "V̂", a.Estimate().Arm(0)[0], 2, .5)
}
