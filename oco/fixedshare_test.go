package oco

import (
	"math"
	"testing"

	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/vec"
)

// TestFixedShareIsBayes: with η = 1 the weights are the posterior of the expert under the prior of
// sequences that stay with probability 1 − α + α/d and change to each other expert with α/d, by
// enumeration of all sequences.
func TestFixedShareIsBayes(t *testing.T) {
	const d, rounds = 3, 5
	r := random.New(1, "bayes")
	for _, alpha := range []float64{.01, .3, .9} {
		l := must(NewFixedShare(d, 1, alpha))
		var gs [][]float64
		for range rounds {
			n := len(gs)
			posterior, total := make([]float64, d), 0.0
			count := 1
			for range n + 1 {
				count *= d
			}
			for code := range count {
				p, before := 1./d, -1
				rest := code
				expert := 0
				for t := range n + 1 {
					expert, rest = rest%d, rest/d
					switch {
					case before == expert:
						p *= 1 - alpha + alpha/d
					case before >= 0:
						p *= alpha / d
					}
					if t < n {
						p *= math.Exp(-gs[t][expert])
					}
					before = expert
				}
				posterior[expert] += p
				total += p
			}
			for i := range posterior {
				posterior[i] /= total
			}
			nearVector(t, "weights", l.Predict(), posterior)
			g := []float64{r.NormFloat64(), 2 * r.NormFloat64(), r.NormFloat64()}
			gs = append(gs, g)
			if err := l.Update(g); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// bestWithSwitches is the least total loss of a sequence of experts that changes at most k times.
func bestWithSwitches(gs [][]float64, k int) float64 {
	d := len(gs[0])
	best := make([][]float64, k+1) // by changes and expert
	for j := range best {
		best[j] = make([]float64, d)
	}
	for _, g := range gs {
		next := make([][]float64, k+1)
		for j := range next {
			next[j] = make([]float64, d)
			for i := range next[j] {
				v := best[j][i]
				if j > 0 {
					for _, w := range best[j-1] {
						v = min(v, w)
					}
				}
				next[j][i] = v + g[i]
			}
		}
		best = next
	}
	least := math.Inf(1)
	for _, v := range best[k] {
		least = min(least, v)
	}
	return least
}

// TestFixedShareSwitchingBound holds the regret to the best sequence with k changes against the
// bound, and that of Hedge fails it where the best expert changes.
func TestFixedShareSwitchingBound(t *testing.T) {
	r := random.New(2, "switching")
	const d, rounds, k = 5, 400, 3
	broken := false
	for range 20 {
		tuned := must(NewFixedShareTuned(d, rounds, k, 1))
		l := must(NewFixedShare(d, logUniform(r, 30), r.Float64()))
		hedge := must(NewExponentiatedGradient(d, nil, tuned.eta))
		var gs [][]float64
		var paid [3]float64
		for round := range rounds {
			g := make([]float64, d)
			for i := range g {
				if g[i] = r.Float64(); i == round/100%d {
					g[i] *= .1
				}
			}
			gs = append(gs, g)
			for j, p := range []Learner{tuned, l, hedge} {
				paid[j] += vec.Dot(g, p.Predict())
				if err := p.Update(g); err != nil {
					t.Fatal(err)
				}
			}
		}
		for j := range 6 {
			best := bestWithSwitches(gs, j)
			for i, p := range []*FixedShare{tuned, l} {
				if b := must(p.SwitchingBound(j)); paid[i]-best > b {
					t.Fatalf("%v: regret %v to %d changes above %v", p, paid[i]-best, j, b)
				}
			}
			broken = broken || paid[2]-best > must(tuned.SwitchingBound(j))
		}
		c := tuned.cost(rounds, k)
		if b := must(tuned.SwitchingBound(k)); b > math.Sqrt(c*rounds/2)*(1+1e-12) {
			t.Errorf("the tuned bound is %v, want at most %v", b, math.Sqrt(c*rounds/2))
		}
	}
	if !broken {
		t.Error("Hedge is within the bound of Fixed Share, too: the game is too easy")
	}
}

func TestFixedShareRefuses(t *testing.T) {
	for _, v := range []float64{0, 1, -1, 2, math.NaN()} {
		if _, err := NewFixedShare(3, 1, v); err == nil {
			t.Errorf("a share of %v", v)
		}
	}
	if _, err := NewFixedShareTuned(3, 10, 10, 1); err == nil {
		t.Error("10 changes in 10 rounds")
	}
	if _, err := NewFixedShareTuned(3, 0, 0, 1); err == nil {
		t.Error("no rounds")
	}
	l := must(NewFixedShareTuned(3, 1, 0, 1))
	if err := l.Update([]float64{1, 0, 0}); err != nil {
		t.Fatal(err)
	}
	if l.Update([]float64{1, 0, 0}) == nil {
		t.Error("a round after the horizon was taken")
	}
	if _, err := l.SwitchingBound(-1); err == nil {
		t.Error("a bound for -1 changes")
	}
}
