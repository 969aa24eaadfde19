package oco

import (
	"fmt"
	"math"

	"github.com/noregret/noregret"

	"github.com/noregret/noregret/convex"
	"github.com/noregret/noregret/internal/portable"
	"github.com/noregret/noregret/internal/snapshot"
	"github.com/noregret/noregret/internal/vec"
)

// AdaHedge is Hedge whose rate follows the mixability gap (van Erven, Grünwald, Koolen and de Rooij
// 2011; de Rooij et al. 2014; Orabona 2019, Algorithm 7.3):
//
//	x_t = softmax(θ_t/λ_t),   λ_{t+1} = λ_t + δ_t/α²,   δ_t = ⟨g_t, x_t⟩ + λ_t·ln Σ_j x_{t,j}·exp(−g_{t,j}/λ_t) ≥ 0,
//
// where for λ_t = 0 the point is uniform and δ_t = ⟨g_t, x_t⟩ − min_j g_{t,j}. The book branches on
// t = 1 instead, and so divides by 0 after a first round of equal losses. No parameters, no
// knowledge of range or horizon; scale-free, and constants added to all of g_t change nothing.
//
// Guarantee (Bound): (Σu·ln u + ln d + α²)·λ_{T+1}, itself at most ((Σu·ln u + ln d)/α² +
// 1)·√((4 + α²)·Q_T) with Q_T = Σ‖g_t‖∞². A round costs O(d) time; memory is O(d).
type AdaHedge struct {
	alpha2 float64
	state  adaHedgeState
	point  []float64
	fresh  bool
	text   string
}

type adaHedgeState struct {
	Dual   dualSum
	Lambda sum
	Q      squares
}

// DefaultAdaHedgeAlpha is the alpha of [NewAdaHedge] in de Rooij et al. (2014): √(ln d), or 1 for d
// ≤ 1.
func DefaultAdaHedgeAlpha(d int) float64 {
	if d <= 1 {
		return 1
	}
	return math.Sqrt(portable.Log(float64(d)))
}

// NewAdaHedge plays on the simplex of ℝ^d with alpha > 0, such as [DefaultAdaHedgeAlpha].
func NewAdaHedge(d int, alpha float64) (*AdaHedge, error) {
	if err := checkDim(d, 3*float64(d)); err != nil {
		return nil, err
	}
	alpha2 := alpha * alpha
	if d > 1 && alpha == DefaultAdaHedgeAlpha(d) {
		alpha2 = portable.Log(float64(d)) // the root is rounded, so its square may differ
	}
	if alpha < 0 || !(alpha2 > 0) || !vec.IsFinite(alpha2) {
		return nil, noregret.BadInputf("alpha", "%v: want a finite number above 0", alpha)
	}
	l := &AdaHedge{alpha2: alpha2, point: make([]float64, d), text: fmt.Sprintf("adahedge(d=%d, alpha²=%v)", d, alpha2)}
	l.state.Dual.Theta = make([]float64, d)
	return l, nil
}

// Dim implements [Learner].
func (l *AdaHedge) Dim() int { return len(l.point) }

// Rounds implements [Counter].
func (l *AdaHedge) Rounds() int { return l.state.Dual.T }

// Lambda is λ_t, the inverse of the current rate; 0 while all losses so far were constant vectors.
func (l *AdaHedge) Lambda() float64 { return l.state.Lambda.value() }

// Predict implements [Learner].
func (l *AdaHedge) Predict() []float64 {
	if !l.fresh {
		lambda := l.Lambda()
		top := largest(l.state.Dual.Theta)
		for i, v := range l.state.Dual.Theta {
			l.point[i] = 0
			if lambda > 0 {
				l.point[i] = (v - top) / lambda // may be -Inf, never +Inf
			}
		}
		convex.Softmax(l.point, l.point)
		l.fresh = true
	}
	return l.point
}

// Update implements [Learner].
func (l *AdaHedge) Update(g []float64) error {
	largest, delta, err := l.check(g)
	if err != nil {
		return err
	}
	l.accept(g, largest, delta)
	return nil
}

// check checks a subgradient and returns its largest absolute value and the increase of λ. It
// changes nothing.
func (l *AdaHedge) check(g []float64) (largest, delta float64, err error) {
	if largest, err = l.state.Dual.check(g); err != nil {
		return 0, 0, err
	}
	delta = mixabilityGap(l.Predict(), g, l.state.Dual.Theta, l.Lambda()) / l.alpha2
	if !vec.IsFinite(l.Lambda() + delta) {
		return 0, 0, noregret.BadInputf("gradient", "the mixability gap leaves the range of float64")
	}
	return largest, delta, nil
}

