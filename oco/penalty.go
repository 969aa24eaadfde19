package oco

import (
	"fmt"
	"math"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/convex"
	"github.com/noregret/noregret/internal/snapshot"
	"github.com/noregret/noregret/internal/vec"
)

// Penalty is a closed convex function r on ℝ^d, part of every round's loss, with a proximal map. It
// may be +Inf outside of a set, and points are then played in that set. Make one with [L1Penalty],
// [L2Penalty], [ElasticNetPenalty] or [GroupPenalty], whose weights are checked by
// [NewPenalizedFTRL], or implement it. Implementations are immutable; methods do not allocate.
type Penalty interface {
	// Value is r(x).
	Value(x []float64) float64
	// Prox writes argmin_x k·r(x) + ½‖x − v‖₂² to dst, for k > 0; dst may be v.
	Prox(dst, v []float64, k float64)
	// String describes it in one line, all parameters included; it goes into snapshots.
	String() string
}

// penalty is a Penalty of package convex's proximal maps.
type penalty struct {
	dim   int // 0 for any
	valid bool
	name  string
	value func(x []float64) float64
	prox  func(dst, v []float64, k float64)
}

func (p *penalty) Value(x []float64) float64        { return p.value(x) }
func (p *penalty) Prox(dst, v []float64, k float64) { p.prox(dst, v, k) }
func (p *penalty) String() string                   { return p.name }

// weights reports whether all are finite and at least 0.
func weights(ks ...float64) bool {
	for _, k := range ks {
		if checkWeight(k) != nil {
			return false
		}
	}
	return true
}

// L1Penalty is r = k‖x‖₁, k ≥ 0, whose points have exact zeros.
func L1Penalty(k float64) Penalty {
	return &penalty{
		0, weights(k), fmt.Sprintf("l1(%v)", k),
		func(x []float64) float64 { return k * convex.L1.Of(x) },
		func(dst, v []float64, s float64) { convex.ProxL1(dst, v, k*s) },
	}
}

// L2Penalty is r = k‖x‖₂, k ≥ 0, whose points are exactly 0 while the subgradients are small.
func L2Penalty(k float64) Penalty {
	return &penalty{
		0, weights(k), fmt.Sprintf("l2(%v)", k),
		func(x []float64) float64 { return k * vec.Norm2(x) },
		func(dst, v []float64, s float64) { convex.ProxL2(dst, v, k*s) },
	}
}

// ElasticNetPenalty is r = k1‖x‖₁ + (k2/2)‖x‖₂², k1, k2 ≥ 0.
func ElasticNetPenalty(k1, k2 float64) Penalty {
	return &penalty{
		0, weights(k1, k2), fmt.Sprintf("elastic-net(%v, %v)", k1, k2),
		func(x []float64) float64 { return float64(k1*convex.L1.Of(x)) + float64(k2/2*vec.Dot(x, x)) },
		func(dst, v []float64, s float64) { convex.ProxElasticNet(dst, v, k1*s, k2*s) },
	}
}

// GroupPenalty is r = k·Σ‖x_g‖₂ over the blocks of the norm, k ≥ 0, or k times the largest block's
// norm for the dual of such a norm. Whole blocks of its points are exactly 0 (the group lasso).
func GroupPenalty(norm *convex.GroupNorm, k float64) Penalty {
	if norm == nil {
		return &penalty{name: "group without a norm"}
	}
	return &penalty{
		norm.Dim(), weights(k), fmt.Sprintf("group(%v, %v)", norm, k),
		func(x []float64) float64 { return k * norm.Of(x) },
		func(dst, v []float64, s float64) { convex.ProxGroup(dst, v, norm, k*s) },
	}
}

// PenalizedFTRL is follow-the-regularized-leader for losses f_t(x) + r(x) that does not linearize a
// penalty r with a proximal map (Xiao 2010; Orabona 2019, section 7.7), with g_t a subgradient of
// f_t alone, θ_t = −Σ_{i<t} g_i and c_t = L·√t:
//
//	x_t = argmin_x −⟨θ_t, x⟩ + (c_t/2)‖x‖₂² + t·r(x) = Prox_{(t/c_t)·r}(θ_t/c_t).
//
// [CompositeFTRL] is the case r = κ‖x‖₁, with sparse rounds.
//
// Guarantee (Bound), on the full losses: Σ f_t(x_t) + r(x_t) − f_t(u) − r(u) ≤ c_T·‖u‖²/2 +
// ½Σ‖g_t‖²/c_t, at most L·√T·(‖u‖²/2 + 1) when ‖g_t‖₂ ≤ L, whatever r is. A round costs O(d) and a
// proximal map; memory is O(d).
type PenalizedFTRL struct {
	r         Penalty
	lipschitz float64
	state     ftrlState
	point     []float64
	fresh     bool
	text      string
}

