package oco

import (
	"fmt"
	"math"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/convex"
	"github.com/noregret/noregret/internal/vec"
)

// Constrained makes a learner on ℝ^d play in a closed convex set V: the reduction of Cutkosky and
// Orabona (2018), in the form of Cutkosky (2020), whose regret is not twice
// the learner's. The learner plays y_t, Constrained plays the projection x_t = Π_V(y_t). With v =
// (y_t − x_t)/‖y_t − x_t‖ the learner gets
//
//	g̃_t = g_t − min(⟨g_t, v⟩, 0)·v,
//
// g_t without what would drive y_t farther out of V. Then ‖g̃_t‖₂ ≤ ‖g_t‖₂, and ⟨g_t, x_t − u⟩ ≤
// ⟨g̃_t, y_t − u⟩ for every u ∈ V. On a box each coordinate is treated so by itself: |g̃_{t,i}| ≤
// |g_{t,i}|, which is 0 where y_{t,i} is beyond a side and g_t drives it on.
//
// Guarantee (Bound): the learner's, for u in the set. For a set other than a box, a learner that
// must know a Lipschitz constant must get that of the Euclidean norm. Where y_t misses the set by a
// rounding only, g̃_t is g_t.
//
// Hints pass unchanged. Features and strong convexity do not pass, as they belong to losses at x_t
// and not at y_t. A round costs a projection; on a box a sparse round costs O(nnz) if the learner's
// does.
type Constrained struct {
	learner Learner
	set     convex.Set
	lower   []float64 // nil unless the set is a box
	upper   []float64
	point   []float64
	reduced []float64 // g̃
	dense   []float64
	fresh   bool
}

// NewConstrained plays in the set with a learner on ℝ^d at its start.
func NewConstrained(learner Learner, set convex.Set) (*Constrained, error) {
	if learner == nil || set == nil {
		return nil, noregret.BadInputf("learner", "nil: want a learner and a set")
	}
	d := learner.Dim()
	if set.Dim() != d {
		return nil, noregret.BadInputf("set", "its dimension is %d, the learner's is %d", set.Dim(), d)
	}
	l := &Constrained{
		learner: learner, set: set, point: make([]float64, d), reduced: make([]float64, d), dense: make([]float64, d),
	}
	if box, ok := set.(*convex.Box); ok {
		l.lower, l.upper = sides(box)
	}
	return l, nil
}

// Dim implements [Learner].
func (l *Constrained) Dim() int { return len(l.point) }

// Rounds implements [Counter].
func (l *Constrained) Rounds() int { return roundsOf(l.learner) }

// Predict implements [Learner].
func (l *Constrained) Predict() []float64 {
	if !l.fresh {
		l.set.Project(l.point, l.learner.Predict())
		l.fresh = true
	}
	return l.point
}

// At implements [SparseLearner].
func (l *Constrained) At(i int) float64 {
	if l.lower == nil || l.fresh {
		return l.Predict()[i]
	}
	return min(max(at(l.learner, i), l.lower[i]), l.upper[i])
}

// Hint implements [Hinted].
func (l *Constrained) Hint(h []float64) error {
	l.fresh = false
	return forwardHint(l.learner, h)
}

func (l *Constrained) checkHint(h []float64) error { return checkHint(l.learner, h) }

// blocks reports whether coordinate i of the learner's point, y, is beyond a side of the box and a
// subgradient g would drive it on.
func (l *Constrained) blocks(i int, y, g float64) bool {
	return y > l.upper[i] && g < 0 || y < l.lower[i] && g > 0
}

// reduce writes g̃ to l.reduced.
func (l *Constrained) reduce(g []float64) error {
	if err := checkFinite("gradient", g, l.Dim()); err != nil {
		return err
	}
	copy(l.reduced, g)
	y := l.learner.Predict()
	if l.lower != nil {
		for i, v := range g {
			if l.blocks(i, y[i], v) {
				l.reduced[i] = 0
			}
		}
		return nil
	}
	x := l.Predict()
	n := vec.Distance2(y, x)
	if !(n > 0x1p-40*vec.Norm2(x)) { // also where the distance of 0 from itself is 0
		return nil
	}
	var along float64
	for i, v := range g {
		along += float64(v * ((y[i] - x[i]) / n))
	}
	if !vec.IsFinite(along) {
		return noregret.BadInputf("gradient", "its part towards the set leaves the range of float64")
	}
	if along < 0 {
		for i := range g {
			l.reduced[i] -= float64(along * ((y[i] - x[i]) / n))
		}
	}
	return nil
}

func (l *Constrained) checkGradient(g []float64) error {
	if err := l.reduce(g); err != nil {
		return err
	}
	return checkGradient(l.learner, l.reduced)
}

// Update implements [Learner].
func (l *Constrained) Update(g []float64) error {
	if err := l.reduce(g); err != nil {
		return err
	}
	if err := l.learner.Update(l.reduced); err != nil {
		return err
	}
	l.fresh = false
	return nil
}

// UpdateSparse implements [SparseLearner].
func (l *Constrained) UpdateSparse(g Sparse) error {
	if _, err := checkSparse("gradient", g, l.Dim()); err != nil {
		return err
	}
	if _, ok := l.learner.(SparseLearner); !ok || l.lower == nil {
		scatter(l.dense, g)
		return l.Update(l.dense)
	}
	values := l.reduced[:len(g.Value)]
	for k, i := range g.Index {
		values[k] = g.Value[k]
		if l.blocks(int(i), at(l.learner, int(i)), g.Value[k]) {
			values[k] = 0
		}
	}
	if err := forwardSparse(l.learner, Sparse{Index: g.Index, Value: values}, l.dense); err != nil {
		return err
	}
	l.fresh = false
	return nil
}

// Bound implements [Bounder].
func (l *Constrained) Bound(u []float64) (float64, error) {
	if inside, err := comparator(u, l.set); err != nil || !inside {
		return math.Inf(1), err
	}
	return boundOf(l.learner, u)
}

// String describes the learner and its options in one line.
func (l *Constrained) String() string {
	return fmt.Sprintf("constrained(%s, %v)", kindOf(l.learner), l.set)
}

// MarshalBinary implements [Snapshotter]; the learner inside must be one too.
func (l *Constrained) MarshalBinary() ([]byte, error) {
	return marshalSeveral(l.String(), 0, l.learner)
}

// UnmarshalBinary implements [Snapshotter].
func (l *Constrained) UnmarshalBinary(data []byte) error {
	l.fresh = false
	_, err := unmarshalSeveral(data, l.String(), l.learner)
	return err
}
