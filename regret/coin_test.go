package regret_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/testsize"
	"github.com/noregret/noregret/oco"
	"github.com/noregret/noregret/regret"
)

// bettor bets what a function of the outcomes says.
type bettor struct {
	c   []float64
	bet func(c []float64) float64
}

func (b *bettor) Bet() float64            { return b.bet(b.c) }
func (b *bettor) Observe(c float64) error { b.c = append(b.c, c); return nil }

func sum(c []float64) (s float64) {
	for _, v := range c {
		s += v
	}
	return s
}

// bettors are strategies by name, for a horizon.
func bettors(rounds int) map[string]func(c []float64) float64 {
	r := random.New(5, "bettors")
	return map[string]func(c []float64) float64{
		"KT":       func(c []float64) float64 { return sum(c) / float64(len(c)+1) },
		"horizon":  func(c []float64) float64 { return sum(c) / float64(rounds) },
		"nothing":  func([]float64) float64 { return 0 },
		"half":     func([]float64) float64 { return 0.5 },
		"all":      func([]float64) float64 { return 1 },
		"contrary": func(c []float64) float64 { return -sum(c) / float64(len(c)+2) },
		"random":   func([]float64) float64 { return 2*r.Float64() - 1 },
	}
}

func TestCoinConstants(t *testing.T) {
	for rounds, want := range map[int]float64{4: 3.21875, 10: 4.6602156800, 21: 6.4315040834, 100: 13.2099606302} {
		got := math.Exp(must(regret.NewCoinAdversary(rounds)).LogConstant())
		if math.Abs(got-want) > 6e-11 {
			t.Errorf("C_%d = %.12g, want %.12g", rounds, got, want)
		}
	}
	for _, rounds := range []int{1, 2, 3, 50, 299, 5000} {
		if c := must(regret.NewCoinAdversary(rounds)).LogConstant(); c < math.Log(float64(rounds))/2-1e-13 {
			t.Errorf("C_%d = exp(%v) is below √T", rounds, c)
		}
	}
}

func TestCoinExamples(t *testing.T) {
	for rounds, want := range map[int]float64{4: 4.375, 21: 256661.3552284} {
		a := must(regret.NewCoinAdversary(rounds))
		kt := func(c []float64) float64 { return sum(c) / float64(len(c)+1) } // β_t = Σ_{i<t} c_i/t
		r := must(regret.PlayCoin(&bettor{bet: kt}, a))
		near(t, fmt.Sprintf("W_%d", rounds), math.Exp(r.LogWealth), want)
		near(t, "Σc", sum(r.Outcomes), float64(rounds))
		near(t, "best", r.LogBest, float64(rounds)*math.Ln2)
		if rounds == 4 {
			near(t, "share", math.Exp(r.LogWealth-r.LogBest), 0.2734375)
			near(t, "1/C_4", math.Exp(-r.LogConstant), 0.3106796117)
		}
	}
}

func TestCoinTheorem(t *testing.T) {
	var all []int
	for rounds := 1; rounds <= 60; rounds++ {
		all = append(all, rounds)
	}
	for _, rounds := range append(all, 150, 299, testsize.Of(1500, 400)) {
		a := must(regret.NewCoinAdversary(rounds))
		for name, bet := range bettors(rounds) {
			r := must(regret.PlayCoin(&bettor{bet: bet}, a))
			if r.LogWealth > r.LogBest-r.LogConstant+1e-11 {
				t.Errorf("T = %d, %s: ln W = %v above %v", rounds, name, r.LogWealth, r.LogBest-r.LogConstant)
			}
			// max Π(1+βc) = 2^T·M(k) ≤ exp(ln 2·(Σc)²/T).
			s := sum(r.Outcomes)
			if limit := math.Ln2 * s * s / float64(rounds); r.LogBest > limit+1e-12 {
				t.Errorf("T = %d, %s: ln best = %v above %v", rounds, name, r.LogBest, limit)
			}
		}
	}
}

// TestCoinRandom: the wealth is 1/C_T of the best in expectation, for any bettor.
func TestCoinRandom(t *testing.T) {
	const rounds = 8
	seeds := testsize.Of(4000, 500)
	for name, bet := range bettors(rounds) {
		var mean, square, c float64
		for seed := range uint64(seeds) {
			r := must(regret.PlayCoin(&bettor{bet: bet}, must(regret.NewRandomCoin(rounds, seed))))
			share := math.Exp(r.LogWealth - r.LogBest)
			mean += share / float64(seeds)
			square += share * share / float64(seeds)
			c = math.Exp(-r.LogConstant)
		}
		if sd := math.Sqrt((square - mean*mean) / float64(seeds)); math.Abs(mean-c) > 4*sd {
			t.Errorf("%s: mean share %v ± %v, want %v", name, mean, sd, c)
		}
	}
}

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
		t.Error("a reckless player's claim was not refuted")
	}
}

// TestTrapLong: numbers of the size 2^1000.
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

// wild plays anything.
type wild struct {
	x    []float64
	r    *random.Source
	size float64
}

func (p *wild) Dim() int           { return len(p.x) }
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
