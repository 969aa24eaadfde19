package classify

import (
	"fmt"

	"github.com/noregret/noregret/classify/measure"
)

type microState struct {
	Common  commonState
	Stages  stampState
	Current []Linear // nil before the first level stage
	Points  []MultilabelCheckpoint
	Seen    measure.MultilabelConfusion
}

func (s *MicroSTAMP) kind() string {
	return s.online.kind(fmt.Sprintf("micro-stamp labels=%d %s", len(s.lins), s.core.options()))
}

// MarshalBinary implements [encoding.BinaryMarshaler]; see [SPADE.MarshalBinary].
func (s *MicroSTAMP) MarshalBinary() ([]byte, error) {
	common, err := s.save()
	if err != nil {
		return nil, err
	}
	return seal(s.kind(), microState{
		Common: common, Stages: s.core.saveStages(), Current: s.current, Points: s.points, Seen: s.labels,
	})
}

// UnmarshalBinary implements [encoding.BinaryUnmarshaler]; see [SPADE.UnmarshalBinary].
func (s *MicroSTAMP) UnmarshalBinary(data []byte) error {
	st := new(microState)
	if err := unseal(data, s.kind(), st); err != nil {
		return err
	}
	if err := st.check(s); err != nil {
		return err
	}
	s.core.level = st.Stages.Level
	s.restore(&st.Common)
	s.core.restoreStages(&st.Stages)
	s.current, s.points = st.Current, st.Points
	copy(s.labels, st.Seen)
	return nil
}

func (st *microState) check(s *MicroSTAMP) error {
	if err := st.Common.check(s.online); err != nil {
		return err
	}
	n := len(s.lins)
	switch {
	case len(st.Seen) != n:
		return badSnapshot("damaged: it has the counts of %d labels, this learner has %d", len(st.Seen), n)
	case len(st.Points) > maxCheckpoints:
		return badSnapshot("damaged: it has %d checkpoints, at most %d are kept", len(st.Points), maxCheckpoints)
	case st.Current == nil && st.Stages.LevelStage:
		return badSnapshot("damaged: the models of its level stage are missing")
	}
	if err := st.Stages.check(st.Common.Ready); err != nil {
		return err
	}
	groups := [][]Linear{}
	for _, p := range st.Points {
		groups = append(groups, p.Models)
	}
	if st.Current != nil {
		groups = append(groups, st.Current)
	}
	for _, g := range groups {
		if len(g) != n {
			return badSnapshot("damaged: it has %d models at once, this learner has %d labels", len(g), n)
		}
		for k := range g {
			if err := checkModels([]*Linear{&g[k]}, len(st.Common.Lins[0].V)); err != nil {
				return err
			}
		}
	}
	return nil
}

// macroState holds the snapshot of each label's learner.
type macroState struct{ Labels [][]byte }

func (s *MacroSTAMP) kind() string {
	if s.checker.exclusive {
		return fmt.Sprintf("one-vs-rest of %d", len(s.labels))
	}
	return fmt.Sprintf("macro-stamp of %d", len(s.labels))
}

// MarshalBinary implements [encoding.BinaryMarshaler]; see [SPADE.MarshalBinary].
func (s *MacroSTAMP) MarshalBinary() ([]byte, error) {
	if s.failed != nil {
		return nil, s.failed
	}
	var st macroState
	for _, l := range s.labels {
		one, err := l.MarshalBinary()
		if err != nil {
			return nil, err
		}
		st.Labels = append(st.Labels, one)
	}
	return seal(s.kind(), st)
}

// UnmarshalBinary implements [encoding.BinaryUnmarshaler]; see [SPADE.UnmarshalBinary].
func (s *MacroSTAMP) UnmarshalBinary(data []byte) error {
	var st macroState
	if err := unseal(data, s.kind(), &st); err != nil {
		return err
	}
	if len(st.Labels) != len(s.labels) {
		return badSnapshot("damaged: it has %d labels, this learner has %d", len(st.Labels), len(s.labels))
	}
	// Check all learners before restoring any.
	states := make([]*learnerState, len(s.labels))
	for k, l := range s.labels {
		var err error
		if states[k], err = l.decodeSTAMP(st.Labels[k]); err != nil {
			return err
		}
	}
	for k, l := range s.labels {
		l.restoreSTAMP(states[k])
	}
	s.failed = nil
	return nil
}
