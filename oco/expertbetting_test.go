package oco

import (
	"math"
	"slices"
	"testing"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/vec"
)

// expertLosses are four rounds of three experts.
var expertLosses = [][]float64{{.2, .9, .5}, {0, 1, .4}, {1, .3, 0}, {.1, .6, .4}}

func expertBettor(d int, o ExpertBettingOptions) *ExpertBetting { return must(NewExpertBetting(d, o)) }

// meanWealth is Σ π_i·Wealth_i.
func meanWealth(l *ExpertBetting) (w float64) {
	for i, p := range l.prior {
		w += p * math.Exp(l.LogWealth(i))
	}
	return w
}

// TestExpertBettingOracles has the weights, coins and wealths of four rounds, with both bettors and
// two priors, to ten digits.
func TestExpertBettingOracles(t *testing.T) {
	l := expertBettor(3, ExpertBettingOptions{Range: 1})
	var wealths []float64
	paid := 0.0
	for k, g := range expertLosses {
		x := l.Predict()
		switch k {
		case 0:
			nearVector(t, "p_1", x, []float64{1. / 3, 1. / 3, 1. / 3})
		case 1:
			nearVector(t, "p_2", x, []float64{.9090909091, 0, .09090909091})
		case 2:
			nearVector(t, "p_3", x, []float64{1, 0, 0})
		case 3:
			nearVector(t, "p_4", x, []float64{.2234814443, .4206002, .3559183557})
		}
		paid += vec.Dot(g, x)
		before := slices.Clone(l.state.Coins)
		if err := l.Update(g); err != nil {
			t.Fatal(err)
		}
		for i := range before {
			before[i] = l.state.Coins[i] - before[i]
		}
		switch k {
		case 0:
			nearVector(t, "coins of round 1", before, []float64{1. / 3, 0, 1. / 30})
		case 3:
			nearVector(t, "coins of round 4", before, []float64{.3170756067, -.1829243933, .0170756067})
		}
		wealths = append(wealths, meanWealth(l))
	}
	nearVector(t, "mean wealths", wealths, []float64{1, 1, .9635220896, .9635220896})
	final := make([]float64, 3)
	for i := range final {
		final[i] = math.Exp(l.LogWealth(i))
	}
	nearVector(t, "wealths", final, []float64{1.035543688, .9679882312, .8870343498})
	near(t, "regret to expert 1", paid-1.3, .6867725764)

	l = expertBettor(3, ExpertBettingOptions{Range: 1, Horizon: 4})
	xs, _ := play(t, l, expertLosses)
	nearVector(t, "p_2 with a horizon", xs[1], []float64{.9090067602, 0, .09099323985})
	nearVector(t, "p_4 with a horizon", xs[3], []float64{.217285228, .4097973078, .3729174643})
	near(t, "mean wealth with a horizon", meanWealth(l), .9843162918)

	l = expertBettor(3, ExpertBettingOptions{Range: 1, Horizon: 4, Prior: []float64{.5, .25, .25}})
	xs, _ = play(t, l, expertLosses)
	nearVector(t, "p_4 with a prior", xs[3], []float64{.2279364269, .3184026924, .4536608807})
}

// TestExpertBettingTheorem917 has the values of the bounds after 1000 rounds for ten experts.
func TestExpertBettingTheorem917(t *testing.T) {
	r := random.New(1, "bounds")
	one := []float64{0, 1, 0, 0, 0, 0, 0, 0, 0, 0}
	for _, c := range []struct {
		horizon int
		want    float64
	}{{0, 121.0688042}, {1000, 102.9399569}} {
		l := expertBettor(10, ExpertBettingOptions{Range: 1, Horizon: c.horizon})
		for range 1000 {
			g := make([]float64, 10)
			for i := range g {
				g[i] = r.Float64()
			}
			if err := l.Update(g); err != nil {
				t.Fatal(err)
			}
		}
		b := bound(t, l, one)
		if c.horizon > 0 { // Eq. 9.9 has ½·ln 2 for ½·Σ 1/(i + T)
			if !(b <= c.want) || b < c.want*(1-1e-3) {
				t.Errorf("bound %v, with ½·ln 2 %v", b, c.want)
			}
			near(t, "Eq. 9.9", math.Sqrt(4*1000*(math.Log(10)+math.Ln2/2)), c.want)
			continue
		}
		near(t, "bound", b, c.want)
		near(t, "with the sharper constant", math.Sqrt(2*1000*(math.Log(10)+math.Log(1000)/2+.5)), 111.8611884)
		near(t, "quantile", must(l.QuantileBound(.1)), b)
		if half := must(l.QuantileBound(.5)); !(half < b) {
			t.Errorf("the bound for half the experts is %v, for one %v", half, b)
		}
	}
}

