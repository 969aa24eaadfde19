package oco

import (
	"fmt"
	"math"
	"slices"

	"github.com/noregret/noregret"

	"github.com/noregret/noregret/convex"
	"github.com/noregret/noregret/internal/snapshot"
	"github.com/noregret/noregret/internal/vec"
)

// MirrorDescent is online mirror descent (Nemirovsky and Yudin 1983; Beck and Teboulle 2003;
// Orabona 2019, Algorithm 6.1 and Theorem 6.11),
//
//	x_{t+1} = argmin_{x∈V} ⟨g_t, x⟩ + B_ψ(x; x_t)/η_t = ∇ψ_V*(∇ψ(x_t) − η_t g_t).
//
// It remembers the point x_t, after the projection: that is the difference from [FTRL]. With the
// quadratic map it is [SubgradientDescent].
//
// Guarantees (Bound), for ψ λ-strongly convex in ‖·‖ on V (Theorem 6.8): constant rates: B_ψ(u;
// x_1)/η + (η/2λ)·Σ‖g_t‖*²; decreasing ones, with D ≥ B_ψ(u; x_t) for all t: D/η_T + (1/2λ)·Σ
// η_t‖g_t‖*². With [Adaptive] the best scale is √(λD), for 2√(D/λ)·√Q_T. If the divergence is
// unbounded, as for negative entropy on the whole simplex, a decreasing rate has no guarantee, and
// fails (Remark 6.16): use [FTRL].
//
// With [StronglyConvex]: (1/2λ)·Σ η_t‖g_t‖*², for losses that are μ_t-strongly convex relative to
// ψ, l_t(u) ≥ l_t(x) + ⟨g, u − x⟩ + μ_t·B_ψ(u; x) (the telescoping sum of Theorem 4.7 with
// B_ψ in place of ½‖·‖²). UpdateCurved takes strong convexity in the Euclidean norm, like every
// [Curved] learner, and divides it by the smoothness of ψ, as B_ψ(u; x) ≤ (M/2)‖u − x‖₂²;
// UpdateRelative takes it relative to ψ.
//
// For a [convex.Certified] regularizer on a bounded set the bound has Σ gap_t/η_t besides: its gap
// is that of Frank and Wolfe, by which the step misses its optimality condition. On ℝ^d such a
// regularizer leaves the learner without a bound.
//
// A round costs two mirror maps, O(d) for most; memory is O(d).
type MirrorDescent struct {
	reg        convex.Regularizer
	rate       Rate
	divergence float64
	start      []float64
	lambda     float64
	dual       convex.Norm
	smooth     float64 // M with B_ψ(u; x) ≤ (M/2)‖u − x‖₂², +Inf if none is known
	state      subgradientState
	next       []float64
	numeric    convex.Certified // reg if its Argmax is an iteration
	text       string
}

// Smooth is a mirror map that is smooth in the Euclidean norm. [MirrorDescent] needs it to use the
// strong convexity of losses in that norm. The quadratic maps of package convex need not have it.
type Smooth interface {
	// Smoothness is the least known M with B_ψ(x; y) ≤ (M/2)‖x − y‖₂², +Inf if there is none.
	Smoothness() float64
}

// smoothness is the M of [Smooth] for a map, +Inf if none is known.
func smoothness(psi convex.MirrorMap) float64 {
	if s, ok := psi.(Smooth); ok {
		return s.Smoothness()
	}
	d := psi.Dim()
	column := make([]float64, d)
	switch psi.(type) {
	case *convex.Quadratic:
		return 1
	case *convex.DiagonalQuadratic:
		for i := range column {
			column[i] = 1
		}
		psi.Gradient(column, column) // the diagonal
		return largest(column)
	case *convex.MatrixQuadratic:
		var top float64 // ‖S‖∞, at least the largest eigenvalue
		for i := range d {
			clear(column)
			column[i] = 1
			psi.Gradient(column, column)
			top = max(top, convex.L1.Of(column))
		}
		return top * (1 + 0x1p-40) // rounding of the columns
	}
	return math.Inf(1)
}

