package regret_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/testsize"
	"github.com/noregret/noregret/regret"
)

// bettor bets a function of the past outcomes.
type bettor struct {
	c   []float64
	bet func(c []float64) float64
}

func (b *bettor) Bet() float64 { return b.bet(b.c) }

func (b *bettor) Observe(c float64) error { b.c = append(b.c, c); return nil }

func sum(c []float64) (s float64) {
	for _, v := range c {
		s += v
	}
	return s
}

// bettors returns strategies by name, for a horizon.
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

// TestCoinRandom: in expectation every bettor's wealth is 1/C_T of the best.
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
