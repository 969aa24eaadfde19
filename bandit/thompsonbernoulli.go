package bandit

import (
	"fmt"
	"math"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/portable"
	"github.com/noregret/noregret/internal/snapshot"
	"github.com/noregret/noregret/internal/stat"
)

// BernoulliThompson is Thompson sampling for losses of 0 or 1 (Thompson 1933; Agrawal and Goyal
// 2013): the arm is the lowest of one draw for each arm from the posterior of its mean loss,
//
//	Beta(1 + n₁, 1 + n₀)
//
// after n₁ losses of 1 and n₀ of 0. So arms are pulled with the probability that they are best,
// which has no closed form: [Delayed] computes it by quadrature. For every ε > 0 the pseudo-regret
// is at most (1 + ε)·Σ Δ_i·ln T/kl(μ_i, μ⋆) + O(d/ε²), so that it attains [BernoulliLowerBound] as
// T grows. For losses in between draw 1 with the loss as its probability.
//
// A round costs O(d) and allocates nothing. Not safe for concurrent use.
type BernoulliThompson struct {
	s    bernoulliState
	best winner // for distribution
}

type bernoulliState struct {
	Rounds  int
	Pending int
	Counts  [][2]int // of losses of 0 and of 1
}

// NewBernoulliThompson returns Thompson sampling for losses of 0 or 1. It returns an error of code
// bad_input if there is no arm.
func NewBernoulliThompson(arms int) (*BernoulliThompson, error) {
	if err := checkArms(arms); err != nil {
		return nil, err
	}
	return newBernoulliThompson(arms), nil
}

func newBernoulliThompson(arms int) *BernoulliThompson {
	return &BernoulliThompson{s: bernoulliState{Pending: none, Counts: make([][2]int, arms)}}
}

// Arms is the number of arms.
func (b *BernoulliThompson) Arms() int { return len(b.s.Counts) }

// Rounds is the number of finished rounds.
func (b *BernoulliThompson) Rounds() int { return b.s.Rounds }

// Counts returns the numbers of losses of 0 and of 1 of arm k.
func (b *BernoulliThompson) Counts(k int) (zeros, ones int) {
	return b.s.Counts[k][0], b.s.Counts[k][1]
}

// Draw chooses the arm of the round, see [Player].
func (b *BernoulliThompson) Draw(r Rand) int {
	if b.s.Pending == none {
		b.s.Pending = b.pick(lockstep, r)
	}
	return b.s.Pending
}

func (b *BernoulliThompson) pick(v *view, r Rand) int {
	arm, least := none, math.Inf(1)
	for k, n := range b.s.Counts {
		if !v.allows(k) {
			continue
		}
		if x := beta(r, float64(1+n[1]), float64(1+n[0])); x < least {
			arm, least = k, x
		}
	}
	return arm
}

// Update ends the round, see [Player]. The loss is 0 or 1.
func (b *BernoulliThompson) Update(arm int, loss float64) error {
	if err := checkTurn(arm, b.s.Pending); err != nil {
		return err
	}
	return b.credit(arm, loss)
}

// credit adds a loss of an arm and ends the round.
func (b *BernoulliThompson) credit(arm int, loss float64) error {
	if loss != 0 && loss != 1 {
		return noregret.BadInputf("loss", "%v of arm %d in round %d: want 0 or 1", loss, arm, b.s.Rounds+1)
	}
	b.s.Counts[arm][int(loss)]++
	b.s.Rounds++
	b.s.Pending = none
	return nil
}

func (b *BernoulliThompson) pendingArm() int { return b.s.Pending }

func (b *BernoulliThompson) choose(c *drawn, v *view, r Rand) {
	*c = drawn{Arm: b.pick(v, r), Propensity: math.NaN()}
}

// distribution integrates the densities of the posteriors, see [winner].
func (b *BernoulliThompson) distribution(p []float64, v *view) float64 {
	clear(p)
	q := &b.best
	q.reset()
	for k, n := range b.s.Counts {
		if v.allows(k) {
			low, high, deviation := betaReach(n[1], n[0])
			q.add(k, low, high, deviation)
		}
	}
	return q.probabilities(p, func(k int, x float64) float64 {
		n := b.s.Counts[k]
		return betaDensity(n[1], n[0], x)
	})
}

func (b *BernoulliThompson) learn(c *drawn, loss float64) error { return b.credit(c.Arm, loss) }

func (b *BernoulliThompson) add() error {
	b.s.Counts = append(b.s.Counts, [2]int{})
	return nil
}

func (b *BernoulliThompson) renewed(arms int) core { return newBernoulliThompson(arms) }

// String describes the player and its options in one line.
func (b *BernoulliThompson) String() string {
	return fmt.Sprintf("thompson-bernoulli(arms=%d)", b.Arms())
}

// MarshalBinary returns a snapshot, see [Player].
func (b *BernoulliThompson) MarshalBinary() ([]byte, error) {
	return snapshot.Seal(playerMagic, b.String(), &b.s)
}

// UnmarshalBinary restores a snapshot. It returns an error of code bad_input, and changes nothing,
// if the snapshot is damaged or was taken from a player with other options.
func (b *BernoulliThompson) UnmarshalBinary(data []byte) error {
	var s bernoulliState
	if err := snapshot.Open(data, playerMagic, b.String(), &s); err != nil {
		return err
	}
	ok, total := len(s.Counts) == b.Arms() && s.Pending >= none && s.Pending < b.Arms(), 0
	for _, n := range s.Counts {
		for _, c := range n {
			ok = ok && c >= 0 && c <= s.Rounds-total
			total += c
		}
	}
	if !ok || total != s.Rounds {
		return snapshot.Bad("damaged: the parts do not fit %d arms", b.Arms())
	}
	b.s = s
	return nil
}

// beta draws from the Beta distribution with a, b ≥ 1.
func beta(r Rand, a, b float64) float64 {
	x := gamma(r, a)
	return x / (x + gamma(r, b))
}

// gamma draws from the Gamma distribution of shape a ≥ 1, by the method of Marsaglia and Tsang
// (2000): d·v with v = (1 + z/√(9d))³, d = a − 1/3 and z normal is accepted with the probability
// that makes it exact, 0.95 or more.
func gamma(r Rand, a float64) float64 {
	d := a - 1.0/3
	c := 1 / math.Sqrt(9*d)
	for {
		z := stat.Normal(r)
		v := 1 + float64(c*z)
		if v <= 0 {
			continue
		}
		v = float64(v * float64(v*v))
		u := r.Float64()
		half := float64(0.5 * float64(z*z))
		if u == 0 || portable.Log(u) < half+float64(d*(1-v+portable.Log(v))) {
			return float64(d * v)
		}
	}
}
