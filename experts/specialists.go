package experts

import (
	"fmt"
	"math"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/snapshot"
)

// Specialists plays with experts that do not always have advice (sleeping experts; Freund,
// Schapire, Singer and Warmuth 1997), in the form with confidences of Blum and Mansour (2007). In
// round t expert i has confidence a_i ∈ [0, 1], 0 while it sleeps. From the weights x_t of a
// learner on the simplex it plays
//
//	p_{t,i} = x_{t,i}·a_i / Σ_j x_{t,j}·a_j,
//
// uniform over a where that is 0/0, pays m_t = ⟨g_t, p_t⟩, and gives the learner the losses
// a_i·g_{t,i} + (1 − a_i)·m_t: a sleeping expert loses what the player loses (Chernov and Vovk
// 2009).
//
// Guarantee (Bound): Σ_t a_{t,i}·(m_t − g_{t,i}), the regret to expert i in the rounds in which it
// was awake, is exactly the learner's regret to i, and so within its bound. It does not matter who
// was awake, or when. The learner's losses stay in the range of those of the awake experts.
//
// Specialists needs the losses of all awake experts before the next round. bandit.Delayed has the
// form for arms of which only one loss is seen, perhaps late: a sleeping arm gets that loss, as m_t
// is not known.
//
// A round costs O(d) beyond the learner's. Specialists is a [Learner] itself, so that [Randomized]
// can draw an expert from p_t. It allocates nothing per round and is not safe for concurrent use.
type Specialists struct {
	learner Learner
	state   specialistsState
	point   []float64
	losses  []float64
}

// specialistsState is what a snapshot holds, beside the learner's.
type specialistsState struct {
	Rounds     int
	Confidence []float64
	Learner    []byte
}

// NewSpecialists plays with the experts of a learner on the simplex, at its start. All are awake
// until Confidence says otherwise.
func NewSpecialists(learner Learner) (*Specialists, error) {
	if learner == nil || learner.Dim() < 1 {
		return nil, noregret.BadInputf("learner", "want a learner on the simplex, of dimension 1 at least")
	}
	d := learner.Dim()
	s := &Specialists{learner: learner, point: make([]float64, d), losses: make([]float64, d)}
	s.state.Confidence = make([]float64, d)
	s.wake()
	return s, nil
}

// wake wakes all experts.
func (s *Specialists) wake() {
	for i := range s.state.Confidence {
		s.state.Confidence[i] = 1
	}
}

// Dim is the number of experts.
func (s *Specialists) Dim() int { return len(s.point) }

// Rounds is the number of rounds finished.
func (s *Specialists) Rounds() int { return s.state.Rounds }

// Confidence sets the experts' confidences for the running round, numbers from 0 (asleep) to 1
// (awake), not all 0. A second call replaces the first; without a call all are 1. An error changes
// nothing.
func (s *Specialists) Confidence(a []float64) error {
	if len(a) != s.Dim() {
		return noregret.BadInputf("confidence", "there are %d for %d experts", len(a), s.Dim())
	}
	var top float64
	for i, v := range a {
		if !(v >= 0 && v <= 1) {
			return noregret.BadInputf(fmt.Sprintf("confidence[%d]", i), "%v: want a number from 0 to 1", v)
		}
		top = max(top, v)
	}
	if top == 0 {
		return noregret.BadInputf("confidence", "all are 0: at least one expert must be awake")
	}
	copy(s.state.Confidence, a)
	return nil
}

// Predict returns p_t, a distribution over the awake experts. The slice belongs to Specialists and
// is valid until the next call.
func (s *Specialists) Predict() []float64 {
	a := s.state.Confidence
	var total, awake float64
	for i, x := range s.learner.Predict() {
		s.point[i] = float64(x * a[i])
		total += s.point[i]
		awake += a[i]
	}
	if !(total > 0) {
		copy(s.point, a)
		total = awake
	}
	for i := range s.point {
		s.point[i] /= total
	}
	return s.point
}

