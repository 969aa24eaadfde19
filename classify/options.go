package classify

import (
	"github.com/noregret/noregret/classify/measure"
	"github.com/noregret/noregret/forget"
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

// Options are the options of [Fit]. Measure is required. The table of settings in settings.go says
// which algorithms have which options; Folds, PriorPositives, AllEpochs, Drift and Config.Window
// are for Binary data. A field that is nil, or 0 where its comment does not say what 0 means, is
// left out; [Options.EnsureDefaults] fills in the defaults that do not depend on the data. The zero
// value is refused: Measure is required.
type Options struct {
	// Algorithm is the name of an algorithm as [Algorithms] lists them, or [Auto], which chooses
	// features, learner and threshold on the data. "", and Auto where it does not choose, is the
	// [DefaultAlgorithm]: SPADE for concave measures, STAMP for pseudo-linear ones and logistic
	// regression for others, with a tuned threshold where rows are held out.
	Algorithm string
	// Measure is the measure to maximize: a [measure.Measure] for Binary data, else a
	// [measure.Multi].
	Measure measure.Objective
	// Passes is the number of passes over the data, at least 1, for each step scale that is tried;
	// nil is the default rule: as many passes as make half a million steps, at most 100, but at
	// least 10 if these make at most five million steps. STAMP with adaptive steps also makes as
	// many as show it 30,000 positives, if these make at most ten million steps. For a model of one
	// of several folds the half million and the 100 are halved. Batch algorithms take Passes as a
	// hint at most.
	Passes *int
	// Seed determines the order of the examples and the held-out part.
	Seed uint64
	// Holdout is the share of the examples held out to choose the model and its threshold, in [0,
	// 1); 0 holds nothing out. nil is the algorithm's default: 0.1 where it needs one, else none.
	Holdout *float64
	// Valid, if not nil, is separate held-out data of the same labels ([Data.Of]); then nothing is
	// held out of the training data.
	Valid *Data
	// Folds, if at least 2, is the number of folds of a cross-fitting that replaces the held-out
	// part. For each fold a model is trained on all other folds, and the mean of these models is
	// the result. Candidate, step scale and threshold are those that are best on the scores that
	// every example gets from the model that has not seen it, so all examples are used to train and
	// to evaluate. 1 is one held-out part. nil is 5 for STAMP with adaptive steps and a tuned
	// threshold when there are fewer than 2,000 positives, at most half a million examples and 2¹⁷
	// features, and no other option says what to hold out; else 1. With few positives most of the
	// loss of a model comes from the noise of a small held-out part. Folds are trained in parallel;
	// the result is the same for any number of cores.
	Folds *int
	// Threshold says whether the threshold is tuned. Those of several classes are tuned jointly; if
	// the algorithm chooses nothing else and no option says what to hold out, on the scores of
	// three more trainings, each without a third of the rows, and up to half a million rows. Data
	// of several labels have the algorithm's own rule.
	Threshold ThresholdRule
	// ClassWeights are the weights of the labels in the loss, for algorithms that minimize one and
	// do not weigh the labels themselves. With them [Auto] chooses among these algorithms, by the
	// unweighted measure; where it does not choose, it is logistic.
	ClassWeights LabelWeights
	// Calibration says how scores are mapped to probabilities: see [Calibration].
	Calibration CalibrationRule
	// TuneSteps chooses the step scale among 0.1, 0.3, 1 and 3 on held-out data. Without it STAMP
	// with adaptive steps chooses between 1 and 3.
	TuneSteps bool
	// Config holds the options of the online learner; its Steps are those of [DefaultSteps], and
	// its Dim, Positives, Scaling and MeanSquare are found from the data when they are zero.
	Config Config
	// Drift says how the learner keeps up with a stream that changes. Only [FitStream] and
	// [NewPrequential] take one: [Fit] shuffles its examples.
	Drift forget.Rule
	// LevelPositives is [STAMPConfig.LevelPositives] of STAMP; nil is 100, and 0 gives the paper's
	// stages of equal length.
	LevelPositives *int
	// DualScale > 0 multiplies SPADE's dual step; 1 if left out.
	DualScale float64
	// Unscaled leaves the features as they are.
	Unscaled bool
	// PriorPositives is the share of positives in the population, when the data are a subsample
	// with another share: measures that depend on it then take the values that they would have in
	// the population, in training and in the choice of model and threshold.
	PriorPositives float64
	// AllEpochs makes all of STAMP's epochs candidates, as in the paper's protocol. By default,
	// with a tuned threshold, only the epochs whose model saw more than a sixteenth of the examples
	// are candidates: the direction of earlier models is no better, and among many candidates the
	// noise of a small held-out part decides.
	AllEpochs bool
	// FirstEpoch and Growth are those of [STAMPConfig].
	FirstEpoch int
	Growth     float64
	// AllowDegenerate lets measures with a degenerate maximiser be objectives.
	AllowDegenerate bool
	// Patience is the number of passes without a rise of the held-out measure after which an
	// algorithm that is evaluated after each pass ends; 5 if left out.
	Patience int
	// Progress, if not nil, is called now and then, one call at a time, before Fit returns; not
	// always from the calling goroutine.
	Progress func(Progress)

	// most, unless it is 0, bounds the iterations of batch algorithms, which then end at a lower
	// precision.
	most int
}

// noHoldout reports whether nothing is to be held out.
func (o *Options) noHoldout() bool { return o.Holdout != nil && *o.Holdout == 0 }

// holdout returns the share to hold out, 0 where it is left open or nothing is held out.
func (o *Options) holdout() float64 {
	if o.Holdout == nil {
		return 0
	}
	return *o.Holdout
}
