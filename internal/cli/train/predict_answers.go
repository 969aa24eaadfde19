package train

import (
	"cmp"
	"container/heap"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/classify"
	"github.com/noregret/noregret/classify/scored"
	"github.com/noregret/noregret/internal/cli/command"
	"github.com/noregret/noregret/internal/cli/show"
)

const answersLong = `
--proba prints a probability in place of the score: that of the positive label, or of the printed
one of several classes. To --json it adds the key "probability", that of the positive label, or
"probabilities", an object by label. The probabilities were fitted in training to scores of held-out
rows (train --calibration), or of rows of a stream before the model learned from them; for several
classes those of each class against the others, by its score or by its odds among the scores of all,
are divided by their sum.

For two classes the threshold may be chosen now, from the same held-out rows. --at-recall R takes
the highest one that finds at least the share R of the positives, and --at-precision P the lowest
one at which at least the share P of what is predicted positive is positive, each with the
confidence of --confidence: of so many models whose threshold is chosen in this way, at least that
share has it. --top N prints the N rows with the largest scores only, the largest first, each after
its number and a tab ("row" with --json). Standard error says what holds for the threshold: the
bound that was reached, and intervals of recall and precision by Clopper and Pearson, exact if the
rows are drawn as those of training were. Held-out rows also chose the model, so all of it is
slightly too good; "noregret evaluate" on rows of their own is not. Those of a stream were scored by
earlier states of the model, and the confidence is approximate.

--costs predicts the label of the least expected cost: fn=10,fp=1 for two classes, the costs of a
missed positive and of a false alarm, or a CSV file with the columns true, predicted and cost, each
pair once. A pair that the file lacks costs 1, and a right prediction nothing unless the file says
so. Costs that are all 0 prefer no label and are refused.`

// answerFlags are the flags of predict for probabilities and other decisions than the model's.
type answerFlags struct {
	proba             bool
	recall, precision float64
	top               int
	confidence        float64
	costs             string

	flags *pflag.FlagSet
}

func newAnswerFlags() answerFlags { return answerFlags{confidence: 0.95} }

// addTo declares the flags.
func (f *answerFlags) addTo(s *pflag.FlagSet) {
	s.BoolVar(&f.proba, "proba", f.proba, "print probabilities, not scores")
	s.Float64Var(&f.recall, "at-recall", f.recall, "two classes: the highest threshold with at least this recall")
	s.Float64Var(&f.precision, "at-precision", f.precision,
		"two classes: the lowest threshold with at least this precision")
	s.IntVar(&f.top, "top", f.top, "two classes: print the rows with the N largest scores only")
	s.Float64Var(&f.confidence, "confidence", f.confidence, "confidence of --at-recall, --at-precision and --top")
	s.StringVar(&f.costs, "costs", f.costs, "predict the label of least expected cost: fn=10,fp=1 or a CSV file")
	f.flags = s
}

// check returns an error for flags that are out of range or exclude each other.
func (f *answerFlags) check() error {
	var rules []string
	for _, x := range []struct {
		name  string
		value float64
	}{{"at-recall", f.recall}, {"at-precision", f.precision}, {"confidence", f.confidence}} {
		if f.flags.Changed(x.name) && !(x.value > 0 && x.value < 1) {
			return command.OutOfRange("--"+x.name, x.value, "a number in (0, 1)")
		}
	}
	if f.flags.Changed("top") && f.top < 1 {
		return command.OutOfRange("--top", f.top, "at least 1")
	}
	for _, name := range []string{"at-recall", "at-precision", "top", "costs"} {
		if f.flags.Changed(name) {
			rules = append(rules, "--"+name)
		}
	}
	if len(rules) > 1 {
		return noregret.Errorf(noregret.Usage, rules[1], "excludes %s: one rule decides", rules[0])
	}
	if f.flags.Changed("confidence") && (len(rules) == 0 || rules[0] == "--costs") {
		return noregret.Errorf(noregret.Usage, "--confidence", "needs --at-recall, --at-precision or --top")
	}
	return nil
}

// decider makes the decisions of predict.
type decider struct {
	model      *classify.Model
	classifier *classify.Classifier
	proba      bool
	costs      [][]float64 // nil without --costs

	scores, printed, probabilities, both []float64
	predicted                            []int
}

