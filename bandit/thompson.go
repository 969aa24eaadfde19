package bandit

import "math"

// family is a family of posteriors of the arms' mean losses, given the statistics of the arms.
type family interface {
	// posterior returns the mean and the deviation of the posterior of arm k, the latter +Inf if
	// the posterior is flat. flat is whether it is before the first loss.
	posterior(s *state, k int) (mean, deviation float64)
	flat() bool
	draw(s *state, k int, r Rand) float64
	// thinning returns the trials of tails: a tail has at most the probability δ of a trial.
	thinning() *thinning
	// cut is where the lower tail ends, and below draws from there, given that the trial of the arm
	// has succeeded; it returns +Inf if the draw is not there after all.
	cut(s *state, k int) float64
	below(s *state, k int, cut float64, r Rand) float64
	// apart reports whether the draw of arm k is above the floor with a probability of at most δ.
	// Then above draws from its upper tail, given that its trial has succeeded, and under draws
	// from the rest.
	apart(s *state, k int, floor float64) bool
	above(s *state, k int, floor float64, r Rand) (x float64, ok bool)
	under(s *state, k int, floor float64, r Rand) float64
	// reach is an interval that holds all but 1e-16 of the mass, with the deviation.
	reach(s *state, k int) (low, high, deviation float64)
	density(s *state, k int, x float64) float64
	valid(s *state) bool
}

// thompson is the method of Thompson sampling. It needs the arm of the lowest draw, not all draws.
// The draws of arms whose posterior is far above the lowest draw matter only if they are in their
// own lower tail. The events that they are there are independent and of a small probability, so
// that one number from the source decides which of them come next, and almost always there is none.
// Where a draw is in its tail, it is drawn from there. The law of the winner is the same as with a
// draw for each arm.
//
// The leader is the arm of the lowest posterior mean. If the tails of all other arms begin above
// the upper tail of the leader, then that tail is one more such event, and without an event the
// leader wins: a round then takes one number from the source and costs O(1).
type thompson struct {
	family family
	thin   *thinning
	means  []float64 // of the posteriors, +Inf for a flat one
	cuts   []float64 // NaN before they are computed
	leader int       // the arm of the lowest mean, the first of several
	floor  float64   // the lowest cut of the others, NaN before it is computed
	best   winner    // for distribution
	aside  []int     // for pick
}

func (t *thompson) renew(s *state) {
	d := len(s.Pulls)
	for !t.family.flat() && len(s.Sums) < d {
		s.Sums = append(s.Sums, 0)
	}
	t.thin, t.floor = t.family.thinning(), math.NaN()
	t.means, t.cuts, t.aside = make([]float64, d), make([]float64, d), make([]int, 0, d)
	for k := range d {
		t.means[k], t.cuts[k] = t.mean(s, k), math.NaN()
	}
	t.leader = max(t.first(lockstep), 0)
}

// mean is the mean of the posterior of arm k, +Inf for a flat one.
func (t *thompson) mean(s *state, k int) float64 {
	mean, deviation := t.family.posterior(s, k)
	if math.IsInf(deviation, 1) {
		return math.Inf(1)
	}
	return mean
}

func (t *thompson) learn(s *state, c *drawn, loss float64) {
	k := c.Arm
	if s.Sums != nil {
		s.Sums[k] += loss
	}
	last, mean, leader := t.means[k], t.mean(s, k), t.leader
	t.means[k], t.cuts[k] = mean, math.NaN()
	switch least := t.means[leader]; {
	case k == leader && mean > last:
		t.leader = t.first(lockstep)
	case mean < least || mean == least && k < leader:
		t.leader = k
	}
	if k != leader || t.leader != leader {
		t.floor = math.NaN()
	}
}

// first returns the allowed arm of the lowest mean, the first of several, none if all are flat.
func (t *thompson) first(v *view) int {
	arm, least := none, math.Inf(1)
	for k, m := range t.means {
		if m < least && v.allows(k) {
			arm, least = k, m
		}
	}
	return arm
}

