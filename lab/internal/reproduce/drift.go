package reproduce

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/cli/command"
	"github.com/noregret/noregret/internal/cli/files"
	"github.com/noregret/noregret/internal/cli/show"
	"github.com/noregret/noregret/lab/internal/study"
	"github.com/noregret/noregret/lab/papers"
	"github.com/noregret/noregret/regret"
)

// driftOptions are the flags of "noregret-lab drift".
type driftOptions struct {
	cell    papers.DriftCell
	pattern int
	rounds  []int
	runs    int
	seed    uint64
	rates   bool
	plots   []string

	flags *pflag.FlagSet
}

const driftLong = `Simulate learners in a world that changes once, and compare them with the best sequence
of points (Besbes, Gur and Zeevi, "Non-stationary Stochastic Optimization", 2015, Appendix D).

The loss of round t is x²/2 − b·x + 1 on [−2, 2]. Its minimizer b begins at 1 and goes to 0:
at once (--pattern 1), exponentially (2) or linearly (3). The learner sees its gradient
(--setting gradient) or its value at the point played (--setting cost) with normal noise of the
standard deviation --noise. It plays gradient descent, or the estimated gradient step. --policy
says how: "restarted" with steps 1/k, or 2/k for costs, that begin anew in batches of √(T·ln T)
rounds, or of T^(2/3) for costs; "plain" with the same steps and no restarts; "fixed:STEP" with a
constant step.

For each horizon T of --rounds, the command prints the mean over --runs of the loss above that of
the best sequence, in percent of it, and fits ln regret = ln C + (1 − α)·ln T.

Without --setting, --pattern, --noise, --policy and --rounds it measures all cells of the paper's
Tables 3 and 4, and prints the published number beside each in brackets; lab/docs/drift-tables.md
explains the differences. With 50 runs, the default there, that takes about a minute. --rates
measures instead how regret grows with T and with the variation V in four settings, beside the
theory.

With --json the output is {setting, pattern, noise, policy, one_minus_alpha, c, r2,
loss_percent: {T: value}, runs, runs_asked}, or a list of tables or of rates, which have runs and
runs_asked, too.

An interrupted command prints the results of the runs that every cell and horizon has completed:
"runs" of "runs_asked". Its exit status is 1.`

// newDriftCommand makes "noregret-lab drift".
func newDriftCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "drift",
		Short: "Restarts in a world that changes: the tables of a paper, or one cell of them",
		Long:  driftLong,
		Example: `  noregret-lab drift --setting gradient --pattern 1 --noise 0.3 --rounds 5000,25000 --runs 200

  # An estimated gradient step without restarts, as JSON
  noregret-lab drift --setting cost --pattern 2 --policy plain --rounds 1000,10000 --json

  # Tables 3 and 4 beside the published ones, with a picture
  noregret-lab drift --runs 200 --plot drift.svg

  # How regret grows with the horizon and with the variation
  noregret-lab drift --rates`,
	}
	f := c.Flags()
	o := &driftOptions{cell: papers.DriftCell{Setting: "gradient"}, flags: f}
	f.Var(command.NewChoice(&o.cell.Setting, "gradient", "cost"), "setting", "what the learner sees: gradient or cost")
	f.IntVar(&o.pattern, "pattern", 1, "how the minimizer moves: 1 a jump, 2 exponential decay, 3 a linear ramp")
	f.Float64Var(&o.cell.Noise, "noise", 0.1, "standard deviation of the noise")
	f.StringVar(&o.cell.Policy, "policy", "restarted", "restarted, plain or fixed:STEP")
	f.IntSliceVar(&o.rounds, "rounds", []int{5000, 25000}, "horizons T")
	f.IntVar(&o.runs, "runs", 0, "number of runs; 200 for a cell, 50 for the tables and 30 for --rates by default")
	f.Uint64Var(&o.seed, "seed", 1, "seed of everything random")
	f.BoolVar(&o.rates, "rates", false, "measure how regret grows with the horizon and with the variation")
	f.StringArrayVar(&o.plots, "plot", nil,
		"write a picture of regret against rounds to this file, .svg or .png; may be given more than once")
	return study.New(c, "runs", o.run)
}

// one reports whether the flags ask for one cell.
func (o *driftOptions) one() bool {
	return slices.ContainsFunc([]string{"setting", "pattern", "noise", "policy", "rounds"}, o.flags.Changed)
}

// validate refuses flags that are out of range.
func (o *driftOptions) validate() error {
	if o.flags.Changed("runs") && o.runs < 1 {
		return command.OutOfRange("--runs", o.runs, "at least 1")
	}
	if o.rates && o.one() {
		return noregret.Errorf(noregret.Usage, "--rates", "given beside flags of a cell: want one of them")
	}
	o.cell.Pattern = regret.Pattern(o.pattern)
	slices.Sort(o.rounds)
	o.rounds = slices.Compact(o.rounds)
	return files.CheckPlots(o.plots, nil)
}

