package private

import (
	"math"

	"github.com/noregret/noregret/dp"
	"github.com/noregret/noregret/internal/portable"
)

// VertexBounds are the constants of the bounds on the risk of [NewPOFW] for the l1 ball and for
// polytopes.
type VertexBounds struct {
	// BoundParameters are the constants of the domain and the loss. Kappa, Levels and NoiseScale
	// are not used.
	BoundParameters
	// Vertices is the number of vertices, 2d for the l1 ball.
	Vertices int
	// Clip is C, the bound on ‖g_i‖_q, and Rho the total ρ of the choices. Rho +Inf is the learner
	// without privacy.
	Clip, Rho float64
}

// amplitude is A of Theorem 3.5: the error of the gradient estimate, and the excess of the chosen
// vertex over the best one by the exponential mechanism, both times √(t+1).
func (b VertexBounds) amplitude() float64 {
	n := float64(b.Horizon)
	spread := float64(b.Smoothness*b.Diameter) + b.Deviation
	estimate := float64(8 * b.Diameter * spread * math.Sqrt(portable.Log(8*float64(b.Dim)*n/b.Alpha)))
	if math.IsInf(b.Rho, 1) {
		return estimate
	}
	choice := 2 * b.Clip * b.Diameter * math.Sqrt(dp.Harmonic(b.Horizon)/(8*b.Rho))
	return estimate + float64(choice*portable.Log(2*float64(b.Vertices)*n/b.Alpha))
}

// Risk bounds F(θ_t) − F* of [NewPOFW] for all t ≤ n together, with probability 1 − α (Han et al.,
// Theorem 3.5, with the excess of the exponential mechanism in place of that of Laplace noise):
//
//	3(βD² + A)/√(t+1), A = 8D(βD+G)√ln(8dn/α) + 2CD·√(H_n/(8ρ))·ln(2Nn/α)
//
// for N vertices: the exponential mechanism with temperature B chooses a vertex whose score exceeds
// the least one by more than B·ln(N/α') with probability at most α'.
func (b VertexBounds) Risk(t int64) float64 {
	return 3 * (float64(b.Smoothness*b.Diameter*b.Diameter) + b.amplitude()) / math.Sqrt(float64(t+1))
}

// Regret bounds Σ_{t≤T} F(θ_t) − F* by the sum of [VertexBounds.Risk], 6(βD² + A)√(T+1).
func (b VertexBounds) Regret(t int64) float64 {
	return 6 * (float64(b.Smoothness*b.Diameter*b.Diameter) + b.amplitude()) * math.Sqrt(float64(t+1))
}

// StrongRisk bounds F(θ_t) − F* for a risk that is μ-strongly convex with a minimizer at distance γ
// > 0 from the boundary (Han et al., Theorem 3.6): 9(βD² + A)²/(γ²μ(t+1)).
func (b VertexBounds) StrongRisk(t int64, mu, gamma float64) float64 {
	a := float64(b.Smoothness*b.Diameter*b.Diameter) + b.amplitude()
	return 9 * a * a / (gamma * gamma * mu * float64(t+1))
}

// BanditBounds are the constants of the regret bound of [HDB]. Error is C_in, which hides the
// constants of the estimation error and grows as ln²(dT/α)·ln T/ε²: the bound shows rates, it does
// not help to choose a warm-up.
type BanditBounds struct {
	// Arms is K, WarmUp is t₀ and Horizon is T.
	Arms            int
	WarmUp, Horizon int64
	// LinkSlope is M, a bound on ζ'. Smoothness is β, Margin is the ν of the margin condition.
	LinkSlope, Smoothness, Margin float64
	// Error is C_in, Convexity is λμu, the constant of strong convexity in the norm l1.
	Error, Convexity float64
	// Alpha is the probability with which the bound may fail.
	Alpha float64
}

// EstimationError bounds ‖θ_{t,a} − θ*_a‖₁² by C_in/(λμu·t) (Han et al., Theorem 4.2). Strong
// convexity in l1 needs a compatibility condition beyond the covariance bound that the paper
// states.
func (b BanditBounds) EstimationError(t int64) float64 { return b.Error / (b.Convexity * float64(t)) }

// Regret bounds the cumulative regret (Han et al., Theorem 4.3, with K·t₀ rounds of warm-up and the
// margin constant ν):
//
//	K·t₀ + ν·M²β²·C_in·ln T + 2Mβ√(C_in·ln T·ln(4/α))
func (b BanditBounds) Regret() float64 {
	log := portable.Log(float64(b.Horizon))
	slope := float64(b.LinkSlope * b.Smoothness)
	warm := float64(int64(b.Arms) * b.WarmUp)
	spread := float64(2 * slope * math.Sqrt(float64(b.Error*log*portable.Log(4/b.Alpha))))
	return warm + float64(b.Margin*slope*slope*b.Error*log) + spread
}
