package train

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"strconv"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/noregret/noregret"
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
	write := o.write
	if r.multi != nil {
		write = o.writeMulti
	}
	if o.output == files.StdName {
		return write(ctx, r, inputs, a.Stdout)
	}
	return files.Write(o.output, func(w io.Writer) error { return write(ctx, r, inputs, w) })
}

func (o *predictOptions) write(ctx context.Context, r *modelReader, inputs []string, out io.Writer) error {
	w := bufio.NewWriterSize(out, 64<<10)
	positive, negative := o.tail(r.model.Labels.Positive), o.tail(r.model.NegativeName())
	head := ""
	if o.json {
		head = `{"score":`
	}
	var line []byte
	_, err := r.each(ctx, inputs, func(_ *dataset.Stream, b *dataset.Block) error {
		for i := range b.Len() {
			index, value := b.Row(i)
			score := r.lin.Score(index, value)
			if score-score != 0 {
				return noregret.BadInputf("", "row %d: the score is %v, out of the range of float64",
					b.FirstRow+int64(i)+1, score)
			}
			line = append(line[:0], head...)
			line = strconv.AppendFloat(line, score, 'g', -1, 64)
			if score > r.lin.Threshold {
				line = append(line, positive...)
			} else {
				line = append(line, negative...)
			}
			if _, err := w.Write(line); err != nil {
				return err
			}
		}
		return w.Flush()
	})
	return err
}

// tail holds what follows the score in a line.
func (o *predictOptions) tail(label string) string {
	if !o.json {
		return "\t" + legible.Text(label) + "\n"
	}
	quoted, err := json.Marshal(label)
	if err != nil {
		panic(err) // a string
	}
	return `,"label":` + string(quoted) + "}\n"
}
