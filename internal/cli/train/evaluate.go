package train

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/classify"
	"github.com/noregret/noregret/classify/measure"
	"github.com/noregret/noregret/classify/scored"
	"github.com/noregret/noregret/dataset"
	"github.com/noregret/noregret/internal/cli/command"
	"github.com/noregret/noregret/internal/cli/dataflags"
	"github.com/noregret/noregret/internal/cli/files"
	"github.com/noregret/noregret/internal/cli/show"
)

// evaluateOptions are the flags of "noregret evaluate".
type evaluateOptions struct {
	data      *dataflags.Flags
	model     string
	newLabels string
	json      bool
	intervals float64

	prequential prequentialOptions
}

// evaluated are the measures that evaluate reports for each task, in the order of its output.
var evaluated = map[classify.Task][]string{
	classify.Binary: {
		"f1", "gmean", "qmean", "hmean", "min_tpr_tnr", "jaccard", "tpr", "tnr", "accuracy", "balanced_accuracy",
		"precision", "mcc", "kappa", "f2", "f0.5",
	},
	classify.Multiclass: {
		"accuracy", "macro_f1", "macro_precision", "macro_recall", "min", "hmean", "qmean", "gmean",
	},
	classify.Multilabel: {
		"macro_f1", "micro_f1", "macro_precision", "micro_precision", "macro_recall", "micro_recall",
	},
}

const evaluateLong = `Apply a model to labelled data and print all measures, the confusion matrix
and the counts.

` + dataflags.Help + `
They are read with the model's own feature space, one block at a time.

Values of features that training did not have are ignored; their number and the first columns are
reported on standard error, and --unseen error refuses them. A missing number is one of them where
training had none, and counts as 0. A label that training did not have is refused;
--new-labels negative counts it as negative. With example weights the matrix and the measures are
weighted; n and positives count rows.

With --json the output is one object with a key per measure: f1, gmean, qmean, hmean,
min_tpr_tnr, jaccard, tpr, tnr, accuracy, balanced_accuracy, precision, mcc, kappa, f2 and f0.5
(null where undefined), and n, positives, negatives, ignored_features, bad_lines, confusion {tp,
fn, tn, fp}, threshold, positive_label, measure (for which the model was trained), algorithm. If
the model was trained for a measure that is not in this list, the object has it under its name.
For two classes it also has auc, average_precision and, if training held rows out (train
--calibration), log_loss and brier of the probabilities; they are null from 10 million rows on, as
the scores are kept in memory.

--intervals C prints intervals of confidence C for new rows like these, in --json the key
"intervals" with a list of two numbers by measure: for the measures of the matrix from draws around
its counts, for auc by DeLong's standard error, for the other three by the effect of each row. An
interval is null where it is undefined, as for an AUC of 1. Rows with several labels have none.

--plot draws, for two classes, precision over recall, the ROC curve, the share of positives over the
predicted probability, and recall, precision and the measure over the threshold.

A model of several classes gives accuracy, macro_f1, macro_precision, macro_recall, min, hmean,
qmean and gmean, auc_ovr (the mean of the AUC of each class against the others, by its probability,
or its score where the model has none), log_loss and brier (the sum over the classes, as
scikit-learn has it), n, labels, confusion (a list of rows, one for each true class), classes (a
list of {label, weight, predicted, recall, precision, f1}), ignored_features, bad_lines, task,
measure, algorithm. The three of the scores are null beyond 10 million scores. A model of several
labels gives macro_f1, micro_f1, macro_precision, micro_precision, macro_recall, micro_recall,
subset_accuracy (rows without a mistake), hamming_loss (wrong pairs of row and label), n, per_label
(a list of {label, tp, fn, tn, fp, recall, precision, f1}), and the same at the end.
` + prequentialLong

// newEvaluateCommand makes "noregret evaluate".
func newEvaluateCommand(a *command.App) *cobra.Command {
	o := &evaluateOptions{data: dataflags.New(), newLabels: "error"}
	o.prequential = prequentialOptions{fit: newTrainFlags(), window: 1000}
	cmd := command.New(a, &cobra.Command{
		Use:   "evaluate --model FILE DATA... | evaluate --prequential --measure M DATA...",
		Short: "Measure a model on labelled data, or learners on a stream",
		Long:  evaluateLong,
		Example: `  noregret evaluate --model f1.json test.svm

  # With intervals of 95 % and pictures
  noregret evaluate --model f1.json --intervals 0.95 --plot f1.svg test.svm

  # One number for a script
  noregret evaluate --model f1.json --json test.svm | jq .f1

  # Test, then train: which way to keep up with a market that changes?
  noregret evaluate --prequential --measure gmean --drift none --drift restart:interval=1000 \
    --drift detector:adwin --drift adaptive --window 2000 --plot elec2.svg elec2.csv.gz`,
		Args:    dataflags.WantArgs,
		PreRunE: func(*cobra.Command, []string) error { return o.prequential.requireModel(o.model) },
	}, o)
	cmd.Flags().StringVar(&o.model, "model", o.model, "model file")
	o.data.Register(cmd)
	o.data.RegisterPositive(cmd)
	o.data.RegisterUnseen(cmd, dataset.UnseenIgnore)
	return cmd
}

