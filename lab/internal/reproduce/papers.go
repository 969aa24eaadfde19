package reproduce

import (
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/lab/internal/study"
	"github.com/noregret/noregret/lab/papers"
)

// newPapersCommand makes "noregret-lab papers".
func newPapersCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "papers NAME",
		Short: "Re-run a paper's tables and print them beside the stated numbers",
		Long: `Reproduce the synthetic experiments of a paper and print the measured numbers
beside the published ones, in brackets. A "!" marks a number outside its tolerance; the exit status
is then 1.

  spade-stamp  "Optimizing Non-decomposable Performance Measures: A Tale of Two Classes" (2015)
  struct-svm   STAMP beside struct-SVM baselines of the same paper, which prints no numbers

The default of spade-stamp is the problem g3 with 2 runs, about ten seconds; --full is g1, g3 and g4
with 5 runs, a minute or two. Its last table has duality gaps: bounds on the distance of each model's
value from the best. The default of struct-svm is 2,000 training rows; --full is all.`,
		Example: "  noregret-lab papers spade-stamp\n  noregret-lab papers spade-stamp --full --json",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 || args[0] != "spade-stamp" && args[0] != "struct-svm" {
				return noregret.Errorf(noregret.Usage, "",
					"papers takes the name of one paper (spade-stamp or struct-svm), got %q", strings.Join(args, " "))
			}
			return nil
		},
		ValidArgs: []string{"spade-stamp", "struct-svm"},
	}
	full := c.Flags().Bool("full", false, "all problems, 5 runs each, or all rows")
	return study.New(c, "runs", func(ctx context.Context, r *study.Runner) (*study.Report, error) {
		run := spadeStamp
		if c.Flags().Arg(0) == "struct-svm" {
			run = structSVM
		}
		list, err := run(ctx, r, *full)
		report := &study.Report{Data: list}
		for _, t := range list {
			report.Tables = append(report.Tables, beside(t))
		}
		return report, err
	})
}

func spadeStamp(ctx context.Context, r *study.Runner, full bool) ([]papers.Table, error) {
	problems, runs, passes := []string{"g3"}, 2, 5
	if full {
		problems, runs, passes = []string{"g1", "g3", "g4"}, 5, 100
	}
	t, err := papers.RunTale(ctx, problems, runs, r.Progress)
	if err != nil {
		return nil, err
	}
	gaps, err := papers.RunCertificates(ctx, passes)
	return []papers.Table{t.SPADE, t.STAMP, gaps}, err
}

func structSVM(ctx context.Context, _ *study.Runner, full bool) ([]papers.Table, error) {
	o, begin := papers.DefaultStructSVMOptions(), time.Now()
	if !full {
		o.Rows = 2000
	}
	o.Clock = func() time.Duration { return time.Since(begin) }
	t, err := papers.RunStructSVM(ctx, o)
	return []papers.Table{t}, err
}

// beside is a table of measured numbers beside the stated ones.
func beside(t papers.Table) study.Table {
	out := study.Table{Title: t.Title, Columns: append([]string{""}, t.Columns...)}
	for _, row := range t.Rows {
		cells := []any{row.Name}
		for _, c := range row.Cells {
			x := study.Beside(c.Mean, c.Stated)
			if x.Within = c.Tolerance(); c.Runs > 1 {
				x.Error = c.SD
			}
			cells = append(cells, x.Cell("%.4f"))
		}
		out.Add(cells...)
	}
	return out
}
