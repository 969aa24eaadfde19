package bandit

import (
	"math"
	"slices"
	"testing"

	"github.com/noregret/noregret/internal/portable"
	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/stat"
	"github.com/noregret/noregret/internal/testsize"
)

// The tests named TestErratum show where the chapter on bandits of Orabona (A Modern Introduction
// to Online Learning, the Chinese edition of 2021) prints something other than what holds, and that
// this package follows what holds.

// Equation 10.2 divides by the weight in place of the probability of the draw, which is biased.
func TestErratumDivisor(t *testing.T) {
	p := made(NewPlayer(2, ExploringWeights{Rate: 1, Explore: .3, Limit: 1}))
	pull(t, p, 0, 1)
	x := make([]float64, 2)
	softmax(x, p.Estimates(), 1)
	for arm, loss := range []float64{.5, .25} {
		drawn := p.Probabilities()[arm]
		before := p.Estimates()[arm]
		q := made(NewPlayer(2, p.Rule()))
		pull(t, q, 0, 1)
		pull(t, q, arm, loss)
		near(t, "mean of the estimate", drawn*(q.Estimates()[arm]-before), loss)
		if printed := drawn * loss / x[arm]; math.Abs(printed-loss) < .01 {
			t.Errorf("arm %d: the printed estimate has the mean %v, the loss is %v", arm, printed, loss)
		}
	}
}

// After Theorem 10.2 the factor η/2 is lost: without it the bound fails for a large rate and small
// losses, already in one round.
func TestErratumHalfRate(t *testing.T) {
	const rate, loss = 100, .1
	regret, second := loss/2, loss*loss/2 // of the uniform weights on the losses (loss, 0)
	if right := math.Ln2/rate + rate/2*second; regret > right {
		t.Errorf("regret %v, bound %v", regret, right)
	}
	if printed := math.Ln2/rate + second; regret <= printed {
		t.Errorf("regret %v is within the printed bound %v", regret, printed)
	}
}

// The printed rate of Exp3 lacks the number of arms: its bound is √d/2 times as large, nearly.
func TestErratumExp3Rate(t *testing.T) {
	const d, rounds = 100, 10000
	rate := Exp3Rate(d, rounds, 1)
	near(t, "rate", rate, math.Sqrt(2*math.Log(d)/(d*rounds)))
	right, printed := Exp3Bound(d, rounds, 1, rate), Exp3Bound(d, rounds, 1, rate*math.Sqrt(d))
	near(t, "bound", right, math.Sqrt(2*d*rounds*math.Log(d)))
	near(t, "ratio", printed/right, (math.Sqrt(d)+1/math.Sqrt(d))/2)
}

// Line 7 of Algorithm 10.3 calls the projected point x̃. The unconstrained step is x̃, and leaves
// the simplex; its projection adds the same number to the powers of all weights.
func TestErratumProjection(t *testing.T) {
	f := made(NewPlayer(3, INF{Rate: .5, Q: .5, Limit: 1}))
	before := slices.Clone(f.Probabilities())
	pull(t, f, 1, .75)
	step, sum := []float64{0, .5 * .75 * 3, 0}, 0.0
	var shift []float64
	for i, x := range f.Probabilities() {
		free := 1/math.Sqrt(before[i]) + step[i]
		sum += 1 / (free * free)
		shift = append(shift, 1/math.Sqrt(x)-free)
	}
	nearAll(t, "shift", shift, []float64{shift[0], shift[0], shift[0]})
	if sum > .99 || shift[0] > -.01 {
		t.Errorf("the unconstrained point has the sum %v, the projection adds %v", sum, shift)
	}
}

