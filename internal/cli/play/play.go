package play

import (
	"context"
	"errors"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/cli/command"
	"github.com/noregret/noregret/internal/cli/dataflags"
	"github.com/noregret/noregret/internal/cli/files"
	"github.com/noregret/noregret/internal/cli/show"
	"github.com/noregret/noregret/play"
	"github.com/noregret/noregret/regret"
)

// playOptions are the flags of "noregret play".
type playOptions struct {
	data         *dataflags.Flags
	learners     []string
	game         string
	rounds, runs int
	dim          int
	seed         uint64
	plots        []string
	summary      bool
	json         bool
	dynamic      bool
	lengths      []int
	bandit       banditFlags

	specs int // the number of learners, with those of sweeps; set by Validate
}

const playLong = `Run learners of online convex optimization or bandit algorithms in a game, and compare
the regret of each with the bound of its theorem.

Every learner plays the same rounds, once for each seed from --seed on. The table shows the
learner's loss, the loss of the best fixed point in hindsight, the regret (their difference), the
learner's bound on it and the ratio of regret to bound; "tight" is the round with the largest
ratio. No fixed point has a loss lower than the best one's by more than "gap". On unbounded sets,
where linear losses have no best point, the game names the comparator. A bound is missing where
the theory gives none or where it overflows. "floor" is the regret that the game's adversary
guarantees against every learner, for those lower bounds of the theory that state one in advance.
"sharp bound" is a second bound of some learners: it depends on more of the run and is never above
the first.

Learners and games take options after colons: ftrl-proximal:a=0.5:l1=0.1, linear-ball:radius=2.
"noregret learners" and "noregret games" list them. The games regression and classification play
the rows of DATA in order, again and again; without DATA they play examples generated from the
seed.

A learner's option may be a range, FROM..TO:N: the learner plays with each of N values in
geometric progression, including both ends. So ogd-fixed:eta=0.01..1:5 is five learners.

"restarted-" before a learner's name makes it anew in batches of rounds, as in
restarted-adagrad:every=100. Without "every" the batches follow from the horizon and the variation
of the losses.

With several --runs, a second table shows for each learner the means over the runs with their
standard errors, and the largest ratio of regret to bound in a run. --summary prints only that
table.

With --dynamic a further table compares each learner with the sequence of the losses' own
minimizers: its dynamic regret, the variation of the losses (the sum of the largest changes from
round to round, on the set and on the hull of the minimizers), the learner's bound for a variation
that large, if it has one, and the interval of rounds with the largest regret. "~" marks a variation
that was estimated and may be larger. --lengths names the lengths of the intervals; without it they
are the geometric covering intervals [i·2^j, (i+1)·2^j − 1]. The losses must have minima.
"floor" is a dynamic regret that the expectation of no learner is below, in games that state one.

A learner that cannot play the game is left out, with a note on standard error, if another one can.

With --json the output is a list of {learner, game, rounds, seed, learner_loss, comparator_loss,
regret, bound}, and more keys; bound is null where the theory gives none. In games with noise in the
feedback noisy is true: the bound is one of the expected regret, so holds is that of the mean over
the runs, up to four standard errors, and null for one run. Learners that were left out have
{learner, game, skipped} at the end of the list. With --summary it is a list of {learner, game,
rounds, runs, mean_regret, regret_error, mean_bound, worst_ratio}, and more keys. With --dynamic
every entry has a key dynamic with {regret, comparator_loss, gap, variation, hull_variation,
variation_exact, path, bound, floor, intervals}.

` + banditLong

// newPlayCommand makes "noregret play".
func newPlayCommand(a *command.App) *cobra.Command {
	o := &playOptions{data: dataflags.New(), rounds: 1000, runs: 1, seed: 1}
	cmd := command.New(a, &cobra.Command{
		Use:   "play --learner NAME[,NAME...] --game GAME [DATA...]",
		Short: "Play learners against a game, regret beside bound",
		Long:  playLong,
		Example: `  noregret play --learner ogd-adaptive,ftrl --game linear-ball --rounds 10000 --seed 1

  # A lower bound of the theory, and a picture of regret against bound
  noregret play --learner adahedge,eg --game minimax-experts --rounds 500 --plot minimax.svg

  # Five step sizes, each in 20 runs
  noregret play --learner ogd-fixed:eta=0.01..1:5,ogd-adaptive --game linear-ball \
    --runs 20 --summary

  # Online least squares on a data file
  noregret play --learner vaw:lambda=0.1 --game regression --rounds 4000 abalone.csv

  # A target that jumps: the regret against the best sequence of points
  noregret play --learner ogd-strong,restarted-ogd,ader --game target --rounds 5000 --dynamic

  # Bandit algorithms: the mean pseudo-regret of 100 runs, beside bound and lower bound
  noregret play --learner ucb,kl-ucb,thompson,tsallis-inf --game bernoulli --means 0.1,0.5,0.9 \
    --rounds 10000 --runs 100 --plot bandits.svg

  # Bandit algorithms on the decisions of a log
  noregret play --learner thompson,exp3 --game replay --runs 20 decisions.csv`,
	}, o)
	o.data.Register(cmd)
	o.data.RegisterPositive(cmd)
	return cmd
}

