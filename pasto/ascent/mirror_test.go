package ascent

import (
	"math"
	"testing"

	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/pasto"
	"github.com/noregret/noregret/pasto/internal/pastotest"
)

// A starting mixture with a share of 0 is an error: with ε = 0 the arm would have propensity 0.
func TestStartOfNothing(t *testing.T) {
	for _, explore := range []Schedule{Constant(0), PaperExploration()} {
		o := PaperOptions(2)
		o.Exploration, o.Start = explore, []float64{1, 0}
		_, err := New(pastotest.Goals(t, 5, false, 0), 2, o)
		pastotest.Same(t, err, "start[1]: 0: want a share of at least 1e-300, as an arm without one would never be "+
			"found by "+
			"steps that multiply")
	}
}

// A constant added to all scores changes nothing, and the step clip binds where it should.
func TestMirrorStep(t *testing.T) {
	p := func(clip float64, g ...float64) []float64 {
		m, err := newMirror(3, nil, Constant(0), 0, pasto.IID, 0)
		if err != nil {
			t.Fatal(err)
		}
		if err := m.step(g, .5, clip, 0); err != nil {
			t.Fatal(err)
		}
		return m.Exploit()
	}
	a, b := p(0, 1, 2, -1), p(0, 11, 12, 9)
	for k := range a {
		pastotest.Near(t, "shifted", b[k], a[k], 1e-15)
	}
	pastotest.Near(t, "unclipped", math.Log(a[1]/a[2]), 1.5, 1e-12)
	pastotest.Near(t, "clipped at 0.1", math.Log(p(.1, 1, 2, -1)[1]/p(.1, 1, 2, -1)[2]), .1*3/2, 1e-12)
	pastotest.Near(t, "not clipped", math.Log(p(2, 1, 2, -1)[1]/p(2, 1, 2, -1)[2]), 1.5, 1e-12)
}

// AverageDecay turns the averages into averages over a window: round t has the share max(1/t,
// decay). The values by hand are for steps that make the ratio of the weights 3, 9 and 27, so that
// π_1 = 1/2, 3/4, 9/10 and 27/28, and for ε = 1/5.
func TestAverageDecay(t *testing.T) {
	f := pastotest.One(t, pasto.Metric{Name: "x"})
	for _, c := range []struct{ decay, want float64 }{
		{0, (1./2 + 3./4 + 9./10 + 27./28) / 4},
		{.25, (1./2 + 3./4 + 9./10 + 27./28) / 4}, // no window of four rounds yet
		{.5, (1./2+3./4)/8 + 9./10/4 + 27./28/2},
		{1, 27. / 28},
	} {
		for _, ship := range []Deploy{DeployAverageExploit, DeployAverage} {
			a := newAlgorithm(t, f, 2, Options{
				Estimator: ArmMeans(), Step: Constant(1), Exploration: Constant(.2),
				Deploy: ship, AverageDecay: c.decay,
			})
			for range 4 {
				if err := a.Observe([]pasto.Observation{{Arm: 0, Metrics: []float64{math.Log(3)}}}); err != nil {
					t.Fatal(err)
				}
			}
			want := c.want
			if ship == DeployAverage { // p = 0.8·π + 0.1
				want = .8*c.want + .1
			}
			pastotest.Near(t, a.String(), a.Deployed()[0], want, 1e-14)
		}
	}
}

// iterates are the mixtures that a learner with a mirror step can deploy.
type iterates interface {
	pasto.Learner
	Exploit() []float64
	Average() []float64
	AverageExploit() []float64
}

// In every round p_k ≥ ε_t/K for the current arms, with equality where π_k is 0. The steps are
// large enough to drive all but one arm there. Shares sum to 1.
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
			t.Errorf("%s: only %d shares are at their lower bound: the test is too weak", c.name, tight)
		}
	}
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

// A fixed share spreads a part of the weights before the step: w ← ((1−α)·π + α/K)·exp(γ·g) over
// the active arms.
func TestFixedShare(t *testing.T) {
	m, err := newMirror(4, []float64{.5, .3, .1, .1}, Constant(0), 0, pasto.IID, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := m.retire(3); err != nil {
		t.Fatal(err)
	}
	const alpha, gamma = .2, .5
	g := []float64{1, -2, .3, 7}
	pi, want, sum := append([]float64{}, m.Exploit()...), make([]float64, 4), 0.0
	if err := m.step(g, gamma, 0, alpha); err != nil {
		t.Fatal(err)
	}
	for k := range 3 {
		want[k] = ((1-alpha)*pi[k] + alpha/3) * math.Exp(gamma*g[k])
		sum += want[k]
	}
	for k, v := range m.Exploit() {
		pastotest.Near(t, "a share", v, want[k]/sum, 1e-12)
	}
}
