package measure

// Kappa is Cohen's κ = (pₒ - pₑ)/(1 - pₑ) (Cohen 1960): agreement beyond chance. Coefficients: a =
// (-2θ, 2θ, 2θ), b = (1+θ², θ-1, -θ(θ-1)).
type Kappa struct{}

// Name implements [Measure].
func (Kappa) Name() string { return "kappa" }

// Value implements [Measure].
func (Kappa) Value(c Confusion) float64 {
	n := c.Positives() + c.Negatives()
	po := (c.TP + c.TN) / n
	pe := (float64(c.Positives()*(c.TP+c.FP)) + float64(c.Negatives()*(c.TN+c.FN))) / (n * n)
	return (po - pe) / (1 - pe)
}

// Coefficients implements [Ratio].
func (Kappa) Coefficients(theta float64) Coefficients {
	return Coefficients{
		A:     [3]float64{-2 * theta, 2 * theta, 2 * theta},
		B:     [3]float64{1 + float64(theta*theta), theta - 1, -theta * (theta - 1)},
		Theta: theta,
	}
}

// Degenerate implements [Ratio].
func (Kappa) Degenerate() bool { return false }
