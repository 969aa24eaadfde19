package classify

import "github.com/noregret/noregret"

// OneVsRestConfig holds the options of [OneVsRest]. Classes and Measure are required. The zero
// value is refused.
type OneVsRestConfig struct {
	// STAMPConfig holds the options of each class's learner. Positives and PriorPositives must be
	// 0: see Shares.
	STAMPConfig
	// Classes is C ≥ 2.
	Classes int
	// Shares holds the known shares of the classes, in (0, 1); nil estimates them on the stream.
	Shares []float64
}

// OneVsRest is a heuristic for the macro average of a pseudo-linear measure, such as macro-F₁, in a
// single-label problem of C classes. With one decision per example the macro average is a sum of C
// ratios of counts that depend on each other; it is neither pseudo-linear nor concave in the
// recalls, and no learner here maximizes it with a guarantee. OneVsRest trains one [STAMP] for each
// class against the rest, which would be right if an example could get several classes or none,
// gives each class its own threshold on held-out data ([OneVsRest.Choose]), and predicts the class
// whose score exceeds its threshold by the most or falls short of it by the least. Micro-F₁ needs
// none of this: it is plain accuracy.
//
// Cost: O(C·nnz) time per example, O(C·d·log T) memory. Deterministic; not safe for concurrent use.
type OneVsRest struct {
	classes *MacroSTAMP
	one     [1]int
}

// NewOneVsRest returns a learner for the given options. It fails with an error of code usage when
// one is missing or out of its range.
func NewOneVsRest(opt OneVsRestConfig) (*OneVsRest, error) {
	if err := paramClasses.check(float64(opt.Classes)); err != nil {
		return nil, err
	}
	m, err := newMacroSTAMP(MultilabelConfig{STAMPConfig: opt.STAMPConfig, Labels: opt.Classes, Shares: opt.Shares})
	if err != nil {
		return nil, err
	}
	return &OneVsRest{classes: m}, nil
}

// Class is the learner of class k against the rest, for its checkpoints and its level.
func (s *OneVsRest) Class(k int) *STAMP { return s.classes.Label(k) }

// Observe learns from one example. A bad one is refused with an error of code bad_input and leaves
// the learner as it was. An error of code diverged ends the learner's use.
func (s *OneVsRest) Observe(x ClassExample) error {
	if n := len(s.classes.labels); x.Class < 0 || x.Class >= n {
		return noregret.BadInputf(following(s.classes.labels[0].rows), "class is %d, want one in 0..%d",
			x.Class, n-1)
	}
	s.one[0] = x.Class
	return s.classes.Observe(LabelsExample{Index: x.Index, Value: x.Value, Labels: s.one[:], Weight: x.Weight})
}

// NextPass tells the learner that a pass over the data has ended.
func (s *OneVsRest) NextPass() { s.classes.NextPass() }

// Finish ends the stream: learners still holding back their first examples learn from them.
func (s *OneVsRest) Finish() error { return s.classes.Finish() }

// Model holds the model of the last checkpoint of each class, with threshold 0. O(C·d).
func (s *OneVsRest) Model() Classifier {
	return Classifier{Task: Multiclass, Models: s.classes.Model().Models}
}

// Choose gives each class the checkpoint and the threshold that are best for it against the rest on
// held-out examples. A class that no held-out example has keeps its last checkpoint and threshold
// 0. O(epochs · C · (n log n + nnz)).
func (s *OneVsRest) Choose(valid []ClassExample) (Classifier, error) {
	if err := checkClasses(valid, len(s.classes.labels)); err != nil {
		return Classifier{}, err
	}
	rows, classes := make([]LabelsExample, len(valid)), make([]int, len(valid))
	for i, x := range valid {
		classes[i] = x.Class
		rows[i] = LabelsExample{Index: x.Index, Value: x.Value, Labels: classes[i : i+1], Weight: x.Weight}
	}
	m, _, err := s.classes.Choose(rows)
	m.Task = Multiclass
	return m, err
}

// checkClasses returns an error for rows that cannot be evaluated with the given number of classes.
func checkClasses(rows []ClassExample, classes int) error {
	if len(rows) == 0 {
		return noregret.BadInputf("", "no examples to evaluate a model on: at least one is required")
	}
	front := &online{}
	for _, x := range rows {
		if x.Class < 0 || x.Class >= classes {
			return noregret.BadInputf(following(front.rows), "class is %d, want one in 0..%d", x.Class,
				classes-1)
		}
		if _, err := front.check(Example{Index: x.Index, Value: x.Value, Weight: x.Weight}); err != nil {
			return err
		}
		front.rows++
	}
	return nil
}
