package bandit

import (
	"fmt"
	"math"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/portable"
	"github.com/noregret/noregret/internal/snapshot"
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
// A round costs O(d) comparisons and one draw for each arm that is not far above the best one, which
// are few in the long run. It allocates nothing. Not safe for concurrent use.
type BernoulliThompson struct {
	s      bernoulliState
	best   winner // for distribution
	leader int    // the arm of the lowest posterior mean, the first of several
	arms   []betaArm
	aside  []int // for pick
}

// betaArm is what pick needs to know of a posterior, a function of the arm's counts.
type betaArm struct {
	mean float64
	// cut is a point with little mass below, 0 if there is none of use, and NaN before it is
	// computed. A draw is below it with the probability below.
	cut, below float64
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
	b := &BernoulliThompson{s: bernoulliState{Pending: none, Counts: make([][2]int, arms)}}
	b.renew()
	return b
}

// renew computes what depends on the counts.
func (b *BernoulliThompson) renew() {
	b.arms, b.leader = make([]betaArm, b.Arms()), 0
	b.aside = make([]int, 0, b.Arms())
	for k := range b.arms {
		b.renewArm(k)
	}
}

// renewArm computes what depends on the counts of arm k.
func (b *BernoulliThompson) renewArm(k int) {
	n, last := b.s.Counts[k], b.arms[k].mean
	mean := float64(1+n[1]) / float64(2+n[0]+n[1])
	b.arms[k] = betaArm{mean: mean, cut: math.NaN()}
	switch least := b.arms[b.leader].mean; {
	case k == b.leader && mean > last:
		b.leader = b.first(lockstep)
	case mean < least || mean == least && k < b.leader:
		b.leader = k
	}
}

// first returns the allowed arm of the lowest posterior mean, the first of several.
func (b *BernoulliThompson) first(v *view) int {
	arm, least := none, math.Inf(1)
	for k := range b.arms {
		if m := b.arms[k].mean; m < least && v.allows(k) {
			arm, least = k, m
		}
	}
	return arm
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

// betaDelta bounds the mass below the cut of an arm.
const betaDelta = 1e-4

// lnBetaDelta is −ln betaDelta.
const lnBetaDelta = 9.2103403719761827361

var betaThinning = newThinning(betaDelta)

// pick draws the arm of the lowest draw, see [thinning].
func (b *BernoulliThompson) pick(v *view, r Rand) int {
	leader := b.leader
	if !v.allows(leader) {
		leader = b.first(v)
	}
	arm, least := leader, b.draw(leader, r)
	aside := b.aside[:0]
	for k := range b.arms {
		if least <= b.arms[k].cut && k != leader && v.allows(k) {
			aside = append(aside, k)
		} else if k != leader && v.allows(k) {
			if b.apart(k, least) {
				aside = append(aside, k)
			} else if x := b.draw(k, r); x < least {
				arm, least = k, x
			}
		}
	}
	for i := betaThinning.next(len(aside), r); i < len(aside); i += 1 + betaThinning.next(len(aside)-i-1, r) {
		k := aside[i]
		if float64(r.Float64()*betaDelta) >= b.arms[k].below {
			continue
		}
		if x := b.drawBelow(k, r); x < least {
			arm, least = k, x
		}
	}
	return arm
}

// draw draws from the posterior of arm k.
func (b *BernoulliThompson) draw(k int, r Rand) float64 {
	n := &b.s.Counts[k]
	return beta(r, float64(1+n[1]), float64(1+n[0]))
}

// apart reports whether x is at or below the cut of arm k, which it computes if x is more than
// three standard deviations below the mean.
func (b *BernoulliThompson) apart(k int, x float64) bool {
	a := &b.arms[k]
	if !math.IsNaN(a.cut) {
		return false // the caller has compared
	}
	n := b.s.Counts[k]
	variance := float64(a.mean*(1-a.mean)) / float64(3+n[0]+n[1])
	if d := a.mean - x; d < 0 || float64(d*d) < 9*variance {
		return false
	}
	a.cut, a.below = betaCut(n[1], n[0])
	return x <= a.cut
}

// drawBelow draws from the posterior of arm k below its cut. The logarithm of the density is
// concave, so that the density is below the exponential function that touches it at the cut: a draw
// from that is accepted with the ratio of the two.
func (b *BernoulliThompson) drawBelow(k int, r Rand) float64 {
	n, cut := b.s.Counts[k], b.arms[k].cut
	p, q := float64(n[1]), float64(n[0])
	slope := p/cut - q/(1-cut)
	for {
		step := exponential(r) / slope
		x := cut - step
		if !(x > 0) {
			continue
		}
		ln := float64(p*portable.Log1p(-step/cut)) + float64(q*portable.Log1p(step/(1-cut)))
		if -exponential(r) <= ln+float64(slope*step) {
			return x
		}
	}
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
	b.renewArm(arm)
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
	b.renew()
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
	b.renew()
	return nil
}
