package drift

import (
	"math"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/convex"
	"github.com/noregret/noregret/forget"
	"github.com/noregret/noregret/oco"
)

// Descent returns a function for RestartedOptions.Make: projected gradient descent in a set with a
// schedule of step sizes. Its own first point is first, or the projection of the origin if that is
// nil.
func Descent(set convex.Set, first []float64, rate oco.Rate) func(start []float64) (oco.Learner, error) {
	return func(start []float64) (oco.Learner, error) {
		if start == nil {
			start = first
		}
		return oco.NewSubgradientDescent(set, start, rate)
	}
}

// GradientOptions are the parameters of [NewRestartedDescent] and [NewRetuned]. Begin with
// [DefaultGradientOptions].
type GradientOptions struct {
	// Budget has the horizon and the variation.
	Budget Budget
	// Set is a bounded set.
	Set convex.Set
	// First is the first point, nil for the projection of the origin.
	First []float64
	// Lipschitz G > 0 bounds the gradients: their expected squared norm is at most G².
	Lipschitz float64
	// Radius r > 0 is the radius of a ball that contains the set.
	Radius float64
	// Curvature H is the strong convexity of the costs, 0 if it is not known.
	Curvature float64
	// Mode is what a restart keeps.
	Mode Mode
}

// DefaultGradientOptions returns options for convex costs and restarts that keep nothing. Radius is
// half the diameter for boxes and Euclidean balls, and the diameter for other sets.
func DefaultGradientOptions(budget Budget, set convex.Set, lipschitz float64) GradientOptions {
	o := GradientOptions{Budget: budget, Set: set, Lipschitz: lipschitz}
	if set != nil {
		o.Radius = radiusOf(set)
	}
	return o
}

// radiusOf is the radius of a ball that contains the set, about any of its points: for boxes and
// Euclidean balls about the center.
func radiusOf(set convex.Set) float64 {
	r := set.Diameter()
	switch v := set.(type) {
	case *convex.Box:
		r /= 2
	case *convex.Ball:
		if v.Norm().P() == 2 {
			r /= 2
		}
	}
	if r == 0 {
		return 1 // a single point, for which any step will do
	}
	return r
}

func (o *GradientOptions) check() error {
	if o.Budget.rounds == 0 {
		return noregret.BadInputf("budget", "the zero Budget: want one made by NewBudget")
	}
	if !(o.Curvature >= 0) || math.IsInf(o.Curvature, 1) {
		return noregret.BadInputf("curvature", "%v: want a finite number, at least 0", o.Curvature)
	}
	if err := checkPositive("lipschitz", o.Lipschitz); err != nil {
		return err
	}
	if _, err := diameterOf(o.Set); err != nil {
		return err
	}
	return checkPositive("radius", o.Radius)
}

// NewRestartedDescent returns gradient descent with restarts, tuned by the budget. Without
// curvature it takes steps r/(G·√Δ) in batches of [ConvexGradient], and the expected regret against
// the minimizers of all costs is at most ⌈T/Δ⌉·2.5·r·G·√Δ + 2Δ·V, of order V^(1/3)·T^(2/3). With
// curvature H it takes steps 1/(H·k), k = 1, 2, ... in each batch, in batches of
// [StronglyConvexGradient], and the expected regret is at most ⌈T/Δ⌉·(G²/(2H))·(1+ln Δ) + 2Δ·V, of
// order √(V·T·ln T) (Besbes, Gur and Zeevi 2015, Theorems 3 and 4).
func NewRestartedDescent(o GradientOptions) (*Restarted, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	r, size := o.Radius, o.Budget.BatchSize(ConvexGradient)
	rate := oco.Constant(r / o.Lipschitz / math.Sqrt(float64(size)))
	// A batch of n < Δ rounds has the same step: (2r)²/(2η) + n·η·G²/2.
	static := func(n int) float64 {
		root := math.Sqrt(float64(size))
		return float64(r*o.Lipschitz) * (float64(2*root) + float64(float64(n)/(2*root)))
	}
	if o.Curvature > 0 {
		size = o.Budget.BatchSize(StronglyConvexGradient)
		rate = oco.StronglyConvex(o.Curvature)
		static = func(n int) float64 { return StronglyConvexBound(o.Curvature, o.Lipschitz, n) }
	}
	trigger, err := forget.Every(size)
	if err != nil {
		return nil, err
	}
	return NewRestarted(RestartedOptions{
		Make: Descent(o.Set, o.First, rate), Trigger: trigger, Mode: o.Mode, Set: o.Set, Static: static,
	})
}

// Retuned is gradient descent with one step size that fits the budget, [Budget.RetunedStep], and no
// restarts (Besbes, Gur and Zeevi 2015, Proposition 3). It is the simplest choice for gradients
// when the budget is believed.
//
// Guarantee (DynamicBound): min over Δ of ⌈T/Δ⌉·D²/(2η) + (η/2)·Σ‖g_t‖² + 2Δ·V for a set of
// diameter D; in expectation at most (4.5·r·G + 4)·V^(1/3)·T^(2/3) for the budget's V ≥ 1 and T.
// Everything else is that of the descent.
type Retuned struct {
	*oco.SubgradientDescent
	start    []float64
	step     float64
	diameter float64
}

// NewRetuned returns the learner. The options' curvature and mode are ignored.
func NewRetuned(o GradientOptions) (*Retuned, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	step, err := o.Budget.RetunedStep(o.Radius, o.Lipschitz)
	if err != nil {
		return nil, err
	}
	inner, err := oco.NewSubgradientDescent(o.Set, o.First, oco.Constant(step))
	if err != nil {
		return nil, err
	}
	start := append([]float64(nil), inner.Predict()...)
	return &Retuned{inner, start, step, min(o.Set.Diameter(), 2*o.Radius)}, nil
}

// Step is the step size η.
func (l *Retuned) Step() float64 { return l.step }

// DynamicBound implements [DynamicBounder].
func (l *Retuned) DynamicBound(variation float64) (float64, error) {
	if err := checkVariation(variation); err != nil {
		return 0, err
	}
	half, err := l.Bound(l.start) // (η/2)·Σ‖g_t‖²
	if err != nil || l.Rounds() == 0 {
		return 0, err
	}
	// n·D²/(2ηΔ) + 2ΔV is least at Δ = √(n·D²/(4ηV)); a batch more pays for rounding.
	n := float64(l.Rounds())
	a := float64(l.diameter*l.diameter) / float64(2*l.step)
	size := math.Ceil(min(math.Sqrt(float64(n*a)/float64(2*variation)), n))
	size = max(size, 1)
	return float64(math.Ceil(n/size)*a) + half + float64(2*size*variation), nil
}
