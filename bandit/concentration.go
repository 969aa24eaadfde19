package bandit

import (
	"math"

	"github.com/noregret/noregret/internal/portable"
)

// SubgaussianTail bounds the probability that the mean of n independent σ-subgaussian variables
// exceeds its expectation by ε ≥ 0 or more: exp(−n·ε²/(2σ²)) (Orabona 2019, Corollary 10.10). The
// other tail has the same bound.
func SubgaussianTail(n int, epsilon, sigma float64) float64 {
	return portable.Exp(-float64(float64(n)*square(epsilon/sigma)) / 2)
}

// SubgaussianWidth is the ε for which [SubgaussianTail] is δ: σ·√(2·ln(1/δ)/n). With probability at
// least 1 − δ the expectation is at least the mean less ε: in [μ̂ − ε, ∞).
func SubgaussianWidth(n int, delta, sigma float64) float64 {
	return float64(sigma * math.Sqrt(-2*portable.Log(delta)/float64(n)))
}