// TestExpertBettingInvariants: the mean wealth never rises, the regret to each expert is at most
// its sum of coins, an expert of prior 0 has weight 0, and equal losses move nothing.
func TestExpertBettingInvariants(t *testing.T) {
	r := random.New(2, "invariants")
	for run := range 60 {
		d := 1 + r.IntN(6)
		prior := interior(r, d)
		if d > 2 && run%3 == 0 {
			prior[1] += prior[0]
			prior[0] = 0
		}
		l := expertBettor(d, ExpertBettingOptions{Range: 3, Prior: prior, Horizon: run % 2 * 40})
		nearVector(t, "the first point", l.Predict(), prior)
		regret, before := make([]float64, d), 1.0
		for round := range 80 {
			g := make([]float64, d)
			for i := range g {
				if g[i] = 3 * r.Float64(); run%4 == 0 {
					g[i] = 1.5 + 1.5*math.Copysign(1, math.Sin(float64(round/(5+i))))
				}
				if run%5 == 0 {
					g[i] = 2
				}
			}
			x := l.Predict()
			if prior[0] == 0 && x[0] != 0 {
				t.Fatal("an expert of prior 0 has a weight")
			}
			if (d == 1 || run%5 == 0) && !slices.Equal(x, l.prior) {
				t.Fatalf("equal losses move the point to %v", x)
			}
			for i, v := range g {
				regret[i] += (vec.Dot(g, x) - v) / 3
			}
			if err := l.Update(g); err != nil {
				t.Fatal(err)
			}
			w := meanWealth(l)
			if w > before+1e-12 {
				t.Fatalf("round %d: the mean wealth rises from %v to %v", round+1, before, w)
			}
			before = w
			for i, v := range regret {
				if v > l.state.Coins[i]+1e-9 {
					t.Fatalf("regret %v to expert %d, coins %v", v, i, l.state.Coins[i])
				}
			}
		}
	}
}

// TestExpertBettingQuantiles plays experts of which a share is good, and holds the regret to the
// k-th best against the bound of its share, for every k.
func TestExpertBettingQuantiles(t *testing.T) {
	r := random.New(3, "quantiles")
	const d, rounds = 64, 400
	for _, good := range []int{1, 8, 32} {
		l := expertBettor(d, ExpertBettingOptions{Range: 1})
		totals, paid := make([]float64, d), 0.0
		for range rounds {
			g := make([]float64, d)
			for i := range g {
				if p := .5; i >= good || r.Float64() > .2 {
					g[i] = math.Round(r.Float64() + p - .5)
				}
				totals[i] += g[i]
			}
			paid += vec.Dot(g, l.Predict())
			if err := l.Update(g); err != nil {
				t.Fatal(err)
			}
		}
		slices.Sort(totals)
		for k := 1; k <= d; k++ {
			if b := must(l.QuantileBound(float64(k) / d)); paid-totals[k-1] > b {
				t.Errorf("%d good: regret %v to number %d, bound %v", good, paid-totals[k-1], k, b)
			}
		}
	}
	for _, mass := range []float64{0, -1, 1.1, math.NaN()} {
		if _, err := expertBettor(2, ExpertBettingOptions{Range: 1}).QuantileBound(mass); err == nil {
			t.Errorf("a mass of %v was taken", mass)
		}
	}
}

func TestExpertBettingRefuses(t *testing.T) {
	nan := math.NaN()
	for _, o := range []ExpertBettingOptions{
		{},
		{Range: -1},
		{Range: nan},
		{Range: math.Inf(1)},
		{Range: 1, Horizon: -1},
		{Range: 1, Prior: []float64{1}},
		{Range: 1, Prior: []float64{.6, .6}},
		{Range: 1, Prior: []float64{-.5, 1.5}},
		{Range: 1, Prior: []float64{nan, 1}},
	} {
		if _, err := NewExpertBetting(2, o); noregret.CodeOf(err) != noregret.BadInput {
			t.Errorf("%+v: %v", o, err)
		}
	}
	if _, err := NewExpertBetting(0, ExpertBettingOptions{Range: 1}); err == nil {
		t.Error("no experts")
	}
	l := expertBettor(2, ExpertBettingOptions{Range: .5})
	if err := l.Update([]float64{7, 7.6}); noregret.CodeOf(err) != noregret.BadInput {
		t.Errorf("a range of 0.6: %v", err)
	}
	if err := l.Update([]float64{7, 7.5}); err != nil {
		t.Errorf("a range of 0.5: %v", err)
	}
}
