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
