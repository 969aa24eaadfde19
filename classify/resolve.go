package classify

import (
	"cmp"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/classify/measure"
	"github.com/noregret/noregret/forget"
)

// resolved is a checked set of options, with defaults filled in and every decision made that
// follows from the options alone. It is made once per [Fit]; nothing after it checks options again.
type resolved struct {
	Options
	alg *Algorithm
	// two is the measure for Binary data, else nil.
	two measure.Measure
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

// Validate checks what [Fit] checks before it looks at data of a task: the algorithm exists and can
// train for the measure, and the options are in range and do not exclude each other. The error is
// of code usage.
func (o Options) Validate(task Task) error {
	_, err := o.resolveKept(task)
	return err
}

// resolveKept is resolve for data that are kept and shuffled.
func (o Options) resolveKept(task Task) (resolved, error) {
	if o.Drift.Kind != forget.None {
		return resolved{}, noregret.Errorf(noregret.Usage, "drift",
			"%s: the order of the examples says what is recent, "+
				"and training on data that are kept shuffles them; train on a stream", driftText(o.Drift))
	}
	return o.resolve(task)
}

// resolve checks the options and makes every decision that needs no data.
func (o Options) resolve(task Task) (resolved, error) {
	name := o.Algorithm
	if (name == "" || name == Auto) && task != Multilabel && o.ClassWeights.given() {
		name = "logistic"
	}
	alg, err := findAlgorithm(task, name, o.Measure, o.AllowDegenerate)
	if err != nil {
		return resolved{}, err
	}
	o = o.EnsureDefaults()
	r := resolved{
		Options: o, alg: alg, tunes: alg.tunes(&o), judges: alg.judges(&o), levelPositives: defaultLevelPositives,
	}
	r.two, _ = o.Measure.(measure.Measure)
	if o.LevelPositives != nil {
		r.levelPositives = *o.LevelPositives
	}
	if err := cmp.Or(o.checkRanges(), o.ClassWeights.check(), checkDrift(o.Drift), o.checkOf(alg)); err != nil {
		return r, err
	}
	if err := r.checkExclusions(); err != nil {
		return r, err
	}
	r.learner = o.Config
	r.learner.Steps = alg.schedule(o.Config, o.Measure)
	cfg, err := r.learner.withDefaults()
	r.learner.BiasFeature = cfg.BiasFeature
	return r, err
}

// checkExclusions refuses options that contradict each other or the algorithm.
func (r *resolved) checkExclusions() error {
	o, folds := &r.Options, openNumber(r.Folds)
	switch {
	case o.Valid != nil && o.Valid.Task != r.alg.Task:
		return usage("separate held-out data are %s, the data are %s", o.Valid.Task, r.alg.Task)
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
	case r.alg.Task != Binary && o.Config.Steps == StepsAdaptive &&
		r.alg.schedule(Config{}, o.Measure) != StepsAdaptive:
		return usage("adaptive steps are for learners of one model: %s for %s needs StepsSqrt", r.alg.Name,
			o.Measure.Name())
	}
	return nil
}

// tunes reports whether the threshold is tuned with the given options. By default it is for an
// algorithm that nobody named and that does not have the measure as its objective.
func (a *Algorithm) tunes(o *Options) bool {
	if o.Threshold == ThresholdDefault {
		other := a.Task == Binary && (o.Algorithm == "" || o.Algorithm == Auto) && !isEither(o.Measure)
		return (a.TunesThreshold || other) && !o.noHoldout()
	}
	return o.Threshold == ThresholdTuned
}

// judges reports whether the algorithm holds something out with the given options, without being
// asked.
func (a *Algorithm) judges(o *Options) bool {
	return a.tunes(o) || o.TuneSteps || a.needsHoldout || a.selects
}
