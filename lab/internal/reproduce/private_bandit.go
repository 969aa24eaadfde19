package reproduce

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"image/color"
	"math"
	"slices"

	"github.com/spf13/cobra"
	"gonum.org/v1/plot/plotter"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/cli/command"
	"github.com/noregret/noregret/internal/cli/files"
	"github.com/noregret/noregret/internal/cli/show"
	"github.com/noregret/noregret/internal/picture"
	"github.com/noregret/noregret/lab/internal/study"
	"github.com/noregret/noregret/lab/privacy"
)

// privateBanditOptions are the flags of "noregret-lab private-bandit".
type privateBanditOptions struct {
	bandit   privacy.BanditOptions
	epsilons []float64
	plots    []string
}

const privateBanditLong = `Measure private bandits with contexts: the experiment of Figure 5.1 of Han et
al., "On Private Online Convex Optimization", whose reward model the paper does not give.

Contexts are uniform on [-1, 1]^dim. An arm's mean reward is linear with 5 features that matter;
rewards have normal noise and are clamped to [-1, 1]. All actions together are private with
--epsilon and --delta (joint differential privacy). The table shows the cumulative regret. The
columns are

  non-private        the bandit DP-HDB without noise, which is greedy
  uniform            an arm at random
  laplace-4          DP-HDB choosing vertices with Laplace noise, clip 4, which the theory needs
  exponential-4      the same with the exponential mechanism
  exponential-1      the same with the clip 1
  square-root-inf-4  DP-HDB on square-root sums, with the clip 4 in the norm l-infinity
  square-root-8.2    the same with the Euclidean clip 8.2
  square-root-3      the same with the clip 3
  honaker-3          the same with Honaker's tree, which needs little memory
  dp-ucb             private linear UCB (Shariff and Sheffet 2018)

"reference" is what a second implementation in another language measured in 10 runs with the default
flags. --plot draws the regret against rounds with bands of one standard deviation, a panel for each
--epsilon.

With --json the output is {dim, arms, rounds, runs, epsilon, delta, columns: {name: {regret_mean,
regret_sd, reference_mean, reference_sd, curve: {rounds, mean, sd}}}}, or a list of these for
several --epsilon.`

// newPrivateBanditCommand makes "noregret-lab private-bandit".
func newPrivateBanditCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "private-bandit",
		Short: "Regret of private bandits with contexts",
		Long:  privateBanditLong,
		Example: `  noregret-lab private-bandit --epsilon 1,8 --plot bandit.svg
  noregret-lab private-bandit --dim 10 --rounds 2000 --runs 3 --columns uniform,dp-ucb --json`,
	}
	o := privateBanditOptions{bandit: privacy.DefaultBanditOptions(1), epsilons: []float64{1}}
	f, s := c.Flags(), &o.bandit
	f.IntVar(&s.Dim, "dim", s.Dim, "the number of features, at least 5")
	f.IntVar(&s.Arms, "arms", s.Arms, "the number of arms")
	f.IntVar(&s.Rounds, "rounds", s.Rounds, "the number of rounds")
	f.IntVar(&s.WarmUp, "warm-up", s.WarmUp, "rounds at the start in which each arm is pulled")
	f.IntVar(&s.Runs, "runs", s.Runs, "number of runs")
	f.Float64SliceVar(&o.epsilons, "epsilon", o.epsilons, "the budget ε of a run, above 0; a list for several")
	f.Float64Var(&s.Delta, "delta", s.Delta, "the budget δ of a run, 0 for one over the number of rounds")
	f.StringSliceVar(&s.Columns, "columns", nil, "names of the columns (default all)")
	f.IntVar(&s.Points, "points", s.Points, "the number of points of a curve")
	f.Uint64Var(&s.Seed, "seed", s.Seed, "seed of data and noise")
	f.BoolVar(&s.Secure, "secure", s.Secure, "take the noise from the system's generator")
	f.StringArrayVar(&o.plots, "plot", o.plots,
		"write a picture to this file, .svg or .png; may be given more than once")
	return study.New(c, "columns", o.run)
}

