package classify

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/noregret/noregret/classify/measure"
	"github.com/noregret/noregret/internal/named"
)

// MultiAlgorithm is a way to train a classifier of several classes or labels that [FitMulti] knows
// by name.
type MultiAlgorithm struct {
	// Name is the name of the algorithm in options and commands.
	Name string
	// Description is one line on what it does.
	Description string
	// Task is the kind of problem that it solves.
	Task Task

	trains  func(m measure.Multi) bool // whether the measure can be its objective
	wants   string                     // what trains accepts, for the error
	selects bool                       // whether it chooses models or thresholds on held-out data
	online  bool                       // whether it has step sizes
	shares  bool                       // whether the model is the same for all measures
	// schedule is the schedule of steps for a configuration.
	schedule func(c Config, m measure.Multi) Steps
	run      func(t *multiTask) error
}

// Trains reports whether m can be the objective of the algorithm.
func (a MultiAlgorithm) Trains(m measure.Multi) bool { return a.trains(m) }

// TunesThresholds reports whether the algorithm chooses thresholds on held-out data.
func (a MultiAlgorithm) TunesThresholds() bool { return a.selects }

// DefaultMultiAlgorithm returns the algorithm that "auto" stands for with a measure. The error is
// of code usage.
func DefaultMultiAlgorithm(task Task, m measure.Multi) (string, error) {
	a, err := findMultiAlgorithm("", task, m, false)
	return a.Name, err
}

func ofRecalls(m measure.Multi) bool {
	_, ok := m.Concave()
	return ok
}

func averagesRatio(m measure.Multi) bool {
	a, ok := m.Averaged()
	return ok && isRatio(a.Of)
}

func averages(m measure.Multi) bool {
	_, ok := m.Averaged()
	return ok
}

func anyMulti(measure.Multi) bool { return true }

// sqrtSteps is the schedule of learners whose models share one schedule.
func sqrtSteps(c Config, _ measure.Multi) Steps { return new(Algorithm).schedule(c) }

// stampSteps is STAMP's schedule for learners with one STAMP per label, else sqrtSteps.
func stampSteps(c Config, m measure.Multi) Steps {
	if a, _ := m.Averaged(); a.Micro {
		return sqrtSteps(c, m)
	}
	return (&Algorithm{adaptive: adaptiveRule{preferred: true}}).schedule(c)
}

// multiAlgorithms is the table of all algorithms. The first that can train for a measure is its
// default.
var multiAlgorithms = []MultiAlgorithm{
	{
		Name: "spade", Task: Multiclass,
		Description: "multi-class SPADE: stochastic primal-dual ascent on a concave measure of the class recalls",
		trains:      ofRecalls, wants: "a concave measure of the class recalls (" +
			strings.Join(measure.MulticlassNames(), ", ") + ")",
		online: true, schedule: sqrtSteps, run: func(t *multiTask) error { return t.runSPADE(false) },
	},
	{
		Name: "one-vs-rest", Task: Multiclass,
		Description: "one STAMP for each class against the rest, models and thresholds chosen on held-out data",
		trains:      averagesRatio,
		wants:       "the macro average of a pseudo-linear measure (macro_f1, macro_jaccard, ...)",
		selects:     true, online: true, schedule: stampSteps, run: runOneVsRest,
	},
	{
		Name: "logistic", Task: Multiclass,
		Description: "one logistic regression for each class against the rest by L-BFGS, the largest score decides",
		trains:      anyMulti, shares: true, schedule: sqrtSteps, run: runLogistics,
	},
	{
		Name: "plugin", Task: Multiclass,
		Description: "logistic, with a threshold for each class tuned on held-out data",
		trains:      averages, wants: "a macro average (macro_f1, ...)", selects: true, schedule: sqrtSteps,
		run: runLogistics,
	},
	{
		Name: "sgd-balanced", Task: Multiclass,
		Description: "multi-class hinge SGD with all classes weighing the same (SPADE with its dual held still)",
		trains:      anyMulti, shares: true, online: true, schedule: sqrtSteps, run: func(t *multiTask) error {
			return t.runSPADE(true)
		},
	},
	{
		Name: "stamp", Task: Multilabel,
		Description: "STAMP for each label (macro) or for all pairs of example and label (micro), models and " +
			"thresholds chosen on held-out data",
		trains: averagesRatio, wants: "an average of a pseudo-linear measure (macro_f1, micro_f1, ...)",
		selects: true, online: true, schedule: stampSteps, run: runLabels,
	},
	{
		Name: "logistic", Task: Multilabel,
		Description: "one logistic regression for each label by L-BFGS, threshold 0",
		trains:      anyMulti, shares: true, schedule: sqrtSteps, run: runLogistics,
	},
	{
		Name: "plugin", Task: Multilabel,
		Description: "logistic, with thresholds tuned on held-out data: one a label (macro) or one for all (micro)",
		trains:      averages, wants: "an average (macro_f1, micro_f1, ...)", selects: true, schedule: sqrtSteps,
		run: runLogistics,
	},
}

