package reproduce

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/spf13/cobra"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/cli/command"
	"github.com/noregret/noregret/internal/cli/files"
	"github.com/noregret/noregret/internal/cli/show"
	"github.com/noregret/noregret/internal/picture"
	"github.com/noregret/noregret/lab/internal/study"
	"github.com/noregret/noregret/lab/noisysums"
)

// privatePastoOptions are the flags of "noregret-lab private-pasto".
type privatePastoOptions struct {
	sums     noisysums.Options
	arms     int
	epsilons []float64
	units    []int64
	plots    []string
}

const privatePastoLong = `Measure what privacy costs an experiment: the rounds that the default learner
needs to 90 % of the gain when it sees nothing but released, noisy sums.

The experiment has a rate of conversions to raise and a rate of complaints under a hard guardrail,
both of a few percent, and a control arm. The arm that converts best breaks the guardrail, so that
the best mixture has a part of it. The gain is what that mixture converts above the control arm. A
run reaches 90 % of it in the first round whose served mixture has that, by the true rates, with
the promise of the guardrail in force. The table shows the median over the runs, each of --rounds
rounds, for every --epsilon and number of --units in a round; 0 as epsilon is a run without
privacy. The noise is in proportion to --contribution, the largest number of decisions of a unit
that count in the run.

Data and noise come from --seed, so that the numbers can be repeated.

With --json the output is a list of {epsilon, units, median_rounds, reached, runs, gain, broken,
noise, rounds}: median_rounds is null where half of the runs or more do not reach 90 %, gain is the
mean part of the gain in the last round, broken counts the runs in which some served mixture breaks
the guardrail, and noise is the standard deviation of the noise in a rate of one round's units.`

// newPrivatePastoCommand makes "noregret-lab private-pasto".
func newPrivatePastoCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "private-pasto",
		Short: "Rounds that a private experiment needs",
		Long:  privatePastoLong,
		Example: `  noregret-lab private-pasto --plot private-pasto.svg
  noregret-lab private-pasto --epsilon 0,1 --units 50000 --contribution 5 --arms 8 --json`,
	}
	o := privatePastoOptions{
		sums:     noisysums.Options{Rounds: 1000, Delta: 1e-10, Contribution: 1, Runs: 20, Seed: 1},
		arms:     4,
		epsilons: []float64{0, 10, 3, 1, 0.5},
		units:    []int64{10_000, 100_000, 1_000_000},
	}
	f, s := c.Flags(), &o.sums
	f.Float64SliceVar(&o.epsilons, "epsilon", o.epsilons, "the budget ε of a run, 0 for no privacy; a list for several")
	f.Float64Var(&s.Delta, "delta", s.Delta, "the budget δ of a run, above 0 and below 1")
	f.Int64SliceVar(&o.units, "units", o.units, "the number of units in a round; a list for several")
	f.IntVar(&s.Contribution, "contribution", s.Contribution, "the largest number of decisions of a unit")
	f.IntVar(&o.arms, "arms", o.arms, "the number of arms, 2 to 10")
	f.Int64Var(&s.Rounds, "rounds", s.Rounds, "the number of rounds, for which the noise is declared")
	f.IntVar(&s.Runs, "runs", s.Runs, "number of runs")
	f.Uint64Var(&s.Seed, "seed", s.Seed, "seed of data and noise")
	f.StringArrayVar(&o.plots, "plot", o.plots,
		"write a picture to this file, .svg or .png; may be given more than once")
	return study.New(c, "runs", o.run)
}

// validate refuses flags that are out of range.
func (o *privatePastoOptions) validate() error {
	s := &o.sums
	switch {
	case o.arms < 2 || o.arms > 10:
		return command.OutOfRange("--arms", o.arms, "2 to 10")
	case s.Rounds < 1 || s.Rounds > 10_000:
		return command.OutOfRange("--rounds", s.Rounds, "1 to 10000")
	case s.Runs < 1:
		return command.OutOfRange("--runs", s.Runs, "at least 1")
	case s.Contribution < 1 || s.Contribution > 1<<20:
		return command.OutOfRange("--contribution", s.Contribution, "1 to 2^20")
	case !(s.Delta > 0 && s.Delta < 1):
		return command.OutOfRange("--delta", s.Delta, "above 0 and below 1")
	case len(o.epsilons) == 0:
		return noregret.Errorf(noregret.Usage, "--epsilon", "empty, want one or more numbers")
	case len(o.units) == 0:
		return noregret.Errorf(noregret.Usage, "--units", "empty, want one or more numbers")
	}
	for _, e := range o.epsilons {
		if !(e >= 0) || math.IsInf(e, 1) {
			return command.OutOfRange("--epsilon", e, "a finite number, at least 0")
		}
	}
	for _, n := range o.units {
		if n < 100 || n > 10_000_000 {
			return command.OutOfRange("--units", n, "100 to 10000000")
		}
	}
	return files.CheckPlots(o.plots, nil)
}

