package regret_test

import (
	"math"
	"testing"

	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/testsize"
	"github.com/noregret/noregret/oco"
	"github.com/noregret/noregret/regret"
)

func TestBettingTrap(t *testing.T) {
	g := must(regret.NewBettingTrap(1, 25, func(int) float64 { return 2.5 })) // ε = √T/2
	l := must(oco.NewSubgradientDescent(g.Set(), nil, oco.FixedHorizon(1, 1, 25)))
	c := play(t, l, g, 25)
	if round, _ := g.Refuted(); round != 0 {
		t.Fatalf("the claim was refuted in round %d", round)
	}
	near(t, "Σc", float64(g.Sum()), 25)
	near(t, "u*", c.Comparator[0], 23258159.94)
	near(t, "regret", c.Regret/5.814539384e8, 1)
	near(t, "floor", g.Floor()/5.646767849e8, 1)
	u := c.Comparator[0]
	loose := 0.8*u*math.Sqrt(25)*(math.Sqrt(0.3*math.Log(0.8*u*25/2.5))-1) + 2.5*(1-1.0/5)
	near(t, "the book's form", loose/1.293228145e8, 1)
	if !(c.Regret >= g.Floor() && g.Floor() >= loose) || !math.IsInf(c.Gap, 1) {
		t.Errorf("regret %v, floor %v, loose %v, gap %v", c.Regret, g.Floor(), loose, c.Gap)
	}
	near(t, "f*+ε at T=100, ε=‖u‖=1", regret.ConjugateOfWealth(1, 100, 1)+1, 20.1607715574)
}

func TestTrapFloors(t *testing.T) {
	r := random.New(2, "l6")
	for _, d := range []int{1, 3} {
		for _, rounds := range []int{1, 4, 25, 60, 200} {
			e := math.Sqrt(float64(rounds))
			g := must(regret.NewBettingTrap(d, rounds, func(t int) float64 { return e }))
			for i, l := range []regret.Player{
				must(must(oco.Find("ogd-unbounded")).New(
					problem(g.Set(), rounds, linearFacts(1, 1)), nil)),
				must(must(oco.Find("ftrl")).New(problem(g.Set(), rounds, linearFacts(1, 1)),
					nil)),
				&wild{x: make([]float64, d), r: r},
			} {
				c := play(t, l, g, rounds)
				if round, excess := g.Refuted(); round > 0 {
					zero := c.LearnerLoss
					if i < 2 || zero <= g.Floor() || math.Abs(zero-g.Floor()-excess) > 1e-9 {
						t.Errorf("player %d: refuted in round %d by %v: regret against 0 is %v, claim %v", i, round,
							excess, zero, g.Floor())
					}
				} else if c.Regret < g.Floor()*(1-1e-12) {
					t.Errorf("player %d, d = %d, T = %d: regret %v below the floor %v", i, d, rounds, c.Regret,
						g.Floor())
				}
			}
		}
	}
	if round, _ := refuted(t, &wild{x: make([]float64, 2), r: r, size: 100}); round == 0 {
		t.Error("the reckless player's claim was not refuted")
	}
}

// TestTrapLong plays until numbers reach the size of 2^1000.
func TestTrapLong(t *testing.T) {
	g, f, err := must(regret.FindGame("betting-trap")).New(regret.GameParams{Rounds: 1000})
	if err != nil {
		t.Fatal(err)
	}
	names := []string{
		"ogd-unbounded", "ftrl-proximal", "ftrl", "composite-ftrl", "mean-hint", "p-norm", "gradual-ftrl",
	}
	for _, name := range names[:testsize.Of(len(names), 2)] {
		c := play(t, must(must(oco.Find(name)).New(problem(g.Set(), 1000, f), nil)), g, 1000)
		trap := g.(*regret.BettingTrap)
		round, _ := trap.Refuted()
		t.Logf("%s: refuted in round %d, u* = %.3g, regret %.3g, floor %.3g, bound %.3g", name, round, c.Comparator[0],
			c.Regret, trap.Floor(), c.Bound)
		if !c.Holds() || c.Regret < trap.Floor()*(1-1e-12) || math.IsInf(c.Regret, 0) {
			t.Errorf("%s: regret %v, floor %v, bound %v", name, c.Regret, trap.Floor(), c.Bound)
		}
	}
}

func refuted(t *testing.T, p regret.Player) (int, float64) {
	g := must(regret.NewBettingTrap(2, 50, func(t int) float64 { return math.Sqrt(float64(t)) }))
	play(t, p, g, 50)
	return g.Refuted()
}

// wild plays arbitrary points.
type wild struct {
	x    []float64
	r    *random.Source
	size float64
}

func (p *wild) Dim() int { return len(p.x) }

func (p *wild) Predict() []float64 { return p.x }

func (p *wild) Update([]float64) error {
	for i := range p.x {
		p.x[i] = (2*p.r.Float64() - 1) * max(p.size, 0.3)
	}
	return nil
}

// TestConjugateOfWealth compares with a golden-section search of sup_s s·y − f(s), and far out with
// Lambert's equation.
func TestConjugateOfWealth(t *testing.T) {
	for _, rounds := range []int{1, 21, 100, 5000} {
		for _, eps := range []float64{1e-3, 1, 50} {
			for _, y := range []float64{0, 1e-12, 1e-6, 0.01, 1, 30, 1e6} {
				n := float64(rounds)
				f := func(s float64) float64 { return s*y - eps/math.Sqrt(n)*math.Exp(s*s*math.Ln2/n) }
				a, b := 0.0, 40*math.Sqrt(n)
				for range 300 {
					p, q := a+(b-a)/3, b-(b-a)/3
					if f(p) < f(q) {
						a = p
					} else {
						b = q
					}
				}
				got, want := regret.ConjugateOfWealth(y, rounds, eps), f((a+b)/2)
				if math.Abs(got-want) > 1e-12*(math.Abs(want)+eps/math.Sqrt(n)) {
					t.Errorf("f*(%v) for T = %d, ε = %v: %.15g, by search %.15g", y, rounds, eps, got, want)
				}
			}
		}
	}
	if v := regret.ConjugateOfWealth(1e300, 100, 1e-300); !(v > 1e300) || math.IsInf(v, 1) {
		t.Errorf("far out: %v", v)
	}
	for _, v := range []float64{
		regret.ConjugateOfWealth(-1, 1, 1), regret.ConjugateOfWealth(1, 0, 1),
		regret.ConjugateOfWealth(1, 1, 0),
	} {
		if !math.IsNaN(v) {
			t.Errorf("out of range: %v, want NaN", v)
		}
	}
}
