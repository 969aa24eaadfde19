package oco

import (
	"errors"
	"fmt"
	"math"

	"github.com/noregret/noregret"

	"github.com/noregret/noregret/internal/snapshot"
)

// Split plays on a product of intervals with one learner for each coordinate (Orabona 2019, section
// 4.2.4): the regret is the sum of theirs. [AdaGrad] is Split with adaptive subgradient descent
// in each coordinate.
//
// Each learner gets its coordinate of hints and features, and the strong convexity of the loss, as
// (μ/2)‖x − u‖² is a sum over coordinates. A squared loss ½(⟨z, x⟩ − y)² is not such a sum, so the
// bound of [VovkAzouryWarmuth] in each coordinate holds only for losses that are sums of squared
// losses of one coordinate each. A sparse subgradient goes to all learners, in O(d), because their
// steps may depend on the number of rounds.
type Split struct {
	learners []Learner
	point    []float64
	saved    []Snapshotter
	one      [1]float64
	dense    []float64 // a sparse subgradient
	rounds   int
	failed   error
}

type splitState struct {
	Rounds int
	Inner  [][]byte
}

// NewSplit plays with learners of dimension 1, at their starts.
func NewSplit(learners ...Learner) (*Split, error) {
	if len(learners) == 0 {
		return nil, noregret.BadInputf("learners", "none: at least one is required")
	}
	l := &Split{learners: learners, point: make([]float64, len(learners)), dense: make([]float64, len(learners))}
	for i, p := range learners {
		if p == nil || p.Dim() != 1 {
			return nil, noregret.BadInputf(fmt.Sprintf("learners[%d]", i), "want a learner of dimension 1")
		}
		if s, ok := p.(Snapshotter); ok {
			l.saved = append(l.saved, s)
		}
	}
	return l, nil
}

// Dim implements [Learner].
func (l *Split) Dim() int { return len(l.learners) }

// Rounds implements [Counter].
func (l *Split) Rounds() int { return l.rounds }

// Predict implements [Learner].
func (l *Split) Predict() []float64 {
	for i, p := range l.learners {
		l.point[i] = p.Predict()[0]
	}
	return l.point
}

// Update implements [Learner]. A subgradient that is not finite or of the wrong length changes
// nothing. If a learner refuses its coordinate for a reason of its own (a horizon, the range of
// float64) after others have moved, Update returns that error from then on, until a snapshot is
// restored.
func (l *Split) Update(g []float64) error {
	if err := checkFinite("gradient", g, l.Dim()); err != nil {
		return err
	}
	if err := l.each(g, Learner.Update); err != nil {
		return err
	}
	l.rounds++
	return nil
}

// UpdateCurved implements [Curved], like Update.
func (l *Split) UpdateCurved(g []float64, mu float64) error {
	if err := checkMu(mu); err != nil {
		return err
	}
	if err := checkFinite("gradient", g, l.Dim()); err != nil {
		return err
	}
	err := l.each(g, func(p Learner, g []float64) error { return forwardCurved(p, g, mu) })
	if err != nil {
		return err
	}
	l.rounds++
	return nil
}

// UpdateSparse implements [SparseLearner], like Update. It costs O(d).
func (l *Split) UpdateSparse(g Sparse) error {
	if _, err := checkSparse("gradient", g, l.Dim()); err != nil {
		return err
	}
	scatter(l.dense, g)
	return l.Update(l.dense)
}

// At implements [SparseLearner].
func (l *Split) At(i int) float64 { return at(l.learners[i], 0) }

// Hint implements [Hinted], with each learner's coordinate of the guess. If a learner of this
// package refuses its coordinate, no learner gets one; a refusal of another package's learner,
// after others have taken theirs, is as for Update.
func (l *Split) Hint(g []float64) error {
	if err := l.checkHint(g); err != nil {
		return err
	}
	return l.each(g, forwardHint)
}

