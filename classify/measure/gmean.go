package measure

import "math"

// GMean is the geometric mean √(PN) of the class accuracies. It is not Lipschitz: its dual region
// {αβ ≥ ¼, α, β > 0} is unbounded, so a learner caps it. Ψ* = 0.
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
		return float64(m*u) + float64(lo*v)
	case v <= 0 || math.Sqrt(u/v)/2 > m:
		return float64(lo*u) + float64(m*v)
	default:
		return math.Sqrt(u * v)
	}
}

// Conjugate implements [Concave].
func (GMean) Conjugate(_, _ float64) float64 { return 0 }

// ConjugateGradient implements [Concave].
func (GMean) ConjugateGradient() (float64, float64) { return 0, 0 }

// Project implements [Concave] on A ∩ [0, M]² with M = limit > ½. Below the hyperbola α = ½exp(τ),
// β = ½exp(-τ) the stationarity function h(τ) = α(α-a) - β(β-b) has one change of sign on |τ| ≤ ln
// 2M; it is found by Newton's method with h' = 2α² - aα + 2β² - bβ, safeguarded by bisection. A
// step y in τ multiplies α by exp(y), which is approximated by (2 + y)/(2 - y), so that only
// correctly rounded operations are used.
func (GMean) Project(a, b, limit float64) (float64, float64) {
	ac, bc := min(a, limit), min(b, limit)
	if ac > 0 && bc > 0 && ac*bc >= 0.25 {
		return ac, bc
	}
	hi, lo := limit, 0.25/limit
	if stationary(hi, a, b) <= 0 {
		return hi, lo
	}
	if stationary(lo, a, b) >= 0 {
		return lo, hi
	}
	al := 0.5
	if ac > 0 && bc > 0 {
		al = math.Sqrt(ac/bc) / 2
	}
	for range 200 {
		if !(al > lo && al < hi) {
			al = math.Sqrt(float64(lo * hi))
		}
		h := stationary(al, a, b)
		if h < 0 {
			lo = al
		} else {
			hi = al
		}
		be := 0.25 / al
		d := float64(al*(2*al-a)) + float64(be*(2*be-b))
		y := -h / d
		next := -1.0
		if math.Abs(y) < 1 {
			next = float64(al * ((2 + y) / (2 - y)))
		}
		if h == 0 || hi-lo <= 4e-16*hi || math.Abs(next-al) <= 2e-16*al {
			break
		}
		al = next
	}
	return al, 0.25 / al
}

// stationary is h = α(α-a) - β(β-b) at β = 1/(4α).
func stationary(al, a, b float64) float64 {
	be := 0.25 / al
	return float64(al*(al-a)) - float64(be*(be-b))
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
