package oco

import (
	"fmt"
	"math"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/convex"
	"github.com/noregret/noregret/internal/portable"
	"github.com/noregret/noregret/internal/vec"
)

// MagnitudeDirection learns the length and the direction of a point apart (Cutkosky and Orabona
// 2018; Orabona 2019, Algorithm 9.4): a learner on ℝ plays z_t, a learner on the unit ball of a
// norm plays w_t, and
//
//	x_t = z_t·w_t;   the direction gets g_t, the magnitude gets s_t = ⟨g_t, w_t⟩.
//
// Guarantee (Bound): Σ ⟨g_t, x_t − u⟩ is exactly the magnitude's regret at ‖u‖ plus ‖u‖ times the
// direction's regret at u/‖u‖ (Theorem 9.9), so the bound is that of the learners' bounds. With a
// parameter-free magnitude, the whole is parameter-free in that norm: see [NewEuclideanKT] and
// [NewL1KT].
//
// As |s_t| ≤ ‖g_t‖*, a magnitude that must know a Lipschitz constant gets that of the dual norm.
// Hints and features go to the direction as they are, and to the magnitude as their inner product
// with w_t. The strong convexity of the losses belongs to neither game, so that MagnitudeDirection
// is not [Curved]. A round costs those of the learners and O(d), or O(nnz).
type MagnitudeDirection struct {
	magnitude Learner
	direction Learner
	norm      convex.Norm
	point     []float64
	dense     []float64 // a sparse subgradient
	one       [1]float64
	rounds    int
	failed    error
}

// NewMagnitudeDirection plays with a learner of dimension 1 and one on the unit ball of the norm,
// both at their starts.
func NewMagnitudeDirection(magnitude, direction Learner, norm convex.Norm) (*MagnitudeDirection, error) {
	switch {
	case magnitude == nil || magnitude.Dim() != 1:
		return nil, noregret.BadInputf("magnitude", "want a learner of dimension 1")
	case direction == nil:
		return nil, noregret.BadInputf("direction", "nil: want a learner on the unit ball of the norm")
	case norm == nil:
		return nil, noregret.BadInputf("norm", "nil: want a norm")
	}
	d := direction.Dim()
	return &MagnitudeDirection{
		magnitude: magnitude, direction: direction, norm: norm, point: make([]float64, d), dense: make([]float64, d),
	}, nil
}

// NewEuclideanKT is [MagnitudeDirection] on ℝ^d with the Euclidean norm, for ‖g_t‖₂ ≤ lipschitz:
// [NewKT] and subgradient descent on the unit ball with the [Adaptive] rate of scale √2 (Orabona
// 2019, Example 9.11, where the rate is √2/(L·√t)). The regret is at most
//
//	‖u‖·L·√(T·ln(1 + 24T²‖u‖²/ε²)) + L·ε + 2√2·‖u‖·√(Σ‖g_t‖²).
func NewEuclideanKT(d int, lipschitz, epsilon float64) (*MagnitudeDirection, error) {
	b, err := NewKTBettor(epsilon)
	if err != nil {
		return nil, err
	}
	return NewEuclideanBetting(d, b, lipschitz)
}

// NewEuclideanBetting is [NewEuclideanKT] with another bettor before its first round: with a
// [NewtonBettor] the regret is of order ‖u‖·√(Σ‖g_t‖²·ln(T‖u‖/ε)) + ‖u‖·L·ln(T‖u‖/ε) + L·ε, which
// is far less if most subgradients are far shorter than L.
func NewEuclideanBetting(d int, b Bettor, lipschitz float64) (*MagnitudeDirection, error) {
	ball, err := convex.NewCenteredBall(d, 1)
	if err != nil {
		return nil, err
	}
	direction, err := NewSubgradientDescent(ball, nil, Adaptive(math.Sqrt2))
	if err != nil {
		return nil, err
	}
	magnitude, err := NewBetting(b, lipschitz)
	if err != nil {
		return nil, err
	}
	return NewMagnitudeDirection(magnitude, direction, convex.L2)
}

