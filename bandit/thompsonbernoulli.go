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
// A round costs O(d) comparisons and one draw for each arm that is not far above the best one,
// which are few in the long run. It allocates nothing. Not safe for concurrent use.
type BernoulliThompson struct {
	s      bernoulliState
	best   winner // for distribution
	leader int    // the arm of the lowest posterior mean, the first of several
	means  []float64
	cuts   []float64 // of the arms, NaN before they are computed, see [betaTail]
	floor  float64   // the lowest cut of the others, NaN before it is computed
	thin   *thinning
	ln     float64 // −ln δ of thin
	aside  []int   // for pick
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
	d := b.Arms()
	b.means, b.cuts, b.aside = make([]float64, d), make([]float64, d), make([]int, 0, d)
	for k := range d {
		b.means[k], b.cuts[k] = b.mean(k), math.NaN()
	}
	b.leader, b.floor = b.first(lockstep), math.NaN()
	delta := min(2e-3, 0.05/float64(d))
	b.thin, b.ln = newThinning(delta), -portable.Log(delta)
}

// renewArm computes what depends on the counts of arm k.
func (b *BernoulliThompson) renewArm(k int) {
	last, mean, leader := b.means[k], b.mean(k), b.leader
	b.means[k], b.cuts[k] = mean, math.NaN()
	switch least := b.means[leader]; {
	case k == leader && mean > last:
		b.leader = b.first(lockstep)
	case mean < least || mean == least && k < leader:
		b.leader = k
	}
	if k != leader || b.leader != leader {
		b.floor = math.NaN()
	}
}

// mean is the posterior mean of arm k.
func (b *BernoulliThompson) mean(k int) float64 {
	n := &b.s.Counts[k]
	return float64(1+n[1]) / float64(2+n[0]+n[1])
}

// first returns the allowed arm of the lowest posterior mean, the first of several.
func (b *BernoulliThompson) first(v *view) int {
	arm, least := none, math.Inf(1)
	for k, m := range b.means {
		if m < least && v.allows(k) {
			arm, least = k, m
		}
	}
	return arm
}

// cut is the point where the lower tail of arm k ends.
func (b *BernoulliThompson) cut(k int) float64 {
	if math.IsNaN(b.cuts[k]) {
		n := &b.s.Counts[k]
		b.cuts[k] = newBetaTail(n[1], n[0]).cut(b.ln)
	}
	return b.cuts[k]
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

// pick draws the arm of the lowest draw, see [thinning].
func (b *BernoulliThompson) pick(v *view, r Rand) int {
	if v.allowed == nil && len(b.means) > 1 {
		if math.IsNaN(b.floor) {
			b.floor = math.Inf(1)
			for k := range b.cuts {
				if k != b.leader {
					b.floor = min(b.floor, b.cut(k))
				}
			}
		}
		n := &b.s.Counts[b.leader]
		if newBetaTail(n[0], n[1]).apart(b.floor-b.means[b.leader], b.ln) {
			return b.pickApart(r)
		}
	}
	leader := b.leader
	if !v.allows(leader) {
		leader = b.first(v)
	}
	return b.pickBeside(v, leader, b.draw(leader, r), r)
}

// pickBeside draws the arm of the lowest draw, given that of the leader.
func (b *BernoulliThompson) pickBeside(v *view, leader int, least float64, r Rand) int {
	arm, aside := leader, b.aside[:0]
	for k := range b.cuts {
		if k == leader || !v.allows(k) {
			continue
		}
		if least < b.means[k] && least <= b.cut(k) {
			aside = append(aside, k)
		} else if x := b.draw(k, r); x < least {
			arm, least = k, x
		}
	}
	n := len(aside)
	for i := b.thin.next(n, r); i < n; i += 1 + b.thin.next(n-i-1, r) {
		if x := b.drawTail(aside[i], r); x < least {
			arm, least = aside[i], x
		}
	}
	return arm
}

// pickApart draws the arm of the lowest draw where the tails of the others are above the floor and
// the upper tail of the leader is too. Trial 0 is that of the leader.
func (b *BernoulliThompson) pickApart(r Rand) int {
	leader, others := b.leader, len(b.means)-1
	i := b.thin.next(1+others, r)
	if i == 0 {
		n := &b.s.Counts[leader] // the upper tail is the lower one of 1 less the draw
		if float64(r.Float64()*b.thin.delta) < betaBelow(n[0], n[1], 1-b.floor) {
			return b.pickBeside(lockstep, leader, 1-drawBelow(r, n[0], n[1], 1-b.floor), r)
		}
		i = 1 + b.thin.next(others, r)
	}
	if i > others {
		return leader
	}
	arm, least := leader, b.draw(leader, r)
	for least > b.floor {
		least = b.draw(leader, r)
	}
	for ; i <= others; i += 1 + b.thin.next(others-i, r) {
		k := i - 1
		if k >= leader {
			k++
		}
		if x := b.drawTail(k, r); x < least {
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

// drawTail draws from the posterior of arm k below its cut, given a trial of probability δ. It
// returns +Inf if the draw is above the cut after all, as the mass below is less than δ.
func (b *BernoulliThompson) drawTail(k int, r Rand) float64 {
	n, cut := &b.s.Counts[k], b.cut(k)
	if cut == 0 || float64(r.Float64()*b.thin.delta) >= betaBelow(n[1], n[0], cut) {
		return math.Inf(1)
	}
	return drawBelow(r, n[1], n[0], cut)
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

// lose changes nothing: the posterior is that of the losses that came.
func (b *BernoulliThompson) lose(*drawn, float64) bool { return false }

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

// BernoulliThompsonBound bounds the pseudo-regret of [BernoulliThompson] after T rounds, averaged
// over instances whose means are drawn from its prior, the uniform distribution: √(½·d·T·ln d)
// (Russo and Van Roy 2016, Propositions 1 and 3).
func BernoulliThompsonBound(arms, rounds int) float64 {
	return math.Sqrt(float64(arms) * float64(rounds) * portable.Log(float64(arms)) / 2)
}
