package bandit

import (
	"math"

	"github.com/noregret/noregret/internal/portable"
)

// BernoulliThompson is Thompson sampling for losses of 0 or 1 (Thompson 1933; Agrawal and Goyal
// 2013): the arm is the lowest of one draw for each arm from the posterior of its mean loss,
//
//	Beta(1 + n₁, 1 + n₀)
//
// after n₁ losses of 1 and n₀ of 0. So arms are pulled with the probability that they are best,
// which has no closed form: [Player.Probabilities] computes it by quadrature. For every ε > 0 the
// pseudo-regret is at most (1 + ε)·Σ Δ_i·ln T/kl(μ_i, μ⋆) + O(d/ε²), so that it attains
// [BernoulliLowerBound] as T grows. For losses in between draw 1 with the loss as its probability.
//
// A round costs O(d) comparisons and one draw for each arm that is not far above the best one,
// which are few in the long run. It allocates nothing.
type BernoulliThompson struct{}

func (BernoulliThompson) plan(arms int) (*plan, error) {
	return &plan{name: "thompson-bernoulli", high: 1, binary: true, method: &thompson{family: newBetaFamily(arms)}}, nil
}

// betaFamily is the family of Beta posteriors. The sums of the state are the numbers of losses of
// 1.
type betaFamily struct {
	delta float64 // of the thinning
	ln    float64 // −ln δ
}

func newBetaFamily(arms int) betaFamily {
	delta := min(2e-3, 0.05/float64(arms))
	return betaFamily{delta, -portable.Log(delta)}
}

// counts returns the numbers of losses of 1 and of 0.
func (b betaFamily) counts(s *state, k int) (ones, zeros int) {
	ones = int(s.Sums[k])
	return ones, s.Pulls[k] - ones
}

func (b betaFamily) flat() bool { return false }

func (b betaFamily) posterior(s *state, k int) (mean, deviation float64) {
	ones, zeros := b.counts(s, k)
	n := float64(2 + ones + zeros)
	mean = float64(1+ones) / n
	return mean, math.Sqrt(float64(mean*(1-mean)) / (n + 1))
}

func (b betaFamily) thinning() *thinning { return newThinning(b.delta) }

func (b betaFamily) draw(s *state, k int, r Rand) float64 {
	ones, zeros := b.counts(s, k)
	return beta(r, float64(1+ones), float64(1+zeros))
}

func (b betaFamily) cut(s *state, k int) float64 {
	ones, zeros := b.counts(s, k)
	return newBetaTail(ones, zeros).cut(b.ln)
}

// below returns +Inf if the draw is above the cut after all: the mass below is less than δ.
func (b betaFamily) below(s *state, k int, cut float64, r Rand) float64 {
	ones, zeros := b.counts(s, k)
	if cut == 0 || float64(r.Float64()*b.delta) >= betaBelow(ones, zeros, cut) {
		return math.Inf(1)
	}
	return drawBelow(r, ones, zeros, cut)
}

func (b betaFamily) apart(s *state, k int, floor float64) bool {
	ones, zeros := b.counts(s, k)
	mean, _ := b.posterior(s, k)
	return newBetaTail(zeros, ones).apart(floor-mean, b.ln)
}

// above draws from the upper tail, which is the lower one of 1 less the draw.
func (b betaFamily) above(s *state, k int, floor float64, r Rand) (x float64, ok bool) {
	ones, zeros := b.counts(s, k)
	if float64(r.Float64()*b.delta) >= betaBelow(zeros, ones, 1-floor) {
		return 0, false
	}
	return 1 - drawBelow(r, zeros, ones, 1-floor), true
}

func (b betaFamily) under(s *state, k int, floor float64, r Rand) float64 {
	x := b.draw(s, k, r)
	for x > floor {
		x = b.draw(s, k, r)
	}
	return x
}

func (b betaFamily) reach(s *state, k int) (low, high, deviation float64) {
	ones, zeros := b.counts(s, k)
	return betaReach(ones, zeros)
}

func (b betaFamily) density(s *state, k int, x float64) float64 {
	ones, zeros := b.counts(s, k)
	return betaDensity(ones, zeros, x)
}

func (b betaFamily) valid(s *state) bool {
	ok := len(s.Sums) == len(s.Pulls)
	for k := range min(len(s.Sums), len(s.Pulls)) {
		ok = ok && s.Sums[k] >= 0 && s.Sums[k] <= float64(s.Pulls[k]) && s.Sums[k] == math.Floor(s.Sums[k])
	}
	return ok
}

// BernoulliThompsonBound bounds the pseudo-regret of [BernoulliThompson] after T rounds, averaged
// over instances whose means are drawn from its prior, the uniform distribution: √(½·d·T·ln d)
// (Russo and Van Roy 2016, Propositions 1 and 3).
func BernoulliThompsonBound(arms, rounds int) float64 {
	return math.Sqrt(float64(arms) * float64(rounds) * portable.Log(float64(arms)) / 2)
}
