package oco

import (
	"math"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/convex"
	"github.com/noregret/noregret/internal/snapshot"
	"github.com/noregret/noregret/internal/vec"
)

// OptimisticMirrorDescent is mirror descent that takes a guess h_t of the coming subgradient
// (Chiang et al. 2012; Rakhlin and Sridharan 2013):
//
//	x_t = argmin_{x∈V} ⟨h_t, x⟩ + B_ψ(x; y_t)/η_t,   y_{t+1} = argmin_{y∈V} ⟨g_t, y⟩ + B_ψ(y; y_t)/η_t.
//
// It plays x_t; y_t moves by true subgradients only. Without hints it is [MirrorDescent]. The rate
// of a round is used before its subgradient is known, so [Adaptive] and [StronglyConvex] are not
// allowed.
//
// Guarantee (Bound), for ψ λ-strongly convex in ‖·‖ on V: constant rates: B_ψ(u; y_1)/η +
// (η/2λ)·Σ‖g_t − h_t‖*²; others, with D ≥ B_ψ(u; y_t) for all t: D·(1/η_1 + Σ_{t≥2} (1/η_t −
// 1/η_{t−1})₊) + (1/2λ)·Σ η_t‖g_t − h_t‖*². It follows from the inequality of three points for both
// steps, ⟨g_t, x_t − u⟩ ≤ (B(u; y_t) − B(u; y_{t+1}))/η_t + ‖g_t − h_t‖*·‖x_t − y_{t+1}‖ −
// (λ/2η_t)‖x_t − y_{t+1}‖².
//
// A round costs three mirror maps, O(d) for most; memory is O(d).
type OptimisticMirrorDescent struct {
	base  *MirrorDescent // its point is y_t
	state optimisticMirrorState
	point []float64
	diff  []float64
	fresh bool
	text  string
}

type optimisticMirrorState struct {
	Hint  []float64
	Base  []byte // in snapshots only
	Spent sum    // Σ η_t‖g_t − h_t‖*²
}

// NewOptimisticMirrorDescent plays in the regularizer's set. Start and divergence are those of
// [NewMirrorDescent]; the rate is [Constant], [FixedHorizon], [InverseSqrt] or a [RateFunc].
func NewOptimisticMirrorDescent(reg convex.Regularizer, start []float64, rate Rate, divergence float64,
) (*OptimisticMirrorDescent, error) {
	if rate.kind == adaptiveRate || rate.kind == stronglyConvexRate {
		return nil, noregret.BadInputf("rate", "%v: it depends on the round's subgradient, before which the point is "+
			"played", rate)
	}
	base, err := NewMirrorDescent(reg, start, rate, divergence)
	if err != nil {
		return nil, err
	}
	if err := exactOracle(reg); err != nil {
		return nil, err
	}
	d := base.Dim()
	l := &OptimisticMirrorDescent{base: base, point: make([]float64, d), diff: make([]float64, d)}
	l.state.Hint = make([]float64, d)
	l.text = "optimistic-" + base.text
	return l, nil
}

// Dim implements [Learner].
func (l *OptimisticMirrorDescent) Dim() int { return l.base.Dim() }

// Rounds implements [Counter].
func (l *OptimisticMirrorDescent) Rounds() int { return l.base.Rounds() }

// Hint implements [Hinted]. A hint whose step leaves the range of float64, or ends on the boundary
// of the map's domain, is refused.
func (l *OptimisticMirrorDescent) Hint(h []float64) error {
	if err := l.checkHint(h); err != nil {
		return err
	}
	copy(l.state.Hint, h)
	l.fresh = false
	return nil
}

func (l *OptimisticMirrorDescent) checkHint(h []float64) error {
	if err := checkFinite("hint", h, l.Dim()); err != nil {
		return err
	}
	if !l.step(l.diff, h) {
		return noregret.BadInputf("hint", "the step leaves the domain of %v, or the range of float64",
			l.base.reg.Map())
	}
	return nil
}