// q = 0 is no entropy: ψ_0 is constant inside the simplex. For other q the minimum is at the vector
// whose entries are all 1/d.
func TestErratumEntropyRange(t *testing.T) {
	if _, err := NewPlayer(3, INF{Rate: 1, Q: 0, Limit: 1}); err == nil {
		t.Error("accepted q = 0")
	}
	r := random.New(1, "entropy")
	for range 200 {
		x, sum := make([]float64, 4), 0.0
		for i := range x {
			x[i] = exponential(r) + 1e-3
			sum += x[i]
		}
		for i := range x {
			x[i] /= sum
		}
		q := .05 + .9*r.Float64()
		if TsallisEntropy(x, q) < TsallisEntropy([]float64{.25, .25, .25, .25}, q)-1e-12 {
			t.Errorf("ψ_%v(%v) is below the value of the uniform distribution", q, x)
		}
		if a, b := TsallisEntropy(x, 1e-12), 1-4.0; math.Abs(a-b) > 1e-9 {
			t.Errorf("ψ_0(%v) = %v, want %v", x, a, b)
		}
	}
}

// The display before Theorem 10.3 has η/2 in place of η/(2q): the Hessian of ψ_q is q·x^{q−2}.
func TestErratumLocalNorm(t *testing.T) {
	for _, q := range []float64{.2, .5, .9} {
		for _, x := range []float64{.1, .4, .7} {
			const h = 1e-3
			// A pair of entries that moves along the simplex: the sum of two second derivatives.
			at := func(s float64) float64 { return TsallisEntropy([]float64{x + s, 1 - x - s}, q) }
			second := (at(h) - 2*at(0) + at(-h)) / (h * h)
			want := q * (math.Pow(x, q-2) + math.Pow(1-x, q-2))
			if math.Abs(second/want-1) > 1e-3 {
				t.Errorf("q = %v at %v: the second derivative is %v, want %v", q, x, second, want)
			}
		}
	}
}

// The proof of Theorem 10.3 bounds Σ g²·√x by L√d in place of L²√d.
func TestErratumSquareOfTheLimit(t *testing.T) {
	const d, limit = 4, 3
	sum := d * limit * limit * math.Sqrt(1./d)
	if right, printed := limit*limit*math.Sqrt(d), limit*math.Sqrt(d); sum > right+1e-12 || sum <= printed {
		t.Errorf("Σ g²√x = %v, bound %v, printed %v", sum, right, printed)
	}
	a, b := INFBound(4, 100, .5, 1, 1), INFBound(4, 100, .5, 3, 1)
	near(t, "the bound's part in L²", b-a, 8*math.Sqrt(4)*100)
}

// Section 10.2.1 normalizes a sum of n variables by √(2σ²); it is √(nσ²) that gives variance 1. The
// tails at n = 100: Chebyshev's and the normal one beside the subgaussian one.
func TestErratumCentralLimit(t *testing.T) {
	const n = 50
	runs, squares, r := testsize.Of(100000, 10000), 0.0, random.New(1, "limit")
	for range runs {
		sum := 0.0
		for range n {
			sum += r.Float64() - .5 // of variance 1/12
		}
		squares += sum * sum / (n / 12.)
	}
	if v := squares / float64(runs); math.Abs(v-1) > 6/math.Sqrt(float64(runs)) {
		t.Errorf("variance %v of the normalized sum", v)
	}
	near(t, "subgaussian tail", SubgaussianTail(100, .2, 1), 0.1353352832)
	near(t, "width", SubgaussianWidth(100, .05, 1), 0.2447746831)
	near(t, "tail at the width", SubgaussianTail(100, SubgaussianWidth(100, .05, 3), 3), .05)
	tail := math.Sqrt(1/(2*math.Pi*.04*100)) * portable.Exp(-100*.04/2)
	near(t, "the normal tail's bound", tail, 0.02699548326)
	if exact := stat.NormalBelow(-2); exact > tail || tail > SubgaussianTail(100, .2, 1) || 1/(100*.04) != .25 {
		t.Errorf("tails %v, %v", exact, tail)
	}
}

// Explore-then-commit needs m·d ≤ T, which the printed m does not say: the turns of this package
// keep to it.
func TestErratumTurns(t *testing.T) {
	for rounds := 2; rounds < 3000; rounds += 1 + rounds/7 {
		for _, gap := range []float64{1e-3, .01, .05, .1, .5, 1, 10} {
			if m := ExploreThenCommitTurns(gap, rounds, 1); m < 1 || 2*m > rounds {
				t.Errorf("gap %v, %d rounds: %d turns of two arms", gap, rounds, m)
			}
		}
	}
}

