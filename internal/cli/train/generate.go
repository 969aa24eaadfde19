package train

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/dataset/synth"
	"github.com/noregret/noregret/internal/atomicfile"
	"github.com/noregret/noregret/internal/cli/command"
	"github.com/noregret/noregret/internal/progress"
)

// generateOptions are the flags of "noregret generate".
type generateOptions struct {
	rows   int64
	seed   uint64
	format string
	output string
}

const generateLong = `Generate a synthetic data set from a seed, on standard output or in a file.

The data sets:
%s
The same name, seed and number of rows give the same bytes on every machine. A shorter data set is
the beginning of a longer one. Use different seeds for training and test data.

Formats: svmlight lines ("+1 1:0.5 3:2", without zeros, indices from 1), or csv with a header and
the column "label" (1 or 0) first. A file is written completely or not at all.`

// newGenerateCommand makes "noregret generate".
func newGenerateCommand(a *command.App) *cobra.Command {
	return command.New(a, &cobra.Command{
		Use:   "generate NAME",
		Short: "Generate a synthetic data set from a seed",
		Long:  fmt.Sprintf(generateLong, dataSetList()),
		Example: `  # 20,000 rows with 5 % positives for training, others for testing
  noregret generate g1 --rows 20000 --seed 1001 --output train.svm
  noregret generate g1 --rows 100000 --seed 1003 --output test.svm

  # Five rows of raw columns, to look at
  noregret generate fraud --rows 5 --format csv`,
		Args:              command.Args(1, "the name of one data set ("+strings.Join(synth.Names(), ", ")+")"),
		ValidArgsFunction: cobra.FixedCompletions(synth.Names(), cobra.ShellCompDirectiveNoFileComp),
	}, &generateOptions{rows: 10_000, seed: 1, format: "svmlight", output: "-"})
}

// AddFlags implements [command.Options].
func (o *generateOptions) AddFlags(f *pflag.FlagSet) {
	f.Int64Var(&o.rows, "rows", o.rows, "number of examples, at least 1")
	f.Uint64Var(&o.seed, "seed", o.seed, "seed")
	f.Var(command.NewChoice(&o.format, "svmlight", "csv"), "format", "format of the lines")
	f.StringVarP(&o.output, "output", "o", o.output, "file to write, - for standard output")
}

// Validate implements [command.Options].
func (o *generateOptions) Validate() error {
	if o.rows < 1 {
		return command.OutOfRange("--rows", o.rows, "at least 1")
	}
	if o.output == "" {
		return noregret.Errorf(noregret.Usage, "--output", "the file name is empty")
	}
	return nil
}

// dataSetList lists the data sets for the manual.
func dataSetList() string {
	var b strings.Builder
	for _, name := range synth.Names() {
		spec, err := synth.ByName(name)
		if err != nil {
			continue // a test checks that ByName knows all Names
		}
		fmt.Fprintf(&b, "  %-6s %s\n", name, spec.Summary)
	}
	return b.String()
}

// Run implements [command.Options].
func (o *generateOptions) Run(ctx context.Context, a *command.App, args []string) error {
	spec, err := synth.ByName(args[0])
	if err != nil {
		return err
	}
	g, err := synth.New(spec, o.seed)
	if err != nil {
		return err
	}
	p, err := a.Progress()
	if err != nil {
		return err
	}
	write := func(w io.Writer) error { return generateRows(ctx, w, g, *o, p) }
	if o.output == "-" {
		return write(a.Stdout)
	}
	if err := atomicfile.Write(o.output, write); err != nil {
		if ctx.Err() != nil {
			return err
		}
		return noregret.Errorf(noregret.Internal, o.output, "cannot write the file: %w", err)
	}
	return nil
}

// generateRows writes opt.rows examples to w, until ctx is cancelled.
func generateRows(ctx context.Context, w io.Writer, g *synth.Generator, opt generateOptions,
	p *progress.Reporter,
) error {
	rows, err := newRowWriter(w, g, opt.format)
	if err != nil {
		return err
	}
	p.Start("generate", opt.rows)
	defer p.Finish()
	x := make([]float64, g.Dim())
	for i := range opt.rows {
		if i%1024 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		if err := rows.Write(g.Next(x), x); err != nil {
			return err
		}
		p.Update(i + 1)
	}
	return rows.Flush()
}

func newRowWriter(w io.Writer, g *synth.Generator, format string) (*synth.RowWriter, error) {
	if format == "csv" {
		return synth.NewCSVWriter(w, g.Columns())
	}
	return synth.NewSVMLightWriter(w, g.Dim())
}
