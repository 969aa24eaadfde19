package classify

import (
	"context"
	"fmt"
	"math"

	"github.com/noregret/noregret/classify/measure"
)

// ThresholdRule says whether the threshold is tuned on held-out data.
type ThresholdRule int

// The rules for the threshold.
const (
	// ThresholdDefault is the algorithm's own rule: see [Algorithm.TunesThreshold].
	ThresholdDefault ThresholdRule = iota
	// ThresholdZero leaves the threshold at 0.
	ThresholdZero
	// ThresholdTuned tunes it on held-out data.
	ThresholdTuned
)

// Options are the options of [Fit]. Measure is required; all else has defaults.
type Options struct {
	// Algorithm is the name of an algorithm as [Algorithms] lists them; "" or "auto" is SPADE for
	// concave measures and STAMP for pseudo-linear ones.
	Algorithm string
	// Measure is the measure to maximize.
	Measure measure.Measure
	// Passes is the number of passes over the data, for each step scale that is tried; 0 is as many
	// as make half a million steps, at most 100, and at least 10 while these make at most five
	// million steps; for STAMP with adaptive steps also as many as show it 30,000 positives, while
	// these make at most ten million steps. A model of one fold of several makes half of that half
	// million and those 100. Batch algorithms take it as no more than a hint.
	Passes int
	// Seed determines the order of the examples and the held-out part.
	Seed uint64
	// Holdout is the share of the examples held out to choose the model and its threshold, in (0,
	// 1); 0 is the algorithm's default: 0.1 where it needs one, else none.
	Holdout float64
	// Valid, if not nil, is held-out data given apart; then nothing is held out of the training
	// data.
	Valid *Data
	// NoHoldout holds nothing out, whatever the algorithm's default.
	NoHoldout bool
	// Folds, when at least 2, is the number of folds of a cross-fitting in the place of the
	// held-out part: one model is trained on all folds but one, for each of them; the mean of these
	// models is the result, and what is chosen (candidate, step scale, threshold) is what is best
	// on the scores that every example gets from the model that has not seen it. All examples
	// train, and all judge. 1 is one held-out part. 0 is 5 for STAMP with adaptive steps and a
	// tuned threshold when there are fewer than 2,000 positives, at most half a million examples
	// and 2¹⁷ features, and nothing else is said on what to hold out; else 1. With few positives
	// the noise of a small held-out part is what a model loses most by. Folds are trained in
	// parallel; the result is the same for any number of cores.
	Folds int
	// Threshold says whether the threshold is tuned.
	Threshold ThresholdRule
	// TuneSteps chooses the step scale among 0.1, 0.3, 1 and 3 on held-out data. Without it STAMP
	// with adaptive steps chooses between 1 and 3.
	TuneSteps bool
	// Config holds the options of the online learner; its Steps are those of [DefaultSteps], and
	// its Dim, Positives, Scaling and MeanSquare are found from the data when they are zero.
	Config Config
	// LevelPositives is STAMP's ([STAMPConfig.LevelPositives]); 0 means 100, -1 the paper's stages
	// of equal length.
	LevelPositives int
	// DualScale multiplies SPADE's dual step; 0 means 1.
	DualScale float64
	// Unscaled leaves the features as they are.
	Unscaled bool
	// PriorPositives is the share of positives in the population, when the data are a subsample
	// with another share: measures that depend on it are trained for, and models and thresholds
	// chosen by, what they would be in the population.
	PriorPositives float64
	// AllEpochs makes all of STAMP's epochs candidates, as the paper's protocol has it. By default,
	// with a tuned threshold, only those are whose model saw more than a sixteenth of the examples:
	// the direction of the early ones is no better, and among many candidates the noise of a small
	// held-out part decides.
	AllEpochs bool
	// FirstEpoch and Growth are STAMP's; 0 are its defaults.
	FirstEpoch int
	Growth     float64
	// AllowDegenerate lets measures with a degenerate maximiser be objectives.
	AllowDegenerate bool
	// Patience ends an algorithm that is judged after each pass when the held-out measure has not
	// risen for this many; 0 means 5.
	Patience int
	// Progress, if not nil, is called now and then, one call at a time, before Fit returns; not
	// always from the calling goroutine.
	Progress func(Progress)
}

// Progress says how far a [Fit] has come.
type Progress struct {
	Algorithm string
	Pass      int     // from 1
	Passes    int     // 0 when unknown
	Examples  int64   // steps taken in all
	Total     int64   // steps to come in all, -1 when unknown
	Measure   string  // name of the measure
	Value     float64 // progressive or held-out, NaN when unknown
}

