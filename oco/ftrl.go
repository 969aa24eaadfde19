package oco

import (
	"fmt"
	"math"

	"github.com/noregret/noregret"

	"gonum.org/v1/gonum/floats"

	"github.com/noregret/noregret/convex"
	"github.com/noregret/noregret/internal/snapshot"
	"github.com/noregret/noregret/internal/vec"
)

// Weight is a schedule of factors c_t of the regularizer in follow-the-regularized-leader: ψ_t =
// c_t·ψ. The point x_t is computed with c_t. Make one with [ConstantWeight], [SqrtWeight] or
// [WeightFunc].
type Weight struct {
	c, power float64
	f        func(t int) float64
	horizon  int // the number of rounds that c is tuned for, 0 for any
	name     string
}

// ConstantWeight is c_t = c, that is a constant learning rate 1/c.
func ConstantWeight(c float64) Weight { return Weight{c: c, name: fmt.Sprintf("constant(%v)", c)} }

// SqrtWeight is c_t = c·√t. With ψ μ-strongly convex and subgradients of dual norm at most L, c =
// L/(α·√μ) gives regret ((ψ(u) − min ψ)/α + α)·L·√T/√μ at every T, on unbounded sets too
// (Orabona 2019, Corollary 7.8).
func SqrtWeight(c float64) Weight { return Weight{c: c, power: 0.5, name: fmt.Sprintf("sqrt(%v)", c)} }

// WeightFunc is any nondecreasing schedule c_t = f(t) > 0, t = 1, 2, ...; f must be pure. Snapshots
// contain the name, which stands for f. Update returns an error if the next value of f is less than
// the last one or outside 1e-300 to 1e300.
func WeightFunc(name string, f func(t int) float64) Weight {
	return Weight{f: f, name: fmt.Sprintf("func(%s)", name)}
}

func (w Weight) at(t int) float64 {
	switch {
	case w.f != nil:
		return w.f(t)
	case w.power == 0:
		return w.c
	}
	return w.c * math.Sqrt(float64(t))
}

func (w Weight) validate() error {
	if w.name == "" {
		return noregret.BadInputf("weight",
			"the zero Weight is not a schedule; make one with ConstantWeight or SqrtWeight")
	}
	if c := w.at(1); !(c >= 1e-300 && c <= 1e300) {
		return noregret.BadInputf("weight", "%v in round 1: want a number from 1e-300 to 1e300", c)
	}
	return nil
}

// rises returns an error if the schedule falls after round t, leaves its range, or ends before.
func (w Weight) rises(t int) error {
	if w.horizon > 0 && t > w.horizon {
		return noregret.BadInputf("round", "%d: the weight is tuned for %d rounds, and promises nothing after them", t,
			w.horizon)
	}
	if w.f == nil {
		return nil
	}
	if now, next := w.at(t), w.at(t+1); !(next >= now && next <= 1e300) {
		return noregret.BadInputf("weight", "%s is %v in round %d and %v in the next: want a nondecreasing schedule "+
			"up to "+
			"1e300", w.name, now, t, next)
	}
	return nil
}

// checkRange returns an error for a subgradient of largest absolute value m if θ or θ/c_t might
// overflow, or ‖θ‖² on balls.
func (w Weight) checkRange(s *dualSum, m float64) error {
	if err := s.checkRange(m); err != nil {
		return err
	}
	if err := w.rises(s.T + 1); err != nil {
		return err
	}
	if q := (s.Mass + m) / w.at(s.T+1); !(q < math.MaxFloat64/4) {
		return noregret.BadInputf("gradient", "the sum of the subgradients' norms over the regularizer's weight is "+
			"%v: it "+
			"leaves the range of float64", q)
	}
	return nil
}

