package experts

import (
	"errors"
	"fmt"
	"math"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/snapshot"
	"github.com/noregret/noregret/internal/vec"
	"github.com/noregret/noregret/loss"
)

// Mixture takes whole learners for experts: model selection on a stream. Every model plays along
// and learns from every round. A learner on the simplex, such as oco.AdaHedge, which needs no range
// of the losses, weighs them by the losses of their points, and Mixture plays the weighted mean x_t
// = Σ_k w_{t,k}·x_{t,k}. The models may be learners of one kind with other options, or of other
// kinds.
//
// Guarantee (Bound): for convex losses, f(x_t) ≤ Σ_k w_{t,k}·f(x_{t,k}), so that the regret at u is
// at most the weights' regret to model k and the regret of model k at u, for every k:
//
//	Bound(u) = min_k (weights.Bound(e_k) + models[k].Bound(u)).
//
// With Update all models get one subgradient, and their losses are ⟨g_t, x_{t,k}⟩; with UpdateLoss
// each gets a subgradient at its own point, as it would alone, and pays the loss there. A round
// costs those of the models and O(d) for each. Mixture is not safe for concurrent use.
type Mixture struct {
	weights Learner
	models  []Learner
	point   []float64
	losses  []float64
	slopes  [][]float64 // the models' subgradients
	rounds  int
	failed  error
}

// mixtureState is what a snapshot holds.
type mixtureState struct {
	Rounds  int
	Weights []byte
	Models  [][]byte
}

// NewMixture weighs models of one dimension by a learner on the simplex with one expert for each
// model. All are at their starts.
func NewMixture(weights Learner, models ...Learner) (*Mixture, error) {
	if len(models) == 0 {
		return nil, noregret.BadInputf("models", "none: at least one is required")
	}
	if weights == nil || weights.Dim() != len(models) {
		return nil, noregret.BadInputf("weights", "want a learner on the simplex of %d experts", len(models))
	}
	m := &Mixture{weights: weights, models: models, losses: make([]float64, len(models))}
	for k, l := range models {
		if l == nil || l.Dim() < 1 || l.Dim() != models[0].Dim() {
			return nil, noregret.BadInputf(fmt.Sprintf("models[%d]", k), "want a learner of the first one's dimension")
		}
		m.slopes = append(m.slopes, make([]float64, l.Dim()))
	}
	m.point = make([]float64, models[0].Dim())
	return m, nil
}

// Dim is the dimension of the points.
func (m *Mixture) Dim() int { return len(m.point) }

// Rounds is the number of rounds finished.
func (m *Mixture) Rounds() int { return m.rounds }

// Weights are the models' weights in the running round. The slice belongs to the learner: the
// caller must not modify it.
func (m *Mixture) Weights() []float64 { return m.weights.Predict() }

// Best is the model of the largest weight, the lowest index of several.
func (m *Mixture) Best() int {
	k, _ := vec.ArgMax(m.weights.Predict())
	return k
}

// Predict returns x_t. The slice belongs to Mixture and is valid until the next call.
func (m *Mixture) Predict() []float64 {
	clear(m.point)
	for k, w := range m.weights.Predict() {
		if w > 0 {
			vec.AddScaled(m.point, w, m.models[k].Predict())
		}
	}
	return m.point
}

// Update ends the round with a subgradient at Predict(). A subgradient that is not finite, or that
// the first model refuses, changes nothing. If a later model or the weights refuse the round,
// Update and UpdateLoss return that error from then on, until a snapshot is restored.
func (m *Mixture) Update(g []float64) error {
	if m.failed != nil {
		return m.failed
	}
	if err := checkFinite("gradient", g, m.Dim()); err != nil {
		return err
	}
	for k, l := range m.models {
		m.losses[k] = vec.DotInOrder(g, l.Predict())
		copy(m.slopes[k], g)
	}
	return m.end()
}

// UpdateLoss ends the round with its loss. Each model gets a subgradient at its own point. Refusals
// are as for Update.
func (m *Mixture) UpdateLoss(f loss.Function) error {
	if m.failed != nil {
		return m.failed
	}
	if f == nil || f.Dim() != m.Dim() {
		return noregret.BadInputf("loss", "want a function of dimension %d", m.Dim())
	}
	for k, l := range m.models {
		x := l.Predict()
		m.losses[k] = f.Value(x)
		f.Subgradient(m.slopes[k], x)
		if !vec.Finite(m.slopes[k]) {
			return noregret.BadInputf("loss", "its subgradient at the point of model %d is not finite", k)
		}
	}
	return m.end()
}

