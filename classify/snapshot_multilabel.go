package classify

import (
	"fmt"

	"github.com/noregret/noregret/classify/measure"
)

type microState struct {
	Outputs outputsState
	Stages  stampState
	Current []Linear // nil before the first level stage
	Points  []MultilabelCheckpoint
	Buffer  []LabelsExample
	Seen    measure.MultilabelConfusion
}

func (s *MicroSTAMP) kind() string {
	return s.front.kind(fmt.Sprintf("micro-stamp labels=%d %s", len(s.lins), s.core.options()))
}

// MarshalBinary implements [encoding.BinaryMarshaler]; see [SPADE.MarshalBinary].
func (s *MicroSTAMP) MarshalBinary() ([]byte, error) {
	out, err := s.save()
	if err != nil {
		return nil, err
	}
	return seal(s.kind(), microState{
		Outputs: out, Stages: s.core.saveStages(), Current: s.current, Points: s.points, Buffer: s.buffer,
		Seen: s.labels,
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
	s.restore(&st.Outputs)
	if s.front.ready {
		s.core.begin()
	}
	s.core.restoreStages(&st.Stages)
	s.current, s.points, s.buffer = st.Current, st.Points, st.Buffer
	copy(s.labels, st.Seen)
	s.pairs = [2]int64{}
	for _, x := range s.buffer {
		s.pairs[1] += int64(len(x.Labels))
		s.pairs[0] += int64(len(s.lins) - len(x.Labels))
	}
	return nil
}

func (st *microState) check(s *MicroSTAMP) error {
	if err := st.Outputs.check(s.outputs, len(st.Buffer)); err != nil {
		return err
	}
	f, cfg, n := &st.Outputs.Front, s.front.cfg, len(s.lins)
	switch {
	case !f.Ready && cfg.Scaling != nil && cfg.MeanSquare > 0:
		return badSnapshot("damaged: it is in a burn-in, this learner has none")
	case f.Ready && !(f.Share > 0 && f.Share < 1):
		return badSnapshot("damaged: its share of positive pairs is %v", f.Share)
	case len(st.Seen) != n:
		return badSnapshot("damaged: it has the counts of %d labels, this learner has %d", len(st.Seen), n)
	case len(st.Points) > maxCheckpoints:
		return badSnapshot("damaged: it has %d checkpoints, at most %d are kept", len(st.Points), maxCheckpoints)
	case st.Current == nil && st.Stages.LevelStage:
		return badSnapshot("damaged: the models of its level stage are missing")
	}
	if err := st.Stages.check(f.Ready); err != nil {
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
			if err := checkModels([]*Linear{&g[k]}, len(st.Outputs.Lins[0].V)); err != nil {
				return err
			}
		}
	}
	labels := labelChecker{marks: make([]bool, n)}
	for i, x := range st.Buffer {
		if err := labels.mark(x.Labels, float64(i)); err != nil {
			return badSnapshot("damaged: an example held back has bad labels: %w", err)
		}
		if err := checkHeld(s.front, x.Index, x.Value, x.Weight); err != nil {
			return err
		}
	}
	return nil
}

// macroState holds the snapshot of each label's learner.
type macroState struct{ Labels [][]byte }

func (s *MacroSTAMP) marshal(kind string) ([]byte, error) {
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
	return seal(fmt.Sprintf("%s of %d", kind, len(s.labels)), st)
}

func (s *MacroSTAMP) unmarshal(kind string, data []byte) error {
	var st macroState
	if err := unseal(data, fmt.Sprintf("%s of %d", kind, len(s.labels)), &st); err != nil {
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

// MarshalBinary implements [encoding.BinaryMarshaler]; see [SPADE.MarshalBinary].
func (s *MacroSTAMP) MarshalBinary() ([]byte, error) { return s.marshal("macro-stamp") }

// UnmarshalBinary implements [encoding.BinaryUnmarshaler]; see [SPADE.UnmarshalBinary].
func (s *MacroSTAMP) UnmarshalBinary(data []byte) error { return s.unmarshal("macro-stamp", data) }

// MarshalBinary implements [encoding.BinaryMarshaler]; see [SPADE.MarshalBinary].
func (s *OneVsRest) MarshalBinary() ([]byte, error) { return s.classes.marshal("one-vs-rest") }

// UnmarshalBinary implements [encoding.BinaryUnmarshaler]; see [SPADE.UnmarshalBinary].
func (s *OneVsRest) UnmarshalBinary(data []byte) error {
	return s.classes.unmarshal("one-vs-rest", data)
}