// FTRL is follow-the-regularized-leader on linearized losses, also called lazy mirror descent or
// dual averaging (Nesterov 2009; Orabona 2019, Algorithm 7.2):
//
//	x_t = ∇ψ_V*(∇ψ(x_0) + θ_t/c_t),   θ_t = −Σ_{i<t} g_i,
//
// where the centre x_0 is the minimizer of ψ unless one is given. It remembers the sum of the
// subgradients, before any projection: that is the difference from [MirrorDescent], which it equals
// for a constant weight as long as no Euclidean projection is active (section 7.3.1).
//
// Guarantee (Bound): c_T·(ψ(u) − min ψ) + (1/2λ)·Σ‖g_t‖*²/c_t for ψ λ-strongly convex in
// ‖·‖ on V (Corollary 7.8); with a centre ψ(u) − min ψ is B_ψ(u; x_0). For entropy on the simplex
// and g ≥ 0 the local norms Σ_j g_{t,j}²·x_{t,j} may stand for ‖g_t‖∞² (section 7.5). For a
// [convex.Certified] regularizer with gap δ_t at x_t the bound has Σ ‖g_t‖*·√(2δ_t/λ) besides, as
// x_t is that far from the maximizer at most.
//
// A round costs a sum and, when Predict is called, a mirror map: O(d) for most. A sparse round
// costs O(nnz), and At O(1), for the quadratic map on ℝ^d, on boxes and on balls around the origin.
// Memory is O(d).
type FTRL struct {
	reg    convex.Regularizer
	weight Weight
	center []float64 // nil: the minimizer of ψ
	shift  []float64 // ∇ψ(center), nil for none
	lambda float64
	dual   convex.Norm
	lazy   lazyKind
	// numeric is reg if its Argmax is an iteration, whose gap at point is gap.
	numeric convex.Certified
	gap     float64
	// entropic is for negative entropy on the simplex.
	entropic bool
	lower    []float64
	upper    []float64
	radius   float64
	state    ftrlState
	point    []float64
	fresh    bool
	text     string
}

type ftrlState struct {
	Dual  dualSum
	Spent sum     // Σ ‖g‖*²/c_t
	Norm2 sum     // ‖θ‖², for balls
	Local sum     // Σ_t Σ_j g²·x/c_t, for entropy on the simplex
	Below bool    // a subgradient had a negative coordinate
	Slack float64 // Σ ‖g_t‖*·√(2·gap_t/λ), for numeric oracles
}

type lazyKind int

const (
	notLazy lazyKind = iota
	lazySpace
	lazyBox
	lazyBall
)

// NewFTRL plays in the regularizer's set. A center must be in the set and in the interior of the
// map's domain; nil is the minimizer of ψ.
func NewFTRL(reg convex.Regularizer, center []float64, weight Weight) (*FTRL, error) {
	if reg == nil {
		return nil, noregret.BadInputf("regularizer", "nil: want a regularizer")
	}
	if err := weight.validate(); err != nil {
		return nil, err
	}
	lambda, norm := reg.StrongConvexity()
	if !(lambda > 0) {
		return nil, noregret.BadInputf("regularizer", "%v: not strongly convex", reg)
	}
	d := reg.Set().Dim()
	l := &FTRL{reg: reg, weight: weight, lambda: lambda, dual: norm.Dual(), point: make([]float64, d)}
	l.numeric, _ = reg.(convex.Certified)
	l.state.Dual.Theta = make([]float64, d)
	l.text = fmt.Sprintf("ftrl(%v, weight=%v)", reg, weight.name)
	_, entropy := reg.Map().(*convex.NegativeEntropy)
	_, onSimplex := reg.Set().(*convex.Simplex)
	l.entropic = entropy && onSimplex
	if center != nil {
		x, err := startIn(reg.Set(), center)
		if err != nil {
			return nil, err
		}
		if !reg.Map().Interior(x) {
			return nil, noregret.BadInputf("center", "%s: not in the interior of the domain of %v", brief(x),
				reg.Map())
		}
		l.center, l.shift = x, make([]float64, d)
		reg.Map().Gradient(l.shift, x)
		l.text = fmt.Sprintf("ftrl(%v, weight=%v, center=%s)", reg, weight.name, digest(x))
		return l, nil
	}
	if _, ok := reg.Map().(*convex.Quadratic); ok {
		switch v := reg.Set().(type) {
		case *convex.Space:
			l.lazy = lazySpace
		case *convex.Box:
			l.lazy = lazyBox
			l.lower, l.upper = sides(v)
		case *convex.Ball:
			if v.Norm() == convex.L2 && vec.MaxAbs(v.Center()) == 0 {
				l.lazy, l.radius = lazyBall, v.Radius()
			}
		}
	}
	return l, nil
}

