package oco

import (
	"fmt"
	"slices"

	"github.com/noregret/noregret"
)

// Shifted moves the origin of a learner (Orabona 2019, Proposition 9.13): it plays x_t + x_0, where
// x_t are the learner's points, and hands on subgradients taken there. A parameter-free learner has
// constant regret at 0; shifted, it has that at x_0, a guess of the best point.
//
// Guarantee (Bound): the learner's at u − x_0. Hints, features, sparse subgradients and strong
// convexity pass unchanged, as a shift changes neither subgradients nor distances. A round costs
// O(d) more than the learner's, a sparse round nothing more.
type Shifted struct {
	learner Learner
	origin  []float64
	point   []float64
	dense   []float64
}

// NewShifted wraps a learner on ℝ^d at its start.
func NewShifted(learner Learner, origin []float64) (*Shifted, error) {
	if learner == nil {
		return nil, noregret.BadInputf("learner", "nil: want a learner")
	}
	d := learner.Dim()
	if err := checkFinite("origin", origin, d); err != nil {
		return nil, err
	}
	return &Shifted{
		learner: learner, origin: slices.Clone(origin), point: make([]float64, d), dense: make([]float64, d),
	}, nil
}

// Dim implements [Learner].
func (l *Shifted) Dim() int { return len(l.point) }

// Rounds implements [Counter].
func (l *Shifted) Rounds() int { return roundsOf(l.learner) }

// roundsOf is the number of rounds of a learner that counts them, 0 for others.
func roundsOf(l Learner) int {
	if c, ok := l.(Counter); ok {
		return c.Rounds()
	}
	return 0
}

// Predict implements [Learner].
func (l *Shifted) Predict() []float64 {
	for i, x := range l.learner.Predict() {
		l.point[i] = x + l.origin[i]
	}
	return l.point
}

// At implements [SparseLearner].
func (l *Shifted) At(i int) float64 { return at(l.learner, i) + l.origin[i] }

// Hint implements [Hinted].
func (l *Shifted) Hint(h []float64) error { return forwardHint(l.learner, h) }

// Features implements [FeatureLearner].
func (l *Shifted) Features(z []float64) error { return forwardFeatures(l.learner, z) }

func (l *Shifted) checkHint(h []float64) error { return checkHint(l.learner, h) }

func (l *Shifted) checkFeatures(z []float64) error { return checkFeatures(l.learner, z) }

func (l *Shifted) checkGradient(g []float64) error { return checkGradient(l.learner, g) }

// Update implements [Learner].
func (l *Shifted) Update(g []float64) error { return l.learner.Update(g) }

// UpdateSparse implements [SparseLearner].
func (l *Shifted) UpdateSparse(g Sparse) error { return forwardSparse(l.learner, g, l.dense) }

// UpdateCurved implements [Curved].
func (l *Shifted) UpdateCurved(g []float64, mu float64) error { return forwardCurved(l.learner, g, mu) }

// Bound implements [Bounder].
func (l *Shifted) Bound(u []float64) (float64, error) {
	if err := checkFinite("comparator", u, l.Dim()); err != nil {
		return 0, err
	}
	from := make([]float64, len(u))
	for i, v := range u {
		from[i] = v - l.origin[i]
	}
	return boundOf(l.learner, from)
}

// String describes the learner and its options in one line.
func (l *Shifted) String() string {
	return fmt.Sprintf("shifted(%s, origin=%s)", kindOf(l.learner), digest(l.origin))
}

// MarshalBinary implements [Snapshotter]; the learner inside must be one too.
func (l *Shifted) MarshalBinary() ([]byte, error) {
	return marshalSeveral(l.String(), 0, l.learner)
}

// UnmarshalBinary implements [Snapshotter].
func (l *Shifted) UnmarshalBinary(data []byte) error {
	_, err := unmarshalSeveral(data, l.String(), l.learner)
	return err
}
