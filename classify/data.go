package classify

import (
	"cmp"
	"context"
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/classify/measure"
	"github.com/noregret/noregret/dataset"
)

// Task says what the labels of a row are. Its values differ in the number of linear models that
// decide: one, or one for each label.
type Task int

// The tasks.
const (
	// Binary rows have one label, of which one counts as positive and all others as negative.
	Binary Task = iota
	// Multiclass rows have one label of several.
	Multiclass
	// Multilabel rows have any number of labels, none included.
	Multilabel
)

// taskNames are their names.
var taskNames = []string{"binary", "multiclass", "multilabel"}

// String returns the name of the task.
func (t Task) String() string {
	if t < Binary || t > Multilabel {
		return "task " + strconv.Itoa(int(t))
	}
	return taskNames[t]
}

// Measure returns the measure of the given name: a [measure.Measure] for Binary, else a
// [measure.Multi]. An error is of code usage.
func (t Task) Measure(name string) (measure.Objective, error) {
	if t == Binary {
		return measure.Parse(name)
	}
	return measure.ParseMulti(name, t == Multilabel)
}

// fewestLabels is the smallest number of labels that data of the task have.
func (t Task) fewestLabels() int {
	if t == Multilabel {
		return 1
	}
	return 2
}

// outputs is the number of linear models for data of the given number of labels.
func (t Task) outputs(labels int) int {
	if t == Binary {
		return 1
	}
	return labels
}

// counted is the number of labels in a [Part] of data of the given number of labels.
func (t Task) counted(labels int) int {
	if t == Binary {
		return 2
	}
	return labels
}

// Data is a set of examples and what their labels mean. The zero Task is Binary: Data{Set: s,
// Positive: k} needs no more. For the other tasks make one with [NewData].
type Data struct {
	// Set holds the rows.
	Set *dataset.Set
	// Task says what the labels of a row are.
	Task Task
	// Positive is the class number of the positive label of Binary data, as
	// [dataset.Info.Positive] finds it. Rows without a label are refused.
	Positive int
	// Labels are the names of the classes or labels of data that are not Binary: numbers first,
	// ascending, then words in the order of their bytes.
	Labels []string

	// targets has the indices in Labels by class number of the set, for data that are not Binary.
	targets [][]int
	// positives, if not nil, replaces Positive: it reports for every class number whether the class
	// is positive, and rows without a label are negative.
	positives []bool
	// factors, if not nil, multiply the weights of rows for learners, by class number: examples and
	// labelled have them; counts, moments and the rows' own weights do not.
	factors []float64
}