// decider returns what decides for a model, and says on standard error what holds for a threshold.
func (f *answerFlags) decider(r *modelReader) (*decider, error) {
	d := &decider{model: r.model, classifier: r.classifier, proba: f.proba}
	m := r.model
	for _, name := range []string{"proba", "at-recall", "at-precision", "top", "costs"} {
		if !f.flags.Changed(name) {
			continue
		}
		if name != "proba" && name != "costs" && m.Task != classify.Binary {
			return nil, noregret.Errorf(noregret.Usage, "--"+name, "for a model of two classes; this one is of %s",
				show.Count(len(m.Labels), "label", "labels"))
		}
		if m.Shard != nil && name != "top" {
			return nil, noregret.Errorf(noregret.Usage, "--"+name,
				"the model of a shard and one merged from shards have no calibration: run one more pass with "+
					"--from and --calibration platt or isotonic on all shards, and merge them")
		}
		if m.Privacy != nil && name != "top" {
			return nil, noregret.Errorf(noregret.Usage, "--"+name,
				"a private model has no probabilities, because its training "+
					"holds nothing out; --top needs none")
		}
		if m.Calibration == nil && name != "top" {
			return nil, noregret.Errorf(noregret.Usage, "--"+name,
				"the model has no calibration, because training held "+
					"nothing out: train with --calibration platt or isotonic")
		}
	}
	var err error
	switch {
	case f.costs != "":
		d.costs, err = readCosts(f.costs, m)
	case f.recall != 0 || f.precision != 0:
		err = f.threshold(r)
	}
	return d, err
}

// threshold sets the threshold of the classifier to the one that was asked for.
func (f *answerFlags) threshold(r *modelReader) error {
	c := r.model.Calibration[0]
	rows := fmt.Sprintf("%d %s rows, %d of them positive", c.Rows, c.Source, c.Positives)
	if f.recall != 0 {
		p, bound, ok := c.Curve.AtRecall(f.recall, f.confidence)
		if !ok {
			return noregret.Errorf(noregret.Usage, "--at-recall", "is %v, but %s show a recall of %.4g at most with "+
				"confidence %v, even if every row is predicted positive: lower one of the two, or train on more rows",
				f.recall, rows, bound, f.confidence)
		}
		r.classifier.Models[0].Threshold = p.Threshold
		r.app.Note("threshold %s: the recall is at least %.4g with confidence %v; by %s it is %.4g, and the precision "+
			"is %.4g%s", show.Short(p.Threshold), bound, f.confidence, rows, p.Recall.Value(), p.Precision.Value(),
			f.interval(p.Precision))
		return nil
	}
	p, reached, ok := c.Curve.AtPrecision(f.precision, f.confidence)
	if !ok {
		return noregret.Errorf(noregret.Usage, "--at-precision", "is %v, but %s show a precision of %.4g at most with "+
			"confidence %v: lower one of the two, or train on more rows", f.precision, rows, reached, f.confidence)
	}
	r.classifier.Models[0].Threshold = p.Threshold
	r.app.Note("threshold %s: the precision is at least %.4g with confidence %v; by %s it is %.4g, and the recall is "+
		"%.4g%s", show.Short(p.Threshold), reached, f.confidence, rows, p.Precision.Value(), p.Recall.Value(),
		f.interval(p.Recall))
	return nil
}

// interval is the text of an interval of a share.
func (f *answerFlags) interval(s scored.Share) string {
	low, high := s.Interval(f.confidence)
	return fmt.Sprintf(" (%v interval %.4g to %.4g)", f.confidence, low, high)
}

// stateTop says how many of the rows of --top are positive; least is the smallest of their scores.
func (f *answerFlags) stateTop(r *modelReader, rows int, least float64) {
	if r.model.Shard != nil {
		r.app.Note("top %d: how many of them are positive is unknown, as models of shards keep no scores", rows)
		return
	}
	if r.model.Calibration == nil {
		r.app.Note("top %d: training held no rows out that would tell how many of them are positive", rows)
		return
	}
	c := r.model.Calibration[0]
	p := c.Curve.At(least)
	if p.Precision.All < 1 {
		r.app.Note("top %d: no %s row of training has a score as large, so how many are positive is unknown", rows,
			c.Source)
		return
	}
	r.app.Note("top %d: of rows with scores above %s, as these have, the share %.4g is positive%s; this is by the "+
		"%s %s "+
		"rows above", rows, show.Short(p.Threshold), p.Precision.Value(), f.interval(p.Precision),
		show.Whole(p.Precision.All), c.Source)
}

