package dp

import (
	"math"

	"github.com/noregret/noregret/internal/portable"
)

// A RenyiCurve bounds the Rényi divergence of a mechanism's results on neighbouring data at every
// order above 1 (Mironov 2017). Curves of mechanisms on the same units, under the same adjacency,
// add up order by order.
type RenyiCurve func(order float64) float64

// RenyiEpsilon returns the ε such that a mechanism with the given curve is (ε, δ)-private, by the
// sharp conversion over orders from 1 + e^−9 to 1 + e^16, and on to about 8/δ. See [RhoEpsilon].
// The result is rounded up and at least 0.
func RenyiEpsilon(curve RenyiCurve, delta float64) (float64, error) {
	if err := checkDelta(delta); err != nil {
		return 0, err
	}
	log := -portable.Log(delta)
	best := -maximize(func(u float64) float64 {
		over := portable.Exp(u)
		a := 1 + over
		return -(curve(a) + (u - portable.Log(a)) + (log-portable.Log(a))/over)
	})
	best = min(best, -maximizeAbove(log, func(over, logA, logRatio float64) float64 {
		return -(curve(1+over) + logRatio + (log-logA)/over)
	}))
	return max(0, best*(1+margin)), nil
}

// RenyiDelta returns the δ such that a mechanism with the given curve is (ε, δ)-private, by the
// same conversion. The result is rounded up and at most 1. ε may be 0.
func RenyiDelta(curve RenyiCurve, epsilon float64) (float64, error) {
	if !(epsilon >= 0) || math.IsInf(epsilon, 1) {
		return 0, checkEpsilon("epsilon", epsilon)
	}
	best := -maximize(func(u float64) float64 {
		over := portable.Exp(u)
		a := 1 + over
		return -(float64(over*(curve(a)-epsilon)) + float64(a*(u-portable.Log(a))) - u)
	})
	return min(1, portable.Exp(best)*(1+margin)), nil
}

// PureRenyi returns the tight Rényi divergence of order a of ε-private mechanisms, which randomized
// response attains (Bun and Steinke 2016, proposition 3.3):
//
//	ln[(sinh(aε) − sinh((a−1)ε))/sinh ε]/(a − 1) = ln[cosh((a−½)ε)/cosh(ε/2)]/(a − 1)
//
// It is NaN unless a > 1 and ε > 0. The result is not rounded.
func PureRenyi(epsilon, order float64) float64 {
	over := order - 1
	switch {
	case !(over > 0) || !(epsilon > 0):
		return math.NaN()
	case order*epsilon > 1:
		u, v := (order-0.5)*epsilon, epsilon/2
		return (float64(over*epsilon) + portable.Log1p(portable.Exp(-2*u)) - portable.Log1p(portable.Exp(-2*v))) / over
	}
	rise := 2 * sinh(order*epsilon/2) * sinh(over*epsilon/2) / (portable.Exp(epsilon/2) + portable.Exp(-epsilon/2))
	return portable.Log1p(2*rise) / over
}

func sinh(x float64) float64 { return (portable.Expm1(x) - portable.Expm1(-x)) / 2 }