// NewLpKT is [MagnitudeDirection] on ℝ^d with the p-norm, 1 < p ≤ 2, for ‖g_t‖_q ≤ lipschitz, 1/p +
// 1/q = 1: [NewKT] and mirror descent with ½‖x‖_p² on the unit ball, with the [Adaptive] rate of
// scale √(2(p−1)) (Orabona 2019, Example 9.12, where the rate falls as 1/√t). The direction's
// regret is at most 2√2·√(Σ‖g_t‖_q²/(p−1)).
func NewLpKT(d int, p, lipschitz, epsilon float64) (*MagnitudeDirection, error) {
	direction, norm, err := lpDirection(d, p, Adaptive(math.Sqrt(2*(p-1))))
	if err != nil {
		return nil, err
	}
	magnitude, err := NewKT(lipschitz, epsilon)
	if err != nil {
		return nil, err
	}
	return NewMagnitudeDirection(magnitude, direction, norm)
}

// NewL1KT is [NewLpKT] for ‖g_t‖∞ ≤ lipschitz with q = 2·ln d (2 for d < 3). As ‖g‖_q ≤
// d^{1/q}·‖g‖∞, which is √e·‖g‖∞ for d ≥ 3, the regret is of order ‖u‖₁·L·(√(ln(T‖u‖₁/ε)) + √(ln
// d))·√T.
func NewL1KT(d int, lipschitz, epsilon float64) (*MagnitudeDirection, error) {
	if err := positive("lipschitz", lipschitz); err != nil {
		return nil, err
	}
	q, growth := 2.0, math.Sqrt(float64(max(d, 1)))
	if d >= 3 {
		q, growth = 2*portable.Log(float64(d)), portable.Exp(0.5)
	}
	// The factor covers the rounding of norms.
	return NewLpKT(d, q/(q-1), lipschitz*growth*(1+0x1p-40), epsilon)
}

// lpDirection is mirror descent with ½‖x‖_p² on the unit ball of that norm. Two points of it are
// within 2 in the divergence, ½‖u‖² + ½‖x‖² − ⟨∇ψ(x), u⟩.
func lpDirection(d int, p float64, rate Rate) (*MirrorDescent, convex.Norm, error) {
	psi, err := convex.NewPNorm(d, p)
	if err != nil {
		return nil, nil, err
	}
	ball, err := convex.NewCenteredLpBall(d, p, 1)
	if err != nil {
		return nil, nil, err
	}
	reg, err := convex.Restrict(psi, ball)
	if err != nil {
		return nil, nil, err
	}
	norm, err := convex.NewLp(p)
	if err != nil {
		return nil, nil, err
	}
	l, err := NewMirrorDescent(reg, nil, rate, 2)
	return l, norm, err
}

// Dim implements [Learner].
func (l *MagnitudeDirection) Dim() int { return len(l.point) }

// Rounds implements [Counter].
func (l *MagnitudeDirection) Rounds() int { return l.rounds }

// Predict implements [Learner].
func (l *MagnitudeDirection) Predict() []float64 {
	z := l.magnitude.Predict()[0]
	for i, w := range l.direction.Predict() {
		l.point[i] = float64(z * w)
	}
	return l.point
}

// At implements [SparseLearner].
func (l *MagnitudeDirection) At(i int) float64 {
	return float64(l.magnitude.Predict()[0] * at(l.direction, i))
}

// Hint implements [Hinted].
func (l *MagnitudeDirection) Hint(h []float64) error {
	return l.forward(h, forwardHint)
}

// Features implements [FeatureLearner].
func (l *MagnitudeDirection) Features(z []float64) error {
	return l.forward(z, forwardFeatures)
}

func (l *MagnitudeDirection) checkHint(h []float64) error { return checkHint(l.direction, h) }

