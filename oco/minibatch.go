package oco

import (
	"fmt"
	"math"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/snapshot"
	"github.com/noregret/noregret/internal/vec"
)

// MiniBatch plays each point of a learner for a batch of b rounds and hands the learner the mean of
// the batch's subgradients (Dekel, Gilad-Bachrach, Shamir and Xiao 2012). As the point is the same
// throughout a batch,
//
//	Σ_t ⟨g_t, x_t − u⟩ = b·Σ_k ⟨ḡ_k, x_k − u⟩ + ⟨G, x − u⟩,
//
// where G is the sum of the unfinished batch and x its point. The regret is b times the learner's
// over T/b rounds, so a learner of regret L·√T has √b·L·√T for the worst losses; for independent
// samples ‖ḡ‖² is smaller in return.
//
// The learner is given the strong convexity of the batch's mean loss. Features cannot be passed on,
// because a batch has one point but features for each of its rounds: MiniBatch is not a
// [FeatureLearner], and a learner that needs features, such as [VovkAzouryWarmuth], refuses its
// first batch.
//
// Guarantee (Bound): b times the learner's, and the last term. A round costs O(d), and one of the
// learner's a batch.
type MiniBatch struct {
	learner Learner
	size    int
	mean    []float64
	state   miniBatchState
}

type miniBatchState struct {
	T     int
	Sum   []float64 // of the running batch
	Mu    float64   // of the running batch, the sum of the constants given
	Given bool      // one was given
	Inner []byte    // in snapshots only
}

// NewMiniBatch wraps a learner at its start, with batches of size ≥ 1 rounds.
func NewMiniBatch(learner Learner, size int) (*MiniBatch, error) {
	if learner == nil {
		return nil, noregret.BadInputf("learner", "nil: want a learner")
	}
	if size < 1 {
		return nil, noregret.BadInputf("size", "%d: want at least 1 round a batch", size)
	}
	d := learner.Dim()
	return &MiniBatch{
		learner: learner, size: size, mean: make([]float64, d), state: miniBatchState{Sum: make([]float64, d)},
	}, nil
}

// Dim implements [Learner].
func (l *MiniBatch) Dim() int { return l.learner.Dim() }

// Rounds implements [Counter]: those played, not those of the learner.
func (l *MiniBatch) Rounds() int { return l.state.T }

// Predict implements [Learner].
func (l *MiniBatch) Predict() []float64 { return l.learner.Predict() }

// At implements [SparseLearner].
func (l *MiniBatch) At(i int) float64 { return at(l.learner, i) }

// Hint implements [Hinted], with a guess of the batch's mean subgradient. It is taken in the first
// round of a batch and ignored in the others, where the point is fixed.
func (l *MiniBatch) Hint(g []float64) error {
	if l.state.T%l.size != 0 {
		return checkFinite("hint", g, l.Dim())
	}
	return forwardHint(l.learner, g)
}

func (l *MiniBatch) checkHint(g []float64) error {
	if l.state.T%l.size != 0 {
		return checkFinite("hint", g, l.Dim())
	}
	return checkHint(l.learner, g)
}

// Update implements [Learner].
func (l *MiniBatch) Update(g []float64) error { return l.update(g, -1) }

// UpdateCurved implements [Curved]. The learner gets the mean of the batch's constants, in which
// rounds that ended with Update or UpdateSparse count as 0; without any UpdateCurved in the batch
// it gets none.
func (l *MiniBatch) UpdateCurved(g []float64, mu float64) error {
	if err := checkMu(mu); err != nil {
		return err
	}
	return l.update(g, mu)
}

func (l *MiniBatch) update(g []float64, mu float64) error {
	if err := checkFinite("gradient", g, l.Dim()); err != nil {
		return err
	}
	for i, v := range g {
		l.mean[i] = l.state.Sum[i] + v
	}
	return l.end(mu)
}

// UpdateSparse implements [SparseLearner]. It costs O(d).
func (l *MiniBatch) UpdateSparse(g Sparse) error {
	if _, err := checkSparse("gradient", g, l.Dim()); err != nil {
		return err
	}
	copy(l.mean, l.state.Sum)
	for k, i := range g.Index {
		l.mean[i] += g.Value[k]
	}
	return l.end(-1)
}

// end ends the round whose sum with the rest of the batch is in mean. A mu ≥ 0 is the strong
// convexity of its loss.
func (l *MiniBatch) end(mu float64) error {
	if !vec.IsFinite(vec.MaxAbs(l.mean)) {
		return noregret.BadInputf("gradient", "the sum of the batch leaves the range of float64")
	}
	st := &l.state
	total := st.Mu + max(mu, 0)
	if !vec.IsFinite(total) {
		return noregret.BadInputf("mu", "the sum of the batch leaves the range of float64")
	}
	given := st.Given || mu >= 0
	if (st.T+1)%l.size != 0 {
		copy(st.Sum, l.mean)
		st.Mu, st.Given = total, given
		st.T++
		return nil
	}
	for i := range l.mean {
		l.mean[i] /= float64(l.size)
	}
	var err error
	if given {
		err = forwardCurved(l.learner, l.mean, total/float64(l.size))
	} else {
		err = l.learner.Update(l.mean)
	}
	if err != nil {
		return err
	}
	clear(st.Sum)
	st.Mu, st.Given = 0, false
	st.T++
	return nil
}

// Bound implements [Bounder].
func (l *MiniBatch) Bound(u []float64) (float64, error) {
	if err := checkFinite("comparator", u, l.Dim()); err != nil {
		return 0, err
	}
	b, ok := l.learner.(Bounder)
	if !ok {
		return math.Inf(1), nil
	}
	v, err := b.Bound(u)
	if err != nil || math.IsInf(v, 1) {
		return v, err
	}
	x := l.learner.Predict()
	rest := vec.Dot(l.state.Sum, x) - vec.Dot(l.state.Sum, u)
	return orInf(float64(float64(l.size)*v) + rest), nil
}

// String describes the learner and its options in one line.
func (l *MiniBatch) String() string {
	return fmt.Sprintf("mini-batch(%s, size=%d)", kindOf(l.learner), l.size)
}

// MarshalBinary implements [Snapshotter]; the learner inside must be one too.
func (l *MiniBatch) MarshalBinary() ([]byte, error) {
	s := l.state
	var err error
	if s.Inner, err = marshalInner(l.learner); err != nil {
		return nil, err
	}
	return snapshot.Seal(snapshotMagic, l.String(), &s)
}

// UnmarshalBinary implements [Snapshotter].
func (l *MiniBatch) UnmarshalBinary(data []byte) error {
	return restore(data, l.String(), &l.state, func(s *miniBatchState) error {
		if err := checkState(l.Dim(), s.T, s.Sum); err != nil {
			return err
		}
		if err := checkMu(s.Mu); err != nil {
			return snapshot.Bad("damaged: the strong convexity of its batch is %v", s.Mu)
		}
		if err := unmarshalInner(l.learner, s.Inner); err != nil {
			return err
		}
		s.Inner = nil
		return nil
	})
}
