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
// round costs O(log d) and allocates nothing. Not safe for concurrent use.
type Exp3IX struct {
	weighted
	rate float64
}

// NewExp3IX returns Exp3-IX with the rate η, for losses scaled to [0, 1], on arms with losses in
// [0, limit]. It returns an error of code bad_input if there is no arm, or the rate or the limit is
// outside [1e-100, 1e100].
func NewExp3IX(arms int, rate, limit float64) (*Exp3IX, error) {
	if err := checkPlayer(arms, limit); err != nil {
		return nil, err
	}
	if err := checkPositive("rate", rate); err != nil {
		return nil, err
	}
	e := &Exp3IX{rate: rate}
	e.setUp(e, arms, 0, limit, fmt.Sprintf("exp3-ix(arms=%d, rate=%v, limit=%v)", arms, rate, limit))
	e.unit = limit
	e.grow(rate, 0)
	return e, nil
}

func (e *Exp3IX) weigh(p, sums []float64, _ int) { softmax(p, sums, e.rate) }

func (e *Exp3IX) credit(sums []float64, c *drawn, loss float64) {
	sums[c.Arm] = addEstimate(sums[c.Arm], loss/e.unit/(c.Propensity+float64(e.rate/2)))
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