// Features implements [FeatureLearner], with each learner's coordinate of the features. Refusals
// are as for Hint.
func (l *Split) Features(z []float64) error {
	if err := l.checkFeatures(z); err != nil {
		return err
	}
	return l.each(z, forwardFeatures)
}

func (l *Split) checkHint(g []float64) error { return l.ask("hint", g, checkHint) }

func (l *Split) checkFeatures(z []float64) error { return l.ask("features", z, checkFeatures) }

// each passes to each learner its coordinate of v. If a learner after the first one fails, every
// later call returns its error.
func (l *Split) each(v []float64, f func(Learner, []float64) error) error {
	if l.failed != nil {
		return l.failed
	}
	i, err := l.first(v, f)
	if i > 0 {
		l.failed = err
	}
	return err
}

// first calls f for each learner and its coordinate of v until one returns an error, and returns
// that error and the coordinate.
func (l *Split) first(v []float64, f func(Learner, []float64) error) (i int, err error) {
	for i, p := range l.learners {
		l.one[0] = v[i]
		if err := f(p, l.one[:]); err != nil {
			return i, fmt.Errorf("coordinate %d: %w", i, err)
		}
	}
	return 0, nil
}

// ask is first for an f that changes no learner; name is the name of v in errors.
func (l *Split) ask(name string, v []float64, f func(Learner, []float64) error) error {
	if l.failed != nil {
		return l.failed
	}
	if err := checkFinite(name, v, l.Dim()); err != nil {
		return err
	}
	_, err := l.first(v, f)
	return err
}

// Bound implements [Bounder]: the sum of the learners' bounds.
func (l *Split) Bound(u []float64) (float64, error) {
	if err := checkFinite("comparator", u, l.Dim()); err != nil {
		return 0, err
	}
	var total sum
	for i, p := range l.learners {
		b, ok := p.(Bounder)
		if !ok {
			return math.Inf(1), nil
		}
		v, err := b.Bound(u[i : i+1])
		if err != nil {
			return 0, err
		}
		total.add(v)
	}
	return orInf(total.value()), nil
}

// String describes the learner and its options in one line.
func (l *Split) String() string {
	kinds := make([]string, len(l.learners))
	for i, p := range l.learners {
		kinds[i] = kindOf(p)
	}
	return fmt.Sprintf("split%v", kinds)
}

// MarshalBinary implements [Snapshotter]; the learners inside must be so too.
func (l *Split) MarshalBinary() ([]byte, error) {
	if l.failed != nil {
		return nil, l.failed
	}
	if len(l.saved) != len(l.learners) {
		return nil, noregret.BadInputf("learners", "some of them cannot be saved")
	}
	s := splitState{Rounds: l.rounds}
	for _, p := range l.saved {
		b, err := p.MarshalBinary()
		if err != nil {
			return nil, err
		}
		s.Inner = append(s.Inner, b)
	}
	return snapshot.Seal(snapshotMagic, l.String(), &s)
}

// UnmarshalBinary implements [Snapshotter].
func (l *Split) UnmarshalBinary(data []byte) error {
	var s splitState
	if err := snapshot.Open(data, snapshotMagic, l.String(), &s); err != nil {
		return err
	}
	if len(s.Inner) != len(l.saved) || s.Rounds < 0 {
		return snapshot.Bad("damaged: it holds %d learners for %d", len(s.Inner), len(l.saved))
	}
	var before [][]byte
	for _, p := range l.saved {
		b, err := p.MarshalBinary()
		if err != nil {
			return err
		}
		before = append(before, b)
	}
	for i, p := range l.saved {
		if err := p.UnmarshalBinary(s.Inner[i]); err != nil {
			for k := range i { // back to where they were
				err = errors.Join(err, l.saved[k].UnmarshalBinary(before[k]))
			}
			return err
		}
	}
	l.rounds, l.failed = s.Rounds, nil
	return nil
}
