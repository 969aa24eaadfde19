package play

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/experiment/propose"
	"github.com/noregret/noregret/experiment/propose/mixture"
	"github.com/noregret/noregret/internal/cli/command"
	"github.com/noregret/noregret/internal/cli/files"
	"github.com/noregret/noregret/internal/cli/show"
	"github.com/noregret/noregret/internal/named"
	"github.com/noregret/noregret/pasto"
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

	more  []scenario.Spec // beside those of package scenario
	flags *pflag.FlagSet
}

const simulateLong = `Run an algorithm that learns a mixture of strategic parameters under
guardrails (PASTO) in a scenario with known truth, and measure the mixture that it would deploy.

The table shows, at rounds spread over the run, the objective of the deployed mixture under the
true means (mean and quartiles over the runs), the relative gain, the guardrails' violation and
the distance to the optimum. The relative gain is 0 for the best single arm and 1 for the
certified optimum over mixtures; the table has the ratio of means and the median. "-" is an
undefined number: a ratio where the best single arm is the optimum, or a median where no run has
more than 0.001 to gain. "served" is the gain of the mixture served while learning. "broken" is
the share of runs in which the deployed mixture violates a guardrail; soft guardrails allow this
at a price.

Scenarios:
%s
If no mixture can hold the guardrails, the command reports this and the least possible violation.

The scenarios ranking and hillstrom read their data from --data DIR. Without it, or if files are
missing, they generate data of the same shape from the seed; the command prints which data it
used. Ranking also prints the table of solutions. Hillstrom prints the replay of the randomized
test: the learned mixture beside each single arm, evaluated on held-out customers, with 95 %%
intervals.

With --hard the guardrails are hard limits instead of penalties; the algorithms default and
default-floor can learn them. The objective then has no penalties, so a mixture that violates a
guardrail, such as the one served while learning, may gain more than 1.

With --json the output is one object {scenario, algorithm, runs, rounds, best_single, optimum,
at, objective: {mean, q25, q75}, gain: {ratio, median}, violation: {mean}}, and more keys; for
several algorithms it is a list of these.`

// NewSimulateCommand makes "noregret simulate", with more scenarios than those of package scenario.
func NewSimulateCommand(a *command.App, more ...scenario.Spec) *cobra.Command {
	o := &simulateOptions{algorithms: []string{"default"}, seed: 1, iterate: "deployed", more: more}
	var scenarios, docs []string
	for _, s := range append(scenario.Scenarios(), more...) {
		scenarios = append(scenarios, s.Name)
		docs = append(docs, s.Doc)
	}
	cmd := command.New(a, &cobra.Command{
		Use:   "simulate SCENARIO",
		Short: "Learn a mixture of parameters under guardrails, in a world whose truth is known",
		Long: fmt.Sprintf(simulateLong, explained(append(slices.Clone(scenarios), "NAME.json"),
			append(docs, "metrics and arms of your own (docs/formats/simulate.md)"))),
		ValidArgs: scenarios,
		Example: `  noregret simulate a
  noregret simulate b --runs 100 --noise 5 --rounds 100000 --plot b5.svg

  # The paper's algorithm beside the default and S-SCGD
  noregret simulate a --algorithm default,paper,s-scgd --runs 200 --plot a.png

  # A hard guardrail, and one that no mixture can hold
  noregret simulate a --hard
  noregret simulate a --hard --threshold 3 --runs 10

  # On real ratings
  noregret simulate ranking --data data`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return fmt.Errorf("want one scenario of %s, or a .json file, got %d arguments",
					strings.Join(scenarios, ", "), len(args))
			}
			return nil
		},
	}, o)
	cmd.AddCommand(movedCommands("drift", "private", "private-bandit", "private-pasto")...)
	return cmd
}

