package classify

import (
	"math"
	"slices"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/dataset"
	"github.com/noregret/noregret/dp"
	"github.com/noregret/noregret/private"
)

// PrivateOptions declare a differentially private training. Nothing in it may be chosen by looking
// at the data, the names of labels and features included: everything here is public. A 0 stands for
// the default that the comment of the field gives. The zero value is refused: Epsilon, Horizon,
// Schema and the labels are required.
type PrivateOptions struct {
	// Epsilon and Delta are what the whole training may cost, all released models together. Delta 0
	// needs the mechanism DP-POFW with pure accounting.
	Epsilon, Delta float64
	// Horizon is the largest number of records, 1 to 2^40. Batch is the number of records per step;
	// 1 by default.
	Horizon int64
	Batch   int
	// Schema is the feature space. It must have a feature or more.
	Schema *dataset.Schema
	// Ranges, if not nil, has a range for each feature, which is moved to [−1, 1] before training.
	Ranges []PrivateRange
	// Negative and Positive name the two labels. A record with another label, or without one, is a
	// null record.
	Negative, Positive string
	// PositiveWeight is the weight of positive records beside the weight 1 of negative ones, above
	// 0; 1 by default.
	PositiveWeight float64
	// Loss is "logistic" or "squared", of the prediction for the labels −1 and 1; "" is logistic.
	Loss string
	// NoIntercept leaves the constant feature 1 out.
	NoIntercept bool
	// Norm is the p of the ball ‖θ‖_p ≤ Radius of the weights, 1 to +Inf; 2 by default.
	Norm float64
	// Features is the bound X: a record x, its constant feature included, is scaled down to ‖x‖_q ≤
	// X, for 1/p + 1/q = 1; 1 by default.
	Features float64
	// Radius is R. The default is 10/X for the logistic loss and 2/X for the squared one.
	Radius float64
	// Clip is the bound C on the norm ‖·‖_q of an increment, for 1/p + 1/q = 1. DP-POFW clips to
	// it, in the maximum norm; its noise is proportional to it. The default is the largest such
	// norm of the gradient of a record at θ = 0: X/2 for the logistic loss and 2X for the squared
	// one.
	Clip float64
	// ClipL2 is the bound on the Euclidean norm of an increment, to which DP-TOFW clips; its noise
	// is proportional to it. The default is the bound that follows from Clip, so that it changes no
	// increment within Clip: d^(1/2−1/q)·C for q > 2, and C otherwise.
	ClipL2 float64
	// StepScale multiplies the step sizes 1/(t+1); 1 by default.
	StepScale float64
	// Noise is the mechanism: "tree", "honaker" and "square-root" are the noises of DP-TOFW,
	// "exponential" and "laplace" those of DP-POFW, which needs Norm 1. "" or "auto" is the best of
	// a plan that looks at public values only; it leaves the square-root noise out where that would
	// take more than 10^10 operations or a gigabyte.
	Noise string
	// Accounting is that of the account that pays. 0 is dp.GDP for DP-TOFW, dp.ZCDP for DP-POFW,
	// and dp.Pure for Delta 0.
	Accounting dp.Accounting
	// Random changes the source of randomness, for tests only: see
	// [dp.WithInsecureDeterministicNoiseForTesting].
	Random []dp.Option
}

// PrivateRange is the declared range of a feature. The values Low to High are moved to [−1, 1], and
// values outside are clamped. The zero PrivateRange leaves the feature as it is.
type PrivateRange struct{ Low, High float64 }

func (r PrivateRange) none() bool { return r == PrivateRange{} }

// apply moves a value to [−1, 1].
func (r PrivateRange) apply(v float64) float64 {
	if r.none() {
		return v
	}
	center, inverse := r.affine()
	return min(1, max(-1, float64((v-center)*inverse)))
}

// affine returns the center of the range and one over half its length.
func (r PrivateRange) affine() (center, inverse float64) {
	if r.none() {
		return 0, 1
	}
	return float64(r.Low/2) + float64(r.High/2), 1 / (float64(r.High/2) - float64(r.Low/2))
}

// The names of the losses.
const (
	privateLogistic = "logistic"
	privateSquared  = "squared"
)

// privateNoises are the names of the noises, without auto.
var privateNoises = []string{"tree", "honaker", "square-root", "exponential", "laplace"}

// The limits of the square-root noise when the noise is chosen by a plan: its operations, and the
// numbers that it keeps.
const (
	mostSquareRootWork    = 1e10
	mostSquareRootNumbers = 1 << 26
)

