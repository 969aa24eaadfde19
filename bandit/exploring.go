package bandit

import (
	"fmt"
	"math"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/portable"
)

// ExploringOptions are the parameters of [NewExploringWeights].
type ExploringOptions struct {
	// Rate is η, from 1e-100 to 1e100.
	Rate float64
	// Explore is α in (0, 1], the share of uniform draws.
	Explore float64
	// Limit is L, from 1e-100 to 1e100: the losses are in [0, L], or in [−L, L] if Signed.
	Limit  float64
	Signed bool
}

// ExploringWeights draws from exponential weights mixed with the uniform distribution (Orabona
// 2019, Algorithm 10.1):
//
//	x_i ∝ exp(−η·G̃_i),  x̃ = (1 − α)·x + α/d,  G̃_A += g/x̃_A for A ~ x̃
//
// Its regret grows with T^(2/3), that of [Exp3] only with √T; but it admits losses of either sign.
// [ExploringBound] is its guarantee. A round costs O(log d) and allocates nothing. Not safe for
// concurrent use.
type ExploringWeights struct {
	weighted
	options ExploringOptions
}

// NewExploringWeights returns exponential weights with exploration. It returns an error of code
// bad_input if there is no arm or an option is out of range.
func NewExploringWeights(arms int, o ExploringOptions) (*ExploringWeights, error) {
	if err := checkPlayer(arms, o.Limit); err != nil {
		return nil, err
	}
	if err := checkPositive("rate", o.Rate); err != nil {
		return nil, err
	}
	if !(o.Explore > 0 && o.Explore <= 1) {
		return nil, noregret.BadInputf("explore", "%v: want a share above 0, at most 1", o.Explore)
	}
	e, low := &ExploringWeights{options: o}, 0.0
	if o.Signed {
		low = -o.Limit
	}
	e.setUp(e, arms, low, o.Limit, fmt.Sprintf("exploring-weights(arms=%d, rate=%v, explore=%v, limit=%v, signed=%v)",
		arms, o.Rate, o.Explore, o.Limit, o.Signed))
	e.grow(o.Rate, o.Explore)
	return e, nil
}

func (e *ExploringWeights) weigh(p, sums []float64, _ int) {
	softmax(p, sums, e.options.Rate)
	uniform := e.options.Explore / float64(len(p))
	for i := range p {
		p[i] = float64((1-e.options.Explore)*p[i]) + uniform
	}
}

func (e *ExploringWeights) credit(sums []float64, c *drawn, loss float64) {
	creditImportance(sums, c, loss)
}

// ExploringTuning returns the rate and the share of exploration that minimize [ExploringBound] for
// T rounds:
//
//	η = (√2·ln d/(d·L^{3/2}·T))^{2/3}, α = d·√(η·L/2)      for losses in [0, L],
//	η = (ln d/(d·L^{3/2}·T))^{2/3},    α = (d/2)·√(η·L)     for losses in [−L, L],
//
// with α at most 1.
func ExploringTuning(arms, rounds int, limit float64, signed bool) ExploringOptions {
	d := float64(arms)
	x := logArms(arms) / (d * float64(rounds))
	if !signed {
		x *= math.Sqrt2
	}
	scaled := portable.Pow(x, 2.0/3) // η·L
	explore := d / 2 * math.Sqrt(scaled)
	if !signed {
		explore *= math.Sqrt2
	}
	return ExploringOptions{Rate: scaled / limit, Explore: min(explore, 1), Limit: limit, Signed: signed}
}

// ExploringBound bounds the expected regret of [ExploringWeights] after T rounds:
//
//	ln d/η + η·d²·L²·T/(2α) + b·α·L·T
//
// with b = 1 for losses in [0, L] and b = 2 for losses in [−L, L], the largest loss of a uniform
// draw against any other (Orabona 2019, section 10.1, where b = 1 for both). It is 0 for one arm.
func ExploringBound(arms, rounds int, o ExploringOptions) float64 {
	if arms == 1 {
		return 0
	}
	d, t, bias := float64(arms), float64(rounds), 1.0
	if o.Signed {
		bias = 2
	}
	dl := float64(d * o.Limit)
	variance := float64(float64(o.Rate*float64(dl*dl)) * t / (2 * o.Explore))
	return logArms(arms)/o.Rate + variance + float64(bias*o.Explore*float64(o.Limit*t))
}
