package bandit

import (
	"fmt"
	"math"

	"github.com/noregret/noregret/internal/portable"
)

// Exp3 draws from exponential weights on importance-weighted estimates (Auer, Cesa-Bianchi, Freund
// and Schapire 2002; Orabona 2019, Algorithm 10.2):
//
//	p_i ∝ exp(−η·G̃_i),  G̃_A += g/p_A
//
// for losses g in [0, L]. Negative losses would void the analysis and are refused. The rate is
// fixed, with the guarantee [Exp3Bound], or falls with the rounds t and needs no horizon (Bubeck
// and Cesa-Bianchi 2012, Theorem 3.1):
//
//	η_t = √(ln d/(d·t))/L, with the guarantee [AnytimeExp3Bound]
//
// The guarantees are on the expected regret against losses that do not depend on the draws. A round
// costs O(log d) at the fixed rate, O(d) at the falling one, and allocates nothing. Not safe for
// concurrent use.
type Exp3 struct {
	weighted
	rate  float64
	scale float64 // of the anytime rate, 0 for a fixed one: η_t = scale/√t
}

// NewExp3 returns Exp3 with the fixed rate η on arms with losses in [0, limit]. It returns an error
// of code bad_input if there is no arm, or the rate or the limit is outside [1e-100, 1e100].
func NewExp3(arms int, rate, limit float64) (*Exp3, error) {
	if err := checkPlayer(arms, limit); err != nil {
		return nil, err
	}
	if err := checkPositive("rate", rate); err != nil {
		return nil, err
	}
	e := &Exp3{rate: rate}
	e.setUp(e, arms, 0, limit, fmt.Sprintf("exp3(arms=%d, rate=%v, limit=%v)", arms, rate, limit))
	e.grow(rate, 0)
	return e, nil
}

// NewAnytimeExp3 returns Exp3 with the falling rate on arms with losses in [0, limit]. It returns
// an error of code bad_input if there is no arm, or the limit is outside [1e-100, 1e100].
func NewAnytimeExp3(arms int, limit float64) (*Exp3, error) {
	if err := checkPlayer(arms, limit); err != nil {
		return nil, err
	}
	d := float64(arms)
	e := &Exp3{scale: math.Sqrt(logArms(arms)/d) / limit}
	e.setUp(e, arms, 0, limit, fmt.Sprintf("exp3-anytime(arms=%d, limit=%v)", arms, limit))
	return e, nil
}

// checkPlayer checks the options that all players on bounded losses have.
func checkPlayer(arms int, limit float64) error {
	if err := checkArms(arms); err != nil {
		return err
	}
	return checkPositive("limit", limit)
}

func (e *Exp3) weigh(p, sums []float64, t int) {
	rate := e.rate
	if e.scale > 0 {
		rate = e.scale / math.Sqrt(float64(t))
	}
	softmax(p, sums, rate)
}

func (e *Exp3) credit(sums []float64, c *drawn, loss float64) { creditImportance(sums, c, loss) }

// logArms is ln d, and ln 2 for one arm, where any positive rate gives the same draws.
func logArms(arms int) float64 { return portable.Log(float64(max(arms, 2))) }

// Exp3Rate is the rate η = √(2·ln d/(d·L²·T)) that minimizes [Exp3Bound] for T rounds with losses
// in [0, limit].
func Exp3Rate(arms, rounds int, limit float64) float64 {
	return math.Sqrt(2*logArms(arms)/(float64(arms)*float64(rounds))) / limit
}

// Exp3Bound bounds the expected regret of [Exp3] with the fixed rate η after T rounds: ln d/η +
// (η/2)·d·L²·T (Orabona 2019, section 10.1.1). It is L·√(2·d·T·ln d) at [Exp3Rate], and 0 for one
// arm.
func Exp3Bound(arms, rounds int, limit, rate float64) float64 {
	if arms == 1 {
		return 0
	}
	dt := float64(float64(arms) * float64(rounds))
	return logArms(arms)/rate + float64(rate/2*float64(dt*float64(limit*limit)))
}

// AnytimeExp3Bound bounds the expected regret of [NewAnytimeExp3] after T rounds: 2L·√(d·T·ln d)
// (Bubeck and Cesa-Bianchi 2012, Theorem 3.1). It is 0 for one arm.
func AnytimeExp3Bound(arms, rounds int, limit float64) float64 {
	if arms == 1 {
		return 0
	}
	return 2 * limit * math.Sqrt(float64(arms)*float64(rounds)*logArms(arms))
}
