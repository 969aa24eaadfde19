package classify

import (
	"math"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/loss"
)

// Example is one labelled row: a sparse feature vector, its label and its weight.
type Example struct {
	// Index holds the feature numbers, from 0, without repeats.
	Index []uint32
	// Value holds the features' values, finite.
	Value []float32
	// Positive is the label: +1 when true, -1 when false.
	Positive bool
	// Weight is ω ≥ 0, finite; an example of weight 0 is skipped entirely.
	Weight float64
}

// Averaging selects the iterates whose average is the model that a learner returns.
type Averaging int

// The ways of averaging.
const (
	// AverageAll averages all iterates, as the theorems require. It is the default.
	AverageAll Averaging = iota
	// AverageLastPass averages the iterates since the last call of NextPass.
	AverageLastPass
	// AverageNone returns the last iterate. It is much noisier.
	AverageNone
	// AverageLastHalf averages the iterates of the second half of a [Fit] (suffix averaging,
	// Rakhlin, Shamir and Sridharan 2012); an online learner, which does not know its end, averages
	// those since the last call of ResetAverage.
	AverageLastHalf
)

// Steps is a schedule of decreasing step sizes of an online learner.
type Steps int

// The schedules of steps.
const (
	// StepsDefault is StepsSqrt, as in the papers. In a [Fit] it depends on the algorithm: see
	// [DefaultSteps].
	StepsDefault Steps = iota
	// StepsSqrt is η_t = η₀/√t for all weights.
	StepsSqrt
	// StepsAdaptive is AdaGrad's, a schedule for every weight ([oco.LinearDescent.AdaptiveStep]):
	// rate·g_i/√(Σg_i²) with rate 0.3, in standardised units. For columns that are rare, or whose
	// values span powers of ten, one pass learns what takes StepsSqrt a hundred passes. It excludes
	// Radius and Lambda.
	StepsAdaptive
	// StepsBetting has no step size to choose: every weight is the bet of a coin-betting learner
	// ([oco.LinearDescent.BettingStep]) that begins with the wealth 1, in standardised units, and
	// later iterates weigh more in the average ([oco.LinearDescent.AccumulateRising]). The command
	// calls it "--rate auto". It excludes StepScale, Step, Radius and Lambda, and takes no tuning.
	StepsBetting
)

// perWeight reports whether every weight has steps of its own.
func (s Steps) perWeight() bool { return s == StepsAdaptive || s == StepsBetting }

// bettingWealth is the initial wealth of each weight's bettor with StepsBetting.
const bettingWealth = 1

// adaptiveRate is the default rate of StepsAdaptive.
const adaptiveRate = 0.3

