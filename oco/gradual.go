package oco

import (
	"fmt"
	"math"

	"github.com/noregret/noregret"

	"github.com/noregret/noregret/convex"
	"github.com/noregret/noregret/internal/snapshot"
	"github.com/noregret/noregret/internal/vec"
	"github.com/noregret/noregret/loss"
)

// GradualFTRL is optimistic follow-the-regularized-leader for smooth losses that change gradually
// (Chiang et al. 2012; Orabona 2019, Corollary 7.30): the hint is the last gradient, and
//
//	ψ_t = λ_t·(ψ − min ψ),   λ_t = √(max(8M², 4L²) + Σ_{i=2}^{t−1} v_i),   v_t = ‖∇l_t(x_{t−1}) − ∇l_{t−1}(x_{t−1})‖*²,
//
// for M-smooth losses with gradients of dual norm at most L on V and ψ 1-strongly convex. It asks
// for the gradient of the new loss at two points: use UpdateLoss, or UpdateBoth. Update alone
// assumes that the loss is linear, with the same gradient at both.
//
// Guarantee (Bound): λ_T·(ψ(u) − min ψ) − λ_1·(ψ(x_1) − min ψ) + ‖∇l_1(x_1)‖*²/λ_1 + Σ_{t≥2}
// (2/λ_t)·v_t, at most λ_T·ψ(u) + L/2 + 4√(Σ v_t): independent of T for equal losses (the book's
// constants are corrected here). A round costs O(d), two gradients and a mirror map; memory is
// O(d).
type GradualFTRL struct {
	reg      convex.Regularizer
	base     float64 // max(8M², 4L²)
	dual     convex.Norm
	state    gradualState
	point    []float64
	work     []float64
	previous []float64 // scratch for UpdateLoss
	current  []float64
	fresh    bool
	lambda   float64 // λ_t, while fresh
	text     string
}

type gradualState struct {
	Dual   dualSum
	Last   []float64 // ∇l_{t−1}(x_{t−1})
	LastX  []float64 // x_{t−1}
	Change sum       // Σ v, divided by 2^(2·Exp)
	Exp    int       // 0 unless squares leave the range of float64
	Lambda float64   // λ_{t−1}
	Spent  sum       // ‖∇l_1‖²/λ_1 + Σ (2/λ_t)·v_t
}

// NewGradualFTRL plays in the regularizer's set, with ψ 1-strongly convex. Smoothness M is at least
// 0 and lipschitz L above 0.
func NewGradualFTRL(reg convex.Regularizer, smoothness, lipschitz float64) (*GradualFTRL, error) {
	if reg == nil {
		return nil, noregret.BadInputf("regularizer", "nil: want a regularizer")
	}
	if err := exactOracle(reg); err != nil {
		return nil, err
	}
	if !(smoothness >= 0) || !vec.IsFinite(smoothness) {
		return nil, noregret.BadInputf("smoothness", "%v: want a finite number, at least 0", smoothness)
	}
	if err := positive("lipschitz", lipschitz); err != nil {
		return nil, err
	}
	if !vec.IsFinite(max(8*smoothness*smoothness, 4*lipschitz*lipschitz)) {
		return nil, noregret.BadInputf("smoothness", "%v, and lipschitz %v: their squares leave the range of float64",
			smoothness, lipschitz)
	}
	lambda, norm := reg.StrongConvexity()
	if !(lambda >= 1) {
		return nil, noregret.BadInputf("regularizer", "%v is %v-strongly convex: want at least 1", reg, lambda)
	}
	d := reg.Set().Dim()
	l := &GradualFTRL{
		reg: reg, base: max(8*smoothness*smoothness, 4*lipschitz*lipschitz), dual: norm.Dual(),
		point: make([]float64, d), work: make([]float64, d), previous: make([]float64, d), current: make([]float64, d),
	}
	l.state = gradualState{
		Dual: dualSum{Theta: make([]float64, d)}, Last: make([]float64, d),
		LastX: make([]float64, d),
	}
	l.text = fmt.Sprintf("gradual-ftrl(%v, smoothness=%v, lipschitz=%v)", reg, smoothness, lipschitz)
	return l, nil
}

// Dim implements [Learner].
func (l *GradualFTRL) Dim() int { return len(l.point) }

// Rounds implements [Counter].
func (l *GradualFTRL) Rounds() int { return l.state.Dual.T }

// Lambda is λ_t, the weight of the current round: it depends on v_2, ..., v_{t−1}.
func (l *GradualFTRL) Lambda() float64 {
	st := &l.state
	if l.fresh {
		return l.lambda
	}
	if st.Exp != 0 {
		return math.Ldexp(math.Sqrt(math.Ldexp(l.base, -2*st.Exp)+st.Change.value()), st.Exp)
	}
	return math.Sqrt(l.base + st.Change.value())
}

