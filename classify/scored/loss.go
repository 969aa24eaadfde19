package scored

import (
	"math"

	"github.com/noregret/noregret/internal/portable"
)

// LogLoss is the mean of −ln of the probability of the class that an example has. The scores must
// be probabilities of the positive class. A probability of the class below 2⁻⁵² counts as 2⁻⁵², as
// in scikit-learn, so that the mean is finite. O(n).
func LogLoss(examples []Example) Estimate {
	const least = 1.0 / (1 << 52)
	return mean(examples, func(e Example) float64 {
		if e.Positive {
			return -portable.Log(max(e.Score, least))
		}
		return -portable.Log1p(-min(e.Score, 1-least))
	})
}

// Brier is the mean squared difference of the probability of the positive class, which the scores
// must be, and 1 for positive and 0 for negative examples (Brier 1950). O(n).
func Brier(examples []Example) Estimate {
	return mean(examples, func(e Example) float64 {
		d := e.Score
		if e.Positive {
			d = 1 - d
		}
		return float64(d * d)
	})
}

// mean is the weighted mean of a loss. It is undefined without examples, or where a score is no
// probability.
func mean(examples []Example, loss func(Example) float64) Estimate {
	losses, weights := make([]float64, len(examples)), make([]float64, len(examples))
	for i, e := range examples {
		if !(e.Score >= 0 && e.Score <= 1) {
			return undefined
		}
		losses[i], weights[i] = loss(e), e.Weight
	}
	return weightedMean(losses, weights)
}

// weightedMean is the weighted mean of numbers, undefined where the weights add up to 0.
func weightedMean(values, weights []float64) Estimate {
	var weight, squares, sum float64
	for i, w := range weights {
		if w != 0 {
			weight += w
			squares += float64(w * w)
			sum += float64(w * values[i])
		}
	}
	if weight == 0 {
		return undefined
	}
	m, deviations := sum/weight, 0.0
	for i, w := range weights {
		if w != 0 {
			d := float64(w * (values[i] - m))
			deviations += float64(d * d)
		}
	}
	return Estimate{m, math.Sqrt(unbiased(deviations, weight, squares))}
}
