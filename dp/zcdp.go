package dp

import (
	"math"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/portable"
)

// RhoEpsilon returns the ε such that ρ-zCDP (zero-concentrated differential privacy, Bun and
// Steinke 2016) implies (ε, δ), by the sharp conversion (Canonne, Kamath and Steinke 2020,
// proposition 12):
//
//	ε = min over orders a > 1 of a·ρ + ln(1 − 1/a) + (ln(1/δ) − ln a)/(a − 1)
//
// Every order gives a valid ε, so that an inexact minimum is only less tight. The result is rounded
// up and at least 0. Costs ρ of several mechanisms on the same units add up, also if each mechanism
// is chosen after the results of the earlier ones; convert the sum once.
func RhoEpsilon(rho, delta float64) (float64, error) {
	if err := checkEpsilon("rho", rho); err != nil {
		return 0, err
	}
	return RenyiEpsilon(func(order float64) float64 { return order * rho }, delta)
}

// Rho returns the largest ρ such that ρ-zCDP implies (ε, δ), by the sharp conversion: the inverse
// of [RhoEpsilon]. The result is rounded down. It is at least δ², about, however small ε is. The
// errors are ErrEpsilon and ErrDelta, the latter also for a δ below about 1e-150 with an ε that is
// not much larger, for which ρ is no positive number of 64 bits.
func Rho(epsilon, delta float64) (float64, error) {
	if err := checkEpsilon("epsilon", epsilon); err != nil {
		return 0, err
	}
	if err := checkDelta(delta); err != nil {
		return 0, err
	}
	r := rho(epsilon, delta) * (1 - budgetMargin)
	if !(r > 0) {
		return 0, noregret.BadInputf("delta", "%g is too small for ε = %g, no ρ above 0 keeps them: %w",
			delta, epsilon, ErrDelta)
	}
	return r, nil
}

// rho is the maximum over orders. For ε far below the usual range the best order is about 1/δ,
// which may lie above the orders of maximize.
func rho(epsilon, delta float64) float64 {
	log := -portable.Log(delta)
	best := maximize(func(u float64) float64 {
		over := portable.Exp(u) // a − 1
		a := 1 + over
		return (epsilon - (u - portable.Log(a)) - (log-portable.Log(a))/over) / a
	})
	return max(best, maximizeAbove(log, func(over, logA, logRatio float64) float64 {
		return (epsilon - logRatio - (log-logA)/over) / (1 + over)
	}))
}

// RhoDelta returns the δ such that ρ-zCDP implies (ε, δ), by the sharp conversion:
//
//	δ = min over orders a > 1 of exp((a−1)(aρ−ε))·(1−1/a)^a/(a−1)
//
// The result is rounded up and at most 1. ε may be 0.
func RhoDelta(rho, epsilon float64) (float64, error) {
	if err := checkEpsilon("rho", rho); err != nil {
		return 0, err
	}
	return RenyiDelta(func(order float64) float64 { return order * rho }, epsilon)
}

// SimpleRho is the inverse of [SimpleRhoEpsilon]: ρ = (√(ln(1/δ) + ε) − √ln(1/δ))². It is smaller
// than [Rho] and serves comparisons. The result is rounded down.
func SimpleRho(epsilon, delta float64) (float64, error) {
	if err := checkEpsilon("epsilon", epsilon); err != nil {
		return 0, err
	}
	if err := checkDelta(delta); err != nil {
		return 0, err
	}
	log := -portable.Log(delta)
	root := epsilon / (math.Sqrt(log+epsilon) + math.Sqrt(log))
	return root * root * (1 - margin), nil
}

// SimpleRhoEpsilon returns ε = ρ + 2√(ρ·ln(1/δ)) (Bun and Steinke 2016, proposition 1.3), which is
// larger than [RhoEpsilon]. The result is rounded up.
func SimpleRhoEpsilon(rho, delta float64) (float64, error) {
	if err := checkEpsilon("rho", rho); err != nil {
		return 0, err
	}
	if err := checkDelta(delta); err != nil {
		return 0, err
	}
	return (rho + 2*math.Sqrt(-rho*portable.Log(delta))) * (1 + margin), nil
}

// GaussianRho returns the ρ of μ-Gaussian differential privacy, μ²/2: the cost of Gaussian noise of
// standard deviation Δ/μ, and exactly that of discrete Gaussian noise (Canonne, Kamath and Steinke
// 2020, theorem 4). The result is rounded up.
func GaussianRho(mu float64) float64 { return mu * mu / 2 * (1 + margin) }

// The orders of the conversions are 1 + e^u for u from lowOrder to highOrder, and above highOrder
// up to a little above 1/δ.
const lowOrder, highOrder = -9.0, 16.0

// maximizeAbove is maximize for the orders between e^highOrder and about 8/δ, for log = ln(1/δ),
// and −Inf if there are none. It passes a − 1, ln a and ln((a − 1)/a), which cancels if computed as
// a difference.
func maximizeAbove(log float64, f func(over, logA, logRatio float64) float64) float64 {
	if log+2 <= highOrder {
		return math.Inf(-1)
	}
	return maximizeOn(highOrder, min(log+2, 700), func(u float64) float64 {
		over := portable.Exp(u)
		rest := portable.Log1p(1 / over)
		return f(over, u+rest, -rest)
	})
}

// maximize returns the largest value that f takes on a grid of u = ln(a − 1) and on the golden
// section between the neighbours of the best point.
func maximize(f func(u float64) float64) float64 { return maximizeOn(lowOrder, highOrder, f) }

func maximizeOn(low, high float64, f func(u float64) float64) float64 {
	const steps = 50
	at, best := low, math.Inf(-1)
	for i := range steps + 1 {
		u := low + (high-low)*float64(i)/steps
		if v := f(u); v > best {
			at, best = u, v
		}
	}
	const ratio = 0.6180339887498949
	a, b := max(low, at-(high-low)/steps), min(high, at+(high-low)/steps)
	c, d := b-float64(ratio*(b-a)), a+float64(ratio*(b-a))
	fc, fd := f(c), f(d)
	for range 60 {
		best = max(best, fc, fd)
		if fc > fd {
			b, d, fd = d, c, fc
			c = b - float64(ratio*(b-a))
			fc = f(c)
		} else {
			a, c, fc = c, d, fd
			d = a + float64(ratio*(b-a))
			fd = f(d)
		}
	}
	return max(best, fc, fd)
}