// AddFlags implements [command.Options]. The flags of data and model are added with the command.
func (o *evaluateOptions) AddFlags(f *pflag.FlagSet) {
	f.BoolVar(&o.json, "json", o.json, "print one JSON object")
	f.Float64Var(&o.intervals, "intervals", o.intervals, "print intervals of this confidence, such as 0.95")
	o.prequential.AddFlags(f)
	f.Var(command.NewChoice(&o.newLabels, "error", "negative"), "new-labels",
		"labels that were not in the training data: refuse them, or count them as negative")
}

// Validate implements [command.Options].
func (o *evaluateOptions) Validate() error {
	if o.prequential.flags.Changed("intervals") && !(o.intervals > 0 && o.intervals < 1) {
		return command.OutOfRange("--intervals", o.intervals, "a number in (0, 1)")
	}
	if err := o.prequential.checkFlags(); err != nil || !o.prequential.on {
		return err
	}
	return o.prequential.Validate(o.data)
}

// evaluation holds the results of a model on data.
type evaluation struct {
	model     *classify.Model
	info      dataset.Info
	confusion *classify.Confusion
	positives int64 // rows of two classes that are positive

	// Of two classes the scores, of several those of each class, or the probabilities if the model
	// has them. Both are empty if there were too many.
	scores     []classify.Scored
	classes    scored.Classes
	tooMany    bool
	confidence float64 // of the intervals, 0 for none
}

// mostScores is the number of scores up to which they are kept, of two classes with 24 bytes each,
// of several with 8.
const mostScores = 10_000_000

// Run implements [command.Options].
func (o *evaluateOptions) Run(ctx context.Context, a *command.App, inputs []string) error {
	if o.prequential.on {
		return o.prequential.Run(ctx, a, o.data, inputs, o.json)
	}
	r, err := newModelReader(a, o.data, o.model, "evaluate")
	if err != nil {
		return err
	}
	plots := o.prequential.plots
	if err := files.CheckPlots(plots, append(files.Inputs(inputs), files.Named{
		Flag: "--model",
		Path: o.model,
	})); err != nil {
		return err
	}
	if r.model.Task != classify.Binary && len(plots) > 0 {
		return noregret.Errorf(noregret.Usage, "--plot", "for a model of two classes, or with --prequential")
	}
	if r.model.Task == classify.Multilabel && o.intervals != 0 {
		return noregret.Errorf(noregret.Usage, "--intervals",
			"for rows with one label: those of this model have several")
	}
	out, err := o.measure(ctx, r, inputs)
	if err != nil {
		return err
	}
	out.confidence = o.intervals
	if len(plots) > 0 {
		if err := out.plot(plots); err != nil {
			return err
		}
	}
	if o.json {
		return out.writeJSON(a.Stdout)
	}
	return out.write(a.Stdout)
}

