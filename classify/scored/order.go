package scored

import "math"

// AUC is the area under the ROC curve: the probability that a positive example has a higher score
// than a negative one, ties counting one half. The error is that of DeLong, DeLong and
// Clarke-Pearson (Biometrics 44, 1988); with weights each example enters it with the square of its
// own. It is undefined without both classes or where a score is not finite. O(n log n).
func AUC(examples []Example) Estimate {
	groups, ok := grouped(examples)
	t := totals(groups)
	if !ok || t.positive == 0 || t.negative == 0 {
		return undefined
	}
	// The share of the other class that an example of a group is on the right side of.
	right := func(other, before, tied float64) float64 { return (other - before - float64(tied/2)) / other }
	var area float64
	var p, n float64
	for _, g := range groups {
		area += float64(g.positive * right(t.negative, n, g.negative))
		p += g.positive
		n += g.negative
	}
	area /= t.positive
	var ofPositives, ofNegatives float64
	p, n = 0, 0
	for _, g := range groups {
		d := right(t.negative, n, g.negative) - area
		ofPositives += float64(g.positiveSquare * float64(d*d))
		d = 1 - right(t.positive, p, g.positive) - area
		ofNegatives += float64(g.negativeSquare * float64(d*d))
		p += g.positive
		n += g.negative
	}
	variance := unbiased(ofPositives, t.positive, t.positiveSquare) + unbiased(ofNegatives, t.negative,
		t.negativeSquare)
	return Estimate{area, math.Sqrt(variance)}
}

// unbiased is the variance of a mean with weights of the given sum and sum of squares, of which sum
// is that of the squared weighted deviations. It is NaN for a single example.
func unbiased(sum, weight, squares float64) float64 {
	n := float64(weight*weight) / squares
	return float64(sum / float64(weight*weight) * (n / (n - 1)))
}

// AveragePrecision is the mean over the positive examples of the precision at their score: the area
// under the curve of precision and recall without interpolation, as scikit-learn has it. The error
// is the infinitesimal jackknife (Jaeckel 1972), the effect of each example's weight on the value.
// It is undefined without a positive example or where a score is not finite. O(n log n).
func AveragePrecision(examples []Example) Estimate {
	groups, ok := grouped(examples)
	t := totals(groups)
	if !ok || t.positive == 0 {
		return undefined
	}
	value, p, n := 0.0, 0.0, 0.0
	for _, g := range groups {
		p += g.positive
		n += g.negative
		value += float64(g.positive * p / (p + n))
	}
	value /= t.positive
	// The derivatives of the value, by the weight of an example: from the precision at the scores
	// at or below its own, and of a positive one from the mean.
	variance, fromPositive, fromNegative := 0.0, 0.0, 0.0
	for i := len(groups) - 1; i >= 0; i-- {
		g := groups[i]
		all := float64((p + n) * (p + n))
		fromPositive += float64(g.positive * n / all)
		fromNegative -= float64(g.positive * p / all)
		d := p/(p+n) - value + fromPositive
		variance += float64(g.positiveSquare * float64(d*d))
		variance += float64(g.negativeSquare * float64(fromNegative*fromNegative))
		p -= g.positive
		n -= g.negative
		p, n = max(p, 0), max(n, 0)
	}
	return Estimate{value, math.Sqrt(variance) / t.positive}
}
