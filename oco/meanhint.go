package oco

import (
	"math"

	"github.com/noregret/noregret/convex"
	"github.com/noregret/noregret/internal/portable"
)

// MeanHint is [OptimisticFTRL] whose hint is the mean of the subgradients so far, with a constant
// weight (Hazan and Kale 2008; Orabona 2019, section 7.11.1): regret by the variance of the
// subgradients in place of their size.
//
// Guarantee: that of [OptimisticFTRL], and with ψ λ-strongly convex in the Euclidean norm and
// ‖g_t‖₂ ≤ L also VarianceBound. The book's statement lacks the factor 1/(2λ) and L². A round costs
// O(d) and a mirror map; memory is O(d).
type MeanHint struct {
	base  *OptimisticFTRL
	scale float64 // of the weight
}

// NewMeanHint plays in the regularizer's set with ψ_t = c·ψ.
func NewMeanHint(reg convex.Regularizer, c float64) (*MeanHint, error) {
	base, err := NewOptimisticFTRL(reg, ConstantWeight(c))
	if err != nil {
		return nil, err
	}
	base.text = "mean-hint(" + base.text + ")"
	return &MeanHint{base: base, scale: c}, nil
}

// Dim implements [Learner].
func (l *MeanHint) Dim() int { return l.base.Dim() }

// Rounds implements [Counter].
func (l *MeanHint) Rounds() int { return l.base.Rounds() }

// Predict implements [Learner].
func (l *MeanHint) Predict() []float64 { return l.base.Predict() }

// Update implements [Learner].
func (l *MeanHint) Update(g []float64) error {
	if err := l.base.Update(g); err != nil {
		return err
	}
	// The sum of the subgradients is −θ, so the mean needs no further state.
	st := &l.base.state
	for i, v := range st.Dual.Theta {
		st.Hint[i] = -v / float64(st.Dual.T)
	}
	l.base.fresh = false
	return nil
}

// Bound implements [Bounder].
func (l *MeanHint) Bound(u []float64) (float64, error) { return l.base.Bound(u) }

// VarianceBound is c·(ψ(u) − min ψ) + (1/(2λc))·(4L²(1 + ln T) + variance), where variance is min_g
// Σ‖g_t − g‖₂² and L = lipschitz bounds ‖g_t‖₂.
func (l *MeanHint) VarianceBound(u []float64, lipschitz, variance float64) (float64, error) {
	b, err := l.base.Bound(u)
	if err != nil || math.IsInf(b, 1) || l.Rounds() == 0 {
		return b, err
	}
	penalty := l.scale * excess(l.base.reg, u)
	logs := 4 * lipschitz * lipschitz * (1 + portable.Log(float64(l.Rounds())))
	return orInf(float64(penalty) + (float64(logs)+variance)/(2*l.base.lambda*l.scale)), nil
}

// String describes the learner and its options in one line.
func (l *MeanHint) String() string { return l.base.text }

// MarshalBinary implements [Snapshotter].
func (l *MeanHint) MarshalBinary() ([]byte, error) { return l.base.MarshalBinary() }

// UnmarshalBinary implements [Snapshotter].
func (l *MeanHint) UnmarshalBinary(data []byte) error { return l.base.UnmarshalBinary(data) }
