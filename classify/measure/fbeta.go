package measure

import "math"

// FBeta is the F-measure (1+B²)TP/((1+B²)TP + B²FN + FP) (van Rijsbergen 1979) with B > 0.
// Coefficients: a = (0, 1+B², 0), b = (B²+θ, 1, -θ). The denominator in terms of the counts has the
// term B²·FN; the paper's table 2 prints B²·TP, an erratum. F₁ is the Dice coefficient and F₁ =
// 2J/(1+J) of the [Jaccard] index J.
type FBeta struct {
	// B weighs recall B times as much as precision.
	B float64
}

// NewFBeta returns the F-measure of parameter b. It fails unless 0 < b < ∞.
func NewFBeta(b float64) (FBeta, error) {
	if !(b > 0) || math.IsInf(b, 0) {
		return FBeta{}, usage("parameter of the F-measure is %v, want a finite number > 0 (0 is precision)", b)
	}
	return FBeta{B: b}, nil
}

// Name implements [Measure].
func (m FBeta) Name() string {
	switch m.B {
	case 1, 2, 0.5:
		return "f" + formatFloat(m.B)
	default:
		return "fbeta:" + formatFloat(m.B)
	}
}

// Value implements [Measure].
func (m FBeta) Value(c Confusion) float64 {
	b2 := float64(m.B * m.B)
	hits := float64((1 + b2) * c.TP)
	return hits / (hits + float64(b2*c.FN) + c.FP)
}

// Coefficients implements [Ratio].
func (m FBeta) Coefficients(theta float64) Coefficients {
	b2 := float64(m.B * m.B)
	return Coefficients{A: [3]float64{0, 1 + b2, 0}, B: [3]float64{b2 + theta, 1, -theta}, Theta: theta}
}

// Degenerate implements [Ratio].
func (FBeta) Degenerate() bool { return false }
