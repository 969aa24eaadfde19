package train

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/classify"
	"github.com/noregret/noregret/classify/measure"
	"github.com/noregret/noregret/dataset"
	"github.com/noregret/noregret/internal/cli/command"
	"github.com/noregret/noregret/internal/cli/dataflags"
	"github.com/noregret/noregret/internal/cli/show"
)

// evaluateOptions are the flags of "noregret evaluate".
type evaluateOptions struct {
	data      *dataflags.Flags
	model     string
	newLabels string
	json      bool

	prequential prequentialOptions
}

// evaluated are the measures that evaluate reports, in the order of its output.
var evaluated = []string{
	"f1", "gmean", "qmean", "hmean", "min_tpr_tnr", "jaccard", "tpr", "tnr", "accuracy", "balanced_accuracy",
	"precision", "mcc", "kappa", "f2", "f0.5",
}

const evaluateLong = `Apply a model to labelled data and print all measures, the confusion matrix
and the counts.

` + dataflags.Help + `
They are read with the model's own feature space, one block at a time.

Values of features that training did not have are ignored and their number is reported on
standard error; --unseen error refuses them. A label that training did not have is refused;
--new-labels negative counts it as negative. With example weights the matrix and the measures are
weighted; n and positives count rows.

With --json the output is one object with a key per measure: f1, gmean, qmean, hmean,
min_tpr_tnr, jaccard, tpr, tnr, accuracy, balanced_accuracy, precision, mcc, kappa, f2 and f0.5
(null where undefined), and n, positives, negatives, ignored_features, bad_lines, confusion {tp,
fn, tn, fp}, threshold, positive_label, measure (for which the model was trained), algorithm. If
the model was trained for a measure that is not in this list, the object has it under its name.

A model of several classes gives accuracy, macro_f1, macro_precision, macro_recall, min, hmean,
qmean and gmean, n, labels, confusion (a list of rows, one for each true class), classes (a list
of {label, weight, predicted, recall, precision, f1}), ignored_features, bad_lines, task, measure,
algorithm. A model of several labels gives macro_f1, micro_f1, macro_precision, micro_precision,
macro_recall, micro_recall, subset_accuracy (rows without a mistake), hamming_loss (wrong pairs of
row and label), n, per_label (a list of {label, tp, fn, tn, fp, recall, precision, f1}), and the
same at the end.
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
	o.prequential.AddFlags(f)
	f.Var(command.NewChoice(&o.newLabels, "error", "negative"), "new-labels",
		"labels that were not in the training data: refuse them, or count them as negative")
}

// Validate implements [command.Options].
func (o *evaluateOptions) Validate() error {
	if err := o.prequential.checkFlags(); err != nil || !o.prequential.on {
		return err
	}
	return o.prequential.Validate(o.data)
}

// evaluation holds the results of a model on data.
type evaluation struct {
	model     *classify.Model
	info      dataset.Info
	confusion measure.Confusion
	positives int64
}

// Run implements [command.Options].
func (o *evaluateOptions) Run(ctx context.Context, a *command.App, inputs []string) error {
	if o.prequential.on {
		return o.prequential.Run(ctx, a, o.data, inputs, o.json)
	}
	r, err := newModelReader(a, o.data, o.model, "evaluate")
	if err != nil {
		return err
	}
	if r.multi != nil {
		return o.runMulti(ctx, r, inputs)
	}
	out, err := o.measure(ctx, r, inputs)
	if err != nil {
		return err
	}
	if o.json {
		return out.writeJSON(a.Stdout)
	}
	return out.write(a.Stdout)
}

// measure evaluates the model in one pass over the data.
func (o *evaluateOptions) measure(ctx context.Context, r *modelReader, inputs []string) (*evaluation, error) {
	out := &evaluation{model: r.model}
	labels := labelMap{model: r.model, others: o.newLabels == "negative"}
	info, err := r.each(ctx, inputs, func(s *dataset.Stream, b *dataset.Block) error {
		if err := labels.learn(s); err != nil {
			return err
		}
		for i := range b.Len() {
			positive := labels.classes[b.Class[i]]
			if positive {
				out.positives++
			}
			index, value := b.Row(i)
			out.confusion.Add(positive, r.lin.Predict(index, value), b.RowWeight(i))
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	out.info = info
	if info.Rows == 0 {
		return nil, noregret.BadInputf(strings.Join(inputs, ", "),
			"the input has no examples")
	}
	if len(labels.unknown) > 0 {
		r.app.Note("labels that training did not have count as negative: %s", show.Listed(labels.unknown))
	}
	if out.positives == 0 || out.positives == info.Rows {
		r.app.Note("warning: the data have one class only, so that some measures are undefined")
	}
	return out, nil
}

// values returns the measures in order, and adds the model's own if it is missing.
func (e *evaluation) values() (names []string, values []show.Number) {
	list := evaluated
	trained, err := measure.Parse(e.model.Measure)
	if err == nil {
		have := false
		for _, name := range evaluated {
			m, err := measure.Parse(name)
			have = have || err == nil && m.Name() == trained.Name()
		}
		if !have {
			list = append(list[:len(list):len(list)], e.model.Measure)
		}
	}
	for _, name := range list {
		m, err := measure.Parse(name)
		if err != nil {
			continue // the names are those of the package, as a test checks
		}
		names = append(names, name)
		values = append(values, show.Number(m.Value(e.confusion)))
	}
	return names, values
}

func (e *evaluation) writeJSON(w io.Writer) error {
	names, values := e.values()
	pairs := make([]any, 0, 2*len(names)+24)
	for i := range names {
		pairs = append(pairs, names[i], values[i])
	}
	pairs = append(pairs,
		"n", e.info.Rows, "positives", e.positives, "negatives", e.info.Rows-e.positives,
		"ignored_features", e.info.IgnoredFeatures, "bad_lines", e.info.BadLines,
		"confusion", e.confusion, "threshold", e.model.Threshold, "positive_label", e.model.Labels.Positive,
		"measure", e.model.Measure, "algorithm", e.model.Algorithm)
	return writeOrdered(w, pairs...)
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
	c := e.confusion
	pos, neg := e.model.Labels.Positive, e.model.NegativeName()
	g := show.Table{}
	g.Add(fmt.Sprintf("%d rows, %d positives", e.info.Rows, e.positives), "predicted "+pos, "predicted "+neg)
	g.Add("labelled "+pos, show.Whole(c.TP), show.Whole(c.FN))
	g.Add("labelled "+neg, show.Whole(c.FP), show.Whole(c.TN))
	if err := g.Write(w); err != nil {
		return err
	}
	t := show.Table{}
	t.Add("")
	names, values := e.values()
	for i, name := range names {
		mark := ""
		if name == e.model.Measure || name == "min_tpr_tnr" && e.model.Measure == "min" {
			mark = "trained for"
		}
		t.Add(name, values[i].String(), mark)
	}
	return t.Write(w)
}
