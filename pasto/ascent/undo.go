package ascent

import (
	"github.com/noregret/noregret/pasto"
)

// undo holds what is needed to revert a round: the rows that it changes, or all rows if it changes
// all.
type undo struct {
	arms               []int
	sum, base, weight  []float64
	last, count        []int
	scale              float64
	slot               windowRound
	whole              bool
	allSum, allWeights []float64
}

// mark saves what [estimate.add] will change.
func (e *estimate) mark(u *undo, obs []pasto.Observation) {
	s := &e.s
	u.arms, u.sum, u.base, u.weight, u.last, u.count = u.arms[:0], u.sum[:0], u.base[:0], u.weight[:0], u.last[:0],
		u.count[:0]
	for i := range obs {
		u.arms = append(u.arms, obs[i].Arm)
	}
	u.scale, u.whole = s.Scale, false
	switch e.form.form {
	case &formDiscountedIPW:
		u.whole = s.Scale*(1-e.form.param) < leastScale
	case &formWindow:
		n := len(s.Ring)
		u.slot.copy(&s.Ring[s.T%n])
		u.arms = append(u.arms, u.slot.Arms...)
		u.whole = (s.T+1)%n == 0
	}
	if u.whole {
		u.allSum, u.allWeights = append(u.allSum[:0], s.Sum...), append(u.allWeights[:0], s.Weight...)
	}
	for _, k := range u.arms {
		u.sum = append(u.sum, s.Sum[k*e.m:(k+1)*e.m]...)
		u.weight, u.last = append(u.weight, s.Weight[k]), append(u.last, s.Last[k])
		if s.Base != nil {
			u.base = append(u.base, s.Base[k*e.m:(k+1)*e.m]...)
		}
		if s.Count != nil {
			u.count = append(u.count, s.Count[k])
		}
	}
}

// revert undoes the round added since mark.
func (e *estimate) revert(u *undo) {
	s := &e.s
	s.T--
	s.Scale = u.scale
	if u.whole {
		copy(s.Sum, u.allSum)
		copy(s.Weight, u.allWeights)
	}
	for i, k := range u.arms {
		copy(s.Sum[k*e.m:(k+1)*e.m], u.sum[i*e.m:])
		s.Weight[k], s.Last[k] = u.weight[i], u.last[i]
		if s.Base != nil {
			copy(s.Base[k*e.m:(k+1)*e.m], u.base[i*e.m:])
		}
		if s.Count != nil {
			s.Count[k] = u.count[i]
		}
	}
	if e.form.form == &formWindow {
		s.Ring[s.T%len(s.Ring)].copy(&u.slot)
	}
}
