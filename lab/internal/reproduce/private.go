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
	"github.com/noregret/noregret/lab/papers"
	"github.com/noregret/noregret/lab/privacy"
)

// privateOptions are the flags of "noregret-lab private".
type privateOptions struct {
	command.Output
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
func newPrivateCommand(a *command.App) *cobra.Command {
	return command.New(a, &cobra.Command{
		Use:   "private",
		Short: "Private regression beside the published table",
		Long:  privateLong,
		Example: `  noregret-lab private --p inf --dim 10 --rounds 5000
  noregret-lab private --p 1.5 --dim 5 --rounds 1000 --runs 10 --json

  # The published table, and a picture of it
  noregret-lab private --p 1.5,inf --dim 5,10,20 --rounds 1000,5000,10000 --plot private.svg`,
		Args: command.NoArgs,
	}, &privateOptions{
		p: []string{"1.5"}, dim: []int{5}, rounds: []int{1000}, runs: 10, epsilon: 1, seed: 1,
	})
}

// AddFlags implements [command.Options].
func (o *privateOptions) AddFlags(f *pflag.FlagSet) {
	o.Output.AddFlags(f)
	o.flags = f
	f.StringSliceVar(&o.p, "p", o.p, "the norm of the ball of points, a number above 1, or inf; a list for several")
	f.IntSliceVar(&o.dim, "dim", o.dim, "the number of features; a list for several")
	f.IntSliceVar(&o.rounds, "rounds", o.rounds, "the number of records; a list for several")
	f.IntVar(&o.runs, "runs", o.runs, "number of runs")
	f.Float64Var(&o.epsilon, "epsilon", o.epsilon, "the budget ε of a run, above 0")
	f.Float64Var(&o.delta, "delta", o.delta, "the budget δ of a run, 0 for one over the number of records")
	f.StringSliceVar(&o.columns, "columns", o.columns, "names of the columns (default all)")
	f.Uint64Var(&o.seed, "seed", o.seed, "seed of data and noise")
	f.BoolVar(&o.secure, "secure", o.secure, "take the noise from the system's generator")
	f.StringArrayVar(&o.plots, "plot", o.plots,
		"write a picture to this file, .svg or .png; may be given more than once")
}

// given reports whether the flags state the cells.
func (o *privateOptions) given() bool {
	return slices.ContainsFunc([]string{"p", "dim", "rounds"}, o.flags.Changed)
}

// one reports whether the flags ask for one cell.
func (o *privateOptions) one() bool {
	return o.given() && len(o.p) == 1 && len(o.dim) == 1 && len(o.rounds) == 1
}

// Validate implements [command.Options].
func (o *privateOptions) Validate() error {
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

// privateCell is a cell of the table.
type privateCell struct {
	p           float64
	dim, rounds int
	published   float64 // NaN if it is not in the published table
	columns     []privacy.Column
}

// runs is the number of runs that the cell's columns are from.
func (c *privateCell) runs() int {
	if len(c.columns) == 0 {
		return 0
	}
	return c.columns[0].Runs
}

// cells returns the cells to measure, in the order of the published table: by norm, by rounds, by
// dimension.
func (o *privateOptions) cells() []privateCell {
	published := papers.PublishedPrivate()
	var out []privateCell
	if !o.given() {
		for _, r := range published {
			if r.Rounds == 1000 || r.Rounds == 5000 {
				out = append(out, privateCell{p: r.P, dim: r.Dim, rounds: r.Rounds, published: r.Suboptimal})
			}
		}
		return out
	}
	for _, text := range o.p {
		p, _ := strconv.ParseFloat(text, 64) // Validate has checked it
		for _, rounds := range o.rounds {
			for _, dim := range o.dim {
				c := privateCell{p: p, dim: dim, rounds: rounds, published: math.NaN()}
				for _, r := range published {
					if r.P == p && r.Dim == dim && r.Rounds == rounds {
						c.published = r.Suboptimal
					}
				}
				out = append(out, c)
			}
		}
	}
	return out
}

// Run implements [command.Options].
func (o *privateOptions) Run(ctx context.Context, a *command.App, _ []string) error {
	p, err := a.ProgressOfLong("trainings")
	if err != nil {
		return err
	}
	cells, begin := o.cells(), time.Now()
	defer p.Finish()
	var failed error
	for i := range cells {
		c := &cells[i]
		s := privacy.DefaultRegressionOptions(c.p, c.dim, c.rounds)
		s.Runs, s.Epsilon, s.Delta, s.Seed, s.Secure = o.runs, o.epsilon, o.delta, o.seed, o.secure
		s.Clock = func() float64 { return time.Since(begin).Seconds() }
		if len(o.columns) > 0 {
			s.Columns = o.columns
		}
		s.Progress = func(done, total int) {
			if i == 0 && done == 1 {
				p.Start("simulate", int64(total*len(cells)))
			}
			p.Update(int64(i*total + done))
		}
		if c.columns, failed = privacy.Regression(ctx, s); failed != nil {
			cells = cells[:i+1]
			break
		}
	}
	p.Finish()
	if len(cells) > 1 && cells[len(cells)-1].runs() == 0 {
		cells = cells[:len(cells)-1]
	}
	if o.JSON {
		err = o.writeJSON(a, cells)
	} else {
		err = o.write(a, cells)
	}
	if failed != nil {
		return failed
	}
	for _, path := range o.plots {
		err = errors.Join(err, plotPrivateCells(path, cells, o.runs))
	}
	return err
}

// privateCellJSON is a cell as --json prints it.
type privateCellJSON struct {
	P         normExponent   `json:"p"`
	Dim       int            `json:"dim"`
	Rounds    int            `json:"rounds"`
	Runs      int            `json:"runs"`
	RunsAsked int            `json:"runs_asked"`
	Epsilon   show.Number    `json:"epsilon"`
	Published show.Number    `json:"published"`
	Columns   privateColumns `json:"columns"`
}

// privateColumns are the columns as a JSON object in their order.
type privateColumns []privacy.Column

// MarshalJSON implements json.Marshaler.
func (c privateColumns) MarshalJSON() ([]byte, error) {
	o := make(members, len(c))
	for i := range c {
		o[i] = member{c[i].Name, struct {
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

// writeJSON prints the cells as JSON.
func (o *privateOptions) writeJSON(a *command.App, cells []privateCell) error {
	out := make([]privateCellJSON, 0, len(cells))
	for i := range cells {
		c := &cells[i]
		out = append(out, privateCellJSON{
			P: normExponent(c.p), Dim: c.dim, Rounds: c.rounds, Runs: c.runs(), RunsAsked: o.runs,
			Epsilon:   show.Number(o.epsilon),
			Published: show.Number(c.published), Columns: c.columns,
		})
	}
	if o.one() {
		return show.JSON(a.Stdout, out[0])
	}
	return show.JSON(a.Stdout, out)
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
func normName(p float64) string {
	if math.IsInf(p, 1) {
		return "inf"
	}
	return show.Short(p)
}

// write prints the cells as text.
func (o *privateOptions) write(a *command.App, cells []privateCell) error {
	last := &cells[len(cells)-1]
	if last.runs() == 0 {
		return nil // interrupted in the first run of the first cell
	}
	g := show.Table{}
	head := []string{"p", "dim", "rounds", "published"}
	for _, c := range cells[0].columns {
		head = append(head, c.Name)
	}
	g.Add(head...)
	for i := range cells {
		c := &cells[i]
		row := []string{
			normName(c.p), strconv.Itoa(c.dim), strconv.Itoa(c.rounds),
			show.Digits(show.Number(c.published), 3),
		}
		for _, v := range c.columns {
			row = append(row, show.Digits(show.Number(v.Mean), 2)+" ± "+show.Digits(show.Number(v.SD), 2))
		}
		g.Add(row...)
	}
	if err := g.Write(a.Stdout); err != nil {
		return err
	}
	runs := show.Count(o.runs, "run", "runs")
	if last.runs() < o.runs {
		runs = fmt.Sprintf("%s, in the last row %s,", runs, show.RunsIn(last.runs(), o.runs))
	}
	_, err := fmt.Fprintf(a.Stdout, "\nsuboptimality, mean ± standard deviation over %s at epsilon %g; the columns "+
		"named unsafe are not private\n", runs, o.epsilon)
	return err
}
