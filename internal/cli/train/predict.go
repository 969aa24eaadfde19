package train

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"slices"
	"strconv"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/classify"
	"github.com/noregret/noregret/dataset"
	"github.com/noregret/noregret/internal/cli/command"
	"github.com/noregret/noregret/internal/cli/dataflags"
	"github.com/noregret/noregret/internal/cli/files"
	"github.com/noregret/noregret/internal/legible"
)

// predictOptions are the flags of "noregret predict".
type predictOptions struct {
	data   *dataflags.Flags
	model  string
	output string
	json   bool
}

const predictLong = `Apply a model to data and print one line per example: its score, a tab, and the label.

` + dataflags.Help + `
They are read with the model's own feature space, one block at a time. Labels in the data are
ignored and may be missing, in CSV also their column. A value that can never be a label, such as
nan, still makes a bad line.

The printed label is one of the training data; if these had more than two labels, it is the
positive label or "not" and the positive label. A row is positive if its score exceeds the model's
threshold. With --json the lines are {"score":0.25,"label":"1"}. A label with characters that
cannot be seen, such as a line break, is printed in quotes.

A model of several classes prints the largest score, less the threshold of its class, a tab, and
the class; with --json {"label":"b","scores":{"a":-1.5,"b":0.25}}. A model of several labels
prints the labels, separated by commas, in the order of the model, and an empty line if there are
none; with --json {"labels":["1","3"],"scores":{"1":0.5,"2":-2,"3":0.25}}. A score is what remains
after subtraction of the label's threshold; the label is predicted if it exceeds 0.

Values of features that training did not have are ignored and their number is reported on standard
error; --unseen error refuses them. A line that is skipped under --max-bad-lines has no line in
the output. A file is written completely or not at all.`

// newPredictCommand makes "noregret predict".
func newPredictCommand(a *command.App) *cobra.Command {
	o := &predictOptions{data: dataflags.New(), output: "-"}
	o.data.Labelless = true
	cmd := command.New(a, &cobra.Command{
		Use:   "predict --model FILE DATA...",
		Short: "Score and label examples with a model",
		Long:  predictLong,
		Example: `  noregret predict --model f1.json new.svm

  # From a pipe to a file, as JSON lines
  zcat new.svm.gz | noregret predict --model f1.json --json --output out.jsonl -`,
		Args: dataflags.WantArgs,
	}, o)
	registerModel(cmd, &o.model)
	o.data.RegisterWithModel(cmd)
	o.data.RegisterUnseen(cmd, dataset.UnseenIgnore)
	return cmd
}

// AddFlags implements [command.Options]. The flags of data and model are added with the command.
func (o *predictOptions) AddFlags(f *pflag.FlagSet) {
	f.StringVarP(&o.output, "output", "o", o.output, "file to write, - for standard output")
	f.BoolVar(&o.json, "json", o.json, "print JSON lines")
}

// Validate implements [command.Options].
func (o *predictOptions) Validate() error { return nil }

// Run implements [command.Options].
func (o *predictOptions) Run(ctx context.Context, a *command.App, inputs []string) error {
	if o.output != files.StdName {
		if err := files.CheckOutputs([]files.Named{{Flag: "--output", Path: o.output}},
			append(files.Inputs(inputs), files.Named{Flag: "--model", Path: o.model})); err != nil {
			return err
		}
	}
	r, err := newModelReader(a, o.data, o.model, "predict")
	if err != nil {
		return err
	}
	if o.output == files.StdName {
		return o.write(ctx, r, inputs, a.Stdout)
	}
	return files.Write(o.output, func(w io.Writer) error { return o.write(ctx, r, inputs, w) })
}

