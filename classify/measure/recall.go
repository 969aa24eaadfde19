package measure

import (
	"math"
	"strconv"
)

// WeightedRecall is c₁P + c₂N with c₁, c₂ ≥ 0, not both 0: a linear measure, whose dual region is
// the single point (c₁, c₂) and Ψ* = Offset. [BalancedAccuracy] is c = (½, ½), [Youden] is c = (1,
// 1) with Offset 1. SPADE on it is plain class-weighted SGD.
type WeightedRecall struct {
	// C1 and C2 weigh the recalls of the positive and of the negative class.
	C1, C2 float64
	// Offset is subtracted from the sum.
	Offset float64
	name   string
}

// BalancedAccuracy is (P + N)/2, the arithmetic mean (AM) of the class accuracies.
func BalancedAccuracy() WeightedRecall {
	return WeightedRecall{C1: 0.5, C2: 0.5, name: "balanced_accuracy"}
}

// Youden is P + N - 1, Youden's J, the informedness.
func Youden() WeightedRecall { return WeightedRecall{C1: 1, C2: 1, Offset: 1, name: "youden"} }

// TPR is P, the true positive rate (recall, sensitivity).
func TPR() WeightedRecall { return WeightedRecall{C1: 1, name: "tpr"} }

// TNR is N, the true negative rate (specificity).
func TNR() WeightedRecall { return WeightedRecall{C2: 1, name: "tnr"} }

// NewWeightedRecall returns c₁P + c₂N. It fails unless both are finite, at least 0 and one is
// positive.
func NewWeightedRecall(c1, c2 float64) (WeightedRecall, error) {
	if !(c1 >= 0 && c2 >= 0 && c1+c2 > 0) || math.IsInf(c1+c2, 0) {
		return WeightedRecall{}, usage("weights of the recalls are %v and %v, want finite numbers ≥ 0, not both 0", c1,
			c2)
	}
	return WeightedRecall{C1: c1, C2: c2}, nil
}

// Name implements [Measure].
func (m WeightedRecall) Name() string {
	if m.name != "" {
		return m.name
	}
	return "recalls:" + formatFloat(m.C1) + "," + formatFloat(m.C2)
}

// Value implements [Measure].
func (m WeightedRecall) Value(c Confusion) float64 { return m.Of(c.Rates()) }

// Of implements [Concave].
func (m WeightedRecall) Of(p, n float64) float64 {
	switch {
	case m.C2 == 0:
		return float64(m.C1*p) - m.Offset
	case m.C1 == 0:
		return float64(m.C2*n) - m.Offset
	default:
		return float64(m.C1*p) + float64(m.C2*n) - m.Offset
	}
}

// Extended implements [Concave].
func (m WeightedRecall) Extended(u, v, _ float64) float64 { return m.Of(u, v) }

// Conjugate implements [Concave].
func (m WeightedRecall) Conjugate(_, _ float64) float64 { return m.Offset }

// ConjugateGradient implements [Concave]; irrelevant on a single point.
func (WeightedRecall) ConjugateGradient() (float64, float64) { return 0, 0 }

// Project implements [Concave].
func (m WeightedRecall) Project(_, _, _ float64) (float64, float64) { return m.C1, m.C2 }

// OptimalDual implements [Concave].
func (m WeightedRecall) OptimalDual(_, _ float64) (float64, float64) { return m.C1, m.C2 }

// InitialDual implements [Concave].
func (m WeightedRecall) InitialDual() (float64, float64) { return m.C1, m.C2 }

// DualRadius implements [Concave].
func (m WeightedRecall) DualRadius() float64 { return math.Hypot(m.C1, m.C2) }

// Modulus implements [Concave].
func (m WeightedRecall) Modulus(eps float64) float64 { return (m.C1 + m.C2) * eps }

func formatFloat(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }
