package bandit

import (
	"fmt"
	"math"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/stat"
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
// with the probability that they are best, which has no closed form: log the draws, not
// propensities.
//
// Losses are finite numbers of size at most 1e100. A round costs O(d) and allocates nothing. Not
// safe for concurrent use.
type GaussianThompson struct {
	averages
	sigma float64
	prior GaussianPrior
}

// NewGaussianThompson returns Thompson sampling for losses of the standard deviation sigma. It
// returns an error of code bad_input if there is no arm, sigma is outside [1e-100, 1e100], the
// prior's mean is not of size at most 1e100, or its deviation is neither in [1e-100, 1e100] nor
// +Inf.
func NewGaussianThompson(arms int, sigma float64, prior GaussianPrior) (*GaussianThompson, error) {
	if err := checkArms(arms); err != nil {
		return nil, err
	}
	if err := checkNoise(sigma); err != nil {
		return nil, err
	}
	if !(math.Abs(prior.Mean) <= maxLoss) {
		return nil, noregret.BadInputf("prior mean", "%v: want a number of size at most 1e100", prior.Mean)
	}
	if !math.IsInf(prior.Deviation, 1) {
		if err := checkPositive("prior deviation", prior.Deviation); err != nil {
			return nil, err
		}
	}
	g := &GaussianThompson{sigma: sigma, prior: prior}
	g.setUp(g, arms, -maxLoss, maxLoss, fmt.Sprintf("thompson-gaussian(arms=%d, sigma=%v, mean=%v, deviation=%v)",
		arms, sigma, prior.Mean, prior.Deviation))
	return g, nil
}

// Posterior returns the mean and the standard deviation of the posterior of the mean loss of arm k.
// The deviation is +Inf for the flat prior before the first loss.
func (g *GaussianThompson) Posterior(k int) (mean, deviation float64) {
	n := float64(g.s.Pulls[k])
	ratio := square(g.sigma / g.prior.Deviation) // the number of losses that the prior counts for
	if n+ratio == 0 {
		return g.prior.Mean, math.Inf(1)
	}
	share := n / (n + ratio)
	mean = g.prior.Mean + float64(share*(g.s.Means[k]-g.prior.Mean))
	return mean, g.sigma / math.Sqrt(n+ratio)
}

func (g *GaussianThompson) choose(_ int, r Rand) int {
	if k := g.fresh(); k != none && math.IsInf(g.prior.Deviation, 1) {
		return k
	}
	arm, least := 0, math.Inf(1)
	for k := range g.s.Means {
		mean, deviation := g.Posterior(k)
		if v := mean + float64(deviation*stat.Normal(r)); v < least {
			arm, least = k, v
		}
	}
	return arm
}