// checkFinite returns an error for a vector of the wrong length or with a value that is not finite.
func checkFinite(name string, v []float64, d int) error {
	if len(v) != d {
		return noregret.BadInputf(name, "%d values, want %d", len(v), d)
	}
	for i, x := range v {
		if !vec.IsFinite(x) {
			return noregret.BadInputf(fmt.Sprintf("%s[%d]", name, i), "%v: want a finite number", x)
		}
	}
	return nil
}

// end ends the round with the models' losses and subgradients.
func (m *Mixture) end() error {
	for k, v := range m.losses {
		if !vec.IsFinite(v) {
			return noregret.BadInputf("loss", "that of model %d is %v: want a finite number", k, v)
		}
	}
	for k, l := range m.models {
		if err := l.Update(m.slopes[k]); err != nil {
			err = fmt.Errorf("model %d: %w", k, err)
			if k > 0 {
				m.failed = err
			}
			return err
		}
	}
	if err := m.weights.Update(m.losses); err != nil {
		m.failed = fmt.Errorf("weights: %w", err)
		return m.failed
	}
	m.rounds++
	return nil
}

// Bound is the least, over the models, of the weights' bound for the model and the model's bound at
// u; +Inf if there is none.
func (m *Mixture) Bound(u []float64) (float64, error) {
	if err := checkFinite("comparator", u, m.Dim()); err != nil {
		return 0, err
	}
	best := math.Inf(1)
	for k, l := range m.models {
		inner, ok := l.(bounder)
		if !ok {
			continue
		}
		b, err := inner.Bound(u)
		if err != nil {
			return 0, err
		}
		extra, err := m.SelectionBound(k)
		if err != nil {
			return 0, err
		}
		best = min(best, b+extra)
	}
	return best, nil
}

// SelectionBound is the weights' bound against model k: at most that much more than model k alone
// does Mixture pay. +Inf if the weights' learner has none.
func (m *Mixture) SelectionBound(k int) (float64, error) {
	if k < 0 || k >= len(m.models) {
		return 0, noregret.BadInputf("model", "%d: want a number from 0 to %d", k, len(m.models)-1)
	}
	b, ok := m.weights.(bounder)
	if !ok {
		return math.Inf(1), nil
	}
	vertex := make([]float64, len(m.models))
	vertex[k] = 1
	return b.Bound(vertex)
}

// String describes the mixture in one line.
func (m *Mixture) String() string {
	names := make([]string, len(m.models))
	for k, l := range m.models {
		names[k] = describe(l)
	}
	return fmt.Sprintf("mixture(%s, %v)", describe(m.weights), names)
}

// MarshalBinary saves the states of the weights and of all models, each of which must have a
// snapshot.
func (m *Mixture) MarshalBinary() ([]byte, error) {
	if m.failed != nil {
		return nil, m.failed
	}
	all, err := m.marshal()
	if err != nil {
		return nil, err
	}
	return snapshot.Seal(snapshotMagic, m.String(), &mixtureState{Rounds: m.rounds, Weights: all[0], Models: all[1:]})
}

// learners are the weights and the models.
func (m *Mixture) learners() []Learner { return append([]Learner{m.weights}, m.models...) }

// marshal saves the weights and the models.
func (m *Mixture) marshal() (all [][]byte, err error) {
	for _, l := range m.learners() {
		s, err := saved(l)
		if err != nil {
			return nil, err
		}
		b, err := s.MarshalBinary()
		if err != nil {
			return nil, err
		}
		all = append(all, b)
	}
	return all, nil
}

// UnmarshalBinary restores a snapshot of a mixture of the same learners. Continuing is
// bit-identical. A snapshot that is refused changes nothing.
func (m *Mixture) UnmarshalBinary(data []byte) error {
	var s mixtureState
	if err := snapshot.Open(data, snapshotMagic, m.String(), &s); err != nil {
		return err
	}
	if s.Rounds < 0 || len(s.Models) != len(m.models) {
		return snapshot.Bad("damaged: %d rounds, %d models for %d", s.Rounds, len(s.Models), len(m.models))
	}
	before, err := m.marshal()
	if err != nil {
		return err
	}
	learners, after := m.learners(), append([][]byte{s.Weights}, s.Models...)
	for k, l := range learners {
		if err := l.(snapshotter).UnmarshalBinary(after[k]); err != nil {
			for j := range k { // back to where they were
				err = errors.Join(err, learners[j].(snapshotter).UnmarshalBinary(before[j]))
			}
			return err
		}
	}
	m.rounds, m.failed = s.Rounds, nil
	return nil
}
