package measure

// Precision is TP/(TP + FP), the positive predictive value; NaN when nothing is predicted positive.
// It equals F_0 and its maximiser is degenerate. Coefficients: a = (0, 1, 0), b = (θ, 1, -θ).
type Precision struct{}

// Name implements [Measure].
func (Precision) Name() string { return "precision" }

// Value implements [Measure].
func (Precision) Value(c Confusion) float64 { return c.TP / (c.TP + c.FP) }

// Coefficients implements [Ratio].
func (Precision) Coefficients(theta float64) Coefficients {
	return Coefficients{A: [3]float64{0, 1, 0}, B: [3]float64{theta, 1, -theta}, Theta: theta}
}

// Degenerate implements [Ratio].
func (Precision) Degenerate() bool { return true }

// NPV is TN/(TN + FN), the negative predictive value; NaN when nothing is predicted negative. Its
// maximiser is degenerate. Coefficients: a = (0, 0, θ), b = (1, -1, θ).
type NPV struct{}

// Name implements [Measure].
func (NPV) Name() string { return "npv" }

// Value implements [Measure].
func (NPV) Value(c Confusion) float64 { return c.TN / (c.TN + c.FN) }

// Coefficients implements [Ratio].
func (NPV) Coefficients(theta float64) Coefficients {
	return Coefficients{A: [3]float64{0, 0, theta}, B: [3]float64{1, -1, theta}, Theta: theta}
}

// Degenerate implements [Ratio].
func (NPV) Degenerate() bool { return true }
