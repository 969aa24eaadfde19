package bandit

import (
	"math"

	"github.com/noregret/noregret/internal/portable"
)

// Rule is a way to choose the arms to serve.
type Rule int

const (
	// Elimination is successive elimination (Even-Dar, Mannor and Mansour 2006): the remaining arms
	// get equal shares, and an arm leaves when its upper confidence bound is below the best lower
	// one.
	Elimination Rule = iota
	// UCB serves the arm of the largest upper confidence bound.
	UCB
	// Thompson serves each arm with the share of [ThompsonDraws] samples in which it is the best.
	// The samples are drawn at the end of each round, so that the propensities are known before it.
	Thompson
)

// ThompsonDraws is the number of samples that [Thompson] draws for a round.
const ThompsonDraws = 16

// String is "elimination", "ucb" or "thompson".
func (r Rule) String() string {
	switch r {
	case Elimination:
		return "elimination"
	case UCB:
		return "ucb"
	case Thompson:
		return "thompson"
	}
	return "unknown"
}

// EliminationWidth is the half-width of the confidence interval of an arm, in standard errors,
// after n observations of it in a choice among K arms: √(2·ln(4K·n²/0.05)). For normal rewards of
// known variance all intervals hold at all times with probability at least 0.95, by a union bound
// over arms and n, and then the best arm is never eliminated.
func EliminationWidth(arms int, n float64) float64 {
	return math.Sqrt(float64(2 * portable.Log(80*float64(arms)*float64(n*n))))
}

// UCBWidth is the number of standard errors that [UCB] adds to a score in round t ≥ 1 of a choice
// among K arms: ½·√(2·ln(K·t²)).
func UCBWidth(arms, t int) float64 {
	return math.Sqrt(float64(2*portable.Log(float64(arms)*float64(float64(t)*float64(t))))) / 2
}
