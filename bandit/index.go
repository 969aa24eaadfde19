package bandit

import "math"

// indexed is a player that draws the arm of the lowest index.
type indexed interface {
	Arms() int
	// bonus is what indices depend on besides losses. It rises with t.
	bonus(t int) float64
	// index is that of arm k, which has a loss. It falls as the bonus rises, and of two arms with
	// as many losses that of the lower mean is not higher. If it is above least, any number above
	// least will do.
	index(k int, bonus, least float64) float64
}

// indices finds the arm of the lowest index. With few arms it computes all indices. With many it
// computes one for each number of losses that arms have, see [peers], or leaves out those whose
// bound is too high, see [race].
type indices struct {
	race  race
	peers peers
}

// manyArms is the number of arms from which on [peers] and [race] are faster than computing all
// indices.
const manyArms = 64

// pick returns the arm of round t: the arm without a loss that is due, or the one of the lowest
// index, the first of several.
func (x *indices) pick(p indexed, a *averages, v *view, t int) int {
	if k := a.fresh(v); k != none {
		return k
	}
	if v.allowed == nil && a.unseen == 0 && len(a.p) >= manyArms {
		if !x.peers.ready {
			x.peers.build(a)
		}
		if x.peers.groups <= len(a.p)/16 {
			if t > x.race.until {
				x.race.until = 0 // nothing to keep up to date until the race begins again
			}
			return x.peers.pick(p, p.bonus(t))
		}
		if k := x.race.pick(p, t); k != none {
			return k
		}
	}
	bonus, arm, least := p.bonus(t), none, math.Inf(1)
	for k, n := range a.s.Pulls {
		if n == 0 || !v.allows(k) {
			continue
		}
		if q := p.index(k, bonus, least); arm == none || q < least {
			arm, least = k, q
		}
	}
	return arm
}

// renew forgets everything.
func (x *indices) renew() { *x = indices{} }

// renewArm takes note of a loss of arm k.
func (x *indices) renewArm(p indexed, a *averages, k int) {
	if x.peers.ready {
		x.peers.move(k, a.s.Pulls[k])
	}
	x.race.change(p, k)
}
