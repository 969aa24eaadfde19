package classify

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/classify/measure"
	"github.com/noregret/noregret/dataset"
)

// Task says how many labels a row has.
type Task int

// The tasks other than two classes.
const (
	// Multiclass rows have one label of several.
	Multiclass Task = iota + 1
	// Multilabel rows have any number of labels, none included.
	Multilabel
)

// tasks are their names.
var tasks = []string{"", "multiclass", "multilabel"}

// String returns the name of the task.
func (t Task) String() string {
	if t < Multiclass || t > Multilabel {
		return "task " + strconv.Itoa(int(t))
	}
	return tasks[t]
}

// MultiData is a set of examples of several classes, or of several labels each. Make one with
// [NewMultiData].
type MultiData struct {
	// Set holds the rows.
	Set *dataset.Set
	// Task is the kind of the problem.
	Task Task
	// Labels are the names of the classes or labels: numbers first, ascending, then words in the
	// order of their bytes.
	Labels []string

	targets [][]int // by class number of the set: the indices in Labels
}

// NewMultiData returns the data of a set. For Multiclass every label of the set is a class, and
// every row needs one. For Multilabel the label of a row is a list (see [dataset.LabelList]), and a
// row without one has no labels. Data with fewer than two classes, or without labels, and lists
// that break a rule are errors of code bad_input.
func NewMultiData(set *dataset.Set, task Task) (MultiData, error) {
	d := MultiData{Set: set, Task: task}
	if set == nil {
		return d, usage("the data have no set of examples")
	}
	if err := paramTask.check(float64(task)); err != nil {
		return d, err
	}
	info := set.Info()
	lists, err := labelLists(info.Labels, task)
	if err != nil {
		return d, err
	}
	seen := map[string]bool{}
	for _, list := range lists {
		for _, l := range list {
			if !seen[l] {
				seen[l] = true
				d.Labels = append(d.Labels, l)
			}
		}
	}
	slices.SortFunc(d.Labels, compareLabels)
	switch {
	case task == Multiclass && info.NoLabel > 0:
		return d, noregret.BadInputf("", "%d of %d rows have no label", info.NoLabel, info.Rows)
	case task == Multiclass && len(d.Labels) < 2:
		return d, noregret.BadInputf("", "every row has the label %q; two classes are needed",
			strings.Join(d.Labels, ""))
	case len(d.Labels) == 0:
		return d, noregret.BadInputf("", "no row has a label")
	}
	d.targets = targetsOf(lists, d.Labels)
	return d, nil
}

// Of returns the data of another set for the labels of d, such as a file of held-out rows. A label
// that d lacks is an error of code bad_input.
func (d MultiData) Of(set *dataset.Set) (MultiData, error) {
	info := set.Info()
	lists, err := labelLists(info.Labels, d.Task)
	if err != nil {
		return d, err
	}
	for _, list := range lists {
		for _, l := range list {
			if !slices.Contains(d.Labels, l) {
				return d, noregret.BadInputf("", "the label %q does not occur in the training data", l)
			}
		}
	}
	if d.Task == Multiclass && info.NoLabel > 0 {
		return d, noregret.BadInputf("", "%d of %d rows have no label", info.NoLabel, info.Rows)
	}
	d.Set, d.targets = set, targetsOf(lists, d.Labels)
	return d, nil
}

// labelLists splits the lists of labels.
func labelLists(labels []dataset.Label, task Task) ([][]string, error) {
	lists := make([][]string, len(labels))
	for c, l := range labels {
		if task == Multiclass {
			lists[c] = []string{l.Name}
			continue
		}
		list, err := dataset.LabelList(l.Name)
		if err != nil {
			return nil, err
		}
		lists[c] = list
	}
	return lists, nil
}

// targetsOf looks up the indices of the labels.
func targetsOf(lists [][]string, labels []string) [][]int {
	place := make(map[string]int, len(labels))
	for k, l := range labels {
		place[l] = k
	}
	out := make([][]int, len(lists))
	for c, list := range lists {
		for _, l := range list {
			out[c] = append(out[c], place[l])
		}
		slices.Sort(out[c])
	}
	return out
}

// compareLabels orders numbers by value and before words.
func compareLabels(a, b string) int {
	x, errx := strconv.ParseFloat(a, 64)
	y, erry := strconv.ParseFloat(b, 64)
	switch {
	case errx == nil && erry == nil:
		return cmp.Or(cmp.Compare(x, y), cmp.Compare(a, b))
	case errx == nil:
		return -1
	case erry == nil:
		return 1
	default:
		return cmp.Compare(a, b)
	}
}

// LabelCount holds the number of rows that have a label, and the sum of their weights.
type LabelCount struct {
	Rows   int64   `json:"rows"`
	Weight float64 `json:"weight"`
}

// Counts counts the rows of each label. O(number of different labels of rows).
func (d MultiData) Counts() []LabelCount {
	out := make([]LabelCount, len(d.Labels))
	for c, l := range d.Set.Info().Labels {
		for _, k := range d.targets[c] {
			out[k].Rows += l.Rows
			out[k].Weight += l.Weight
		}
	}
	return out
}

// withSet returns the data of a view of the same set.
func (d MultiData) withSet(view *dataset.Set) MultiData {
	d.Set = view
	return d
}

// against returns the two-class data of label k against all others.
func (d MultiData) against(k int) Data {
	positives := make([]bool, len(d.targets))
	for c, list := range d.targets {
		positives[c] = slices.Contains(list, k)
	}
	return Data{Set: d.Set, positives: positives}
}

