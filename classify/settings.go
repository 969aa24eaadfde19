package classify

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/noregret/noregret/dataset"
	"github.com/noregret/noregret/forget"
	"github.com/noregret/noregret/loss"
)

// Setting describes one field of [Options]: its name, its type, its range, its default, what it
// does and which algorithms have it. All that settings need is read from the table of settings in
// this file: [Fit], the constructors of the learners, the options in model files and the flags of
// the command. The table of parameters holds the ranges of the options of this package that are
// fields of other structures.
//
// Neither table covers relations between options, data (scalings, examples, the sum of the shares
// of classes), the results that a model file records, the parameters of measures, which package
// measure checks, and the flags of commands that are not settings.
type Setting struct {
	// Name is the name of the command's flag, such as "step-scale".
	Name string
	// Doc is a line that describes the setting. A setting without it has no flag.
	Doc string
	// Want is the allowed range in words, "" for settings of any value.
	Want string

	phrase   string  // how errors of the library name it, if not by Name
	standard float64 // what 0 stands for; 0 if 0 stands for itself
	ok       func(v float64) bool
	field    func(o *Options) any
	// of reports whether an algorithm has the setting; nil if all have it. Those that do not have
	// it refuse a value above idle.
	// lacks is why in the error, if it is not that they take no steps.
	of    func(a *Algorithm) bool
	idle  float64
	lacks string
	// key is the name in the options of a model file, "" for settings that files do not hold, and
	// stored the value there, if it is not that of field.
	key    string
	stored func(o *Options) any
}

// FlagValue is a setting that flags read and write as text. It has the methods of a flag's value.
type FlagValue interface {
	String() string
	Set(text string) error
	// Type is the placeholder of the value in help.
	Type() string
}

// parameter describes an option that is not a field of [Options].
type parameter struct {
	phrase   string // how errors name it
	want     string // the allowed range in words
	standard float64
	ok       func(v float64) bool
}

// check returns an error of code usage if v is out of range.
func (p parameter) check(v float64) error { return p.checkAs(p.phrase, v) }

// checkAs is check for one of several values of a kind, which the error names by phrase.
func (p parameter) checkAs(phrase string, v float64) error {
	if p.ok(v) {
		return nil
	}
	return usage("%s is %v, want %s", phrase, v, p.want)
}

// The algorithms that have a setting.
func ofTwoClasses(a *Algorithm) bool { return a.Task == Binary }

func ofOneLabel(a *Algorithm) bool { return a.Task != Multilabel }

func weighsLoss(a *Algorithm) bool { return a.weighs }

func makesSteps(a *Algorithm) bool { return a.online }

// The ranges.
func atLeast(least float64) func(float64) bool {
	return func(v float64) bool { return v >= least && !math.IsInf(v, 0) }
}

func aboveZero(v float64) bool { return v > 0 && !math.IsInf(v, 0) }

func belowOne(v float64) bool { return v >= 0 && v < 1 }

func unitInterval(v float64) bool { return v >= 0 && v <= 1 }

func insideUnit(v float64) bool { return v > 0 && v < 1 }

func anyFinite(v float64) bool { return v-v == 0 }

// oneOf is the range of the constants from the first to the last of a type.
func oneOf[T ~int](first, last T) func(float64) bool {
	return func(v float64) bool { return v >= float64(first) && v <= float64(last) }
}

func aDimension(v float64) bool { return v >= 0 && v <= math.MaxUint32 }

func aWindow(v float64) bool { return v == 0 || v >= 2 && v <= forget.MostRounds }

func aGrowth(v float64) bool { return v == 0 || v >= 1 && !math.IsInf(v, 0) }

const (
	wantNatural  = "at least 0"
	wantPositive = "a finite number above 0"
	wantNotBelow = "a finite number at least 0"
	wantShare    = "a share in [0, 1)"
	wantInside   = "a number in (0, 1)"
	wantOne      = "at least 1"
	wantTwo      = "at least 2"
)

