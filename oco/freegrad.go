package oco

import (
	"fmt"
	"math"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/portable"
	"github.com/noregret/noregret/internal/snapshot"
	"github.com/noregret/noregret/internal/vec"
)

// FreeGrad is scale-free, parameter-free online linear optimization on ℝ^d: coin betting that knows
// neither ‖u‖ nor a Lipschitz constant. It is FreeGrad of Mhammedi and Koolen (2020) with the hints
// and the artificial constraint of Cutkosky (2019), without restarts.
//
// Rounds with a subgradient of 0 change nothing; t counts the others. Let h_t = max_{i<t} ‖g_i‖ and
// ḡ_t = g_t·min(1, h_t/‖g_t‖), which is 0 in the first round. With the g̃_i below, θ = −Σ_{i<t}
// g̃_i and V = ‖g_1‖² + Σ_{i<t} ‖g̃_i‖², the potential is
//
//	Ψ(θ, V, h) = (ε·‖g_1‖²/√V)·exp(‖θ‖²/(2V + 2h‖θ‖)),   y_t = ∇_θ Ψ(θ, V, h_t).
//
// It plays the projection x_t of y_t on the ball of radius D_t = ε·√(max_{k<t}
// Σ_{i≤k}‖g_i‖/h_{k+1}). g̃_t is ḡ_t, less its part along y_t if y_t is outside the ball and that
// would drive it farther out (see [Constrained]). ε is a length, a guess of ‖u‖ that enters the
// bound in a logarithm. Multiplying all subgradients by a constant changes no point.
//
// Guarantee (Bound): Ψ falls by at least ⟨g̃_t, y_t⟩ in every round (Mhammedi and Koolen 2020), and
// ‖g_t − ḡ_t‖ = h_{t+1} − h_t, so that the regret is at most
//
//	ε·‖g_1‖ + sup_θ (‖θ‖·‖u‖ − Ψ(θ, V, h)) + Σ (h_{t+1} − h_t)·‖x_t‖ + h·‖u‖ + C(u)
//
// with V and h after the last round. The second term is of order ‖u‖·√(V·ln(‖u‖V/(ε‖g_1‖²))) +
// h·‖u‖·ln(...). C(u) is for comparators that were outside the ball: it is 0 if ‖u‖ ≤ D_t in all
// rounds in which the ball shortened a subgradient, and never above h·‖u‖·(1 + ‖u‖²/ε²). A round
// costs O(d); memory is O(d).
type FreeGrad struct {
	epsilon float64
	state   freeGradState
	point   []float64
	next    []float64
	length  float64 // ‖x_t‖
	outside bool    // y_t is outside the ball
	fresh   bool
}

type freeGradState struct {
	T         int
	Theta     []float64
	V         squares
	First     float64 // ‖g_1‖
	Largest   float64 // h_t
	Mass      float64 // Σ‖g_i‖
	Reach     float64 // (D_t/ε)²
	Overhead  sum     // Σ (h_{t+1} − h_t)·‖x_t‖
	Shortened sum     // Σ of the lengths by which the ball has shortened subgradients
	From      float64 // (D_t/ε)² of the first round in which it has
}

// NewFreeGrad plays on ℝ^d. Epsilon is the scale ε of the points, above 0.
func NewFreeGrad(d int, epsilon float64) (*FreeGrad, error) {
	if err := checkDim(d, 3*float64(d)); err != nil {
		return nil, err
	}
	if err := positive("epsilon", epsilon); err != nil {
		return nil, err
	}
	l := &FreeGrad{epsilon: epsilon, point: make([]float64, d), next: make([]float64, d)}
	l.state.Theta = make([]float64, d)
	return l, nil
}

// Dim implements [Learner].
func (l *FreeGrad) Dim() int { return len(l.point) }

// Rounds implements [Counter].
func (l *FreeGrad) Rounds() int { return l.state.T }

// exponent returns ρ²/(2(1 + κρ)), the exponent of Ψ at ‖θ‖ = ρ√V for κ = h/√V, and the logarithm
// of its derivative ρ(2 + κρ)/(2(1 + κρ)²) in ρ.
func exponent(rho, kappa float64) (e, logSlope float64) {
	if rho == 0 {
		return 0, math.Inf(-1)
	}
	a := 1 + float64(kappa*rho) // may be +Inf
	return float64(rho * (rho / (2 * a))), portable.Log(rho * ((1 + 1/a) / (2 * a)))
}

// Predict implements [Learner].
func (l *FreeGrad) Predict() []float64 {
	if l.fresh {
		return l.point
	}
	l.fresh, l.outside, l.length = true, false, 0
	clear(l.point)
	st := &l.state
	s, e := sumOfSquares(st.Theta, vec.MaxAbs(st.Theta))
	if s == 0 || st.First == 0 {
		return l.point
	}
	rho := math.Ldexp(math.Sqrt(s/st.V.Sum), e-st.V.Exp)
	root := st.V.root()
	exp, slope := exponent(rho, st.Largest/root)
	log := exp + slope + float64(2*portable.Log(st.First/root)) // ln(‖y‖/ε)
	top := portable.Log(st.Reach) / 2
	if l.outside = log > top; l.outside {
		log = top
	}
	l.length = float64(l.epsilon * portable.Exp(log))
	n := math.Sqrt(s)
	for i, v := range st.Theta {
		l.point[i] = float64(math.Ldexp(v, -e) / n * l.length)
	}
	return l.point
}

