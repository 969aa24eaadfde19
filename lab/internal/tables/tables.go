package tables

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/cli/command"
	"github.com/noregret/noregret/lab/internal/study"
	"github.com/noregret/noregret/pasto/scenario"
)

// Commands returns the commands "noregret-lab tables" and "noregret-lab floors".
func Commands() []*cobra.Command {
	var names []string
	for i := range reference {
		names = append(names, reference[i].name)
	}
	names = slices.Compact(names)
	tables := &cobra.Command{
		Use:   "tables [NAME]...",
		Short: "Re-measure the tables of the paper on mixtures, cell by cell",
		Long: `Measure the tables 9.1 to 9.5 of lab/docs/pasto.md, each cell with its standard error and the number
of a reference implementation in brackets. All tables take two hours on two cores. A cell may be off
by four standard errors of the difference and by the rounding of the printed number. A mark ! says
that it is off by more, and the exit status is then 1. Where a few runs are far below the mean, fewer
runs than those of --runs "all" estimate errors that are too small.`,
		Example:   "  noregret-lab tables\n  noregret-lab tables 9.1 9.4 --runs 200 --rounds 1000",
		ValidArgs: names,
		Args: func(_ *cobra.Command, args []string) error {
			for _, name := range args {
				if !slices.Contains(names, name) {
					return noregret.Errorf(noregret.Usage, "", "no table is named %q; there are %s", name,
						strings.Join(names, ", "))
				}
			}
			return nil
		},
	}
	floors := &cobra.Command{
		Use:   "floors",
		Short: "Check what the default learner must reach",
		Long: `Measure the default learner where its documents promise a least gain, in 1,000 runs and on a dense grid
of rounds, and the ranking of a paper on larger ratings. That takes half an hour on two cores. A
mark ! is a number below its floor, and the exit status is then 1.`,
		Example: "  noregret-lab floors\n  noregret-lab floors --runs 20 --rounds 30000",
	}
	return []*cobra.Command{
		newCommand(tables, func(args []string) []table {
			return slices.DeleteFunc(slices.Clone(reference), func(t table) bool {
				return len(args) > 0 && !slices.Contains(args, t.name)
			})
		}),
		newCommand(floors, func([]string) []table { return defaultFloors }),
	}
}

// newCommand makes a command that measures the tables that its arguments name.
func newCommand(c *cobra.Command, of func(args []string) []table) *cobra.Command {
	var most limits
	c.Flags().IntVar(&most.runs, "runs", math.MaxInt, "at most this many runs of a cell")
	c.Flags().IntVar(&most.rounds, "rounds", math.MaxInt, "leave out the cells of later rounds")
	c.Flag("runs").DefValue, c.Flag("rounds").DefValue = "all", "all"
	return study.New(c, "runs", func(ctx context.Context, r *study.Runner) (*study.Report, error) {
		if most.runs < 2 {
			return nil, command.OutOfRange("--runs", most.runs, "at least 2")
		}
		if most.rounds < 1 {
			return nil, command.OutOfRange("--rounds", most.rounds, "at least 1")
		}
		return measure(ctx, r, of(c.Flags().Args()), most)
	})
}

// limits make a measurement shorter.
type limits struct{ runs, rounds int }

// table is a table of one paper or of floors.
type table struct {
	name, title string
	rows        []row
	// measure, if not nil, measures something else than rows, in as many rounds as it says.
	rounds  int
	measure func(ctx context.Context) (study.Table, error)
}

// row plays one algorithm on one scenario.
type row struct {
	name string
	// o are the options without runs, rounds and checkpoints. What it leaves out is that of the
	// scenario, and the seed 1.
	o     scenario.Options
	plays []play
	// reference is the number of runs of the stated numbers.
	reference int
	lines     []line
}

// play is a number of runs and the rounds that the table has of them. Statistics over many rounds
// see those of grid, if it is given. Where fewer than least runs say nothing, they are not played.
type play struct {
	runs, least int
	at          []int
	grid        []int
}

// line is a line of a row: a statistic and what is stated of it for each round of the plays. That
// is a number; two with a colon, of a range; one behind > or < as a bound; two with ± for a number
// and the distance that is allowed, whatever the number of runs; or a dash for nothing.
type line struct {
	of     statistic
	stated string
}

// statistic is a number of a result in its round i, with its standard error, NaN if that is not
// known.
type statistic struct {
	name string
	of   func(r *scenario.Result, i int) (value, err float64)
}

// within returns the play's rounds that a limit leaves, which come first.
func (p *play) within(most limits) []int {
	if most.runs < p.least {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(p.at), func(t int) bool { return t > most.rounds })
}