// accept ends the round with a subgradient that check has passed.
func (l *AdaHedge) accept(g []float64, largest, delta float64) {
	st := &l.state
	st.Lambda.add(delta)
	st.Q.addScalar(largest)
	st.Dual.subtract(g, largest)
	l.fresh = false
}

// rescale multiplies all losses so far by 2^e. The algorithm is scale-free: no point changes, but
// for values that leave the range of float64.
func (l *AdaHedge) rescale(e int) {
	st := &l.state
	for i, v := range st.Dual.Theta {
		st.Dual.Theta[i] = math.Ldexp(v, e)
	}
	st.Dual.Mass = math.Ldexp(st.Dual.Mass, e)
	st.Lambda.S, st.Lambda.C = math.Ldexp(st.Lambda.S, e), math.Ldexp(st.Lambda.C, e)
	st.Q.Exp += e
	l.fresh = false
}

// mixabilityGap is δ = ⟨g, x⟩ + λ·ln Σ_j x_j·exp(−g_j/λ) ≥ 0 for x = softmax(θ/λ), or ⟨g,
// x⟩ − min g for λ = 0. As Σ x_j·z_j = 0 for z_j = (⟨g, x⟩ − g_j)/λ, it is λ·log1p(Σ
// x_j·φ(z_j)) with φ(z) = exp(z) − 1 − z ≥ 0: exact for small gaps, where the formula as printed
// returns rounding errors.
func mixabilityGap(x, g, theta []float64, lambda float64) float64 {
	least := g[0]
	for _, v := range g {
		least = min(least, v)
	}
	// h is kept relative to the least loss, so that equal losses have a gap of exactly 0.
	var h float64
	for j, v := range g {
		h += float64(x[j] * (v - least))
	}
	if lambda == 0 {
		return h
	}
	if h/lambda > 30 {
		// Sums of logarithms, in units of the losses: no large number is divided by λ.
		top, peak := largest(theta), math.Inf(-1)
		for j, v := range theta {
			peak = max(peak, (v-top)-(g[j]-least))
		}
		var all, mixed float64
		for j, v := range theta {
			all += portable.Exp((v - top) / lambda)
			mixed += portable.Exp(((v - top) - (g[j] - least) - peak) / lambda)
		}
		return max(h+peak+float64(lambda*(portable.Log(mixed)-portable.Log(all))), 0)
	}
	var s float64
	for j, v := range g {
		if x[j] > 0 {
			s += float64(x[j] * phi((h-(v-least))/lambda))
		}
	}
	return lambda * portable.Log1p(s)
}

// phi is exp(z) − 1 − z ≥ 0, to full relative precision.
func phi(z float64) float64 {
	if math.Abs(z) < 0.5 {
		// Its series z²/2·(1 + z/3·(1 + z/4·(1 + ...))); for |z| < ½ sixteen factors are below
		// 1e-17.
		s := 1.0
		for k := 18.0; k >= 3; k-- {
			s = 1 + float64(z/k*s)
		}
		return float64(z*z/2) * s
	}
	return portable.Exp(z) - 1 - z
}

// Bound implements [Bounder].
func (l *AdaHedge) Bound(u []float64) (float64, error) {
	if err := checkFinite("comparator", u, l.Dim()); err != nil {
		return 0, err
	}
	if !onSimplex(u) {
		return math.Inf(1), nil
	}
	return orInf((entropyGap(u) + l.alpha2) * l.Lambda()), nil
}

// PriorBound is the a-priori guarantee: ((Σu·ln u + ln d)/α² + 1)·√((4 + α²)·Q_T). It is
// never below Bound.
func (l *AdaHedge) PriorBound(u []float64) (float64, error) {
	if b, err := l.Bound(u); err != nil || math.IsInf(b, 1) {
		return b, err
	}
	return (entropyGap(u)/l.alpha2 + 1) * math.Sqrt(4+l.alpha2) * l.state.Q.root(), nil
}

// String describes the learner and its options in one line.
func (l *AdaHedge) String() string { return l.text }

// MarshalBinary implements [Snapshotter].
func (l *AdaHedge) MarshalBinary() ([]byte, error) {
	return snapshot.Seal(snapshotMagic, l.text, &l.state)
}

// UnmarshalBinary implements [Snapshotter].
func (l *AdaHedge) UnmarshalBinary(data []byte) error {
	l.fresh = false
	return restore(data, l.text, &l.state, func(s *adaHedgeState) error {
		if !vec.IsFinite(s.Lambda.S) || !(s.Lambda.S >= 0) {
			return snapshot.Bad("damaged: λ is %v", s.Lambda.S)
		}
		return checkState(l.Dim(), s.Dual.T, s.Dual.Theta)
	})
}