// Algorithm 10.5 prints μ, which nobody knows, for the mean μ̂ of the losses, and requires a
// horizon that it does not use.
func TestErratumUCBIndex(t *testing.T) {
	u := made(NewPlayer(2, AlphaUCB{Alpha: 3, Sigma: 1}))
	for _, loss := range []float64{.25, .5, 1} {
		if err := u.Update(u.Draw(nil), loss); err != nil {
			t.Fatal(err)
		}
	}
	near(t, "index", u.Index(0), (.25+1)/2-math.Sqrt(6*math.Log(4)/2))
	near(t, "index", u.Index(1), .5-math.Sqrt(6*math.Log(4)))
}

// The interval of section 10.2.3 is one-sided, [μ̂ − w, ∞): [μ̂ − w, μ̂] holds the mean only half
// of the time.
func TestErratumOneSided(t *testing.T) {
	const n, delta = 20, .1
	runs, lower, both, r := testsize.Of(40000, 4000), 0, 0, random.New(1, "interval")
	for range runs {
		mean := 0.0
		for range n {
			mean += normal(r) / n
		}
		if mean-SubgaussianWidth(n, delta, 1) <= 0 {
			lower++
			if mean >= 0 {
				both++
			}
		}
	}
	if share := float64(lower) / float64(runs); share < 1-delta {
		t.Errorf("[μ̂ − w, ∞) holds the mean in a share of %v", share)
	}
	if share := float64(both) / float64(runs); share > .6 {
		t.Errorf("[μ̂ − w, μ̂] holds the mean in a share of %v", share)
	}
}

// Theorems 10.12 to 10.15 speak of 1-subgaussian rewards: it is the losses less their mean that
// are. A constant added to all losses changes no choice.
func TestErratumCentredLosses(t *testing.T) {
	for _, shift := range []float64{0, 128, -4096} {
		a, b := made(NewPlayer(3, AlphaUCB{Alpha: 3, Sigma: 1})), made(NewPlayer(3, AlphaUCB{Alpha: 3, Sigma: 1}))
		c, d := made(NewPlayer(3, ExploreThenCommit{Turns: 20})), made(NewPlayer(3, ExploreThenCommit{Turns: 20}))
		r := random.New(1, "shift")
		for round := range 400 {
			loss := math.Floor(16*r.Float64())/8 - 1 // a few bits, so that the shift is exact
			for _, pair := range [][2]*Player{{a, b}, {c, d}} {
				k := pair[0].Draw(nil)
				if got := pair[1].Draw(nil); got != k {
					t.Fatalf("shift %v, round %d: arm %d, want %d", shift, round, got, k)
				}
				x := loss + float64(k)/8
				if pair[0].Update(k, x) != nil || pair[1].Update(k, x+shift) != nil {
					t.Fatal("refused")
				}
			}
		}
	}
}

// Theorem 10.17 prints Σ 1/(2Δ). By Pinsker's inequality every term of that is above the term of
// the lower bound, so that algorithms do better.
func TestErratumLowerBound(t *testing.T) {
	for _, c := range []struct {
		means          []float64
		right, printed float64
	}{{[]float64{.2, .5, .4}, 3.255565161, 4.166666667}, {[]float64{.01, .05}, 0.9687321122, 12.5}} {
		printed := 0.0
		for _, m := range c.means[1:] {
			printed += 1 / (2 * (m - c.means[0]))
		}
		near(t, "lower bound", BernoulliLowerBound(c.means), c.right)
		near(t, "printed", printed, c.printed)
	}
	for seed := range uint64(500) {
		r := random.New(seed, "pinsker")
		a, b := r.Float64(), r.Float64()
		if a == b {
			continue
		}
		low, high := min(a, b), max(a, b)
		if term := BernoulliLowerBound([]float64{low, high}); term > 1/(2*(high-low))*(1+1e-9) {
			t.Errorf("means %v and %v: %v is above the printed term", low, high, term)
		}
	}
}
