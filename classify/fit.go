package classify

import (
	"context"
	"fmt"
)

// Progress describes the progress of a [Fit].
type Progress struct {
	Algorithm string
	Pass      int     // from 1
	Passes    int     // 0 when unknown
	Examples  int64   // steps taken in all
	Total     int64   // steps to come in all, -1 when unknown
	Measure   string  // name of the measure
	Value     float64 // progressive or held-out, NaN when unknown
}

// HistoryEntry is one line of a training history: a candidate model and its values.
type HistoryEntry struct {
	// Candidate names the model: "pass 3", "epoch 5", "level 0.35", "iteration 41".
	Candidate string `json:"candidate"`
	// Examples is the number of steps before it.
	Examples int64 `json:"examples"`
	// Progressive is the measure of the predictions made before each step of the pass; null if
	// unknown.
	Progressive *float64 `json:"progressive"`
	// Level is the level v that a pseudo-linear algorithm trained for; null elsewhere.
	Level *float64 `json:"level"`
	// Holdout is the measure on the held-out part at Threshold; null without one.
	Holdout *float64 `json:"holdout"`
	// Threshold is the threshold that Holdout was reached with.
	Threshold float64 `json:"threshold"`
	// StepScale is the step scale of the run.
	StepScale float64 `json:"step_scale"`
}

// Result is the result of [Fit].
type Result struct {
	// Task is that of the data, and Models the chosen classifier on raw features: see [Classifier].
	Task   Task
	Models []Linear
	// Algorithm is the name of the algorithm.
	Algorithm string
	// Chosen is the index of the model in History.
	Chosen int
	// History lists the candidates in the order of training. The thresholds of candidates of
	// several models are 0 here.
	History []HistoryEntry
	// Folds is the number of folds; 1 without cross-fitting. With several a model of two classes is
	// the mean of theirs, and of several classes only the thresholds are by them.
	Folds int
	// Train and Holdout are the sizes of the labels in the two parts; with folds Train counts all
	// data.
	Train, Holdout Part
	// Scaling is the standardisation of the features.
	Scaling *Scaling
	// Passes is the number of passes over the training part, of all step scales and folds together;
	// passes for statistics are not counted.
	Passes int
	// Schedule is that of the step sizes, StepsDefault where there are none; StepScale is the step
	// scale of the chosen model, StepScales those tried.
	Schedule   Steps
	StepScale  float64
	StepScales []float64
	// Steps is the number of examples visited in these passes.
	Steps int64
	// Warnings are messages for the user, in full sentences.
	Warnings []string
	// Calibration has one for each model, or is nil where nothing was held out or, of a stream,
	// scored before it was learned from.
	Calibration []Calibration
	// Transform makes the features of Models from those of the data; nil leaves them as they are.
	Transform *Transform
	// Search says how [Auto] chose; nil for other algorithms.
	Search *ModelSearch
	// Figures are the values to expect on new rows, nil if they are not known. [Auto] finds them;
	// for other algorithms [Result.CrossFigures] does.
	Figures *ModelFigures

	holdout *Data
}

// Classifier returns the chosen classifier. It shares the memory of r.
func (r *Result) Classifier() *Classifier {
	return &Classifier{Task: r.Task, Transform: r.Transform, Models: r.Models}
}

// defaultPasses returns the default number of passes over n rows: 100 for a small set, half a
// million steps for a larger one, then 10 passes as long as these are at most five million steps,
// and 1 pass for a very large set. The first two numbers are divided by share.
func defaultPasses(n, share int64) int {
	const steps, usual, mostSteps = 500_000, 10, 5_000_000
	byLeast := (steps/share + n - 1) / n
	return int(max(1, min(mostPasses/share, byLeast), min(usual, mostSteps/n)))
}

// mostPasses is the number of passes over a small set.
const mostPasses = 100

// passesFor returns the default number of passes over n rows; share is as in [defaultPasses].
func (t *training) passesFor(n, share int64) int {
	passes := defaultPasses(n, share)
	const mostSteps = 10_000_000
	if need := t.alg.adaptive.positives; need > 0 && t.config.Steps.perWeight() {
		byPositives := (need + t.classes.Positives - 1) / t.classes.Positives
		passes = max(passes, int(min(byPositives, mostSteps/n, mostPasses/share)))
	}
	return passes
}

