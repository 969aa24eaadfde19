package bandit

import (
	"math"
	"testing"

	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/stat"
)

// chances returns the distribution of a player over its arms, and its bound.
func chances(p *Player) ([]float64, float64) {
	dst := make([]float64, p.Arms())
	bound := p.distribution(dst, lockstep)
	return dst, bound
}

// Two normal posteriors: the first is lower with the probability Φ((m₂ − m₁)/√(v₁ + v₂)), on scales
// that differ by up to 1e6.
func TestWinnerOfTwoNormals(t *testing.T) {
	for seed := range uint64(200) {
		r := random.New(seed, "normals")
		g := made(NewPlayer(2, flat(1)))
		g.s.Pulls = []int{1 + r.IntN(1000), int(1 + 1e12*math.Pow(r.Float64(), 20))}
		g.s.Means = []float64{r.NormFloat64() / 10, r.NormFloat64() / 10}
		g.s.Rounds, g.s.unseen = 1, 0
		g.plan.method.renew(&g.s)
		_, a := g.Posterior(0)
		_, b := g.Posterior(1)
		want := stat.NormalBelow((g.s.Means[1] - g.s.Means[0]) / math.Sqrt(a*a+b*b))
		p, bound := chances(g)
		if math.Abs(p[0]-want) > 1e-11 || math.Abs(p[1]-(1-want)) > 1e-11 || bound > 1e-10 {
			t.Errorf("pulls %v, means %v: %v, want %v; bound %v", g.s.Pulls, g.s.Means, p, want, bound)
		}
	}
}

// lowerBeta is P(X < Y) for X ~ Beta(a, b) and Y ~ Beta(c, d) with integers, by the finite sum
// Σ_{i<a} B(c + i, b + d)/((b + i)·B(1 + i, b)·B(c, d)) for P(Y < X).
func lowerBeta(a, b, c, d int) float64 {
	lnB := func(x, y int) float64 {
		p, _ := math.Lgamma(float64(x))
		q, _ := math.Lgamma(float64(y))
		r, _ := math.Lgamma(float64(x + y))
		return p + q - r
	}
	sum := 0.0
	for i := range a {
		sum += math.Exp(lnB(c+i, b+d) - math.Log(float64(b+i)) - lnB(1+i, b) - lnB(c, d))
	}
	return 1 - sum
}

// Two Beta posteriors, against a finite sum.
func TestWinnerOfTwoBetas(t *testing.T) {
	for seed := range uint64(200) {
		r := random.New(seed, "betas")
		b := made(NewPlayer(2, BernoulliThompson{}))
		scale := math.Pow(10, 1+3*r.Float64())
		var counts [2][2]int
		for k := range counts {
			counts[k] = [2]int{int(scale * r.Float64()), int(scale * r.Float64() * r.Float64())}
			setCounts(b, k, counts[k])
		}
		b.plan.method.renew(&b.s)
		x, y := counts[0], counts[1]
		want := 1 - lowerBeta(1+x[1], 1+x[0], 1+y[1], 1+y[0])
		if p, bound := chances(b); math.Abs(p[0]-(1-want)) > 1e-9 || bound > 1e-9 {
			t.Errorf("counts %v: %v, want %v; bound %v", counts, p, 1-want, bound)
		}
	}
}

// Equal posteriors share equally, whatever their number, and a single arm has everything.
func TestWinnerOfEqual(t *testing.T) {
	for _, d := range []int{1, 2, 3, 40} {
		for _, p := range []*Player{
			made(NewPlayer(d, BernoulliThompson{})),
			made(NewPlayer(d, GaussianThompson{Sigma: 1, Prior: GaussianPrior{Mean: 1e6, Deviation: 1e-3}})),
		} {
			got, bound := chances(p)
			for _, x := range got {
				if math.Abs(x-1/float64(d)) > 1e-12 {
					t.Fatalf("%v: %v", p, got)
				}
			}
			if bound > 1e-8 {
				t.Errorf("%v: bound %v", p, bound)
			}
		}
	}
}

// The density of the Beta distribution is that of its definition, and integrates to 1 over its
// reach.
func TestBetaDensity(t *testing.T) {
	for _, c := range [][2]int{{0, 0}, {0, 7}, {5, 0}, {3, 4}, {20, 3}, {700, 1300}} {
		a, b := float64(c[0]), float64(c[1])
		n, _ := math.Lgamma(a + b + 2)
		x, _ := math.Lgamma(a + 1)
		y, _ := math.Lgamma(b + 1)
		for _, at := range []float64{.1, .3, .35, .5, .9} {
			want := math.Exp(n - x - y + a*math.Log(at) + b*math.Log(1-at))
			if got := betaDensity(c[0], c[1], at); math.Abs(got-want) > 1e-10*want {
				t.Errorf("%v at %v: %v, want %v", c, at, got, want)
			}
		}
		low, high, deviation := betaReach(c[0], c[1])
		const steps = 200000
		mass, mean, variance := 0.0, (a+1)/(a+b+2), 0.0
		for i := range steps {
			at := low + (float64(i)+.5)/steps*(high-low)
			f := betaDensity(c[0], c[1], at) / steps * (high - low)
			mass += f
			variance += f * square(at-mean)
		}
		if math.Abs(mass-1) > 1e-8 || math.Abs(math.Sqrt(variance)/deviation-1) > 1e-7 {
			t.Errorf("%v: mass %v, deviation %v, want %v", c, mass, math.Sqrt(variance), deviation)
		}
	}
}

// Posteriors that are narrower than float64 resolves give a distribution too, with the bound 1.
func TestWinnerOfPoints(t *testing.T) {
	g := made(NewPlayer(3, GaussianThompson{Sigma: 1e-90, Prior: GaussianPrior{Mean: 1e50, Deviation: 1e-90}}))
	if p, bound := chances(g); p[0] != 1 || p[1] != 0 || p[2] != 0 || bound != 1 {
		t.Errorf("%v, bound %v", p, bound)
	}
}