// visit calls f for every row of positive weight that r reads, and closes r.
func (d MultiData) visit(ctx context.Context, r dataset.Reader, open error, f func(x LabelsExample) error) error {
	if open != nil {
		return open
	}
	return visitBlocks(ctx, r, func(b *dataset.Block) error {
		for i := range b.Len() {
			w := b.RowWeight(i)
			if w == 0 {
				continue
			}
			var labels []int
			if c := b.Class[i]; c != dataset.NoClass {
				labels = d.targets[c]
			}
			index, value := b.Row(i)
			if err := f(LabelsExample{Index: index, Value: value, Labels: labels, Weight: w}); err != nil {
				return err
			}
		}
		return nil
	})
}

// read visits the rows in stored order.
func (d MultiData) read(ctx context.Context, f func(x LabelsExample) error) error {
	r, err := d.Set.Read()
	return d.visit(ctx, r, err, f)
}

// shuffled visits the rows in the order of the given pass.
func (d MultiData) shuffled(ctx context.Context, seed uint64, pass int, f func(x LabelsExample) error) error {
	r, err := d.Set.Shuffle(seed, pass)
	return d.visit(ctx, r, err, f)
}

// rows copies all rows into memory.
func (d MultiData) rows(ctx context.Context) ([]LabelsExample, error) {
	var out []LabelsExample
	err := d.read(ctx, func(x LabelsExample) error {
		x.Index, x.Value = slices.Clone(x.Index), slices.Clone(x.Value)
		out = append(out, x)
		return nil
	})
	return out, err
}

// MultiConfusion counts the outcomes of a classifier of several classes or labels on data.
type MultiConfusion struct {
	// Classes is the confusion matrix of a multi-class problem.
	Classes measure.MulticlassConfusion
	// Labels is the confusion of each label of a multi-label problem.
	Labels measure.MultilabelConfusion
	// Weight is the weight of all rows, and Exact that of the rows whose set of labels was
	// predicted without a mistake.
	Weight, Exact float64
}

// Value is m on the counts.
func (c *MultiConfusion) Value(m measure.Multi) float64 {
	if c.Labels != nil {
		return m.OfLabels(c.Labels)
	}
	return m.OfClasses(c.Classes)
}

// presentValue is Value without the classes that have no examples.
func (c *MultiConfusion) presentValue(m measure.Multi) float64 {
	if c.Labels != nil {
		return m.OfLabels(c.Labels)
	}
	return m.OfPresentClasses(c.Classes)
}

// newMultiConfusion returns empty counts.
func newMultiConfusion(task Task, labels int) (*MultiConfusion, error) {
	if task == Multilabel {
		return &MultiConfusion{Labels: make(measure.MultilabelConfusion, labels)}, nil
	}
	c, err := measure.NewMulticlassConfusion(labels)
	return &MultiConfusion{Classes: c}, err
}

// MultiLinear is a linear classifier of several classes or labels.
type MultiLinear struct {
	Task Task
	// Models holds the linear model of each class or label. A multi-class decision is the class
	// with the largest score less threshold, the first on ties; a multi-label one is the labels
	// whose scores exceed their thresholds, strictly.
	Models []Linear
}

// Scores appends the scores less their thresholds to dst. O(C·nnz). It is safe for concurrent use.
func (m *MultiLinear) Scores(dst []float64, index []uint32, value []float32) []float64 {
	c := MulticlassLinear{Classes: m.Models}
	return c.Scores(dst, index, value)
}

// Decide appends the indices of the labels that follow from the scores of [MultiLinear.Scores] to
// dst.
func (m *MultiLinear) Decide(dst []int, scores []float64) []int {
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

// Counter counts the outcomes of a classifier, one row at a time. It is not safe for concurrent
// use.
type Counter struct {
	model     *MultiLinear
	confusion *MultiConfusion
	scores    []float64
	predicted []int
}

// NewCounter returns a counter for a classifier. It fails with an error of code usage for a
// multi-class one of fewer than two classes.
func NewCounter(m *MultiLinear) (*Counter, error) {
	c, err := newMultiConfusion(m.Task, len(m.Models))
	return &Counter{model: m, confusion: c}, err
}

// Add predicts a row whose true labels are given, ascending, and counts the outcome.
func (c *Counter) Add(index []uint32, value []float32, labels []int, weight float64) {
	c.scores = c.model.Scores(c.scores[:0], index, value)
	c.predicted = c.model.Decide(c.predicted[:0], c.scores)
	out := c.confusion
	out.Weight += weight
	if slices.Equal(c.predicted, labels) {
		out.Exact += weight
	}
	if c.model.Task == Multiclass {
		out.Classes.Add(labels[0], c.predicted[0], weight)
		return
	}
	for k := range out.Labels {
		out.Labels[k].Add(slices.Contains(labels, k), slices.Contains(c.predicted, k), weight)
	}
}

// Confusion returns the counts so far.
func (c *Counter) Confusion() *MultiConfusion { return c.confusion }

// EvaluateMulti counts the outcomes of a classifier on data, in one pass.
func EvaluateMulti(ctx context.Context, d MultiData, m *MultiLinear) (*MultiConfusion, error) {
	if len(m.Models) != len(d.Labels) || m.Task != d.Task {
		return nil, usage("a %s model of %d labels does not fit %s data of %d", m.Task, len(m.Models), d.Task,
			len(d.Labels))
	}
	c, err := NewCounter(m)
	if err != nil {
		return nil, err
	}
	err = d.read(ctx, func(x LabelsExample) error {
		c.Add(x.Index, x.Value, x.Labels, x.Weight)
		return nil
	})
	return c.confusion, err
}
