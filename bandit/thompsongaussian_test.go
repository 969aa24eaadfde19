package bandit

import (
	"math"
	"testing"

	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/stat"
	"github.com/noregret/noregret/internal/testsize"
)

// The posterior is that of the conjugate prior, and the mean of the losses with the flat one.
func TestGaussianPosterior(t *testing.T) {
	g := made(NewPlayer(2, GaussianThompson{Sigma: 2, Prior: GaussianPrior{Mean: 1, Deviation: .5}}))
	g.s.Pulls[1], g.s.Means[1] = 8, 4
	mean, deviation := g.Posterior(1)
	near(t, "mean", mean, (1/.25+8*4/4.)/(1/.25+8/4.))
	near(t, "deviation", deviation, 1/math.Sqrt(1/.25+8/4.))
	mean, deviation = g.Posterior(0)
	near(t, "prior mean", mean, 1)
	near(t, "prior deviation", deviation, .5)
	s := g.s
	g = made(NewPlayer(2, flat(2)))
	g.s = s
	mean, deviation = g.Posterior(1)
	near(t, "flat mean", mean, 4)
	near(t, "flat deviation", deviation, 2/math.Sqrt(8))
	if _, deviation = g.Posterior(0); !math.IsInf(deviation, 1) {
		t.Errorf("deviation %v", deviation)
	}
}

// Arms are drawn with the probability that they are best: Φ((m₂ − m₁)/√(v₁ + v₂)) for two.
func TestGaussianThompsonDraws(t *testing.T) {
	g := made(NewPlayer(2, flat(1)))
	g.s.Pulls, g.s.Means, g.s.Rounds = []int{4, 2}, []float64{.5, 1}, 6
	g.s.unseen = 0
	g.plan.method.renew(&g.s)
	r, n, first := random.New(1, "draws"), testsize.Of(100000, 10000), 0
	for range n {
		g.s.Pending = none
		if g.Draw(r) == 0 {
			first++
		}
	}
	withinErrors(t, float64(first)/float64(n), stat.NormalBelow(.5/math.Sqrt(.25+.5)), n)
}