// privatePasto is one ε with one number of units, as --json prints it.
type privatePasto struct {
	Epsilon show.Number `json:"epsilon"`
	Units   int64       `json:"units"`
	Median  show.Number `json:"median_rounds"` // NaN if half of the runs or more do not reach the gain
	Reached int         `json:"reached"`
	Runs    int         `json:"runs"`
	Gain    show.Number `json:"gain"`
	Broken  int         `json:"broken"`
	Noise   show.Number `json:"noise"`
	Rounds  []int64     `json:"rounds"`
}

// run measures all settings and draws the pictures.
func (o *privatePastoOptions) run(ctx context.Context, runner *study.Runner) (*study.Report, error) {
	err := o.validate()
	if err != nil {
		return nil, err
	}
	s := o.sums
	if s.World, err = noisysums.DefaultWorld(o.arms); err != nil {
		return nil, err
	}
	s.Workers, s.Progress = runner.Workers, runner.Step
	runner.Expect(len(o.epsilons) * len(o.units) * s.Runs)
	var all []privatePasto
	for _, s.Epsilon = range o.epsilons {
		for _, s.Units = range o.units {
			r, err := noisysums.Run(ctx, s)
			if err != nil {
				return nil, err
			}
			x := privatePasto{
				Epsilon: show.Number(s.Epsilon), Units: s.Units, Median: show.Number(r.Median()), Reached: r.Reached(),
				Runs: s.Runs, Gain: show.Number(r.Gain), Broken: r.Broken, Noise: show.Number(r.Deviation),
				Rounds: r.Rounds,
			}
			if x.Median == 0 {
				x.Median = show.Number(math.NaN())
			}
			all = append(all, x)
		}
	}
	report := o.report(all)
	for _, path := range o.plots {
		err = errors.Join(err, o.draw(path, all))
	}
	return report, err
}

// epsilonName names a row of the table or a line of the picture.
func epsilonName(epsilon float64) string {
	if epsilon == 0 {
		return "no privacy"
	}
	return "epsilon " + show.Short(epsilon)
}

// report has a row for each ε, and two columns for each number of units.
func (o *privatePastoOptions) report(all []privatePasto) *study.Report {
	t := study.Table{Columns: []string{"privacy"}}
	for _, n := range o.units {
		t.Columns = append(t.Columns, strconv.FormatInt(n, 10)+" units", "gain at end")
	}
	broken := 0
	for row := range slices.Chunk(all, len(o.units)) {
		cells := []any{epsilonName(float64(row[0].Epsilon))}
		for i := range row {
			r := &row[i]
			median := "-"
			if r.Median == r.Median {
				median = strconv.FormatFloat(float64(r.Median), 'f', -1, 64)
			}
			cells = append(cells, median, study.Number("%.0f %%", 100*float64(r.Gain)))
			broken += r.Broken
		}
		t.Add(cells...)
	}
	t.Notes = fmt.Sprintf("median of the rounds to 90 %% of the gain, - for more than %d, over %s with "+
		"%d arms, delta %s,\nat most %s of a unit; %d of %d runs broke the guardrail in some round\n", o.sums.Rounds,
		show.Count(o.sums.Runs, "run", "runs"), o.arms, show.Short(o.sums.Delta),
		show.Count(o.sums.Contribution, "decision", "decisions"), broken, len(all)*o.sums.Runs)
	return &study.Report{Tables: []study.Table{t}, Data: all}
}

// draw draws the median rounds by the number of units, a line for each ε. A median beyond the
// rounds is not drawn.
func (o *privatePastoOptions) draw(path string, all []privatePasto) error {
	p := picture.NewPanel("rounds to 90 % of the gain", "units in a round", "rounds, median")
	p.X.Scale, p.X.Tick.Marker = plot.LogScale{}, plot.LogTicks{Prec: -1}
	p.Y.Scale, p.Y.Tick.Marker = plot.LogScale{}, plot.LogTicks{Prec: -1}
	for i, epsilon := range o.epsilons {
		var points plotter.XYs
		for j, units := range o.units {
			if m := all[i*len(o.units)+j].Median; m > 0 {
				points = append(points, plotter.XY{X: float64(units), Y: float64(m)})
			}
		}
		if len(points) == 0 {
			continue
		}
		l, err := picture.Line(points, picture.Light.Line(i), epsilon == 0)
		if err != nil {
			return err
		}
		dots, err := plotter.NewScatter(points)
		if err != nil {
			return err
		}
		dots.Color, dots.Radius = l.Color, vg.Points(2.5)
		p.Add(l, dots)
		p.Legend.Add(epsilonName(epsilon), l)
	}
	aroundDecades(p)
	p.X.Min, p.X.Max = p.X.Min/1.3, p.X.Max*1.3
	p.Y.Min, p.Y.Max = 1, max(p.Y.Max, 10)
	return show.Picture(path, p)
}
