package bandit

import (
	"math"

	"github.com/noregret/noregret/internal/portable"
)

// betaReach returns an interval that holds all but 1e-16 of the mass of Beta(1 + a, 1 + b), and its
// standard deviation. The tails are those of a binomial variable, by Chernoff's bound:
//
//	P(X ≤ x) = P(Bin(a + b + 1, x) ≥ a + 1) ≤ exp(−(a + b + 1)·kl((a + 1)/(a + b + 1), x))
func betaReach(a, b int) (low, high, deviation float64) {
	x, y := float64(a)+1, float64(b)+1
	n := x + y - 1
	low, high = klLower(x/n, 37/n), 1-klLower(y/n, 37/n)
	return low, high, math.Sqrt(float64(x*y)/(n+2)) / (n + 1)
}

// betaDensity is the density of Beta(1 + a, 1 + b) at x in (0, 1), for integers a, b ≥ 0:
// (n + 1)·C(n, a)·x^a·(1 − x)^b with n = a + b. By Loader's method (2000) it is
//
//	(n + 1)·√(n/(2π·a·b))·exp(δ(n) − δ(a) − δ(b) − n·kl(a/n, x))
//
// with the error δ of Stirling's formula, which keeps its precision for large n.
func betaDensity(a, b int, x float64) float64 {
	n, p, q := float64(a)+float64(b), float64(a), float64(b)
	switch {
	case a == 0 && b == 0:
		return 1
	case a == 0:
		return (n + 1) * portable.Exp(float64(n*portable.Log1p(-x)))
	case b == 0:
		return (n + 1) * portable.Exp(float64(n*portable.Log(x)))
	}
	mode := p / n
	kl := -float64(p*portable.Log1p((x-mode)/mode)) - float64(q*portable.Log1p((mode-x)/(q/n)))
	scale := (n + 1) * math.Sqrt(n/float64(p*q)) / sqrtTau
	return float64(scale * portable.Exp(stirlingError(n)-stirlingError(p)-stirlingError(q)-kl))
}

// stirlingError is δ(n) = ln n! − ln(√(2πn)·(n/e)^n) for integers n ≥ 1.
func stirlingError(n float64) float64 {
	if n < float64(len(smallErrors)) {
		return smallErrors[int(n)]
	}
	v := 1 / float64(n*n)
	return (1.0/12 - float64(v*(1.0/360-float64(v*(1.0/1260-float64(v*(1.0/1680-float64(v/1188)))))))) / n
}

// smallErrors are δ(1) to δ(15).
var smallErrors = func() (d [16]float64) {
	ln := 0.0
	for n := 1.0; n < 16; n++ {
		ln += portable.Log(n)
		d[int(n)] = ln - (float64((n+0.5)*portable.Log(n)) - n + portable.Log(sqrtTau))
	}
	return d
}()

// betaTail is a bound on the tails of Beta(1 + a, 1 + b): the mass more than ε below the mean is at
// most exp(−ε²/(2·(variance + skew·ε/3))), and so is the mass above for Beta(1 + b, 1 + a) (Skorski
// 2023, Theorem 1).
type betaTail struct{ mean, variance, skew float64 }

func newBetaTail(a, b int) betaTail {
	x, y := float64(a)+1, float64(b)+1
	n := x + y
	mean := x / n
	return betaTail{mean, float64(mean*(1-mean)) / (n + 1), max(0, 2*(x-y)/float64(n*(n+2)))}
}

// cut returns a point below which is at most the mass exp(−ln), 0 if it is not positive.
func (t betaTail) cut(ln float64) float64 {
	c := float64(ln * t.skew / 3)
	return max(t.mean-(c+math.Sqrt(float64(c*c)+float64(2*ln*t.variance))), 0)
}

// apart reports whether at most the mass exp(−ln) is more than gap below the mean.
func (t betaTail) apart(gap, ln float64) bool {
	return gap > 0 && float64(gap*gap) >= 2*ln*(t.variance+float64(float64(t.skew*gap)/3))
}

// betaBelow is the mass of Beta(1 + a, 1 + b) below x, for x below the mode: with f the density,
//
//	F(x) = f(x)·x·(1 − x)/(a + 1)·Σ_i x^i·Π_{j ≤ i} (a + b + 1 + j)/(a + 1 + j)
//
// where the terms fall from the first one on.
func betaBelow(a, b int, x float64) float64 {
	p, n := float64(a)+1, float64(a)+float64(b)+1
	sum, term := 1.0, 1.0
	for i := 1.0; term > 1e-17*sum; i++ {
		term = float64(term * float64(x*(n+i)/(p+i)))
		sum += term
	}
	return float64(betaDensity(a, b, x)*float64(x*(1-x))) / p * sum
}

// drawBelow draws from Beta(1 + a, 1 + b) below x, which is below the mode. The logarithm of the
// density is concave, so that the density is below the exponential function that touches it at x: a
// draw from that is accepted with the ratio of the two.
func drawBelow(r Rand, a, b int, x float64) float64 {
	p, q := float64(a), float64(b)
	slope := p/x - q/(1-x)
	for {
		step := exponential(r) / slope
		if !(step < x) {
			continue
		}
		ln := float64(p*portable.Log1p(-step/x)) + float64(q*portable.Log1p(step/(1-x)))
		if -exponential(r) <= ln+float64(slope*step) {
			return x - step
		}
	}
}
