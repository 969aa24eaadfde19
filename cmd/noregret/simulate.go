package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/pasto/catalogue"
	"github.com/noregret/noregret/pasto/scenario"
)

// simulateOptions are the flags of "noregret simulate".
type simulateOptions struct {
	algorithms   []string
	rounds, runs int
	noise, start float64
	iterate      string
	seed         uint64
	workers      int
	data         string
	at           []int
	plots        []string
	json         bool
	hard         bool
	threshold    float64
	users, items int
	points       int
}

const simulateLong = `Play an algorithm that learns a mixture of strategic parameters under guardrails (PASTO) in a
scenario whose truth is known, and measure the mixture that it would deploy.

The table has, at rounds spread over the run: the objective of the deployed mixture under the
true means (mean and quartiles over the runs), the relative gain, which is 0 for the best single
arm and 1 for the certified optimum over mixtures (ratio of means, and the median), the
guardrails' violation and the distance to the optimum. "-" is a number that is not defined: a
ratio where the best single arm is the optimum, the median where no run has more than 0.001 to
gain. "served" is the gain of what was served to learn, "broken" the share of runs in which the
deployed mixture is beyond a guardrail, as soft ones let it be at a price.

Scenarios:
%s  NAME.json  metrics and arms of your own (docs/formats/simulate.md)

Guardrails that no mixture can hold are reported, with the least violation there is.

The scenarios ranking and hillstrom read --data DIR, and make data of the same shape from the
seed where the files are missing; which it was is printed. Ranking also prints the table of
solutions, hillstrom the replay of the randomized test: the learned mixture beside each single
arm, valued on customers that were kept back, with 95 %% intervals.

With --hard the guardrails are limits in place of penalties, which default and default-floor can
learn: the objective is then that without them, so that what breaks them, as what is served to
learn does, may gain more than 1.

With --json the output is one object {scenario, algorithm, runs, rounds, best_single, optimum,
at, objective: {mean, q25, q75}, gain: {ratio, median}, violation: {mean}}, and more keys; for
several algorithms it is a list of these.`

// newSimulateCommand makes "noregret simulate".
func newSimulateCommand(a *app) *cobra.Command {
	o := simulateOptions{
		algorithms: []string{"default"}, seed: 1, noise: math.NaN(), data: "../shared/data",
		iterate: "deployed",
	}
	var scenarios, algorithms []string
	docs := ""
	for _, s := range scenario.Scenarios() {
		scenarios = append(scenarios, s.Name)
		docs += fmt.Sprintf("  %-9s  %s\n", s.Name, s.Doc)
	}
	for _, e := range catalogue.Algorithms() {
		algorithms = append(algorithms, e.Name)
	}
	cmd := &cobra.Command{
		Use:       "simulate SCENARIO",
		Short:     "Learn a mixture of parameters under guardrails, in a world whose truth is known",
		Long:      fmt.Sprintf(simulateLong, docs),
		ValidArgs: scenarios,
		Example: `  noregret simulate a
  noregret simulate b --runs 100 --noise 5 --rounds 100000 --plot b5.svg

  # The paper's algorithm beside the default and S-SCGD
  noregret simulate a --algorithm default,paper,s-scgd --runs 200 --plot a.png

  # A hard guardrail, and one that no mixture can hold
  noregret simulate a --hard
  noregret simulate a --hard --threshold 3 --runs 10

  # On real ratings
  noregret simulate ranking --data shared/data`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return fmt.Errorf("want one scenario of %s, or a .json file, got %d arguments",
					strings.Join(scenarios, ", "), len(args))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if !cmd.Flags().Changed("noise") {
				o.noise = math.NaN()
			} else if !(o.noise >= 0 && o.noise <= scenario.MostNoise) {
				return outOfRange("--noise", o.noise,
					fmt.Sprintf("a finite standard deviation, at least 0 and at most %v", scenario.MostNoise))
			}
			if !cmd.Flags().Changed("threshold") {
				o.threshold = math.NaN()
			} else if o.threshold-o.threshold != 0 {
				return outOfRange("--threshold", o.threshold, "a finite number")
			}
			for _, f := range []string{"runs", "rounds", "points", "users", "items"} {
				// 0 is the default in package scenario
				if v, _ := cmd.Flags().GetInt(f); cmd.Flags().Changed(f) && v == 0 {
					return outOfRange("--"+f, v, "at least 1")
				}
			}
			return a.simulate(cmd.Context(), o, args[0])
		},
	}
	s := cmd.Flags()
	s.StringSliceVar(&o.algorithms, "algorithm", o.algorithms, "algorithms: "+strings.Join(algorithms, ", "))
	s.IntVar(&o.rounds, "rounds", o.rounds, "number of rounds; the scenario's own by default")
	s.IntVar(&o.runs, "runs", o.runs, "number of runs; the scenario's own by default")
	s.Float64Var(&o.noise, "noise", 0, "standard deviation of a group's metric; the scenario's own by default")
	s.Uint64Var(&o.seed, "seed", o.seed, "seed of everything random")
	s.Float64Var(&o.start, "start", o.start, "share of the first arm in the starting mixture, for Algorithm 1 and "+
		"s-scgd; 0 is uniform")
	s.Var(newChoice(&o.iterate, "deployed", "serving"), "iterate",
		"what is scored: the mixture to deploy, or the one that is served to learn")
	s.IntVar(&o.workers, "workers", o.workers, "runs at a time, 0 for all cores; the result is the same for any number")
	s.BoolVar(&o.hard, "hard", o.hard, "make the guardrails hard limits")
	s.Float64Var(&o.threshold, "threshold", 0, "threshold of every guardrail; the scenario's own by default")
	s.IntVar(&o.users, "users", o.users, "users of made-up ratings, for the scenario ranking; with --items")
	s.IntVar(&o.items, "items", o.items, "items of made-up ratings")
	s.IntVar(&o.points, "points", o.points, "rounds to report in each power of ten; 1, 2, 5, 10, ... by default")
	s.IntSliceVar(&o.at, "at", o.at, "rounds to report, ascending; 1, 2, 5, 10, ... by default")
	s.StringVar(&o.data, "data", o.data, "directory of the real data sets")
	s.StringArrayVar(&o.plots, "plot", o.plots, "write a picture to this file, .svg or .png; may be given more than "+
		"once")
	s.BoolVar(&o.json, "json", o.json, "print JSON")
	return cmd
}

