package bandit

import (
	"slices"

	"github.com/noregret/noregret/internal/portable"
	"github.com/noregret/noregret/internal/random"
)

// weightRule is a rule on importance-weighted estimates: G̃_i is the sum of the estimated losses of
// arm i. The estimate of a round is g̃_i = 1[A = i]·g_A/p_A for most rules: its expectation over
// the draw A ~ p is the loss g_i.
type weightRule interface {
	// weigh writes the distribution of round t, a function of the sums of the estimates.
	weigh(p, sums []float64, t float64)
	// credit adds the estimates of a round, given the loss of the arm drawn.
	credit(sums []float64, c *drawn, loss float64)
}

// marker is a rule whose estimates have bases.
type marker interface {
	// mark returns bits for the arms that have one in round t, in words, which have room for them.
	mark(words []uint64, p []float64, t int) []uint64
}

// weights is the method of a [weightRule].
type weights struct {
	rule weightRule
	p    []float64 // the distribution of the current round
	// tree, if not nil, holds the weights, and p is computed only if someone asks.
	tree  *expTree
	stale bool // p is not that of the current round
	// power is whether the weights are no exponential ones: those of some arms alone are then not
	// in the ratios of the weights of all.
	power bool
	// unit is the loss that counts as 1 in the sums.
	unit float64
	// The memory for choices among some of the arms, and for the bits of draws.
	masked, sums []float64
	awake, marks []uint64
}

// maxSum is where the sums of the estimates stop. Draws from the generators of this module never
// lead there: the probability of an arm drawn is above 2^-54.
const maxSum = 1e300

// estimates returns the plan of a rule on estimates of losses in [low, high].
func estimates(name, options string, low, high float64, w *weights) *plan {
	return &plan{
		name: name, options: options, low: low, high: high, replaces: true, method: w,
		fixed: "an algorithm against adversaries is for the arms that it begins with: another one would have no " +
			"estimates for the rounds before",
	}
}

func (w *weights) renew(s *state) {
	if s.Sums == nil {
		s.Sums = make([]float64, len(s.Pulls))
	}
	if w.p == nil {
		w.p, w.marks = make([]float64, len(s.Sums)), make([]uint64, (len(s.Sums)+63)/64)
	}
	w.weigh(s)
}

// weigh computes the distribution of the current round.
func (w *weights) weigh(s *state) {
	if w.tree == nil {
		w.rule.weigh(w.p, s.Sums, float64(s.Rounds+1))
		return
	}
	w.tree.rebuild(s.Sums)
	w.stale = true
}

// probability is that of arm k in the current round.
func (w *weights) probability(k int) float64 {
	if w.tree == nil {
		return w.p[k]
	}
	return w.tree.probability(k)
}

// probabilities is the distribution of the current round.
func (w *weights) probabilities() []float64 {
	if w.stale {
		for k := range w.p {
			w.p[k] = w.tree.probability(k)
		}
		w.stale = false
	}
	return w.p
}

func (w *weights) learn(s *state, c *drawn, loss float64) {
	if c.Propensity == 0 {
		c.Propensity, c.Base = w.probability(c.Arm), w.bases(w.p, s.Rounds) // the round that ends
	}
	w.rule.credit(s.Sums, c, loss)
	w.creditAsleep(s.Sums, c, loss)
	if w.tree != nil && len(c.Allowed) == 0 {
		w.tree.change(s.Sums, c.Arm)
		w.stale = true
	} else {
		w.weigh(s)
	}
}

// creditAsleep adds the loss of the round to the estimates of the arms that were not allowed: its
// mean over the draw is what the player lost, so that such an arm neither gains nor loses on it.
func (w *weights) creditAsleep(sums []float64, c *drawn, loss float64) {
	if len(c.Allowed) == 0 {
		return
	}
	for k := range sums {
		if !hasBit(c.Allowed, k) {
			sums[k] = addEstimate(sums[k], loss/w.unit)
		}
	}
}

