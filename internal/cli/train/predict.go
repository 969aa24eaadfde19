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

	answers answerFlags
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

Values of features that training did not have are ignored; their number and the first columns are
reported on standard error, and --unseen error refuses them. A missing number is one of them where
training had none, and counts as 0. A line that is skipped under --max-bad-lines has no line in the
output. Without a row it is an error. A file is written completely or not at all.
` + answersLong

// newPredictCommand makes "noregret predict".
func newPredictCommand(a *command.App) *cobra.Command {
	o := &predictOptions{data: dataflags.New(), output: "-", answers: newAnswerFlags()}
	o.data.Labelless = true
	cmd := command.New(a, &cobra.Command{
		Use:   "predict --model FILE DATA...",
		Short: "Score and label examples with a model",
		Long:  predictLong,
		Example: `  noregret predict --model f1.json new.svm

  # Probabilities; the 100 rows to look at first; a threshold that finds 90 % of the positives
  noregret predict --model f1.json --proba new.svm
  noregret predict --model f1.json --top 100 new.svm
  noregret predict --model f1.json --at-recall 0.9 --confidence 0.95 new.svm

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
	o.answers.addTo(f)
}

// Validate implements [command.Options].
func (o *predictOptions) Validate() error { return o.answers.check() }

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
	if o.answers.proba && !o.json && r.model.Task == classify.Multilabel {
		return noregret.Errorf(noregret.Usage, "--proba", "needs --json for a model of several labels")
	}
	decide, err := o.answers.decider(r)
	if err != nil {
		return err
	}
	var top topRows
	_, err = r.each(ctx, inputs, func(_ *dataset.Stream, b *dataset.Block) error {
		for i := range b.Len() {
			index, value := b.Row(i)
			row, number := decide.row(index, value), b.FirstRow+int64(i)+1
			if k := slices.IndexFunc(row.scores, func(z float64) bool { return z-z != 0 }); k >= 0 {
				return noregret.BadInputf("", "row %d: the score of %s is %v, out of the range of float64",
					number, r.model.Labels[k], row.scores[k])
			}
			if o.answers.top > 0 {
				line.row = number
				top.offer(o.answers.top, number, row.scores[0], func() []byte { return line.of(row) })
			} else if _, err := w.Write(line.of(row)); err != nil {
				return err
			}
		}
		return w.Flush()
	})
	if err != nil || len(top) == 0 {
		return err
	}
	slices.SortFunc(top, func(a, b topRow) int { return b.order(a) })
	for _, x := range top {
		if _, err := w.Write(x.line); err != nil {
			return err
		}
	}
	o.answers.stateTop(r, len(top), top[len(top)-1].score)
	return w.Flush()
}

// prediction makes the lines of predictions.
type prediction struct {
	task classify.Task
	json bool
	// labels are as printed: of two classes the positive one and the name of a negative prediction.
	labels []string
	row    int64 // the number of the row, 0 if it is not printed
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
func (p *prediction) of(row decided) []byte {
	write := p.text
	if p.json {
		write = p.object
	}
	p.buf = append(write(p.buf[:0], row), '\n')
	return p.buf
}

// single returns the label of a row that has one, and its score or probability.
func (p *prediction) single(row decided) (label string, score float64) {
	if p.task != classify.Binary {
		k := row.predicted[0]
		if row.probabilities != nil {
			return p.labels[k], row.probabilities[k]
		}
		return p.labels[k], row.scores[k]
	}
	label, score = p.labels[1-len(row.predicted)], row.scores[0]
	if row.probabilities != nil {
		score = row.probabilities[0]
	}
	return label, score
}

// text appends a score, a tab and a label, or a list of labels.
func (p *prediction) text(b []byte, row decided) []byte {
	if p.task == classify.Multilabel {
		return p.list(b, row.predicted)
	}
	if p.row > 0 {
		b = append(strconv.AppendInt(b, p.row, 10), '\t')
	}
	label, score := p.single(row)
	return append(append(strconv.AppendFloat(b, score, 'g', -1, 64), '\t'), label...)
}

// object appends a JSON object.
func (p *prediction) object(b []byte, row decided) []byte {
	b = append(b, '{')
	if p.row > 0 {
		b = append(strconv.AppendInt(append(b, `"row":`...), p.row, 10), ',')
	}
	label := ""
	if p.task != classify.Multilabel {
		label, _ = p.single(row)
	}
	switch p.task {
	case classify.Binary:
		b = strconv.AppendFloat(append(b, `"score":`...), row.scores[0], 'g', -1, 64)
		if row.probabilities != nil {
			b = strconv.AppendFloat(append(b, `,"probability":`...), row.probabilities[0], 'g', -1, 64)
		}
		return append(append(append(b, `,"label":`...), label...), '}')
	case classify.Multiclass:
		b = append(append(b, `"label":`...), label...)
	default:
		b = append(p.list(append(b, `"labels":[`...), row.predicted), ']')
	}
	b = p.byLabel(append(b, `,"scores":`...), row.scores)
	if row.probabilities != nil {
		b = p.byLabel(append(b, `,"probabilities":`...), row.probabilities)
	}
	return append(b, '}')
}

// byLabel appends an object with a number for each label.
func (p *prediction) byLabel(b []byte, numbers []float64) []byte {
	b = append(b, '{')
	for k, z := range numbers {
		if k > 0 {
			b = append(b, ',')
		}
		b = append(append(b, p.labels[k]...), ':')
		b = strconv.AppendFloat(b, z, 'g', -1, 64)
	}
	return append(b, '}')
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
