package oco

import (
	"fmt"
	"math"

	"github.com/noregret/noregret"

	"github.com/noregret/noregret/convex"
	"github.com/noregret/noregret/internal/portable"
	"github.com/noregret/noregret/internal/vec"
	"github.com/noregret/noregret/loss"
)

// OnlineNewtonStep is [CurvatureFTRL] along the subgradients (Hazan, Agarwal and Kale 2007; Orabona
// 2019, Algorithm 7.5), for losses that curve in the direction of their gradients, l_t(x) − l_t(u)
// ≤ ⟨g_t, x − u⟩ − (μ/2)⟨g_t, x − u⟩²:
//
//	S_t = λI + μ·Σ_{i≤t} g_i·g_iᵀ,   x_t = argmin_{x∈V} ‖x − S_{t−1}⁻¹·Σ_{i<t}(μ⟨g_i, x_i⟩ − 1)·g_i‖_{S_{t−1}}.
//
// An α-exp-concave loss on a set of diameter D with gradients of norm at most L is so with μ =
// ½·min(α, 1/(L·D)), see [ExpConcaveMu]. The projection is in the norm of S; a Euclidean one would
// have no guarantee.
//
// Guarantee (Bound): (λ/2)‖u‖² + (1/2μ)·ln(det S_T/λ^d), at most (λ/2)‖u‖² + (d/2μ)·ln(1 +
// μTL²/(dλ)) (section 7.9). Costs are those of [CurvatureFTRL].
type OnlineNewtonStep struct {
	*CurvatureFTRL
	mu float64
}

// ExpConcaveMu is ½·min(α, 1/(L·D)), the μ of [OnlineNewtonStep] for α-exp-concave losses with |⟨g,
// x−y⟩| ≤ lipschitz·diameter (Orabona 2019, (7.8)). Logistic losses with ‖z‖ ≤ 1 on ‖x‖ ≤
// U have α = exp(−U); squared losses ½(p−y)² with residuals of at most ρ have 1/ρ².
func ExpConcaveMu(alpha, lipschitz, diameter float64) float64 {
	return min(alpha, 1/(lipschitz*diameter)) / 2
}

// NewOnlineNewtonStep plays in set with curvature mu > 0 and regularization lambda > 0; λ = 1/(μD²)
// is a good choice on a set of diameter D around the origin.
func NewOnlineNewtonStep(set convex.Set, mu, lambda float64) (*OnlineNewtonStep, error) {
	if err := positive("mu", mu); err != nil {
		return nil, err
	}
	base, err := NewCurvatureFTRL(set, lambda)
	if err != nil {
		return nil, err
	}
	return newOnlineNewtonStep(base, mu), nil
}

func newOnlineNewtonStep(base *CurvatureFTRL, mu float64) *OnlineNewtonStep {
	base.text = fmt.Sprintf("online-newton-step(%v, mu=%v, lambda=%v)", base.set, mu, base.lambda)
	return &OnlineNewtonStep{base, mu}
}

// Update implements [Learner]. Values of 1e100 and above are refused, as S holds their squares.
func (l *OnlineNewtonStep) Update(g []float64) error {
	if l.failed != nil {
		return l.failed
	}
	largest, err := checkVector("gradient", g, l.Dim())
	switch {
	case err != nil:
		return err
	case largest*max(math.Sqrt(l.mu), 1) >= curvatureLimit:
		return noregret.BadInputf("gradient", "the largest value is %v, times √μ = %v: want both below %v", largest,
			math.Sqrt(l.mu), curvatureLimit)
	case largest == 0:
		l.state.T++
		return nil
	}
	return l.step(g, math.Sqrt(l.mu), 0, g)
}

// UpdateLoss implements [LossLearner], by the subgradient alone: it uses only the curvature μ.
func (l *OnlineNewtonStep) UpdateLoss(f loss.Function) error {
	if err := checkLoss(f, l.Dim()); err != nil {
		return err
	}
	f.Subgradient(l.gradient, l.played)
	return l.Update(l.gradient)
}

// Bound implements [Bounder]. It needs the curvature in the doc comment, which linear losses do not
// have.
func (l *OnlineNewtonStep) Bound(u []float64) (float64, error) {
	sharp, err := l.SharpBound(u)
	if err != nil || math.IsInf(sharp, 1) {
		return sharp, err
	}
	// Outside of the span, if there is one, the determinants agree.
	logs := (l.state.Factor.LogDet() - float64(float64(l.state.Factor.D)*portable.Log(l.lambda))) / (2 * l.mu)
	return orInf(max(sharp, float64(l.lambda/2*vec.Dot(u, u))+float64(logs)+l.extra(u))), nil
}

// SharpBound is that of [CurvatureFTRL], (λ/2)‖u‖² + ½Σ ‖g_t‖²_{S_t⁻¹} ((7.7)), which Bound
// is never below.
func (l *OnlineNewtonStep) SharpBound(u []float64) (float64, error) { return l.CurvatureFTRL.Bound(u) }