// cut is the point where the lower tail of arm k ends.
func (t *thompson) cut(s *state, k int) float64 {
	if math.IsNaN(t.cuts[k]) {
		t.cuts[k] = t.family.cut(s, k)
	}
	return t.cuts[k]
}

// certainly returns the arm that is drawn with certainty, none if the draw is random.
func (t *thompson) certainly(s *state, v *view) int {
	if t.family.flat() {
		return s.fresh(v)
	}
	return none
}

// pick draws the arm of the lowest draw.
func (t *thompson) pick(s *state, v *view, r Rand) int {
	if k := t.certainly(s, v); k != none {
		return k
	}
	if v.allowed == nil && len(t.means) > 1 && !(t.family.flat() && s.unseen > 0) {
		if math.IsNaN(t.floor) {
			t.floor = math.Inf(1)
			for k := range t.cuts {
				if k != t.leader {
					t.floor = min(t.floor, t.cut(s, k))
				}
			}
		}
		if t.family.apart(s, t.leader, t.floor) {
			return t.pickApart(s, r)
		}
	}
	leader := t.leader
	if !v.allows(leader) || math.IsInf(t.means[leader], 1) {
		leader = t.first(v)
	}
	return t.pickBeside(s, v, leader, t.family.draw(s, leader, r), r)
}

// pickBeside draws the arm of the lowest draw, given that of the leader.
func (t *thompson) pickBeside(s *state, v *view, leader int, least float64, r Rand) int {
	arm, aside := leader, t.aside[:0]
	for k, mean := range t.means {
		switch {
		case k == leader || !v.allows(k) || math.IsInf(mean, 1):
		case least < mean && least <= t.cut(s, k):
			aside = append(aside, k)
		default:
			if x := t.family.draw(s, k, r); x < least {
				arm, least = k, x
			}
		}
	}
	n := len(aside)
	for i := t.thin.next(n, r); i < n; i += 1 + t.thin.next(n-i-1, r) {
		k := aside[i]
		if x := t.family.below(s, k, t.cut(s, k), r); x < least {
			arm, least = k, x
		}
	}
	return arm
}

// pickApart draws the arm of the lowest draw where the tails of the others are above the floor and
// the upper tail of the leader is too. Trial 0 is that of the leader.
func (t *thompson) pickApart(s *state, r Rand) int {
	leader, others := t.leader, len(t.means)-1
	i := t.thin.next(1+others, r)
	if i == 0 {
		if x, ok := t.family.above(s, leader, t.floor, r); ok {
			return t.pickBeside(s, lockstep, leader, x, r)
		}
		i = 1 + t.thin.next(others, r)
	}
	if i > others {
		return leader
	}
	arm, least := leader, t.family.under(s, leader, t.floor, r)
	for ; i <= others; i += 1 + t.thin.next(others-i, r) {
		k := i - 1
		if k >= leader {
			k++
		}
		if x := t.family.below(s, k, t.cut(s, k), r); x < least {
			arm, least = k, x
		}
	}
	return arm
}

func (t *thompson) choose(s *state, c *drawn, v *view, r Rand) {
	*c = drawn{Arm: t.pick(s, v, r), Propensity: math.NaN()}
}

// distribution integrates the densities of the posteriors, see [winner].
func (t *thompson) distribution(s *state, p []float64, v *view) float64 {
	if k := t.certainly(s, v); k != none {
		return one(p, k)
	}
	clear(p)
	t.best.reset()
	for k, mean := range t.means {
		if v.allows(k) && !math.IsInf(mean, 1) {
			low, high, deviation := t.family.reach(s, k)
			t.best.add(k, low, high, deviation)
		}
	}
	return t.best.probabilities(p, func(k int, x float64) float64 { return t.family.density(s, k, x) })
}

func (t *thompson) valid(s *state) bool { return t.family.valid(s) }
