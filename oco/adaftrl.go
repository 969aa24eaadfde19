package oco

import (
	"fmt"
	"math"

	"github.com/noregret/noregret"

	"github.com/noregret/noregret/convex"
	"github.com/noregret/noregret/internal/snapshot"
	"github.com/noregret/noregret/internal/vec"
)

// AdaFTRL is [AdaHedge]'s recipe for any regularizer on a bounded set (Orabona and Pál 2015;
// Orabona 2019, section 7.6): ψ_t = λ_t·ψ with
//
//	λ_{t+1} = λ_t + δ_t/α²,   δ_t = min_V F_t − min_V (λ_t·ψ + Σ_{i≤t}⟨g_i, ·⟩) + ⟨g_t, x_t⟩ ≥ 0,
//
// where F_t = λ_t·ψ + Σ_{i<t}⟨g_i, ·⟩ has its minimum at x_t. It has no parameters that depend on
// the losses, and is any-time and scale-free. δ_t is computed as λ_t times the divergence from the
// next point to this one plus the pull of the set, both nonnegative, and not as a difference of
// large numbers.
//
// Guarantee (Bound): (ψ(u) − min ψ + α²)·λ_{T+1}. The best alpha² is near the range of ψ on V. A
// round costs two mirror maps; memory is O(d).
type AdaFTRL struct {
	reg    convex.Regularizer
	alpha2 float64
	state  adaFTRLState
	point  []float64
	work   []float64
	after  []float64
	grad   []float64
	fresh  bool
	text   string
}

type adaFTRLState struct {
	Dual   dualSum
	Lambda sum
}

// NewAdaFTRL plays in the regularizer's set, which must be bounded. Alpha is above 0.
func NewAdaFTRL(reg convex.Regularizer, alpha float64) (*AdaFTRL, error) {
	if reg == nil {
		return nil, noregret.BadInputf("regularizer", "nil: want a regularizer")
	}
	if err := exactOracle(reg); err != nil {
		return nil, err
	}
	if err := positive("alpha", alpha); err != nil {
		return nil, err
	}
	if math.IsInf(reg.Set().Diameter(), 1) {
		return nil, noregret.BadInputf("regularizer", "%v: its set is unbounded", reg)
	}
	if lambda, _ := reg.StrongConvexity(); !(lambda > 0) {
		return nil, noregret.BadInputf("regularizer", "%v: not strongly convex", reg)
	}
	d := reg.Set().Dim()
	l := &AdaFTRL{
		reg: reg, alpha2: alpha * alpha, point: make([]float64, d), work: make([]float64, d),
		after: make([]float64, d), grad: make([]float64, d),
	}
	l.state.Dual.Theta = make([]float64, d)
	l.text = fmt.Sprintf("adaftrl(%v, alpha=%v)", reg, alpha)
	return l, nil
}

// Dim implements [Learner].
func (l *AdaFTRL) Dim() int { return len(l.point) }

// Rounds implements [Counter].
func (l *AdaFTRL) Rounds() int { return l.state.Dual.T }

// Predict implements [Learner].
func (l *AdaFTRL) Predict() []float64 {
	if !l.fresh {
		lambda := l.state.Lambda.value()
		clear(l.point)
		if lambda > 0 {
			for i, v := range l.state.Dual.Theta {
				l.point[i] = v / lambda
			}
		}
		l.reg.Argmax(l.point, l.point)
		l.fresh = true
	}
	return l.point
}

// Update implements [Learner].
func (l *AdaFTRL) Update(g []float64) error {
	largest, err := l.state.Dual.check(g)
	if err != nil {
		return err
	}
	x, theta, lambda := l.Predict(), l.state.Dual.Theta, l.state.Lambda.value()
	var delta float64
	if lambda == 0 || !vec.IsFinite((l.state.Dual.Mass+largest)/lambda) {
		// All losses so far were constant on V, or λψ is negligible beside them: use the definition
		// without λψ.
		for i, v := range theta {
			l.work[i] = g[i] - v
		}
		low, err := l.reg.Set().Minimize(l.after, l.work)
		if err != nil {
			return err
		}
		delta = max(vec.Dot(l.work, x)-low, 0)
	} else {
		for i, v := range theta {
			l.work[i] = (v - g[i]) / lambda
		}
		l.reg.Argmax(l.after, l.work)
		if y := l.after; l.reg.Map().Interior(y) {
			l.reg.Map().Gradient(l.grad, y)
			var pull float64
			for i, v := range l.grad {
				pull += float64((v - l.work[i]) * (x[i] - y[i]))
			}
			delta = lambda * (l.reg.Map().Divergence(x, y) + max(pull, 0))
		} else { // ψ has no gradient at the next point: use the definition
			after := l.reg.Conjugate(l.work)
			for i, v := range theta {
				l.work[i] = v / lambda
			}
			delta = max(float64(lambda*(after-l.reg.Conjugate(l.work)))+vec.Dot(g, x), 0)
		}
	}
	next := lambda + delta/l.alpha2
	if !vec.IsFinite(next) || next > 0 && !vec.IsFinite((l.state.Dual.Mass+largest)/next) {
		return noregret.BadInputf("gradient", "the sum of the subgradients' norms, %v, beside the regularizer's "+
			"weight %v "+
			"leaves the range of float64",
			l.state.Dual.Mass+largest, next)
	}
	l.state.Lambda.add(delta / l.alpha2)
	l.state.Dual.subtract(g, largest)
	l.fresh = false
	return nil
}

// Bound implements [Bounder].
func (l *AdaFTRL) Bound(u []float64) (float64, error) {
	if inside, err := comparator(u, l.reg.Set()); err != nil || !inside {
		return math.Inf(1), err
	}
	lambda := l.state.Lambda.value()
	if lambda == 0 {
		return 0, nil // all losses so far were constant on the set
	}
	return orInf((excess(l.reg, u) + l.alpha2) * lambda), nil
}

// String describes the learner and its options in one line.
func (l *AdaFTRL) String() string { return l.text }

// MarshalBinary implements [Snapshotter].
func (l *AdaFTRL) MarshalBinary() ([]byte, error) {
	return snapshot.Seal(snapshotMagic, l.text, &l.state)
}

// UnmarshalBinary implements [Snapshotter].
func (l *AdaFTRL) UnmarshalBinary(data []byte) error {
	l.fresh = false
	return restore(data, l.text, &l.state, func(s *adaFTRLState) error {
		if !vec.IsFinite(s.Lambda.S) || !(s.Lambda.S >= 0) {
			return snapshot.Bad("damaged: λ is %v", s.Lambda.S)
		}
		return checkState(l.Dim(), s.Dual.T, s.Dual.Theta)
	})
}
