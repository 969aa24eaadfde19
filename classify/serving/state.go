package serving

import (
	"math"
	"slices"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/classify"
	"github.com/noregret/noregret/classify/measure"
	"github.com/noregret/noregret/internal/snapshot"
)

const stateMagic = "noregret-score-2\n"

// state is the whole state of a service, but not the model.
type state struct {
	Counts                Counts
	Entries               []entry
	Window                []outcome // oldest first
	Two                   measure.Confusion
	Classes               []float64 // of each class the numbers of the predicted ones
	Labels                []measure.Confusion
	Weight, Exact, Square float64
	Learner               []byte
	Stopped               string
	Rival                 rival
}

func (s *Service) kind() (string, error) {
	sum, err := s.model.Checksum()
	return "score of " + sum, err
}

// MarshalBinary implements [encoding.BinaryMarshaler]: what waits for labels, the figures, the
// counts and what was learned, but not the model. Going on after UnmarshalBinary into a service of
// the same model and options is bit-identical.
//
// Predictions and labels wait only while the state is copied, not while it is encoded; but a model
// that learns is encoded meanwhile, O(d).
func (s *Service) MarshalBinary() ([]byte, error) {
	kind, err := s.kind()
	if err != nil {
		return nil, err
	}
	st, err := s.copyState()
	if err != nil {
		return nil, err
	}
	return snapshot.Seal(stateMagic, kind, st)
}

// copyState copies the state. The rows and answers of entries are shared, as they never change.
func (s *Service) copyState() (st state, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	st = state{
		Counts: s.counts, Entries: slices.Clone(s.waiting.entries), Window: s.window.list(), Two: s.total.Two,
		Labels: slices.Clone(s.total.Labels), Weight: s.total.Weight, Exact: s.total.Exact, Square: s.total.Square,
	}
	if s.model.Task == classify.Multiclass {
		k := s.total.Classes.Classes()
		for c := range k {
			for p := range k {
				st.Classes = append(st.Classes, s.total.Classes.Count(c, p))
			}
		}
	}
	if s.stopped != nil {
		st.Stopped = s.stopped.Error()
	}
	if s.learner != nil {
		st.Learner, err = s.learner.MarshalBinary()
		st.Rival = s.rival
		st.Rival.Disagree = slices.Clone(s.rival.Disagree)
	}
	return st, err
}

// UnmarshalBinary implements [encoding.BinaryUnmarshaler]. A state that is damaged or of another
// model is refused with an error of code bad_input, one that has learned with an error of code
// usage unless the service learns, and the service is as it was. Smaller windows and less room than
// those of the state drop the oldest.
func (s *Service) UnmarshalBinary(data []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	kind, err := s.kind()
	if err != nil {
		return err
	}
	var st state
	if err := snapshot.Open(data, stateMagic, kind, &st); err != nil {
		return err
	}
	if err := s.checkState(&st); err != nil {
		return err
	}
	total, err := newConfusion(s.model)
	if err != nil {
		return err
	}
	total.Two, total.Weight, total.Exact, total.Square = st.Two, st.Weight, st.Exact, st.Square
	copy(total.Labels, st.Labels)
	for i, n := range st.Classes {
		k := total.Classes.Classes()
		total.Classes.Add(i/k, i%k, n)
	}
	learner := s.learner
	if st.Learner != nil {
		if learner, err = classify.Continue(s.model); err != nil {
			return err
		}
		if err := learner.UnmarshalBinary(st.Learner); err != nil {
			return err
		}
		learned, held := learner.Learned()
		if s.learner == nil && learned+held > 0 {
			return noregret.Errorf(noregret.Usage, "learn", "the model has learned from %d labels, and %d more "+
				"are held back: want a service that learns", learned, held)
		}
		if s.learner == nil {
			learner = nil
		}
	}
	s.learner, s.stopped = learner, nil
	s.rival = newRival(s.model).restore(st.Rival)
	if st.Stopped != "" && learner != nil {
		s.stopped = noregret.Errorf(noregret.Diverged, "", "%s", st.Stopped)
	}
	s.total, s.counts = total, st.Counts
	s.window = outcomes{ring: st.Window[max(0, len(st.Window)-s.opt.Window):]}
	s.waiting = waiting{most: s.opt.MaxWaiting, mostBytes: s.opt.MaxBytes}
	for _, e := range st.Entries {
		s.counts.Dropped += s.waiting.add(e)
	}
	return nil
}