// validate refuses flags that are out of range.
func (o *privateBanditOptions) validate() error {
	s := &o.bandit
	for _, v := range []struct {
		flag  string
		value any
		ok    bool
		want  string
	}{
		{"--dim", s.Dim, s.Dim >= 5 && s.Dim <= 1<<12, "5 to 4096"},
		{"--arms", s.Arms, s.Arms >= 1 && s.Arms <= 256, "1 to 256"},
		{"--rounds", s.Rounds, s.Rounds >= 1 && s.Rounds <= 1<<20, "1 to 2^20"},
		{
			"--warm-up", s.WarmUp, s.WarmUp >= 0 && s.WarmUp <= s.Rounds/max(1, s.Arms),
			"0 to the rounds over the arms",
		},
		{"--runs", s.Runs, s.Runs >= 1, "at least 1"},
		{"--delta", s.Delta, s.Delta >= 0 && s.Delta < 1, "at least 0 and below 1"},
		{"--points", s.Points, s.Points >= 1, "at least 1"},
	} {
		if !v.ok {
			return command.OutOfRange(v.flag, v.value, v.want)
		}
	}
	if len(o.epsilons) == 0 {
		return noregret.Errorf(noregret.Usage, "--epsilon", "empty, want one or more numbers")
	}
	for _, e := range o.epsilons {
		if !(e > 0) || math.IsInf(e, 1) {
			return command.OutOfRange("--epsilon", e, "a finite number above 0")
		}
	}
	for _, name := range s.Columns {
		if all := privacy.BanditColumns(); !slices.Contains(all, name) {
			return noregret.Errorf(noregret.Usage, "--columns", "%q is unknown, want some of %q", name, all)
		}
	}
	return files.CheckPlots(o.plots, nil)
}

// privateBandit is the study at one ε, as --json prints it.
type privateBandit struct {
	Dim     int                  `json:"dim"`
	Arms    int                  `json:"arms"`
	Rounds  int                  `json:"rounds"`
	Runs    int                  `json:"runs"`
	Epsilon show.Number          `json:"epsilon"`
	Delta   show.Number          `json:"delta"`
	Columns privateBanditColumns `json:"columns"`
}

// privateBanditColumns are columns as a JSON object in their order.
type privateBanditColumns []privateBanditColumn

// privateBanditColumn is a column as --json prints it.
type privateBanditColumn struct {
	name          string
	Mean          show.Number `json:"regret_mean"`
	SD            show.Number `json:"regret_sd"`
	ReferenceMean show.Number `json:"reference_mean"`
	ReferenceSD   show.Number `json:"reference_sd"`
	Curve         struct {
		Rounds []int     `json:"rounds"`
		Mean   []float64 `json:"mean"`
		SD     []float64 `json:"sd"`
	} `json:"curve"`
}

// MarshalJSON implements json.Marshaler.
func (c privateBanditColumns) MarshalJSON() ([]byte, error) {
	o := make(study.Object, len(c))
	for i := range c {
		o[i] = study.Member{Name: c[i].name, Value: c[i]}
	}
	return o.MarshalJSON()
}

// reference is the mean and the standard deviation of a second implementation, NaN if there is none
// or the options are others.
func (o *privateBanditOptions) reference(epsilon float64, column string) (mean, sd float64) {
	d, s := privacy.DefaultBanditOptions(epsilon), o.bandit
	same := s.Dim == d.Dim && s.Arms == d.Arms && s.Rounds == d.Rounds && s.WarmUp == d.WarmUp &&
		(s.Delta == d.Delta || s.Delta == 1/float64(s.Rounds))
	mean, sd, ok := privacy.BanditReference(epsilon, column)
	if !same || !ok {
		return math.NaN(), math.NaN()
	}
	return mean, sd
}

// run measures all columns and draws the pictures.
func (o *privateBanditOptions) run(ctx context.Context, r *study.Runner) (*study.Report, error) {
	if err := o.validate(); err != nil {
		return nil, err
	}
	names := o.bandit.Columns
	if len(names) == 0 {
		names = privacy.BanditColumns()
	}
	r.Expect(len(names) * len(o.epsilons))
	columns, err := study.Runs(ctx, r, len(names)*len(o.epsilons), func(i int) (privacy.BanditColumn, error) {
		s := o.bandit
		s.Epsilon, s.Columns = o.epsilons[i/len(names)], names[i%len(names):][:1]
		columns, err := privacy.Bandit(ctx, s)
		if err != nil {
			return privacy.BanditColumn{}, err
		}
		return columns[0], nil
	})
	if err != nil {
		return nil, err
	}
	var all []privateBandit
	for i, epsilon := range o.epsilons {
		all = append(all, o.of(epsilon, columns[i*len(names):(i+1)*len(names)]))
	}
	report := o.report(all)
	for _, path := range o.plots {
		err = errors.Join(err, plotPrivateBandits(path, all, o.bandit.Runs))
	}
	return report, err
}

