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
// for losses g in [0, L]. Negative losses would void the analysis and are refused. [Exp3Bound] is
// the guarantee, on the expected regret against losses that do not depend on the draws. A round
// costs O(log d) and allocates nothing.
type Exp3 struct {
	// Rate is η, and Limit L, from 1e-100 to 1e100.
	Rate, Limit float64
}

func (e Exp3) plan(arms int) (*plan, error) {
	w := &weights{rule: e, unit: 1, tree: newExpTree(arms, e.Rate, 0)}
	return estimates("exp3", fmt.Sprintf(", rate=%v, limit=%v", e.Rate, e.Limit), 0, e.Limit, w),
		checkRate(e.Rate, e.Limit)
}

func (e Exp3) weigh(p, sums []float64, _ float64)            { softmax(p, sums, e.Rate) }
func (e Exp3) credit(sums []float64, c *drawn, loss float64) { creditImportance(sums, c, loss) }

// AnytimeExp3 is [Exp3] with a rate that falls with the rounds t and needs no horizon (Bubeck and
// Cesa-Bianchi 2012, Theorem 3.1):
//
//	η_t = √(ln d/(d·t))/L
//
// [AnytimeExp3Bound] is the guarantee. A round costs O(d) and allocates nothing.
type AnytimeExp3 struct {
	// Limit is L, from 1e-100 to 1e100.
	Limit float64
}

func (e AnytimeExp3) plan(arms int) (*plan, error) {
	scale := math.Sqrt(logArms(arms)/float64(arms)) / e.Limit
	return estimates("exp3-anytime", fmt.Sprintf(", limit=%v", e.Limit), 0, e.Limit,
		&weights{rule: anytime(scale), unit: 1}), checkPositive("limit", e.Limit)
}

// anytime is exponential weights with the rate η_t of this number over √t.
type anytime float64

func (e anytime) weigh(p, sums []float64, t float64) { softmax(p, sums, float64(e)/math.Sqrt(t)) }

func (e anytime) credit(sums []float64, c *drawn, loss float64) { creditImportance(sums, c, loss) }

// checkRate checks the options of rules with a rate on losses in [0, limit].
func checkRate(rate, limit float64) error {
	if err := checkPositive("limit", limit); err != nil {
		return err
	}
	return checkPositive("rate", rate)
}

// logArms is ln d, and ln 2 for one arm, where any positive rate gives the same draws.
func logArms(arms int) float64 { return portable.Log(float64(max(arms, 2))) }

// Exp3Rate is the rate η = √(2·ln d/(d·L²·T)) that minimizes [Exp3Bound] for T rounds with losses
// in [0, limit].
func Exp3Rate(arms, rounds int, limit float64) float64 {
	return math.Sqrt(2*logArms(arms)/(float64(arms)*float64(rounds))) / limit
}

// Exp3Bound bounds the expected regret of [Exp3] with the rate η after T rounds: ln d/η +
// (η/2)·d·L²·T (Orabona 2019, section 10.1.1). It is L·√(2·d·T·ln d) at [Exp3Rate], and 0 for one
// arm.
func Exp3Bound(arms, rounds int, limit, rate float64) float64 {
	if arms == 1 {
		return 0
	}
	dt := float64(float64(arms) * float64(rounds))
	return logArms(arms)/rate + float64(rate/2*float64(dt*float64(limit*limit)))
}

// AnytimeExp3Bound bounds the expected regret of [AnytimeExp3] after T rounds: 2L·√(d·T·ln d)
// (Bubeck and Cesa-Bianchi 2012, Theorem 3.1). It is 0 for one arm.
func AnytimeExp3Bound(arms, rounds int, limit float64) float64 {
	if arms == 1 {
		return 0
	}
	return 2 * limit * math.Sqrt(float64(arms)*float64(rounds)*logArms(arms))
}
