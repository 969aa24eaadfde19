package reproduce

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/cli/command"
	"github.com/noregret/noregret/internal/cli/files"
	"github.com/noregret/noregret/internal/cli/show"
	"github.com/noregret/noregret/lab/internal/study"
	"github.com/noregret/noregret/lab/papers"
	"github.com/noregret/noregret/lab/privacy"
)

// privateOptions are the flags of "noregret-lab private".
type privateOptions struct {
	p       []string
	dim     []int
	rounds  []int
	runs    int
	epsilon float64
	delta   float64
	columns []string
	seed    uint64
	secure  bool
	plots   []string

	flags *pflag.FlagSet
}

const privateLong = `Measure private linear regression, one record at a time, beside the published
Table 5.1 of Han et al., "On Private Online Convex Optimization".

A record has features of norm 1 (in the norm dual to --p) and a label with normal noise. The learner
publishes a point after each, private with --epsilon and --delta in total. The table shows the
suboptimality of the last point: 0 for the best point, 1 for the point 0. The columns are

  non-private             the learner without noise
  printed-literal-unsafe  the noise as the paper prints it; it is not private
  printed-typo-unsafe     the reading that reproduces the published table; it is not private either
  tree                    tree noise, with the clip that the theory needs
  tree-tight              tree noise, with a tight Euclidean clip
  square-root-tight       square-root noise, with a tight Euclidean clip
  sgd-tight               noisy gradient descent over one pass

Each column shows the best of four step scales, as the published table does. On private data that
would be a choice by the result, and cost four budgets.

Without --p, --dim and --rounds the command measures all cells of the published table of 1,000 and
5,000 rounds. Each of the three takes a list; then all combinations are measured. The noise comes
from --seed, so that the numbers can be repeated; with --secure it comes from the system's
generator. --plot draws the table: the columns and the published numbers on a logarithmic scale, a
panel for each norm.

With --json the output is {p, dim, rounds, columns: {name: {subopt_mean, subopt_sd, seconds}}}, and
more keys, or a list of these for several cells. "runs" is the number of runs that the columns are
from, and "runs_asked" that of --runs.

An interrupted command prints what is complete: the cells so far, and of the last one the runs so
far. Its exit status is 1.`

// newPrivateCommand makes "noregret-lab private".
func newPrivateCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "private",
		Short: "Private regression beside the published table",
		Long:  privateLong,
		Example: `  noregret-lab private --p inf --dim 10 --rounds 5000
  noregret-lab private --p 1.5 --dim 5 --rounds 1000 --runs 10 --json

  # The published table, and a picture of it
  noregret-lab private --p 1.5,inf --dim 5,10,20 --rounds 1000,5000,10000 --plot private.svg`,
	}
	f := c.Flags()
	o := &privateOptions{flags: f}
	f.StringSliceVar(&o.p, "p", []string{"1.5"},
		"the norm of the ball of points, a number above 1, or inf; a list for several")
	f.IntSliceVar(&o.dim, "dim", []int{5}, "the number of features; a list for several")
	f.IntSliceVar(&o.rounds, "rounds", []int{1000}, "the number of records; a list for several")
	f.IntVar(&o.runs, "runs", 10, "number of runs")
	f.Float64Var(&o.epsilon, "epsilon", 1, "the budget ε of a run, above 0")
	f.Float64Var(&o.delta, "delta", 0, "the budget δ of a run, 0 for one over the number of records")
	f.StringSliceVar(&o.columns, "columns", nil, "names of the columns (default all)")
	f.Uint64Var(&o.seed, "seed", 1, "seed of data and noise")
	f.BoolVar(&o.secure, "secure", false, "take the noise from the system's generator")
	f.StringArrayVar(&o.plots, "plot", nil, "write a picture to this file, .svg or .png; may be given more than once")
	return study.New(c, "runs", o.run)
}

// given reports whether the flags state the cells.
func (o *privateOptions) given() bool {
	return slices.ContainsFunc([]string{"p", "dim", "rounds"}, o.flags.Changed)
}

// one reports whether the flags ask for one cell.
func (o *privateOptions) one() bool {
	return o.given() && len(o.p) == 1 && len(o.dim) == 1 && len(o.rounds) == 1
}

// validate refuses flags that are out of range.
func (o *privateOptions) validate() error {
	for _, list := range []struct {
		flag   string
		values []int
	}{{"--dim", o.dim}, {"--rounds", o.rounds}} {
		if len(list.values) == 0 {
			return noregret.Errorf(noregret.Usage, list.flag, "empty, want one or more numbers")
		}
		for _, v := range list.values {
			if v < 1 {
				return command.OutOfRange(list.flag, v, "at least 1")
			}
		}
	}
	if len(o.p) == 0 {
		return noregret.Errorf(noregret.Usage, "--p", "empty, want one or more numbers above 1, or inf")
	}
	switch {
	case o.runs < 1:
		return command.OutOfRange("--runs", o.runs, "at least 1")
	case !(o.epsilon > 0) || math.IsInf(o.epsilon, 1):
		return command.OutOfRange("--epsilon", o.epsilon, "a finite number above 0")
	case !(o.delta >= 0 && o.delta < 1):
		return command.OutOfRange("--delta", o.delta, "at least 0 and below 1")
	}
	for _, name := range o.columns {
		if all := privacy.RegressionColumns(); !slices.Contains(all, name) {
			return noregret.Errorf(noregret.Usage, "--columns", "%q is unknown, want some of %q", name, all)
		}
	}
	for _, text := range o.p {
		if p, err := strconv.ParseFloat(text, 64); err != nil || !(p > 1) {
			return noregret.Errorf(noregret.Usage, "--p", "%q is out of range, want a number above 1, or inf", text)
		}
	}
	return files.CheckPlots(o.plots, nil)
}