// Predict implements [Learner].
func (l *GradualFTRL) Predict() []float64 {
	if !l.fresh {
		lambda := l.Lambda()
		l.lambda = lambda
		for i, v := range l.state.Dual.Theta {
			l.point[i] = (v - l.state.Last[i]) / lambda
		}
		l.reg.Argmax(l.point, l.point)
		l.fresh = true
	}
	return l.point
}

// Update implements [Learner], for a linear loss.
func (l *GradualFTRL) Update(g []float64) error { return l.UpdateBoth(g, g) }

// UpdateLoss implements [LossLearner].
func (l *GradualFTRL) UpdateLoss(f loss.Function) error {
	if err := checkLoss(f, l.Dim()); err != nil {
		return err
	}
	f.Subgradient(l.current, l.Predict())
	if l.state.Dual.T == 0 {
		copy(l.previous, l.current)
	} else {
		f.Subgradient(l.previous, l.state.LastX)
	}
	return l.UpdateBoth(l.current, l.previous)
}

// checkLoss returns an error for a loss of another dimension.
func checkLoss(f loss.Function, d int) error {
	if f == nil {
		return noregret.BadInputf("loss", "nil: want a loss")
	}
	if f.Dim() != d {
		return noregret.BadInputf("loss", "its dimension is %d, the learner's %d", f.Dim(), d)
	}
	return nil
}

// UpdateBoth ends the round with the gradients of its loss at Predict() and at the point of the
// previous round. In the first round, previous is ignored.
func (l *GradualFTRL) UpdateBoth(g, previous []float64) error {
	largest, err := checkVector("gradient", g, l.Dim())
	if err != nil {
		return err
	}
	if err := checkFinite("previous", previous, l.Dim()); err != nil {
		return err
	}
	if err := l.state.Dual.checkRange(largest); err != nil {
		return err
	}
	x := l.Predict()
	st, lambda := &l.state, l.lambda
	if q := 2 * (st.Dual.Mass + largest) / lambda; !(q < math.MaxFloat64/4) {
		return noregret.BadInputf("gradient", "the sum of the gradients' norms over λ is %v: it leaves the range of "+
			"float64", q)
	}
	if st.Dual.T == 0 {
		st.Spent.add(squareOver(l.dual.Of(g), lambda))
	} else {
		for i, v := range previous {
			l.work[i] = v - st.Last[i]
		}
		n := l.dual.Of(l.work)
		if !vec.IsFinite(n) {
			return noregret.BadInputf("gradient", "the change of the gradients leaves the range of float64")
		}
		st.Spent.add(2 * squareOver(n, lambda))
		if n <= 0x1p480 && st.Exp == 0 {
			st.Change.add(float64(n * n))
		} else {
			st.addScaled(n)
		}
	}
	st.Lambda = lambda
	copy(st.LastX, x)
	copy(st.Last, g)
	st.Dual.subtract(g, largest)
	l.fresh = false
	return nil
}

// squareOver is n²/c. It overflows only if the result does.
func squareOver(n, c float64) float64 {
	if n > 0x1p480 {
		return n / c * n
	}
	return n * n / c
}

// addScaled adds n² to Σ v, where n or one before it was so large that Σ v must be divided.
func (s *gradualState) addScaled(n float64) {
	if e := math.Ilogb(n); n > 0x1p480 && e > s.Exp {
		shift := 2 * (s.Exp - e)
		s.Change.S, s.Change.C = math.Ldexp(s.Change.S, shift), math.Ldexp(s.Change.C, shift)
		s.Exp = e
	}
	n = math.Ldexp(n, -s.Exp)
	s.Change.add(float64(n * n))
}

// Bound implements [Bounder].
func (l *GradualFTRL) Bound(u []float64) (float64, error) {
	if inside, err := comparator(u, l.reg.Set()); err != nil || !inside {
		return math.Inf(1), err
	}
	if l.state.Dual.T == 0 {
		return 0, nil
	}
	// x_1 minimizes ψ, as the first hint is 0, so that the term of x_1 is 0.
	return orInf(float64(l.state.Lambda*excess(l.reg, u)) + l.state.Spent.value()), nil
}

// String describes the learner and its options in one line.
func (l *GradualFTRL) String() string { return l.text }

// MarshalBinary implements [Snapshotter].
func (l *GradualFTRL) MarshalBinary() ([]byte, error) {
	return snapshot.Seal(snapshotMagic, l.text, &l.state)
}

// UnmarshalBinary implements [Snapshotter].
func (l *GradualFTRL) UnmarshalBinary(data []byte) error {
	l.fresh = false
	return restore(data, l.text, &l.state, func(s *gradualState) error {
		return checkState(l.Dim(), s.Dual.T, s.Dual.Theta, s.Last, s.LastX)
	})
}
