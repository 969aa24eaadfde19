package oco

import (
	"math"
	"slices"

	"github.com/noregret/noregret/loss"
)

// Oracle writes a point x_t ∈ argmin_{x∈V} ψ_t(x) + Σ_{i<t} l_i(x) to dst, for round t = 1, 2, ... and the
// t−1 losses so far. It may use nothing else.
type Oracle func(dst []float64, t int, losses []loss.Function) error

// ExactFTRL is follow-the-regularized-leader on the losses themselves (Orabona 2019, Algorithm 7.1), and
// with ψ = 0 follow-the-leader. It keeps every loss and asks an oracle for the minimizer of their sum, so
// that a round costs what the oracle costs and memory is O(t). It takes losses only: Update takes a
// subgradient as a linear loss.
//
// Guarantee (Bound): for losses that are μ_t-strongly convex, UpdateLoss reads μ_t from their
// [loss.Curvature], and ψ = 0: ½Σ ‖g_t‖²/Σ_{i≤t} μ_i, with g_t a subgradient at x_t (Corollary 7.17); μ is
// not needed to run it. With regularizers the bound depends on ψ, which only the oracle knows: it is +Inf
// then.
type ExactFTRL struct {
	d           int
	regularized bool
	oracle      Oracle
	losses      []loss.Function
	point       []float64
	work        []float64
	mu          sum
	spent       sum
}

// NewExactFTRL plays the oracle's minimizers in ℝ^d. Regularized says whether the oracle's ψ_t is other than 0.
func NewExactFTRL(d int, regularized bool, oracle Oracle) (*ExactFTRL, error) {
	if d < 1 {
		return nil, badArgument("dimension", "%d: want at least 1", d)
	}
	if oracle == nil {
		return nil, badArgument("oracle", "nil: want a function")
	}
	l := &ExactFTRL{d: d, regularized: regularized, oracle: oracle, point: make([]float64, d), work: make([]float64, d)}
	if err := l.refresh(nil); err != nil {
		return nil, err
	}
	return l, nil
}

func (l *ExactFTRL) refresh(losses []loss.Function) error {
	if err := l.oracle(l.work, len(losses)+1, losses); err != nil {
		return err
	}
	if err := checkFinite("oracle", l.work, l.d); err != nil {
		return err
	}
	copy(l.point, l.work)
	return nil
}

// Dim implements [Learner].
func (l *ExactFTRL) Dim() int { return l.d }

// Rounds implements [Counter].
func (l *ExactFTRL) Rounds() int { return len(l.losses) }

// Predict implements [Learner].
func (l *ExactFTRL) Predict() []float64 { return l.point }

// Update implements [Learner], for a linear loss.
func (l *ExactFTRL) Update(g []float64) error {
	if err := checkFinite("gradient", g, l.d); err != nil {
		return err
	}
	f, err := loss.NewLinear(slices.Clone(g))
	if err != nil {
		return err
	}
	return l.UpdateLoss(f)
}

// UpdateLoss implements [LossLearner].
func (l *ExactFTRL) UpdateLoss(f loss.Function) error {
	if err := checkLoss(f, l.d); err != nil {
		return err
	}
	g := make([]float64, l.d)
	f.Subgradient(g, l.point)
	if err := checkFinite("gradient", g, l.d); err != nil {
		return err
	}
	losses := append(l.losses, f)
	if err := l.refresh(losses); err != nil {
		return err
	}
	l.losses = losses
	if c, ok := f.(loss.Curvature); ok {
		l.mu.add(c.StrongConvexity())
	}
	s, e := sumOfSquares(g, maxAbs(g))
	if s != 0 {
		l.spent.add(math.Ldexp(s/l.mu.value(), 2*e)) // +Inf as long as no loss is strongly convex
	}
	return nil
}

// Bound implements [Bounder].
func (l *ExactFTRL) Bound(u []float64) (float64, error) {
	if err := checkFinite("comparator", u, l.d); err != nil {
		return 0, err
	}
	if l.regularized || math.IsNaN(l.spent.value()) {
		return math.Inf(1), nil
	}
	return l.spent.value() / 2, nil
}
