package bandit

import (
	"math"

	"github.com/noregret/noregret/internal/portable"
)

// TsallisINFGapBound bounds the expected regret of [TsallisINF] with the importance-weighted
// estimator after T ≥ 1 rounds, if one arm is best in every round by the same expected gaps:
//
//	L·(Σ_i (4·ln T + 16)·L/Δ_i + 64·L/min Δ_i + 10·√d)
//
// with the sum and the minimum over the other arms. So it is for independent losses, and for
// adversaries that keep the gaps. The rate is that of Zimmert and Seldin (2021, Theorem 1), the
// constants are those of the proof in docs/bandits.md. It is +Inf if several arms are best, and 0
// for one arm.
func TsallisINFGapBound(gaps []float64, rounds int, limit float64) float64 {
	if len(gaps) == 1 {
		return 0
	}
	best, inverse, least := 0, 0.0, math.Inf(1)
	for _, g := range gaps {
		if g > 0 {
			inverse += limit / g
			least = min(least, g)
		} else {
			best++
		}
	}
	if best != 1 {
		return math.Inf(1)
	}
	factor := float64(4*portable.Log(float64(rounds))) + 16
	return limit * (float64(factor*inverse) + 64*limit/least + float64(10*math.Sqrt(float64(len(gaps)))))
}