// AddFlags implements [command.Options].
func (o *playOptions) AddFlags(f *pflag.FlagSet) {
	f.StringSliceVar(&o.learners, "learner", o.learners,
		`learners, as "name", "name:option=value" or "name:option=from..to:n" (see "noregret learners")`)
	f.StringVar(&o.game, "game", o.game, `the game, as "name" or "name:option=value" (see "noregret games")`)
	f.IntVar(&o.rounds, "rounds", o.rounds, "number of rounds")
	f.Uint64Var(&o.seed, "seed", o.seed, "seed of the game; run r has seed S + r")
	f.IntVar(&o.runs, "runs", o.runs, "number of runs of each learner, with a seed each")
	f.IntVar(&o.dim, "dim", o.dim, "dimension of the game; 0 is the game's own")
	f.StringArrayVar(&o.plots, "plot", o.plots, "write a picture of regret against bound to this file, .svg or .png; "+
		"may be given more than once")
	f.BoolVar(&o.summary, "summary", o.summary, "print the means over the runs of each learner only")
	f.BoolVar(&o.json, "json", o.json, "print a JSON list")
	f.BoolVar(&o.dynamic, "dynamic", o.dynamic, "measure the dynamic regret, the variation and the interval regret")
	f.IntSliceVar(&o.lengths, "lengths", o.lengths, "lengths of the intervals for --dynamic")
	o.bandit.addFlags(f)
}

// skips notes the learners that cannot play the game.
func skips(a *command.App, game string, list *[]playSkipped) func(learner string, reason error) {
	return func(learner string, reason error) {
		a.Note("%s does not play: %v", learner, reason)
		*list = append(*list, playSkipped{learner, game, reason.Error()})
	}
}

// Validate implements [command.Options].
func (o *playOptions) Validate() error {
	if len(o.learners) == 0 {
		return noregret.Errorf(noregret.Usage, "--learner", `at least one is required; "noregret learners" lists them`)
	}
	if o.game == "" {
		return noregret.Errorf(noregret.Usage, "--game", `a game is required; "noregret games" lists them`)
	}
	specs := 0
	for _, name := range o.learners {
		sweep, err := play.ParseSweep("learner", name)
		if err != nil {
			return err
		}
		specs += len(sweep)
	}
	o.specs = specs
	if len(o.lengths) > 0 && !o.dynamic {
		return noregret.Errorf(noregret.Usage, "--lengths", "%v without --dynamic: want both", o.lengths)
	}
	if err := o.bandit.validate(o.game); err != nil {
		return err
	}
	if o.dynamic && o.bandit.game {
		return noregret.Errorf(noregret.Usage, "--dynamic", "%s is a game of bandits: want a game of points", o.game)
	}
	return nil
}

// Run implements [command.Options].
func (o *playOptions) Run(ctx context.Context, a *command.App, inputs []string) error {
	if err := files.CheckPlots(o.plots, files.Inputs(inputs)); err != nil {
		return err
	}
	if o.bandit.game {
		return o.runBandits(ctx, a, inputs)
	}
	opt := play.Options{
		Learners: o.learners, Game: o.game, Rounds: o.rounds, Seed: o.seed, Runs: o.runs, Dim: o.dim, Checkpoints: 60,
		Workers: o.data.Workers,
	}
	if o.dynamic {
		opt.Dynamic = &regret.DynamicOptions{Lengths: o.lengths}
	}
	if len(inputs) > 0 {
		spec, err := play.ParseSpec("--game", o.game)
		if err != nil {
			return err
		}
		game, err := regret.FindGame(spec.Name)
		if err != nil {
			return err
		}
		if opt.Examples, err = examples(ctx, a, o.data, game, inputs); err != nil {
			return err
		}
	}
	p, err := a.ProgressOf("rounds")
	if err != nil {
		return err
	}
	p.Start("play", int64(o.rounds)*int64(max(o.runs, 1))*int64(o.specs))
	opt.Progress = func(rounds int64, learner string, meanLoss float64) {
		p.Rename("play " + learner)
		p.Metric("loss", meanLoss)
		p.Update(rounds)
	}
	var skipped []playSkipped
	opt.Skipped = skips(a, o.game, &skipped)
	results, err := play.Run(ctx, opt)
	p.Finish()
	if err != nil {
		return err
	}
	switch {
	case o.json && o.summary:
		err = show.JSON(a.Stdout, withSkipped(summaryJSON(play.Summarize(results)), skipped))
	case o.json:
		err = show.JSON(a.Stdout, withSkipped(playJSON(results), skipped))
	default:
		err = writeResults(a, results, o.summary)
	}
	// The table is already printed: a full disk loses only the pictures.
	for _, path := range o.plots {
		err = errors.Join(err, plotResults(path, results))
	}
	for _, s := range play.Summarize(results) {
		if holds, known := s.Holds(); s.Noisy && known && !holds {
			err = errors.Join(err, noregret.Errorf(noregret.Diverged, s.Learner,
				"mean regret %v in %s is more than four standard errors above the bound %v of the expected one: "+
					"this is a mistake in noregret", s.Regret.Mean, s.Game, s.Bound.Mean))
		}
	}
	for _, r := range results {
		if !r.Holds() {
			err = errors.Join(err, noregret.Errorf(noregret.Diverged, r.Learner,
				"regret %v in %s with seed %d is above the bound %v: this is a mistake in noregret", r.Regret,
				r.Game, r.Seed, r.Bound))
		}
		if d := r.Dynamic; d != nil && !r.Noisy && !d.Holds() {
			err = errors.Join(err, noregret.Errorf(noregret.Diverged, r.Learner,
				"dynamic regret %v in %s with seed %d is above the bound %v: this is a mistake in noregret", d.Regret,
				r.Game, r.Seed, d.Bound))
		}
	}
	return err
}
