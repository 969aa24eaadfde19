// Package measure plays one scenario with the default learner's options set by flags, and prints
// what was deployed at fixed rounds. The constants in lab/docs/pasto.md were searched for with it.
package measure

import (
	"context"
	"fmt"
	"sync"

	"github.com/spf13/cobra"

	"github.com/noregret/noregret/lab/internal/study"
	"github.com/noregret/noregret/pasto"
	"github.com/noregret/noregret/pasto/catalogue"
	"github.com/noregret/noregret/pasto/confident"
	"github.com/noregret/noregret/pasto/scenario"
)

// checkpoints are the rounds reported, as far as the scenario is played.
var checkpoints = []int{
	5, 10, 20, 50, 100, 200, 500, 1000, 3000, 10_000, 15_000, 20_000, 30_000, 100_000, 300_000,
}

// Command returns the command "noregret-lab measure".
func Command() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "measure SCENARIO",
		Short: "Play a scenario with other constants of the default learner",
		Long: `Play a scenario of "noregret simulate" with the default learner's options set by flags, and print
what was deployed at fixed rounds. --algorithm plays a named algorithm instead.`,
		Example: "  noregret-lab measure b --noise 5 --runs 60 --rounds 30000 --decay 4",
		Args:    cobra.ExactArgs(1),
	}
	var o scenario.Options
	c, f := confident.DefaultOptions(), cmd.Flags()
	noise := f.Float64("noise", 1, "standard deviation σ of a group's metric")
	f.IntVar(&o.Runs, "runs", 100, "number of runs")
	f.IntVar(&o.Rounds, "rounds", 10_000, "rounds of a run, at least 5")
	f.Uint64Var(&o.Seed, "seed", 7, "seed")
	f.StringVar(&o.Algorithm, "algorithm", "", "named algorithm to play instead of the default learner with options")
	f.StringVar(&o.Iterate, "iterate", "deployed", "what is scored: deployed or serving")
	start := f.Float64("start", 0, "share of the first arm at the start, 0 for a uniform start")
	f.BoolVar(&o.Hard, "hard", false, "make the guardrails hard")
	for _, v := range []struct {
		p           *float64
		name, usage string
	}{
		{&c.Optimism, "optimism", "standard errors that the optimistic mixture adds"},
		{&c.Caution, "caution", "standard errors that the cautious mixture subtracts"},
		{&c.HardCaution, "hard-caution", "the same for hard guardrails"},
		{&c.Share, "share", "largest share of the optimistic mixture"},
		{&c.Decay, "decay", "scale of how long it gets that"},
		{&c.ChangeThreshold, "change-threshold", "standard errors that count as a change, 0 to look for none"},
	} {
		f.Float64Var(v.p, v.name, *v.p, v.usage)
	}
	return study.New(cmd, "runs", func(ctx context.Context, r *study.Runner) (*study.Report, error) {
		if o.Algorithm != "" {
			names := study.Names(catalogue.Algorithms(), func(e *catalogue.Entry) string { return e.Name })
			if err := study.Known("--algorithm", []string{o.Algorithm}, names); err != nil {
				return nil, err
			}
		}
		o.Scenario, o.Noise = f.Arg(0), noise
		if *start != 0 {
			o.Start = start
		}
		o.Workers, o.Progress = r.Workers, func(int, int) { r.Step() }
		return measure(ctx, o, c)
	})
}

// measure plays a scenario. The learner has the options c if o names no algorithm.
func measure(ctx context.Context, o scenario.Options, c confident.Options) (*study.Report, error) {
	for _, t := range checkpoints {
		if t <= o.Rounds {
			o.Checkpoints = append(o.Checkpoints, t)
		}
	}
	var made learners
	if o.Algorithm == "" {
		o.New = func(g pasto.Objective, arms, _ int, _ []float64) (pasto.Learner, error) {
			return made.add(g, arms, c)
		}
	}
	r, err := scenario.Run(ctx, o)
	if err != nil {
		return nil, err
	}
	t := study.Table{
		Title: fmt.Sprintf("best single arm %.4f, optimum %.4f, %d changes found", r.BestSingle, r.Optimum,
			made.changes()),
		Columns: []string{
			"round", "mean", "q25", "q75", "R", "median r", "violated", "broken", "distance",
		},
	}
	for i, at := range r.At {
		row := []any{at}
		for _, v := range []float64{
			r.Objective.Mean[i], r.Objective.Q25[i], r.Objective.Q75[i], r.Gain.Ratio[i], r.Gain.Median[i],
			r.Violation.Mean[i], r.Violation.Share[i],
		} {
			row = append(row, study.Number("%.3f", v))
		}
		t.Add(append(row, study.Number("%.4f", r.Distance.Mean[i]))...)
	}
	return &study.Report{Tables: []study.Table{t}}, nil
}

// learners are the learners of all runs, which several goroutines make.
type learners struct {
	mu   sync.Mutex
	list []*confident.Learner
}

func (l *learners) add(f pasto.Objective, arms int, o confident.Options) (pasto.Learner, error) {
	learner, err := confident.New(f, arms, o)
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.list = append(l.list, learner)
	return learner, nil
}

// changes is the number of changes that the learners found in all runs.
func (l *learners) changes() (n int) {
	for _, learner := range l.list {
		n += learner.Changes()
	}
	return n
}
