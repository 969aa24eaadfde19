package bandit

import (
	"fmt"
	"math"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/portable"
)

// GaussianPrior is the prior of [GaussianThompson] for the mean loss of each arm: the normal
// distribution of this mean and standard deviation. A Deviation of +Inf is the flat prior, with
// which each arm is pulled once first.
type GaussianPrior struct{ Mean, Deviation float64 }

// GaussianThompson is Thompson sampling for normal losses of known variance (Thompson 1933; Agrawal
// and Goyal 2013): the arm is the lowest of one draw for each arm from the posterior of its mean,
//
//	N(v_i·(m₀/s₀² + N_i·μ̂_i/σ²), v_i) with 1/v_i = 1/s₀² + N_i/σ²
//
// where μ̂_i is the mean of the N_i losses of arm i and N(m₀, s₀²) the prior. So arms are pulled
// with the probability that they are best, which has no closed form: [Player.Probabilities]
// computes it by quadrature. The pseudo-regret is of order Σ ln T/Δ_i; the theorems have no
// explicit constants, and there is no function for a bound.
//
// Losses are finite numbers of size at most 1e100. A round costs O(d) comparisons and one draw
// for each arm that is not far above the best one, which are few in the long run. It allocates
// nothing.
type GaussianThompson struct {
	// Sigma is σ, from 1e-100 to 1e100.
	Sigma float64
	Prior GaussianPrior
}

func (g GaussianThompson) plan(arms int) (*plan, error) {
	if err := checkPositive("sigma", g.Sigma); err != nil {
		return nil, err
	}
	if !(math.Abs(g.Prior.Mean) <= maxLoss) {
		return nil, noregret.BadInputf("prior mean", "%v: want a number of size at most 1e100", g.Prior.Mean)
	}
	if !g.flat() {
		if err := checkPositive("prior deviation", g.Prior.Deviation); err != nil {
			return nil, err
		}
	}
	return &plan{
		name:    "thompson-gaussian",
		options: fmt.Sprintf(", sigma=%v, mean=%v, deviation=%v", g.Sigma, g.Prior.Mean, g.Prior.Deviation),
		low:     -maxLoss, high: maxLoss, method: &thompson{family: normalFamily{g, tailFor(arms)}},
	}, nil
}

func (g GaussianThompson) flat() bool { return math.IsInf(g.Prior.Deviation, 1) }

// normalFamily is the family of normal posteriors.
type normalFamily struct {
	GaussianThompson
	tail *normalTail
}

func (g normalFamily) posterior(s *state, k int) (mean, deviation float64) {
	n := float64(s.Pulls[k])
	ratio := square(g.Sigma / g.Prior.Deviation) // the number of losses that the prior counts for
	if n+ratio == 0 {
		return g.Prior.Mean, math.Inf(1)
	}
	share := n / (n + ratio)
	mean = g.Prior.Mean + float64(share*(s.Means[k]-g.Prior.Mean))
	return mean, g.Sigma / math.Sqrt(n+ratio)
}

func (g normalFamily) thinning() *thinning { return g.tail.thinning }

func (g normalFamily) draw(s *state, k int, r Rand) float64 {
	mean, deviation := g.posterior(s, k)
	return mean + float64(deviation*normal(r))
}

func (g normalFamily) cut(s *state, k int) float64 {
	mean, deviation := g.posterior(s, k)
	return mean - float64(g.tail.cut*deviation)
}

func (g normalFamily) below(s *state, k int, _ float64, r Rand) float64 {
	mean, deviation := g.posterior(s, k)
	return mean - float64(deviation*tail(r, g.tail.cut))
}

func (g normalFamily) apart(s *state, k int, floor float64) bool {
	mean, deviation := g.posterior(s, k)
	return mean+float64(g.tail.cut*deviation) <= floor
}

// above draws beyond the upper cut, which is not above the floor.
func (g normalFamily) above(s *state, k int, _ float64, r Rand) (x float64, ok bool) {
	mean, deviation := g.posterior(s, k)
	return mean + float64(deviation*tail(r, g.tail.cut)), true
}

func (g normalFamily) under(s *state, k int, _ float64, r Rand) float64 {
	z := normal(r)
	for z > g.tail.cut {
		z = normal(r)
	}
	mean, deviation := g.posterior(s, k)
	return mean + float64(deviation*z)
}

func (g normalFamily) reach(s *state, k int) (low, high, deviation float64) {
	mean, deviation := g.posterior(s, k)
	reach := float64(normalReach * deviation)
	return mean - reach, mean + reach, deviation
}

func (g normalFamily) density(s *state, k int, x float64) float64 {
	mean, deviation := g.posterior(s, k)
	z := (x - mean) / deviation
	return portable.Exp(-float64(z*z)/2) / (deviation * sqrtTau)
}

func (g normalFamily) valid(*state) bool { return true }

// normalTail is a tail of the normal distribution beyond the cut, in standard deviations.
type normalTail struct {
	cut float64
	*thinning
}

// normalTails begin where their probability times the number of arms is small.
var normalTails = []normalTail{
	{3, newThinning(0.0013498980316300945267)},
	{4, newThinning(3.1671241833119921254e-5)},
	{5, newThinning(2.8665157187919391167e-7)},
}

func tailFor(arms int) *normalTail {
	for i := range normalTails {
		if t := &normalTails[i]; t.delta*float64(arms) < 0.15 {
			return t
		}
	}
	return &normalTails[len(normalTails)-1]
}

// normalReach is where the normal distribution ends, in standard deviations: beyond it is less
// than 1e-16 of its mass.
const normalReach = 8.3

// sqrtTau is √(2π).
const sqrtTau = 2.50662827463100050241576528481104525301
