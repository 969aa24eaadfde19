package drifting

import (
	"math"
	"slices"

	"github.com/noregret/noregret/internal/portable"
	"github.com/noregret/noregret/pasto"
	"github.com/noregret/noregret/pasto/internal/mixed"
)

const (
	// candidates is the number of discounts that Adaptive chooses from: none, and 2⁻¹⁰ to 2⁻³.
	candidates = 9
	// leastLog2 is the logarithm of the smallest rate above 0.
	leastLog2 = -10
	// moved is the share of the weights that is spread over all candidates in each round, so that
	// the best one can change (fixed share; Herbster and Warmuth 1998).
	moved = 0.01
	// mostLoss is the largest loss of a candidate in a round, beyond that of the best.
	mostLoss = 20
	// refuted is by how much the logarithm of a candidate's weight must be below the best for its
	// memory not to be used: the one with the longest memory of all others is.
	refuted = 3
)

// candidateRate is the discount of candidate i.
func candidateRate(i int) float64 {
	if i == 0 {
		return 0
	}
	return math.Ldexp(1, leastLog2+i-1)
}

// candidate returns the state of candidate i.
func (l *Learner) candidate(i int) *mixed.State {
	if i == 0 {
		return &l.in.State().Model
	}
	return &l.d.Others[i-1]
}

// follow makes candidate i the one whose statistics are used.
func (l *Learner) follow(i int) {
	l.d.Leader = i
	l.in.Use(l.models[i])
}

// adapt takes a round with all candidates, weighs them by the densities that they had given to its
// values, and follows the one of the longest memory that is not refuted. It returns how many arms
// were begun anew.
//
// The weights are those of Bayes' rule for candidates that may change over time. So what the
// weighted candidates lose by logarithmic loss exceeds what the best fixed one loses by at most the
// logarithm of their number, ln(9/0.01) more for each time that the best one changes, and about
// 0.01 a round; the loss of a round is cut off at 20 above the best.
func (l *Learner) adapt(obs []pasto.Observation) (changed int) {
	for k := range l.skip {
		l.skip[k] = false
		for _, m := range l.models {
			l.skip[k] = l.skip[k] || !m.Comparable(k)
		}
	}
	best := math.Inf(1)
	l.losses = l.losses[:0]
	var begun []int
	for i, m := range l.models {
		if rate := candidateRate(i); rate > 0 {
			m.Discount(1-rate, l.in.State().Active)
		}
		m.Skip = l.skip
		m.Observe(obs)
		if arms := m.Changed(); i == l.d.Leader {
			begun = arms
		}
		l.losses = append(l.losses, m.Score)
		best = min(best, m.Score)
	}
	if len(begun) > 0 {
		l.memory.Note(begun, "change", 0)
	}
	l.weigh(best)
	next := slices.IndexFunc(l.d.LogWeights, func(w float64) bool { return w > -refuted })
	if next == l.d.Leader {
		return len(begun)
	}
	l.follow(next)
	memory := 0.0
	if rate := candidateRate(next); rate > 0 {
		memory = 1 / rate
	}
	l.memory.Note(nil, "memory", memory)
	return max(len(begun), 1) // what is known is another: solve
}

// weigh updates the logarithms of the weights, of which the largest is 0.
func (l *Learner) weigh(best float64) {
	w, top := l.d.LogWeights, math.Inf(-1)
	for i, loss := range l.losses {
		w[i] -= min(loss-best, mostLoss)
		top = max(top, w[i])
	}
	sum := 0.0
	for i := range w {
		w[i] -= top
		sum += portable.Exp(w[i])
	}
	top = math.Inf(-1)
	for i := range w {
		w[i] = portable.Log(float64((1-moved)*(portable.Exp(w[i])/sum)) + moved/candidates)
		top = max(top, w[i])
	}
	for i := range w {
		w[i] -= top
	}
}
