package bandit

import (
	"fmt"
	"math"

	"github.com/noregret/noregret/internal/portable"
)

// Exp3IX is [Exp3] with implicit exploration (Neu 2015): the estimates are
//
//	g̃_A = g/(p_A + γ), γ = η/2
//
// for losses scaled to [0, 1]. They are a little too small on average and vary much less, so that
// the regret itself is bounded with high probability, not only its expectation: [Exp3IXBound]. A
// round costs O(log d) and allocates nothing.
type Exp3IX struct {
	// Rate is η, for losses scaled to [0, 1], and the losses are in [0, Limit]; both are from
	// 1e-100 to 1e100.
	Rate, Limit float64
}

func (e Exp3IX) plan(arms int) (*plan, error) {
	w := &weights{rule: e, unit: e.Limit, tree: newExpTree(arms, e.Rate, 0)}
	return estimates("exp3-ix", fmt.Sprintf(", rate=%v, limit=%v", e.Rate, e.Limit), 0, e.Limit, w),
		checkRate(e.Rate, e.Limit)
}

func (e Exp3IX) weigh(p, sums []float64, _ float64) { softmax(p, sums, e.Rate) }

func (e Exp3IX) credit(sums []float64, c *drawn, loss float64) {
	sums[c.Arm] = addEstimate(sums[c.Arm], loss/e.Limit/(c.Propensity+float64(e.Rate/2)))
}

// Exp3IXRate is the rate η = √(2·ln d/(d·T)) for T rounds (Neu 2015, Theorem 1).
func Exp3IXRate(arms, rounds int) float64 { return Exp3Rate(arms, rounds, 1) }

// Exp3IXBound bounds the regret of [Exp3IX] with [Exp3IXRate] after T rounds, with probability at
// least 1 − δ: L·(2·√(2·d·T·ln d) + (√(2·d·T/ln d) + 1)·ln(2/δ)) (Neu 2015, Theorem 1). It is 0 for
// one arm.
func Exp3IXBound(arms, rounds int, limit, delta float64) float64 {
	if arms == 1 {
		return 0
	}
	dt, ln := float64(2*float64(arms)*float64(rounds)), logArms(arms)
	risk := float64((math.Sqrt(dt/ln) + 1) * portable.Log(2/delta))
	return limit * (float64(2*math.Sqrt(dt*ln)) + risk)
}
