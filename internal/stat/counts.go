package stat

import (
	"math"

	"github.com/noregret/noregret/internal/portable"
)

// exactMean is the expected number of events up to which the quantiles of counts are exact.
const exactMean = 64

// Binomial returns a draw from the binomial distribution with n trials of probability p, by its
// quantile at a normal draw from r: see [BinomialQuantile].
func Binomial(r interface{ Float64() float64 }, n int64, p float64) float64 {
	return BinomialQuantile(Normal(r), n, p)
}

// BinomialQuantile returns the quantile of the binomial distribution with n trials of probability p
// at the standard normal number z: exact by summation where fewer than 64 events, or non-events,
// are expected, and by the expansion of Cornish and Fisher (1938) to the skewness otherwise.
func BinomialQuantile(z float64, n int64, p float64) float64 {
	trials := float64(n)
	switch {
	case p <= 0:
		return 0
	case p >= 1:
		return trials
	case p > 0.5:
		return trials - BinomialQuantile(-z, n, 1-p)
	}
	mean := float64(trials * p)
	if mean > exactMean {
		sd := math.Sqrt(float64(mean * (1 - p)))
		return min(cornishFisher(z, mean, sd, (1-float64(2*p))/6), trials)
	}
	odds := p / (1 - p)
	return smallCount(z, mean, portable.Exp(float64(trials*portable.Log1p(-p))), trials, func(x float64) float64 {
		return float64((trials-x)/(x+1)) * odds
	})
}

// Poisson returns a draw from the Poisson distribution, exact where the mean is at most 64 and by
// the expansion of Cornish and Fisher (1938) to the skewness otherwise.
func Poisson(r interface{ Float64() float64 }, mean float64) float64 {
	z := Normal(r)
	if mean > exactMean {
		return cornishFisher(z, mean, math.Sqrt(mean), 1.0/6)
	}
	if !(mean > 0) {
		return 0
	}
	return smallCount(z, mean, portable.Exp(-mean), math.Inf(1), func(x float64) float64 { return mean / (x + 1) })
}

// cornishFisher returns the rounded quantile at z of a count with the given moments; skew is a
// sixth of the skewness times the standard deviation.
func cornishFisher(z, mean, sd, skew float64) float64 {
	return max(math.Round(mean+float64(z*sd)+float64((float64(z*z)-1)*skew)), 0)
}

// smallCount returns the quantile at z of a count of which 0 has the probability none and x+1 that
// of x times ratio(x).
func smallCount(z, mean, none, most float64, ratio func(x float64) float64) float64 {
	u, term, sum, x := NormalBelow(z), none, none, 0.0
	for sum < u && x < most && (term > 1e-18 || x < mean) {
		term = float64(term * ratio(x))
		x++
		sum += term
	}
	return x
}

// NormalBelow returns the probability that a standard normal variable is below z, to about 1e-16,
// by the series of Marsaglia (2004).
func NormalBelow(z float64) float64 {
	switch {
	case z > 9:
		return 1
	case z < -9:
		return 0
	}
	term, sum, square := z, z, float64(z*z)
	for k := 3.0; math.Abs(term) > 1e-17*math.Abs(sum); k += 2 {
		term = float64(term * (square / k))
		sum += term
	}
	return 0.5 + float64(sum*(portable.Exp(-float64(square/2))/math.Sqrt(2*math.Pi)))
}

// NormalAbove returns the z that a standard normal variable exceeds with probability p, for p in
// (0, 1/2]. Below 1e-12 it is an upper bound that is at most five percent above, from P(Z > z) ≤
// e^(−z²/2)/2.
func NormalAbove(p float64) float64 {
	if p < 1e-12 {
		return math.Sqrt(-float64(2 * portable.Log(2*p)))
	}
	low, high := 0.0, 8.0
	for range 60 {
		if mid := low + float64((high-low)/2); NormalBelow(-mid) > p {
			low = mid
		} else {
			high = mid
		}
	}
	return high
}
