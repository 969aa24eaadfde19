package dp

import (
	"math"

	"github.com/noregret/noregret/internal/portable"
)

// Costs are rounded up by the relative amount margin, what a mechanism may cost is rounded down by
// eight times as much, and the limit of an account by half of it, all far above the rounding errors
// of the formulas. So a mechanism that is made for the whole budget of an account fits it, and the
// ε that it has spent is not above that budget.
const (
	margin       = 1e-9
	budgetMargin = 8 * margin
	limitMargin  = margin / 2
)

// GaussianDelta returns the smallest δ for which adding Gaussian noise of standard deviation σ to a
// quantity of sensitivity Δ is (ε, δ)-private, for μ = Δ/σ (Balle and Wang 2018, theorem 8):
//
//	δ(ε; μ) = Φ(μ/2 − ε/μ) − e^ε·Φ(−μ/2 − ε/μ)
//
// It is the curve of every mechanism with μ-Gaussian differential privacy (Dong, Roth and Su 2022).
// The difference is computed through Mills' ratio, so that neither e^ε overflows nor small values
// cancel. ε may be 0. The result is rounded up.
func GaussianDelta(mu, epsilon float64) (float64, error) {
	if err := checkEpsilon("mu", mu); err != nil {
		return 0, err
	}
	if !(epsilon >= 0) || math.IsInf(epsilon, 1) {
		return 0, checkEpsilon("epsilon", epsilon)
	}
	return min(1, gaussianDelta(mu, epsilon)*(1+margin)), nil
}

// gaussianDelta is GaussianDelta without checks and rounding. With z± = ε/μ ± μ/2 the densities
// satisfy e^ε·φ(z+) = φ(z−), so that δ = φ(z−)·(M(z−) − M(z+)) for Mills' ratio M(z) = Φ(−z)/φ(z).
func gaussianDelta(mu, epsilon float64) float64 {
	low, high := epsilon/mu-float64(mu/2), epsilon/mu+float64(mu/2)
	density := normalDensity(low)
	if mu < 1e-5 {
		// The difference would cancel. It is the integral of −M'(z) = 1 − z·M(z), by the midpoint.
		if density == 0 {
			return 0
		}
		middle := epsilon / mu
		return float64(density*mu) * (1 - float64(middle*mills(middle)))
	}
	if low < 0 {
		return 1 - float64(density*(mills(-low)+mills(high)))
	}
	return density * (mills(low) - mills(high))
}

func normalDensity(z float64) float64 {
	return portable.Exp(-float64(z*z)/2) / math.Sqrt(2*math.Pi)
}

// mills is Mills' ratio Φ(−z)/φ(z) for z ≥ 0: by the Taylor series of Φ below 2, and by the
// continued fraction of Laplace above.
func mills(z float64) float64 {
	if z < 2 {
		sum, term := z, z
		for k := 3.0; term > sum*1e-18; k += 2 {
			term = float64(term*z) * z / k
			sum += term
		}
		return 0.5/normalDensity(z) - sum
	}
	f := z
	for k := 10 + math.Floor(440/float64(z*z)); k >= 1; k-- {
		f = z + k/f
	}
	return 1 / f
}

// GaussianMu returns the largest μ such that μ-Gaussian differential privacy implies (ε, δ): the
// inverse of [GaussianDelta]. Noise of standard deviation Δ/μ suffices for sensitivity Δ. The
// result is rounded down.
func GaussianMu(epsilon, delta float64) (float64, error) {
	if err := checkEpsilon("epsilon", epsilon); err != nil {
		return 0, err
	}
	if err := checkDelta(delta); err != nil {
		return 0, err
	}
	return gaussianMu(epsilon, delta) * (1 - budgetMargin), nil
}

func gaussianMu(epsilon, delta float64) float64 {
	ok := func(u float64) bool { return gaussianDelta(portable.Exp(u), epsilon) <= delta }
	if !ok(-60) {
		return bisect(-700, -60, ok)
	}
	return bisect(-60, 60, ok)
}

// bisect returns e^u for the largest u in [low, high] with ok(u), which holds up to some u.
func bisect(low, high float64, ok func(u float64) bool) float64 {
	for range 60 {
		mid := low + float64((high-low)/2)
		if ok(mid) {
			low = mid
		} else {
			high = mid
		}
	}
	return portable.Exp(low)
}

// GaussianEpsilon returns the smallest ε such that μ-Gaussian differential privacy implies (ε, δ),
// and 0 if δ is large enough for ε = 0. The result is rounded up.
func GaussianEpsilon(mu, delta float64) (float64, error) {
	if err := checkEpsilon("mu", mu); err != nil {
		return 0, err
	}
	if err := checkDelta(delta); err != nil {
		return 0, err
	}
	if gaussianDelta(mu, 0) <= delta {
		return 0, nil
	}
	low, high := 0.0, 1.0
	for gaussianDelta(mu, high) > delta {
		high *= 2
		if high > 1e300 {
			return 0, checkEpsilon("mu", math.Inf(1))
		}
	}
	for range 200 {
		mid := low + float64((high-low)/2)
		if gaussianDelta(mu, mid) > delta {
			low = mid
		} else {
			high = mid
		}
	}
	return high * (1 + margin), nil
}
