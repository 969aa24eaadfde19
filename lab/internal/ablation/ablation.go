// Package ablation switches off the special rules of the default learner, one at a time, on named
// scenarios and on the families of package arena, and prints where that costs most: the table of
// lab/docs/pasto.md. Runs are paired: with and without a rule the learner sees the same random
// numbers.
package ablation

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/spf13/cobra"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/lab/arena"
	"github.com/noregret/noregret/lab/internal/study"
	"github.com/noregret/noregret/lab/world"
	"github.com/noregret/noregret/pasto/confident"
)

// loss is what a score falls by without a rule.
type loss struct {
	score string // the scenario and what is scored
	study.Estimate
	runs int
}

// errors is the loss in standard errors.
func (l loss) errors() float64 {
	if l.Error > 0 {
		return l.Mean / l.Error
	}
	return 0
}

func (l loss) String() string {
	return fmt.Sprintf("%s %.4f ± %.4f (%.1f of %d runs)", l.score, l.Mean, l.Error, l.errors(), l.runs)
}

// ablation says what to play.
type ablation struct {
	*study.Runner
	rules  []string
	runs   int
	seed   uint64
	losses [][]loss // by rule
}

// Command returns the command "noregret-lab ablation".
func Command() *cobra.Command {
	c := &cobra.Command{
		Use:   "ablation",
		Short: "Switch off the special rules of the default learner, one at a time",
		Long: `Play the default learner with all of its special rules and without each, on named
scenarios and on the families of the arena, and print where each rule's absence costs most. Runs are
paired. All scenarios with 30 runs take three quarters of an hour.`,
		Example: "  noregret-lab ablation --runs 2 --rules joint --scenarios service,shocks",
	}
	f, s := c.Flags(), ablation{}
	f.IntVar(&s.runs, "runs", 30, "runs of each scenario; some have ten or more times as many")
	f.Uint64Var(&s.seed, "seed", 1, "seed")
	f.StringSliceVar(&s.rules, "rules", confident.Rules(), "rules to switch off")
	only := f.StringSlice("scenarios", nil, "names of scenarios and families, all if empty")
	all := f.Bool("all", false, "print every difference")
	return study.New(c, "runs", func(ctx context.Context, r *study.Runner) (*study.Report, error) {
		s.Runner = r
		if err := s.play(ctx, *only); err != nil {
			return nil, err
		}
		return s.report(*all), nil
	})
}

// play plays the scenarios and families of these names.
func (s *ablation) play(ctx context.Context, only []string) error {
	if s.runs < 2 {
		return noregret.Errorf(noregret.Usage, "--runs", "%d: want at least 2", s.runs)
	}
	s.losses = make([][]loss, len(s.rules))
	if err := study.Known("--rules", s.rules, confident.Rules()); err != nil {
		return err
	}
	chosen, families, err := choose(only)
	if err != nil {
		return err
	}
	for _, c := range chosen {
		if err := s.playScene(ctx, c); err != nil {
			return err
		}
	}
	for _, name := range families {
		if err := s.playFamily(ctx, name); err != nil {
			return err
		}
	}
	return nil
}

// playScene plays a scene with all rules and without each.
func (s *ablation) playScene(ctx context.Context, c scene) error {
	base, err := scores(ctx, c, "", s)
	if err != nil {
		return err
	}
	for i, rule := range s.rules {
		without, err := scores(ctx, c, rule, s)
		if err != nil {
			return err
		}
		for n := range without {
			without[n] = base[n] - without[n]
		}
		s.losses[i] = append(s.losses[i], loss{c.name, study.MeanOf(without), len(without)})
	}
	return nil
}

// playFamily plays a family of the arena with all rules and without each.
func (s *ablation) playFamily(ctx context.Context, name string) error {
	o := arena.Options{
		Families: []string{name}, Runs: s.runs * max(times[name], 1), Seed: s.seed, Workers: s.Workers,
		Progress: func(int, int) { s.Step() },
	}
	o.Entries = []arena.Entry{{Name: "default", New: arena.Default(confident.DefaultOptions())}}
	for _, rule := range s.rules {
		without, err := confident.DefaultOptions().Without(rule)
		if err != nil {
			return err
		}
		o.Entries = append(o.Entries, arena.Entry{Name: rule, New: arena.Default(without)})
	}
	r, err := arena.Run(ctx, o)
	if err != nil {
		return err
	}
	rows := r.Families[0].Rows
	for i := range s.rules {
		x := &rows[i+1]
		s.losses[i] = append(s.losses[i],
			loss{name + ", deployed", x.DeployedLead, o.Runs},
			loss{name + ", served", x.ServedLead, o.Runs},
			loss{name + ", rounds broken", study.Estimate{
				Mean:  x.BrokenRounds.Mean - rows[0].BrokenRounds.Mean,
				Error: math.Hypot(x.BrokenRounds.Error, rows[0].BrokenRounds.Error),
			}, o.Runs})
	}
	return nil
}

// report has the two largest losses of each rule with a verdict, and all of them if asked for.
func (s *ablation) report(all bool) *study.Report {
	t := study.Table{Columns: []string{"without", "costs most", "and then", "verdict"}}
	each := study.Table{Columns: []string{"without", "costs"}}
	for i, rule := range s.rules {
		list := slices.Clone(s.losses[i])
		slices.SortStableFunc(list, func(a, b loss) int { return cmp.Compare(b.errors(), a.errors()) })
		verdict, second := "goes", ""
		if list[0].errors() > 3 {
			verdict = "stays"
		}
		if len(list) > 1 {
			second = list[1].String()
		}
		t.Add(rule, list[0].String(), second, verdict)
		for _, l := range s.losses[i] {
			each.Add(rule, l.String())
		}
	}
	if all {
		return &study.Report{Tables: []study.Table{t, each}}
	}
	return &study.Report{Tables: []study.Table{t}}
}

// choose returns the scenarios and families of these names.
func choose(names []string) (chosen []scene, families []string, err error) {
	if len(names) == 0 {
		for _, f := range world.Families() {
			families = append(families, f.Name)
		}
		return scenes(), families, nil
	}
	for _, name := range names {
		i := slices.IndexFunc(scenes(), func(s scene) bool { return s.name == name })
		if i >= 0 {
			chosen = append(chosen, scenes()[i])
		} else if _, err := world.FindFamily(name); err != nil {
			names := study.Names(scenes(), func(s *scene) string { return s.name })
			families := study.Names(world.All(), func(f *world.Family) string { return f.Name })
			return nil, nil, study.Unknown("--scenarios", name, append(names, families...))
		} else {
			families = append(families, name)
		}
	}
	return chosen, families, nil
}

// scores plays the runs of a scenario without a rule ("" for all rules).
func scores(ctx context.Context, c scene, rule string, s *ablation) ([]float64, error) {
	return study.Runs(ctx, s.Runner, s.runs*max(times[c.name], 1), func(run int) (float64, error) {
		o := c.options()
		if rule != "" {
			var err error
			if o, err = o.Without(rule); err != nil {
				return 0, err
			}
		}
		return c.play(o, s.seed+uint64(run))
	})
}