// The table of parameters.
var (
	// Of SPADE's dual player ([SPADEConfig], [MulticlassConfig]).
	paramDualStep = parameter{
		phrase: "dual step", want: "a finite number at least 0 (0 is the default)", ok: atLeast(0),
	}
	paramEpsExponent = parameter{phrase: "exponent of ε", want: wantInside, standard: 0.5, ok: insideUnit}
	paramDualReward  = parameter{
		phrase: "dual reward", want: "surrogate, clipped or zero-one", ok: oneOf(DualDefault, DualZeroOne),
	}
	// Of [STAMPConfig].
	paramMinPositives = parameter{
		phrase: "smallest number of positives in a level stage", want: wantOne, standard: 5, ok: atLeast(1),
	}
	paramWarmStart = parameter{phrase: "starting level", want: "a number in [0, 1]", ok: unitInterval}
	// Of [ClassWeights], whose error names both weights.
	paramClassWeight = parameter{want: "finite numbers, at least 0 and not both 0", ok: atLeast(0)}
	// Of the learners of several classes or labels.
	paramClasses = parameter{phrase: "number of classes", want: wantTwo, ok: atLeast(2)}
	paramLabels  = parameter{phrase: "number of labels", want: wantOne, ok: atLeast(1)}
	paramShare   = parameter{want: wantInside, ok: insideUnit}
	paramAverage = parameter{
		phrase: "average", want: "the macro or the micro average", ok: oneOf(MacroAverage, InstanceAverage),
	}
	paramTask = parameter{phrase: "the task", want: "Binary, Multiclass or Multilabel", ok: oneOf(Binary, Multilabel)}
	// Of [StreamOptions].
	paramSaveEvery = parameter{phrase: "number of rows between models", want: wantNatural, ok: atLeast(0)}
	// Of [BoundOptions].
	paramRadius = parameter{phrase: "radius", want: wantPositive, ok: aboveZero}
	// Of [CompareOptions].
	paramSplits     = parameter{phrase: "splits", want: wantOne, ok: atLeast(1)}
	paramTrainShare = parameter{phrase: "share of the training part", want: wantInside, ok: insideUnit}
)

