package classify

import (
	"cmp"
	"fmt"
	"math"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/classify/measure"
)

// LabelsExample is one row of a problem of several classes or labels: a sparse feature vector, the
// labels it has and its weight. A row of a problem of classes has one label, its class.
type LabelsExample struct {
	// Index holds the feature numbers, from 0, without repeats, and Value their finite values.
	Index []uint32
	Value []float32
	// Labels holds the labels of the example, each in 0..L-1 and at most once, in any order. The
	// example lacks all others.
	Labels []int
	// Weight is ω ≥ 0, finite; an example of weight 0 is skipped entirely.
	Weight float64
}

// LabelAverage selects how a measure of one label is averaged over L labels.
type LabelAverage int

// The averages.
const (
	// MacroAverage is the mean of the measure over the labels; it decomposes into L problems of one
	// label.
	MacroAverage LabelAverage = iota
	// MicroAverage is the measure on the counts pooled over the labels, itself pseudo-linear.
	MicroAverage
	// InstanceAverage is the mean of the measure over the examples. It is not a function of
	// the counts of a classifier, and [NewMultilabel] refuses it.
	InstanceAverage
)

// MultilabelConfig holds the options of [NewMultilabel]. Labels and Measure are required. The zero
// value is refused.
type MultilabelConfig struct {
	// STAMPConfig holds the options of each label's learner or, with MicroAverage, of the only one:
	// then Positives and PriorPositives are shares of the (example, label) pairs, and MinPositives
	// counts pairs. With MacroAverage these two must be 0.
	STAMPConfig
	// Labels is L ≥ 1.
	Labels int
	// Average says which average of the measure is the objective.
	Average LabelAverage
	// Shares holds the known shares of the examples that have each label, in (0, 1), with
	// MacroAverage only; nil estimates them.
	Shares []float64
	// Exclusive says that the labels are at least two classes: every example has one, and the
	// classifier decides for one. With MacroAverage only.
	Exclusive bool
}

// MultilabelLearner learns one linear classifier per label, one example at a time. It is
// deterministic and not safe for concurrent use. Observe costs O(L·nnz) time and allocates nothing
// within an epoch.
type MultilabelLearner interface {
	// Observe learns from one example. A bad one (a label out of range or repeated, an index out of
	// range or repeated, a value or weight that is not finite, a negative weight) is refused with
	// an error of code bad_input and leaves the learner as it was. An error of code diverged ends
	// the learner's use. The slices are not kept.
	Observe(x LabelsExample) error
	// NextPass tells the learner that a pass over the data has ended.
	NextPass()
	// Finish ends the stream: a learner still holding back its first examples learns from them.
	Finish() error
	// Scores appends the L scores of a row to dst, as [STAMP.Score] computes them.
	Scores(dst []float64, index []uint32, value []float32) []float64
	// Model holds the model of the last checkpoint of each label, on raw features. O(L·d).
	Model() Classifier
	// Progressive is the confusion of each label of the predictions made before each model step
	// since the last NextPass.
	Progressive() measure.MultilabelConfusion
	// Choose returns the model with the best value of the objective on held-out examples among all
	// checkpoints and thresholds, with that value. O(epochs · L · (n log n + nnz)).
	Choose(valid []LabelsExample) (Classifier, float64, error)
}

// NewMultilabel returns a [MacroSTAMP] or a [MicroSTAMP] for the average in the options. It fails
// with an error of code usage for InstanceAverage, and if an option is missing or out of its range.
func NewMultilabel(opt MultilabelConfig) (MultilabelLearner, error) {
	number := paramLabels
	if opt.Exclusive {
		number = paramClasses
	}
	if err := cmp.Or(number.check(float64(opt.Labels)), paramAverage.check(float64(opt.Average))); err != nil {
		return nil, err
	}
	switch {
	case opt.Average == MicroAverage && opt.Exclusive:
		return nil, usage("the micro average over classes is the accuracy; use the macro average")
	case opt.Average == MicroAverage:
		return newMicroSTAMP(opt)
	case opt.Average == InstanceAverage:
		return nil, usage("the measure averaged over examples is not a function of the confusion counts and cannot " +
			"be trained for; use the macro or the micro average")
	default:
		return newMacroSTAMP(opt)
	}
}

