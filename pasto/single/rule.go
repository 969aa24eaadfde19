package single

import (
	"math"
	"slices"

	"github.com/noregret/noregret/bandit"
)

// Rule is a way to choose the arms to serve by their scores.
type Rule int

const (
	// Elimination is successive elimination (Even-Dar, Mannor and Mansour 2006), see
	// bandit.Eliminate: the arms that are left get equal shares.
	Elimination Rule = iota
	// UCB serves the arm of the largest upper confidence bound, see bandit.UCBWidth.
	UCB
	// Thompson serves each arm with the share of 16 samples in which it is the best. The samples
	// are drawn at the end of each round, so that the propensities are known before it.
	Thompson
)

// samples is the number that [Thompson] draws for a round.
const samples = 16

// update computes what is served and deployed in the next round. Arms without an observation come
// first, and all arms get equal shares until the variance has an estimate.
func (l *Learner) update() {
	s, fresh, arm := &l.s, 0, -1
	for k, active := range s.Active {
		switch {
		case !active:
		case s.Count[k] == 0:
			fresh++
		default:
			l.score[k] = l.objective.Value(l.mean(k))
			if s.In[k] && (arm < 0 || l.score[k] > l.score[arm]) {
				arm = k
			}
		}
	}
	if arm >= 0 {
		clear(l.best)
		l.best[arm] = 1
	} else {
		even(l.best, s.Active)
	}
	switch {
	case fresh > 0:
		for k, active := range s.Active {
			l.p[k] = 0
			if active && s.Count[k] == 0 {
				l.p[k] = 1 / float64(fresh)
			}
		}
	case s.Freedom == 0:
		even(l.p, s.Active)
	case l.rule == Elimination:
		for k, in := range s.In {
			if in {
				l.width[k] = float64(bandit.EliminationWidth(l.Arms(), s.Count[k]) * l.standardError(k))
			}
		}
		bandit.Eliminate(s.In, l.score, l.width)
		even(l.p, s.In)
	case l.rule == UCB:
		z := bandit.UCBWidth(l.Arms(), s.T+1)
		clear(l.p)
		l.p[l.top(func(k int) float64 { return l.score[k] + float64(z*l.standardError(k)) })] = 1
	default:
		clear(l.p)
		for range samples {
			l.p[l.top(l.sample)] += 1.0 / samples
		}
	}
}

// top returns the active arm of the largest value, the first of several.
func (l *Learner) top(value func(k int) float64) int {
	arm, most := slices.Index(l.s.Active, true), math.Inf(-1)
	for k, active := range l.s.Active {
		if !active {
			continue
		}
		if v := value(k); v > most {
			arm, most = k, v
		}
	}
	return arm
}

// even writes the uniform distribution over some of the arms.
func even(p []float64, of []bool) {
	n := 0.0
	for _, in := range of {
		if in {
			n++
		}
	}
	for k, in := range of {
		p[k] = 0
		if in {
			p[k] = 1 / n
		}
	}
}