// run measures rates, a cell or the tables, and draws the pictures. An interrupted measurement has
// the results of the runs that are complete.
func (o *driftOptions) run(ctx context.Context, r *study.Runner) (report *study.Report, err error) {
	if err := o.validate(); err != nil {
		return nil, err
	}
	opt := papers.DriftOptions{Runs: o.runs, Seed: o.seed, Workers: r.Workers, Progress: r.Progress}
	runsOr := func(otherwise int) {
		if !o.flags.Changed("runs") {
			opt.Runs = otherwise
		}
	}
	var draw func(path string) error
	switch {
	case o.rates:
		runsOr(30)
		var rates []papers.DriftRate
		if rates, err = papers.RunDriftRates(ctx, opt); rates != nil {
			report = driftRates(rates)
		}
		draw = func(path string) error { return plotDriftRates(path, rates) }
	case o.one():
		runsOr(200)
		var results []papers.DriftResult
		if results, err = papers.RunDrift(ctx, []papers.DriftCell{o.cell}, [][]int{o.rounds}, opt); results != nil {
			report = driftCell(&results[0])
		}
		draw = func(path string) error { return plotDriftFits(path, results) }
	default:
		runsOr(50)
		var tables []papers.DriftTable
		if tables, err = papers.RunDriftTables(ctx, opt); tables != nil {
			report = driftTables(tables)
		}
		draw = func(path string) error { return plotDriftFits(path, tables[0].Fits, tables[1].Fits) }
	}
	if err != nil {
		return report, command.Flagged(err)
	}
	for _, path := range o.plots {
		err = errors.Join(err, draw(path))
	}
	return report, err
}

// digits shows an error with two digits.
func digits(v show.Number) string { return show.Digits(v, 2) }

// short shows a number with six digits.
func short(v show.Number) string { return show.Short(float64(v)) }

// driftCell is the report of one cell.
func driftCell(r *papers.DriftResult) *study.Report {
	report := &study.Report{Data: r}
	if r.Runs == 0 {
		return report // interrupted in the first run
	}
	t := study.Table{
		Title: fmt.Sprintf("%s feedback, %v, noise %s, %s, %s", r.Setting, r.Pattern, show.Short(r.Noise), r.Policy,
			show.RunsIn(r.Runs, r.Asked)),
		Columns: []string{"rounds", "regret", "error", "loss %", "error"},
		Notes: fmt.Sprintf("regret ≈ C·T^(1−α): 1−α %s, C %s, R² %s\n", show.Number(1-r.Alpha), show.Number(r.C),
			show.Number(r.R2)),
	}
	for _, h := range r.Horizons {
		t.Add(h.Rounds, show.Short(h.Regret), digits(show.Number(h.Error)), show.Number(h.Loss),
			digits(show.Number(h.LossError)))
	}
	report.Tables = []study.Table{t}
	return report
}

// driftTables is the report of the tables: every cell is the measured number and the published one
// in brackets, which nothing has to agree with.
func driftTables(tables []papers.DriftTable) *study.Report {
	report := &study.Report{Data: tables}
	for _, t := range tables {
		if t.Runs == 0 {
			return report // interrupted in the first run
		}
		out := study.Table{
			Title:   fmt.Sprintf("%s, %s; published numbers in brackets", t.Name, show.RunsIn(t.Runs, t.Asked)),
			Columns: []string{"loss %"},
		}
		for _, c := range t.Columns {
			out.Columns = append(out.Columns, c.String())
		}
		for _, r := range t.Rows {
			name := r.Name
			if r.Rounds > 0 {
				name = strconv.Itoa(r.Rounds) + " " + name
			}
			row := []any{name}
			for j, v := range r.Values {
				row = append(row, study.Beside(float64(v), r.Paper[j]).Cell("%.2f"))
			}
			out.Add(row...)
		}
		report.Tables = append(report.Tables, out)
	}
	return report
}

// driftRates is the report of the rates: the slopes, then the points.
func driftRates(rates []papers.DriftRate) *study.Report {
	report := &study.Report{Data: rates}
	if rates[0].Runs == 0 {
		return report // interrupted in the first run
	}
	slopes := study.Table{
		Title:   "Slopes, " + show.RunsIn(rates[0].Runs, rates[0].Asked),
		Columns: []string{"setting", "game", "slope in T", "error", "theory", "slope in V", "error", "theory"},
	}
	points := study.Table{
		Title:   "Points",
		Columns: []string{"setting", "rounds", "variation", "floor", "regret", "error", "bound"},
	}
	for _, r := range rates {
		t, v := r.InRounds, r.InVariation
		slopes.Add(r.Setting, r.Game, t.Value, digits(t.Error), t.Theory, v.Value, digits(v.Error), v.Theory)
		for _, p := range slices.Concat(r.Horizons, r.Variations) {
			points.Add(r.Setting, p.Rounds, short(p.Variation), short(p.Floor), short(p.Regret), digits(p.Error),
				short(p.Bound))
		}
	}
	report.Tables = []study.Table{slopes, points}
	return report
}
