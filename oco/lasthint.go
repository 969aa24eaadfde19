package oco

import "github.com/noregret/noregret/convex"

// LastHint is [OptimisticFTRL] whose hint is the last subgradient (Chiang et al. 2012; Orabona
// 2019, section 7.11): regret by how much subgradients change from round to round,
//
//	c_T·(ψ(u) − min ψ) + (1/2λ)·Σ‖g_t − g_{t−1}‖*²/c_t,   g_0 = 0.
//
// [GradualFTRL] tunes itself to that change, for smooth losses. A round costs O(d) and a mirror
// map; memory is O(d).
type LastHint struct{ base *OptimisticFTRL }

// NewLastHint plays in the regularizer's set.
func NewLastHint(reg convex.Regularizer, weight Weight) (*LastHint, error) {
	base, err := NewOptimisticFTRL(reg, weight)
	if err != nil {
		return nil, err
	}
	base.text = "last-hint(" + base.text + ")"
	return &LastHint{base}, nil
}

// Dim implements [Learner].
func (l *LastHint) Dim() int { return l.base.Dim() }

// Rounds implements [Counter].
func (l *LastHint) Rounds() int { return l.base.Rounds() }

// Predict implements [Learner].
func (l *LastHint) Predict() []float64 { return l.base.Predict() }

// Update implements [Learner].
func (l *LastHint) Update(g []float64) error {
	if err := l.base.Update(g); err != nil {
		return err
	}
	// If the sum with the hint might overflow, the next round has no hint.
	if l.base.Hint(g) != nil {
		clear(l.base.state.Hint)
	}
	return nil
}

// Bound implements [Bounder].
func (l *LastHint) Bound(u []float64) (float64, error) { return l.base.Bound(u) }

// String describes the learner and its options in one line.
func (l *LastHint) String() string { return l.base.text }

// MarshalBinary implements [Snapshotter].
func (l *LastHint) MarshalBinary() ([]byte, error) { return l.base.MarshalBinary() }

// UnmarshalBinary implements [Snapshotter].
func (l *LastHint) UnmarshalBinary(data []byte) error { return l.base.UnmarshalBinary(data) }