// Update implements [Learner]. It refuses a subgradient with which the sum of the norms, or of
// their products with the points, leaves the range of float64.
func (l *FreeGrad) Update(g []float64) error {
	largest, err := checkVector("gradient", g, l.Dim())
	if err != nil {
		return err
	}
	s, e := sumOfSquares(g, largest)
	n := math.Ldexp(math.Sqrt(s), e)
	mass := dualSum{Mass: l.state.Mass}
	if err := mass.checkRange(n); err != nil {
		return err
	}
	l.Predict()
	st := &l.state
	overhead := st.Overhead
	overhead.add(float64(max(n-st.Largest, 0) * l.length))
	switch {
	case largest == 0:
		st.T++
		return nil
	case !vec.IsFinite(overhead.value()):
		return noregret.BadInputf("gradient", "its norm %v times that of the point, %v, leaves the range of float64", n,
			l.length)
	case st.First == 0:
		st.First = n
		st.V.add(s, e)
	default:
		l.step(g, n)
	}
	st.Overhead = overhead
	st.Largest = max(st.Largest, n)
	st.Mass += n
	st.Reach = max(st.Reach, st.Mass/st.Largest)
	st.T++
	l.fresh = false
	return nil
}

// step moves θ and V by g̃, for a g of norm n > 0.
func (l *FreeGrad) step(g []float64, n float64) {
	st := &l.state
	clip := min(1, st.Largest/n)
	for i, v := range g {
		l.next[i] = float64(clip * v)
	}
	if l.outside { // then the point is not 0
		var along float64
		for i, v := range l.next {
			along += float64(v * (l.point[i] / l.length))
		}
		if along < 0 {
			for i := range l.next {
				l.next[i] -= float64(along * (l.point[i] / l.length))
			}
			if st.Shortened.value() == 0 {
				st.From = st.Reach
			}
			st.Shortened.add(-along)
		}
	}
	for i, v := range l.next {
		st.Theta[i] -= v
	}
	st.V.add(sumOfSquares(l.next, vec.MaxAbs(l.next)))
}

// Bound implements [Bounder].
func (l *FreeGrad) Bound(u []float64) (float64, error) {
	if err := checkFinite("comparator", u, l.Dim()); err != nil {
		return 0, err
	}
	st := &l.state
	if st.First == 0 {
		return 0, nil
	}
	n := vec.Norm2(u)
	far := n / l.epsilon
	outside := min(float64(st.Shortened.value()*max(n-float64(l.epsilon*math.Sqrt(st.From)), 0)),
		float64(st.Largest*n*(1+float64(far*far))))
	if st.Shortened.value() == 0 {
		outside = 0
	}
	return orInf(max(float64(l.epsilon*st.First)+l.conjugate(n), 0) + st.Overhead.value() + float64(st.Largest*n) +
		outside), nil
}

// conjugate is sup_θ ‖θ‖·n − Ψ(θ, V, h), from above: θ is bisected along a ray, on which Ψ is
// convex.
func (l *FreeGrad) conjugate(n float64) float64 {
	st := &l.state
	root := st.V.root()
	// ln Ψ(0, V, h)
	scale := portable.Log(l.epsilon) + portable.Log(st.First) + portable.Log(st.First/root)
	kappa := st.Largest / root
	target := portable.Log(root) + portable.Log(n) - scale
	rises := func(rho float64) bool { // whether Ψ rises faster than the linear term
		e, slope := exponent(rho, kappa)
		return e+slope >= target
	}
	low, high := 0.0, 1.0
	for n > 0 && !rises(high) && high < math.MaxFloat64/4 {
		low, high = high, 2*high
	}
	for range 60 {
		if middle := low + float64((high-low)/2); rises(middle) {
			high = middle
		} else {
			low = middle
		}
	}
	e, _ := exponent(low, kappa)
	if n == 0 {
		return -portable.Exp(scale)
	}
	return float64(high*root*n) - portable.Exp(scale+e)
}

// String describes the learner and its options in one line.
func (l *FreeGrad) String() string {
	return fmt.Sprintf("freegrad(d=%d, epsilon=%v)", l.Dim(), l.epsilon)
}

// MarshalBinary implements [Snapshotter].
func (l *FreeGrad) MarshalBinary() ([]byte, error) {
	return snapshot.Seal(snapshotMagic, l.String(), &l.state)
}

// UnmarshalBinary implements [Snapshotter].
func (l *FreeGrad) UnmarshalBinary(data []byte) error {
	l.fresh = false
	return restore(data, l.String(), &l.state, func(s *freeGradState) error {
		for _, v := range []float64{
			s.First, s.Largest, s.Mass, s.Reach, s.From, s.V.Sum, s.Overhead.value(), s.Shortened.value(),
		} {
			if !(v >= 0) || !vec.IsFinite(v) {
				return snapshot.Bad("damaged: a sum is %v", v)
			}
		}
		return checkState(l.Dim(), s.T, s.Theta)
	})
}