// EnsureDefaults replaces each 0 that stands for a default by its value.
func (o PrivateOptions) EnsureDefaults() PrivateOptions {
	set := func(v *float64, standard float64) {
		if *v == 0 {
			*v = standard
		}
	}
	if o.Batch == 0 {
		o.Batch = 1
	}
	if o.Loss == "" {
		o.Loss = privateLogistic
	}
	if o.Noise == "" {
		o.Noise = "auto"
	}
	set(&o.PositiveWeight, 1)
	set(&o.Norm, 2)
	set(&o.Features, 1)
	set(&o.StepScale, 1)
	radius := 10.0
	if o.Loss == privateSquared {
		radius = 2
	}
	set(&o.Radius, radius/o.Features)
	return o
}

// check refuses options that are out of range; package private checks the rest. The place of an
// error is the name of the command's flag without its dashes.
func (o PrivateOptions) check() error {
	finite := func(v float64) bool { return v > 0 && !math.IsInf(v, 1) }
	for _, c := range []struct {
		place string
		value any
		ok    bool
		want  string
	}{
		{"epsilon", o.Epsilon, finite(o.Epsilon), wantPositive},
		{"delta", o.Delta, o.Delta >= 0 && o.Delta < 1, wantShare},
		{"horizon", o.Horizon, o.Horizon >= 1 && o.Horizon <= dp.MaxHorizon, "a number of records from 1 to 2^40"},
		{"batch", o.Batch, o.Batch >= 1 && int64(o.Batch) <= o.Horizon, "1 to the horizon"},
		{"positive-weight", o.PositiveWeight, finite(o.PositiveWeight), wantPositive},
		{"norm", o.Norm, o.Norm >= 1, "a number from 1 on, or inf"},
		{"feature-bound", o.Features, finite(o.Features), wantPositive},
		{"radius", o.Radius, finite(o.Radius), wantPositive},
		{"clip", o.Clip, o.Clip == 0 || finite(o.Clip), wantPositive},
		{"clip-l2", o.ClipL2, o.ClipL2 == 0 || finite(o.ClipL2), wantPositive},
		{"step-scale", o.StepScale, finite(o.StepScale), wantPositive},
	} {
		if !c.ok {
			return noregret.Errorf(noregret.Usage, c.place, "%v, want %s", c.value, c.want)
		}
	}
	if o.Loss != privateLogistic && o.Loss != privateSquared {
		return noregret.Errorf(noregret.Usage, "loss", "%q, want logistic or squared", o.Loss)
	}
	if o.Noise != "auto" && !slices.Contains(privateNoises, o.Noise) {
		return noregret.Errorf(noregret.Usage, "noise", "%q, want auto or one of %s", o.Noise, listOf(privateNoises))
	}
	if o.Negative == o.Positive || o.Negative == "" || o.Positive == "" {
		return noregret.Errorf(noregret.Usage, "labels", "%q and %q, want the names of two labels", o.Negative,
			o.Positive)
	}
	if err := checkSchema(o.Schema); err != nil {
		return err
	}
	if o.Schema.Dim < 1 {
		return noregret.Errorf(noregret.Usage, "dim", "the declared space has no features, want 1 or more")
	}
	return o.checkRanges()
}

func (o PrivateOptions) checkRanges() error {
	if o.Ranges != nil && len(o.Ranges) != o.Schema.Dim {
		return noregret.Errorf(noregret.Usage, "columns", "%d ranges for %d features, want one for each", len(o.Ranges),
			o.Schema.Dim)
	}
	for i, r := range o.Ranges {
		center, inverse := r.affine()
		// The largest weight and the largest part of the intercept.
		fits := inverse*max(1, math.Abs(center))*o.Radius*float64(len(o.Ranges)) < math.MaxFloat64
		if !r.none() && (!(r.Low < r.High) || !(inverse > 0) || !fits) {
			return noregret.Errorf(noregret.Usage, "columns", "the range of feature %d is %v to %v, want two finite "+
				"numbers that ascend and are not too close", i, r.Low, r.High)
		}
	}
	return nil
}

// weighted is a loss whose records have a weight by the sign of their label, at most 1.
type weighted struct {
	private.Loss
	name               string
	negative, positive float64
}

func (w weighted) weight(y float64) float64 {
	if y > 0 {
		return w.positive
	}
	return w.negative
}

