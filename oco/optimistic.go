package oco

import (
	"fmt"
	"math"

	"github.com/noregret/noregret/convex"
	"github.com/noregret/noregret/internal/snapshot"
)

// OptimisticFTRL is follow-the-regularized-leader with a guess of the coming subgradient (Chiang et
// al. 2012; Rakhlin and Sridharan 2013; Orabona 2019, Algorithm 7.7):
//
//	x_t = ∇ψ_V*((θ_t − h_t)/c_t),   θ_t = −Σ_{i<t} g_i,
//
// where h_t is the hint, used for one round only: the sum contains true subgradients only. Without
// hints it is [FTRL].
//
// Guarantee (Bound): c_T·(ψ(u) − min ψ) + (1/2λ)·Σ‖g_t − h_t‖*²/c_t (Theorem 7.28), almost nothing
// for perfect hints. A round costs O(d) and a mirror map; memory is O(d).
type OptimisticFTRL struct {
	reg    convex.Regularizer
	weight Weight
	lambda float64
	dual   convex.Norm
	state  optimisticState
	point  []float64
	work   []float64
	fresh  bool
	text   string
}

type optimisticState struct {
	Dual  dualSum
	Hint  []float64
	Spent sum
}

// NewOptimisticFTRL plays in the regularizer's set.
func NewOptimisticFTRL(reg convex.Regularizer, weight Weight) (*OptimisticFTRL, error) {
	base, err := NewFTRL(reg, nil, weight) // for its checks
	if err != nil {
		return nil, err
	}
	if err := exactOracle(reg); err != nil {
		return nil, err
	}
	d := base.Dim()
	l := &OptimisticFTRL{
		reg: reg, weight: weight, lambda: base.lambda, dual: base.dual, point: make([]float64, d),
		work: make([]float64, d),
	}
	l.state.Dual.Theta, l.state.Hint = make([]float64, d), make([]float64, d)
	l.text = fmt.Sprintf("optimistic-ftrl(%v, weight=%v)", reg, weight.name)
	return l, nil
}

// Dim implements [Learner].
func (l *OptimisticFTRL) Dim() int { return len(l.point) }

// Rounds implements [Counter].
func (l *OptimisticFTRL) Rounds() int { return l.state.Dual.T }

// Hint implements [Hinted].
func (l *OptimisticFTRL) Hint(g []float64) error {
	if err := l.checkHint(g); err != nil {
		return err
	}
	copy(l.state.Hint, g)
	l.fresh = false
	return nil
}

func (l *OptimisticFTRL) checkHint(g []float64) error {
	largest, err := checkVector("hint", g, l.Dim())
	if err != nil {
		return err
	}
	return l.weight.checkRange(&l.state.Dual, largest)
}

// Predict implements [Learner].
func (l *OptimisticFTRL) Predict() []float64 {
	if !l.fresh {
		c := l.weight.at(l.state.Dual.T + 1)
		for i, v := range l.state.Dual.Theta {
			l.point[i] = (v - l.state.Hint[i]) / c
		}
		l.reg.Argmax(l.point, l.point)
		l.fresh = true
	}
	return l.point
}

// Update implements [Learner]. It also clears the hint: the next hint is 0 until Hint is called.
func (l *OptimisticFTRL) Update(g []float64) error {
	largest, err := l.state.Dual.check(g)
	if err != nil {
		return err
	}
	if err := l.weight.checkRange(&l.state.Dual, largest); err != nil {
		return err
	}
	for i, v := range g {
		l.work[i] = v - l.state.Hint[i]
	}
	s, e := squareOf(l.dual.Of(l.work))
	l.state.Spent.add(math.Ldexp(s/l.weight.at(l.state.Dual.T+1), 2*e))
	l.state.Dual.subtract(g, largest)
	clear(l.state.Hint)
	l.fresh = false
	return nil
}

// Bound implements [Bounder].
func (l *OptimisticFTRL) Bound(u []float64) (float64, error) {
	if inside, err := comparator(u, l.reg.Set()); err != nil || !inside {
		return math.Inf(1), err
	}
	if l.state.Dual.T == 0 {
		return 0, nil
	}
	penalty := l.weight.at(l.state.Dual.T) * excess(l.reg, u)
	return orInf(float64(penalty) + l.state.Spent.value()/(2*l.lambda)), nil
}

// String describes the learner and its options in one line.
func (l *OptimisticFTRL) String() string { return l.text }

// MarshalBinary implements [Snapshotter].
func (l *OptimisticFTRL) MarshalBinary() ([]byte, error) {
	return snapshot.Seal(snapshotMagic, l.text, &l.state)
}

// UnmarshalBinary implements [Snapshotter].
func (l *OptimisticFTRL) UnmarshalBinary(data []byte) error {
	l.fresh = false
	return restore(data, l.text, &l.state, func(s *optimisticState) error {
		return checkState(l.Dim(), s.Dual.T, s.Dual.Theta, s.Hint)
	})
}
