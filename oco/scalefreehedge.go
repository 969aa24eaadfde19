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

// ScaleFreeHedge is Hedge without parameters or knowledge of the losses' range (Orabona and Pál
// 2015; Orabona 2019, section 7.6, (7.4)):
//
//	x_t = softmax(α·θ_t/√Q_{t−1}),   Q_t = Σ_{i≤t} ‖g_i‖∞²,
//
// uniform while Q_{t−1} is 0. It is any-time and scale-free: multiplying all subgradients by c > 0
// changes no point.
//
// Guarantee (Bound): ((Σu·ln u + ln d)/α + √2·α)·√Q_T, for α ≥ 4. [AdaHedge] has the same worst
// case and is much better on benign losses. A round costs O(d) time; memory is O(d).
type ScaleFreeHedge struct {
	alpha float64
	state scaleFreeState
	point []float64
	fresh bool
	text  string
}

type scaleFreeState struct {
	Dual dualSum
	Q    squares
}

// DefaultScaleFreeHedgeAlpha is the alpha ≥ 4 for which the bound of [ScaleFreeHedge] against a
// single expert is least: max(4, 2^(−1/4)·√(ln d)).
func DefaultScaleFreeHedgeAlpha(d int) float64 {
	return max(4, math.Sqrt(portable.Log(float64(max(d, 1)))/math.Sqrt2))
}

// NewScaleFreeHedge plays on the simplex of ℝ^d with alpha ≥ 4, such as
// [DefaultScaleFreeHedgeAlpha].
func NewScaleFreeHedge(d int, alpha float64) (*ScaleFreeHedge, error) {
	if err := checkDim(d, 3*float64(d)); err != nil {
		return nil, err
	}
	if !(alpha >= 4) || !vec.IsFinite(alpha) {
		return nil, noregret.BadInputf("alpha", "%v: want a finite number, at least 4; for less there is no guarantee",
			alpha)
	}
	l := &ScaleFreeHedge{
		alpha: alpha, point: make([]float64, d),
		text: fmt.Sprintf("scale-free-hedge(d=%d, alpha=%v)", d, alpha),
	}
	l.state.Dual.Theta = make([]float64, d)
	return l, nil
}

// Dim implements [Learner].
func (l *ScaleFreeHedge) Dim() int { return len(l.point) }

// Rounds implements [Counter].
func (l *ScaleFreeHedge) Rounds() int { return l.state.Dual.T }

// Predict implements [Learner].
func (l *ScaleFreeHedge) Predict() []float64 {
	if !l.fresh {
		root := l.state.Q.root()
		for i, v := range l.state.Dual.Theta {
			l.point[i] = 0
			if root > 0 {
				l.point[i] = float64(l.alpha * (v / root))
			}
		}
		convex.Softmax(l.point, l.point)
		l.fresh = true
	}
	return l.point
}

// Update implements [Learner].
func (l *ScaleFreeHedge) Update(g []float64) error {
	largest, err := l.state.Dual.check(g)
	if err != nil {
		return err
	}
	l.state.Q.addScalar(largest)
	l.state.Dual.subtract(g, largest)
	l.fresh = false
	return nil
}

// Bound implements [Bounder].
func (l *ScaleFreeHedge) Bound(u []float64) (float64, error) {
	if err := checkFinite("comparator", u, l.Dim()); err != nil {
		return 0, err
	}
	if !onSimplex(u) {
		return math.Inf(1), nil
	}
	return (entropyGap(u)/l.alpha + float64(l.alpha*math.Sqrt2)) * l.state.Q.root(), nil
}

// String describes the learner and its options in one line.
func (l *ScaleFreeHedge) String() string { return l.text }

// MarshalBinary implements [Snapshotter].
func (l *ScaleFreeHedge) MarshalBinary() ([]byte, error) {
	return snapshot.Seal(snapshotMagic, l.text, &l.state)
}

// UnmarshalBinary implements [Snapshotter].
func (l *ScaleFreeHedge) UnmarshalBinary(data []byte) error {
	l.fresh = false
	return restore(data, l.text, &l.state, func(s *scaleFreeState) error {
		return checkState(l.Dim(), s.Dual.T, s.Dual.Theta)
	})
}
