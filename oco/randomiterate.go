package oco

import (
	"errors"
	"fmt"

	"github.com/noregret/noregret"

	"github.com/noregret/noregret/internal/random"
)

// RandomIterate is online-to-batch conversion without convexity of the risk (Orabona 2019, section
// 3.3): one of the points played, x_τ with P[τ = t] = α_t/Σα, whose expected risk is the weighted
// mean of the risks. It keeps one point, replaced in round t with probability α_t/Σ_{i≤t} α_i.
type RandomIterate struct {
	*weighted
	source *random.Source
}

// NewRandomIterate wraps a learner at its start. The same seed keeps the same rounds' points.
func NewRandomIterate(learner Learner, alpha Alpha, seed uint64) (*RandomIterate, error) {
	w, err := newWeighted(fmt.Sprintf("random-iterate:%d", seed), learner, alpha)
	if err != nil {
		return nil, err
	}
	return &RandomIterate{w, random.New(seed, "oco/random-iterate")}, nil
}

// Predict implements [Learner].
func (l *RandomIterate) Predict() []float64 { return l.learner.Predict() }

// Update implements [Learner], with a subgradient of the sample's loss, not yet weighted.
func (l *RandomIterate) Update(g []float64) error {
	alpha, total := l.next()
	if err := l.feed(g, alpha, -1); err != nil {
		return err
	}
	l.choose(alpha, total)
	return nil
}

// UpdateSparse implements [SparseLearner]. The copy of the point makes it O(d).
func (l *RandomIterate) UpdateSparse(g Sparse) error {
	alpha, total := l.next()
	if err := l.feedSparse(g, alpha); err != nil {
		return err
	}
	l.choose(alpha, total)
	return nil
}

// At implements [SparseLearner].
func (l *RandomIterate) At(i int) float64 { return at(l.learner, i) }

// UpdateCurved implements [Curved], as for [Averaging].
func (l *RandomIterate) UpdateCurved(g []float64, mu float64) error {
	if err := checkMu(mu); err != nil {
		return err
	}
	alpha, total := l.next()
	if err := l.feed(g, alpha, mu); err != nil {
		return err
	}
	l.choose(alpha, total)
	return nil
}

// choose ends the round in which played was played.
func (l *RandomIterate) choose(alpha float64, total sum) {
	if l.source.Float64()*total.value() < alpha {
		copy(l.state.Mean, l.played)
	}
	l.state.Total = total
	l.state.T++
}

// Iterate is the point kept. It returns an error if no round has ended yet. The slice belongs to
// the learner.
func (l *RandomIterate) Iterate() ([]float64, error) {
	if l.state.T == 0 {
		return nil, noregret.BadInputf("iterate", "no round has ended yet: at least one is required")
	}
	return l.state.Mean, nil
}

// MarshalBinary implements [Snapshotter].
func (l *RandomIterate) MarshalBinary() ([]byte, error) {
	draws, err := l.source.MarshalBinary()
	if err != nil {
		return nil, err
	}
	l.state.Draws = draws
	return l.weighted.MarshalBinary()
}

// UnmarshalBinary implements [Snapshotter].
func (l *RandomIterate) UnmarshalBinary(data []byte) error {
	before, err := l.MarshalBinary()
	if err != nil {
		return err
	}
	if err := l.weighted.UnmarshalBinary(data); err != nil {
		return err
	}
	if err := l.source.UnmarshalBinary(l.state.Draws); err != nil {
		return errors.Join(err, l.weighted.UnmarshalBinary(before))
	}
	return nil
}
