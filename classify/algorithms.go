package classify

import (
	"math"
	"slices"
	"strings"

	"github.com/noregret/noregret/classify/measure"
	"github.com/noregret/noregret/internal/named"
	"github.com/noregret/noregret/loss"
)

// Algorithm is a way to train a linear classifier that [Fit] knows by name.
type Algorithm struct {
	// Task is the kind of data that it learns from. Names are unique within a task.
	Task Task
	// Name is the name of the algorithm in options and commands.
	Name string
	// Description is one line on what it does.
	Description string
	// TunesThreshold reports whether the algorithm tunes thresholds on held-out data by default.
	TunesThreshold bool

	// trains reports whether the measure can be the objective. It is nil for algorithms that have
	// an objective of their own, for which the measure only chooses models and thresholds.
	trains       func(m measure.Objective) bool
	wants        string // the family that trains accepts, for the error
	online       bool   // whether it makes steps, which have scales
	weighs       bool   // whether it minimizes a loss that class weights multiply
	selects      bool   // whether it proposes several models to choose from
	needsHoldout bool
	sharesModel  bool // whether the model, except for its threshold, is the same for all measures
	// adaptive says what adaptive steps change.
	adaptive adaptiveRule
	// learner returns the online learner of Binary data. It is nil for algorithms that cannot learn
	// from a stream. cfg is the learner's Config.
	learner func(r *resolved, cfg Config) (Learner, error)
	run     func(t *training) error
}

// adaptiveRule says what an algorithm does with adaptive steps ([StepsAdaptive]). The zero value
// treats them as a schedule like any other.
type adaptiveRule struct {
	preferred bool      // whether adaptive steps are the default, unless an option excludes them
	crossFits bool      // whether few positives are cross-fitted by default
	positives int64     // the least number of positives visited in the default number of passes
	scales    []float64 // the step scales to try on held-out data
}

// Trains reports whether m can be the objective of the algorithm.
func (a Algorithm) Trains(m measure.Objective) bool { return a.trains == nil || a.trains(m) }

func isConcave(m measure.Objective) bool {
	_, ok := m.(measure.Concave)
	return ok
}

func isRatio(m measure.Objective) bool {
	_, ok := m.(measure.Ratio)
	return ok
}

func isEither(m measure.Objective) bool { return isConcave(m) || isRatio(m) }

// isSmooth reports whether a measure of two classes has derivatives, which all but min have.
func isSmooth(m measure.Objective) bool {
	_, two := m.(measure.Measure)
	_, corner := m.(measure.Min)
	return two && !corner
}

// averageOf returns a measure of several labels as an average, the zero value if it is none.
func averageOf(m measure.Objective) measure.Averaged {
	multi, _ := m.(measure.Multi)
	a, _ := multi.Averaged()
	return a
}

func isAverage(m measure.Objective) bool { return averageOf(m).Of != nil }

func averagesRatio(m measure.Objective) bool { return isAverage(m) && isRatio(averageOf(m).Of) }

func ofRecalls(m measure.Objective) bool {
	multi, _ := m.(measure.Multi)
	_, ok := multi.Concave()
	return ok
}

const wantsRatio = "a pseudo-linear measure (f1, fbeta:B, jaccard, tversky:S,T, kappa, accuracy, ...)"