const (
	// minHoldoutPositives is the number of positives that a held-out part should have.
	minHoldoutPositives = 20
	// maxHoldoutRows bounds the memory for the scores of the held-out part, and maxHoldoutCopies
	// that for its rows, which the learners of several labels are chosen on.
	maxHoldoutRows   = 1_000_000
	maxHoldoutCopies = 100_000
	defaultHoldout   = 0.1
)

// tunedScales are the step scales that TuneSteps tries.
var tunedScales = []float64{0.1, 0.3, 1, 3}

// stepScales returns the step scales to try: the grid of TuneSteps, or with adaptive steps and
// held-out data those of the algorithm.
func (t *training) stepScales() []float64 {
	switch {
	case t.opt.TuneSteps && t.alg.online:
		return tunedScales
	case t.alg.adaptive.scales != nil && t.config.Steps == StepsAdaptive && t.config.Step == 0 && t.valid != nil:
		return t.alg.adaptive.scales
	}
	return []float64{1}
}

// Fit trains a linear classifier on data with the algorithm and for the measure of the options. It
// holds a part of the rows out if the algorithm chooses models or thresholds on it, or if the
// options ask for one. It reads the data in blocks, several times, and holds O(C·d) numbers in
// memory, and of the held-out part the scores (Binary, a million rows) or the rows (100,000), more
// only if the options ask for more. The same data, options and seed give the same result, bit for
// bit.
//
// Errors: usage for options out of range or a measure of the wrong family, bad_input for data that
// leave nothing to learn, such as one class only, diverged if the step scale is far too large, and
// ctx's error if ctx ends.
func Fit(ctx context.Context, data Data, opt Options) (*Result, error) {
	r, err := opt.resolveKept(data.Task)
	if err != nil {
		return nil, err
	}
	searches, why := opt.searches(data)
	if searches {
		if data, err = data.withWeight(ctx); err != nil {
			return nil, err
		}
		if searches, why = opt.searches(data); searches {
			return fitAuto(ctx, data, opt)
		}
	}
	out, err := fitNamed(ctx, data, opt, r)
	if err == nil && why != "" {
		out.Warnings = append(out.Warnings, fmt.Sprintf("%s compared nothing and trained by %s: %s", Auto,
			out.Algorithm, why))
	}
	return out, err
}

// fitNamed is [Fit] by the algorithm of resolved options.
func fitNamed(ctx context.Context, data Data, opt Options, r resolved) (*Result, error) {
	folds, err := r.foldsFor(data)
	if err != nil {
		return nil, err
	}
	if folds > 1 {
		return crossFit(ctx, data, r, folds)
	}
	if r.crossTunes(data) {
		return crossTuned(ctx, data, r)
	}
	t, err := runTraining(ctx, data, r)
	if err != nil {
		return nil, err
	}
	out := t.finished(1)
	out.Calibration, err = t.calibrated(sourceHeldOut)
	if out.Calibration == nil && err == nil && r.Calibration.asked() {
		out.Calibration, err = crossCalibrated(ctx, data, opt, out.Models)
	}
	return out, err
}

// runTraining runs a training that proposes at least one model.
func runTraining(ctx context.Context, data Data, opt resolved) (*training, error) {
	t, err := newTraining(ctx, data, opt)
	if err != nil {
		return nil, err
	}
	if err := t.run(); err != nil {
		return nil, err
	}
	if t.best < 0 {
		return nil, fmt.Errorf("classify: algorithm %s proposed no model", opt.alg.Name)
	}
	return t, nil
}

// run trains with each of the step scales.
func (t *training) run() error {
	base := t.config.StepScale
	for _, scale := range t.stepScales() {
		t.config.StepScale = scale * base
		t.result.StepScales = append(t.result.StepScales, t.config.StepScale)
		t.startRun()
		if err := t.alg.run(t); err != nil {
			return err
		}
	}
	return nil
}

// finished returns the result with the best candidate.
func (t *training) finished(folds int) *Result {
	r := &t.result
	r.Models, r.Chosen, r.Steps, r.Folds, r.holdout = t.models, t.best, t.steps, folds, t.valid
	r.History = t.history
	r.StepScale = r.History[t.best].StepScale
	if folds > 1 {
		r.holdout = nil // every example has been held out by one of the folds
	}
	if t.alg.online {
		r.Schedule = t.config.Steps
	}
	if t.data.Task == Binary {
		r.Models[0].Threshold = r.History[t.best].Threshold
	}
	return r
}
