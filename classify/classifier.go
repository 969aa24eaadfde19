package classify

import (
	"context"
	"math"
	"slices"

	"github.com/noregret/noregret/classify/measure"
)

// Classifier decides the labels of rows by linear models.
type Classifier struct {
	Task Task
	// Transform makes the features of the models from those of a row; nil leaves them as they are.
	Transform *Transform
	// Models holds the linear models: with Binary one, else one for each class or label. A Binary
	// or Multilabel decision is the labels whose scores exceed their thresholds, strictly; a
	// Multiclass one is the class with the largest score less threshold, the first on ties.
	Models []Linear
}

// Classifier returns the Binary classifier of the linear model.
func (m *Linear) Classifier() *Classifier { return &Classifier{Models: []Linear{*m}} }

// RawScores appends the scores of the linear models to dst. O(C·nnz). It is safe for concurrent
// use.
func (m *Classifier) RawScores(dst []float64, index []uint32, value []float32) []float64 {
	if m.Transform != nil {
		index, value = m.Transform.Apply(index, value, nil, nil)
	}
	for k := range m.Models {
		dst = append(dst, m.Models[k].Score(index, value))
	}
	return dst
}

// Scores appends the scores less their thresholds to dst. O(C·nnz). It is safe for concurrent use.
func (m *Classifier) Scores(dst []float64, index []uint32, value []float32) []float64 {
	from := len(dst)
	dst = m.RawScores(dst, index, value)
	for k := range m.Models {
		dst[from+k] -= m.Models[k].Threshold
	}
	return dst
}

// Decide appends the indices of the labels that follow from the scores of [Classifier.Scores] to
// dst: with Binary 0 for the positive label and nothing for the others.
func (m *Classifier) Decide(dst []int, scores []float64) []int {
	if m.Task == Multiclass {
		return append(dst, argmax(scores))
	}
	for k, z := range scores {
		if z > 0 {
			dst = append(dst, k)
		}
	}
	return dst
}

// Predict appends the indices of the predicted labels to dst: Decide of Scores. O(C·nnz). It is
// safe for concurrent use.
func (m *Classifier) Predict(dst []int, index []uint32, value []float32) []int {
	return m.Decide(dst, m.Scores(nil, index, value))
}

// Confusion counts the outcomes of a classifier on data. One of Two, Classes and Labels is used.
type Confusion struct {
	// Two is the confusion of a Binary problem.
	Two measure.Confusion
	// Classes is the confusion matrix of a Multiclass problem.
	Classes measure.MulticlassConfusion
	// Labels is the confusion of each label of a Multilabel problem.
	Labels measure.MultilabelConfusion
	// Weight is the weight of all rows, and Exact that of the rows whose labels were predicted
	// without a mistake. Square is the sum of the squared weights.
	Weight, Exact, Square float64
}

// Value is m, a measure of the task, on the counts.
func (c *Confusion) Value(m measure.Objective) float64 {
	return c.value(m, measure.Multi.OfClasses)
}

// presentValue is Value without the classes of a Multiclass problem that have no examples.
func (c *Confusion) presentValue(m measure.Objective) float64 {
	return c.value(m, measure.Multi.OfPresentClasses)
}

func (c *Confusion) value(m measure.Objective, ofClasses func(measure.Multi, measure.MulticlassConfusion) float64,
) float64 {
	switch m := m.(type) {
	case measure.Measure:
		return m.Value(c.Two)
	case measure.Multi:
		if c.Labels != nil {
			return m.OfLabels(c.Labels)
		}
		return ofClasses(m, c.Classes)
	}
	return math.NaN()
}

// Counter counts the outcomes of a classifier, one row at a time. It is not safe for concurrent
// use.
type Counter struct {
	model     *Classifier
	confusion *Confusion
	scores    []float64
	predicted []int
}

// NewCounter returns a counter for a classifier. It fails with an error of code usage for a
// Multiclass one of fewer than two classes.
func NewCounter(m *Classifier) (*Counter, error) {
	c := &Counter{model: m, confusion: new(Confusion)}
	var err error
	switch m.Task {
	case Multiclass:
		c.confusion.Classes, err = measure.NewMulticlassConfusion(len(m.Models))
	case Multilabel:
		c.confusion.Labels = make(measure.MultilabelConfusion, len(m.Models))
	}
	return c, err
}

// Add predicts a row whose true labels are given, ascending, and counts the outcome. With Binary
// the labels are 0 for a positive row and none for a negative one.
func (c *Counter) Add(index []uint32, value []float32, labels []int, weight float64) {
	c.scores = c.model.Scores(c.scores[:0], index, value)
	c.predicted = c.model.Decide(c.predicted[:0], c.scores)
	out := c.confusion
	out.Weight += weight
	out.Square += float64(weight * weight)
	if slices.Equal(c.predicted, labels) {
		out.Exact += weight
	}
	switch c.model.Task {
	case Multiclass:
		out.Classes.Add(labels[0], c.predicted[0], weight)
	case Multilabel:
		for k := range out.Labels {
			out.Labels[k].Add(slices.Contains(labels, k), slices.Contains(c.predicted, k), weight)
		}
	default:
		out.Two.Add(len(labels) > 0, len(c.predicted) > 0, weight)
	}
}

// Confusion returns the counts so far.
func (c *Counter) Confusion() *Confusion { return c.confusion }

// Evaluate counts the outcomes of a classifier on data, in one pass.
func Evaluate(ctx context.Context, d Data, m *Classifier) (*Confusion, error) {
	if m.Task != d.Task || len(m.Models) != d.Task.outputs(len(d.Labels)) {
		return nil, usage("a %s classifier of %d models does not fit %s data of %d labels", m.Task, len(m.Models),
			d.Task, len(d.Labels))
	}
	c, err := NewCounter(m)
	if err != nil {
		return nil, err
	}
	row := d.labelled(func(x LabelsExample) error {
		c.Add(x.Index, x.Value, x.Labels, x.Weight)
		return nil
	})
	if d.Task == Binary {
		positive := []int{0}
		row = d.examples(func(x Example) error {
			labels := positive
			if !x.Positive {
				labels = nil
			}
			c.Add(x.Index, x.Value, labels, x.Weight)
			return nil
		})
	}
	err = d.read(ctx, row)
	return c.confusion, err
}
