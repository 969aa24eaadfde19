package measure

import "math"

// Costs is the share of the largest cost that is saved: (c₊·TP + c₋·TN)/(c₊·n₊ + c₋·n₋), where a
// missed positive costs c₊ and a false alarm c₋. It is 1 minus the cost of the mistakes over that
// of mistaking every example, so that what maximizes it has the least cost. Costs(1, 1) is the
// accuracy. Coefficients: a = (0, c₊, c₋θ), b = (c₊ + c₋θ, 0, 0).
type Costs struct {
	// Missed is the cost of a false negative, Alarm that of a false positive.
	Missed, Alarm float64
}

// NewCosts returns the measure of the costs of a missed positive and of a false alarm. It fails
// unless both are finite and positive.
func NewCosts(missed, alarm float64) (Costs, error) {
	if !(missed > 0 && alarm > 0) || math.IsInf(missed+alarm, 0) {
		return Costs{}, usage("costs are %v and %v, want finite numbers > 0", missed, alarm)
	}
	return Costs{missed, alarm}, nil
}

// Name implements [Measure].
func (m Costs) Name() string { return "costs:" + formatFloat(m.Missed) + "," + formatFloat(m.Alarm) }

// Value implements [Measure].
func (m Costs) Value(c Confusion) float64 {
	right := float64(m.Missed*c.TP) + float64(m.Alarm*c.TN)
	return right / (float64(m.Missed*c.Positives()) + float64(m.Alarm*c.Negatives()))
}

// Coefficients implements [Ratio].
func (m Costs) Coefficients(theta float64) Coefficients {
	alarm := float64(m.Alarm * theta)
	return Coefficients{A: [3]float64{0, m.Missed, alarm}, B: [3]float64{m.Missed + alarm, 0, 0}, Theta: theta}
}

// Degenerate implements [Ratio].
func (m Costs) Degenerate() bool { return false }