// measure evaluates the model in one pass over the data.
func (o *evaluateOptions) measure(ctx context.Context, r *modelReader, inputs []string) (*evaluation, error) {
	task := r.model.Task
	if o.newLabels == "negative" && task == classify.Multiclass {
		return nil, noregret.Errorf(noregret.Usage, "--new-labels", "a model of several classes has no negative class")
	}
	counter, err := classify.NewCounter(r.classifier)
	if err != nil {
		return nil, err
	}
	out := &evaluation{model: r.model, confusion: counter.Confusion()}
	targets := targetMap{model: r.model, others: o.newLabels == "negative"}
	var raw []float64
	out.info, err = r.each(ctx, inputs, func(s *dataset.Stream, b *dataset.Block) error {
		if err := targets.extend(s); err != nil {
			return err
		}
		for i := range b.Len() {
			index, value := b.Row(i)
			labels := targets.of(b, i)
			switch task {
			case classify.Binary:
				if len(labels) > 0 {
					out.positives++
				}
				raw = r.classifier.RawScores(raw[:0], index, value)
				out.keep(raw[0], b.RowWeight(i), len(labels) > 0)
			case classify.Multiclass:
				raw = r.classifier.RawScores(raw[:0], index, value)
				out.keepClasses(raw, labels[0], b.RowWeight(i))
			}
			counter.Add(index, value, labels, b.RowWeight(i))
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	out.report(r.app, targets.unknown)
	return out, nil
}

// keep keeps the score of a row.
func (e *evaluation) keep(score, weight float64, positive bool) {
	if len(e.scores) == mostScores {
		e.scores, e.tooMany = nil, true
	}
	if !e.tooMany {
		e.scores = append(e.scores, classify.Scored{Score: score, Weight: weight, Positive: positive})
	}
}

// keepClasses keeps the numbers of a row of several classes.
func (e *evaluation) keepClasses(scores []float64, class int, weight float64) {
	if (len(e.classes.Truth)+1)*len(scores) > mostScores {
		e.classes, e.tooMany = scored.Classes{}, true
	}
	switch {
	case e.tooMany:
	case e.model.Calibration != nil:
		e.classes.Add(e.model.Probabilities(nil, scores), class, weight)
	default:
		e.classes.Add(scores, class, weight)
	}
}

// report says on standard error what is unusual about the labels of the data.
func (e *evaluation) report(a *command.App, unknown []string) {
	binary := e.model.Task == classify.Binary
	switch {
	case len(unknown) > 0 && binary:
		a.Note("labels that training did not have count as negative: %s", show.Listed(unknown))
	case len(unknown) > 0:
		a.Note("labels that training did not have are left out: %s", show.Listed(unknown))
	}
	missing := e.missing()
	switch {
	case binary && (e.positives == 0 || e.positives == e.info.Rows):
		a.Note("warning: the data have one class only, so that some measures are undefined")
	case len(missing) > 0:
		a.Note("warning: no example has the class %s, so that measures of the recalls are undefined",
			show.Listed(missing))
	}
}

// missing names the classes of several without examples.
func (e *evaluation) missing() []string {
	if e.model.Task != classify.Multiclass {
		return nil
	}
	var names []string
	for k, r := range e.confusion.Classes.Recalls(nil) {
		if r != r {
			names = append(names, e.model.Labels[k])
		}
	}
	return names
}

// oneMeasure is a measure in the output.
type oneMeasure struct {
	name    string
	value   show.Number
	trained bool // whether the model was trained for it

	low, high show.Number // the interval, NaN without one
}

// values returns the measures in order, and adds the model's own if it is missing.
func (e *evaluation) values() ([]oneMeasure, error) {
	list, own := evaluated[e.model.Task], e.model.Measure == "" // a private model has none
	none := show.Number(math.NaN())
	var out []oneMeasure
	var measures []measure.Objective
	for i := 0; i < len(list) || !own; i++ {
		name := e.model.Measure
		if i < len(list) {
			name = list[i]
		}
		m, err := e.model.Task.Measure(name)
		if err != nil {
			return nil, err
		}
		trained := m.Name() == e.model.Measure
		own = own || trained || i >= len(list)
		out = append(out, oneMeasure{name, show.Number(e.confusion.Value(m)), trained, none, none})
		measures = append(measures, m)
	}
	if e.confidence != 0 {
		for i, x := range classify.Intervals(e.confusion, measures, e.confidence) {
			out[i].low, out[i].high = show.Number(x[0]), show.Number(x[1])
		}
	}
	if c := e.confusion; c.Labels != nil {
		pooled := c.Labels.Pooled()
		wrong := (pooled.FN + pooled.FP) / (pooled.Positives() + pooled.Negatives())
		out = append(out, oneMeasure{"subset_accuracy", show.Number(c.Exact / c.Weight), false, none, none},
			oneMeasure{"hamming_loss", show.Number(wrong), false, none, none})
	}
	return append(out, e.ofScores()...), nil
}

// probabilities are the scores with their probabilities in their place; nil without a calibration.
func (e *evaluation) probabilities() []classify.Scored {
	if e.model.Calibration == nil {
		return nil
	}
	p := slices.Clone(e.scores)
	for i := range p {
		p[i].Score = e.model.Probabilities(nil, []float64{p[i].Score})[0]
	}
	return p
}

// ofScore is a measure of scores or probabilities.
type ofScore struct {
	name string
	of   scored.Estimate
	unit bool // whether it is at most 1
}

// ofScores are the measures of the scores and the probabilities.
func (e *evaluation) ofScores() []oneMeasure {
	var list []ofScore
	switch e.model.Task {
	case classify.Binary:
		p := e.probabilities()
		list = []ofScore{
			{"auc", scored.AUC(e.scores), true},
			{"average_precision", scored.AveragePrecision(e.scores), true},
			{"log_loss", scored.LogLoss(p), false},
			{"brier", scored.Brier(p), true},
		}
	case classify.Multiclass:
		p := &e.classes
		if e.model.Calibration == nil {
			p = new(scored.Classes)
		}
		list = []ofScore{
			{"auc_ovr", e.classes.AUC(), true}, {"log_loss", p.LogLoss(), false}, {"brier", p.Brier(), false},
		}
	}
	var out []oneMeasure
	for _, x := range list {
		m := oneMeasure{name: x.name, value: show.Number(x.of.Value), low: show.Number(math.NaN())}
		m.high = m.low
		if e.confidence != 0 {
			low, high := x.of.Positive(e.confidence)
			if x.unit {
				low, high = x.of.Unit(e.confidence)
			}
			m.low, m.high = show.Number(low), show.Number(high)
		}
		out = append(out, m)
	}
	return out
}

func (e *evaluation) writeJSON(w io.Writer) error {
	values, err := e.values()
	if err != nil {
		return err
	}
	var pairs []any
	for _, v := range values {
		pairs = append(pairs, v.name, v.value)
	}
	if e.confidence != 0 {
		intervals := map[string]any{}
		for _, v := range values {
			intervals[v.name] = nil
			if v.low == v.low && v.high == v.high {
				intervals[v.name] = [2]show.Number{v.low, v.high}
			}
		}
		pairs = append(pairs, "confidence", e.confidence, "intervals", intervals)
	}
	pairs = append(pairs, "n", e.info.Rows)
	unread := []any{"ignored_features", e.info.IgnoredFeatures, "bad_lines", e.info.BadLines}
	trained := []any{"measure", e.model.Measure, "algorithm", e.model.Algorithm}
	switch e.model.Task {
	case classify.Binary:
		pairs = append(pairs, "positives", e.positives, "negatives", e.info.Rows-e.positives)
		pairs = append(append(pairs, unread...), "confusion", e.confusion.Two, "threshold",
			e.model.Models[0].Threshold, "positive_label", e.model.Positive())
		return writeOrdered(w, append(pairs, trained...)...)
	case classify.Multiclass:
		pairs = append(pairs, "labels", e.model.Labels, "confusion", e.matrix(), "classes", e.classesJSON())
	default:
		pairs = append(pairs, "labels", e.model.Labels, "per_label", e.labelsJSON())
	}
	pairs = append(append(pairs, unread...), "task", e.model.Task.String())
	return writeOrdered(w, append(pairs, trained...)...)
}

// writeOrdered prints a JSON object of keys and values in the given order.
func writeOrdered(w io.Writer, pairs ...any) error {
	var b strings.Builder
	for i := 0; i+1 < len(pairs); i += 2 {
		v, err := json.Marshal(pairs[i+1])
		if err != nil {
			return err
		}
		sep := ","
		if i == 0 {
			sep = "{"
		}
		fmt.Fprintf(&b, "%s\n  %q: %s", sep, pairs[i], v)
	}
	b.WriteString("\n}\n")
	_, err := io.WriteString(w, b.String())
	return err
}

func (e *evaluation) write(w io.Writer) error {
	counts := e.writeLabels
	if e.model.Task == classify.Binary {
		counts = e.writeTwo
	}
	if err := counts(w); err != nil {
		return err
	}
	t := show.Table{}
	t.Add("")
	values, err := e.values()
	if err != nil {
		return err
	}
	for _, v := range values {
		mark := ""
		if v.trained {
			mark = "trained for"
		}
		cells := []string{v.name, v.value.String(), mark}
		if e.confidence != 0 {
			cells = []string{v.name, v.value.String(), "", mark}
			if v.low == v.low && v.high == v.high {
				cells[2] = v.low.String() + " to " + v.high.String()
			}
		}
		t.Add(cells...)
	}
	return t.Write(w)
}

// writeTwo prints the confusion matrix of two classes.
func (e *evaluation) writeTwo(w io.Writer) error {
	c := e.confusion.Two
	pos, neg := e.model.Positive(), e.model.NegativeName()
	g := show.Table{}
	g.Add(fmt.Sprintf("%d rows, %d positives", e.info.Rows, e.positives), "predicted "+pos, "predicted "+neg)
	g.Add("labelled "+pos, show.Whole(c.TP), show.Whole(c.FN))
	g.Add("labelled "+neg, show.Whole(c.FP), show.Whole(c.TN))
	return g.Write(w)
}
