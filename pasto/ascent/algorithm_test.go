package ascent

import (
	"fmt"
	"math"
	"testing"

	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/pasto"
	"github.com/noregret/noregret/pasto/internal/pastotest"
	"github.com/noregret/noregret/pasto/optimum"
)

func newAlgorithm(t testing.TB, f pasto.Objective, arms int, o Options) *Algorithm {
	t.Helper()
	a, err := New(f, arms, o)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// The trace of Algorithm 1 on the toy, all columns.
func TestTrace(t *testing.T) {
	a := newAlgorithm(t, pastotest.Goals(t, 5, false, 0), 2, PaperOptions(2))
	rows := []struct {
		arm     int
		x, y    float64
		eps, p1 float64
		v       [4]float64 // x1 x2 y1 y2
		g1, g2  float64
		lw, lw2 float64 // after the round
	}{
		{0, 2, -2, 0.0301511345, 0.5, [4]float64{2, 0, -2, 0}, -18, 0, -0.9, 0},
		{
			1, 0, 2, 0.0288675135, 0.2951400850,
			[4]float64{1.3333333333, 0, -1.3333333333, 0.9458144129},
			1.3333333333, 0,
			-0.8333333333, 0,
		},
		{
			1, 0.5, 1.5, 0.0277350098, 0.3084061572,
			[4]float64{1, 0.1807419214, -1, 1.2515865739},
			1, 0.1807419214,
			-0.7833333333, 0.0090370961,
		},
		{
			0, 2.5, -3, 0.0267261242, 0.3166935194,
			[4]float64{2.3788134880, 0.1445935371, -2.6945761856, 1.0012692592},
			-2.1798985782, 1.8385513023, -0.8923282622, 0.1009646612,
		},
	}
	for i, r := range rows {
		pastotest.Near(t, "ε", a.epsilon(), r.eps, 1e-10)
		pastotest.Near(t, "p_1", a.Serving()[0], r.p1, 1e-10)
		if err := a.Observe([]pasto.Observation{{Arm: r.arm, Metrics: []float64{r.x, r.y}}}); err != nil {
			t.Fatal(err)
		}
		v := a.Estimate()
		for j, got := range []float64{v.Arm(0)[0], v.Arm(1)[0], v.Arm(0)[1], v.Arm(1)[1]} {
			pastotest.Near(t, fmt.Sprintf("round %d V̂[%d]", i+1, j), got, r.v[j], 1e-9)
		}
		pastotest.Near(t, "g_1", a.g[0], r.g1, 1e-9)
		pastotest.Near(t, "g_2", a.g[1], r.g2, 1e-9)
		pi := a.Exploit()
		pastotest.Near(t, "lw_1 − lw_2", math.Log(pi[0]/pi[1]), r.lw-r.lw2, 1e-9)
	}
	pastotest.Near(t, "p̄_1", a.Average()[0], 0.3550599404, 1e-10)
	pastotest.Near(t, "p̄_2", a.Deployed()[1], 0.6449400596, 1e-10)
}

// An arm that is drawn twice has twice the weight.
func TestParallelQueries(t *testing.T) {
	e := newEstimate(IPW(), 3, 1, nil, 0)
	e.add([]float64{.5, .3, .2}, []pasto.Observation{
		{Arm: 0, Metrics: []float64{1}},
		{Arm: 0, Metrics: []float64{2}},
		{Arm: 2, Metrics: []float64{4}},
	}, 0)
	for k, want := range []float64{2, 0, 6.6666666667} {
		pastotest.Near(t, "Û", e.value(k, 0), want, 1e-10)
	}
}

// Permuting the arms permutes everything, and a linear objective ends at the best arm.
func TestPermutationAndLinear(t *testing.T) {
	f, err := pasto.NewGoals([]pasto.Metric{{Name: "x"}}, 0)
	if err != nil {
		t.Fatal(err)
	}
	mu := pastotest.Table(t, []float64{.1, .9, .5})
	o := PaperOptions(3)
	o.Estimator, o.Step = ArmMeans(), Constant(.05)
	a := newAlgorithm(t, f, 3, o)
	pastotest.Play(t, a, mu, 5, 2000, .1, random.New(1, "test"))
	if a.Exploit()[1] < .999 {
		t.Errorf("%v", a.Exploit())
	}
	x, y := newAlgorithm(t, f, 3, o), newAlgorithm(t, f, 3, o)
	r := random.New(9, "test")
	perm := []int{2, 0, 1}
	for range 50 {
		k, v := r.IntN(3), r.NormFloat64()
		_ = x.Observe([]pasto.Observation{{Arm: k, Metrics: []float64{v}}})
		_ = y.Observe([]pasto.Observation{{Arm: perm[k], Metrics: []float64{v}}})
	}
	for k := range 3 {
		pastotest.Near(t, "permuted", y.Serving()[perm[k]], x.Serving()[k], 1e-14)
	}
}

// The constant of Theorem 1 of PASTO, and the schedules.
func TestTheory(t *testing.T) {
	c, err := TheoremConstant(100, Constants{1, 1, 1, 1})
	if err != nil {
		t.Fatal(err)
	}
	pastotest.Near(t, "C", c, 79.4782974998, 1e-9)
	pastotest.Near(t, "paper ε", PaperExploration().At(6), 0.1/4, 1e-15)
	pastotest.Near(t, "paper γ", PaperStep(100).At(5), 0.001, 1e-18)
	pastotest.Near(t, "theorem ε", TheoremExploration(2).At(1), .75, 0)
	pastotest.Near(t, "theorem ε", TheoremExploration(2).At(100), .2, 1e-15)
	pastotest.Near(t, "theorem γ", TheoremStep(400).At(9), .05, 1e-15)
	pastotest.Near(t, "power", Power(2, -.75).At(16), .25, 1e-15)
	pastotest.Near(t, "power", Power(1, -5.0/7).At(128), math.Pow(128, -5.0/7), 1e-15)
	// With the paper's ε ∝ t^−½ the corrected bound falls as T^−¼, far slower than the printed one.
	b := func(n int) float64 {
		v,
			err := SupportedBound(Supported{
			10, 1, n, 1 / math.Sqrt(float64(n)), TheoremExploration(.5),
			Constants{1, 1, 1, 1},
			1, 1,
		})
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	pastotest.Near(t, "rate", math.Log(b(100000)/b(6250))/math.Log(16), -.25, .04)
}

// Retiring an arm leaves the other arms unchanged. An added arm has share 1/(K+1) and its own round
// count.
func TestArmsComeAndGo(t *testing.T) {
	for _, form := range []Estimator{IPW(), ArmMeans(), DoublyRobust(), WindowMeans(30)} {
		o := PaperOptions(2)
		o.Estimator = form
		a := newAlgorithm(t, pastotest.Goals(t, 5, false, 0), 2, o)
		r := random.New(1, "test")
		pastotest.Play(t, a, pastotest.Toy(t), 2, 100, .1, r)
		before := append([]float64{}, a.Exploit()...)
		k, err := a.AddArmFrom([]float64{1, 1})
		if err != nil || k != 2 {
			t.Fatal(k, err)
		}
		pastotest.Near(t, "new share", a.Exploit()[2], 1.0/3, 1e-12)
		pastotest.Near(t, "old share", a.Exploit()[0], before[0]*2/3, 1e-12)
		mu := pastotest.Table(t, []float64{2, 0, 3}, []float64{-2, 2, 1})
		pastotest.Play(t, a, mu, 2, 3000, .1, r)
		pastotest.Near(t, "new arm's V̂", a.Estimate().Arm(2)[0], 3, .5)
		if err := a.RetireArm(0); err != nil {
			t.Fatal(err)
		}
		if a.Serving()[0] != 0 || a.Average()[0] != 0 {
			t.Error("a retired arm has a share")
		}
		pastotest.Near(t, "Σp", a.Serving()[1]+a.Serving()[2], 1, 1e-12)
		pastotest.Near(t, "Σp̄", a.Average()[1]+a.Average()[2], 1, 1e-12)
		if err := a.Observe([]pasto.Observation{{Arm: 0, Metrics: []float64{1, 1}}}); err == nil {
			t.Error("an observation of a retired arm is accepted")
		}
		data, err := a.MarshalBinary()
		if err != nil {
			t.Fatal(err)
		}
		b := newAlgorithm(t, pastotest.Goals(t, 5, false, 0), 2, o)
		if err := b.UnmarshalBinary(data); err != nil {
			t.Fatal(err)
		}
		if b.Arms() != 3 || b.Serving()[1] != a.Serving()[1] {
			t.Error("the snapshot lost arms")
		}
		if err := a.RetireArm(1); err != nil {
			t.Fatal(err)
		}
		if err := a.RetireArm(2); err == nil {
			t.Error("retiring the last arm: no error")
		}
	}
}

// Multiplying x and λ by c scales g by c in every round, so steps of γ/c give the same serving
// distribution. The optimum is the same mixture, with c times the value.
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

// The paper's proofs bound 1/p_k by 1/ε, but 1/p_k reaches K/ε.
func TestErratumMissingArms(t *testing.T) {
	o := PaperOptions(4)
	o.Exploration, o.Step = Constant(.2), Constant(1000)
	a := newAlgorithm(t, pastotest.Goals(t, 5, false, 0), 4, o)
	if err := a.Observe([]pasto.Observation{{Arm: 0, Metrics: []float64{1, 1}}}); err != nil {
		t.Fatal(err)
	}
	if w := 1 / a.Serving()[3]; math.Abs(w-4/.2) > 1e-9 || w <= 1/.2 {
		t.Errorf("1/p = %v; the printed bound is %v", w, 1/.2)
	}
}
