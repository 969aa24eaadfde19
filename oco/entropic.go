package oco

import (
	"math"

	"github.com/noregret/noregret/convex"
	"github.com/noregret/noregret/internal/portable"
)

// DefaultEntropicAlpha is the alpha for which the bound of [NewEntropicFTRL] against a single
// expert is least: 1/√(ln d), or 1 for d ≤ 1.
func DefaultEntropicAlpha(d int) float64 {
	if d <= 1 {
		return 1
	}
	return 1 / math.Sqrt(portable.Log(float64(d)))
}

// NewEntropicFTRL is exponentiated gradient with unknown horizon (Orabona 2019, section 7.5):
// [FTRL] with negative entropy on the simplex and c_t = α·L·√t,
//
//	x_t = softmax(θ_t/(α·L·√t)),
//
// for subgradients with ‖g_t‖∞ ≤ L = lipschitz. Regret is at most L·√T·(α·(Σu·ln u + ln d) + 1/α),
// at every T; for [DefaultEntropicAlpha] that is 2L·√(T·ln d). Alpha must be above 0. It is what to
// run in place of [ExponentiatedGradient] with a decreasing rate, whose regret can be linear
// (Remark 6.16).
func NewEntropicFTRL(d int, lipschitz, alpha float64) (*FTRL, error) {
	if err := positive("lipschitz", lipschitz); err != nil {
		return nil, err
	}
	reg, err := entropyOnSimplex(d)
	if err != nil {
		return nil, err
	}
	if err := positive("alpha", alpha); err != nil {
		return nil, err
	}
	return NewFTRL(reg, nil, SqrtWeight(alpha*lipschitz))
}

// entropyOnSimplex is the regularizer of the Hedge family.
func entropyOnSimplex(d int) (convex.Regularizer, error) {
	set, err := convex.NewSimplex(d)
	if err != nil {
		return nil, err
	}
	psi, err := convex.NewNegativeEntropy(d)
	if err != nil {
		return nil, err
	}
	return convex.Restrict(psi, set)
}
