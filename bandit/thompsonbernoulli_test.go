package bandit

import (
	"math"
	"testing"

	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/testsize"
)

// Draws from the Beta distribution have its mean, its variance and its distribution function: that
// of Beta(1, b) is 1 − (1 − x)^b.
func TestBeta(t *testing.T) {
	n := testsize.Of(200000, 20000)
	for _, c := range [][2]float64{{1, 1}, {1, 5}, {3, 2}, {400, 100}} {
		a, b := c[0], c[1]
		r, sum, squares, below := random.New(1, "beta"), 0.0, 0.0, 0
		mean := a / (a + b)
		for range n {
			x := beta(r, a, b)
			sum += x
			squares += square(x - mean)
			if x < .2 {
				below++
			}
		}
		variance := mean * (1 - mean) / (a + b + 1)
		if got := sum / float64(n); math.Abs(got-mean) > 4*math.Sqrt(variance/float64(n)) {
			t.Errorf("Beta(%v, %v): mean %v, want %v", a, b, got, mean)
		}
		if got := squares / float64(n); math.Abs(got/variance-1) > 12/math.Sqrt(float64(n)) {
			t.Errorf("Beta(%v, %v): variance %v, want %v", a, b, got, variance)
		}
		if a == 1 {
			withinErrors(t, float64(below)/float64(n), 1-math.Pow(.8, b), n)
		}
	}
}

// setCounts sets the numbers of losses of 0 and of 1 of an arm. Renew the method next.
func setCounts(p *Player, k int, n [2]int) {
	p.s.Pulls[k], p.s.Sums[k] = n[0]+n[1], float64(n[1])
}

// The lowest of two draws: after one loss of 1 against one of 0, Beta(2, 1) is below Beta(1, 2)
// with the probability 1/6.
func TestBernoulliThompsonPosterior(t *testing.T) {
	b := made(NewPlayer(2, BernoulliThompson{}))
	setCounts(b, 0, [2]int{0, 1})
	setCounts(b, 1, [2]int{1, 0})
	b.plan.method.renew(&b.s)
	mean, deviation := b.Posterior(0)
	near(t, "mean", mean, 2./3)
	near(t, "deviation", deviation, math.Sqrt(1./18))
	r, n, first := random.New(1, "posterior"), testsize.Of(100000, 10000), 0
	for range n {
		b.s.Pending = none
		if b.Draw(r) == 0 {
			first++
		}
	}
	withinErrors(t, float64(first)/float64(n), 1./6, n)
	if err := b.Update(b.Draw(r), .5); err == nil {
		t.Error("accepted a loss of 0.5")
	}
}