// row decides one row. Its slices are valid until the next call.
func (d *decider) row(index []uint32, value []float32) decided {
	c, binary := d.classifier, d.model.Task == classify.Binary
	d.scores = c.RawScores(d.scores[:0], index, value)
	d.printed = d.printed[:0]
	for k, z := range d.scores {
		d.printed = append(d.printed, z-c.Models[k].Threshold)
	}
	d.predicted = c.Decide(d.predicted[:0], d.printed)
	out := decided{scores: d.printed, predicted: d.predicted}
	if binary { // the score of two classes is printed as it is
		out.scores = d.scores
		d.predicted = d.predicted[:0]
		if d.scores[0] > c.Models[0].Threshold {
			d.predicted = append(d.predicted, 0)
		}
		out.predicted = d.predicted
	}
	if !d.proba && d.costs == nil {
		return out
	}
	d.probabilities = d.model.Probabilities(d.probabilities[:0], d.scores)
	if d.proba {
		out.probabilities = d.probabilities
	}
	if d.costs != nil {
		p := d.probabilities
		if binary {
			d.both = append(d.both[:0], p[0], 1-p[0])
			p = d.both
		}
		d.predicted = d.predicted[:0]
		if k := classify.Cheapest(d.costs, p); !binary || k == 0 {
			d.predicted = append(d.predicted, k)
		}
		out.predicted = d.predicted
	}
	return out
}

// decided is what predict prints of a row.
type decided struct {
	scores        []float64
	probabilities []float64 // nil without --proba
	predicted     []int
}

// readCosts reads the costs of --costs for the labels of a model: with two classes the positive one
// and the name of a negative prediction.
func readCosts(text string, m *classify.Model) ([][]float64, error) {
	labels := m.Labels
	switch m.Task {
	case classify.Binary:
		labels = []string{m.Positive(), m.NegativeName()}
	case classify.Multilabel:
		return nil, noregret.Errorf(noregret.Usage, "--costs", "for models whose rows have one label")
	}
	costs := make([][]float64, len(labels))
	for i := range costs {
		costs[i] = slices.Repeat([]float64{1}, len(labels))
		costs[i][i] = 0
	}
	if strings.HasPrefix(text, "fn=") || strings.HasPrefix(text, "fp=") {
		if m.Task != classify.Binary {
			return nil, noregret.Errorf(noregret.Usage, "--costs",
				"%q is for two classes; a file has the costs of several",
				text)
		}
		at := map[string]*float64{"fn": &costs[0][1], "fp": &costs[1][0]}
		for part := range strings.SplitSeq(text, ",") {
			name, number, _ := strings.Cut(part, "=")
			v, err := parseCost(number)
			if err != nil || at[name] == nil {
				return nil, noregret.Errorf(noregret.Usage, "--costs",
					"%q, want fn=COST,fp=COST with costs from 0 to %v, each once", text, maxCost)
			}
			*at[name] = v
			delete(at, name)
		}
		if len(at) > 0 {
			return nil, noregret.Errorf(noregret.Usage, "--costs",
				"%q has one cost, want both, as the labels depend on their ratio: fn=COST,fp=COST", text)
		}
		if !anyCost(costs) {
			return nil, noregret.Errorf(noregret.Usage, "--costs", "%q: the costs are all 0, want one above 0", text)
		}
		return costs, nil
	}
	f, err := os.Open(text)
	if err != nil {
		return nil, noregret.Errorf(noregret.Usage, "--costs", "%w", err)
	}
	defer func() { _ = f.Close() }() // only read
	if err := readCostFile(f, text, labels, costs); err != nil {
		return nil, err
	}
	if !anyCost(costs) {
		return nil, noregret.BadInputf(text, "the costs are all 0, want one above 0")
	}
	return costs, nil
}

// anyCost reports whether a cost is above 0: without any, no label is cheaper than another.
func anyCost(costs [][]float64) bool {
	return slices.ContainsFunc(costs, func(row []float64) bool { return slices.Max(row) > 0 })
}

// maxCost bounds the costs, so that their sums are finite.
const maxCost = 1e300

