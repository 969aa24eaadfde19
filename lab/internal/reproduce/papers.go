package reproduce

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/cli/command"
	"github.com/noregret/noregret/internal/cli/show"
	"github.com/noregret/noregret/lab/papers"
)

// papersOptions are the flags of "noregret-lab papers".
type papersOptions struct {
	command.Output
	full bool
}

// newPapersCommand makes "noregret-lab papers".
func newPapersCommand(a *command.App) *cobra.Command {
	return command.New(a, &cobra.Command{
		Use:   "papers NAME",
		Short: "Re-run a paper's tables and print them beside the stated numbers",
		Long: `Reproduce the synthetic experiments of a paper and print the measured numbers
beside the published ones, in brackets. A "!" marks a number outside its tolerance.

  spade-stamp  "Optimizing Non-decomposable Performance Measures: A Tale of Two Classes" (2015)

The default is the problem g3 with 2 runs, about ten seconds; --full is g1, g3 and g4 with 5 runs,
a minute or two. The last table has duality gaps: bounds on the distance of each model's value
from the best.`,
		Example: "  noregret-lab papers spade-stamp\n  noregret-lab papers spade-stamp --full --json",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 || args[0] != "spade-stamp" {
				return noregret.Errorf(noregret.Usage, "", "papers takes the name of one paper (spade-stamp), got %q",
					strings.Join(args, " "))
			}
			return nil
		},
		ValidArgs: []string{"spade-stamp"},
	}, &papersOptions{})
}

// AddFlags implements [command.Options].
func (o *papersOptions) AddFlags(f *pflag.FlagSet) {
	o.Output.AddFlags(f)
	f.BoolVar(&o.full, "full", o.full, "all problems, 5 runs each")
}

// Run implements [command.Options].
func (o *papersOptions) Run(ctx context.Context, a *command.App, _ []string) error {
	problems, runs, passes := []string{"g3"}, 2, 5
	if o.full {
		problems, runs, passes = []string{"g1", "g3", "g4"}, 5, 100
	}
	p, err := a.Progress()
	if err != nil {
		return err
	}
	t, err := papers.RunTale(ctx, problems, runs, func(done, total int) {
		if done == 1 {
			p.Start("runs", int64(total))
		}
		p.Update(int64(done))
	})
	p.Finish()
	if err != nil {
		return err
	}
	gaps, err := papers.RunCertificates(ctx, passes)
	if err != nil {
		return err
	}
	tables := []papers.Table{t.SPADE, t.STAMP, gaps}
	if o.JSON {
		return show.JSON(a.Stdout, tables)
	}
	for i, table := range tables {
		if i > 0 {
			fmt.Fprintln(a.Stdout)
		}
		if err := table.Write(a.Stdout); err != nil {
			return err
		}
	}
	return nil
}