// exactOracle refuses a regularizer whose Argmax is an iteration, for learners whose bound does not
// count its gap.
func exactOracle(reg convex.Regularizer) error {
	if _, ok := reg.(convex.Certified); ok {
		return noregret.BadInputf("regularizer", "%v: its Argmax is an iteration, and the bound of this learner "+
			"needs an exact one; FTRL and MirrorDescent take it", reg)
	}
	return nil
}

// NewMirrorDescent plays in the regularizer's set from start, which must be in the interior of the
// map's domain; nil is the minimizer of ψ. The divergence is a bound on B_ψ(u; x_t) over the
// comparators of interest, used for decreasing rates; +Inf if none is known, which for the
// Euclidean map stands for D²/2.
func NewMirrorDescent(reg convex.Regularizer, start []float64, rate Rate, divergence float64) (*MirrorDescent, error) {
	if reg == nil {
		return nil, noregret.BadInputf("regularizer", "nil: want a regularizer")
	}
	if err := rate.validate(); err != nil {
		return nil, err
	}
	if !(divergence > 0) {
		return nil, noregret.BadInputf("divergence", "%v: want a number above 0, +Inf if no bound is known", divergence)
	}
	set, psi := reg.Set(), reg.Map()
	if start == nil {
		start = make([]float64, set.Dim())
		reg.Argmax(start, start)
	}
	x, err := startIn(set, start)
	if err != nil {
		return nil, err
	}
	if !psi.Interior(x) {
		return nil, noregret.BadInputf("start", "%s: not in the interior of the domain of %v, where steps are "+
			"defined",
			brief(x), psi)
	}
	if _, ok := psi.(*convex.Quadratic); ok && math.IsInf(divergence, 1) {
		divergence = set.Diameter() * set.Diameter() / 2
	}
	lambda, norm := reg.StrongConvexity()
	if !(lambda > 0) {
		return nil, noregret.BadInputf("regularizer", "%v: not strongly convex", reg)
	}
	l := &MirrorDescent{
		reg: reg, rate: rate, divergence: divergence, start: x, lambda: lambda, dual: norm.Dual(),
		smooth: math.Inf(1), next: make([]float64, len(x)),
	}
	l.numeric, _ = reg.(convex.Certified)
	if rate.kind == stronglyConvexRate {
		if l.smooth = smoothness(psi); !(l.smooth > 0) {
			return nil, noregret.BadInputf("regularizer", "%v: its smoothness is %v, which must be above 0", reg,
				l.smooth)
		}
	}
	l.state.X = slices.Clone(x)
	l.text = fmt.Sprintf("mirror-descent(%v, rate=%v, start=%s, divergence=%v)", reg, rate, digest(x), divergence)
	return l, nil
}

// Dim implements [Learner].
func (l *MirrorDescent) Dim() int { return len(l.start) }

// Rounds implements [Counter].
func (l *MirrorDescent) Rounds() int { return l.state.Rate.T }

// Predict implements [Learner].
func (l *MirrorDescent) Predict() []float64 { return l.state.X }

// Update implements [Learner].
func (l *MirrorDescent) Update(g []float64) error { return l.update(g, -1) }

// UpdateCurved implements [Curved] for a loss that is mu-strongly convex in the Euclidean norm, and
// so mu/M-strongly convex relative to an M-smooth ψ. For a map of unknown smoothness the rate's own
// constant is used, and the round is refused if that is 0. Rates other than [StronglyConvex] ignore
// mu.
func (l *MirrorDescent) UpdateCurved(g []float64, mu float64) error {
	if err := checkMu(mu); err != nil {
		return err
	}
	if l.rate.kind != stronglyConvexRate {
		return l.update(g, -1)
	}
	if math.IsInf(l.smooth, 1) {
		if l.rate.a == 0 && mu > 0 {
			return noregret.BadInputf("mu", "%v: it is in the Euclidean norm, in which %v is not smooth, so nothing "+
				"follows for the divergence; use UpdateRelative", mu, l.reg.Map())
		}
		return l.update(g, -1)
	}
	return l.update(g, mu/l.smooth)
}

