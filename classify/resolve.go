package classify

import (
	"cmp"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/forget"
)

// resolved is a checked set of options, with defaults filled in and every decision made that
// follows from the options alone. It is made once per [Fit]; nothing after it checks options again.
type resolved struct {
	Options
	alg *Algorithm
	// learner is Config with the schedule of steps decided.
	learner Config
	// tunes reports whether the threshold is tuned.
	tunes bool
	// judges reports whether the algorithm holds something out without being asked.
	judges bool
	// levelPositives is LevelPositives with its default.
	levelPositives int
}

// defaultLevelPositives is the default of [Options.LevelPositives].
const defaultLevelPositives = 100

// Validate checks what [Fit] checks before it looks at data: the algorithm exists and can train for
// the measure, and the options are in range and do not exclude each other. The error is of code
// usage.
func (o Options) Validate() error {
	_, err := o.resolveKept()
	return err
}

// resolveKept is resolve for data that are kept and shuffled.
func (o Options) resolveKept() (resolved, error) {
	if o.Drift.Kind != forget.None {
		return resolved{}, noregret.Errorf(noregret.Usage, "drift",
			"%s: the order of the examples says what is recent, "+
				"and training on data that are kept shuffles them; train on a stream", driftText(o.Drift))
	}
	return o.resolve()
}

// resolve checks the options and makes every decision that needs no data.
func (o Options) resolve() (resolved, error) {
	alg, err := findAlgorithm(o.Algorithm, o.Measure, o.AllowDegenerate)
	if err != nil {
		return resolved{}, err
	}
	o = o.EnsureDefaults()
	r := resolved{
		Options: o, alg: alg, tunes: alg.tunes(&o), judges: alg.judges(&o), levelPositives: defaultLevelPositives,
	}
	if err := cmp.Or(o.checkRanges(), checkDrift(o.Drift)); err != nil {
		return r, err
	}
	if err := r.checkExclusions(); err != nil {
		return r, err
	}
	cfg, err := o.Config.withDefaults()
	if err != nil {
		return r, err
	}
	if o.LevelPositives != nil {
		r.levelPositives = *o.LevelPositives
	}
	r.learner = o.Config
	r.learner.Steps, r.learner.BiasFeature = alg.schedule(o.Config), cfg.BiasFeature
	return r, nil
}

// checkExclusions refuses options that contradict each other or the algorithm.
func (r *resolved) checkExclusions() error {
	o, folds := &r.Options, openNumber(r.Folds)
	switch {
	case o.Valid != nil && o.Holdout != nil:
		return usage("separate held-out data exclude the other holdout options")
	case o.noHoldout() && o.Threshold == ThresholdTuned:
		return usage("tuning the threshold needs held-out data")
	case o.noHoldout() && o.TuneSteps:
		return usage("choosing the step scale needs held-out data")
	case folds > 1 && (o.Holdout != nil || o.Valid != nil):
		return usage("%d folds and another rule on what to hold out exclude each other", folds)
	case folds > 1 && !r.judges:
		return usage("algorithm %s holds nothing out: folds are for those that choose a model or a threshold on "+
			"held-out data", r.alg.Name)
	case o.noHoldout() && r.alg.needsHoldout:
		return usage("algorithm %s needs held-out data", r.alg.Name)
	case o.TuneSteps && o.Config.Step > 0:
		return usage("an absolute step of %v and the choice of a step scale exclude each other", o.Config.Step)
	case o.Config.Steps == StepsBetting && o.TuneSteps:
		return usage("coin betting chooses the steps itself: there is no step scale to choose on held-out data")
	case (o.Config.Steps != StepsDefault || o.Config.Step > 0) && !r.alg.online:
		return usage(
			"algorithm %s takes no steps of its own: the schedule and the rate of steps are for stamp, spade, "+
				"sgd-... and cost-search", r.alg.Name)
	}
	return nil
}

// tunes reports whether the threshold is tuned with the given options.
func (a *Algorithm) tunes(o *Options) bool {
	if o.Threshold == ThresholdDefault {
		return a.TunesThreshold && !o.noHoldout()
	}
	return o.Threshold == ThresholdTuned
}

// judges reports whether the algorithm holds something out with the given options, without being
// asked.
func (a *Algorithm) judges(o *Options) bool {
	return a.tunes(o) || o.TuneSteps || a.needsHoldout || a.selects
}