// Config holds the options that all online learners share. The zero value is ready to use: a field
// that is 0 or nil is left out and takes the default that its comment gives.
type Config struct {
	// Dim fixes the number of features; an example with a larger index is refused. If left out the
	// number grows up to MaxDim.
	Dim int
	// MaxDim is the largest number of features that a learner without Dim grows to, so that a
	// single huge index cannot exhaust the memory; [dataset.DefaultMaxDim] if left out.
	MaxDim int
	// Reward is the training reward; nil is [loss.Hinge].
	Reward loss.Reward
	// Steps is the schedule of the step sizes.
	Steps Steps
	// StepScale > 0 multiplies the default step size; 1 if left out.
	StepScale float64
	// Step, when positive, replaces the default η₀ of the step sizes η_t = η₀/√t, or the rate of
	// adaptive ones.
	Step float64
	// Radius is the radius of the L₂ ball for the weights (in standardised units, without the
	// intercept); no ball if left out. If the ball is too small, the hinge is used in its linear
	// part only.
	Radius float64
	// Lambda is the strength of L₂ regularisation, ≥ 0. Use it or Radius, not both.
	Lambda float64
	// BiasFeature is x_b, the value of the constant feature whose weight is the intercept; 1 if
	// left out. NoIntercept does without.
	BiasFeature float64
	// NoIntercept leaves the intercept out.
	NoIntercept bool
	// Averaging selects the iterates that the returned model averages.
	Averaging Averaging
	// Positives is the known share p of positives in (0, 1). If left out it is estimated on the
	// stream; the current example is counted first, so that the estimate never divides by 0.
	Positives float64
	// PriorWeight k₀ ≥ 0 and PriorShare p₀ smooth the running estimate of p: p̂ = (n₊ + k₀p₀)/(n +
	// k₀). Without effect when Positives is known.
	PriorWeight, PriorShare float64
	// Decay in [0, 1) forgets: before each example the class counts are multiplied by 1 - Decay,
	// for streams whose class share drifts; class shares are then taken as at least 1e-6. It has no
	// effect if Positives is known.
	Decay float64
	// Window W ≥ 2 forgets: the average, the sums of squares of adaptive steps and, unless Decay is
	// given, the class counts discount the past by 1 − 1/W per step, the steps of StepsSqrt end
	// their fall at 1/√W, and STAMP's stages have at most W examples. 0 remembers everything. It
	// excludes StepsBetting.
	Window int
	// Scaling standardises the features; nil learns it from the first examples of the stream (see
	// [Config.BurnIn]). Use [Identity] for none.
	Scaling *Scaling
	// MeanSquare is the known mean of ‖x̂‖², the constant feature included; learned on the first
	// examples if left out.
	MeanSquare float64
	// MeanWeight is the known mean example weight; the running mean if left out.
	MeanWeight float64
	// BurnIn is the largest number of examples held back until the scales are frozen; 1000 if left
	// out. They are frozen as soon as there are at least a fifth of these and 5 of each class, and
	// the examples held back are then replayed.
	BurnIn int
	// MaxExampleWeight caps the factor by which one example's gradient is multiplied: (ω/ω̄)/q in
	// SPADE, (ω/ω̄)·k in SGD and STAMP with k the normalised weight of its class; no cap if left
	// out.
	MaxExampleWeight float64
}

// stepPhrases name the schedules of steps that exclude a ball and regularisation.
var stepPhrases = map[Steps]string{StepsAdaptive: "adaptive steps", StepsBetting: "coin betting"}

func usage(format string, args ...any) error {
	return noregret.Errorf(noregret.Usage, "", format, args...)
}

// withDefaults checks the options and fills in the defaults.
func (c Config) withDefaults() (Config, error) {
	o := Options{Config: c}.EnsureDefaults()
	if err := o.checkRanges(); err != nil {
		return c, err
	}
	c = o.Config
	if !c.Reward.Concave() {
		return c, usage("reward %s is not concave and cannot be trained on; use hinge or logistic", c.Reward.Name())
	}
	switch {
	case c.Steps >= StepsAdaptive && c.Radius > 0:
		return c, usage("%s and a ball of radius %v exclude each other", stepPhrases[c.Steps], c.Radius)
	case c.Steps >= StepsAdaptive && c.Lambda > 0:
		return c, usage("%s and regularisation of strength %v exclude each other", stepPhrases[c.Steps], c.Lambda)
	case c.Steps == StepsBetting && c.Step > 0:
		return c, usage("coin betting chooses the steps itself: it takes no absolute step of %v", c.Step)
	case c.Steps == StepsBetting && c.StepScale != 1:
		return c, usage("coin betting chooses the steps itself: it takes no step scale of %v", c.StepScale)
	case c.Steps == StepsBetting && c.Window > 0:
		return c, usage("coin betting remembers all bets: it takes no window of %d examples", c.Window)
	case c.Steps == StepsDefault:
		c.Steps = StepsSqrt
	}
	if c.Window > 0 && c.Decay == 0 {
		c.Decay = 1 / float64(c.Window)
	}
	if c.Scaling != nil {
		if err := c.Scaling.check(); err != nil {
			return c, err
		}
		if c.Dim > 0 && len(c.Scaling.Inverse) > c.Dim {
			return c, usage("scaling has %d features, the dimension is %d", len(c.Scaling.Inverse), c.Dim)
		}
	}
	if c.NoIntercept {
		c.BiasFeature = 0
	}
	if c.Radius == 0 {
		c.Radius = math.Inf(1)
	}
	return c, nil
}
