package stat

import "github.com/noregret/noregret/internal/portable"

// BinomialUpper returns the upper confidence bound of Clopper and Pearson (1934) for a probability
// of which k successes in n trials are known: the p with P(Binomial(n, p) ≤ k) = 1 − confidence,
// and 1 for k ≥ n. O(k + 60·√n).
func BinomialUpper(k, n int, confidence float64) float64 {
	if k >= n {
		return 1
	}
	ways := 0.0 // ln of n over k
	for i := range k {
		ways += portable.Log(float64(n-i)) - portable.Log(float64(i+1))
	}
	low, high := float64(k)/float64(n), 1.0
	for range 60 {
		mid := (low + high) / 2
		if binomialBelow(k, n, mid, ways) > 1-confidence {
			low = mid
		} else {
			high = mid
		}
	}
	return high
}

// BinomialLower is the lower bound that goes with [BinomialUpper]: 0 for k = 0.
func BinomialLower(k, n int, confidence float64) float64 {
	return 1 - BinomialUpper(n-k, n, confidence)
}

// binomialBelow is P(Binomial(n, p) ≤ k) for p ≥ k/n, summed downward from the largest term.
func binomialBelow(k, n int, p, ways float64) float64 {
	log := ways + (float64(float64(k)*portable.Log(p)) + float64(float64(n-k)*portable.Log1p(-p)))
	sum, term := 0.0, 1.0
	for i := k; i >= 0 && term > 1e-20*sum; i-- {
		sum += term
		term *= float64(i) / float64(n-i+1) * (1 - p) / p
	}
	return portable.Exp(log) * sum
}