// privateCell is a cell of the table, as --json prints it.
type privateCell struct {
	P         normExponent   `json:"p"`
	Dim       int            `json:"dim"`
	Rounds    int            `json:"rounds"`
	Runs      int            `json:"runs"`
	Asked     int            `json:"runs_asked"`
	Epsilon   show.Number    `json:"epsilon"`
	Published show.Number    `json:"published"` // NaN if it is not in the published table
	Columns   privateColumns `json:"columns"`
}

// privateColumns are the columns as a JSON object in their order.
type privateColumns []privacy.Column

// MarshalJSON implements json.Marshaler.
func (c privateColumns) MarshalJSON() ([]byte, error) {
	o := make(study.Object, len(c))
	for i := range c {
		o[i] = study.Member{Name: c[i].Name, Value: struct {
			Mean    show.Number `json:"subopt_mean"`
			SD      show.Number `json:"subopt_sd"`
			Seconds show.Number `json:"seconds"`
			Scale   show.Number `json:"step_scale"`
			Unsafe  bool        `json:"unsafe"`
		}{
			show.Number(c[i].Mean), show.Number(c[i].SD), show.Number(c[i].Seconds), show.Number(c[i].Scale),
			c[i].Unsafe,
		}}
	}
	return o.MarshalJSON()
}

// cells returns the cells to measure, in the order of the published table: by norm, by rounds, by
// dimension.
func (o *privateOptions) cells() (out []privateCell) {
	add := func(p float64, dim, rounds int, published float64) {
		out = append(out, privateCell{
			P: normExponent(p), Dim: dim, Rounds: rounds, Asked: o.runs, Epsilon: show.Number(o.epsilon),
			Published: show.Number(published),
		})
	}
	table := papers.PublishedPrivate()
	if !o.given() {
		for _, r := range table {
			if r.Rounds == 1000 || r.Rounds == 5000 {
				add(r.P, r.Dim, r.Rounds, r.Suboptimal)
			}
		}
		return out
	}
	for _, text := range o.p {
		p, _ := strconv.ParseFloat(text, 64) // validate has checked it
		for _, rounds := range o.rounds {
			for _, dim := range o.dim {
				published := math.NaN()
				for _, r := range table {
					if r.P == p && r.Dim == dim && r.Rounds == rounds {
						published = r.Suboptimal
					}
				}
				add(p, dim, rounds, published)
			}
		}
	}
	return out
}

// run measures the cells and draws the pictures. An interrupted study has the cells so far, and of
// the last one the runs so far.
func (o *privateOptions) run(ctx context.Context, r *study.Runner) (*study.Report, error) {
	err := o.validate()
	if err != nil {
		return nil, err
	}
	cells, begin := o.cells(), time.Now()
	r.Expect(len(cells) * o.runs)
	for i := range cells {
		c := &cells[i]
		s := privacy.DefaultRegressionOptions(float64(c.P), c.Dim, c.Rounds)
		s.Runs, s.Epsilon, s.Delta, s.Seed, s.Secure = o.runs, o.epsilon, o.delta, o.seed, o.secure
		s.Clock = func() float64 { return time.Since(begin).Seconds() }
		s.Workers, s.Progress = r.Workers, r.Step
		if len(o.columns) > 0 {
			s.Columns = o.columns
		}
		if c.Columns, err = privacy.Regression(ctx, s); len(c.Columns) > 0 {
			c.Runs = c.Columns[0].Runs
		}
		if err != nil {
			if cells = cells[:i+1]; i > 0 && c.Runs == 0 {
				cells = cells[:i]
			}
			return o.report(cells), err
		}
	}
	for _, path := range o.plots {
		err = errors.Join(err, plotPrivateCells(path, cells, o.runs))
	}
	return o.report(cells), err
}

// normExponent is the exponent of a norm: as JSON a number, or "inf".
type normExponent float64

// MarshalJSON implements json.Marshaler.
func (p normExponent) MarshalJSON() ([]byte, error) {
	if math.IsInf(float64(p), 1) {
		return []byte(`"inf"`), nil
	}
	return json.Marshal(float64(p))
}

// normName is the exponent of a norm as text.
func normName(p normExponent) string {
	if math.IsInf(float64(p), 1) {
		return "inf"
	}
	return show.Short(float64(p))
}

// report has a row for each cell.
func (o *privateOptions) report(cells []privateCell) *study.Report {
	report := &study.Report{Data: cells}
	if o.one() {
		report.Data = cells[0]
	}
	last := &cells[len(cells)-1]
	if last.Runs == 0 {
		return report // interrupted in the first run of the first cell
	}
	t := study.Table{Columns: []string{"p", "dim", "rounds", "published"}}
	for _, c := range cells[0].Columns {
		t.Columns = append(t.Columns, c.Name)
	}
	for i := range cells {
		c := &cells[i]
		row := []any{normName(c.P), c.Dim, c.Rounds, show.Digits(c.Published, 3)}
		for _, v := range c.Columns {
			row = append(row, digits(show.Number(v.Mean))+" ± "+digits(show.Number(v.SD)))
		}
		t.Add(row...)
	}
	runs := show.Count(o.runs, "run", "runs")
	if last.Runs < o.runs {
		runs = fmt.Sprintf("%s, in the last row %s,", runs, show.RunsIn(last.Runs, o.runs))
	}
	t.Notes = fmt.Sprintf("suboptimality, mean ± standard deviation over %s at epsilon %g; the columns named unsafe "+
		"are not private\n", runs, o.epsilon)
	report.Tables = []study.Table{t}
	return report
}
