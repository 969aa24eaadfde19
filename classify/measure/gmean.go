package measure

import "math"

// GMean is the geometric mean √(PN) of the class accuracies. It is not Lipschitz: its dual region
// {αβ ≥ ¼, α, β > 0} is unbounded, so that a learner caps it. Ψ* = 0.
type GMean struct{}

// Name implements [Measure].
func (GMean) Name() string { return "gmean" }

// Value implements [Measure].
func (m GMean) Value(c Confusion) float64 { return m.Of(c.Rates()) }

// Of implements [Concave].
func (GMean) Of(p, n float64) float64 { return math.Sqrt(p * n) }

// Extended implements [Concave] for the region capped at limit = M > ½: √(uv) while both
// optimal duals lie in [1/(4M), M], else the value of the corner that is then optimal.
func (GMean) Extended(u, v, limit float64) float64 {
	m, lo := limit, 1/(4*limit)
	switch {
	case u <= 0 && v <= 0:
		return m * (u + v)
	case u <= 0 || math.Sqrt(v/u)/2 > m:
		return m*u + lo*v
	case v <= 0 || math.Sqrt(u/v)/2 > m:
		return lo*u + m*v
	default:
		return math.Sqrt(u * v)
	}
}

// Conjugate implements [Concave].
func (GMean) Conjugate(_, _ float64) float64 { return 0 }

// ConjugateGradient implements [Concave].
func (GMean) ConjugateGradient() (float64, float64) { return 0, 0 }

// Project implements [Concave] on A ∩ [0, M]² with M = limit > ½. Below the hyperbola α = ½exp(τ), β = ½exp(-τ)
// the stationarity function h(τ) = α(α-a) - β(β-b) has one change of sign on |τ| ≤ ln 2M; it is
// found by Newton's method with h' = 2α² - aα + 2β² - bβ, safeguarded by bisection.
func (GMean) Project(a, b, limit float64) (float64, float64) {
	ac, bc := math.Min(a, limit), math.Min(b, limit)
	if ac > 0 && bc > 0 && ac*bc >= 0.25 {
		return ac, bc
	}
	stationary := func(al float64) float64 {
		be := 1 / (4 * al)
		return al*(al-a) - be*(be-b)
	}
	if stationary(limit) <= 0 {
		return limit, 1 / (4 * limit)
	}
	if stationary(1/(4*limit)) >= 0 {
		return 1 / (4 * limit), limit
	}
	hi := math.Log(2 * limit)
	lo := -hi
	tau := 0.0
	if ac > 0 && bc > 0 {
		tau = math.Log(ac/bc) / 2
	}
	for range 200 {
		if !(tau > lo && tau < hi) {
			tau = lo + (hi-lo)/2
		}
		al := 0.5 * math.Exp(tau)
		be := 0.25 / al
		h := al*(al-a) - be*(be-b)
		if h < 0 {
			lo = tau
		} else {
			hi = tau
		}
		d := 2*al*al - a*al + 2*be*be - b*be
		next := tau - h/d
		if h == 0 || hi-lo < 1e-15 || math.Abs(next-tau) < 1e-15 {
			break
		}
		tau = next
	}
	al := 0.5 * math.Exp(tau)
	return al, 0.25 / al
}

// OptimalDual implements [Concave] for u, v > 0.
func (GMean) OptimalDual(u, v float64) (float64, float64) {
	r := math.Sqrt(v / u)
	return r / 2, 1 / (2 * r)
}

// InitialDual implements [Concave].
func (GMean) InitialDual() (float64, float64) { return 0.5, 0.5 }

// DualRadius implements [Concave].
func (GMean) DualRadius() float64 { return math.Inf(1) }

// Modulus implements [Concave].
func (GMean) Modulus(eps float64) float64 { return math.Sqrt(3 * eps) }