// step writes argmin ⟨h, x⟩ + B(x; y_t)/η_t to dst and reports whether it is in the interior of the
// domain.
func (l *OptimisticMirrorDescent) step(dst, h []float64) bool {
	eta, ok := l.base.rate.ahead(l.base.state.Rate.T + 1)
	if !ok {
		return false
	}
	y := l.base.state.X
	l.base.reg.Map().Gradient(dst, y)
	for i, v := range h {
		dst[i] -= float64(eta * v)
	}
	if !vec.IsFinite(vec.MaxAbs(dst)) {
		return false
	}
	l.base.reg.Argmax(dst, dst)
	return vec.IsFinite(vec.MaxAbs(dst)) && l.base.reg.Map().Interior(dst)
}

// ahead is η_t of a schedule that does not depend on the subgradients. It reports false if that is
// no valid step size.
func (r Rate) ahead(t int) (float64, bool) {
	eta := r.a
	switch r.kind {
	case inverseSqrtRate:
		eta = r.a / math.Sqrt(float64(t))
	case funcRate:
		eta = r.f(t)
	}
	return eta, eta > 0 && vec.IsFinite(eta)
}

// Predict implements [Learner].
func (l *OptimisticMirrorDescent) Predict() []float64 {
	if !l.fresh {
		if vec.MaxAbs(l.state.Hint) == 0 || !l.step(l.point, l.state.Hint) {
			copy(l.point, l.base.state.X)
		}
		l.fresh = true
	}
	return l.point
}

// Update implements [Learner]. It also clears the hint: the next hint is 0 until Hint is called.
func (l *OptimisticMirrorDescent) Update(g []float64) error {
	if err := checkFinite("gradient", g, l.Dim()); err != nil {
		return err
	}
	eta, _ := l.base.rate.ahead(l.base.state.Rate.T + 1) // refused by the base if there is none
	for i, v := range g {
		l.diff[i] = v - l.state.Hint[i]
	}
	s, e := squareOf(l.base.dual.Of(l.diff))
	if !vec.IsFinite(s) {
		return noregret.BadInputf("gradient", "its distance to the hint leaves the range of float64")
	}
	if err := l.base.Update(g); err != nil {
		return err
	}
	l.state.Spent.add(math.Ldexp(float64(eta*s), 2*e))
	clear(l.state.Hint)
	l.fresh = false
	return nil
}

// Bound implements [Bounder].
func (l *OptimisticMirrorDescent) Bound(u []float64) (float64, error) {
	b := l.base
	if inside, err := comparator(u, b.reg.Set()); err != nil || !inside {
		return math.Inf(1), err
	}
	st := &b.state.Rate
	if st.LastEta == 0 {
		return 0, nil
	}
	spent := l.state.Spent.value() / (2 * b.lambda)
	if b.rate.kind == constantRate {
		return orInf(b.reg.Map().Divergence(u, b.start)/b.rate.a + spent), nil
	}
	return orInf(float64(b.divergence*st.Rise.value()) + spent), nil
}

// String describes the learner and its options in one line.
func (l *OptimisticMirrorDescent) String() string { return l.text }

// MarshalBinary implements [Snapshotter].
func (l *OptimisticMirrorDescent) MarshalBinary() ([]byte, error) {
	s := l.state
	var err error
	if s.Base, err = l.base.MarshalBinary(); err != nil {
		return nil, err
	}
	return snapshot.Seal(snapshotMagic, l.text, &s)
}

// UnmarshalBinary implements [Snapshotter].
func (l *OptimisticMirrorDescent) UnmarshalBinary(data []byte) error {
	l.fresh = false
	return restore(data, l.text, &l.state, func(s *optimisticMirrorState) error {
		if err := checkState(l.Dim(), 0, s.Hint); err != nil {
			return err
		}
		if !(s.Spent.value() >= 0) {
			return snapshot.Bad("damaged: its sum is %v", s.Spent.value())
		}
		if err := l.base.UnmarshalBinary(s.Base); err != nil {
			return err
		}
		s.Base = nil
		return nil
	})
}