// algorithms is the table of all algorithms. Everything specific to an algorithm is in its entry:
// no code compares names. Those of a task stand in the order in which [DefaultAlgorithm] considers
// them.
var algorithms = []Algorithm{
	{
		Name: "spade", Description: "SPADE: stochastic primal-dual ascent on a concave measure",
		trains: isConcave, wants: "a concave measure (min, hmean, qmean, gmean, balanced_accuracy, youden, " +
			"recalls:C1,C2)",
		online: true, learner: newFittedSPADE, run: runPasses,
	},
	{
		Name: "stamp", Description: "STAMP: stochastic alternating maximization of a pseudo-linear measure, model " +
			"and threshold chosen on held-out data",
		TunesThreshold: true, trains: isRatio, wants: wantsRatio, online: true, selects: true,
		// Nearly separable data need longer steps than others, so two scales are tried.
		adaptive: adaptiveRule{preferred: true, crossFits: true, positives: 30_000, scales: []float64{1, 3}},
		learner:  newFittedSTAMP, run: runSTAMP,
	},
	{
		Name: "amp", Description: "AMP: batch alternating maximization of a pseudo-linear measure, logistic model " +
			"steps by L-BFGS",
		TunesThreshold: true, trains: isRatio, wants: wantsRatio, selects: true, run: runAMP,
	},
	{
		Name: "plugin", Description: "plug-in: logistic regression by L-BFGS, threshold tuned on held-out data for " +
			"any measure",
		TunesThreshold: true, needsHoldout: true, sharesModel: true, weighs: true, run: runLogistic,
	},
	{
		Name: "logistic", Description: "logistic regression by L-BFGS, threshold 0",
		sharesModel: true, weighs: true, run: runLogistic,
	},
	{
		Name: "logistic-balanced", Description: "logistic regression by L-BFGS with both classes weighing the same, " +
			"threshold 0",
		sharesModel: true, run: runBalancedLogistic,
	},
	{
		Name: "omma", Description: "OMMA: logistic regression by L-BFGS, threshold by one online pass for any smooth " +
			"measure of the confusion",
		trains: isSmooth, wants: "a measure that has derivatives, as all but min have", run: runOMMA,
	},
	{
		Name: "cost-search", Description: "class-weighted search: 19 class weights, hinge SGD each, best model and " +
			"threshold on held-out data",
		TunesThreshold: true, trains: isEither, wants: "a concave or pseudo-linear measure", online: true,
		selects: true, needsHoldout: true, run: runCostSearch,
	},
	{
		Name: "sgd-logistic", Description: "logistic regression by averaged stochastic gradient, threshold 0",
		online: true, sharesModel: true, weighs: true, learner: newFittedSGD(loss.Logistic{}, false), run: runPasses,
	},
	{
		Name: "sgd-hinge", Description: "linear support vector machine by averaged stochastic gradient, threshold 0",
		online: true, sharesModel: true, weighs: true, learner: newFittedSGD(loss.Hinge{}, false), run: runPasses,
	},
	{
		Name: "sgd-balanced", Description: "hinge SGD with both classes weighing the same (SPADE with its dual held " +
			"at (½, ½))",
		online: true, sharesModel: true, learner: newFittedSGD(nil, true), run: runPasses,
	},
	{
		Task: Multiclass, Name: "spade",
		Description: "multi-class SPADE: stochastic primal-dual ascent on a concave measure of the class recalls",
		trains:      ofRecalls, wants: "a concave measure of the class recalls (" +
			strings.Join(measure.MulticlassNames(), ", ") + ")",
		online: true, run: func(t *training) error { return t.runClasses(false) },
	},
	{
		Task: Multiclass, Name: "one-vs-rest",
		Description: "one STAMP for each class against the rest, models chosen and thresholds tuned jointly on " +
			"held-out data",
		trains: averagesRatio,
		wants:  "the macro average of a pseudo-linear measure (macro_f1, macro_jaccard, ...)", online: true,
		TunesThreshold: true, selects: true, adaptive: adaptiveRule{preferred: true}, run: runLabels,
	},
	{
		Task: Multiclass, Name: "logistic",
		Description: "one logistic regression for each class against the rest by L-BFGS, the largest score decides",
		sharesModel: true, weighs: true, run: runLogistics,
	},
	{
		Task: Multiclass, Name: "softmax",
		Description: "multinomial logistic regression of all classes by L-BFGS, the largest score decides",
		sharesModel: true, weighs: true, run: func(t *training) error { return t.runSoftmax(false) },
	},
	{
		Task: Multiclass, Name: "softmax-balanced",
		Description: "softmax with all classes weighing the same",
		sharesModel: true, run: func(t *training) error { return t.runSoftmax(true) },
	},
	{
		Task: Multiclass, Name: "plugin",
		Description:    "logistic, with the thresholds of the classes tuned jointly on held-out data for any measure",
		TunesThreshold: true, needsHoldout: true, weighs: true, run: runLogistics,
	},
	{
		Task: Multiclass, Name: "sgd-balanced",
		Description: "multi-class hinge SGD with all classes weighing the same (SPADE with its dual held still)",
		sharesModel: true, online: true, run: func(t *training) error { return t.runClasses(true) },
	},
	{
		Task: Multilabel, Name: "stamp",
		Description: "STAMP for each label (macro) or for all pairs of example and label (micro), models and " +
			"thresholds chosen on held-out data",
		trains: averagesRatio, wants: "an average of a pseudo-linear measure (macro_f1, micro_f1, ...)", online: true,
		TunesThreshold: true, selects: true, adaptive: adaptiveRule{preferred: true}, run: runLabels,
	},
	{
		Task: Multilabel, Name: "logistic",
		Description: "one logistic regression for each label by L-BFGS, threshold 0",
		sharesModel: true, run: runLogistics,
	},
	{
		Task: Multilabel, Name: "plugin",
		Description: "logistic, with thresholds tuned on held-out data: one a label (macro) or one for all (micro)",
		trains:      isAverage, wants: "an average (macro_f1, micro_f1, ...)",
		TunesThreshold: true, selects: true, run: runLogistics,
	},
}

// Algorithms lists the algorithms of a task, the project's own first.
func Algorithms(task Task) []Algorithm {
	return slices.DeleteFunc(slices.Clone(algorithms), func(a Algorithm) bool { return a.Task != task })
}

// AlgorithmNames lists their names.
func AlgorithmNames(task Task) []string {
	var names []string
	for _, a := range algorithms {
		if a.Task == task {
			names = append(names, a.Name)
		}
	}
	return names
}