// checkState returns an error if a state is not one of the model.
func (s *Service) checkState(st *state) error {
	last := st.Counts.Predictions
	for i := range st.Entries {
		e := &st.Entries[i]
		if want := last - uint64(len(st.Entries)-1-i); uint64(len(st.Entries)) > last || e.Number != want {
			return snapshot.Bad("damaged: row %d of %d has the number %d", i, last, e.Number)
		}
		if e.Labelled {
			if len(e.Index)+len(e.Scores) > 0 || !s.isAnswer(e.Labels) {
				return snapshot.Bad("damaged: the label of row %d", e.Number)
			}
			continue
		}
		if !s.isRow(e) || !s.isOutcome(&outcome{
			Predicted: e.Predicted, Labels: e.Predicted, Scores: e.Scores, Probabilities: e.Probabilities,
		}) {
			return snapshot.Bad("damaged: row %d", e.Number)
		}
	}
	for i := range st.Window {
		if !s.isOutcome(&st.Window[i]) {
			return snapshot.Bad("damaged: outcome %d", i)
		}
	}
	k := len(s.model.Models)
	classes, labels := 0, 0
	switch s.model.Task {
	case classify.Multiclass:
		classes = k * k
	case classify.Multilabel:
		labels = k
	}
	if len(st.Classes) != classes || len(st.Labels) != labels {
		return snapshot.Bad("damaged: counts of %d classes and %d labels", len(st.Classes), len(st.Labels))
	}
	if n := len(st.Rival.Disagree); st.Rival.Block < 0 || n > blockRows {
		return snapshot.Bad("damaged: %d rows of disagreement in block %d", n, st.Rival.Block)
	}
	counts := append(slices.Clone(st.Classes), st.Weight, st.Exact, st.Square)
	for _, c := range append(slices.Clone(st.Labels), st.Two, st.Rival.Learned, st.Rival.Start) {
		counts = append(counts, c.TP, c.FN, c.TN, c.FP)
	}
	for _, n := range counts {
		if !(n >= 0) || n > 1<<53 || n != math.Trunc(n) {
			return snapshot.Bad("damaged: the count %v", n)
		}
	}
	if st.Weight < float64(len(st.Window)) {
		return snapshot.Bad("damaged: %v rows, %d in the window", st.Weight, len(st.Window))
	}
	return nil
}

// isRow reports whether the row of an entry is one of the model, and that which its id names.
func (s *Service) isRow(e *entry) bool {
	if len(e.Index) != len(e.Value) || checkOf(e.Number, e.Index, e.Value) != e.Check {
		return false
	}
	for j, i := range e.Index {
		if int64(i) >= int64(s.model.Dim()) || j > 0 && e.Index[j-1] >= i || e.Value[j]-e.Value[j] != 0 {
			return false
		}
	}
	return true
}

// isAnswer reports whether labels are those of a row.
func (s *Service) isAnswer(labels []int) bool {
	for i, k := range labels {
		if k < 0 || k >= len(s.model.Models) || i > 0 && labels[i-1] >= k {
			return false
		}
	}
	return s.model.Task != classify.Multiclass || len(labels) == 1
}

func (s *Service) isOutcome(o *outcome) bool {
	k := len(s.model.Models)
	finite := !slices.ContainsFunc(slices.Concat(o.Scores, o.Probabilities), func(z float64) bool { return z-z != 0 })
	return finite && len(o.Scores) == k && (len(o.Probabilities) == 0 || len(o.Probabilities) == k) &&
		s.isAnswer(o.Predicted) && s.isAnswer(o.Labels)
}
