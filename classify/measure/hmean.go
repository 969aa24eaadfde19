package measure

import "math"

// HMean is the harmonic mean 2PN/(P + N) of the class accuracies, 0 when both are 0. Dual region
// {√α + √β ≥ √2} ∩ ball(0, 2) in the positive quadrant, Ψ* = 0.
type HMean struct{}

// Name implements [Measure].
func (HMean) Name() string { return "hmean" }

// Value implements [Measure].
func (m HMean) Value(c Confusion) float64 { return m.Of(c.Rates()) }

// Of implements [Concave].
func (HMean) Of(p, n float64) float64 {
	if p == 0 && n == 0 {
		return 0
	}
	return 2 * p * n / (p + n)
}

// Extended implements [Concave]: 2u if u < 0 ≤ v, 2v if v < 0 ≤ u, -2‖(u, v)‖ if both are negative.
func (m HMean) Extended(u, v, _ float64) float64 {
	switch {
	case u >= 0 && v >= 0:
		return m.Of(u, v)
	case v >= 0:
		return 2 * u
	case u >= 0:
		return 2 * v
	default:
		return -2 * math.Hypot(u, v)
	}
}

// Conjugate implements [Concave].
func (HMean) Conjugate(_, _ float64) float64 { return 0 }

// ConjugateGradient implements [Concave].
func (HMean) ConjugateGradient() (float64, float64) { return 0, 0 }

// Project implements [Concave]. A point beyond the ball goes to the arc, which lies inside the
// curved constraint; a point below the curve α = 2s², β = 2(1-s)², s = ½ + x goes to the one real
// root of 4x³ + (3-a-b)x - (a-b)/2 = 0, with the original, unclipped a and b. On the curve's side
// 3-a-b ≥ 1, so the cubic is increasing, and Newton's method from the root of its linear part falls
// monotonically to the root.
func (HMean) Project(a, b, _ float64) (float64, float64) {
	ap, bp := max(a, 0), max(b, 0)
	if r := hypot(ap, bp); r > 2 {
		return 2 * ap / r, 2 * bp / r
	}
	if math.Sqrt(ap)+math.Sqrt(bp) >= math.Sqrt2 {
		return ap, bp
	}
	c, d := 3-a-b, float64(math.Abs(a-b)/2)
	x := 0.5
	if 1+c > math.Abs(a-b) { // else the root lies beyond ½ and is clamped
		x = min(0.5, d/c)
		for range 60 {
			x2 := float64(x * x)
			x3 := float64(x2 * x)
			f := (x3 + x3) + (x3 + x3) + float64(c*x) - d
			next := x - f/(float64(12*x2)+c)
			if next >= x {
				break
			}
			x = next
		}
	}
	if a < b {
		x = -x
	}
	s := 0.5 + x
	return 2 * float64(s*s), 2 * float64((1-s)*(1-s))
}

// hypot is √(x² + y²) without math.Hypot's assembly, for numbers far from over- and underflow.
func hypot(x, y float64) float64 { return math.Sqrt(float64(x*x) + float64(y*y)) }

// OptimalDual implements [Concave].
func (HMean) OptimalDual(u, v float64) (float64, float64) {
	s := (u + v) * (u + v)
	return 2 * v * v / s, 2 * u * u / s
}

// InitialDual implements [Concave].
func (HMean) InitialDual() (float64, float64) { return 0.5, 0.5 }

// DualRadius implements [Concave].
func (HMean) DualRadius() float64 { return 2 }

// Modulus implements [Concave].
func (HMean) Modulus(eps float64) float64 { return 2 * eps }
