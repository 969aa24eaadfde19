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
// with the probability that they are best, which has no closed form: [Delayed] computes it by
// quadrature. The pseudo-regret is of order Σ ln T/Δ_i; the theorems have no explicit constants,
// and there is no function for a bound.
//
// Losses are finite numbers of size at most 1e100. A round costs O(d) comparisons and one draw
// for each arm that is not far above the best one, which are few in the long run. It allocates
// nothing. Not safe for concurrent use.
type GaussianThompson struct {
	averages
	sigma float64
	prior GaussianPrior
	best  winner // for distribution
	// The posteriors, and the points below which the lower tails are, −Inf for an infinite
	// deviation.
	mean, deviation, cut []float64
	// leader is the arm of the lowest posterior mean, the first of several.
	leader int
	floor  float64 // the lowest cut of the others, NaN before it is computed
	tail   *normalTail
	aside  []int // for pick
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

// renew computes what depends on the state.
func (g *GaussianThompson) renew() {
	d := g.Arms()
	g.mean, g.deviation, g.cut = make([]float64, d), make([]float64, d), make([]float64, d)
	g.aside, g.tail, g.floor = make([]int, 0, d), tailFor(d), math.NaN()
	for k := range d {
		g.mean[k], g.deviation[k] = g.Posterior(k)
		g.cut[k] = g.mean[k] - float64(g.tail.cut*g.deviation[k])
	}
	g.leader = max(g.first(lockstep), 0)
}

// renewArm computes what depends on the losses of arm k.
func (g *GaussianThompson) renewArm(k int) {
	last, unseen, leader := g.mean[k], math.IsInf(g.deviation[k], 1), g.leader
	g.mean[k], g.deviation[k] = g.Posterior(k)
	g.cut[k] = g.mean[k] - float64(g.tail.cut*g.deviation[k])
	switch mean, least := g.mean[k], g.mean[g.leader]; {
	case unseen || k == g.leader && mean > last:
		g.leader = g.first(lockstep)
	case mean < least || mean == least && k < g.leader:
		g.leader = k
	}
	if k != leader || g.leader != leader {
		g.floor = math.NaN()
	}
}

// first returns the allowed arm of the lowest posterior mean, the first of several, among those
// whose deviation is finite.
func (g *GaussianThompson) first(v *view) int {
	arm, least := none, math.Inf(1)
	for k, m := range g.mean {
		if m < least && v.allows(k) && g.deviation[k] <= math.MaxFloat64 {
			arm, least = k, m
		}
	}
	return arm
}

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

// pick draws the arm of the lowest draw, see [thinning].
func (g *GaussianThompson) pick(v *view, _ int, r Rand) int {
	if k := g.certainly(v); k != none {
		return k
	}
	if v.allowed == nil && g.unseen == 0 {
		if math.IsNaN(g.floor) {
			g.floor = math.Inf(1)
			for k, c := range g.cut {
				if k != g.leader {
					g.floor = min(g.floor, c)
				}
			}
		}
		if g.mean[g.leader]+float64(g.tail.cut*g.deviation[g.leader]) <= g.floor {
			return g.pickApart(r)
		}
	}
	leader := g.leader
	if !v.allows(leader) || math.IsInf(g.deviation[leader], 1) {
		leader = g.first(v)
	}
	return g.pickBeside(v, leader, g.draw(leader, r), r)
}

// draw draws from the posterior of arm k.
func (g *GaussianThompson) draw(k int, r Rand) float64 {
	return g.mean[k] + float64(g.deviation[k]*normal(r))
}

// drawTail draws from the posterior of arm k below its cut.
func (g *GaussianThompson) drawTail(k int, r Rand) float64 {
	return g.mean[k] - float64(g.deviation[k]*tail(r, g.tail.cut))
}

// pickBeside draws the arm of the lowest draw, given that of the leader.
func (g *GaussianThompson) pickBeside(v *view, leader int, least float64, r Rand) int {
	arm, aside := leader, g.aside[:0]
	for k, cut := range g.cut {
		switch {
		case k == leader || !v.allows(k):
		case least <= cut:
			aside = append(aside, k)
		case g.deviation[k] <= math.MaxFloat64:
			if x := g.draw(k, r); x < least {
				arm, least = k, x
			}
		}
	}
	n := len(aside)
	for i := g.tail.next(n, r); i < n; i += 1 + g.tail.next(n-i-1, r) {
		if x := g.drawTail(aside[i], r); x < least {
			arm, least = aside[i], x
		}
	}
	return arm
}

// pickApart draws the arm of the lowest draw where the tails of the others are above the floor and
// the upper tail of the leader is too. Trial 0 is that of the leader.
func (g *GaussianThompson) pickApart(r Rand) int {
	leader, others := g.leader, len(g.mean)-1
	i := g.tail.next(1+others, r)
	if i == 0 {
		least := g.mean[leader] + float64(g.deviation[leader]*tail(r, g.tail.cut))
		return g.pickBeside(lockstep, leader, least, r)
	}
	if i > others {
		return leader
	}
	z := normal(r)
	for z > g.tail.cut {
		z = normal(r)
	}
	arm, least := leader, g.mean[leader]+float64(g.deviation[leader]*z)
	for ; i <= others; i += 1 + g.tail.next(others-i, r) {
		k := i - 1
		if k >= leader {
			k++
		}
		if x := g.drawTail(k, r); x < least {
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
	for k, mean := range g.mean {
		deviation := g.deviation[k]
		if v.allows(k) && !math.IsInf(deviation, 1) {
			reach := float64(normalReach * deviation)
			q.add(k, mean-reach, mean+reach, deviation)
		}
	}
	return q.probabilities(p, func(k int, x float64) float64 {
		z := (x - g.mean[k]) / g.deviation[k]
		return portable.Exp(-float64(z*z)/2) / (g.deviation[k] * sqrtTau)
	})
}

// normalReach is where the normal distribution ends, in standard deviations: beyond it is less
// than 1e-16 of its mass.
const normalReach = 8.3

// sqrtTau is √(2π).
const sqrtTau = 2.50662827463100050241576528481104525301
