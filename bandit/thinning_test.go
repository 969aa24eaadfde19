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
func frequencies(t *testing.T, p *Player, n int) {
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
// the cut, so that the tails of many arms win some of the rounds, with a leader whose own tail
// matters and with one apart from all others.
func TestThinnedNormalLaw(t *testing.T) {
	testsize.NoRace(t)
	n := testsize.Of(400000, 50000)
	for _, above := range []float64{2.7, 3.02, 3.1, 3.3, 3.8} {
		for _, pulls := range []int{1000, 100000, 100000000} {
			const d = 60
			g := made(NewPlayer(d, flat(1)))
			for k := range d {
				g.s.Pulls[k], g.s.Means[k] = 100, above/10
			}
			g.s.Pulls[17], g.s.Means[17], g.s.unseen = pulls, 0, 0
			if pulls == 1000 {
				g.s.Pulls[40], g.s.Means[40] = 10000, .001
			}
			g.plan.method.renew(&g.s)
			frequencies(t, g, n)
		}
	}
}

func TestThinnedBetaLaw(t *testing.T) {
	testsize.NoRace(t)
	n := testsize.Of(40000, 10000)
	for _, c := range [][2]int{{300, 200}, {280, 220}, {960, 40}, {100, 900}} {
		for _, pulls := range []float64{1e4, 1e6, 1e9} {
			// at is the leader's mean over the cut of the others.
			for _, at := range []float64{.98, 1.001, 1.03} {
				const d = 200
				b := made(NewPlayer(d, BernoulliThompson{}))
				for k := range d {
					setCounts(b, k, c)
				}
				at *= b.plan.method.(*thompson).family.cut(&b.s, 0)
				setCounts(b, 17, [2]int{int(pulls * (1 - at)), int(pulls * at)})
				if pulls == 1e4 {
					setCounts(b, 90, [2]int{int(pulls * (1.001 - at)), int(pulls * (at - .001))})
				}
				b.plan.method.renew(&b.s)
				frequencies(t, b, n)
			}
		}
	}
}

// The upper tail of a leader apart from the others: it wins less often than always by the chance
// that its draw is above theirs.
func TestThinnedLeadersTail(t *testing.T) {
	b := made(NewPlayer(2, BernoulliThompson{}))
	setCounts(b, 0, [2]int{2e9, 2e9}) // its cut is at its mean, nearly
	setCounts(b, 1, [2]int{285, 215})
	m := b.plan.method.(*thompson)
	if mean, _ := b.Posterior(1); !newBetaTail(285, 215).apart(m.family.cut(&b.s, 0)-mean, 3) {
		t.Fatal("not apart")
	}
	m.family = betaFamily{math.Exp(-4.6), 4.6}
	m.renew(&b.s)
	frequencies(t, b, testsize.Of(1000000, 200000))
}

// The mass below the cut is at most δ and not far below it, for all counts with a cut.
func TestBetaTail(t *testing.T) {
	for seed := range uint64(5000) {
		r := random.New(seed, "tail")
		scale := math.Exp(18 * r.Float64())
		a, b := int(scale*r.Float64()), int(scale*square(r.Float64()))
		ln := 9 + 9*r.Float64()
		tail := newBetaTail(a, b)
		cut := tail.cut(ln)
		if cut == 0 {
			continue
		}
		if !(cut < float64(a)/float64(a+b)) {
			t.Errorf("Beta(1 + %d, 1 + %d): cut %v", a, b, cut)
		}
		below := betaBelow(a, b, cut)
		if share := below * math.Exp(ln); share > 1 || share < 1e-3 && min(a, b) > 2000 {
			t.Errorf("Beta(1 + %d, 1 + %d): %v of exp(−%v) is below %v", a, b, share, ln, cut)
		}
		if gap := tail.mean - cut; !tail.apart(gap*(1+1e-9), ln) || tail.apart(gap*(1-1e-9), ln) {
			t.Errorf("Beta(1 + %d, 1 + %d): the cut %v is not the end", a, b, cut)
		}
	}
}

// The mass below a cut, and the draws from there, against the density by the midpoint rule.
func TestDrawBelow(t *testing.T) {
	n := testsize.Of(200000, 20000)
	for _, c := range [][2]int{{30, 2}, {30, 20}, {500, 100}, {20000, 300000}} {
		cut := newBetaTail(c[0], c[1]).cut(6)
		below := betaBelow(c[0], c[1], cut)
		const steps = 40000
		low, _, _ := betaReach(c[0], c[1])
		low = min(low, .9*cut)
		cells, want, sum := make([]float64, 20), make([]float64, 20), 0.0
		cell := func(x float64) int { return int((x - low) / (cut - low) * float64(len(want)) * (1 - 1e-12)) }
		for i := range steps {
			x := low + (float64(i)+.5)/steps*(cut-low)
			f := betaDensity(c[0], c[1], x) * (cut - low) / steps
			sum += f
			want[cell(x)] += f / below * float64(n)
		}
		if math.Abs(sum/below-1) > 1e-6 {
			t.Errorf("Beta(1 + %d, 1 + %d): mass %v below %v, want %v", c[0], c[1], below, cut, sum)
		}
		r := random.New(1, "cut")
		for range n {
			x := drawBelow(r, c[0], c[1], cut)
			if !(x > 0 && x <= cut) {
				t.Fatalf("draw %v, cut %v", x, cut)
			}
			cells[max(cell(x), 0)]++
		}
		chiSquare(t, c, cells, want)
	}
}
