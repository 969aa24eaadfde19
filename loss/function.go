package loss

import (
	"math"
	"strconv"
	"strings"

	"github.com/noregret/noregret"
)

// Function is a convex function f on ℝ^d, or on a convex subset: the loss of one round. Implement
// it to play with your own losses. Methods trust their arguments (length d, finite) and do not
// allocate.
type Function interface {
	// Dim is d.
	Dim() int
	// Value is f(x), +Inf outside its domain.
	Value(x []float64) float64
	// Subgradient writes a subgradient of f at x to dst: always the same one, also at a kink.
	Subgradient(dst, x []float64)
}

// Curvature holds constants of a [Function] in the Euclidean norm. All functions of this package
// implement it.
type Curvature interface {
	// Lipschitz is an L, as small as possible, with ‖g‖₂ ≤ L for the subgradients g at points of
	// norm at most radius ≥ 0, which may be +Inf.
	Lipschitz(radius float64) float64
	// Smoothness is an M, as small as possible, for which the gradient is M-Lipschitz on ℝ^d; +Inf
	// if there is none.
	Smoothness() float64
	// StrongConvexity is a μ ≥ 0, as large as possible, with f(y) ≥ f(x) + ⟨g, y−x⟩ + (μ/2)‖y−x‖².
	StrongConvexity() float64
}

// Scalar is a loss φ(p, y) of a prediction p for a label y, convex in p. Implementations are values
// without state: safe for concurrent use, O(1), and with the same bits on every machine.
type Scalar interface {
	// Name is the loss's name as [ParseScalar] reads it.
	Name() string
	// CheckLabel returns an error for a label outside the loss's domain.
	CheckLabel(y float64) error
	// Value is φ(p, y).
	Value(p, y float64) float64
	// Derivative is a subderivative in p; at a kink the one the type states.
	Derivative(p, y float64) float64
	// Lipschitz is the least L with |φ'(p, y)| ≤ L for |p| ≤ radius, which may be +Inf.
	Lipschitz(radius, y float64) float64
	// Smoothness is the largest second derivative in p, +Inf if φ has a kink.
	Smoothness() float64
	// StrongConvexity is the smallest second derivative in p.
	StrongConvexity() float64
	// Conjugate is φ*(s, y) = sup_p s·p − φ(p, y), +Inf where that is infinite.
	Conjugate(s, y float64) float64
}

// Squared is φ = ½(p−y)². It is 1-smooth and 1-strongly convex. φ* = s·y + s²/2.
type Squared struct{}

// Absolute is φ = |p−y|, with derivative 0 at the kink. φ* = s·y for |s| ≤ 1.
type Absolute struct{}

// HingeLoss is φ = max(1−y·p, 0) for y = ±1, with derivative 0 at the kink. φ* = s·y for s·y ∈ [−1,
// 0]. It is 1 − the [Hinge] reward.
type HingeLoss struct{}

// SquaredHingeLoss is φ = max(1−y·p, 0)² for y = ±1, 2-smooth. φ* = s·y + s²/4 for s·y ≤ 0. It is 1
// − the [SquaredHinge] reward.
type SquaredHingeLoss struct{}

// LogisticLoss is φ = ln(1 + exp(−y·p)) for y = ±1, 1-Lipschitz and ¼-smooth. With q = −s·y, φ* =
// q·ln q + (1−q)·ln(1−q) for q ∈ [0, 1]. It is ln 2·(1 − the [Logistic] reward).
type LogisticLoss struct{}

// Huber is φ = ½(p−y)² for |p−y| ≤ Delta, Delta·(|p−y| − Delta/2) beyond: Delta-Lipschitz and
// 1-smooth. φ* = s·y + s²/2 for |s| ≤ Delta.
type Huber struct {
	// Delta is where the parabola ends, above 0.
	Delta float64
}

// Quantile is the pinball loss φ = max(Tau·(y−p), (Tau−1)·(y−p)), minimized in expectation by the
// Tau-quantile of y, with derivative 0 at the kink. φ* = s·y for s ∈ [−Tau, 1−Tau].
type Quantile struct {
	// Tau is the quantile, in (0, 1).
	Tau float64
}

// LogLoss is φ = −y·ln p − (1−y)·ln(1−p) for a probability p ∈ [0, 1] and y ∈ {0, 1}; +Inf outside,
// and for p = 1 − y. It is 1-exp-concave, and 1-strongly convex. For y
// = 1, φ* = −1 − ln(−s) for s ≤ −1 and s above; for y = 0, φ* = s − 1 − ln s for s ≥ 1 and 0 below.
type LogLoss struct{}

// ParseScalar returns the loss of a name: squared, absolute, hinge, squared-hinge, logistic, log,
// huber:DELTA or quantile:TAU.
func ParseScalar(name string) (Scalar, error) {
	for _, s := range []Scalar{Squared{}, Absolute{}, HingeLoss{}, SquaredHingeLoss{}, LogisticLoss{}, LogLoss{}} {
		if s.Name() == name {
			return s, nil
		}
	}
	kind, arg, _ := strings.Cut(name, ":")
	if v, err := strconv.ParseFloat(arg, 64); err == nil && !strings.ContainsAny(arg, "_xX") {
		switch {
		case kind == "huber" && v > 0 && !math.IsInf(v, 1):
			return Huber{Delta: v}, nil
		case kind == "quantile" && v > 0 && v < 1:
			return Quantile{Tau: v}, nil
		}
	}
	return nil, noregret.Errorf(noregret.Usage, "loss",
		"%q: want squared, absolute, hinge, squared-hinge, logistic, log, "+
			"huber:DELTA with DELTA > 0 or quantile:TAU with TAU in (0, 1)", name)
}

func anyLabel(y float64) error {
	if y-y != 0 {
		return noregret.BadInputf("label", "%v: want a finite number", y)
	}
	return nil
}

func signLabel(y float64) error {
	if y != 1 && y != -1 {
		return noregret.BadInputf("label", "%v: want 1 or -1", y)
	}
	return nil
}
