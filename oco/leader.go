package oco

import (
	"fmt"
	"math"
	"slices"

	"github.com/noregret/noregret"

	"github.com/noregret/noregret/convex"
	"github.com/noregret/noregret/internal/snapshot"
	"github.com/noregret/noregret/internal/vec"
)

// MeanLeader is follow-the-leader for squared distances l_t(x) = ‖x − y_t‖₂² on ℝ^d or on a set
// (Orabona 2019, Theorem 1.2 and Example 7.18): the point is the mean of the y so far, projected.
// In one dimension it plays the number-guessing game. Its start is a parameter, because no
// past defines it.
//
// As the losses are squared distances, a subgradient determines them: y = x − g/2. UpdateTarget
// takes y itself.
//
// Guarantee (Bound): Σ ‖g_t‖²/(4t), at most 4L²(1 + ln T) for ‖y_t‖, ‖x_1‖ ≤ L, and 4 + 4·ln T on
// [0, 1] (Corollary 7.17). It is the descent of [SubgradientDescent] with rate 1/(2t). A round
// costs O(d) and a projection; memory is O(d).
type MeanLeader struct {
	set   convex.Set
	state meanLeaderState
	work  []float64
	text  string
}

type meanLeaderState struct {
	T       int
	Mean, X []float64
	Spent   sum
}

// NewMeanLeader plays in set, first start; nil is the projection of the origin.
func NewMeanLeader(set convex.Set, start []float64) (*MeanLeader, error) {
	if set == nil {
		return nil, noregret.BadInputf("set", "nil: want a set")
	}
	x, err := startIn(set, start)
	if err != nil {
		return nil, err
	}
	l := &MeanLeader{
		set: set, work: make([]float64, len(x)),
		text: fmt.Sprintf("mean-leader(%v, start=%s)", set, digest(x)),
	}
	l.state.X, l.state.Mean = x, slices.Clone(x)
	return l, nil
}

// Dim implements [Learner].
func (l *MeanLeader) Dim() int { return len(l.work) }

// Rounds implements [Counter].
func (l *MeanLeader) Rounds() int { return l.state.T }

// Predict implements [Learner].
func (l *MeanLeader) Predict() []float64 { return l.state.X }

// Update implements [Learner], with g = 2(x − y).
func (l *MeanLeader) Update(g []float64) error {
	if err := checkFinite("gradient", g, l.Dim()); err != nil {
		return err
	}
	for i, v := range g {
		l.work[i] = l.state.X[i] - float64(v/2)
	}
	return l.UpdateTarget(l.work)
}

// UpdateTarget ends the round with the loss ‖x − y‖².
func (l *MeanLeader) UpdateTarget(y []float64) error {
	if err := checkFinite("target", y, l.Dim()); err != nil {
		return err
	}
	st := &l.state
	for i, v := range y {
		if !vec.IsFinite(2 * (v - st.Mean[i])) {
			return noregret.BadInputf(fmt.Sprintf("target[%d]", i),
				"%v: its distance to the mean %v leaves the range of float64", v, st.Mean[i])
		}
	}
	st.T++
	t := float64(st.T)
	var square sum
	for i, v := range y {
		square.add((st.X[i] - v) * (st.X[i] - v))
		if st.T == 1 {
			st.Mean[i] = v
		} else {
			st.Mean[i] += (v - st.Mean[i]) / t
		}
	}
	st.Spent.add(square.value() / t) // ‖g‖²/(4t)
	l.set.Project(st.X, st.Mean)
	return nil
}

// Bound implements [Bounder].
func (l *MeanLeader) Bound(u []float64) (float64, error) {
	if inside, err := comparator(u, l.set); err != nil || !inside {
		return math.Inf(1), err
	}
	return orInf(l.state.Spent.value()), nil
}

// String describes the learner and its options in one line.
func (l *MeanLeader) String() string { return l.text }

// MarshalBinary implements [Snapshotter].
func (l *MeanLeader) MarshalBinary() ([]byte, error) {
	return snapshot.Seal(snapshotMagic, l.text, &l.state)
}

// UnmarshalBinary implements [Snapshotter].
func (l *MeanLeader) UnmarshalBinary(data []byte) error {
	return restore(data, l.text, &l.state, func(s *meanLeaderState) error {
		return checkState(l.Dim(), s.T, s.X, s.Mean)
	})
}
