package measure

import "math"

// MCC is Matthews' correlation coefficient (TP·TN - FP·FN)/√((TP+FP)(TP+FN)(TN+FP)(TN+FN)). It is
// neither concave nor quasi-concave in (P, N): SPADE and STAMP cannot maximize it. It can be
// evaluated, used to tune a threshold and differentiated.
type MCC struct{}

// Name implements [Measure].
func (MCC) Name() string { return "mcc" }

// Value implements [Measure].
func (MCC) Value(c Confusion) float64 {
	return (float64(c.TP*c.TN) - float64(c.FP*c.FN)) /
		(math.Sqrt(c.TP+c.FP) * math.Sqrt(c.TP+c.FN) * math.Sqrt(c.TN+c.FP) * math.Sqrt(c.TN+c.FN))
}

// FowlkesMallows is √(precision · recall) = TP/√((TP+FP)(TP+FN)). It is not quasi-concave; see
// [MCC].
type FowlkesMallows struct{}

// Name implements [Measure].
func (FowlkesMallows) Name() string { return "fowlkes-mallows" }

// Value implements [Measure].
func (FowlkesMallows) Value(c Confusion) float64 {
	return c.TP / (math.Sqrt(c.TP+c.FP) * math.Sqrt(c.TP+c.FN))
}