// Dim implements [Learner].
func (l *FTRL) Dim() int { return len(l.point) }

// Rounds implements [Counter].
func (l *FTRL) Rounds() int { return l.state.Dual.T }

// Predict implements [Learner].
func (l *FTRL) Predict() []float64 {
	if !l.fresh {
		floats.ScaleTo(l.point, 1/l.weight.at(l.state.Dual.T+1), l.state.Dual.Theta)
		for i, v := range l.shift {
			l.point[i] += v
		}
		switch l.kind() {
		case lazySpace:
		case lazyBall:
			if f := l.shrink(); f < 1 {
				floats.Scale(f, l.point)
			}
		default:
			if l.numeric != nil {
				l.gap = l.numeric.ArgmaxGap(l.point, l.point)
			} else {
				l.reg.Argmax(l.point, l.point)
			}
		}
		l.fresh = true
	}
	return l.point
}

// At implements [SparseLearner].
func (l *FTRL) At(i int) float64 {
	if l.kind() == notLazy || l.fresh {
		return l.Predict()[i]
	}
	x := l.state.Dual.Theta[i] * (1 / l.weight.at(l.state.Dual.T+1))
	switch l.lazy {
	case lazyBox:
		x = min(max(x, l.lower[i]), l.upper[i])
	case lazyBall:
		if f := l.shrink(); f < 1 {
			x *= f
		}
	}
	return x
}

// kind returns the way in which points are evaluated. If ‖θ‖² might overflow, a ball is treated
// like any other set.
func (l *FTRL) kind() lazyKind {
	if l.lazy == lazyBall && l.state.Dual.Mass > 1e150 {
		return notLazy
	}
	return l.lazy
}

// shrink is the factor by which the projection on the ball scales.
func (l *FTRL) shrink() float64 {
	n := math.Sqrt(max(l.state.Norm2.value(), 0)) * (1 / l.weight.at(l.state.Dual.T+1))
	if n > l.radius {
		return l.radius / n
	}
	return 1
}

// Update implements [Learner].
func (l *FTRL) Update(g []float64) error {
	var s, size float64 // ‖g‖*² = s·2^(2e); size is at least the largest value
	var e int
	var err error
	if l.dual == convex.Norm(convex.L2) {
		s, e, err = checkSquared("gradient", g, l.Dim())
		size = math.Ldexp(math.Sqrt(s), e)
	} else if size, err = checkVector("gradient", g, l.Dim()); err == nil {
		s, e = squareOf(l.dual.Of(g))
	}
	if err != nil {
		return err
	}
	if err := l.weight.checkRange(&l.state.Dual, size); err != nil {
		return err
	}
	c := l.weight.at(l.state.Dual.T + 1)
	if l.entropic {
		var local float64
		for i, x := range l.Predict() {
			if x > 0 {
				local += float64(float64(g[i]*g[i]) * x)
			}
			l.state.Below = l.state.Below || g[i] < 0
		}
		l.state.Local.add(local / c)
	}
	if l.numeric != nil && s != 0 {
		l.Predict() // sets the gap
		l.state.Slack += float64(math.Ldexp(math.Sqrt(s), e) * math.Sqrt(2*l.gap/l.lambda))
	}
	l.state.Dual.subtract(g, size)
	if l.kind() == lazyBall {
		l.state.Norm2 = sum{}
		for _, v := range l.state.Dual.Theta {
			l.state.Norm2.addProduct(v, v)
		}
	}
	l.state.Spent.add(math.Ldexp(s/c, 2*e))
	l.fresh = false
	return nil
}

