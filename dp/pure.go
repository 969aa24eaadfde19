package dp

// PureRho returns the ρ of an ε-private mechanism, ε²/2 (Bun and Steinke 2016, proposition 1.4),
// rounded up.
func PureRho(epsilon float64) float64 { return epsilon * epsilon / 2 * (1 + margin) }

// SelectionRho returns the ρ of the exponential mechanism whose log-probabilities change by amounts
// in an interval of length η (bounded range: Dong, Durfee and Rogers 2020): η²/8, rounded up. It
// does not hold for the argument of the minimum of scores with Laplace noise, whose cost is
// [PureRho].
func SelectionRho(eta float64) float64 { return eta * eta / 8 * (1 + margin) }

// ComposePure returns an ε such that mechanisms with the given pure ε's on the same units together
// are (ε, δ)-private: the smaller one of their sum and of the sharp conversion of the sum of their
// Rényi curves. δ may be 0; then it is the sum. The result is rounded up.
func ComposePure(epsilons []float64, delta float64) (float64, error) {
	sum := 0.0
	for _, e := range epsilons {
		if err := checkEpsilon("epsilon", e); err != nil {
			return 0, err
		}
		sum += e
	}
	sum *= 1 + margin
	if delta == 0 {
		return sum, nil
	}
	sharp, err := RenyiEpsilon(func(order float64) float64 {
		total := 0.0
		for _, e := range epsilons {
			total += PureRenyi(e, order)
		}
		return total
	}, delta)
	if err != nil {
		return 0, err
	}
	return min(sum, sharp), nil
}
