package oco

import (
	"fmt"

	"github.com/noregret/noregret"
)

// RepeatHint gives a [Hinted] learner each subgradient as the hint of the next round (Chiang et al.
// 2012; Orabona 2019, section 7.11): the regret then depends on how much subgradients change from
// round to round, Σ‖g_t − g_{t−1}‖*². [LastHint] does the same for [OptimisticFTRL]. Bound is that
// of the learner. A round costs one call of Hint more.
//
// Features, sparse subgradients and strong convexity go to the learner. As a hint is dense, a
// sparse round costs O(d). A call of Hint replaces the hint of the round.
type RepeatHint struct {
	Hinted
	dense []float64 // a sparse subgradient
}

// NewRepeatHint wraps a learner at its start.
func NewRepeatHint(learner Hinted) (*RepeatHint, error) {
	if learner == nil {
		return nil, noregret.BadInputf("learner", "nil: want a learner that takes hints")
	}
	return &RepeatHint{learner, make([]float64, learner.Dim())}, nil
}

// Update implements [Learner]. A hint that the learner refuses is dropped.
func (l *RepeatHint) Update(g []float64) error {
	if err := l.Hinted.Update(g); err != nil {
		return err
	}
	_ = l.Hint(g)
	return nil
}

// UpdateCurved implements [Curved], like Update.
func (l *RepeatHint) UpdateCurved(g []float64, mu float64) error {
	if err := forwardCurved(l.Hinted, g, mu); err != nil {
		return err
	}
	_ = l.Hint(g)
	return nil
}

// UpdateSparse implements [SparseLearner], like Update.
func (l *RepeatHint) UpdateSparse(g Sparse) error {
	if err := forwardSparse(l.Hinted, g, l.dense); err != nil {
		return err
	}
	scatter(l.dense, g)
	_ = l.Hint(l.dense)
	return nil
}

// At implements [SparseLearner].
func (l *RepeatHint) At(i int) float64 { return at(l.Hinted, i) }

// Features implements [FeatureLearner].
func (l *RepeatHint) Features(z []float64) error { return forwardFeatures(l.Hinted, z) }

func (l *RepeatHint) checkHint(h []float64) error { return checkHint(l.Hinted, h) }

func (l *RepeatHint) checkFeatures(z []float64) error { return checkFeatures(l.Hinted, z) }

// Rounds implements [Counter], for a learner that counts; 0 for others.
func (l *RepeatHint) Rounds() int {
	if c, ok := l.Hinted.(Counter); ok {
		return c.Rounds()
	}
	return 0
}

// Bound implements [Bounder]: that of the learner.
func (l *RepeatHint) Bound(u []float64) (float64, error) { return boundOf(l.Hinted, u) }

// String describes the learner and its options in one line.
func (l *RepeatHint) String() string { return fmt.Sprintf("repeat-hint(%s)", kindOf(l.Hinted)) }

// MarshalBinary implements [Snapshotter]; the learner inside must be one too.
func (l *RepeatHint) MarshalBinary() ([]byte, error) { return marshalInner(l.Hinted) }

// UnmarshalBinary implements [Snapshotter].
func (l *RepeatHint) UnmarshalBinary(data []byte) error { return unmarshalInner(l.Hinted, data) }
