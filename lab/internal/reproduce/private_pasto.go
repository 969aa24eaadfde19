package reproduce

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/cli/command"
	"github.com/noregret/noregret/internal/cli/files"
	"github.com/noregret/noregret/internal/cli/show"
	"github.com/noregret/noregret/internal/picture"
	"github.com/noregret/noregret/lab/noisysums"
)

// privatePastoOptions are the flags of "noregret-lab private-pasto".
type privatePastoOptions struct {
	command.Output
	study    noisysums.Options
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
func newPrivatePastoCommand(a *command.App) *cobra.Command {
	return command.New(a, &cobra.Command{
		Use:   "private-pasto",
		Short: "Rounds that a private experiment needs",
		Long:  privatePastoLong,
		Example: `  noregret-lab private-pasto --plot private-pasto.svg
  noregret-lab private-pasto --epsilon 0,1 --units 50000 --contribution 5 --arms 8 --json`,
		Args: command.NoArgs,
	}, &privatePastoOptions{
		study:    noisysums.Options{Rounds: 1000, Delta: 1e-10, Contribution: 1, Runs: 20, Seed: 1},
		arms:     4,
		epsilons: []float64{0, 10, 3, 1, 0.5},
		units:    []int64{10_000, 100_000, 1_000_000},
	})
}

// AddFlags implements [command.Options].
func (o *privatePastoOptions) AddFlags(f *pflag.FlagSet) {
	o.Output.AddFlags(f)
	s := &o.study
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
}

// Validate implements [command.Options].
func (o *privatePastoOptions) Validate() error {
	s := &o.study
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

// privatePasto is one ε with one number of units.
type privatePasto struct {
	epsilon float64
	units   int64
	noisysums.Result
}

// Run implements [command.Options].
func (o *privatePastoOptions) Run(ctx context.Context, a *command.App, _ []string) error {
	p, err := a.ProgressOf("settings")
	if err != nil {
		return err
	}
	if o.study.World, err = noisysums.DefaultWorld(o.arms); err != nil {
		return err
	}
	p.Start("simulate", int64(len(o.epsilons)*len(o.units)))
	defer p.Finish()
	var all []privatePasto
	for _, epsilon := range o.epsilons {
		for _, units := range o.units {
			s := o.study
			s.Epsilon, s.Units = epsilon, units
			r, err := noisysums.Run(ctx, s)
			if err != nil {
				return err
			}
			all = append(all, privatePasto{epsilon, units, r})
			p.Update(int64(len(all)))
		}
	}
	p.Finish()
	if o.JSON {
		err = o.writeJSON(a, all)
	} else {
		err = o.write(a, all)
	}
	for _, path := range o.plots {
		err = errors.Join(err, o.draw(path, all))
	}
	return err
}

// privatePastoJSON is one setting as --json prints it.
type privatePastoJSON struct {
	Epsilon show.Number `json:"epsilon"`
	Units   int64       `json:"units"`
	Median  show.Number `json:"median_rounds"`
	Reached int         `json:"reached"`
	Runs    int         `json:"runs"`
	Gain    show.Number `json:"gain"`
	Broken  int         `json:"broken"`
	Noise   show.Number `json:"noise"`
	Rounds  []int64     `json:"rounds"`
}

func (o *privatePastoOptions) writeJSON(a *command.App, all []privatePasto) error {
	out := make([]privatePastoJSON, 0, len(all))
	for _, r := range all {
		median := r.Median()
		if median == 0 {
			median = math.NaN()
		}
		out = append(out, privatePastoJSON{
			Epsilon: show.Number(r.epsilon), Units: r.units, Median: show.Number(median), Reached: r.Reached(),
			Runs: o.study.Runs, Gain: show.Number(r.Gain), Broken: r.Broken, Noise: show.Number(r.Deviation),
			Rounds: r.Rounds,
		})
	}
	return show.JSON(a.Stdout, out)
}

// epsilonName names a row of the table or a line of the picture.
func epsilonName(epsilon float64) string {
	if epsilon == 0 {
		return "no privacy"
	}
	return "epsilon " + show.Short(epsilon)
}

// write prints the table: a row for each ε, and two columns for each number of units.
func (o *privatePastoOptions) write(a *command.App, all []privatePasto) error {
	g := show.Table{Left: map[int]bool{0: true}}
	head := []string{""}
	for _, n := range o.units {
		head = append(head, strconv.FormatInt(n, 10)+" units", "gain at end")
	}
	g.Add(head...)
	broken := 0
	for i, epsilon := range o.epsilons {
		row := []string{epsilonName(epsilon)}
		for j := range o.units {
			r := &all[i*len(o.units)+j]
			median := "-"
			if m := r.Median(); m > 0 {
				median = strconv.FormatFloat(m, 'f', -1, 64)
			}
			row = append(row, median, fmt.Sprintf("%.0f %%", 100*r.Gain))
			broken += r.Broken
		}
		g.Add(row...)
	}
	if err := g.Write(a.Stdout); err != nil {
		return err
	}
	_, err := fmt.Fprintf(a.Stdout, "\nmedian of the rounds to 90 %% of the gain, - for more than %d, over %s with "+
		"%d arms, delta %s,\nat most %s of a unit; %d of %d runs broke the guardrail in some round\n", o.study.Rounds,
		show.Count(o.study.Runs, "run", "runs"), o.arms, show.Short(o.study.Delta),
		show.Count(o.study.Contribution, "decision", "decisions"), broken, len(all)*o.study.Runs)
	return err
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
			if m := all[i*len(o.units)+j].Median(); m > 0 {
				points = append(points, plotter.XY{X: float64(units), Y: m})
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