// settings is the table of settings: those of Fit, then those of the learners that Fit runs.
var settings = []Setting{
	{
		Name: "seed", key: "seed", field: func(o *Options) any { return &o.Seed },
		Doc: "seed of the order of the examples and of the held-out part",
	},
	{
		Name: "passes", key: "passes", Want: wantNatural, ok: atLeast(0),
		field: func(o *Options) any { return openFlag{&o.Passes} },
		Doc:   "passes over the data; 0 is by the number of rows: 100 for a small set, 1 for a very large one",
	},
	{
		Name: "holdout", key: "holdout", Want: wantShare, ok: belowOne,
		field: func(o *Options) any { return shareFlag{&o.Holdout} },
		Doc:   "share held out to choose model and threshold, 0 for none (default 0.1 where the algorithm needs it)",
	},
	{
		Name: "folds", key: "folds", Want: "at least 1", ok: atLeast(0), of: ofTwoClasses, idle: 1,
		field: func(o *Options) any { return openFlag{&o.Folds} },
		Doc: "choose by cross-fitting with this many folds, their mean is the model; 1 is one held-out part " +
			"(default 5 for stamp with few positives)",
	},
	{
		Name: "threshold", key: "threshold", phrase: "threshold rule",
		Want: "the default, zero or tuned", ok: oneOf(ThresholdDefault, ThresholdTuned), of: ofOneLabel,
		field: func(o *Options) any { return nameOf(&o.Threshold, thresholdRules) },
		Doc:   "rule for the threshold: zero, or tuned on held-out data, that of several classes jointly",
	},
	{
		Name: "class-weight", key: "class_weight", of: weighsLoss, lacks: "weighs the classes itself",
		field: func(o *Options) any { return weightsFlag{&o.ClassWeights} },
		Doc: "weights of the labels in the loss (not in measures), as 0=1,1=5, or balanced: the same for all " +
			"together",
	},
	{
		Name: "calibration", key: "calibration", phrase: "calibration rule",
		Want: "auto, platt, isotonic or none", ok: oneOf(CalibrationAuto, CalibrationNone),
		field: func(o *Options) any { return nameOf(&o.Calibration, calibrationRules) },
		Doc: "how predict --proba maps scores to probabilities; auto is by the held-out scores if there are any, " +
			"platt and isotonic train on five folds to get some if not, or score the rows of a stream before " +
			"they learn",
	},
	{
		Name: "tune-steps", key: "tune_steps", field: func(o *Options) any { return &o.TuneSteps },
		Doc: "try step scales 0.1, 0.3, 1 and 3, keep the best on held-out data (stamp tries 1 and 3 anyway)",
	},
	{
		Name: "steps", key: "steps", Want: "StepsDefault, StepsSqrt, StepsAdaptive or StepsBetting",
		ok: oneOf(StepsDefault, StepsBetting), of: makesSteps,
		field: func(o *Options) any { return nameOf(&o.Config.Steps, stepRules) },
		Doc: "how step sizes go down: 1/√t, each weight's own (AdaGrad), or none (coin betting); default is " +
			"adaptive for stamp, else sqrt",
	},
	{
		Name: "rate", field: func(o *Options) any { return rateFlag{o} },
		Doc: "learning rate: auto needs none and no search for one (coin betting, as --steps betting); a number is " +
			"η₀ of the steps",
	},
	{
		Name: "level-positives", key: "level_positives", phrase: "number of positives that end a level stage",
		Want: "at least 1 (0 is never)", ok: atLeast(0), field: func(o *Options) any { return levelFlag{o} },
		Doc: "stamp: positives that end a level stage early; 0 is 100, -1 never, as the paper has it",
	},
	{
		Name: "step-scale", key: "step_scale", Want: wantPositive, ok: aboveZero, standard: 1,
		field: func(o *Options) any { return &o.Config.StepScale }, Doc: "factor of the step size",
	},
	{
		Name: "dual-scale", key: "dual_scale", Want: wantPositive, ok: aboveZero, standard: 1,
		field: func(o *Options) any { return &o.DualScale }, Doc: "spade: factor of the dual step size",
	},
	{
		Name: "reward", key: "reward", field: func(o *Options) any { return rewardFlag{o} },
		Doc: "training reward: " + strings.Join(loss.RewardNames(), ", "),
	},
	{
		Name: "radius", key: "radius", Want: wantNotBelow, ok: atLeast(0),
		field: func(o *Options) any { return &o.Config.Radius }, Doc: "radius of the ball for the weights, 0 for none",
	},
	{
		Name: "lambda", key: "lambda", Want: wantNotBelow, ok: atLeast(0),
		field: func(o *Options) any { return &o.Config.Lambda }, Doc: "strength of L2 regularisation",
	},
	{
		Name: "no-intercept", key: "intercept", Doc: "leave the intercept out",
		field:  func(o *Options) any { return &o.Config.NoIntercept },
		stored: func(o *Options) any { return inverted{&o.Config.NoIntercept} },
	},
	{
		Name: "unscaled", key: "scaled", Doc: "do not standardise the features",
		field:  func(o *Options) any { return &o.Unscaled },
		stored: func(o *Options) any { return inverted{&o.Unscaled} },
	},
	{
		Name: "prior-positives", key: "prior_positives", phrase: "prior share of positives", Want: wantShare,
		ok: belowOne, of: ofTwoClasses, field: func(o *Options) any { return &o.PriorPositives },
		Doc: "share of positives in the population when the data are a subsample",
	},
	{
		Name: "first-epoch", key: "first_epoch", Want: wantNatural, ok: atLeast(0),
		field: func(o *Options) any { return &o.FirstEpoch },
	},
	{
		Name: "growth", key: "growth", phrase: "growth of the epochs",
		Want: "a finite number at least 1 (0 is the default)", ok: aGrowth,
		field: func(o *Options) any { return &o.Growth },
	},
	{
		Name: "patience", key: "patience", Want: "at least 1", ok: atLeast(1), standard: 5,
		field: func(o *Options) any { return &o.Patience },
	},
	{
		Name: "allow-degenerate", key: "allow_degenerate", field: func(o *Options) any { return &o.AllowDegenerate },
		Doc: "allow measures that a constant prediction maximizes",
	},
	{
		Name: "all-epochs", key: "all_epochs", of: ofTwoClasses, field: func(o *Options) any { return &o.AllEpochs },
		Doc: "stamp: choose among all epochs, not the later ones only, when the threshold is tuned",
	},
	{
		Name: "step", key: "step", Want: wantNotBelow, ok: atLeast(0), of: makesSteps,
		field: func(o *Options) any { return &o.Config.Step },
	},
	{
		Name: "bias-feature", key: "bias_feature", Want: "a finite number", ok: anyFinite, standard: 1,
		field: func(o *Options) any { return &o.Config.BiasFeature },
	},
	{
		Name: "averaging", key: "averaging", Want: "AverageAll, AverageLastPass, AverageNone or AverageLastHalf",
		ok:    oneOf(AverageAll, AverageLastHalf),
		field: func(o *Options) any { return nameOf(&o.Config.Averaging, averagings) },
	},
	{
		Name: "max-example-weight", key: "max_example_weight", Want: wantNotBelow, ok: atLeast(0),
		field: func(o *Options) any { return &o.Config.MaxExampleWeight },
	},
	{
		Name: "drift", key: "drift", of: ofTwoClasses, field: func(o *Options) any { return driftFlag{o} },
		Doc: "with --stream: how to keep up with a stream that changes: none, restart=N, memory=N, detector=NAME or " +
			"adaptive",
	},
	{
		Name: "dimension", Want: wantNatural, ok: aDimension, field: func(o *Options) any { return &o.Config.Dim },
	},
	{
		Name: "largest-dimension", Want: "at least 1", ok: aDimension, standard: dataset.DefaultMaxDim,
		field: func(o *Options) any { return &o.Config.MaxDim },
	},
	{
		Name: "prior-weight", phrase: "weight of the prior", Want: wantNotBelow, ok: atLeast(0),
		field: func(o *Options) any { return &o.Config.PriorWeight },
	},
	{
		Name: "prior-share", phrase: "share of the prior", Want: "a number in [0, 1]", ok: unitInterval,
		field: func(o *Options) any { return &o.Config.PriorShare },
	},
	{
		Name: "decay", Want: "a number in [0, 1)", ok: belowOne,
		field: func(o *Options) any { return &o.Config.Decay },
	},
	{
		Name: "window", Want: "at least 2 (0 is none)", ok: aWindow, of: ofTwoClasses,
		field: func(o *Options) any { return &o.Config.Window },
	},
	{
		Name: "share-of-positives", Want: "a number in (0, 1) (0 estimates it)", ok: belowOne,
		field: func(o *Options) any { return &o.Config.Positives },
	},
	{
		Name: "mean-square", Want: wantNotBelow, ok: atLeast(0),
		field: func(o *Options) any { return &o.Config.MeanSquare },
	},
	{
		Name: "mean-weight", Want: wantNotBelow, ok: atLeast(0),
		field: func(o *Options) any { return &o.Config.MeanWeight },
	},
	{
		Name: "burn-in", Want: "at least 1", ok: atLeast(1), standard: 1000,
		field: func(o *Options) any { return &o.Config.BurnIn },
	},
}

