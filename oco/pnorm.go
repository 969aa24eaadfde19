package oco

import (
	"math"

	"github.com/noregret/noregret"

	"github.com/noregret/noregret/convex"
	"github.com/noregret/noregret/internal/portable"
)

// NewPNorm is the p-norm algorithm (Grove, Littlestone and Schuurmans 1997; Gentile 2003; Orabona
// 2019, section 6.7) on ℝ^d with rate eta: [FTRL] with ψ = ½‖x‖_p², 1 < p ≤ 2, and a constant
// weight, which for this map equals mirror descent,
//
//	x_t = f_q(η·θ_t),   f_q(θ)_j = sgn(θ_j)·|θ_j|^(q−1)·‖θ‖_q^(2−q),   1/p + 1/q = 1.
//
// Regret is at most ‖u‖_p²/(2η) + (η/(2(p−1)))·Σ‖g_t‖_q². For p = 2 it is subgradient descent. A
// round costs O(d) time; memory is O(d).
func NewPNorm(d int, p, eta float64) (*FTRL, error) {
	if err := positive("eta", eta); err != nil {
		return nil, err
	}
	psi, err := convex.NewPNorm(d, p)
	if err != nil {
		return nil, err
	}
	set, err := convex.NewSpace(d)
	if err != nil {
		return nil, err
	}
	reg, err := convex.Restrict(psi, set)
	if err != nil {
		return nil, err
	}
	return NewFTRL(reg, nil, ConstantWeight(1/eta))
}

// NewPNormTuned is [NewPNorm] with q = 2·ln d (2 for d < 3) and the rate for the given number of
// rounds, for ‖g_t‖∞ ≤ lipschitz and comparators with ‖u‖₁ near alpha: regret at most ½(‖u‖₁²/α +
// α)·L·√T·√(q−1)·d^{1/q}, for d ≥ 3 at most ½(‖u‖₁²/α + α)·L·√T·√(2e·ln d), nearly that of
// exponentiated gradient, without a simplex. An update after the last round is an error, because
// the bound no longer holds.
func NewPNormTuned(d int, lipschitz, alpha float64, rounds int) (*FTRL, error) {
	if err := positive("lipschitz", lipschitz); err != nil {
		return nil, err
	}
	if err := positive("alpha", alpha); err != nil {
		return nil, err
	}
	if rounds < 1 {
		return nil, noregret.BadInputf("rounds", "%d: want at least 1", rounds)
	}
	q := 2.0
	if d >= 3 {
		q = 2 * portable.Log(float64(d))
	}
	p := q / (q - 1)
	eta := alpha * math.Sqrt(p-1) / (lipschitz * portable.Exp(portable.Log(float64(d))/q) * math.Sqrt(float64(rounds)))
	l, err := NewPNorm(d, p, eta)
	if err != nil {
		return nil, err
	}
	l.weight.horizon = rounds
	return l, nil
}