// explained lists names with their explanations, which are broken at 100 bytes.
func explained(names, texts []string) string {
	wide := 0
	for _, name := range names {
		wide = max(wide, len(name))
	}
	var b strings.Builder
	for i, name := range names {
		line := fmt.Sprintf("  %-*s ", wide, name)
		for _, word := range strings.Fields(texts[i]) {
			if len(line)+1+len(word) > 100 {
				b.WriteString(line + "\n")
				line = strings.Repeat(" ", wide+3)
			}
			line += " " + word
		}
		b.WriteString(line + "\n")
	}
	return b.String()
}

// AddFlags implements [command.Options].
func (o *simulateOptions) AddFlags(f *pflag.FlagSet) {
	o.flags = f
	var algorithms []string
	for _, e := range catalogue.Algorithms() {
		algorithms = append(algorithms, e.Name)
	}
	f.StringSliceVar(&o.algorithms, "algorithm", o.algorithms, "algorithms: "+strings.Join(algorithms, ", "))
	f.IntVar(&o.rounds, "rounds", o.rounds, "number of rounds; the scenario's own by default")
	f.IntVar(&o.runs, "runs", o.runs, "number of runs; the scenario's own by default")
	f.Float64Var(&o.noise, "noise", 0, "standard deviation of a group's metric; the scenario's own by default")
	f.Uint64Var(&o.seed, "seed", o.seed, "seed of everything random")
	f.Float64Var(&o.start, "start", o.start, "share of the first arm in the starting mixture, for Algorithm 1 and "+
		"s-scgd; 0 is uniform")
	f.Var(command.NewChoice(&o.iterate, "deployed", "serving"), "iterate",
		"what is scored: the mixture to deploy, or the one that is served to learn")
	f.IntVar(&o.workers, "workers", o.workers, "runs at a time, 0 for all cores; the result is the same for any number")
	f.BoolVar(&o.hard, "hard", o.hard, "make the guardrails hard limits")
	f.Float64Var(&o.threshold, "threshold", 0, "threshold of every guardrail; the scenario's own by default")
	f.IntVar(&o.users, "users", o.users, "users of generated ratings, for the scenario ranking; with --items")
	f.IntVar(&o.items, "items", o.items, "items of generated ratings")
	f.IntVar(&o.points, "points", o.points, "rounds to report in each power of ten; 1, 2, 5, 10, ... by default")
	f.IntSliceVar(&o.at, "at", o.at, "rounds to report, ascending; 1, 2, 5, 10, ... by default")
	f.StringVar(&o.data, "data", o.data, "directory of the real data sets; without it data are generated")
	f.StringArrayVar(&o.plots, "plot", o.plots, "write a picture to this file, .svg or .png; may be given more than "+
		"once")
	f.BoolVar(&o.json, "json", o.json, "print JSON")
}

// simulation is what --json prints for one algorithm.
type simulation struct {
	*scenario.Result
	Table  *scenario.Table2       `json:"table,omitempty"`
	Replay *scenario.ReplayResult `json:"replay,omitempty"`
}

// Validate implements [command.Options].
func (o *simulateOptions) Validate() error {
	if len(o.algorithms) == 0 {
		return noregret.Errorf(noregret.Usage, "--algorithm", "at least one is required")
	}
	for i, algorithm := range o.algorithms {
		if slices.Contains(o.algorithms[:i], algorithm) {
			return noregret.Errorf(noregret.Usage, "--algorithm", "%s is given twice", algorithm)
		}
		var names []string
		for _, e := range catalogue.Algorithms() {
			names = append(names, e.Name)
		}
		if !slices.Contains(names, algorithm) {
			return noregret.Errorf(noregret.Usage, "--algorithm", `%q is unknown: %ssee "noregret simulate --help"`,
				algorithm, named.DidYouMean(algorithm, names))
		}
	}
	switch {
	case o.points > 0 && o.at != nil:
		return noregret.Errorf(noregret.Usage, "--points", "%d beside --at: want one of them", o.points)
	case !(o.noise >= 0 && o.noise <= scenario.MostNoise):
		return command.OutOfRange("--noise", o.noise,
			fmt.Sprintf("a finite standard deviation, at least 0 and at most %v", scenario.MostNoise))
	case o.threshold-o.threshold != 0:
		return command.OutOfRange("--threshold", o.threshold, "a finite number")
	}
	for _, name := range []string{"runs", "rounds", "points", "users", "items"} {
		// 0 is the default in package scenario
		if v, _ := o.flags.GetInt(name); o.flags.Changed(name) && v == 0 {
			return command.OutOfRange("--"+name, v, "at least 1")
		}
	}
	return files.CheckPlots(o.plots, nil)
}

