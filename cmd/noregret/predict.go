package main

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/dataset"
	"github.com/noregret/noregret/internal/atomicfile"
)

// predictCommand is one call of "noregret predict".
type predictCommand struct {
	data   *dataFlags
	model  string
	output string
	json   bool
}

const predictLong = `Apply a model to data and print one line per example: its score, a tab, and the label.

` + dataHelp + `
They are read with the model's own feature space, one block at a time. The labels in them do not
matter and may be missing (of CSV, the column of the label too); what can be no label at all, such
as nan, makes a bad line here too.

The label is that of the training data; where these had more than two, the positive one or "not"
and the positive one. It is positive when the score exceeds the model's threshold. With --json the
lines are {"score":0.25,"label":"1"}.

Values of features that training did not have are ignored and their number is reported on
standard error; --unseen error refuses them. A line that is skipped under --max-bad-lines has no
line in the output. A file is written whole or not at all.`

// newPredictCommand makes "noregret predict".
func newPredictCommand(a *app) *cobra.Command {
	p := &predictCommand{data: newDataFlags(), output: "-"}
	p.data.labelless = true
	cmd := &cobra.Command{
		Use:   "predict --model FILE DATA...",
		Short: "Score and label examples with a model",
		Long:  predictLong,
		Example: `  noregret predict --model f1.json new.svm

  # From a pipe to a file, as JSON lines
  zcat new.svm.gz | noregret predict --model f1.json --json --output out.jsonl -`,
		Args: wantData,
		RunE: func(cmd *cobra.Command, args []string) error { return p.run(cmd.Context(), a, args) },
	}
	s := cmd.Flags()
	registerModel(cmd, &p.model)
	s.StringVarP(&p.output, "output", "o", p.output, "file to write, - for standard output")
	s.BoolVar(&p.json, "json", p.json, "print JSON lines")
	p.data.registerWithModel(cmd)
	p.data.registerUnseen(cmd, dataset.UnseenIgnore)
	return cmd
}

func (p *predictCommand) run(ctx context.Context, a *app, inputs []string) error {
	if p.output != stdName {
		if err := checkOutputs([]namedFile{{"--output", p.output}},
			append(inputFiles(inputs), namedFile{"--model", p.model})); err != nil {
			return err
		}
	}
	r, err := newModelReader(a, p.data, p.model, "predict")
	if err != nil {
		return err
	}
	if p.output == stdName {
		return p.write(ctx, r, inputs, a.stdout)
	}
	return writeFile(p.output, func(w io.Writer) error { return p.write(ctx, r, inputs, w) })
}

// writeFile writes a file whole or not at all. An error of write keeps its code.
func writeFile(path string, write func(w io.Writer) error) error {
	var inner error
	err := atomicfile.Write(path, func(w io.Writer) error {
		inner = write(w)
		return inner
	})
	if err == nil || inner != nil {
		return err
	}
	return noregret.Errorf(noregret.Internal, path, "cannot write the file: %w", err)
}

func (p *predictCommand) write(ctx context.Context, r *modelReader, inputs []string, out io.Writer) error {
	w := bufio.NewWriterSize(out, 64<<10)
	positive, negative := p.tail(r.model.Labels.Positive), p.tail(r.model.NegativeName())
	head := ""
	if p.json {
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

// tail is what follows the score in a line.
func (p *predictCommand) tail(label string) string {
	if !p.json {
		return "\t" + label + "\n"
	}
	quoted, err := json.Marshal(label)
	if err != nil {
		panic(err) // a string
	}
	return `,"label":` + string(quoted) + "}\n"
}