// UpdateSparse implements [SparseLearner].
func (l *FTRL) UpdateSparse(g Sparse) error {
	largest, err := checkSparse("gradient", g, l.Dim())
	if err != nil {
		return err
	}
	if err := l.weight.checkRange(&l.state.Dual, largest); err != nil {
		return err
	}
	if l.numeric != nil {
		dense := make([]float64, l.Dim())
		scatter(dense, g)
		return l.Update(dense)
	}
	if _, ok := l.dual.(*convex.Lp); !ok { // zeros have an effect there
		l.fresh = false // the point serves as scratch
		clear(l.point)
		for k, i := range g.Index {
			l.point[i] = g.Value[k]
		}
		return l.Update(l.point)
	}
	s, e := squareOf(l.dual.Of(g.Value))
	c := l.weight.at(l.state.Dual.T + 1)
	if l.kind() == lazyBall && l.state.Dual.Mass+largest <= 1e150 {
		for k, i := range g.Index {
			old := l.state.Dual.Theta[i]
			l.state.Norm2.addProduct(old-g.Value[k], old-g.Value[k])
			l.state.Norm2.addProduct(-old, old)
		}
	}
	if l.entropic {
		x := l.Predict()
		var local float64
		for k, i := range g.Index {
			if x[i] > 0 {
				local += float64(float64(g.Value[k]*g.Value[k]) * x[i])
			}
			l.state.Below = l.state.Below || g.Value[k] < 0
		}
		l.state.Local.add(local / c)
	}
	l.state.Dual.subtractSparse(g, largest)
	l.state.Spent.add(math.Ldexp(s/c, 2*e))
	l.fresh = false
	return nil
}

// Bound implements [Bounder].
func (l *FTRL) Bound(u []float64) (float64, error) {
	if inside, err := comparator(u, l.reg.Set()); err != nil || !inside {
		return math.Inf(1), err
	}
	if l.state.Dual.T == 0 {
		return 0, nil
	}
	spent := l.state.Spent.value() / l.lambda
	if l.entropic && !l.state.Below {
		spent = min(spent, l.state.Local.value())
	}
	return orInf(float64(l.weight.at(l.state.Dual.T)*l.penalty(u)) + float64(spent/2) + l.state.Slack), nil
}

// excess returns ψ(u) − min ψ, rounded up. On a set far from the origin both may be many times as
// large as their difference, and their rounding errors then count.
func excess(reg convex.Regularizer, u []float64) float64 {
	value, least := reg.Map().Value(u), reg.Min()
	const unit = 0x1p-53
	rounding := float64(float64(len(u)+8) * unit * (math.Abs(value) + math.Abs(least)))
	return max(value-least, 0) + rounding
}

// penalty is ψ(u) − min ψ, or B_ψ(u; x_0).
func (l *FTRL) penalty(u []float64) float64 {
	if l.center != nil {
		return l.reg.Map().Divergence(u, l.center)
	}
	return excess(l.reg, u)
}

// String describes the learner and its options in one line.
func (l *FTRL) String() string { return l.text }

// MarshalBinary implements [Snapshotter].
func (l *FTRL) MarshalBinary() ([]byte, error) {
	return snapshot.Seal(snapshotMagic, l.text, &l.state)
}

// UnmarshalBinary implements [Snapshotter].
func (l *FTRL) UnmarshalBinary(data []byte) error {
	l.fresh = false
	return restore(data, l.text, &l.state, func(s *ftrlState) error {
		return checkState(l.Dim(), s.Dual.T, s.Dual.Theta)
	})
}
