package play

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/bandit/offpolicy"
	"github.com/noregret/noregret/dataset"
	"github.com/noregret/noregret/internal/cli/command"
	"github.com/noregret/noregret/internal/cli/logflags"
	"github.com/noregret/noregret/internal/cli/show"
	"github.com/noregret/noregret/play"
	"github.com/noregret/noregret/regret"
)

// banditFlags are the flags of "noregret play" for bandit games.
type banditFlags struct {
	means    []float64
	sd       float64
	rewards  []float64
	flags    *pflag.FlagSet
	game     bool // the game is a bandit game; set by validate
	gameName string
}

// banditLong is the part about bandits in the manual of "noregret play".
const banditLong = `Bandit algorithms see only the loss of the arm that they pull. They play the games bernoulli and
gaussian (--means, --sd), switching and shifting (adversaries), losses (DATA is a CSV file with
a header, one column for each arm and one row for each round) and replay (DATA is a log of
decisions as "noregret evaluate-policy" reads it: each run goes through it in an order of its
own, and rows of another arm than the one drawn are passed over). --runs R plays R independent
runs, on all cores, with the same result for any number of them. The regret is the mean over the
runs of the pseudo-regret, the sum over the arms of pulls times gap, where the gap is the mean
loss above the lowest; in games without means it is the mean of the realized regret, the loss
beyond that of the best arm in hindsight. The bound is the theorem's for the expected regret,
and "lower" is the bound of Lai and Robbins, which no good algorithm stays below as T grows. In
the game replay the means are those of the log.

For bandit games the list of --json has the same keys, and regret_error, realized_regret,
realized_regret_error, lower_bound, means, runs, mean_rounds and pulls. learner_loss and
comparator_loss, the loss of the best arm in hindsight, are means over the runs. Each point of the
curve has the ends low and high of a band of 95 %. noisy is true, as the bound is one of the
expected regret, and holds is null for one run. --summary changes nothing: all figures are means.`

func (b *banditFlags) addFlags(f *pflag.FlagSet) {
	b.sd, b.rewards, b.flags = 1, []float64{0, 1}, f
	f.Float64SliceVar(&b.means, "means", b.means, "bernoulli, gaussian: mean losses of the arms (default 0.1,0.5,0.9)")
	f.Float64Var(&b.sd, "sd", b.sd, "gaussian: standard deviation of the losses")
	f.Float64SliceVar(&b.rewards, "rewards", b.rewards, "replay: lowest and highest reward of the log")
}

// validate finds out whether the game is a bandit game, and checks the flags for such games.
func (b *banditFlags) validate(game string) error {
	spec, err := play.ParseSpec("--game", game)
	if err != nil {
		return err
	}
	b.game, b.gameName = play.IsBanditGame(spec.Name), spec.Name
	for _, f := range []struct {
		flag  string
		games []string
	}{
		{"means", []string{"bernoulli", "gaussian"}}, {"sd", []string{"gaussian"}}, {"rewards", []string{"replay"}},
	} {
		if b.flags.Changed(f.flag) && !slices.Contains(f.games, spec.Name) {
			return noregret.Errorf(noregret.Usage, "--"+f.flag, "%s takes none: it is for %s", spec.Name,
				strings.Join(f.games, " and "))
		}
	}
	return logflags.CheckRewards(b.rewards)
}

// runBandits plays bandit algorithms.
func (o *playOptions) runBandits(ctx context.Context, a *command.App, inputs []string) error {
	opt := play.BanditOptions{
		Learners: o.learners, Game: o.game, Means: o.bandit.means, Arms: o.dim, Rounds: o.rounds, Runs: o.runs,
		Seed: o.seed, Checkpoints: 60, Workers: o.data.Workers,
	}
	if o.bandit.flags.Changed("sd") {
		if strings.Contains(o.game, ":") {
			return noregret.Errorf(noregret.Usage, "--sd", "the game %q has options already: write gaussian:sd=%v",
				o.game, o.bandit.sd)
		}
		opt.Game = play.Spec{Name: o.game, Options: map[string]float64{"sd": o.bandit.sd}}.String()
	}
	if err := o.banditData(ctx, a, &opt, inputs); err != nil {
		return err
	}
	p, err := a.ProgressOf("rounds")
	if err != nil {
		return err
	}
	p.Start("play", int64(opt.Rounds)*int64(max(o.runs, 1))*int64(o.specs))
	opt.Progress = func(rounds int64, learner string) {
		p.Rename("play " + learner)
		p.Update(rounds)
	}
	var skipped []playSkipped
	opt.Skipped = skips(a, o.game, &skipped)
	results, err := play.RunBandits(ctx, opt)
	p.Finish()
	if err != nil {
		return err
	}
	if o.json {
		err = show.JSON(a.Stdout, withSkipped(banditJSON(results), skipped))
	} else {
		err = writeBandits(a, results)
	}
	for _, path := range o.plots {
		err = errors.Join(err, plotBandits(path, results))
	}
	for i := range results {
		r := &results[i]
		if holds, known := r.Holds(); known && !holds {
			err = errors.Join(err, noregret.Errorf(noregret.Diverged, r.Learner,
				"the regret %v ± %v in %s is above the bound %v: this is a mistake in noregret", r.Regret().Mean,
				r.Regret().StandardError, r.Game, r.Bound))
		}
	}
	return err
}

// banditData reads the data of the games that take some, and plays all of it unless --rounds is
// given.
func (o *playOptions) banditData(ctx context.Context, a *command.App, opt *play.BanditOptions, inputs []string) error {
	takes := o.bandit.gameName == "losses" || o.bandit.gameName == "replay"
	switch {
	case !takes && len(inputs) > 0:
		return noregret.Errorf(noregret.Usage, "--game", "%s takes no data: only losses and replay do",
			o.bandit.gameName)
	case takes && len(inputs) != 1:
		return noregret.Errorf(noregret.Usage, "", "%s plays the data of one file, got %d", o.bandit.gameName,
			len(inputs))
	case !takes:
		return nil
	}
	rows := 0
	if o.bandit.gameName == "losses" {
		in, err := dataset.OpenFile(inputs[0], a.Input(ctx))
		if err != nil {
			return err
		}
		_, opt.Losses, err = play.ReadLosses(inputs[0], in)
		if err := errors.Join(err, in.Close()); err != nil {
			return err
		}
		rows = len(opt.Losses)
	} else {
		arms, err := readPulls(ctx, a, inputs[0], o.bandit.rewards, &opt.Log)
		if err != nil {
			return err
		}
		opt.LogArms, rows = arms, len(opt.Log)
	}
	if !o.bandit.flags.Changed("rounds") {
		opt.Rounds = rows
	}
	return nil
}

// readPulls reads the decisions of a log. A reward is the loss below the highest one.
func readPulls(ctx context.Context, a *command.App, path string, rewards []float64,
	pulls *[]regret.LoggedPull,
) (arms int, err error) {
	facts, err := logflags.New().EachRow(ctx, a, path, func(r *offpolicy.Row) error {
		if !(r.Reward >= rewards[0] && r.Reward <= rewards[1]) {
			return noregret.BadInputf("", "the reward %v is outside the range [%v, %v] of --rewards", r.Reward,
				rewards[0], rewards[1])
		}
		*pulls = append(*pulls, regret.LoggedPull{
			Arm: r.Arm, Propensity: r.Propensity, Loss: rewards[1] - r.Reward,
		})
		return nil
	})
	if err != nil {
		return 0, err
	}
	if len(*pulls) == 0 {
		return 0, noregret.BadInputf(path, "no decision: at least one is required")
	}
	return facts.Arms, nil
}