// Entry is one line of a training history: a candidate model and what it was worth.
type Entry struct {
	// Candidate says which model it is: "pass 3", "epoch 5", "level 0.35", "iteration 41".
	Candidate string `json:"candidate"`
	// Examples is the number of steps taken when it was made.
	Examples int64 `json:"examples"`
	// Progressive is the measure of the predictions made before each step of the pass; null where
	// there is none.
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

// Result is what [Fit] found.
type Result struct {
	// Model is the chosen classifier, on raw features.
	Model Linear
	// Algorithm is the name of the algorithm.
	Algorithm string
	// Chosen is the place in History of the model.
	Chosen int
	// History lists the candidates in the order in which they were made.
	History []Entry
	// Folds is the number of folds; 1 without cross-fitting.
	Folds int
	// Train and Holdout are the sizes of the classes in the two parts; with folds Train is all
	// data.
	Train, Holdout Classes
	// Scaling is the standardisation that was learned.
	Scaling *Scaling
	// Passes is the number of passes over the training part, of all step scales and folds together;
	// those for statistics are not counted.
	Passes int
	// Schedule is that of the step sizes, StepsDefault where there are none; StepScale is the step
	// scale of the chosen model, StepScales those tried.
	Schedule   Steps
	StepScale  float64
	StepScales []float64
	// Steps is the number of examples visited in these passes.
	Steps int64
	// Warnings are sentences that the user should see.
	Warnings []string

	holdout *Data
}

// defaultPasses is the number of passes over n rows when none is given: 100 for a small set, as
// many as make half a million steps for a larger one, then 10 as long as these are at most five
// million steps, and 1 for a very large one. share divides the first two numbers.
func defaultPasses(n, share int64) int {
	const steps, usual, mostSteps = 500_000, 10, 5_000_000
	byLeast := (steps/share + n - 1) / n
	return int(max(1, min(mostPasses/share, byLeast), min(usual, mostSteps/n)))
}

// mostPasses is the number of passes over a small set.
const mostPasses = 100

// passesFor is the number of passes for a task when none is given; share is that of
// [defaultPasses].
func (t *task) passesFor(share int64) int {
	n := t.classes.Rows()
	passes := defaultPasses(n, share)
	const enough, mostSteps = 30_000, 10_000_000
	if t.alg.Name == "stamp" && t.config.Steps == StepsAdaptive {
		byPositives := (enough + t.classes.Positives - 1) / t.classes.Positives
		passes = max(passes, int(min(byPositives, mostSteps/n, mostPasses/share)))
	}
	return passes
}

const (
	// minHoldoutPositives is how many positives a held-out part should have.
	minHoldoutPositives = 20
	// maxHoldoutRows bounds the memory for the scores of the held-out part.
	maxHoldoutRows = 1_000_000
	defaultHoldout = 0.1
)

// stepScales are the step scales to try: the grid of TuneSteps, or two for a STAMP with adaptive
// steps and held-out data, since data that are nearly separable want longer steps than others.
func (t *task) stepScales() []float64 {
	switch {
	case t.opt.TuneSteps && t.alg.online:
		return []float64{0.1, 0.3, 1, 3}
	case t.alg.Name == "stamp" && t.config.Steps == StepsAdaptive && t.config.Step == 0 && t.valid != nil:
		return []float64{1, 3}
	}
	return []float64{1}
}

// Fit trains a linear classifier on data with the algorithm and for the measure of the options. It
// reads the data in blocks, several times, and holds O(d) numbers and the scores of the held-out
// part (of a million examples at most, unless the options ask for more) in memory. The same data,
// options and seed give the same result, bit for bit.
//
// Errors: usage for options out of range or a measure of the wrong family, bad_input for data with
// one class only, diverged when the step scale was far too large, and ctx's error when it ends.
func Fit(ctx context.Context, data Data, opt Options) (*Result, error) {
	alg, err := findAlgorithm(opt.Algorithm, opt.Measure, opt.AllowDegenerate)
	if err != nil {
		return nil, err
	}
	folds, err := foldsFor(data, alg, opt)
	if err != nil {
		return nil, err
	}
	if folds > 1 {
		return crossFit(ctx, data, alg, opt, folds)
	}
	t, err := newTask(ctx, data, alg, opt)
	if err != nil {
		return nil, err
	}
	if err := t.run(); err != nil {
		return nil, err
	}
	if t.best < 0 {
		return nil, fmt.Errorf("classify: algorithm %s proposed no model", alg.Name)
	}
	return t.finished(1), nil
}

// run trains with each of the step scales.
func (t *task) run() error {
	base := t.config.StepScale
	for _, scale := range t.stepScales() {
		t.config.StepScale = scale * base
		t.result.StepScales = append(t.result.StepScales, t.config.StepScale)
		t.stale, t.runBest = 0, math.Inf(-1)
		if err := t.alg.run(t); err != nil {
			return err
		}
	}
	return nil
}

// finished is the result with the best candidate.
func (t *task) finished(folds int) *Result {
	r := &t.result
	r.Model, r.Chosen, r.Steps, r.Folds, r.holdout = t.model, t.best, t.steps, folds, t.valid
	r.StepScale = r.History[t.best].StepScale
	if folds > 1 {
		r.holdout = nil // every example has been held out by one of the folds
	}
	if t.alg.online {
		r.Schedule = t.config.Steps
	}
	r.Model.Threshold = r.History[t.best].Threshold
	return r
}
