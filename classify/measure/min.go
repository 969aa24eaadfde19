package measure

import "math"

// Min is min(P, N), the worse of the two class accuracies. Dual region {α + β = 1, α, β ≥ 0}, Ψ* =
// 0.
type Min struct{}

// Name implements [Measure].
func (Min) Name() string { return "min" }

// Value implements [Measure].
func (m Min) Value(c Confusion) float64 { return m.Of(c.Rates()) }

// Of implements [Concave].
func (Min) Of(p, n float64) float64 { return math.Min(p, n) }

// Extended implements [Concave]: min(u, v) everywhere.
func (Min) Extended(u, v, _ float64) float64 { return math.Min(u, v) }

// Conjugate implements [Concave].
func (Min) Conjugate(_, _ float64) float64 { return 0 }

// ConjugateGradient implements [Concave].
func (Min) ConjugateGradient() (float64, float64) { return 0, 0 }

// Project implements [Concave]: λ = clamp((a - b + 1)/2, 0, 1), (λ, 1 - λ).
func (Min) Project(a, b, _ float64) (float64, float64) {
	l := min(1, max(0, (a-b+1)/2))
	return l, 1 - l
}

// OptimalDual implements [Concave]; at u = v it is the middle of the segment.
func (Min) OptimalDual(u, v float64) (float64, float64) {
	switch {
	case u < v:
		return 1, 0
	case u > v:
		return 0, 1
	default:
		return 0.5, 0.5
	}
}

// InitialDual implements [Concave].
func (Min) InitialDual() (float64, float64) { return 0.5, 0.5 }

// DualRadius implements [Concave].
func (Min) DualRadius() float64 { return 1 }

// Modulus implements [Concave].
func (Min) Modulus(eps float64) float64 { return eps }