func (l *MagnitudeDirection) checkFeatures(z []float64) error { return checkFeatures(l.direction, z) }

// forward passes v to the direction and ⟨v, w⟩ to the magnitude, which gets nothing if that leaves
// the range of float64.
func (l *MagnitudeDirection) forward(v []float64, f func(Learner, []float64) error) error {
	if l.failed != nil {
		return l.failed
	}
	if err := f(l.direction, v); err != nil {
		return err
	}
	if l.one[0] = vec.DotInOrder(v, l.direction.Predict()); !vec.IsFinite(l.one[0]) {
		return nil
	}
	return f(l.magnitude, l.one[:])
}

func (l *MagnitudeDirection) checkGradient(g []float64) error {
	if l.failed != nil {
		return l.failed
	}
	if err := checkGradient(l.direction, g); err != nil {
		return err
	}
	l.one[0] = vec.DotInOrder(g, l.direction.Predict())
	return checkGradient(l.magnitude, l.one[:])
}

// Update implements [Learner]. A round is refused before anything changes if the magnitude is a
// learner of this package that refuses s_t for its size. If the magnitude refuses s_t after the
// direction has moved, Update returns that error from then on, until a snapshot is restored.
func (l *MagnitudeDirection) Update(g []float64) error {
	if err := l.checkGradient(g); err != nil {
		return err
	}
	return l.end(l.direction.Update(g))
}

// UpdateSparse implements [SparseLearner], like Update.
func (l *MagnitudeDirection) UpdateSparse(g Sparse) error {
	if l.failed != nil {
		return l.failed
	}
	if _, err := checkSparse("gradient", g, l.Dim()); err != nil {
		return err
	}
	s := 0.0
	for k, i := range g.Index {
		s += float64(g.Value[k] * at(l.direction, int(i)))
	}
	l.one[0] = s
	if err := checkGradient(l.magnitude, l.one[:]); err != nil {
		return err
	}
	return l.end(forwardSparse(l.direction, g, l.dense))
}

// end ends the round after the direction's update, which had the given error.
func (l *MagnitudeDirection) end(err error) error {
	if err != nil {
		return err
	}
	if err := l.magnitude.Update(l.one[:]); err != nil {
		l.failed = fmt.Errorf("magnitude: %w", err)
		return l.failed
	}
	l.rounds++
	return nil
}

// Bound implements [Bounder].
func (l *MagnitudeDirection) Bound(u []float64) (float64, error) {
	if err := checkFinite("comparator", u, l.Dim()); err != nil {
		return 0, err
	}
	n := l.norm.Of(u)
	if !vec.IsFinite(n) {
		return math.Inf(1), nil
	}
	total, err := boundOf(l.magnitude, []float64{n})
	if err != nil || n == 0 {
		return total, err
	}
	unit := make([]float64, len(u))
	for i, v := range u {
		unit[i] = v / n
	}
	b, err := boundOf(l.direction, unit)
	return orInf(total + float64(n*b)), err
}

// String describes the learner and its options in one line.
func (l *MagnitudeDirection) String() string {
	return fmt.Sprintf("magnitude-direction(%s, %s, %v)", kindOf(l.magnitude), kindOf(l.direction), l.norm)
}

// MarshalBinary implements [Snapshotter]; the learners inside must be so too.
func (l *MagnitudeDirection) MarshalBinary() ([]byte, error) {
	if l.failed != nil {
		return nil, l.failed
	}
	return marshalSeveral(l.String(), l.rounds, l.magnitude, l.direction)
}

// UnmarshalBinary implements [Snapshotter].
func (l *MagnitudeDirection) UnmarshalBinary(data []byte) error {
	rounds, err := unmarshalSeveral(data, l.String(), l.magnitude, l.direction)
	if err != nil {
		return err
	}
	l.rounds, l.failed = rounds, nil
	return nil
}