// simulation is what --json prints for one algorithm.
type simulation struct {
	*scenario.Result
	Table  *scenario.Table2       `json:"table,omitempty"`
	Replay *scenario.ReplayResult `json:"replay,omitempty"`
}

// check refuses names of algorithms that there are not.
func (o *simulateOptions) check() error {
	if len(o.algorithms) == 0 {
		return noregret.Errorf(noregret.Usage, "--algorithm", "want at least one")
	}
	for i, algorithm := range o.algorithms {
		if slices.Contains(o.algorithms[:i], algorithm) {
			return noregret.Errorf(noregret.Usage, "--algorithm", "%s is given twice", algorithm)
		}
		if !slices.ContainsFunc(catalogue.Algorithms(), func(e catalogue.Entry) bool { return e.Name == algorithm }) {
			return noregret.Errorf(noregret.Usage, "--algorithm", `%q is unknown: see "noregret simulate --help"`,
				algorithm)
		}
	}
	if o.points > 0 && o.at != nil {
		return noregret.Errorf(noregret.Usage, "--points", "%d beside --at: want one of them", o.points)
	}
	return nil
}

// flagged names the flag in an error of package scenario about an option.
func flagged(err error) error {
	e, ok := errors.AsType[*noregret.Error](err)
	if !ok || e.Code != noregret.Usage || e.Place == "scenario" || strings.HasPrefix(e.Place, "--") {
		return err
	}
	flag, _, _ := strings.Cut(e.Place, "[")
	if flag == "checkpoints" {
		flag = "at"
	}
	return noregret.Errorf(noregret.Usage, "--"+flag, "%s", e.Message)
}

func (a *app) simulate(ctx context.Context, o simulateOptions, name string) error {
	if err := o.check(); err != nil {
		return err
	}
	if err := checkPlots(o.plots, nil); err != nil {
		return err
	}
	p, err := a.progressOf("runs")
	if err != nil {
		return err
	}
	opt := scenario.Options{
		Scenario: name, Runs: o.runs, Rounds: o.rounds, Seed: o.seed, Workers: o.workers, Checkpoints: o.at,
		Start: o.start, Iterate: o.iterate, Data: o.data,
		Hard: o.hard, Users: o.users, Items: o.items, PerDecade: o.points,
	}
	if !math.IsNaN(o.threshold) {
		opt.Threshold = &o.threshold
	}
	if !math.IsNaN(o.noise) {
		opt.Noise = &o.noise
	}
	started, last := false, 0
	var all []simulation
	for _, algorithm := range o.algorithms {
		opt.Algorithm = algorithm
		opt.Progress = func(done, total int) {
			if !started {
				p.Start("simulate", int64(total)*int64(len(o.algorithms)))
				started = true
			}
			p.Rename("simulate " + algorithm)
			p.Update(int64(last + done))
			if done == total {
				last += total
			}
		}
		s := simulation{}
		switch name {
		case "ranking":
			s.Result, s.Table, err = scenario.Ranking(ctx, opt)
		case "hillstrom":
			if s.Replay, err = scenario.ReplayEmails(ctx, opt); err != nil {
				break
			}
			fallthrough
		default:
			s.Result, err = scenario.Run(ctx, opt)
		}
		if err != nil {
			err = flagged(err)
			break
		}
		all = append(all, s)
	}
	p.Finish()
	if err != nil {
		return err
	}
	switch {
	case o.json && len(all) == 1:
		err = writeJSON(a.stdout, all[0])
	case o.json:
		err = writeJSON(a.stdout, all)
	default:
		err = a.writeSimulations(all)
	}
	for _, path := range o.plots { // the table is out by now: a disk that is full costs the pictures only
		err = errors.Join(err, plotSimulations(path, all))
	}
	return err
}
