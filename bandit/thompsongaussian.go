package bandit

import (
	"fmt"
	"math"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/portable"
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
// with the probability that they are best, which has no closed form: [Delayed] computes it by
// quadrature.
//
// Losses are finite numbers of size at most 1e100. A round costs O(d) and allocates nothing. Not
// safe for concurrent use.
type GaussianThompson struct {
	averages
	sigma float64
	prior GaussianPrior
	best  winner // for distribution
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
	g.setUp(g, arms, -maxLoss, maxLoss, "thompson-gaussian",
		fmt.Sprintf(", sigma=%v, mean=%v, deviation=%v", sigma, prior.Mean, prior.Deviation))
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

func (g *GaussianThompson) renewed(arms int) core {
	c := &GaussianThompson{sigma: g.sigma, prior: g.prior}
	c.setUp(c, arms, g.lowest, g.highest, g.name, g.options)
	return c
}

// certainly returns the arm that is drawn with certainty, none if the draw is random.
func (g *GaussianThompson) certainly(v *view) int {
	if math.IsInf(g.prior.Deviation, 1) {
		return g.fresh(v)
	}
	return none
}

func (g *GaussianThompson) pick(v *view, _ int, r Rand) int {
	if k := g.certainly(v); k != none {
		return k
	}
	arm, least := none, math.Inf(1)
	for k := range g.s.Means {
		mean, deviation := g.Posterior(k)
		if !v.allows(k) || math.IsInf(deviation, 1) {
			continue
		}
		if x := mean + float64(deviation*stat.Normal(r)); x < least {
			arm, least = k, x
		}
	}
	return arm
}

func (g *GaussianThompson) choose(c *drawn, v *view, r Rand) {
	*c = drawn{Arm: g.pick(v, 0, r), Propensity: math.NaN()}
}

// distribution integrates the normal densities, see [winner].
func (g *GaussianThompson) distribution(p []float64, v *view) float64 {
	clear(p)
	if k := g.certainly(v); k != none {
		p[k] = 1
		return 0
	}
	q := &g.best
	q.reset()
	for k := range g.s.Means {
		mean, deviation := g.Posterior(k)
		if v.allows(k) && !math.IsInf(deviation, 1) {
			reach := float64(normalReach * deviation)
			q.add(k, mean-reach, mean+reach, deviation)
		}
	}
	return q.probabilities(p, func(k int, x float64) float64 {
		mean, deviation := g.Posterior(k)
		z := (x - mean) / deviation
		return portable.Exp(-float64(z*z)/2) / (deviation * sqrtTau)
	})
}

// normalReach is where the normal distribution ends, in standard deviations: beyond it is less
// than 1e-16 of its mass.
const normalReach = 8.3

// sqrtTau is √(2π).
const sqrtTau = 2.50662827463100050241576528481104525301
