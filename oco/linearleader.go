package oco

import (
	"fmt"
	"math"

	"github.com/noregret/noregret"

	"github.com/noregret/noregret/convex"
	"github.com/noregret/noregret/internal/snapshot"
	"github.com/noregret/noregret/internal/vec"
)

// LinearLeader is follow-the-leader on linear losses, x_t = argmin_{x∈V} Σ_{i<t} ⟨g_i, x⟩ over a
// bounded set; it stays where it is while the sum is 0. It is a baseline: its regret can be
// T (Orabona 2019, Example 2.10), and Bound is +Inf. A round costs O(d) and a linear minimization;
// memory is O(d).
type LinearLeader struct {
	set   convex.Set
	state linearLeaderState
	work  []float64
	text  string
}

type linearLeaderState struct {
	Dual dualSum
	X    []float64
}

// NewLinearLeader plays in a bounded set, first start; nil is the projection of the origin.
func NewLinearLeader(set convex.Set, start []float64) (*LinearLeader, error) {
	if set == nil || math.IsInf(set.Diameter(), 1) {
		return nil, noregret.BadInputf("set", "%v: want a bounded set", set)
	}
	x, err := startIn(set, start)
	if err != nil {
		return nil, err
	}
	l := &LinearLeader{
		set: set, work: make([]float64, len(x)),
		text: fmt.Sprintf("linear-leader(%v, start=%s)", set, digest(x)),
	}
	l.state.X, l.state.Dual.Theta = x, make([]float64, len(x))
	return l, nil
}

// Dim implements [Learner].
func (l *LinearLeader) Dim() int { return len(l.work) }

// Rounds implements [Counter].
func (l *LinearLeader) Rounds() int { return l.state.Dual.T }

// Predict implements [Learner].
func (l *LinearLeader) Predict() []float64 { return l.state.X }

// Update implements [Learner].
func (l *LinearLeader) Update(g []float64) error {
	largest, err := l.state.Dual.check(g)
	if err != nil {
		return err
	}
	for i, v := range l.state.Dual.Theta {
		l.work[i] = g[i] - v
	}
	if vec.MaxAbs(l.work) != 0 {
		if _, err := l.set.Minimize(l.state.X, l.work); err != nil {
			return err
		}
	}
	l.state.Dual.subtract(g, largest)
	return nil
}

// Bound implements [Bounder]: there is no guarantee.
func (l *LinearLeader) Bound(u []float64) (float64, error) {
	_, err := comparator(u, l.set)
	return math.Inf(1), err
}

// String describes the learner and its options in one line.
func (l *LinearLeader) String() string { return l.text }

// MarshalBinary implements [Snapshotter].
func (l *LinearLeader) MarshalBinary() ([]byte, error) {
	return snapshot.Seal(snapshotMagic, l.text, &l.state)
}

// UnmarshalBinary implements [Snapshotter].
func (l *LinearLeader) UnmarshalBinary(data []byte) error {
	return restore(data, l.text, &l.state, func(s *linearLeaderState) error {
		return checkState(l.Dim(), s.Dual.T, s.X, s.Dual.Theta)
	})
}