// of is the study at one ε.
func (o *privateBanditOptions) of(epsilon float64, columns []privacy.BanditColumn) privateBandit {
	s := &o.bandit
	b := privateBandit{
		Dim: s.Dim, Arms: s.Arms, Rounds: s.Rounds, Runs: s.Runs, Epsilon: show.Number(epsilon),
		Delta: show.Number(s.Delta),
	}
	if s.Delta == 0 {
		b.Delta = show.Number(1 / float64(s.Rounds))
	}
	for i := range columns {
		c := &columns[i]
		mean, sd := o.reference(epsilon, c.Name)
		row := privateBanditColumn{
			name: c.Name, Mean: show.Number(c.Mean), SD: show.Number(c.SD),
			ReferenceMean: show.Number(mean), ReferenceSD: show.Number(sd),
		}
		row.Curve.Rounds, row.Curve.Mean, row.Curve.SD = c.Rounds, c.Regret, c.Deviations
		b.Columns = append(b.Columns, row)
	}
	return b
}

// report has a row for each column, two numbers for each ε.
func (o *privateBanditOptions) report(all []privateBandit) *study.Report {
	t := study.Table{Columns: []string{"column"}}
	for _, b := range all {
		t.Columns = append(t.Columns, "epsilon "+short(b.Epsilon), "reference")
	}
	for i := range all[0].Columns {
		row := []any{all[0].Columns[i].name}
		for _, b := range all {
			c, reference := &b.Columns[i], "-"
			if c.ReferenceMean > 0 {
				reference = fmt.Sprintf("%.0f ± %.0f", float64(c.ReferenceMean), float64(c.ReferenceSD))
			}
			row = append(row, fmt.Sprintf("%.0f ± %.0f", float64(c.Mean), float64(c.SD)), reference)
		}
		t.Add(row...)
	}
	t.Notes = fmt.Sprintf("cumulative regret after %d rounds, mean ± standard deviation over %s; %s in %s\n",
		o.bandit.Rounds, show.Count(o.bandit.Runs, "run", "runs"), show.Count(o.bandit.Arms, "arm", "arms"),
		show.Count(o.bandit.Dim, "dimension", "dimensions"))
	report := &study.Report{Tables: []study.Table{t}, Data: all}
	if len(all) == 1 {
		report.Data = all[0]
	}
	return report
}

// plotPrivateBandits draws the mean regret of every column with a band of one standard deviation, a
// panel for each ε.
func plotPrivateBandits(path string, all []privateBandit, runs int) error {
	var panels []*picture.Panel
	for _, b := range all {
		p := picture.NewPanel(fmt.Sprintf("ε = %s, %s", short(b.Epsilon), show.Count(runs, "run", "runs")),
			"rounds",
			"cumulative regret, mean ± sd")
		top := 0.0
		sorted := slices.Clone(b.Columns) // the legend has the order of the lines' ends
		slices.SortStableFunc(sorted, func(a, b privateBanditColumn) int { return cmp.Compare(b.Mean, a.Mean) })
		for i := range sorted {
			c := &sorted[i]
			if err := addPrivateBandit(p, c); err != nil {
				return err
			}
			for k, v := range c.Curve.Mean {
				top = max(top, v+c.Curve.SD[k])
			}
		}
		p.X.Min, p.Y.Min, p.Y.Max = 0, 0, 1.05*max(top, 1)
		panels = append(panels, p)
	}
	return show.Picture(path, panels...)
}

// addPrivateBandit adds the line and the band of a column.
func addPrivateBandit(p *picture.Panel, c *privateBanditColumn) error {
	// A column keeps its colour, whichever are shown.
	colour := picture.Light.Line(slices.Index(privacy.BanditColumns(), c.name))
	at, mean, sd := c.Curve.Rounds, c.Curve.Mean, c.Curve.SD
	points, ring := plotter.XYs{{}}, plotter.XYs{{}}
	for i, round := range at {
		points = append(points, plotter.XY{X: float64(round), Y: mean[i]})
		ring = append(ring, plotter.XY{X: float64(round), Y: mean[i] + sd[i]})
	}
	for i := len(at) - 1; i >= 0; i-- {
		ring = append(ring, plotter.XY{X: float64(at[i]), Y: max(0, mean[i]-sd[i])})
	}
	band, err := plotter.NewPolygon(ring)
	if err != nil {
		return err
	}
	red, green, blue, _ := colour.RGBA()
	band.Color = color.NRGBA{uint8(red >> 8), uint8(green >> 8), uint8(blue >> 8), 36}
	band.LineStyle.Width = 0
	line, err := picture.Line(points, colour, false)
	if err != nil {
		return err
	}
	p.Add(band, line)
	p.Legend.Add(c.name, line)
	return nil
}