// MultiAlgorithms lists the algorithms for a task.
func MultiAlgorithms(task Task) []MultiAlgorithm {
	return slices.DeleteFunc(slices.Clone(multiAlgorithms), func(a MultiAlgorithm) bool { return a.Task != task })
}

// multiAlgorithmNames lists their names.
func multiAlgorithmNames(task Task) []string {
	var names []string
	for _, a := range MultiAlgorithms(task) {
		names = append(names, a.Name)
	}
	return names
}

// findMultiAlgorithm returns the algorithm of the given name, or the default of the measure, and
// checks that it can train for the measure.
func findMultiAlgorithm(name string, task Task, m measure.Multi, allowDegenerate bool) (MultiAlgorithm, error) {
	if a, ok := m.Averaged(); ok {
		if r, ok := a.Of.(measure.Ratio); ok && r.Degenerate() && !allowDegenerate {
			return MultiAlgorithm{}, measure.Trainable(a.Of)
		}
	}
	for _, a := range MultiAlgorithms(task) {
		switch auto := name == "" || name == "auto"; {
		case auto && a.trains(m):
			return a, nil
		case a.Name == name && a.trains(m):
			return a, nil
		case a.Name == name:
			return a, usage("algorithm %s cannot train for %s: it needs %s", name, m.Name(), a.wants)
		}
	}
	return MultiAlgorithm{}, usage("no algorithm for %s data is named %q; %sthere are %s", task, name,
		named.DidYouMean(name, multiAlgorithmNames(task)), strings.Join(multiAlgorithmNames(task), ", "))
}

// multiLearner is an online learner of several linear models.
type multiLearner interface {
	Observe(x LabelsExample) error
	NextPass()
	Finish() error
	models() []Linear
	// progressive is the confusion of the predictions made before each step of the pass.
	progressive() *MultiConfusion
	// choose returns the best models on held-out rows.
	choose(valid []LabelsExample) ([]Linear, error)
}

// classLearner makes a [MulticlassSPADE] a multiLearner.
type classLearner struct{ *MulticlassSPADE }

func (l classLearner) Observe(x LabelsExample) error { return l.MulticlassSPADE.Observe(asClass(x)) }

func (l classLearner) models() []Linear { return l.Model().Classes }

func (l classLearner) progressive() *MultiConfusion { return &MultiConfusion{Classes: l.Progressive()} }

func (l classLearner) choose([]LabelsExample) ([]Linear, error) { return l.models(), nil }

// restLearner makes a [OneVsRest] a multiLearner.
type restLearner struct{ *OneVsRest }

func (l restLearner) Observe(x LabelsExample) error { return l.OneVsRest.Observe(asClass(x)) }

func (l restLearner) models() []Linear { return l.Model().Classes }

func (l restLearner) progressive() *MultiConfusion { return nil }

func (l restLearner) choose(valid []LabelsExample) ([]Linear, error) {
	rows := make([]ClassExample, len(valid))
	for i, x := range valid {
		rows[i] = asClass(x)
	}
	m, err := l.Choose(rows)
	return m.Classes, err
}

// labelLearner makes a [MultilabelLearner] a multiLearner.
type labelLearner struct{ MultilabelLearner }

func (l labelLearner) models() []Linear { return l.Model().Labels }

func (l labelLearner) progressive() *MultiConfusion { return &MultiConfusion{Labels: l.Progressive()} }

func (l labelLearner) choose(valid []LabelsExample) ([]Linear, error) {
	m, _, err := l.Choose(valid)
	return m.Labels, err
}

// asClass converts a row with one label to a row of a multi-class problem.
func asClass(x LabelsExample) ClassExample {
	return ClassExample{Index: x.Index, Value: x.Value, Class: x.Labels[0], Weight: x.Weight}
}

// runSPADE proposes the model of every pass.
func (t *multiTask) runSPADE(fixed bool) error {
	objective, ok := t.opt.Measure.Concave()
	if !ok {
		objective = measure.MacroRecall{} // the fixed dual maximizes it for every measure
	}
	shares := t.shares()
	total := 0.0
	for _, p := range shares {
		total += p
	}
	for k := range shares {
		shares[k] /= total
	}
	l, err := NewMulticlassSPADE(MulticlassConfig{
		Config: t.config, Classes: len(shares), Measure: objective, Shares: shares, DualScale: t.opt.Fit.DualScale,
		FixedDual: fixed,
	})
	if err != nil {
		return err
	}
	return t.drive(classLearner{l}, func(pass int) (goOn bool, err error) {
		if t.valid == nil && pass < t.passes {
			return true, nil
		}
		return t.propose(l.Model().Classes, t.entry(fmt.Sprintf("pass %d", pass), classLearner{l}))
	})
}