// labelChecker checks label sets and marks their labels.
type labelChecker struct {
	exclusive bool // whether the labels are classes: an example has one
	marks     []bool
	set       []int // the marked labels
}

func newLabelChecker(n int, exclusive bool) labelChecker {
	return labelChecker{exclusive: exclusive, marks: make([]bool, n)}
}

func (c *labelChecker) noun() string {
	if c.exclusive {
		return "class"
	}
	return "label"
}

// mark checks the labels of the example that follows the given number of rows and marks them,
// instead of those of the last call. On an error no label is marked.
func (c *labelChecker) mark(labels []int, rows float64) error {
	for _, k := range c.set {
		c.marks[k] = false
	}
	c.set = c.set[:0]
	fail := func(format string, k int, rest ...any) error {
		for _, k := range c.set {
			c.marks[k] = false
		}
		c.set = c.set[:0]
		return noregret.BadInputf(following(rows), format, append([]any{k}, rest...)...)
	}
	if c.exclusive && len(labels) != 1 {
		return noregret.BadInputf(following(rows), "%d labels, want one class", len(labels))
	}
	for _, k := range labels {
		if k < 0 || k >= len(c.marks) {
			return fail(c.noun()+" is %d, want one in 0..%d", k, len(c.marks)-1)
		}
		if c.marks[k] {
			return fail("label %d appears twice, want each at most once", k)
		}
		c.marks[k] = true
		c.set = append(c.set, k)
	}
	return nil
}

// MacroSTAMP maximizes the mean of a pseudo-linear measure over L labels, such as macro-averaged
// F_B. The mean decomposes: it is L independent [STAMP] learners, each with its own share of
// positives, its own scales and its own level. Make one with [NewMultilabel].
//
// With [MultilabelConfig.Exclusive] it is a heuristic for a problem of C classes, one against the
// rest. With one decision per example the macro average is a sum of C ratios of counts that depend
// on each other; it is neither pseudo-linear nor concave in the recalls, and no learner here
// maximizes it with a guarantee. The learners and thresholds would be right if an example could get
// several classes or none; the classifier predicts the class whose score exceeds its threshold by
// the most or falls short of it by the least. Micro-F₁ needs none of this: it is the accuracy.
//
// Cost: O(L·nnz) time per example, O(L·d·log T) memory.
type MacroSTAMP struct {
	labels  []*STAMP
	checker labelChecker
	measure measure.Measure
	failed  error
}

var _ MultilabelLearner = (*MacroSTAMP)(nil)

func newMacroSTAMP(opt MultilabelConfig) (*MacroSTAMP, error) {
	switch {
	case opt.Positives != 0 || opt.PriorPositives != 0:
		return nil, usage("one share of positives (%v, prior %v) is given for the macro average of %d labels; give "+
			"the shares of all labels, or none", opt.Positives, opt.PriorPositives, opt.Labels)
	case opt.Shares != nil && len(opt.Shares) != opt.Labels:
		return nil, usage("there are %d shares, want one for each of the %d labels", len(opt.Shares), opt.Labels)
	}
	s := &MacroSTAMP{checker: newLabelChecker(opt.Labels, opt.Exclusive), measure: opt.Measure}
	for k := range opt.Labels {
		one := opt.STAMPConfig
		if opt.Shares != nil {
			one.Positives = opt.Shares[k]
			if err := paramShare.checkAs(fmt.Sprintf("share of label %d", k), one.Positives); err != nil {
				return nil, err
			}
		}
		l, err := NewSTAMP(one)
		if err != nil {
			return nil, err
		}
		s.labels = append(s.labels, l)
	}
	return s, nil
}