// NewPenalizedFTRL plays on ℝ^d, with L = lipschitz > 0.
func NewPenalizedFTRL(d int, lipschitz float64, r Penalty) (*PenalizedFTRL, error) {
	if err := checkDim(d, 3*float64(d)); err != nil {
		return nil, err
	}
	if err := positive("lipschitz", lipschitz); err != nil {
		return nil, err
	}
	if r == nil {
		return nil, noregret.BadInputf("penalty", "nil: want a penalty")
	}
	if p, ok := r.(*penalty); ok && (!p.valid || p.dim != 0 && p.dim != d) {
		return nil, noregret.BadInputf("penalty", "%v in dimension %d: want finite weights, at least 0, and groups "+
			"of %d coordinates in all", r, d, d)
	}
	l := &PenalizedFTRL{r: r, lipschitz: lipschitz, point: make([]float64, d)}
	l.state.Dual.Theta = make([]float64, d)
	l.text = fmt.Sprintf("penalized-ftrl(d=%d, lipschitz=%v, penalty=%v)", d, lipschitz, r)
	r.Prox(l.point, l.point, 1/lipschitz) // x_1
	if err := checkFinite("penalty", l.point, d); err != nil {
		return nil, err
	}
	l.fresh = true
	return l, nil
}

// Dim implements [Learner].
func (l *PenalizedFTRL) Dim() int { return len(l.point) }

// Rounds implements [Counter].
func (l *PenalizedFTRL) Rounds() int { return l.state.Dual.T }

// weight is c_t of round t.
func (l *PenalizedFTRL) weight(t int) float64 { return l.lipschitz * math.Sqrt(float64(t)) }

// Predict implements [Learner].
func (l *PenalizedFTRL) Predict() []float64 {
	if !l.fresh {
		t := l.state.Dual.T + 1
		c := l.weight(t)
		for i, v := range l.state.Dual.Theta {
			l.point[i] = v / c
		}
		l.r.Prox(l.point, l.point, float64(t)/c)
		l.fresh = true
	}
	return l.point
}

// Update implements [Learner]: g is a subgradient of f_t, without the penalty.
func (l *PenalizedFTRL) Update(g []float64) error {
	s, e, err := checkSquared("gradient", g, l.Dim())
	if err != nil {
		return err
	}
	norm := math.Ldexp(math.Sqrt(s), e) // at least the largest value
	if err := l.state.Dual.checkRange(norm); err != nil {
		return err
	}
	c := l.weight(l.state.Dual.T + 1)
	if q := (l.state.Dual.Mass + norm) / c; !(q < math.MaxFloat64/4) {
		return noregret.BadInputf("gradient",
			"the sum of the subgradients' norms over the regularizer's weight is %v: "+
				"it leaves the range of float64", q)
	}
	l.state.Dual.subtract(g, norm)
	l.state.Spent.add(math.Ldexp(s/c, 2*e))
	l.fresh = false
	return nil
}

// Bound implements [Bounder], for the regret on the full losses; +Inf for u where r is.
func (l *PenalizedFTRL) Bound(u []float64) (float64, error) {
	if err := checkFinite("comparator", u, l.Dim()); err != nil {
		return 0, err
	}
	switch {
	case !vec.IsFinite(l.r.Value(u)):
		return math.Inf(1), nil
	case l.state.Dual.T == 0:
		return 0, nil
	}
	return orInf(float64(l.weight(l.state.Dual.T)*vec.Dot(u, u)/2) + float64(l.state.Spent.value()/2)), nil
}

// String describes the learner and its options in one line.
func (l *PenalizedFTRL) String() string { return l.text }

// MarshalBinary implements [Snapshotter].
func (l *PenalizedFTRL) MarshalBinary() ([]byte, error) {
	return snapshot.Seal(snapshotMagic, l.text, &l.state)
}

// UnmarshalBinary implements [Snapshotter].
func (l *PenalizedFTRL) UnmarshalBinary(data []byte) error {
	l.fresh = false
	return restore(data, l.text, &l.state, func(s *ftrlState) error {
		return checkState(l.Dim(), s.Dual.T, s.Dual.Theta)
	})
}
