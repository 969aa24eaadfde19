package train

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/noregret/noregret/classify/export"
	"github.com/noregret/noregret/internal/cli/command"
	"github.com/noregret/noregret/internal/cli/files"
)

// exportOptions are the flags of "noregret export".
type exportOptions struct {
	format string
	output string
}

const exportLong = `Write a model for another program, or for people. The formats:

%s
The threshold is subtracted from the intercept, so that the other program decides at 0, or for the
class with the largest score. The features are the numbers of the file in the order of the model,
from 0; LIBLINEAR counts them from 1. How CSV and JSON lines map to features stays behind, as do
probabilities, save those of Platt's curve of two classes in ONNX (train --calibration platt): the
output "probability". ONNX and Vowpal Wabbit have 32-bit weights, so that rows very near the
threshold may differ. Vowpal Wabbit predicts the score less the threshold (vw -t -i MODEL); where
the model is not of its own text, name a feature by its number in the model: "| 0:1.5 7:2".
docs/how-to/answers.md has lines of Python that read the formats. Logarithms, ranks or products of
the columns, which --algorithm auto may choose, are operators in ONNX, and the JSON for scikit-learn
describes them; LIBLINEAR and Vowpal Wabbit cannot hold them. Models of rows with several labels
have the card only. A file is written completely or not at all.`

// newExportCommand makes "noregret export".
func newExportCommand(a *command.App) *cobra.Command {
	var list strings.Builder
	for _, name := range export.Formats() {
		fmt.Fprintf(&list, "  %-10s %s\n", name, export.About(name))
	}
	return command.New(a, &cobra.Command{
		Use:   "export MODEL --format FORMAT",
		Short: "Write a model as ONNX, for LIBLINEAR, vw or scikit-learn, or as a card",
		Long:  fmt.Sprintf(exportLong, list.String()),
		Example: `  noregret export f1.json --format onnx --output f1.onnx
  noregret export f1.json --format card --output CARD.md`,
		Args: command.Args(1, "the model file"),
	}, &exportOptions{format: "card", output: files.StdName})
}

// AddFlags implements [command.Options].
func (o *exportOptions) AddFlags(f *pflag.FlagSet) {
	f.Var(command.NewChoice(&o.format, export.Formats()...), "format", "format to write")
	f.StringVarP(&o.output, "output", "o", o.output, "file to write, - for standard output")
}

// Validate implements [command.Options].
func (o *exportOptions) Validate() error { return nil }

// Run implements [command.Options].
func (o *exportOptions) Run(_ context.Context, a *command.App, args []string) error {
	m, err := loadModel(args[0])
	if err != nil {
		return err
	}
	if o.output == files.StdName {
		return command.Flagged(export.Write(a.Stdout, o.format, m))
	}
	if err := files.CheckOutputs([]files.Named{{Flag: "--output", Path: o.output}}, files.Inputs(args)); err != nil {
		return err
	}
	return command.Flagged(files.Write(o.output, func(w io.Writer) error { return export.Write(w, o.format, m) }))
}
