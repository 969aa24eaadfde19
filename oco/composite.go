package oco

import (
	"fmt"
	"math"

	"github.com/noregret/noregret"

	"github.com/noregret/noregret/convex"
	"github.com/noregret/noregret/internal/snapshot"
	"github.com/noregret/noregret/internal/vec"
)

// CompositeFTRL is follow-the-regularized-leader for losses f_t(x) + κ‖x‖₁ that does not linearize
// the l1 part (Xiao 2010; Orabona 2019, section 7.7): with ψ = ½‖x‖₂² and θ_t = −Σ_{i<t} g_i, g_i a
// subgradient of f_i alone,
//
//	x_{t,i} = sgn(θ_{t,i})·max(|θ_{t,i}| − κ·t, 0)/(L·√t),
//
// so that points have exact zeros, which subgradients of ‖·‖₁ never give. The threshold is κ·t and
// not κ·(t−1), because the penalty of the round itself is known.
//
// Guarantee (Bound), on the full losses: Σ f_t(x_t) + κ‖x_t‖₁ − f_t(u) − κ‖u‖₁ ≤ L·√T·‖u‖²/2 +
// Σ‖g_t‖²/(2L·√t), at most L·√T·(‖u‖²/2 + 1) when ‖g_t‖₂ ≤ L. On V = ℝ^d, a box (the result is
// clipped) or a ball around the origin (it is scaled). A sparse round costs O(nnz) and At O(1), on
// ℝ^d and boxes; Predict O(d). Memory is O(d).
type CompositeFTRL struct {
	set          convex.Set
	lipschitz    float64
	kappa        float64
	lower, upper []float64
	radius       float64
	state        ftrlState
	point        []float64
	fresh        bool
	text         string
}

// NewCompositeFTRL plays in set, with L = lipschitz > 0 and l1 weight kappa ≥ 0 a round. With kappa
// = 0 it is [FTRL] with weight L·√t.
func NewCompositeFTRL(set convex.Set, lipschitz, kappa float64) (*CompositeFTRL, error) {
	if set == nil {
		return nil, noregret.BadInputf("set", "nil: want a set")
	}
	if err := positive("lipschitz", lipschitz); err != nil {
		return nil, err
	}
	if !(kappa >= 0) || !vec.IsFinite(kappa) {
		return nil, noregret.BadInputf("kappa", "%v: want a finite number, at least 0", kappa)
	}
	l := &CompositeFTRL{
		set: set, lipschitz: lipschitz, kappa: kappa, radius: math.Inf(1),
		point: make([]float64, set.Dim()),
	}
	switch v := set.(type) {
	case *convex.Space:
	case *convex.Box:
		l.lower, l.upper = sides(v)
	case *convex.Ball:
		if v.Norm() != convex.L2 || vec.MaxAbs(v.Center()) != 0 {
			return nil, noregret.BadInputf("set",
				"%v: of balls only Euclidean ones around the origin have a closed form", set)
		}
		l.radius = v.Radius()
	default:
		return nil, noregret.BadInputf("set", "%v: want the whole space, a box or a ball around the origin", set)
	}
	l.state.Dual.Theta = make([]float64, set.Dim())
	l.text = fmt.Sprintf("composite-ftrl(%v, lipschitz=%v, kappa=%v)", set, lipschitz, kappa)
	return l, nil
}

// Dim implements [Learner].
func (l *CompositeFTRL) Dim() int { return len(l.point) }

// Rounds implements [Counter].
func (l *CompositeFTRL) Rounds() int { return l.state.Dual.T }

// soft is sgn(v)·max(|v| − k, 0).
func soft(v, k float64) float64 {
	switch {
	case v > k:
		return v - k
	case v < -k:
		return v + k
	}
	return 0
}

func (l *CompositeFTRL) coordinate(i int, t float64) float64 {
	x := soft(l.state.Dual.Theta[i], float64(l.kappa*t)) / float64(l.lipschitz*math.Sqrt(t))
	if l.lower != nil {
		x = min(max(x, l.lower[i]), l.upper[i])
	}
	return x
}

// At implements [SparseLearner].
func (l *CompositeFTRL) At(i int) float64 {
	if l.fresh || !math.IsInf(l.radius, 1) {
		return l.Predict()[i]
	}
	return l.coordinate(i, float64(l.state.Dual.T+1))
}

// Predict implements [Learner].
func (l *CompositeFTRL) Predict() []float64 {
	if !l.fresh {
		t := float64(l.state.Dual.T + 1)
		for i := range l.point {
			l.point[i] = l.coordinate(i, t)
		}
		if !math.IsInf(l.radius, 1) {
			l.set.Project(l.point, l.point)
		}
		l.fresh = true
	}
	return l.point
}

// checkRange returns an error for a subgradient of largest absolute value m if θ, or θ divided by
// the regularizer's weight, might overflow.
func (l *CompositeFTRL) checkRange(m float64) error {
	if err := l.state.Dual.checkRange(m); err != nil {
		return err
	}
	weight := l.lipschitz * math.Sqrt(float64(l.state.Dual.T+1))
	if q := (l.state.Dual.Mass + m) / weight; !(q < math.MaxFloat64/4) {
		return noregret.BadInputf("gradient",
			"the sum of the subgradients' norms over the regularizer's weight is %v: "+
				"it leaves the range of float64", q)
	}
	return nil
}

// Update implements [Learner]: g is a subgradient of f_t, without the l1 part.
func (l *CompositeFTRL) Update(g []float64) error {
	s, e, err := checkSquared("gradient", g, l.Dim())
	if err != nil {
		return err
	}
	norm := math.Ldexp(math.Sqrt(s), e) // at least the largest value
	if err := l.checkRange(norm); err != nil {
		return err
	}
	l.state.Dual.subtract(g, norm)
	l.spend(s, e)
	return nil
}

// UpdateSparse implements [SparseLearner].
func (l *CompositeFTRL) UpdateSparse(g Sparse) error {
	largest, err := checkSparse("gradient", g, l.Dim())
	if err != nil {
		return err
	}
	if err := l.checkRange(largest); err != nil {
		return err
	}
	s, e := sumOfSquares(g.Value, largest)
	l.state.Dual.subtractSparse(g, largest)
	l.spend(s, e)
	return nil
}

func (l *CompositeFTRL) spend(s float64, e int) {
	l.state.Spent.add(math.Ldexp(s/(l.lipschitz*math.Sqrt(float64(l.state.Dual.T))), 2*e))
	l.fresh = false
}

// Bound implements [Bounder], for the regret on the full losses.
func (l *CompositeFTRL) Bound(u []float64) (float64, error) {
	if inside, err := comparator(u, l.set); err != nil || !inside {
		return math.Inf(1), err
	}
	if l.state.Dual.T == 0 {
		return 0, nil
	}
	return orInf(float64(l.lipschitz*math.Sqrt(float64(l.state.Dual.T))*vec.Dot(u, u)/2) +
		float64(l.state.Spent.value()/2)), nil
}

// String describes the learner and its options in one line.
func (l *CompositeFTRL) String() string { return l.text }

// MarshalBinary implements [Snapshotter].
func (l *CompositeFTRL) MarshalBinary() ([]byte, error) {
	return snapshot.Seal(snapshotMagic, l.text, &l.state)
}

// UnmarshalBinary implements [Snapshotter].
func (l *CompositeFTRL) UnmarshalBinary(data []byte) error {
	l.fresh = false
	return restore(data, l.text, &l.state, func(s *ftrlState) error {
		return checkState(l.Dim(), s.Dual.T, s.Dual.Theta)
	})
}
