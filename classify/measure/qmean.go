package measure

import "math"

// QMean is 1 - √(((1-P)² + (1-N)²)/2), one minus the quadratic mean of the class errors. Dual
// region {α² + β² ≤ ½, α, β ≥ 0}, Ψ* = α + β - 1.
type QMean struct{}

// Name implements [Measure].
func (QMean) Name() string { return "qmean" }

// Value implements [Measure].
func (m QMean) Value(c Confusion) float64 { return m.Of(c.Rates()) }

// Of implements [Concave].
func (QMean) Of(p, n float64) float64 {
	return 1 - hypot(1-p, 1-n)/math.Sqrt2
}

// Extended implements [Concave]: 1 - √(((1-u)₊² + (1-v)₊²)/2).
func (m QMean) Extended(u, v, _ float64) float64 { return m.Of(math.Min(u, 1), math.Min(v, 1)) }

// Conjugate implements [Concave].
func (QMean) Conjugate(alpha, beta float64) float64 { return alpha + beta - 1 }

// ConjugateGradient implements [Concave]. The dual step of SPADE is plus this gradient; the minus
// printed in the paper's algorithm 1 drives the dual to (0, 0), where learning stops.
func (QMean) ConjugateGradient() (float64, float64) { return 1, 1 }

// Project implements [Concave]: the quadrant first, then the ball. That is exact since the ball is
// centred at the apex of the cone; the other order is wrong.
func (QMean) Project(a, b, _ float64) (float64, float64) {
	a, b = max(a, 0), max(b, 0)
	if r := hypot(a, b); r > math.Sqrt2/2 {
		f := math.Sqrt2 / 2 / r
		a, b = a*f, b*f
	}
	return a, b
}

// OptimalDual implements [Concave]; undefined (NaN) at u = v = 1, where every point of A is
// optimal.
func (QMean) OptimalDual(u, v float64) (float64, float64) {
	rho := hypot(1-u, 1-v) / math.Sqrt2
	return (1 - u) / (2 * rho), (1 - v) / (2 * rho)
}

// InitialDual implements [Concave].
func (QMean) InitialDual() (float64, float64) { return 0.5, 0.5 }

// DualRadius implements [Concave].
func (QMean) DualRadius() float64 { return math.Sqrt2 / 2 }

// Modulus implements [Concave].
func (QMean) Modulus(eps float64) float64 { return eps }