// NewData returns the data of a set. For Binary the positive label is the one that
// [dataset.Info.Positive] finds. For Multiclass every label of the set is a class, and every row
// needs one. For Multilabel the label of a row is a list (see [dataset.LabelList]), and a row
// without one has no labels. Data with fewer than two classes, or without labels, and lists that
// break a rule are errors of code bad_input.
func NewData(set *dataset.Set, task Task) (Data, error) {
	d := Data{Set: set, Task: task}
	if set == nil {
		return d, usage("the data have no set of examples")
	}
	if err := paramTask.check(float64(task)); err != nil {
		return d, err
	}
	info := set.Info()
	if task == Binary {
		var err error
		d.Positive, err = info.Positive("")
		return d, err
	}
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
// that d lacks is an error of code bad_input; of Binary data only the positive label must be there.
func (d Data) Of(set *dataset.Set) (Data, error) {
	info := set.Info()
	if d.Task == Binary {
		var err error
		d.Positive, err = info.Positive(d.Set.Info().Labels[d.Positive].Name)
		d.Set = set
		return d, err
	}
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
		if task != Multilabel {
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

// names lists the labels: of Binary data the positive one first.
func (d Data) names() []string {
	if d.Task != Binary {
		return slices.Clone(d.Labels)
	}
	return positiveFirst(d.Set.Info(), d.Positive)
}

// positiveFirst lists the labels of Binary data.
func positiveFirst(info dataset.Info, positive int) []string {
	names := []string{info.Labels[positive].Name}
	for c, l := range info.Labels {
		if c != positive {
			names = append(names, l.Name)
		}
	}
	return names
}

// withSet returns the data of a view of the same set.
func (d Data) withSet(view *dataset.Set) Data {
	d.Set = view
	return d
}

// against returns the Binary data of label k against all others.
func (d Data) against(k int) Data {
	positives := make([]bool, len(d.targets))
	for c, list := range d.targets {
		positives[c] = slices.Contains(list, k)
	}
	return Data{Set: d.Set, positives: positives, factors: d.factors}
}

// sizes counts the rows of each label; see [Part]. O(number of different labels of rows).
func (d Data) sizes() (Part, error) {
	if d.Task == Binary {
		c, err := d.Classes()
		return c.part(), err
	}
	return d.part(), nil
}

// part is sizes for data that are not Binary.
func (d Data) part() Part {
	info := d.Set.Info()
	out := Part{Rows: info.Rows, Labels: make([]LabelCount, len(d.Labels))}
	for c, l := range info.Labels {
		for _, k := range d.targets[c] {
			out.Labels[k].Rows += l.Rows
			out.Labels[k].Weight += l.Weight
		}
	}
	return out
}

// isPositive reports whether a class is positive in Binary data.
func (d Data) isPositive(class int) bool {
	if d.positives != nil {
		return class < len(d.positives) && d.positives[class]
	}
	return class == d.Positive
}

// Classes holds the sizes of the two classes of Binary data.
type Classes struct {
	Positives, Negatives             int64   // numbers of rows
	PositiveWeight, NegativeWeight   float64 // sums of their weights
	PositiveLabel, NegativeLabelList string
}

// Rows is the number of rows of both classes.
func (c Classes) Rows() int64 { return c.Positives + c.Negatives }

// Share is p, the weighted share of positives.
func (c Classes) Share() float64 { return c.PositiveWeight / (c.PositiveWeight + c.NegativeWeight) }

// part returns the sizes as a [Part].
func (c Classes) part() Part {
	return Part{
		Rows:   c.Rows(),
		Labels: []LabelCount{{c.Positives, c.PositiveWeight}, {c.Negatives, c.NegativeWeight}},
	}
}

// Classes counts the two classes of Binary data in O(number of labels). It fails with an error of
// code bad_input if a class is missing or has no weight, or if rows lack a label.
func (d Data) Classes() (Classes, error) {
	var c Classes
	if err := d.check(); err != nil {
		return c, err
	}
	info := d.Set.Info()
	for i, l := range info.Labels {
		if d.isPositive(i) {
			c.Positives += l.Rows
			c.PositiveWeight += l.Weight
			c.PositiveLabel = l.Name
		} else {
			c.Negatives += l.Rows
			c.NegativeWeight += l.Weight
			if c.NegativeLabelList != "" {
				c.NegativeLabelList += ", "
			}
			c.NegativeLabelList += l.Name
		}
	}
	if d.positives != nil && info.NoLabel > 0 {
		c.Negatives += info.NoLabel
		c.NegativeWeight = info.Weight - c.PositiveWeight
	}
	switch {
	case c.PositiveWeight+c.NegativeWeight == 0:
		return c, noregret.BadInputf("", "the weights of all %d rows add up to 0", c.Rows())
	case c.Positives == 0 || c.PositiveWeight == 0:
		return c,
			noregret.BadInputf("", "need both classes: there is no positive example (label %q) of positive weight "+
				"among %d rows",
				c.PositiveLabel, c.Rows())
	case c.Negatives == 0 || c.NegativeWeight == 0:
		return c, noregret.BadInputf("", "need both classes: there is no negative example of positive weight among "+
			"%d rows "+
			"(positive label %q)", c.Rows(), c.PositiveLabel)
	}
	return c, nil
}

// check returns an error if the Data is malformed.
func (d Data) check() error {
	if d.Set == nil {
		return usage("the data have no set of examples")
	}
	if d.positives != nil {
		return nil
	}
	info := d.Set.Info()
	if d.Task != Binary {
		if len(d.targets) < len(info.Labels) {
			return usage("%s data need NewData", d.Task)
		}
		return nil
	}
	if d.Positive < 0 || d.Positive >= len(info.Labels) {
		return usage("the positive label is number %d, want one of the %d labels, from 0", d.Positive, len(info.Labels))
	}
	if info.NoLabel > 0 {
		return noregret.BadInputf("", "%d of %d rows have no label", info.NoLabel, info.Rows)
	}
	return nil
}

// A visitor is called for every row of positive weight, with the class number of its label.
type visitor func(index []uint32, value []float32, class uint16, weight float64) error

// examples makes a visitor of a function of rows of Binary data.
func (d Data) examples(f func(x Example) error) visitor {
	if d.positives != nil {
		return d.weighed(func(index []uint32, value []float32, class uint16, weight float64) error {
			return f(Example{index, value, d.isPositive(int(class)), weight})
		})
	}
	positive := d.Positive
	return d.weighed(func(index []uint32, value []float32, class uint16, weight float64) error {
		return f(Example{index, value, int(class) == positive, weight})
	})
}

// labelled makes a visitor of a function of rows with a list of labels.
func (d Data) labelled(f func(x LabelsExample) error) visitor {
	targets := d.targets
	return d.weighed(func(index []uint32, value []float32, class uint16, weight float64) error {
		var labels []int
		if class != dataset.NoClass {
			labels = targets[class]
		}
		return f(LabelsExample{Index: index, Value: value, Labels: labels, Weight: weight})
	})
}

// visit calls f for every row of positive weight that r reads, and closes r.
func (d Data) visit(ctx context.Context, r dataset.Reader, open error, f visitor) error {
	if open != nil {
		return open
	}
	if err := d.check(); err != nil {
		return errors.Join(err, r.Close())
	}
	if r, ok := r.(dataset.RowReader); ok {
		return visitRows(ctx, r, f)
	}
	return visitBlocks(ctx, r, func(b *dataset.Block) error {
		for i := range b.Len() {
			w := b.RowWeight(i)
			if w == 0 {
				continue
			}
			index, value := b.Row(i)
			if err := f(index, value, b.Class[i], w); err != nil {
				return err
			}
		}
		return nil
	})
}

// visitRows is visit for rows that need not be copied.
func visitRows(ctx context.Context, r dataset.RowReader, f visitor) (err error) {
	defer func() { err = errors.Join(err, r.Close()) }()
	rows := make([]dataset.Row, 16) // few: what is read of them stays in the nearest cache
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		n, err := r.NextRows(rows)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		for i := range rows[:n] {
			x := &rows[i]
			if x.Weight == 0 {
				continue
			}
			if err := f(x.Index, x.Value, x.Class, float64(x.Weight)); err != nil {
				return err
			}
		}
	}
}

// visitBlocks calls f for every block of r and closes r. It checks ctx once per block. A goroutine,
// which ends with visitBlocks, reads ahead, so that gathering rows and learning from them run in
// parallel.
func visitBlocks(ctx context.Context, r dataset.Reader, f func(b *dataset.Block) error) (err error) {
	blocks, empty, done := make(chan fetched, 2), make(chan *dataset.Block, 2), make(chan struct{})
	stop := make(chan struct{})
	for range cap(empty) {
		empty <- new(dataset.Block)
	}
	go func() {
		defer close(done)
		fetch(r, blocks, empty, stop)
	}()
	defer func() {
		close(stop)
		<-done
		err = errors.Join(err, r.Close())
	}()
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		next := <-blocks
		if errors.Is(next.err, io.EOF) {
			return nil
		}
		if next.err != nil {
			return next.err
		}
		if err := f(next.block); err != nil {
			return err
		}
		empty <- next.block
	}
}

// fetched is a block read ahead, or the error that ended the reading.
type fetched struct {
	block *dataset.Block
	err   error
}

// fetch reads blocks ahead until the end, an error or stop.
func fetch(r dataset.Reader, blocks chan<- fetched, empty <-chan *dataset.Block, stop <-chan struct{}) {
	for {
		select {
		case <-stop:
			return
		case b := <-empty:
			err := r.Next(b)
			blocks <- fetched{b, err} // never blocks: the channel has capacity for all blocks
			if err != nil {
				return
			}
		}
	}
}

// read visits the rows in stored order.
func (d Data) read(ctx context.Context, f visitor) error {
	if err := d.check(); err != nil {
		return err
	}
	r, err := d.Set.Read()
	return d.visit(ctx, r, err, f)
}

// withWeight returns the data without the rows of weight 0, which no visitor sees: what counts rows
// by their numbers must not count these. It takes a pass if a weight differs from 1, and two if one
// is 0.
func (d Data) withWeight(ctx context.Context) (Data, error) {
	if err := d.check(); err != nil {
		return d, err
	}
	info := d.Set.Info()
	if !info.Weighted {
		return d, nil
	}
	keep, err := dataset.NewBits(info.Rows)
	if err != nil {
		return d, err
	}
	r, err := d.Set.Read()
	if err != nil {
		return d, err
	}
	err = visitBlocks(ctx, r, func(b *dataset.Block) error {
		for i := range b.Len() {
			if b.RowWeight(i) != 0 {
				keep.Set(b.FirstRow + int64(i))
			}
		}
		return nil
	})
	if err != nil || keep.Count() == info.Rows {
		return d, err
	}
	set, err := d.Set.Select(keep)
	return d.withSet(set), err
}

// shuffled visits the rows in the order of the given pass.
func (d Data) shuffled(ctx context.Context, seed uint64, pass int, f visitor) error {
	r, err := d.Set.Shuffle(seed, pass)
	return d.visit(ctx, r, err, f)
}

// moments computes the features' moments in one pass.
func (d Data) moments(ctx context.Context) (*moments, error) {
	m := new(moments)
	err := d.read(ctx, func(index []uint32, value []float32, _ uint16, weight float64) error {
		m.observe(index, value, weight)
		return nil
	})
	return m, err
}

// rows copies all rows of data that are not Binary into memory.
func (d Data) rows(ctx context.Context) ([]LabelsExample, error) {
	var out []LabelsExample
	err := d.read(ctx, d.labelled(func(x LabelsExample) error {
		x.Index, x.Value = slices.Clone(x.Index), slices.Clone(x.Value)
		out = append(out, x)
		return nil
	}))
	return out, err
}
