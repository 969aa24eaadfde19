package bandit

import (
	"math"
	"testing"

	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/testsize"
)

// Each of n trials succeeds with the probability δ, whatever the others do.
func TestThinning(t *testing.T) {
	const delta, n = .02, 100
	runs := testsize.Of(200000, 20000)
	thin, r := newThinning(delta), random.New(1, "thinning")
	each, number := make([]float64, n), make([]float64, n+1)
	for range runs {
		successes := 0
		for i := thin.next(n, r); i < n; i += 1 + thin.next(n-i-1, r) {
			each[i]++
			successes++
		}
		number[successes]++
	}
	want, p := make([]float64, n+1), math.Pow(1-delta, n)
	for k := range want {
		want[k] = p * float64(runs)
		p *= float64(n-k) / float64(k+1) * delta / (1 - delta)
	}
	chiSquare(t, "the number of successes", number, want)
	for i, count := range each {
		if math.Abs(count-delta*float64(runs)) > 5*math.Sqrt(delta*float64(runs)) {
			t.Errorf("trial %d succeeds %v times in %d", i, count, runs)
		}
	}
}

// frequencies compares the arms that a player draws with the distribution by quadrature.
func frequencies(t *testing.T, p core, n int) {
	t.Helper()
	want, r := make([]float64, p.Arms()), random.New(7, "law")
	p.distribution(want, lockstep)
	counts := make([]float64, len(want))
	for k := range want {
		want[k] *= float64(n)
	}
	for range n {
		var c drawn
		p.choose(&c, lockstep, r)
		counts[c.Arm]++
	}
	chiSquare(t, p, counts, want)
}

// The law of the winner is that of Thompson sampling where most arms win only by their tails: near
// the cut, so that the tails of many arms win a few per cent of all rounds.
func TestThinnedNormalLaw(t *testing.T) {
	n := testsize.Of(1000000, 100000)
	for _, above := range []float64{2.7, 3.02, 3.3} {
		const d = 60
		g := made(NewGaussianThompson(d, 1, GaussianPrior{Deviation: math.Inf(1)})).(*GaussianThompson)
		for k := range d {
			g.s.Pulls[k], g.s.Means[k] = 100, above/10
		}
		g.s.Pulls[17], g.s.Means[17], g.unseen = 1000000, 0, 0
		g.s.Pulls[40], g.s.Means[40] = 10000, .001
		g.renew()
		frequencies(t, g, n)
	}
}

func TestThinnedBetaLaw(t *testing.T) {
	n := testsize.Of(1000000, 100000)
	for _, c := range [][2]int{{300, 200}, {280, 220}, {960, 40}} {
		const d = 200
		b := made(NewBernoulliThompson(d)).(*BernoulliThompson)
		zeros, ones := c[0], c[1]
		for k := range d {
			b.s.Counts[k] = [2]int{zeros, ones}
		}
		// The cut of these arms is a little above the mean of arm 17.
		cut, _ := betaCut(ones, zeros)
		b.s.Counts[17] = [2]int{int(1e6 * (1 - .99*cut)), int(1e6 * .99 * cut)}
		b.s.Counts[90] = [2]int{int(1e4 * (1 - .98*cut)), int(1e4 * .98 * cut)}
		b.renew()
		frequencies(t, b, n)
		if aside := len(b.aside[:cap(b.aside)]); aside < d {
			t.Errorf("room for %d arms", aside)
		}
	}
}

// The mass below the cut, and the draws from there, against the distribution by the trapezoid rule.
func TestBetaCut(t *testing.T) {
	n := testsize.Of(200000, 20000)
	for _, c := range [][2]int{{3, 40}, {30, 20}, {500, 100}, {20000, 300000}} {
		cut, below := betaCut(c[0], c[1])
		low, _, _ := betaReach(c[0], c[1])
		const steps = 20000
		cells, want := make([]float64, 20), make([]float64, 20)
		sum := 0.0
		for i := range steps {
			x := low + (float64(i)+.5)/steps*(cut-low)
			f := betaDensity(c[0], c[1], x) * (cut - low) / steps
			sum += f
			want[int(x/cut*float64(len(want))*(1-1e-12))] += f / below * float64(n)
		}
		if math.Abs(sum/below-1) > 1e-6 || below > betaDelta || below < betaDelta/100 {
			t.Errorf("Beta(1 + %d, 1 + %d): mass %v below %v, want %v", c[0], c[1], below, cut, sum)
		}
		b := made(NewBernoulliThompson(1)).(*BernoulliThompson)
		b.s.Counts[0] = [2]int{c[1], c[0]}
		b.arms[0] = betaArm{cut: cut, below: below}
		r := random.New(1, "cut")
		for range n {
			x := b.drawBelow(0, r)
			if !(x > 0 && x <= cut) {
				t.Fatalf("draw %v, cut %v", x, cut)
			}
			cells[int(x/cut*float64(len(want))*(1-1e-12))]++
		}
		chiSquare(t, c, cells, want)
	}
}
