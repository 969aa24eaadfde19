package bandit

import "math"

// indexRule is a rule that draws the arm of the lowest index.
type indexRule interface {
	// bonus is what the indices of round t depend on besides the losses of their arms. It does not
	// fall as t rises.
	bonus(t float64, arms int) float64
	// index is that of an arm with n > 0 losses of this mean. It falls as the bonus rises, and it
	// does not fall as the mean rises. If it is above least, any number above least will do.
	index(n, mean, bonus, least float64) float64
}

// indexer computes the indices of the arms in a state.
type indexer struct {
	rule indexRule
	s    *state
}

func (x indexer) arms() int           { return len(x.s.Pulls) }
func (x indexer) bonus(t int) float64 { return x.rule.bonus(float64(t), x.arms()) }

func (x indexer) index(k int, bonus, least float64) float64 {
	return x.rule.index(float64(x.s.Pulls[k]), x.s.Means[k], bonus, least)
}

// indices is the method of an [indexRule]. With few arms it computes all indices. With many it
// computes one for each number of losses that arms have, see [peers], or leaves out those whose
// bound is too high, see [race].
type indices struct {
	rule  indexRule
	race  race
	peers peers
}

// manyArms is the number of arms from which on [peers] and [race] are faster than computing all
// indices.
const manyArms = 64

// pick returns the arm of the current round: the arm without a loss that is due, or the one of the
// lowest index, the first of several.
func (x *indices) pick(s *state, v *view) int {
	if k := s.fresh(v); k != none {
		return k
	}
	p, t := indexer{x.rule, s}, s.Rounds+1
	if v.allowed == nil && s.unseen == 0 && p.arms() >= manyArms {
		if !x.peers.ready {
			x.peers.build(s)
		}
		if x.peers.groups <= p.arms()/16 {
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
	for k, n := range s.Pulls {
		if n == 0 || !v.allows(k) {
			continue
		}
		if q := p.index(k, bonus, least); arm == none || q < least {
			arm, least = k, q
		}
	}
	return arm
}

func (x *indices) renew(*state) { *x = indices{rule: x.rule} }

func (x *indices) choose(s *state, c *drawn, v *view, _ Rand) {
	*c = drawn{Arm: x.pick(s, v), Propensity: 1}
}

func (x *indices) distribution(s *state, p []float64, v *view) float64 {
	if s.Pending != none {
		return one(p, s.Pending)
	}
	return one(p, x.pick(s, v))
}

func (x *indices) learn(s *state, c *drawn, _ float64) {
	if x.peers.ready {
		x.peers.move(c.Arm, s.Pulls[c.Arm])
	}
	x.race.change(indexer{x.rule, s}, c.Arm)
}

func (x *indices) valid(*state) bool { return true }
