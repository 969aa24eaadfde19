// Package validity measures the error rates of guardrails' verdicts: false breaches where all arms
// are equal (A/A) while the level of the metric changes, the rounds until a breach is found, and
// how often the confidence sequence of heavy-tailed revenue misses its mean. lab/docs/validity.md
// has the tables. Tests play the same worlds in fewer runs.
package validity

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/lab/internal/study"
	"github.com/noregret/noregret/lab/world"
)

// Command returns the command "noregret-lab validity".
func Command() *cobra.Command {
	c := &cobra.Command{
		Use:   "validity",
		Short: "Measure false breaches of guardrails, the rounds until a breach is found, misses of revenue",
		Long: `Measure the error rates of guardrails' verdicts: false breaches where all arms are equal while
the level of the metric changes (aa), the rounds until a breach is found (power), and how often the
confidence sequence of heavy-tailed revenue misses its mean (revenue). 500 runs of each world take
some 20 minutes on one core.`,
		Example: "  noregret-lab validity --runs 100 --only aa",
	}
	f := c.Flags()
	runs := f.Int("runs", 500, "runs of each A/A world, at least 5")
	only := f.String("only", "", "part of the names of the tables to make: aa, power, revenue")
	return study.New(c, "runs", func(ctx context.Context, r *study.Runner) (*study.Report, error) {
		if *runs < 5 {
			return nil, noregret.Errorf(noregret.Usage, "--runs", "%d: want at least 5", *runs)
		}
		out := &study.Report{}
		for _, t := range []struct {
			name string
			add  func(ctx context.Context, r *study.Runner, out *study.Report, runs int) error
		}{{"aa", falseBreaches}, {"power", power}, {"revenue", revenue}} {
			if !strings.Contains(t.name, *only) {
				continue
			}
			if err := t.add(ctx, r, out, *runs); err != nil {
				return out, err
			}
		}
		if len(out.Tables) == 0 {
			return nil, study.Unknown("--only", *only, []string{"aa", "power", "revenue"})
		}
		return out, nil
	})
}

// levels give the level of a metric, which all arms share, as functions of the round.
var levels = []struct {
	name string
	at   func(t int) float64
}{
	{"flat", func(int) float64 { return 1 }},
	{"seasonal", world.Season(24, 0.5)},
	{"growing", func(t int) float64 { return 0.5 + min(float64(t)/150, 1) }},
	{"shrinking", func(t int) float64 { return 1.5 - min(float64(t)/150, 1) }},
	{"campaign", func(t int) float64 { return []float64{0.5, 0.5, 0.5, 1.5}[t/15%4] }},
}

// kinds are the metrics of the A/A worlds.
var kinds = []cell{
	{name: "rate of 5 %, range", metric: "coin", rate: .05, arms: 3, share: .2, units: 2000, rounds: 150},
	{name: "rate of 0.3 %, range", metric: "coin", rate: .003, arms: 3, share: .2, units: 2000, rounds: 150},
	{
		name: "rate of 5 %, no range", metric: "coin", rate: .05, arms: 3, share: .2, units: 2000, rounds: 150,
		hidden: true,
	},
	{name: "normal, 10 arms", metric: "normal", arms: 10, share: .1, units: 2000, rounds: 150},
	{name: "normal, small rounds", metric: "normal", arms: 3, share: .1, units: 500, rounds: 150},
	{name: "ratio", metric: "ratio", arms: 3, share: .3, units: 300, rounds: 100},
	{name: "returning units", metric: "people", arms: 3, share: .3, units: 300, rounds: 40},
}

// aaWorlds lists the worlds without a breach, by kind and level: equal arms under a limit of 2 %
// below the control, or arms whose mixture with the control is exactly at a limit of 5 % below it.
func aaWorlds(atLimit bool) (out [][]cell) {
	for _, k := range kinds {
		var row []cell
		for _, l := range levels {
			w := k
			w.name, w.level, w.effect, w.limit = k.name+", "+l.name, l.at, 1, "min_change: -0.02"
			if atLimit {
				w.effect, w.limit = 1-0.05/(1-w.share), "min_change: -0.05"
			}
			row = append(row, w)
		}
		out = append(out, row)
	}
	return out
}

// breaches returns the rounds in which the runs' first breaches were called, 0 for never.
func (c *cell) breaches(ctx context.Context, r *study.Runner, runs int) ([]int, error) {
	return study.Runs(ctx, r, runs, func(run int) (int, error) { return c.play(uint64(run)) })
}

func falseBreaches(ctx context.Context, r *study.Runner, out *study.Report, runs int) error {
	for _, atLimit := range []bool{false, true} {
		what := "equal arms under a limit of -2 %"
		if atLimit {
			what = "arms exactly at a limit of -5 %"
		}
		t := study.Table{
			Title:   fmt.Sprintf("False breaches, %s, in %d runs at alpha 0.05, per cent", what, runs),
			Columns: []string{"metric"},
		}
		for _, l := range levels {
			t.Columns = append(t.Columns, l.name)
		}
		for i, row := range aaWorlds(atLimit) {
			cells := []any{kinds[i].name}
			for _, w := range row {
				rounds, err := w.breaches(ctx, r, runs)
				if err != nil {
					return err
				}
				rounds = slices.DeleteFunc(rounds, func(t int) bool { return t == 0 })
				cells = append(cells, study.Number("%.1f", 100*float64(len(rounds))/float64(runs)))
			}
			t.Add(cells...)
		}
		out.Tables = append(out.Tables, t)
	}
	return nil
}

// powerWorld returns a cell whose arms are all 10 % below the control under a limit of 5 % below
// it.
func powerWorld(arms int) cell {
	return cell{
		name: fmt.Sprint("power, ", arms), metric: "coin", rate: .1, arms: arms, share: .1, units: 20_000, rounds: 200,
		effect: .9, limit: "min_change: -0.05", level: levels[0].at, fixed: true,
	}
}

func power(ctx context.Context, r *study.Runner, out *study.Report, runs int) error {
	t := study.Table{
		Title: fmt.Sprintf("Rounds of 20,000 units until a change of -10 %% is called a breach of -5 %%, in %d runs",
			runs/5),
		Columns: []string{"metric, arms", "median", "90 %", "never"},
	}
	for _, row := range []struct {
		name   string
		change func(c *cell)
	}{
		{"rate of 10 %", func(*cell) {}},
		{"rate of 10 %, no range", func(c *cell) { c.hidden = true }},
		{"rate of 10 %, seasonal", func(c *cell) { c.level = levels[1].at }},
	} {
		for _, arms := range []int{1, 4, 10} {
			w := powerWorld(arms)
			row.change(&w)
			median, most, never, err := w.found(ctx, r, runs/5)
			if err != nil {
				return err
			}
			t.Add(fmt.Sprint(row.name, ", ", arms), median, most, never)
		}
	}
	out.Tables = append(out.Tables, t)
	return nil
}

// found returns the median and the 90 % quantile of the rounds until a breach is called.
func (c *cell) found(ctx context.Context, r *study.Runner, runs int) (median, most, never int, err error) {
	rounds, err := c.breaches(ctx, r, runs)
	if err != nil {
		return 0, 0, 0, err
	}
	for i, t := range rounds {
		if t == 0 {
			never++
			rounds[i] = math.MaxInt
		}
	}
	slices.Sort(rounds)
	return rounds[runs/2], rounds[runs*9/10], never, nil
}