// Label is the learner of label k, for its checkpoints and its level.
func (s *MacroSTAMP) Label(k int) *STAMP { return s.labels[k] }

// Observe implements [MultilabelLearner].
func (s *MacroSTAMP) Observe(x LabelsExample) error {
	if s.failed != nil {
		return s.failed
	}
	if err := s.checker.mark(x.Labels, s.labels[0].rows); err != nil {
		return err
	}
	// All learners make the same checks; the first makes them before any learns.
	row, err := s.labels[0].check(Example{Index: x.Index, Value: x.Value, Weight: x.Weight})
	if err != nil {
		return err
	}
	for k, l := range s.labels {
		row.Positive = s.checker.marks[k]
		if err := l.Observe(row); err != nil {
			s.failed = err
			return err
		}
	}
	return nil
}

// NextPass implements [MultilabelLearner].
func (s *MacroSTAMP) NextPass() {
	for _, l := range s.labels {
		l.NextPass()
	}
}

// Finish implements [MultilabelLearner].
func (s *MacroSTAMP) Finish() error {
	for _, l := range s.labels {
		if err := l.Finish(); err != nil {
			s.failed = err
			return err
		}
	}
	return nil
}

// Scores implements [MultilabelLearner].
func (s *MacroSTAMP) Scores(dst []float64, index []uint32, value []float32) []float64 {
	for _, l := range s.labels {
		dst = append(dst, l.Score(index, value))
	}
	return dst
}

// Model implements [MultilabelLearner].
func (s *MacroSTAMP) Model() Classifier {
	m := Classifier{Task: Multilabel}
	if s.checker.exclusive {
		m.Task = Multiclass
	}
	for _, l := range s.labels {
		m.Models = append(m.Models, l.Model())
	}
	return m
}

// Progressive implements [MultilabelLearner].
func (s *MacroSTAMP) Progressive() measure.MultilabelConfusion {
	var c measure.MultilabelConfusion
	for _, l := range s.labels {
		c = append(c, l.Progressive())
	}
	return c
}

// Choose implements [MultilabelLearner]: each label gets the checkpoint and the threshold that are
// best for it. A label whose measure is always undefined, such as one that no held-out example has,
// keeps its last checkpoint with threshold 0 and counts as 0.
func (s *MacroSTAMP) Choose(valid []LabelsExample) (Classifier, float64, error) {
	if err := checkLabels(valid, newLabelChecker(len(s.labels), s.checker.exclusive)); err != nil {
		return Classifier{}, 0, err
	}
	out, sum := s.Model(), 0.0
	scored := make([]Scored, len(valid))
	for k, l := range s.labels {
		best := math.Inf(-1)
		for _, c := range l.Checkpoints() {
			for i, x := range valid {
				scored[i] = Scored{
					Score: c.Model.Score(x.Index, x.Value), Weight: x.Weight,
					Positive: hasLabel(x.Labels, k),
				}
			}
			if th, v := TuneThreshold(scored, s.measure); v > best {
				best, out.Models[k] = v, c.Model
				out.Models[k].Threshold = th
			}
		}
		if best > math.Inf(-1) {
			sum += best
		}
	}
	return out, sum / float64(len(s.labels)), nil
}

func hasLabel(labels []int, k int) bool {
	for _, l := range labels {
		if l == k {
			return true
		}
	}
	return false
}

// checkLabels returns an error for rows that cannot be evaluated, such as those whose labels c
// refuses.
func checkLabels(rows []LabelsExample, c labelChecker) error {
	front := &online{}
	if len(rows) == 0 {
		return noregret.BadInputf("", "no examples to evaluate a model on: at least one is required")
	}
	for _, x := range rows {
		if err := c.mark(x.Labels, front.rows); err != nil {
			return err
		}
		if _, err := front.check(Example{Index: x.Index, Value: x.Value, Weight: x.Weight}); err != nil {
			return err
		}
		front.rows++
	}
	return nil
}
