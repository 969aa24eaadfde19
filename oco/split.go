package oco

import (
	"errors"
	"fmt"
	"math"

	"github.com/noregret/noregret"

	"github.com/noregret/noregret/internal/snapshot"
)

// Split plays on a product of intervals with one learner for each coordinate (Orabona 2019, section
// 4.2.4): the regret is the sum of theirs. [AdaGrad] is it, with adaptive subgradient descent in
// each coordinate.
type Split struct {
	learners []Learner
	point    []float64
	saved    []Snapshotter
	one      [1]float64
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
		return nil, noregret.BadInputf("learners", "none: want at least one")
	}
	l := &Split{learners: learners, point: make([]float64, len(learners))}
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

// Hint implements [Hinted], with each learner's coordinate of the guess.
func (l *Split) Hint(g []float64) error {
	if err := checkFinite("hint", g, l.Dim()); err != nil {
		return err
	}
	return l.each(g, forwardHint)
}

// Features implements [FeatureLearner], with each learner's coordinate of the features.
func (l *Split) Features(z []float64) error {
	if err := checkFinite("features", z, l.Dim()); err != nil {
		return err
	}
	return l.each(z, forwardFeatures)
}

// each passes to each learner its coordinate of v. If a learner after the first one fails, every
// later call returns its error.
func (l *Split) each(v []float64, f func(Learner, []float64) error) error {
	if l.failed != nil {
		return l.failed
	}
	for i, p := range l.learners {
		l.one[0] = v[i]
		if err := f(p, l.one[:]); err != nil {
			err = fmt.Errorf("coordinate %d: %w", i, err)
			if i > 0 {
				l.failed = err
			}
			return err
		}
	}
	return nil
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