// bases returns the bits of [drawn] for a draw from p in round t.
func (w *weights) bases(p []float64, t int) []uint64 {
	if m, ok := w.rule.(marker); ok {
		return m.mark(w.marks, p, t)
	}
	return nil
}

// over returns the distribution over the allowed arms: that of the algorithm with the arms that are
// not retired, given that the arm is one of these.
func (w *weights) over(s *state, v *view) []float64 {
	if v.allowed == nil {
		return w.probabilities()
	}
	if w.masked == nil {
		w.masked, w.sums = make([]float64, len(w.p)), make([]float64, len(w.p))
	}
	if !w.power || !v.asleep { // weights alone are in the ratios of all
		return w.alone(s, v.allowed)
	}
	p := w.p
	if v.live != nil {
		p = w.alone(s, v.live)
	}
	total := 0.0
	for k, ok := range v.allowed {
		x := 0.0
		if ok {
			x = p[k]
		}
		w.masked[k] = x
		total += x
	}
	if !(total > 1e-300) { // they underflow
		return w.alone(s, v.allowed)
	}
	for k := range w.masked {
		w.masked[k] /= total
	}
	return w.masked
}

// alone returns the distribution of the algorithm with some arms only.
func (w *weights) alone(s *state, allowed []bool) []float64 {
	weighAlone(w.rule, w.masked, w.sums, s.Sums, allowed, float64(s.Rounds+1))
	return w.masked
}

// weighAlone writes to p the distribution of a rule with some arms only, in round t, and 0 for the
// other arms. It takes scratch memory for as many arms.
func weighAlone(rule weightRule, p, scratch, sums []float64, some []bool, t float64) {
	n := 0
	for k, ok := range some {
		if ok {
			scratch[n] = sums[k]
			n++
		}
	}
	rule.weigh(p[:n], scratch[:n], t)
	for k := len(p) - 1; k >= 0; k-- { // from the end, as the weight of arm k is at k or before
		x := 0.0
		if some[k] {
			n--
			x = p[n]
		}
		p[k] = x
	}
}

func (w *weights) choose(s *state, c *drawn, v *view, r Rand) {
	switch {
	case v.allowed != nil:
		p := w.over(s, v)
		arm := random.Index(p, r.Float64())
		*c = drawn{Arm: arm, Propensity: p[arm], Base: w.bases(p, s.Rounds+1)}
		if v.asleep {
			w.awake = setBits(w.awake[:0], v.allowed)
			c.Allowed = w.awake
		}
	case w.tree == nil:
		arm := random.Index(w.p, r.Float64())
		*c = drawn{Arm: arm, Propensity: w.p[arm], Base: w.bases(w.p, s.Rounds+1)}
	default:
		arm := w.tree.draw(r.Float64())
		*c = drawn{Arm: arm, Propensity: w.tree.probability(arm)}
	}
}

func (w *weights) distribution(s *state, p []float64, v *view) float64 {
	copy(p, w.over(s, v))
	return 0
}

func (w *weights) valid(s *state) bool {
	if len(s.Sums) != len(w.p) || !finite(s.Sums) {
		return false
	}
	w.weigh(s)
	return s.Pending == none || w.probability(s.Pending) > 0
}

// addEstimate adds an estimate to a sum, within ±maxSum.
func addEstimate(sum, estimate float64) float64 {
	return min(max(sum+estimate, -maxSum), maxSum)
}

// creditImportance adds g/p of the arm drawn to its sum.
func creditImportance(sums []float64, c *drawn, loss float64) {
	sums[c.Arm] = addEstimate(sums[c.Arm], loss/c.Propensity)
}

// softmax writes p_i ∝ exp(−η·(G̃_i − min G̃)).
func softmax(p, sums []float64, rate float64) {
	least, total := slices.Min(sums), 0.0
	for i, g := range sums {
		p[i] = portable.Exp(-float64(rate * (g - least)))
		total += p[i]
	}
	for i := range p {
		p[i] /= total
	}
}