// Update ends the round with the losses of the experts; those of sleeping experts are ignored and
// may be anything. Losses that are not finite, or of the wrong number, are refused with an error of
// code bad_input, and so is what the learner refuses; then nothing changes.
func (s *Specialists) Update(g []float64) error {
	if len(g) != s.Dim() {
		return noregret.BadInputf("losses", "there are %d for %d experts", len(g), s.Dim())
	}
	// Relative to the loss of an awake expert, so that equal losses stay equal.
	base := math.NaN()
	for i, a := range s.state.Confidence {
		if a == 0 {
			continue
		}
		if math.IsNaN(g[i]) || math.IsInf(g[i], 0) {
			return noregret.BadInputf(fmt.Sprintf("losses[%d]", i), "%v: want a finite number", g[i])
		}
		if math.IsNaN(base) {
			base = g[i]
		}
	}
	var mean float64
	for i, p := range s.Predict() {
		if p > 0 {
			mean += float64(p * (g[i] - base))
		}
	}
	for i, a := range s.state.Confidence {
		switch a {
		case 0:
			s.losses[i] = base + mean
		case 1:
			s.losses[i] = g[i]
		default:
			s.losses[i] = base + mean + float64(a*(g[i]-base-mean))
		}
	}
	if err := s.learner.Update(s.losses); err != nil {
		return err
	}
	s.wake()
	s.state.Rounds++
	return nil
}

// Bound is the learner's bound: a bound on Σ_i u_i·Σ_t a_{t,i}·(m_t − g_{t,i}) for a distribution
// u; with the vertex of expert i, on the regret to it while it was awake. +Inf if the learner has
// none.
func (s *Specialists) Bound(u []float64) (float64, error) {
	if b, ok := s.learner.(bounder); ok {
		return b.Bound(u)
	}
	return math.Inf(1), nil
}

// String describes the player in one line.
func (s *Specialists) String() string { return fmt.Sprintf("specialists(%s)", describe(s.learner)) }

// describe is a learner's own description, or its type and dimension.
func describe(l Learner) string {
	if s, ok := l.(fmt.Stringer); ok {
		return s.String()
	}
	return fmt.Sprintf("%T(%d)", l, l.Dim())
}

// saved is a learner that can be saved, or the error for one that cannot.
func saved(l Learner) (snapshotter, error) {
	s, ok := l.(snapshotter)
	if !ok {
		return nil, noregret.Errorf(noregret.Usage, "snapshot", "%T: this learner cannot be saved", l)
	}
	return s, nil
}

// MarshalBinary saves the state of the round and the learner's. It is an error for learners that
// have no snapshot.
func (s *Specialists) MarshalBinary() ([]byte, error) {
	l, err := saved(s.learner)
	if err != nil {
		return nil, err
	}
	state := s.state
	if state.Learner, err = l.MarshalBinary(); err != nil {
		return nil, err
	}
	return snapshot.Seal(snapshotMagic, s.String(), &state)
}

// UnmarshalBinary restores a snapshot of a player with the same learner. Continuing is
// bit-identical. A snapshot that is refused changes nothing.
func (s *Specialists) UnmarshalBinary(data []byte) error {
	l, err := saved(s.learner)
	if err != nil {
		return err
	}
	var state specialistsState
	if err := snapshot.Open(data, snapshotMagic, s.String(), &state); err != nil {
		return err
	}
	if state.Rounds < 0 || len(state.Confidence) != s.Dim() {
		return snapshot.Bad("damaged: %d rounds, %d confidences of %d experts", state.Rounds, len(state.Confidence),
			s.Dim())
	}
	for _, a := range state.Confidence {
		if !(a >= 0 && a <= 1) {
			return snapshot.Bad("damaged: a confidence is %v", a)
		}
	}
	if err := l.UnmarshalBinary(state.Learner); err != nil {
		return err
	}
	state.Learner = nil
	s.state = state
	return nil
}
