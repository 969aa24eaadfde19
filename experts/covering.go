package experts

import (
	"math"
	"math/bits"

	"github.com/noregret/noregret"
)

// Covering is the geometric covering of the rounds t = 1, 2, ... by intervals [i·2^j, (i+1)·2^j), i
// ≥ 1 and j ≥ 0 (Daniely, Gonen and Shalev-Shwartz, "Strongly adaptive online learning", ICML
// 2015). One interval of each length up to t runs in round t, ⌊log₂t⌋ + 1 in all, and every
// interval of rounds is a sequence of intervals of the covering, of at most two of each length. So
// learners that each begin with an interval, and sleep outside it, together cover any stretch of
// rounds.
//
// Its elements are the members of the intervals that run, that of length 2^j at j. Begin keeps it.
type Covering[M any] []M

// Begin begins round t: the intervals that begin with it take the places of those that end. Its
// function makes the member of the interval of length 2^j; old is the one that ends, nil for the
// first of this length. An error ends it, and leaves members that were made before.
//
// Rounds must be begun in order, from t = 1. A round costs O(log t).
func (c *Covering[M]) Begin(t int, make func(j int, old *M) (M, error)) error {
	for j := range Begun(t) {
		var old *M
		if j < len(*c) {
			old = &(*c)[j]
		}
		m, err := make(j, old)
		if err != nil {
			return err
		}
		if old == nil {
			*c = append(*c, m)
		} else {
			*old = m
		}
	}
	return nil
}

// Begun returns the number of intervals that begin with round t ≥ 1: those of lengths 1, 2, 4, ...
// that divide t.
func Begun(t int) int { return bits.TrailingZeros(uint(t)) + 1 }

// Running returns the number of intervals that run in round t ≥ 0: ⌊log₂t⌋ + 1, and 0 before round
// 1.
func Running(t int) int { return bits.Len(uint(t)) }

// BegunAt returns the first round of the interval of length 2^j that runs in round t.
func BegunAt(t, j int) int { return t >> j << j }

// Coin is the bettor of a sleeping expert: it bets on what its learner gains over the mixture of
// all (Jun, Orabona, Wright and Willett, "Improved strongly adaptive online learning using coin
// betting", AISTATS 2017). After n rounds in which it was awake it bets the fraction Sum/(n+1) of
// its wealth, that of Krichevsky and Trofimov. Experts are mixed with weights in proportion to
// their bets, times their priors if they differ. An expert of prior p that has been awake for n
// rounds then has a regret of order √(n·ln(n/p)) at most.
type Coin struct {
	Count  int     // rounds awake
	Sum    float64 // of the gains
	Wealth float64 // 1 + Σ gain·bet
}

// NewCoin returns a bettor with a wealth of 1.
func NewCoin() Coin { return Coin{Wealth: 1} }

// Bet is the weight of the expert in the mixture, 0 if it bets against its learner.
func (c *Coin) Bet() float64 { return max(c.bet(), 0) }

func (c *Coin) bet() float64 { return c.Sum / float64(c.Count+1) * c.Wealth }

// Toss ends a round in which the mixture lost by gain more than the learner, in [−1, 1]. A bettor
// that bets nothing or against its learner counts gains only.
func (c *Coin) Toss(gain float64) {
	bet := c.bet()
	if bet <= 0 {
		gain = max(gain, 0)
	}
	c.Wealth += float64(gain * bet)
	c.Sum += gain
	c.Count++
}

// Check returns an error of code bad_input unless the numbers are finite and the count is not
// negative.
func (c *Coin) Check() error {
	if c.Count < 0 || !(math.Abs(c.Sum) <= math.MaxFloat64) || !(math.Abs(c.Wealth) <= math.MaxFloat64) {
		return noregret.BadInputf("coin", "%+v: want finite numbers", *c)
	}
	return nil
}
