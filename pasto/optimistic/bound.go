package optimistic

import (
	"math"

	"github.com/noregret/noregret/internal/portable"
)

// HalfWidth is the half-width of the confidence interval of a mean of n observations in [0, 1], for
// one of K arms with M metrics:
//
//	√(ln(4·K·M·n²/δ)/(2n))
//
// By Hoeffding's inequality and a union bound over arms, metrics and n, all intervals hold at all
// times with probability at least 1 − δ. It is ½ for n = 0, around the mean ½.
func HalfWidth(arms, metrics int, n, delta float64) float64 {
	if n == 0 {
		return 0.5
	}
	count := float64(4 * float64(arms) * float64(metrics))
	return math.Sqrt(portable.Log(float64(count*float64(n*n))/delta) / (2 * n))
}

// Bound bounds the sum over T rounds of the lengths of the intervals under the mixtures served, for
// metrics in [0, 1] and one observation a round:
//
//	K + 2·√(2·K·T·ln(4·K·M·T²/δ)) + √(T·ln(1/δ)/2)
//
// with probability at least 1 − δ over the draws. So with probability at least 1 − 2δ the
// pseudo-regret of a learner without a safe arm is at most the range of the reward times this, and
// the violation of a guardrail at most its range times this. The first two terms are the sum of the
// lengths at the arms drawn, K for first pulls and the sums of 2·[HalfWidth] over the others, by
// Cauchy's inequality; the last is by Azuma's inequality (Agrawal and Devanur 2014, Lemma 3.1 has
// the same argument). With a safe arm the reward's part is (s + 1)/2 times as large, see
// [Learner.Stretch].
func Bound(arms, metrics, rounds int, delta float64) float64 {
	k, t := float64(arms), float64(rounds)
	ln := portable.Log(float64(4*k*float64(metrics)) * float64(t*t) / delta)
	drawn := k + float64(2*math.Sqrt(float64(2*k*t)*ln))
	return drawn + math.Sqrt(float64(t*portable.Log(1/delta))/2)
}
