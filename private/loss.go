package private

import (
	"math"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/dp"
	"github.com/noregret/noregret/internal/portable"
	"github.com/noregret/noregret/loss"
)

// Loss is the loss ψ(z, y) of a generalized linear model, a convex function of the prediction z =
// ⟨x, θ⟩. Implementations are pure functions: a loss that remembered records would carry them into
// later increments and break their privacy. Otherwise a wrong loss costs accuracy but no privacy: a
// learner treats a panic or a result that is not finite as a null record, and clips everything
// else.
type Loss interface {
	// Name names the loss with its parameters. It is part of learners' snapshots.
	Name() string
	// Value is ψ(z, y).
	Value(z, y float64) float64
	// Slope is ψ'(z, y), the derivative in z.
	Slope(z, y float64) float64
	// Bounds returns sup |ψ'| and sup |ψ''| over |z| ≤ radius and |y| ≤ label. The second is +Inf
	// for a loss with a kink.
	Bounds(radius, label float64) (slope, curvature float64)
}

// Squared returns ψ = (z − y)².
func Squared() Loss { return scalarLoss{loss.Squared{}, 2, "squared"} }

// HalfSquared returns ψ = ½(z − y)².
func HalfSquared() Loss { return scalarLoss{loss.Squared{}, 1, "half-squared"} }

// Huber returns [loss.Huber] with the given place where the parabola ends, above 0 and finite.
func Huber(delta float64) (Loss, error) { return FromScalar(loss.Huber{Delta: delta}) }

// FromScalar returns a loss of package loss that is defined for all real labels. For labels ±1 use
// [Logistic]. A loss with a kink, such as the quantile loss, is accepted by learners only together
// with an explicit clip bound.
func FromScalar(phi loss.Scalar) (Loss, error) {
	if phi == nil {
		return nil, noregret.BadInputf("loss", "nil: want a scalar loss")
	}
	if err := phi.CheckLabel(0.5); err != nil {
		return nil, noregret.BadInputf("loss", "%s: want a loss that is defined for all labels", phi.Name())
	}
	return scalarLoss{phi, 1, phi.Name()}, nil
}

// scalarLoss is weight·φ.
type scalarLoss struct {
	phi    loss.Scalar
	weight float64
	name   string
}

func (l scalarLoss) Name() string               { return l.name }
func (l scalarLoss) Value(z, y float64) float64 { return l.weight * l.phi.Value(z, y) }
func (l scalarLoss) Slope(z, y float64) float64 { return l.weight * l.phi.Derivative(z, y) }

// quadratic reports whether the slope is weight·(z − y).
func (l scalarLoss) quadratic() bool {
	_, ok := l.phi.(loss.Squared)
	return ok
}

func (l scalarLoss) Bounds(radius, label float64) (slope, curvature float64) {
	slope = max(l.phi.Lipschitz(radius, label), l.phi.Lipschitz(radius, -label))
	return l.weight * slope, l.weight * l.phi.Smoothness()
}

// Logistic returns ψ = ln(1 + e^(−y·z)) for labels ±1. Learners clamp labels to [−Y, Y]; for the
// labels in between the same formula holds. |ψ'| ≤ |y|/(1+e^(−|y·z|)) and ψ” ≤ y²/4.
func Logistic() Loss { return logisticLoss{} }

type logisticLoss struct{ loss.LogisticLoss }

func (l logisticLoss) Slope(z, y float64) float64 { return l.Derivative(z, y) }

func (logisticLoss) Bounds(radius, label float64) (slope, curvature float64) {
	return label / (1 + portable.Exp(-float64(radius*label))), float64(label*label) / 4
}

// Canonical is the loss ψ = A(z) − y·z of a generalized linear model with the canonical link: its
// mean is ζ = A'. Labels are clamped to [−Y, Y], without which no bound on the slope exists.
type Canonical struct {
	// Text names the model with its parameters.
	Text string
	// Cumulant is A, convex. Mean is ζ = A', which must be non-decreasing.
	Cumulant, Mean func(z float64) float64
	// MeanSlope returns sup ζ' over |z| ≤ radius.
	MeanSlope func(radius float64) float64
}

// Poisson returns the canonical loss e^z − y·z of counts.
func Poisson() Canonical {
	return Canonical{Text: "poisson", Cumulant: portable.Exp, Mean: portable.Exp, MeanSlope: portable.Exp}
}

// Name implements [Loss].
func (c Canonical) Name() string { return c.Text }

// Value implements [Loss].
func (c Canonical) Value(z, y float64) float64 { return c.Cumulant(z) - float64(y*z) }

// Slope implements [Loss].
func (c Canonical) Slope(z, y float64) float64 { return c.Mean(z) - y }

// Bounds implements [Loss]: ζ is monotone, so the extremes of ζ(z) − y are at the ends.
func (c Canonical) Bounds(radius, label float64) (slope, curvature float64) {
	return max(c.Mean(radius)+label, label-c.Mean(-radius)), c.MeanSlope(radius)
}

// check refuses a model without one of its functions.
func (c Canonical) check() error {
	if c.Cumulant == nil || c.Mean == nil || c.MeanSlope == nil || c.Text == "" {
		return noregret.BadInputf("loss", "a canonical loss without Text, Cumulant, Mean or MeanSlope")
	}
	return nil
}

// checkLoss returns the constants L and β of a loss for features of dual norm at most features,
// labels at most label and points of norm at most radius:
//
//	‖∇f‖_q ≤ L = X·sup|ψ'|,  ‖∇f(θ) − ∇f(θ')‖_q ≤ β·‖θ − θ'‖_p with β = X²·sup|ψ''|
//
// (Hölder's inequality, twice). β may be +Inf.
func checkLoss(l Loss, features, label, radius float64) (lipschitz, smoothness float64, err error) {
	if l == nil {
		return 0, 0, noregret.BadInputf("loss", "nil: want a loss")
	}
	if c, ok := l.(Canonical); ok {
		if err := c.check(); err != nil {
			return 0, 0, err
		}
	}
	defer func() {
		if fault := recover(); fault != nil {
			err = noregret.BadInputf("loss", "Bounds of %s panics: %v", l.Name(), fault)
		}
	}()
	slope, curvature := l.Bounds(radius*features, label)
	if !(slope >= 0) || math.IsInf(slope, 1) || !(curvature >= 0) {
		return 0, 0, noregret.BadInputf("loss", "%s has slope %v and curvature %v, want a finite slope: %w",
			l.Name(), slope, curvature, dp.ErrBound)
	}
	return features * slope, float64(features*features) * curvature, nil
}

// safeSlope is ψ'(z, y), NaN if the loss panics.
func safeSlope(l Loss, z, y float64) (slope float64) {
	defer func() {
		if recover() != nil {
			slope = math.NaN()
		}
	}()
	return l.Slope(z, y)
}