// measure measures tables. If it fails, it returns what it has.
func measure(ctx context.Context, r *study.Runner, tables []table, most limits) (*study.Report, error) {
	runs, report := 0, &study.Report{}
	for i := range tables {
		for _, row := range tables[i].rows {
			for _, p := range row.plays {
				if len(p.within(most)) > 0 {
					runs += min(p.runs, most.runs)
				}
			}
		}
	}
	r.Expect(runs)
	for i := range tables {
		t := &tables[i]
		of := func(ctx context.Context) (study.Table, error) { return t.play(ctx, r, most) }
		if t.measure != nil {
			of = t.measure
		}
		if t.rounds > most.rounds {
			continue
		}
		out, err := of(ctx)
		if out.Title = t.title; len(out.Rows) > 0 {
			report.Tables = append(report.Tables, out)
		}
		if err != nil {
			return report, err
		}
	}
	return report, nil
}

// play measures the rows of a table, which has a column for each round.
func (t *table) play(ctx context.Context, r *study.Runner, most limits) (study.Table, error) {
	var at []int
	for _, row := range t.rows {
		for _, p := range row.plays {
			at = append(at, p.within(most)...)
		}
	}
	slices.Sort(at)
	at = slices.Compact(at)
	out := study.Table{Columns: []string{"", "number"}}
	for _, v := range at {
		out.Columns = append(out.Columns, strconv.Itoa(v))
	}
	for i := range t.rows {
		if err := t.rows[i].play(ctx, r, most, at, &out); err != nil {
			return out, err
		}
	}
	return out, nil
}

// play adds the lines of the row to a table with columns for the given rounds.
func (w *row) play(ctx context.Context, r *study.Runner, most limits, at []int, out *study.Table) error {
	cells, stated := make([][]any, len(w.lines)), make([][]string, len(w.lines))
	for i, l := range w.lines {
		cells[i] = append([]any{w.name, l.of.name}, slices.Repeat([]any{""}, len(at))...)
		stated[i] = strings.Fields(l.stated)
	}
	played := false
	for _, p := range w.plays {
		rounds := p.within(most)
		if len(rounds) > 0 {
			played = true
			runs := min(p.runs, most.runs)
			result, err := w.run(ctx, r, &p, runs, rounds)
			if err != nil {
				return fmt.Errorf("%s: %w", w.name, err)
			}
			more := 4 * math.Sqrt(1+float64(runs)/float64(max(w.reference, 1)))
			for i, l := range w.lines {
				for k, round := range rounds {
					value, err := l.of.of(result, slices.Index(result.At, round))
					c := compared(stated[i][k], study.Estimate{Mean: value, Error: err}, more)
					cells[i][2+slices.Index(at, round)] = c.Cell("%.3f")
				}
			}
		}
		for i := range stated {
			stated[i] = stated[i][len(p.at):]
		}
	}
	if played {
		for _, c := range cells {
			out.Add(c...)
		}
	}
	return nil
}

// run plays the row.
func (w *row) run(ctx context.Context, r *study.Runner, p *play, runs int, rounds []int) (*scenario.Result, error) {
	o := w.o
	if o.Scenario == "" {
		o.Scenario = "a"
	}
	d, err := scenario.DefaultOptions(o.Scenario)
	if err != nil {
		return nil, err
	}
	if o.Algorithm == "" {
		o.Algorithm = d.Algorithm
	}
	if o.Iterate == "" {
		o.Iterate = d.Iterate
	}
	if o.Seed == 0 {
		o.Seed = 1
	}
	o.Runs, o.Rounds, o.Workers = runs, rounds[len(rounds)-1], r.Workers
	if o.Progress = func(int, int) { r.Step() }; o.PerDecade == 0 {
		o.Checkpoints = rounds
	}
	if p.grid != nil {
		o.Checkpoints = p.grid
	}
	return scenario.Run(ctx, o)
}

// compared puts an estimate beside what is stated. The distance that is allowed from a number is
// more standard errors of the estimate and half a unit of its last digit.
func compared(stated string, e study.Estimate, more float64) study.Compared {
	number := func(text string) float64 {
		v, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return math.NaN() // a dash
		}
		return v
	}
	c := study.Compared{Estimate: e}
	if bound, ok := strings.CutPrefix(stated, ">"); ok {
		c.Low, c.High = number(bound), math.Inf(1)
		return c
	}
	if bound, ok := strings.CutPrefix(stated, "<"); ok {
		c.Low, c.High = math.Inf(-1), number(bound)
		return c
	}
	if middle, by, ok := strings.Cut(stated, "±"); ok {
		c.Low, c.High, c.Within = number(middle), number(middle), number(by)
		return c
	}
	low, high, ok := strings.Cut(stated, ":")
	if !ok {
		high = low
	}
	_, digits, _ := strings.Cut(low, ".")
	c.Low, c.High = number(low), number(high)
	c.Within = float64(more*e.Error) + .5*math.Pow10(-len(digits)) + 1e-9
	return c
}
