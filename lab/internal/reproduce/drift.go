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
	workers int
	rates   bool
	plots   []string
	json    bool

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
func newDriftCommand(a *command.App) *cobra.Command {
	o := &driftOptions{
		cell: papers.DriftCell{Setting: "gradient", Noise: 0.1, Policy: "restarted"}, pattern: 1,
		rounds: []int{5000, 25000}, seed: 1,
	}
	return command.New(a, &cobra.Command{
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
		Args: command.NoArgs,
	}, o)
}

// AddFlags implements [command.Options].
func (o *driftOptions) AddFlags(f *pflag.FlagSet) {
	o.flags = f
	f.Var(command.NewChoice(&o.cell.Setting, "gradient", "cost"), "setting", "what the learner sees: gradient or cost")
	f.IntVar(&o.pattern, "pattern", o.pattern,
		"how the minimizer moves: 1 a jump, 2 exponential decay, 3 a linear ramp")
	f.Float64Var(&o.cell.Noise, "noise", o.cell.Noise, "standard deviation of the noise")
	f.StringVar(&o.cell.Policy, "policy", o.cell.Policy, "restarted, plain or fixed:STEP")
	f.IntSliceVar(&o.rounds, "rounds", o.rounds, "horizons T")
	f.IntVar(&o.runs, "runs", o.runs,
		"number of runs; 200 for a cell, 50 for the tables and 30 for --rates by default")
	f.Uint64Var(&o.seed, "seed", o.seed, "seed of everything random")
	f.IntVar(&o.workers, "workers", o.workers, "runs at a time, 0 for all cores; the result is the same for any number")
	f.BoolVar(&o.rates, "rates", o.rates, "measure how regret grows with the horizon and with the variation")
	f.StringArrayVar(&o.plots, "plot", o.plots, "write a picture of regret against rounds to this file, .svg or "+
		".png; may "+
		"be given more than once")
	f.BoolVar(&o.json, "json", o.json, "print JSON")
}

// one reports whether the flags ask for one cell.
func (o *driftOptions) one() bool {
	return slices.ContainsFunc([]string{"setting", "pattern", "noise", "policy", "rounds"}, o.flags.Changed)
}

// Validate implements [command.Options].
func (o *driftOptions) Validate() error {
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

// runsOr returns the number of runs, or the default.
func (o *driftOptions) runsOr(otherwise int) int {
	if o.flags.Changed("runs") {
		return o.runs
	}
	return otherwise
}

// Run implements [command.Options].
func (o *driftOptions) Run(ctx context.Context, a *command.App, _ []string) error {
	p, err := a.ProgressOfLong("rounds")
	if err != nil {
		return err
	}
	started := false
	opt := papers.DriftOptions{Seed: o.seed, Workers: o.workers, Progress: func(done, total int64) {
		if !started {
			p.Start("simulate", total)
			started = true
		}
		p.Update(done)
	}}
	var print func() error
	var draw func(path string) error
	switch {
	case o.rates:
		opt.Runs = o.runsOr(30)
		var rates []papers.DriftRate
		rates, err = papers.RunDriftRates(ctx, opt)
		print = func() error { return writeDriftRates(a, rates, opt.Runs, o.json) }
		draw = func(path string) error { return plotDriftRates(path, rates) }
	case o.one():
		opt.Runs = o.runsOr(200)
		var results []papers.DriftResult
		results, err = papers.RunDrift(ctx, []papers.DriftCell{o.cell}, [][]int{o.rounds}, opt)
		print = func() error { return writeDriftCell(a, &results[0], opt.Runs, o.json) }
		draw = func(path string) error { return plotDriftFits(path, results) }
	default:
		opt.Runs = o.runsOr(50)
		var tables []papers.DriftTable
		tables, err = papers.RunDriftTables(ctx, opt)
		print = func() error { return writeDriftTables(a, tables, opt.Runs, o.json) }
		draw = func(path string) error { return plotDriftFits(path, tables[0].Fits, tables[1].Fits) }
	}
	p.Finish()
	if err != nil {
		if ctx.Err() != nil { // the runs that are complete
			return errors.Join(print(), err)
		}
		return command.Flagged(err)
	}
	err = print()
	// The table is already printed: a full disk loses only the pictures.
	for _, path := range o.plots {
		err = errors.Join(err, draw(path))
	}
	return err
}

// driftJSON is what --json prints for a cell.
type driftJSON struct {
	Setting  string       `json:"setting"`
	Pattern  int          `json:"pattern"`
	Noise    show.Number  `json:"noise"`
	Policy   string       `json:"policy"`
	Exponent show.Number  `json:"one_minus_alpha"`
	C        show.Number  `json:"c"`
	R2       show.Number  `json:"r2"`
	Loss     driftPercent `json:"loss_percent"`
	Runs     int          `json:"runs"`
	Asked    int          `json:"runs_asked"`
}

// driftPercent are the losses by horizon, as a JSON object in the order of the horizons.
type driftPercent []papers.DriftHorizon

// MarshalJSON implements json.Marshaler.
func (p driftPercent) MarshalJSON() ([]byte, error) {
	o := make(members, len(p))
	for i, h := range p {
		o[i] = member{strconv.Itoa(h.Rounds), show.Number(h.Loss)}
	}
	return o.MarshalJSON()
}

// driftCellJSON returns what --json prints for a cell.
func driftCellJSON(r *papers.DriftResult, asked int) driftJSON {
	return driftJSON{
		Setting: r.Setting, Pattern: int(r.Pattern), Noise: show.Number(r.Noise), Policy: r.Policy,
		Exponent: show.Number(1 - r.Alpha), C: show.Number(r.C), R2: show.Number(r.R2), Loss: r.Horizons,
		Runs: r.Runs, Asked: asked,
	}
}

// writeDriftCell prints one cell.
func writeDriftCell(a *command.App, r *papers.DriftResult, runs int, asJSON bool) error {
	if asJSON {
		return show.JSON(a.Stdout, driftCellJSON(r, runs))
	}
	if r.Runs == 0 {
		return nil // interrupted in the first run
	}
	fmt.Fprintf(a.Stdout, "%s feedback, %v, noise %s, %s, %s\n\n", r.Setting, r.Pattern, show.Short(r.Noise), r.Policy,
		show.RunsIn(r.Runs, runs))
	g := show.Table{}
	g.Add("rounds", "regret", "error", "loss %", "error")
	for _, h := range r.Horizons {
		g.Add(strconv.Itoa(h.Rounds), show.Short(h.Regret), show.Digits(show.Number(h.Error), 2),
			show.Number(h.Loss).String(),
			show.Digits(show.Number(h.LossError), 2))
	}
	if err := g.Write(a.Stdout); err != nil {
		return err
	}
	_, err := fmt.Fprintf(a.Stdout, "\nregret ≈ C·T^(1−α): 1−α %s, C %s, R² %s\n", show.Number(1-r.Alpha),
		show.Number(r.C),
		show.Number(r.R2))
	return err
}