// UpdateRelative is Update for a loss that is mu-strongly convex relative to ψ, mu ≥ 0: l(u) ≥ l(x)
// + ⟨g, u − x⟩ + mu·B_ψ(u; x) for all u in the set. Rates other than [StronglyConvex] ignore mu.
func (l *MirrorDescent) UpdateRelative(g []float64, mu float64) error {
	if err := checkMu(mu); err != nil {
		return err
	}
	return l.update(g, mu)
}

func (l *MirrorDescent) update(g []float64, mu float64) error {
	largest, err := checkVector("gradient", g, l.Dim())
	if err != nil {
		return err
	}
	s, e := l.squareOfDual(g, largest)
	eta, st, err := l.rate.next(l.state.Rate, s, e, mu)
	if err != nil {
		return err
	}
	if largest != 0 && !eta.zero() {
		x := l.state.X
		l.reg.Map().Gradient(l.next, x)
		for i, v := range g {
			l.next[i] -= eta.of(v)
		}
		if !vec.IsFinite(vec.MaxAbs(l.next)) {
			return noregret.BadInputf("gradient", "the step with η = %v leaves the range of float64", eta)
		}
		gap := l.step()
		if !vec.IsFinite(vec.MaxAbs(l.next)) || !l.reg.Map().Interior(l.next) {
			return noregret.BadInputf("gradient",
				"the step with η = %v ends on the boundary of the domain of %v; take a "+
					"smaller rate, or a learner that remembers sums", eta, l.reg.Map())
		}
		l.state.X, l.next = l.next, x
		if gap > 0 {
			l.state.Slack += float64(gap * eta.inverse())
		}
	}
	l.state.Rate = st
	return nil
}

// step replaces next, which is ∇ψ(x) − η·g, by the next point, and returns its gap.
func (l *MirrorDescent) step() (gap float64) {
	if l.numeric == nil {
		l.reg.Argmax(l.next, l.next)
		return 0
	}
	gap = l.numeric.ArgmaxGap(l.next, l.next)
	if _, ok := l.reg.Set().(*convex.Space); ok {
		return math.Inf(1) // the gap says nothing about comparators far away
	}
	return gap
}

// squareOfDual is ‖g‖*² as s·2^(2e), for a g of the largest absolute value m.
func (l *MirrorDescent) squareOfDual(g []float64, m float64) (s float64, e int) {
	const small = 0x1p-960 // below, norms are denormal
	if m == 0 || m > small {
		return squareOf(l.dual.Of(g))
	}
	for i, v := range g {
		l.next[i] = v / small
	}
	s, e = squareOf(l.dual.Of(l.next))
	return s, e - 960
}

// Bound implements [Bounder].
func (l *MirrorDescent) Bound(u []float64) (float64, error) {
	if inside, err := comparator(u, l.reg.Set()); err != nil || !inside {
		return math.Inf(1), err
	}
	st := &l.state.Rate
	spent := st.Spent.value()/(2*l.lambda) + l.state.Slack
	switch {
	case st.LastEta == 0:
		return 0, nil
	case l.rate.kind == constantRate:
		return orInf(l.reg.Map().Divergence(u, l.start)/l.rate.a + spent), nil
	case l.rate.kind == stronglyConvexRate:
		return orInf(spent), nil
	}
	return orInf(float64(l.divergence*st.Rise.value()) + spent), nil
}

// String describes the learner and its options in one line.
func (l *MirrorDescent) String() string { return l.text }

// MarshalBinary implements [Snapshotter].
func (l *MirrorDescent) MarshalBinary() ([]byte, error) {
	return snapshot.Seal(snapshotMagic, l.text, &l.state)
}

// UnmarshalBinary implements [Snapshotter].
func (l *MirrorDescent) UnmarshalBinary(data []byte) error {
	return restore(data, l.text, &l.state, func(s *subgradientState) error {
		return checkState(l.Dim(), s.Rate.T, s.X)
	})
}
