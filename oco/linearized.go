package oco

import (
	"fmt"

	"github.com/noregret/noregret"

	"github.com/noregret/noregret/loss"
)

// Linearized plays any convex losses with a learner of linear ones (Orabona 2019, section 2.3): Σ
// l_t(x_t) − l_t(u) ≤ Σ ⟨g_t, x_t − u⟩ for subgradients g_t at x_t. It is the learner with
// UpdateLoss added. Hints, features, sparse subgradients and strong convexity go to the learner
// inside; one that takes no hints or features ignores them.
type Linearized struct {
	Learner
	g []float64
}

// NewLinearized wraps a learner.
func NewLinearized(learner Learner) (*Linearized, error) {
	if learner == nil {
		return nil, noregret.BadInputf("learner", "nil: want a learner")
	}
	return &Linearized{learner, make([]float64, learner.Dim())}, nil
}

// UpdateLoss implements [LossLearner]. A [LossLearner] gets the loss itself; a [Curved] learner
// gets the loss's strong convexity if it is known to be above 0, a [SparseLearner] the sparse
// subgradient of a [loss.SparseFunction].
func (l *Linearized) UpdateLoss(f loss.Function) error {
	if err := checkLoss(f, l.Dim()); err != nil {
		return err
	}
	if whole, ok := l.Learner.(LossLearner); ok {
		return whole.UpdateLoss(f)
	}
	if curved, ok := l.Learner.(Curved); ok {
		if c, ok := f.(loss.Curvature); ok && c.StrongConvexity() > 0 {
			f.Subgradient(l.g, l.Predict())
			return curved.UpdateCurved(l.g, c.StrongConvexity())
		}
	}
	if sparse, ok := l.Learner.(SparseLearner); ok {
		if s, ok := f.(loss.SparseFunction); ok {
			if g, ok := s.SparseSubgradient(l.Predict()); ok {
				return sparse.UpdateSparse(g)
			}
		}
	}
	f.Subgradient(l.g, l.Predict())
	return l.Update(l.g)
}

// UpdateCurved implements [Curved].
func (l *Linearized) UpdateCurved(g []float64, mu float64) error {
	return forwardCurved(l.Learner, g, mu)
}

// UpdateSparse implements [SparseLearner]. It costs O(d) if the wrapped learner is not a
// SparseLearner.
func (l *Linearized) UpdateSparse(g Sparse) error { return forwardSparse(l.Learner, g, l.g) }

// At implements [SparseLearner].
func (l *Linearized) At(i int) float64 { return at(l.Learner, i) }

// Hint implements [Hinted].
func (l *Linearized) Hint(g []float64) error { return forwardHint(l.Learner, g) }

// Features implements [FeatureLearner].
func (l *Linearized) Features(z []float64) error { return forwardFeatures(l.Learner, z) }

func (l *Linearized) checkHint(h []float64) error { return checkHint(l.Learner, h) }

func (l *Linearized) checkFeatures(z []float64) error { return checkFeatures(l.Learner, z) }

// Rounds implements [Counter], for a learner that counts; 0 for others.
func (l *Linearized) Rounds() int {
	if c, ok := l.Learner.(Counter); ok {
		return c.Rounds()
	}
	return 0
}

// Bound implements [Bounder]: that of the learner.
func (l *Linearized) Bound(u []float64) (float64, error) {
	return boundOf(l.Learner, u)
}

// MarshalBinary implements [Snapshotter]; the learner inside must be one too.
func (l *Linearized) MarshalBinary() ([]byte, error) { return marshalInner(l.Learner) }

// UnmarshalBinary implements [Snapshotter].
func (l *Linearized) UnmarshalBinary(data []byte) error { return unmarshalInner(l.Learner, data) }

// String describes the learner and its options in one line.
func (l *Linearized) String() string { return fmt.Sprintf("linearized(%s)", kindOf(l.Learner)) }

// kindOf describes a learner inside another, for the kind of its snapshot: by its String method,
// which must not depend on the state, or by its type and dimension if it has none.
func kindOf(l Learner) string {
	if s, ok := l.(fmt.Stringer); ok {
		return s.String()
	}
	return fmt.Sprintf("%T(%d)", l, l.Dim())
}

func marshalInner(l Learner) ([]byte, error) {
	s, ok := l.(Snapshotter)
	if !ok {
		return nil, noregret.BadInputf("learner", "%s cannot be saved: it is not a Snapshotter", kindOf(l))
	}
	return s.MarshalBinary()
}

func unmarshalInner(l Learner, data []byte) error {
	s, ok := l.(Snapshotter)
	if !ok {
		return noregret.BadInputf("learner", "%s cannot be restored: it is not a Snapshotter", kindOf(l))
	}
	return s.UnmarshalBinary(data)
}
