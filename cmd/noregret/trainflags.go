package main

import (
	"math"
	"strings"

	"github.com/spf13/cobra"

	"github.com/noregret/noregret/classify"
	"github.com/noregret/noregret/classify/measure"
	"github.com/noregret/noregret/internal/progress"
	"github.com/noregret/noregret/loss"
)

// trainFlags are the flags that say how a classifier is trained.
type trainFlags struct {
	measure, algorithm, reward, threshold, steps string
	passes                                       int
	seed                                         uint64
	holdout                                      float64
	folds                                        int
	stepScale, dualScale                         float64
	radius, lambda, prior                        float64
	tuneSteps, noIntercept, unscaled             bool
	allowDegenerate, allEpochs                   bool
	levelPositives                               int
}

func newTrainFlags() *trainFlags {
	return &trainFlags{
		algorithm: "auto", reward: "hinge", threshold: "default", steps: "default", seed: 1,
		stepScale: 1, dualScale: 1,
	}
}

// register adds the flags to a command that trains for one measure.
func (f *trainFlags) register(cmd *cobra.Command) {
	s := cmd.Flags()
	s.StringVar(&f.measure, "measure", f.measure, `measure to maximize (see "noregret measures")`)
	s.StringVar(&f.algorithm, "algorithm", f.algorithm,
		`algorithm (see "noregret algorithms"); auto is spade for concave measures, else stamp`)
	s.IntVar(&f.passes, "passes", f.passes, "passes over the data; 0 is by the number of rows: 100 for a small set, "+
		"1 for a very large one")
	s.Uint64Var(&f.seed, "seed", f.seed, "seed of the order of the examples and of the held-out part")
	s.Float64Var(&f.holdout, "holdout", f.holdout,
		"share held out to choose model and threshold, 0 for none (default 0.1 where the algorithm needs it)")
	s.IntVar(&f.folds, "folds", f.folds, "choose by cross-fitting with this many folds, their mean is the model; 1 "+
		"is one held-out part (default 5 for stamp with few positives)")
	s.Var(newChoice(&f.threshold, "default", "zero", "tuned"), "threshold", "rule for the threshold")
	s.Var(newChoice(&f.steps, "default", "sqrt", "adaptive"), "steps",
		"how step sizes go down: 1/√t, or each weight's own (AdaGrad); default is adaptive for stamp, else sqrt")
	s.IntVar(&f.levelPositives, "level-positives", f.levelPositives,
		"stamp: positives that end a level stage early; 0 is 100, -1 never, as the paper has it")
	s.Float64Var(&f.stepScale, "step-scale", f.stepScale, "factor of the step size")
	s.Float64Var(&f.dualScale, "dual-scale", f.dualScale, "spade: factor of the dual step size")
	s.BoolVar(&f.tuneSteps, "tune-steps", f.tuneSteps,
		"try step scales 0.1, 0.3, 1 and 3, keep the best on held-out data (stamp tries 1 and 3 anyway)")
	s.StringVar(&f.reward, "reward", f.reward, "training reward: "+strings.Join(loss.RewardNames(), ", "))
	s.Float64Var(&f.radius, "radius", f.radius, "radius of the ball for the weights, 0 for none")
	s.Float64Var(&f.lambda, "lambda", f.lambda, "strength of L2 regularisation")
	s.BoolVar(&f.noIntercept, "no-intercept", f.noIntercept, "leave the intercept out")
	s.BoolVar(&f.unscaled, "unscaled", f.unscaled, "do not standardise the features")
	s.Float64Var(&f.prior, "prior-positives", f.prior,
		"share of positives in the population when the data are a subsample")
	s.BoolVar(&f.allEpochs, "all-epochs", f.allEpochs,
		"stamp: choose among all epochs, not the later ones only, when the threshold is tuned")
	s.BoolVar(&f.allowDegenerate, "allow-degenerate", f.allowDegenerate,
		"allow measures that a constant prediction maximizes")
}

// options turns the flags into options of classify. Values are checked here, so that the error
// names the flag and comes before the data are read.
func (f *trainFlags) options(cmd *cobra.Command) (classify.Options, error) {
	var o classify.Options
	for _, n := range []struct {
		flag string
		v    float64
		ok   bool
		want string
	}{
		{"--passes", float64(f.passes), f.passes >= 0, "at least 0"},
		{"--holdout", f.holdout, f.holdout >= 0 && f.holdout < 1, "a share in [0, 1)"},
		{"--folds", float64(f.folds), f.folds >= 0, "at least 1"},
		{"--level-positives", float64(f.levelPositives), f.levelPositives >= -1, "at least -1"},
		{"--step-scale", f.stepScale, f.stepScale > 0, "a finite number above 0"},
		{"--dual-scale", f.dualScale, f.dualScale > 0, "a finite number above 0"},
		{"--radius", f.radius, f.radius >= 0, "a finite number at least 0"},
		{"--lambda", f.lambda, f.lambda >= 0, "a finite number at least 0"},
		{"--prior-positives", f.prior, f.prior >= 0 && f.prior < 1, "a share in [0, 1)"},
	} {
		if !n.ok || math.IsInf(n.v, 0) {
			return o, outOfRange(n.flag, n.v, n.want)
		}
	}
	m, err := measure.Parse(f.measure)
	if err != nil {
		return o, err
	}
	reward, err := loss.ParseReward(f.reward)
	if err != nil {
		return o, err
	}
	rule, err := classify.ParseThresholdRule(f.threshold)
	if err != nil {
		return o, err
	}
	steps, err := classify.ParseSteps(f.steps)
	if err != nil {
		return o, err
	}
	return classify.Options{
		Algorithm: f.algorithm, Measure: m, Passes: f.passes, Seed: f.seed, Holdout: f.holdout, Folds: f.folds,
		NoHoldout: f.holdout == 0 && cmd.Flags().Changed("holdout"), Threshold: rule, TuneSteps: f.tuneSteps,
		Config: classify.Config{
			Reward: reward, Steps: steps, StepScale: f.stepScale, Radius: f.radius, Lambda: f.lambda,
			NoIntercept: f.noIntercept,
		},
		DualScale: f.dualScale, Unscaled: f.unscaled, PriorPositives: f.prior, AllowDegenerate: f.allowDegenerate,
		AllEpochs: f.allEpochs, LevelPositives: f.levelPositives,
	}, nil
}

// fitProgress returns a callback for [classify.Options.Progress].
func fitProgress(p *progress.Reporter) func(classify.Progress) {
	last := int64(math.MaxInt64)
	return func(now classify.Progress) {
		anew := now.Examples < last // the first report, or another run of the same training that begins its count anew
		last = now.Examples
		if anew {
			p.Start("train "+now.Algorithm, now.Total)
			return // the time of what has been done by now is not known
		}
		p.Pass(now.Pass)
		p.Metric(now.Measure, now.Value)
		p.Update(now.Examples)
	}
}