func (o *predictOptions) write(ctx context.Context, r *modelReader, inputs []string, out io.Writer) error {
	w := bufio.NewWriterSize(out, 64<<10)
	line, err := newPrediction(r.model, o.json)
	if err != nil {
		return err
	}
	// The scores of several labels are less their thresholds, the score of two classes is not.
	models, binary := r.classifier.Models, r.model.Task == classify.Binary
	scores := make([]float64, len(models))
	var predicted []int
	_, err = r.each(ctx, inputs, func(_ *dataset.Stream, b *dataset.Block) error {
		for i := range b.Len() {
			index, value := b.Row(i)
			if binary {
				scores[0], predicted = models[0].Score(index, value), predicted[:0]
				if scores[0] > models[0].Threshold {
					predicted = append(predicted, 0)
				}
			} else {
				scores = r.classifier.Scores(scores[:0], index, value)
				predicted = r.classifier.Decide(predicted[:0], scores)
			}
			if k := slices.IndexFunc(scores, func(z float64) bool { return z-z != 0 }); k >= 0 {
				return noregret.BadInputf("", "row %d: the score of %s is %v, out of the range of float64",
					b.FirstRow+int64(i)+1, r.model.Labels[k], scores[k])
			}
			if _, err := w.Write(line.of(scores, predicted)); err != nil {
				return err
			}
		}
		return w.Flush()
	})
	return err
}

// prediction makes the lines of predictions.
type prediction struct {
	task classify.Task
	json bool
	// labels are as printed: of two classes the positive one and the name of a negative prediction.
	labels []string
	buf    []byte
}

func newPrediction(m *classify.Model, asJSON bool) (*prediction, error) {
	p := &prediction{task: m.Task, json: asJSON}
	names := m.Labels
	if m.Task == classify.Binary {
		names = []string{m.Positive(), m.NegativeName()}
	}
	for _, name := range names {
		text := legible.Text(name)
		if asJSON {
			quoted, err := json.Marshal(name)
			if err != nil {
				return nil, err
			}
			text = string(quoted)
		}
		p.labels = append(p.labels, text)
	}
	return p, nil
}

// of returns the line of a row, which is valid until the next call.
func (p *prediction) of(scores []float64, predicted []int) []byte {
	write := p.text
	if p.json {
		write = p.object
	}
	p.buf = append(write(p.buf[:0], scores, predicted), '\n')
	return p.buf
}

// single returns the label of a row that has one, and its score.
func (p *prediction) single(scores []float64, predicted []int) (label string, score float64) {
	if p.task != classify.Binary {
		return p.labels[predicted[0]], scores[predicted[0]]
	}
	return p.labels[1-len(predicted)], scores[0]
}

// text appends a score, a tab and a label, or a list of labels.
func (p *prediction) text(b []byte, scores []float64, predicted []int) []byte {
	if p.task == classify.Multilabel {
		return p.list(b, predicted)
	}
	label, score := p.single(scores, predicted)
	return append(append(strconv.AppendFloat(b, score, 'g', -1, 64), '\t'), label...)
}

// object appends a JSON object.
func (p *prediction) object(b []byte, scores []float64, predicted []int) []byte {
	switch p.task {
	case classify.Binary:
		label, score := p.single(scores, predicted)
		b = strconv.AppendFloat(append(b, `{"score":`...), score, 'g', -1, 64)
		return append(append(append(b, `,"label":`...), label...), '}')
	case classify.Multiclass:
		label, _ := p.single(scores, predicted)
		b = append(append(b, `{"label":`...), label...)
	default:
		b = append(p.list(append(b, `{"labels":[`...), predicted), ']')
	}
	b = append(b, `,"scores":{`...)
	for k, z := range scores {
		if k > 0 {
			b = append(b, ',')
		}
		b = append(append(b, p.labels[k]...), ':')
		b = strconv.AppendFloat(b, z, 'g', -1, 64)
	}
	return append(b, "}}"...)
}

// list appends the labels, separated by commas.
func (p *prediction) list(b []byte, predicted []int) []byte {
	for i, k := range predicted {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, p.labels[k]...)
	}
	return b
}
