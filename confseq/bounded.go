package confseq

import (
	"math"

	"github.com/noregret/noregret/internal/portable"
)

// The confidence sequence of observations in [0, 1] depends on their number, mean and second moment
// alone, so it is the same for units and for sums, in any order and in any batches. It is exact,
// for every sample size and distribution. Let each observation X have the mean μ given the past.
// Then for each λ below
//
//	exp(λ·ΣX − n·ln(1 − μ + μ·e^λ))        λ > 0      (Hoeffding 1963: e^(λx) is convex)
//	exp(λ·Σ(X−μ) − (−ln(1−λ)−λ)·Σ(X−μ)²)   0 ≤ λ < 1  (Fan, Grama and Liu 2015; Howard,
//	                                       Ramdas, McAuliffe and Sekhon 2021, theorem 4)
//
// are supermartingales that begin at 1, and by Ville's inequality each ever reaches 4/(α·w) with
// probability at most α·w/4. The values of λ are powers of two with weights w that sum to 1; the
// two kinds and the two sides (1 − X for the upper one) have a quarter of α each. Every μ at which
// one has reached its bound is excluded. The first kind is the tight one for observations that are
// 0 or 1, the second for those of small variance. In the second Σ(X−μ)² = M2 + n·(mean−μ)²: so the
// sums suffice, without the single observations.

// lambdas is the number of values of λ: top, top/2, top/4, ...
const lambdas = 26

// rate is a value of λ with the functions of λ that the bounds need.
type rate struct {
	lambda float64
	cost   float64 // ln(4/w)
	psi    float64 // −ln(1−λ)−λ
	expm1  float64 // e^λ − 1
}

// sharpRates are for the first kind and flatRates for the second. With λ ≤ 1/2 the second kind
// rejects every μ beyond the first that it rejects.
var sharpRates, flatRates = rates(4), rates(0.5)

func rates(top float64) (out [lambdas]rate) {
	total := 0.0
	for j := range out {
		total += 1 / float64(j+2)
	}
	for j := range out {
		l := math.Ldexp(top, -j)
		out[j] = rate{lambda: l, cost: portable.Log(float64(4 * total * float64(j+2))), expm1: expm1(l)}
		if l < 1 {
			out[j].psi = psi(l)
		}
	}
	return out
}

// psi is −ln(1−λ)−λ, without the cancellation for small λ.
func psi(l float64) float64 {
	if l > 1.0/16 {
		return -portable.Log(1-l) - l
	}
	sum := 0.0
	for k := 16; k >= 2; k-- {
		sum = float64(l*sum) + 1/float64(k)
	}
	return float64(l * float64(l*sum))
}

// expm1 is e^x − 1, without the cancellation for small x.
func expm1(x float64) float64 {
	if math.Abs(x) > 1.0/16 {
		return portable.Exp(x) - 1
	}
	sum := 0.0
	for k := 12; k >= 1; k-- {
		sum = float64((1 + sum) * (x / float64(k)))
	}
	return sum
}

// lowerBound is the lower end of the sequence for n observations in [0, 1] with a mean and a sum of
// squared deviations from it. logAlpha is ln α.
func lowerBound(n, mean, m2, logAlpha float64) float64 {
	low := 0.0
	for j := range sharpRates {
		r := &sharpRates[j]
		if e := float64(r.lambda*mean) - (r.cost-logAlpha)/n; e > 0 {
			low = max(low, expm1(e)/r.expm1)
		}
	}
	for j := range flatRates {
		// The first root d of ψ·n·d² − λ·n·d + ψ·M2 + ln(4/(αw)) = 0.
		r := &flatRates[j]
		c, b := float64(r.psi*m2)/n+(r.cost-logAlpha)/n, r.lambda
		if disc := float64(b*b) - float64(4*r.psi*c); disc >= 0 {
			low = max(low, mean-2*c/(b+math.Sqrt(disc)))
		}
	}
	return min(low, mean)
}

// boundedInterval is the sequence for observations in [low, high], both finite.
func boundedInterval(s *Sequence, alpha, low, high float64) (from, to float64) {
	if s.N == 0 {
		return low, high
	}
	n, width := float64(s.N), high-low
	mean := min(max((s.Mean-low)/width, 0), 1)
	m2, l := s.M2/width/width, portable.Log(alpha)
	from = low + float64(width*lowerBound(n, mean, m2, l))
	to = high - float64(width*lowerBound(n, 1-mean, m2, l))
	return max(from, low), min(to, high)
}