// Name implements [private.Loss].
func (w weighted) Name() string { return w.name }

// Value implements [private.Loss].
func (w weighted) Value(z, y float64) float64 { return w.weight(y) * w.Loss.Value(z, y) }

// Slope implements [private.Loss].
func (w weighted) Slope(z, y float64) float64 { return w.weight(y) * w.Loss.Slope(z, y) }

// loss returns the loss with the weights of the classes, the larger of which is 1.
func (o PrivateOptions) loss() private.Loss {
	inner := private.Logistic()
	if o.Loss == privateSquared {
		inner = private.Squared()
	}
	if o.PositiveWeight == 1 {
		return inner
	}
	w := weighted{Loss: inner, negative: 1 / max(1, o.PositiveWeight), positive: min(1, o.PositiveWeight)}
	w.name = inner.Name() + ", positive records weigh " + formatNumber(o.PositiveWeight)
	return w
}

// problem is what is minimized, without the clip.
func (o PrivateOptions) problem() (private.Problem, error) {
	dim := o.Schema.Dim
	if !o.NoIntercept {
		dim++
	}
	ball, err := private.NewBall(dim, o.Norm, o.Radius)
	if err != nil {
		return private.Problem{}, err
	}
	p := private.NewProblem(ball, o.loss(), o.Features, 1, o.Horizon)
	p.Batch, p.StepScale = o.Batch, o.StepScale
	return p, nil
}

// choose returns the row of the plan that the options ask for.
func (o PrivateOptions) choose(p private.Problem) (private.PlanRow, error) {
	request := private.PlanRequest{
		Domain: p.Domain, Horizon: o.Horizon, Batch: o.Batch, Protection: dp.PerRecord(), Epsilon: o.Epsilon,
		Delta: o.Delta, Clip: o.Clip, ClipL2: o.ClipL2,
	}
	if o.Clip == 0 {
		slope := math.Abs(p.Loss.Slope(0, 1))
		if o.PositiveWeight < 1 {
			slope = math.Abs(p.Loss.Slope(0, -1))
		}
		request.Clip = float64(slope * o.Features)
	}
	plan, err := private.MakePlan(request)
	if err != nil {
		return private.PlanRow{}, err
	}
	best := -1
	for i := range plan.Rows {
		r := &plan.Rows[i]
		if o.allows(r) && (best < 0 || r.Excess < plan.Rows[best].Excess) {
			best = i
		}
	}
	if best < 0 {
		return private.PlanRow{}, noregret.Errorf(noregret.Usage, "noise",
			"%s is not possible with norm %g, delta %g, %d records and %s accounting: exponential and laplace need "+
				"norm 1 "+
				"and no GDP accounting, the others a delta above "+
				"0", o.Noise, o.Norm, o.Delta, o.Horizon, o.accountingName())
	}
	return plan.Rows[best], nil
}

func (o PrivateOptions) accountingName() string {
	if o.Accounting == 0 {
		return "any"
	}
	return o.Accounting.String()
}

// allows reports whether a row of the plan is one that the options ask for.
func (o PrivateOptions) allows(r *private.PlanRow) bool {
	stream := r.Mechanism == "tofw"
	switch o.Accounting {
	case dp.GDP:
		if !stream {
			return false
		}
	case dp.Pure:
		if stream || o.Delta != 0 {
			return false
		}
	case dp.ZCDP:
		if o.Delta == 0 {
			return false
		}
	}
	if o.Noise != "auto" {
		return r.Noise == o.Noise
	}
	steps := float64((o.Horizon-1)/int64(o.Batch) + 1)
	numbers := steps * float64(o.Schema.Dim+1)
	large := numbers*steps/2 > mostSquareRootWork || numbers > mostSquareRootNumbers
	return r.Noise != "doubling" && !(r.Noise == dp.SquareRoot.String() && large)
}

// learner makes the learner of a row, which spends the budget in the accounting of the account.
func (o PrivateOptions) learner(p private.Problem, row private.PlanRow) (*private.Learner, error) {
	noise := row.Use
	noise.Options = o.Random
	p.Clip = row.Clip
	if o.Accounting == dp.ZCDP {
		var err error
		if noise.Budget, err = dp.ZCDPBudget(o.Epsilon, o.Delta); err != nil {
			return nil, err
		}
	}
	if row.Mechanism == "tofw" {
		return private.NewTOFW(p, noise)
	}
	return private.NewPOFW(p, noise)
}