// runOneVsRest trains one STAMP per class.
func runOneVsRest(t *multiTask) error {
	l, err := NewOneVsRest(OneVsRestConfig{
		STAMPConfig: t.stamp(), Classes: len(t.data.Labels), Shares: t.shares(),
	})
	if err != nil {
		return err
	}
	return t.runChosen(restLearner{l})
}

// runLabels trains one STAMP per label, or one for all (example, label) pairs.
func runLabels(t *multiTask) error {
	cfg := MultilabelConfig{STAMPConfig: t.stamp(), Labels: len(t.data.Labels)}
	shares := t.shares()
	if a, _ := t.opt.Measure.Averaged(); a.Micro {
		cfg.Average = MicroAverage
		for _, p := range shares {
			cfg.Positives += p / float64(len(shares))
		}
	} else {
		cfg.Shares = shares
	}
	l, err := NewMultilabel(cfg)
	if err != nil {
		return err
	}
	return t.runChosen(labelLearner{l})
}

// stamp returns the options of the STAMP of a label.
func (t *multiTask) stamp() STAMPConfig {
	a, _ := t.opt.Measure.Averaged()
	o := &t.opt.Fit
	return STAMPConfig{
		Config: t.config, Measure: a.Of.(measure.Ratio), LevelPositives: t.levelPositives, FirstEpoch: o.FirstEpoch,
		Growth: o.Growth, AllowDegenerate: o.AllowDegenerate,
	}
}

// runChosen makes all passes and proposes the model that the learner chooses on the held-out rows.
func (t *multiTask) runChosen(l multiLearner) error {
	if err := t.drive(l, func(int) (bool, error) { return true, nil }); err != nil {
		return err
	}
	e := t.entry("last epochs", l)
	models := l.models()
	if t.valid != nil {
		rows, err := t.heldOut()
		if err != nil {
			return err
		}
		if models, err = l.choose(rows); err != nil {
			return err
		}
		e.Candidate = "chosen epochs"
	}
	_, err := t.propose(models, e)
	return err
}

// runLogistics trains one logistic regression per label.
func runLogistics(t *multiTask) error {
	models := make([]Linear, len(t.data.Labels))
	for k := range models {
		d := t.train.against(k)
		if _, err := d.Classes(); err != nil { // one class only: a constant
			models[k].Intercept = -1
			if c := t.counts[k]; c.Rows == t.train.Set.Info().Rows {
				models[k].Intercept = 1
			}
			continue
		}
		o := Options{
			Algorithm: "logistic", Measure: measure.FBeta{B: 1}, Holdout: new(0.0), Unscaled: t.opt.Fit.Unscaled,
			Seed: t.opt.Fit.Seed, Config: Config{Lambda: t.config.Lambda, NoIntercept: t.config.NoIntercept},
		}
		o.Config.Scaling, o.Config.Dim = t.config.Scaling, t.config.Dim
		r, err := Fit(t.ctx, d, o)
		if err != nil {
			return fmt.Errorf("label %s: %w", t.data.Labels[k], err)
		}
		models[k] = r.Model
		t.result.Passes += r.Passes
		t.steps += r.Steps
		for _, w := range r.Warnings {
			t.warn("label %s: %s", t.data.Labels[k], w)
		}
		t.report(int64(k+1), int64(len(models)), math.NaN())
	}
	e := HistoryEntry{Candidate: "optimum", Examples: t.steps, StepScale: t.config.StepScale}
	if t.alg.selects && t.valid != nil {
		rows, err := t.heldOut()
		if err != nil {
			return err
		}
		t.tune(models, rows)
		e.Candidate = "optimum, tuned"
	}
	_, err := t.propose(models, e)
	return err
}

// tune tunes the threshold of each label, or one for all labels, on held-out rows.
func (t *multiTask) tune(models []Linear, rows []LabelsExample) {
	a, _ := t.opt.Measure.Averaged()
	var scored []Scored
	for k := range models {
		for _, x := range rows {
			scored = append(scored, Scored{
				Score: models[k].Score(x.Index, x.Value), Weight: x.Weight, Positive: hasLabel(x.Labels, k),
			})
		}
		if a.Micro {
			continue
		}
		if th, v := TuneThreshold(scored, a.Of); v == v {
			models[k].Threshold = th
		}
		scored = scored[:0]
	}
	if !a.Micro {
		return
	}
	if th, v := TuneThreshold(scored, a.Of); v == v {
		for k := range models {
			models[k].Threshold = th
		}
	}
}
