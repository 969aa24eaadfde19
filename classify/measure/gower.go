package measure

import "math"

// GowerLegendre is (TP + TN)/(TP + TN + σ(FP + FN)) with σ > 0 (Gower and Legendre 1986). σ = 1 is
// accuracy (simple matching), σ = 2 Rogers–Tanimoto, σ = ½ Sokal–Sneath. It is an increasing
// function of accuracy, and its weights are equal at every level, so training for it is training
// for accuracy. Coefficients: a = (0, 1, θ), b = (σ(1+θ), 1-σ, θ(1-σ)).
type GowerLegendre struct {
	// Sigma weighs the errors against the hits.
	Sigma float64
	name  string
}

// Accuracy is (TP + TN)/n.
func Accuracy() GowerLegendre { return GowerLegendre{Sigma: 1, name: "accuracy"} }

// NewGowerLegendre returns the measure of parameter sigma. It fails unless 0 < sigma < ∞.
func NewGowerLegendre(sigma float64) (GowerLegendre, error) {
	if !(sigma > 0) || math.IsInf(sigma, 0) {
		return GowerLegendre{}, usage("sigma of the Gower–Legendre measure is %v, want a finite number > 0", sigma)
	}
	return GowerLegendre{Sigma: sigma}, nil
}

// Name implements [Measure].
func (m GowerLegendre) Name() string {
	if m.name != "" {
		return m.name
	}
	return "gower-legendre:" + formatFloat(m.Sigma)
}

// Value implements [Measure].
func (m GowerLegendre) Value(c Confusion) float64 {
	return (c.TP + c.TN) / (c.TP + c.TN + float64(m.Sigma*(c.FP+c.FN)))
}

// Coefficients implements [Ratio].
func (m GowerLegendre) Coefficients(theta float64) Coefficients {
	s := m.Sigma
	return Coefficients{
		A: [3]float64{0, 1, theta}, B: [3]float64{s * (1 + theta), 1 - s, theta * (1 - s)},
		Theta: theta,
	}
}

// Degenerate implements [Ratio].
func (GowerLegendre) Degenerate() bool { return false }
