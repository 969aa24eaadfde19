package bandit

import (
	"math"

	"github.com/noregret/noregret/internal/portable"
)

// UCBWidth is the number of standard errors that UCB with an estimated variance adds to a score in
// round t ≥ 1 of a choice among K arms: ½·√(2·ln(K·t²)).
func UCBWidth(arms, t int) float64 {
	return math.Sqrt(float64(2*portable.Log(float64(arms)*float64(float64(t)*float64(t))))) / 2
}

// EliminationWidth is the half-width of the confidence interval of an arm, in standard errors,
// after n observations of it in a choice among K arms: √(2·ln(4K·n²/0.05)). For normal rewards of
// known variance all intervals hold at all times with probability at least 0.95, by a union bound
// over arms and n, and then the best arm is never eliminated.
func EliminationWidth(arms int, n float64) float64 {
	return math.Sqrt(float64(2 * portable.Log(80*float64(arms)*float64(n*n))))
}

// Eliminate removes from in the arms whose interval score ± width is wholly below that of another
// arm that is in. At least one stays. O(K).
func Eliminate(in []bool, score, width []float64) {
	lower := math.Inf(-1)
	for k, ok := range in {
		if ok {
			lower = max(lower, score[k]-width[k])
		}
	}
	for k, ok := range in {
		in[k] = ok && !(score[k]+width[k] < lower)
	}
}
