package bandit

import (
	"slices"

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
	// credit adds the estimates of round t, given the loss of the arm drawn from p.
	credit(sums, p []float64, arm int, loss float64, t int)
}

// maxSum is where the sums of the estimates stop. Draws from the generators of this module never
// lead there: the probability of an arm drawn is above 2^-54.
const maxSum = 1e300

// setUp makes the state of a new player.
func (w *weighted) setUp(s scheme, arms int, low, limit float64, text string) {
	*w = weighted{scheme: s, text: text, low: low, limit: limit, p: make([]float64, arms)}
	w.s = weightedState{Pending: none, Sums: make([]float64, arms)}
	w.weigh()
}

func (w *weighted) weigh() { w.scheme.weigh(w.p, w.s.Sums, w.s.Rounds+1) }

// Arms is the number of arms.
func (w *weighted) Arms() int { return len(w.p) }

// Rounds is the number of finished rounds.
func (w *weighted) Rounds() int { return w.s.Rounds }

// Probabilities is the distribution of the round, see [Randomized].
func (w *weighted) Probabilities() []float64 { return w.p }

// Estimates are the sums of the estimated losses, G̃. The caller must not change the slice.
func (w *weighted) Estimates() []float64 { return w.s.Sums }

// Draw draws the arm of the round, see [Player]. It takes one number from r and costs O(d).
func (w *weighted) Draw(r Rand) int {
	if w.s.Pending == none {
		w.s.Pending = sample(w.p, r.Float64())
	}
	return w.s.Pending
}

// Update ends the round, see [Player].
func (w *weighted) Update(arm int, loss float64) error {
	if err := checkTurn(arm, w.s.Pending); err != nil {
		return err
	}
	g, err := checkLoss(loss, w.low, w.limit, arm, w.s.Rounds+1)
	if err != nil {
		return err
	}
	w.scheme.credit(w.s.Sums, w.p, arm, g, w.s.Rounds+1)
	w.s.Rounds++
	w.s.Pending = none
	w.weigh()
	return nil
}

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
	if s.Pending != none && !(w.p[s.Pending] > 0) {
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
func creditImportance(sums, p []float64, arm int, loss float64) {
	sums[arm] = addEstimate(sums[arm], loss/p[arm])
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
