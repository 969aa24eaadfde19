package bandit

import (
	"math"
	"slices"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/portable"
	"github.com/noregret/noregret/internal/snapshot"
)

// weighted is what the algorithms on importance-weighted estimates share. It keeps G̃_i, the sum of
// the estimated losses of arm i. The estimate of a round is g̃_i = 1[A = i]·g_A/p_A for most
// algorithms: its expectation over the draw A ~ p is the loss g_i.
type weighted struct {
	scheme scheme
	text   string
	low    float64 // the losses are in [low, limit]
	limit  float64
	s      weightedState
	p      []float64 // the distribution of the current round
	masked []float64 // the distribution over allowed arms, and their sums, for Delayed
	sums   []float64
	drawn  drawn // for Update
	// tree, if not nil, holds the weights, and p is computed only if someone asks.
	tree  *expTree
	stale bool // p is not that of the current round
	// power is whether the weights are no exponential ones: those of some arms alone are then not
	// in the ratios of the weights of all.
	power bool
	// unit is the loss that counts as 1 in the sums.
	unit  float64
	awake []uint64 // for choose
}

type weightedState struct {
	Rounds  int
	Pending int
	Sums    []float64
}

// scheme is the part in which the algorithms differ.
type scheme interface {
	// weigh writes the distribution of round t, a function of the sums of the estimates.
	weigh(p, sums []float64, t int)
	// credit adds the estimates of a round, given the loss of the arm drawn.
	credit(sums []float64, c *drawn, loss float64)
}

// marker is a scheme whose estimates have bases.
type marker interface {
	// mark sets the bits of the arms that have one in round t, in a slice that the next call
	// reuses.
	mark(p []float64, t int) []uint64
}

// maxSum is where the sums of the estimates stop. Draws from the generators of this module never
// lead there: the probability of an arm drawn is above 2^-54.
const maxSum = 1e300

// setUp makes the state of a new player.
func (w *weighted) setUp(s scheme, arms int, low, limit float64, text string) {
	*w = weighted{scheme: s, text: text, low: low, limit: limit, unit: 1, p: make([]float64, arms)}
	w.s = weightedState{Pending: none, Sums: make([]float64, arms)}
	w.weigh()
}

// grow gives the player a tree, for exponential weights at a fixed rate.
func (w *weighted) grow(rate, explore float64) {
	w.tree = newExpTree(len(w.p), rate, explore)
	w.weigh()
}

// weigh computes the distribution of the current round.
func (w *weighted) weigh() {
	if w.tree == nil {
		w.scheme.weigh(w.p, w.s.Sums, w.s.Rounds+1)
		return
	}
	w.tree.rebuild(w.s.Sums)
	w.stale = true
}

// probability is that of arm k in the current round.
func (w *weighted) probability(k int) float64 {
	if w.tree == nil {
		return w.p[k]
	}
	return w.tree.probability(k)
}

// draw draws an arm from the distribution of the current round.
func (w *weighted) draw(u float64) int {
	if w.tree == nil {
		return sample(w.p, u)
	}
	return w.tree.draw(u)
}

// Arms is the number of arms.
func (w *weighted) Arms() int { return len(w.p) }

// Rounds is the number of finished rounds.
func (w *weighted) Rounds() int { return w.s.Rounds }

// Probabilities is the distribution of the round, see [Randomized].
func (w *weighted) Probabilities() []float64 {
	if w.stale {
		for k := range w.p {
			w.p[k] = w.tree.probability(k)
		}
		w.stale = false
	}
	return w.p
}

// Estimates are the sums of the estimated losses, G̃. The caller must not change the slice.
func (w *weighted) Estimates() []float64 { return w.s.Sums }

// Draw draws the arm of the round, see [Player]. It takes one number from r.
func (w *weighted) Draw(r Rand) int {
	if w.s.Pending == none {
		w.s.Pending = w.draw(r.Float64())
	}
	return w.s.Pending
}

// Update ends the round, see [Player].
func (w *weighted) Update(arm int, loss float64) error {
	if err := checkTurn(arm, w.s.Pending); err != nil {
		return err
	}
	w.drawn = drawn{Arm: arm, Propensity: w.probability(arm), Base: w.bases(w.p)}
	return w.learn(&w.drawn, loss)
}

func (w *weighted) learn(c *drawn, loss float64) error {
	g, err := checkLoss(loss, w.low, w.limit, c.Arm, w.s.Rounds+1)
	if err != nil {
		return err
	}
	w.scheme.credit(w.s.Sums, c, g)
	w.creditAsleep(c, g)
	w.s.Rounds++
	w.s.Pending = none
	if w.tree != nil && len(c.Allowed) == 0 {
		w.tree.change(w.s.Sums, c.Arm)
		w.stale = true
	} else {
		w.weigh()
	}
	return nil
}