// Settings lists the settings that have a line of documentation: those that commands offer.
func Settings() []Setting {
	return slices.DeleteFunc(slices.Clone(settings), func(s Setting) bool { return s.Doc == "" })
}

// Value returns a pointer to the setting in o (*int, *uint64, *float64 or *bool) or, for a setting
// that is written as text, a [FlagValue] that changes o.
func (s Setting) Value(o *Options) any { return s.field(o) }

// number is the value in o as a number: 0 for what is left out, 1 for true, and the constant for a
// name.
func (s Setting) number(o *Options) float64 {
	switch p := s.field(o).(type) {
	case *int:
		return float64(*p)
	case *float64:
		return *p
	case *bool:
		if *p {
			return 1
		}
	case interface{ number() float64 }:
		return p.number()
	}
	return 0
}

// InRange reports whether the value in o is allowed, and returns it.
func (s Setting) InRange(o *Options) (value float64, ok bool) {
	value = s.number(o)
	return value, s.ok == nil || s.ok(value)
}

// call is how errors of the library name the setting.
func (s Setting) call() string {
	return cmp.Or(s.phrase, strings.ReplaceAll(s.Name, "-", " "))
}

// check returns an error of code usage if the value in o is out of range.
func (s Setting) check(o *Options) error {
	if p, open := s.field(o).(openFlag); open && *p.value != nil && **p.value == 0 {
		return usage("%s is 0, want at least 1, or nil for the default rule", s.call())
	}
	v, ok := s.InRange(o)
	if ok {
		return nil
	}
	return usage("%s is %v, want %s", s.call(), v, s.Want)
}

// settingOf finds a setting by its name.
func settingOf(name string) Setting {
	return settings[slices.IndexFunc(settings, func(s Setting) bool { return s.Name == name })]
}

// EnsureDefaults replaces each 0 that stands for a default by its value: 1 for the factors of
// steps, 5 for Patience, the hinge for the reward and so on. It does not set defaults that depend
// on the data or on the algorithm (Passes, Holdout, Folds, Steps, FirstEpoch, LevelPositives).
func (o Options) EnsureDefaults() Options {
	for _, s := range settings {
		if s.standard == 0 {
			continue
		}
		switch p := s.field(&o).(type) {
		case *int:
			if *p == 0 {
				*p = int(s.standard)
			}
		case *float64:
			if *p == 0 {
				*p = s.standard
			}
		}
	}
	if o.Config.Reward == nil {
		o.Config.Reward = loss.Hinge{}
	}
	o.Drift = ensureDrift(o.Drift)
	return o
}

// checkRanges returns an error for the first setting that is out of its range.
func (o Options) checkRanges() error {
	for _, s := range settings {
		if err := s.check(&o); err != nil {
			return err
		}
	}
	return nil
}

// checkOf returns an error for a setting with a value that the algorithm does not have.
func (o Options) checkOf(a *Algorithm) error {
	for _, s := range settings {
		if s.of == nil || s.of(a) || s.number(&o) <= s.idle {
			continue
		}
		var names []string
		for _, other := range algorithms {
			if other.Task == a.Task && s.of(&other) {
				names = append(names, other.Name)
			}
		}
		if len(names) == 0 {
			return usage("%s has no meaning for %s data", s.call(), a.Task)
		}
		return usage("algorithm %s %s: %s is a setting of %s", a.Name, cmp.Or(s.lacks, "takes no steps of its own"),
			s.call(), listOf(names))
	}
	return nil
}
