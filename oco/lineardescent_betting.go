package oco

import (
	"fmt"

	"github.com/noregret/noregret/internal/vec"
)

// BettingStep moves every weight to its next bet, for the direction c·x̂ and, in the intercept's
// weight, c·x_b: coordinate i gets the subgradient −c·x̂_i. The weights are the points of
// [ScaleFreeKT] with the initial wealth epsilon, plus those that [LinearDescent.Assign] has set,
// which is a shift of the origin ([Shifted]). There is no step size to choose: neither the size of
// c nor a column's unit matters, and rare columns learn as fast as frequent ones.
//
// There is no ball: use it with a radius of +Inf, and neither with Decay nor with other steps. It
// costs O(nnz) plus the number of centred coordinates. A wealth above 1e299 ends the descent, see
// Diverged.
func (l *LinearDescent) BettingStep(index []uint32, value []float32, c, epsilon float64) {
	for len(l.stakes) < len(l.c) {
		l.stakes = append(l.stakes, Stake{})
	}
	value = value[:len(index)]
	k := 0 // the next centred coordinate
	for j, i := range index {
		for ; k < len(l.centres) && l.centres[k] < i; k++ {
			l.stake(l.centres[k], 0, c, epsilon)
		}
		if k < len(l.centres) && l.centres[k] == i {
			k++
		}
		l.stake(i, float64(value[j]), c, epsilon)
	}
	for ; k < len(l.centres); k++ {
		l.stake(l.centres[k], 0, c, epsilon)
	}
	if l.biasFeature != 0 {
		before := l.biasStake.bet()
		l.biasStake.toss(float64(c*l.biasFeature), epsilon)
		l.bias += l.biasStake.bet() - before
		l.overflown = l.overflown || !l.biasStake.inRange()
	}
}

// stake is the betting step of coordinate i at value x.
func (l *LinearDescent) stake(i uint32, x, c, epsilon float64) {
	k := &l.c[i]
	s := &l.stakes[i]
	before := s.bet()
	s.toss(c*(float64(x*k.inv)-k.mean), epsilon)
	if !s.inRange() {
		l.overflown = true
		return
	}
	l.move(k, (s.bet()-before)/l.scale)
}

// move adds e to v of a coordinate.
func (l *LinearDescent) move(k *coordinate, e float64) {
	v := k.v - float64(l.kappa*k.mean)
	l.norm2 = max(0, l.norm2+float64((2*v+e)*e))
	k.v += e
	se := float64(l.sumScale * e)
	k.u += se
	if k.mean != 0 {
		l.dotV += float64(e * k.mean)
		l.dotU += float64(se * k.mean)
	}
}

// AccumulateRising adds the current iterate to the average with weight k if it is the k-th one that
// it adds since the start, or since the last ResetAverage. The first iterates, from which a learner
// without a learning rate has to find the size of the weights, count for little then. For
// independent examples the average is as good as 2/(k+1) times the expected regret of k rounds:
// that is at most twice the bound of the uniform average, as the k-weighted sum of excess risks is
// k·R_k less the regrets R_1 to R_{k−1} of the rounds before, whose expectations are not negative.
func (l *LinearDescent) AccumulateRising() {
	l.risen++
	l.Accumulate(l.risen)
}

// checkStakes returns an error for stakes that no game leads to.
func (s *LinearDescentState) checkStakes() error {
	if len(s.Stakes) > len(s.V) || !(s.Risen >= 0) || !vec.IsFinite(s.Risen) {
		return fmt.Errorf("%d bettors for %d features, and %v iterates in the average", len(s.Stakes), len(s.V),
			s.Risen)
	}
	for i := range s.Stakes {
		if err := s.Stakes[i].check(); err != nil {
			return err
		}
	}
	return s.BiasStake.check()
}
