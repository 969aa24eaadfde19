package oco

import (
	"errors"

	"github.com/noregret/noregret/internal/snapshot"
)

// gradientChecker is a learner that can tell whether Update would accept a subgradient, without a
// change of its state. Learners that refuse subgradients above a Lipschitz constant are such, so
// that a wrapper of several learners can refuse a round before any of them has moved.
type gradientChecker interface{ checkGradient(g []float64) error }

// checkGradient returns the error that l.Update(g) would return, as far as the learner can tell.
func checkGradient(l Learner, g []float64) error {
	if c, ok := l.(gradientChecker); ok {
		return c.checkGradient(g)
	}
	return checkFinite("gradient", g, l.Dim())
}

// severalState is the snapshot of a wrapper of several learners.
type severalState struct {
	Rounds int
	Inner  [][]byte
}

// marshalSeveral saves the learners inside a wrapper of the given kind.
func marshalSeveral(kind string, rounds int, learners ...Learner) ([]byte, error) {
	s := severalState{Rounds: rounds}
	for _, l := range learners {
		b, err := marshalInner(l)
		if err != nil {
			return nil, err
		}
		s.Inner = append(s.Inner, b)
	}
	return snapshot.Seal(snapshotMagic, kind, &s)
}

// unmarshalSeveral restores what marshalSeveral has saved, all learners or none, and returns the
// rounds.
func unmarshalSeveral(data []byte, kind string, learners ...Learner) (rounds int, err error) {
	var s severalState
	if err := snapshot.Open(data, snapshotMagic, kind, &s); err != nil {
		return 0, err
	}
	if len(s.Inner) != len(learners) || s.Rounds < 0 {
		return 0, snapshot.Bad("damaged: it holds %d learners for %d", len(s.Inner), len(learners))
	}
	var before [][]byte
	for _, l := range learners {
		b, err := marshalInner(l)
		if err != nil {
			return 0, err
		}
		before = append(before, b)
	}
	for i, l := range learners {
		if err := unmarshalInner(l, s.Inner[i]); err != nil {
			for k := range i { // back to where they were
				err = errors.Join(err, unmarshalInner(learners[k], before[k]))
			}
			return 0, err
		}
	}
	return s.Rounds, nil
}
