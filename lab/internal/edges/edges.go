// Package edges calculates what an experiment costs whose decisions are made by many processes at
// the edge of a network. Each follows the policies, decides by itself, and sends sums. The sizes
// and times are measured on the service itself; the rest is multiplication. A second table plays
// what it costs to learn from sums that come late and to serve policies that are old.
package edges

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/spf13/cobra"

	"github.com/noregret/noregret/internal/cli/command"
	"github.com/noregret/noregret/lab/arena"
	"github.com/noregret/noregret/lab/internal/study"
)

// options are the flags of "noregret-lab edges".
type options struct {
	edges     int
	decisions float64 // a day
	arms      int
	metrics   int
	appends   float64 // a second
	families  []string
	runs      int
	seed      uint64
}

// Command returns the command "noregret-lab edges".
func Command() *cobra.Command {
	c := &cobra.Command{
		Use:   "edges",
		Short: "Calculate the traffic of processes that decide at the edge, and what lateness costs",
		Long: `Measure the sizes of reports, events and policies on the service, and the time that it takes for each,
and calculate the traffic of many processes that decide by themselves and send sums. Then play the
policy of the service where a share of a round's units still gets the policy before, and the sums of
as many come after the round has ended. The times depend on the machine; the rest does not.`,
		Example: "  noregret-lab edges\n  noregret-lab edges --edges 300 --decisions 1e7 --runs 50",
	}
	var o options
	f := c.Flags()
	f.IntVar(&o.edges, "edges", 10_000, "processes that decide, 1 to 100,000")
	f.Float64Var(&o.decisions, "decisions", 1e9, "decisions a day of all of them, 1 to 1e12")
	f.IntVar(&o.arms, "arms", 11, "arms of the experiment, 2 to 100")
	f.IntVar(&o.metrics, "metrics", 3, "metrics of the experiment, 1 to 20")
	f.Float64Var(&o.appends, "appends", 552, "groups of events that the replicated log takes each second, above 0")
	f.StringSliceVar(&o.families, "families", nil, "families of problems to play; empty for all")
	f.IntVar(&o.runs, "runs", 20, "runs of each family, at least 2")
	f.Uint64Var(&o.seed, "seed", 1, "seed")
	return study.New(c, "runs", o.run)
}

// check returns an error for a flag out of its range.
func (o *options) check() error {
	switch {
	case o.edges < 1 || o.edges > 100_000:
		return command.OutOfRange("--edges", o.edges, "1 to 100000")
	case !(o.decisions >= 1 && o.decisions <= 1e12):
		return command.OutOfRange("--decisions", o.decisions, "1 to 1e12")
	case o.arms < 2 || o.arms > 100:
		return command.OutOfRange("--arms", o.arms, "2 to 100")
	case o.metrics < 1 || o.metrics > 20:
		return command.OutOfRange("--metrics", o.metrics, "1 to 20")
	case !(o.appends > 0 && o.appends <= 1e9):
		return command.OutOfRange("--appends", o.appends, "a number above 0 and up to 1e9")
	}
	return nil
}

func (o *options) run(ctx context.Context, r *study.Runner) (*study.Report, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	traffic, err := o.traffic(ctx)
	if err != nil {
		return nil, err
	}
	out := &study.Report{Tables: traffic}
	learning, err := o.learning(ctx, r)
	if err != nil {
		return out, err
	}
	out.Tables = append(out.Tables, *learning)
	return out, nil
}

// shares are the parts of a round that policies and sums are late by.
var shares = []float64{0, 1e-4, 1e-3, .01, .1, .5}

// learning plays the families with policies and sums that are late by the shares of a round.
func (o *options) learning(ctx context.Context, r *study.Runner) (*study.Table, error) {
	var entries []arena.Entry
	for _, share := range shares {
		entries = append(entries, arena.Entry{Name: fmt.Sprint(share), New: arena.Late(share)})
	}
	play := arena.Options{
		Families: o.families, Entries: entries, Runs: o.runs, Seed: o.seed, Workers: r.Workers, Progress: r.Progress,
	}
	result, err := arena.Run(ctx, play)
	if err != nil {
		return nil, err
	}
	t := &study.Table{
		Title: "what is learned where policies and sums are late: means over the families",
		Columns: []string{
			"late by, of a round", "rounds of 10 minutes", "of an hour", "of a day", "served", "deployed",
			"rounds broken by > .5 %, %",
		},
		Notes: fmt.Sprintf("%d runs of each of %d families; 0 is the control, 1 the best mixture in "+
			"hindsight. Standard errors are those of single "+
			"means; their differences share draws.\n", o.runs, len(result.Families)),
	}
	for i, share := range shares {
		row := []any{study.Number("%.4g", share)}
		for _, round := range []time.Duration{10 * time.Minute, time.Hour, 24 * time.Hour} {
			late := time.Duration(share * float64(round))
			row = append(row, late.Round(10*time.Millisecond).String())
		}
		for _, of := range []func(*arena.Row) study.Estimate{
			func(x *arena.Row) study.Estimate { return x.Served },
			func(x *arena.Row) study.Estimate { return x.Deployed },
			func(x *arena.Row) study.Estimate {
				return study.Estimate{Mean: 100 * x.ClearRounds.Mean, Error: 100 * x.ClearRounds.Error}
			},
		} {
			row = append(row, overFamilies(result, i, of).Cell("%.4f"))
		}
		t.Add(row...)
	}
	return t, nil
}

// overFamilies returns the mean over the families of what a learner did.
func overFamilies(result *arena.Result, learner int, of func(*arena.Row) study.Estimate) study.Estimate {
	var means, squares []float64
	for i := range result.Families {
		e := of(&result.Families[i].Rows[learner])
		means, squares = append(means, e.Mean), append(squares, float64(e.Error*e.Error))
	}
	return study.Estimate{Mean: mean(means), Error: math.Sqrt(mean(squares) / float64(len(squares)))}
}

func mean(x []float64) float64 {
	sum := 0.0
	for _, v := range x {
		sum += v
	}
	return sum / float64(max(len(x), 1))
}