// algorithmOf returns the algorithm of the given name, nil if there is none.
func algorithmOf(task Task, name string) *Algorithm {
	i := slices.IndexFunc(algorithms, func(a Algorithm) bool { return a.Task == task && a.Name == name })
	if i < 0 {
		return nil
	}
	return &algorithms[i]
}

// DefaultAlgorithm returns the algorithm that has the measure as its objective, the first of the
// task: for two classes the online one, spade for concave measures and stamp for pseudo-linear
// ones. No learner has another measure as its objective: for these it is sgd-logistic.
func DefaultAlgorithm(task Task, m measure.Objective) string {
	i := slices.IndexFunc(algorithms, func(a Algorithm) bool {
		return a.Task == task && a.Trains(m) && (task != Binary || a.learner != nil)
	})
	return algorithms[i].Name
}

// schedule returns the schedule of steps for a configuration: the one that the options name, or
// else adaptive steps if the algorithm prefers them and the options have no ball, regularisation or
// absolute step. STAMP prefers them because it chooses its model on held-out data, so that progress
// in few passes counts. SPADE does not, because its certificate is for StepsSqrt. The models of a
// micro average share one schedule, which adaptive steps are not.
func (a *Algorithm) schedule(c Config, m measure.Objective) Steps {
	if c.Steps != StepsDefault {
		return c.Steps
	}
	plain := (c.Radius == 0 || math.IsInf(c.Radius, 1)) && c.Lambda == 0 && c.Step == 0
	if a.adaptive.preferred && plain && !averageOf(m).Micro {
		return StepsAdaptive
	}
	return StepsSqrt
}

// DefaultSteps returns the schedule that [StepsDefault] stands for in a [Fit] of Binary data by the
// named algorithm: adaptive steps for STAMP, unless the options have a ball, regularisation or an
// absolute step; otherwise StepsSqrt, also for an unknown name.
func DefaultSteps(algorithm string, c Config) Steps {
	a := algorithmOf(Binary, algorithm)
	if a == nil {
		a = new(Algorithm)
	}
	return a.schedule(c, nil)
}

// findAlgorithm returns the algorithm of the given name, or the default of the measure, and checks
// that it can train for the measure.
func findAlgorithm(task Task, name string, m measure.Objective, allowDegenerate bool) (*Algorithm, error) {
	if err := checkObjective(task, m); err != nil {
		return nil, err
	}
	if name == "" || name == "auto" {
		name = DefaultAlgorithm(task, m)
	}
	a := algorithmOf(task, name)
	if a == nil {
		return nil, usage("no algorithm for %s data is named %q; %sthere are %s", task, name,
			named.DidYouMean(name, AlgorithmNames(task)), strings.Join(AlgorithmNames(task), ", "))
	}
	if two, ok := m.(measure.Measure); ok && a.trains != nil {
		if err := measure.Trainable(two); err != nil && !(allowDegenerate && isEither(m)) {
			return nil, err
		}
	}
	if r, ok := averageOf(m).Of.(measure.Ratio); ok && r.Degenerate() && !allowDegenerate {
		return nil, measure.Trainable(r)
	}
	if !a.Trains(m) {
		return nil, usage("algorithm %s cannot maximize %s: it needs %s; try %s", a.Name, m.Name(), a.wants,
			DefaultAlgorithm(task, m))
	}
	return a, nil
}

// checkObjective returns an error for a measure that is not one of the task.
func checkObjective(task Task, m measure.Objective) error {
	if m == nil {
		return usage("no measure is given; there are %s", strings.Join(measure.Names(), ", "))
	}
	_, two := m.(measure.Measure)
	_, several := m.(measure.Multi)
	if task == Binary && two || task != Binary && several {
		return nil
	}
	return usage("%s is not a measure of %s data", m.Name(), task)
}

func newFittedSPADE(r *resolved, cfg Config) (Learner, error) {
	return NewSPADE(SPADEConfig{Config: cfg, Measure: r.Measure.(measure.Concave), DualScale: r.DualScale})
}

func newFittedSTAMP(r *resolved, cfg Config) (Learner, error) {
	return NewSTAMP(STAMPConfig{
		Config: cfg, LevelPositives: r.levelPositives, Measure: r.Measure.(measure.Ratio),
		FirstEpoch: r.FirstEpoch, Growth: r.Growth, PriorPositives: r.PriorPositives,
		AllowDegenerate: r.AllowDegenerate,
	})
}

// newFittedSGD returns the constructor of an SGD with the given reward; nil takes the reward of the
// options.
func newFittedSGD(reward loss.Reward, balanced bool) func(*resolved, Config) (Learner, error) {
	return func(_ *resolved, cfg Config) (Learner, error) {
		if reward != nil {
			cfg.Reward = reward
		}
		return NewSGD(SGDConfig{Config: cfg, Balanced: balanced})
	}
}
