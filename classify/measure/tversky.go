package measure

import "math"

// Tversky is TP/(TP + S·FP + T·FN) (Tversky 1977). Tversky(1, 1) is the [Jaccard] index, Tversky(½,
// ½) is F₁, and Tversky(1/(1+B²), B²/(1+B²)) is F_B. Coefficients: a = (0, 1, 0), b = (Sθ+T, 1-T,
// -Sθ).
type Tversky struct {
	// S weighs false positives, T false negatives.
	S, T float64
	name string
}

// Jaccard is TP/(TP + FP + FN), also called threat score or critical success index.
func Jaccard() Tversky { return Tversky{S: 1, T: 1, name: "jaccard"} }

// NewTversky returns the Tversky index of parameters s and t. It fails unless both are finite, at
// least 0 and one is positive.
func NewTversky(s, t float64) (Tversky, error) {
	if !(s >= 0 && t >= 0 && s+t > 0) || math.IsInf(s+t, 0) {
		return Tversky{}, usage("parameters of the Tversky index are %v and %v, want finite numbers ≥ 0, not both 0", s,
			t)
	}
	return Tversky{S: s, T: t}, nil
}

// Name implements [Measure].
func (m Tversky) Name() string {
	if m.name != "" {
		return m.name
	}
	return "tversky:" + formatFloat(m.S) + "," + formatFloat(m.T)
}

// Value implements [Measure].
func (m Tversky) Value(c Confusion) float64 {
	return c.TP / (c.TP + float64(m.S*c.FP) + float64(m.T*c.FN))
}

// Coefficients implements [Ratio].
func (m Tversky) Coefficients(theta float64) Coefficients {
	return Coefficients{
		A: [3]float64{0, 1, 0}, B: [3]float64{float64(m.S*theta) + m.T, 1 - m.T, -m.S * theta},
		Theta: theta,
	}
}

// Degenerate implements [Ratio]: with S = 0 or T = 0 one kind of error is free.
func (m Tversky) Degenerate() bool { return m.S == 0 || m.T == 0 }