// scenario returns the options of a scenario.
func (o *simulateOptions) scenario(name string) (scenario.Options, error) {
	var out scenario.Options
	var err error
	if s := o.own(name); s != nil {
		out = s.Options()
	} else if out, err = scenario.DefaultOptions(name); err != nil {
		return out, moved(name, err)
	}
	out.Controlled = controlled
	out.Seed, out.Workers, out.Checkpoints, out.PerDecade = o.seed, o.workers, o.at, o.points
	out.Iterate, out.Data, out.Hard, out.Users, out.Items = o.iterate, o.data, o.hard, o.users, o.items
	if o.flags.Changed("runs") {
		out.Runs = o.runs
	}
	if o.flags.Changed("rounds") {
		out.Rounds = o.rounds
	}
	if o.start != 0 {
		out.Start = &o.start
	}
	if o.flags.Changed("threshold") {
		out.Threshold = &o.threshold
	}
	if o.flags.Changed("noise") {
		out.Noise = &o.noise
	}
	return out, nil
}

// controlled makes the default learners where a world has a control arm and hard guardrails: the
// policy of the service. Without them nothing is promised, and it returns nil.
func controlled(algorithm string, f *pasto.Goals, arms, control int) (pasto.Learner, error) {
	p := propose.OfGoals(f, arms)
	if !slices.ContainsFunc(p.Guardrails, func(g propose.Guardrail) bool { return g.Hard }) {
		return nil, nil
	}
	switch algorithm {
	case "default-floor":
		p.Floor = 0.05
	case "", "default":
	default:
		return nil, nil
	}
	return mixture.NewLearner(p, control, mixture.DefaultOptions())
}

// own returns the scenario of this name that package scenario does not have, nil if there is none.
func (o *simulateOptions) own(name string) *scenario.Spec {
	if i := slices.IndexFunc(o.more, func(s scenario.Spec) bool { return s.Name == name }); i >= 0 {
		return &o.more[i]
	}
	return nil
}

// play runs an algorithm in a scenario, and makes the table or the replay that only
// this scenario has.
func (o *simulateOptions) play(ctx context.Context, opt scenario.Options) (s simulation, err error) {
	if spec := o.own(opt.Scenario); spec != nil {
		s.Result, err = scenario.Play(ctx, opt, *spec)
		return s, err
	}
	switch opt.Scenario {
	case "ranking":
		s.Result, s.Table, err = scenario.Ranking(ctx, opt)
		return s, err
	case "hillstrom":
		if s.Replay, err = scenario.ReplayEmails(ctx, opt); err != nil {
			return s, err
		}
	}
	s.Result, err = scenario.Run(ctx, opt)
	return s, err
}

// Run implements [command.Options].
func (o *simulateOptions) Run(ctx context.Context, a *command.App, args []string) error {
	name := args[0]
	opt, err := o.scenario(name)
	if err != nil {
		return command.Flagged(err)
	}
	p, err := a.ProgressOf("runs")
	if err != nil {
		return err
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
		var s simulation
		if s, err = o.play(ctx, opt); err != nil {
			err = command.Flagged(err)
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
		err = show.JSON(a.Stdout, all[0])
	case o.json:
		err = show.JSON(a.Stdout, all)
	default:
		err = writeSimulations(a, all)
	}
	// The table is already printed: a full disk loses only the pictures.
	for _, path := range o.plots {
		err = errors.Join(err, plotSimulations(path, all))
	}
	return err
}