// parseCost reads a cost.
func parseCost(text string) (float64, error) {
	v, err := strconv.ParseFloat(text, 64)
	if err == nil && !(v >= 0 && v <= maxCost) {
		err = errors.New("out of range")
	}
	return v, err
}

// costColumns are the columns of a file of costs, in the order that they have without a header.
var costColumns = []string{"true", "predicted", "cost"}

// readCostFile reads the lines true, predicted, cost, or those of a header with these names.
func readCostFile(f io.Reader, name string, labels []string, costs [][]float64) error {
	r := csv.NewReader(f)
	r.FieldsPerRecord = 3
	type pair struct{ i, j int }
	lines := map[pair]int{} // where a pair is
	at := []int{0, 1, 2}    // of costColumns
	for first := true; ; first = false {
		fields, err := r.Read()
		if errors.Is(err, io.EOF) && len(lines) == 0 {
			return noregret.BadInputf(name, "the file has no costs, want a line %s for each cost that is not 1",
				strings.Join(costColumns, ","))
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if errors.Is(err, csv.ErrFieldCount) {
			line, _ := r.FieldPos(0)
			return noregret.BadInputf(fmt.Sprintf("%s:%d", name, line),
				"the line %q has %s, want true,predicted,cost with commas between them", strings.Join(fields, ","),
				show.Count(len(fields), "cell", "cells"))
		}
		if err != nil {
			return noregret.BadInputf(name, "%w", err)
		}
		line, _ := r.FieldPos(0)
		place := fmt.Sprintf("%s:%d", name, line)
		if first {
			fields[0] = strings.TrimPrefix(fields[0], "\ufeff") // spreadsheets write it
		}
		header := slices.Equal(slices.Sorted(slices.Values(fields)), slices.Sorted(slices.Values(costColumns)))
		if first && (header || slices.Contains(fields, "cost") && !slices.Contains(labels, "cost")) {
			for k, c := range costColumns {
				if at[k] = slices.Index(fields, c); at[k] < 0 {
					return noregret.BadInputf(place, "the header is %s, want the columns %s",
						strings.Join(fields, ","), strings.Join(costColumns, ", "))
				}
			}
			continue
		}
		truth, predicted, cost := fields[at[0]], fields[at[1]], fields[at[2]]
		i, j := slices.Index(labels, truth), slices.Index(labels, predicted)
		if i < 0 || j < 0 {
			return noregret.BadInputf(place, "the labels are %q and %q, want two of %s", truth, predicted,
				show.Listed(labels))
		}
		if before, ok := lines[pair{i, j}]; ok {
			return noregret.BadInputf(place, "the cost of true %q and predicted %q is in line %d too: want each "+
				"pair once", truth, predicted, before)
		}
		lines[pair{i, j}] = line
		v, err := parseCost(cost)
		if err != nil {
			return noregret.BadInputf(place, "the cost is %q, want a number from 0 to %v", cost, maxCost)
		}
		costs[i][j] = v
	}
}

// topRow is a row of --top with its line.
type topRow struct {
	row   int64
	score float64
	line  []byte
}

// topRows is a heap of the rows with the largest scores, the smallest first; of equal scores the
// earlier row is the larger.
type topRows []topRow

func (t topRows) Len() int { return len(t) }

func (t topRows) Less(i, j int) bool { return t[i].order(t[j]) < 0 }

func (r topRow) order(s topRow) int {
	return cmp.Or(cmp.Compare(r.score, s.score), cmp.Compare(s.row, r.row))
}

func (t topRows) Swap(i, j int) { t[i], t[j] = t[j], t[i] }

// Push implements [heap.Interface].
func (t *topRows) Push(x any) { *t = append(*t, x.(topRow)) }

// Pop implements [heap.Interface].
func (t *topRows) Pop() any {
	last := len(*t) - 1
	x := (*t)[last]
	*t = (*t)[:last]
	return x
}

// offer adds a row if it is among the n largest so far.
func (t *topRows) offer(n int, row int64, score float64, line func() []byte) {
	x := topRow{row: row, score: score}
	switch {
	case len(*t) < n:
		x.line = slices.Clone(line())
		heap.Push(t, x)
	case (*t)[0].order(x) < 0:
		x.line = append((*t)[0].line[:0], line()...)
		(*t)[0] = x
		heap.Fix(t, 0)
	}
}