// creditAsleep adds the loss of the round to the estimates of the arms that were not allowed: its
// mean over the draw is what the player lost, so that such an arm neither gains nor loses on it.
func (w *weighted) creditAsleep(c *drawn, loss float64) {
	if len(c.Allowed) == 0 {
		return
	}
	for k := range w.s.Sums {
		if !hasBit(c.Allowed, k) {
			w.s.Sums[k] = addEstimate(w.s.Sums[k], loss/w.unit)
		}
	}
}

// lose learns the mean loss of the rounds learned, or the middle of the range before the first:
// without a loss in its place, the arm would seem to have lost nothing.
func (w *weighted) lose(c *drawn, mean float64) bool {
	if math.IsNaN(mean) {
		mean = w.low + float64(0.5*(w.limit-w.low))
	}
	return w.learn(c, mean) == nil
}

func (w *weighted) pendingArm() int { return w.s.Pending }

// bases returns the bits of [drawn] for a draw from p.
func (w *weighted) bases(p []float64) []uint64 {
	if m, ok := w.scheme.(marker); ok {
		return m.mark(p, w.s.Rounds+1)
	}
	return nil
}

// over returns the distribution over the allowed arms: that of the algorithm with the arms that are
// not retired, given that the arm is one of these.
func (w *weighted) over(v *view) []float64 {
	if v.allowed == nil {
		return w.Probabilities()
	}
	if w.masked == nil {
		w.masked, w.sums = make([]float64, len(w.p)), make([]float64, len(w.p))
	}
	if !w.power || !v.asleep { // weights alone are in the ratios of all
		return w.alone(v.allowed)
	}
	p := w.p
	if v.live != nil {
		p = w.alone(v.live)
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
		return w.alone(v.allowed)
	}
	for k := range w.masked {
		w.masked[k] /= total
	}
	return w.masked
}

// alone returns the distribution of the algorithm with some arms only.
func (w *weighted) alone(allowed []bool) []float64 {
	d, n := len(w.p), 0
	for k, ok := range allowed {
		if ok {
			w.sums[n] = w.s.Sums[k]
			n++
		}
	}
	w.scheme.weigh(w.masked[:n], w.sums[:n], w.s.Rounds+1)
	for k := d - 1; k >= 0; k-- { // from the end, as the weight of arm k is at k or before
		x := 0.0
		if allowed[k] {
			n--
			x = w.masked[n]
		}
		w.masked[k] = x
	}
	return w.masked
}

func (w *weighted) choose(c *drawn, v *view, r Rand) {
	if v.allowed == nil {
		arm := w.draw(r.Float64())
		*c = drawn{Arm: arm, Propensity: w.probability(arm), Base: w.bases(w.p)}
		return
	}
	p := w.over(v)
	arm := sample(p, r.Float64())
	*c = drawn{Arm: arm, Propensity: p[arm], Base: w.bases(p)}
	if v.asleep {
		w.awake = setBits(w.awake[:0], v.allowed)
		c.Allowed = w.awake
	}
}

func (w *weighted) distribution(p []float64, v *view) float64 {
	copy(p, w.over(v))
	return 0
}

func (w *weighted) add() error {
	return noregret.BadInputf("arm", "an algorithm against adversaries is for the arms that it begins with: "+
		"another one would have no estimates for the rounds before")
}

func (w *weighted) renewed(int) core { return nil }

// String describes the player and its options in one line.
func (w *weighted) String() string { return w.text }

// MarshalBinary returns a snapshot, see [Player].
func (w *weighted) MarshalBinary() ([]byte, error) { return snapshot.Seal(playerMagic, w.text, &w.s) }

// UnmarshalBinary restores a snapshot. It returns an error of code bad_input, and changes nothing,
// if the snapshot is damaged or was taken from a player with other options.
func (w *weighted) UnmarshalBinary(data []byte) error {
	var s weightedState
	if err := snapshot.Open(data, playerMagic, w.text, &s); err != nil {
		return err
	}
	d := len(w.p)
	if len(s.Sums) != d || !finite(s.Sums) || s.Rounds < 0 || s.Pending < none || s.Pending >= d {
		return snapshot.Bad("damaged: the parts do not fit %d arms", d)
	}
	last := w.s
	w.s = s
	w.weigh()
	if s.Pending != none && !(w.probability(s.Pending) > 0) {
		w.s = last
		w.weigh()
		return snapshot.Bad("damaged: arm %d has been drawn with the probability 0", s.Pending)
	}
	return nil
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
