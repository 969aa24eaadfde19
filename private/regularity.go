package private

import (
	"fmt"
	"math"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/dp"
	"github.com/noregret/noregret/internal/portable"
)

// Regularity is a smooth norm near the dual norm ‖·‖_q of ℝ^d: ½‖·‖₊² is κ₊-smooth with respect to
// ‖·‖₊, and ‖x‖_q² ≤ ‖x‖₊² ≤ (κ/κ₊)·‖x‖_q². It measures martingales of gradients, and the noise of
// mechanisms for the norm ‖·‖₊.
//
// The corrections to Lemma 3.2 of Han et al.: the exponent is r = min{q, ln d} = κ₊ + 1, where the
// paper prints min{q − 1, ln d − 1}, which is κ₊; and below d = 8, where ln d is less than about 2,
// r = 2. With the printed exponent ‖·‖₊ is not smooth, or no norm at all, and the privacy claimed
// for noise in it does not hold.
type Regularity struct {
	// Exponent is r: ‖·‖₊ is Factor·‖·‖_r.
	Exponent, Factor float64
	// Kappa is κ, and KappaPlus is κ₊.
	Kappa, KappaPlus float64
}

// NewRegularity returns the constants for the domain's exponent p in dimension d. For p ≥ 2 the
// norm is d^(1/2−1/p)·‖·‖₂ with κ = d^(1−2/p). For p < 2 every r in [2, q] is valid, with κ = (r −
// 1)·d^(2/r−2/q); it takes the r with the smallest κ among 2, q and, if it lies between them, the
// minimum ln d + √(ln²d − 2·ln d).
func NewRegularity(d int, p float64) (Regularity, error) {
	if err := checkDim(d); err != nil {
		return Regularity{}, err
	}
	if err := checkExponent(p); err != nil {
		return Regularity{}, err
	}
	n := float64(d)
	if p >= 2 || d == 1 {
		inverse := 1 / p // 0 for p = ∞
		return Regularity{
			Exponent: 2, Factor: portable.Pow(n, 0.5-inverse), Kappa: portable.Pow(n, 1-2*inverse), KappaPlus: 1,
		}, nil
	}
	inverse := (p - 1) / p // 1/q, 0 for p = 1
	kappa := func(r float64) float64 { return (r - 1) * portable.Pow(n, 2/r-2*inverse) }
	best := 2.0
	log := portable.Log(n)
	candidates := [2]float64{1 / inverse, 0}
	if log >= 2 {
		candidates[1] = log + math.Sqrt(float64(log*log)-2*log)
	}
	for _, r := range candidates {
		if r > 2 && r <= 1/inverse && !math.IsInf(r, 1) && kappa(r) < kappa(best) {
			best = r
		}
	}
	return Regularity{Exponent: best, Factor: 1, Kappa: kappa(best), KappaPlus: best - 1}, nil
}

// String describes the norm and its constants.
func (r Regularity) String() string {
	return fmt.Sprintf("%.4g·‖·‖_%.4g, κ = %.4g, κ₊ = %.4g", r.Factor, r.Exponent, r.Kappa, r.KappaPlus)
}

// normalNorm bounds E‖Z‖_q from above for a standard normal vector Z of dimension d: by
// (d·E|Z_1|^q)^(1/q) for finite q, and by √(2·ln(2d)).
func normalNorm(d int, q float64) float64 {
	n := float64(d)
	largest := math.Sqrt(2 * portable.Log(2*n))
	if d == 1 {
		return math.Sqrt(2 / math.Pi)
	}
	if math.IsInf(q, 1) {
		return largest
	}
	// ln E|Z|^q
	moment := float64(0.5*q*math.Ln2) + logGamma((q+1)/2) - float64(0.5*portable.Log(math.Pi))
	bound := portable.Exp((portable.Log(n) + moment) / q)
	if q > 2 {
		bound = min(bound, portable.Pow(n, 1/q)*largest)
	}
	return bound
}

// logGamma is ln Γ(x) for x ≥ ½: Stirling's series above 8, to which the recurrence leads.
func logGamma(x float64) float64 {
	shift := 0.0
	for x < 8 {
		shift += portable.Log(x)
		x++
	}
	z := 1 / float64(x*x)
	series := (1.0/12 - float64(z*(1.0/360-float64(z*(1.0/1260-float64(z/1680)))))) / x
	return float64((x-0.5)*portable.Log(x)) - x + float64(0.5*portable.Log(2*math.Pi)) + series - shift
}

// BoundParameters are the constants of the bounds on the risk of [NewTOFW] and [NewPOFW], in the
// domain's norms. The bounds serve to plan horizons and budgets; their constants are far from
// tight.
type BoundParameters struct {
	// Dim is d, Horizon is n.
	Dim     int
	Horizon int64
	// Diameter is D, Lipschitz is L, Smoothness is β.
	Diameter, Lipschitz, Smoothness float64
	// Deviation is G ≥ ‖∇f − ∇F‖_q for the gradient of a record and that of the risk, at most 2L.
	Deviation float64
	// Kappa is κ of the dual norm; see [NewRegularity].
	Kappa float64
	// Levels is the number h of noise vectors in a prefix sum, and NoiseScale the scale σ₊ of each
	// in the norm ‖·‖₊. For a stream that states the standard deviation s of the noise of a
	// coordinate of a prefix sum, Levels is 1 and NoiseScale is Factor·s.
	Levels, NoiseScale float64
	// Alpha is the probability with which the bounds may fail, in (0, 1).
	Alpha float64
}

// Check refuses parameters out of range.
func (b BoundParameters) Check() error {
	if err := checkDim(b.Dim); err != nil {
		return err
	}
	if err := checkHorizon(b.Horizon); err != nil {
		return err
	}
	for _, v := range []struct {
		name  string
		value float64
	}{
		{"diameter", b.Diameter},
		{"lipschitz", b.Lipschitz},
		{"smoothness", b.Smoothness},
		{"deviation", b.Deviation},
		{"kappa", b.Kappa},
		{"levels", b.Levels},
		{"noise scale", b.NoiseScale},
	} {
		if err := checkNonNegative(v.name, v.value); err != nil {
			return err
		}
	}
	if !(b.Alpha > 0 && b.Alpha < 1) {
		return noregret.BadInputf("alpha", "%v, want a number in (0, 1): %w", b.Alpha, dp.ErrBound)
	}
	return nil
}

// concentration is c(α) = √(2eκ) + 8√(4·ln(2/α)).
func (b BoundParameters) concentration(alpha float64) float64 {
	return math.Sqrt(2*math.E*b.Kappa) + float64(8*math.Sqrt(4*portable.Log(2/alpha)))
}

// noise bounds the norm of the noise in a prefix sum: h·σ₊·√(d + 2√(dλ) + 2λ).
func (b BoundParameters) noise(lambda float64) float64 {
	d := float64(b.Dim)
	return b.Levels * b.NoiseScale * math.Sqrt(d+2*math.Sqrt(d*lambda)+2*lambda)
}

// GradientError bounds ‖d_t − ∇F(θ_t)‖_q for d_t = S̃_t/(t+1), with probability 1 − α for each t
// (Han et al., Proposition A.2, with 2λ in place of 2dλ):
//
//	2c(α)(βD+G)/√(t+1) + hσ₊√(d + 2√(dλ) + 2λ)/(t+1), λ = ln(2h/α)
func (b BoundParameters) GradientError(t int64) float64 {
	after := float64(t + 1)
	first := 2 * b.concentration(b.Alpha) * (float64(b.Smoothness*b.Diameter) + b.Deviation) / math.Sqrt(after)
	return first + b.noise(portable.Log(2*max(b.Levels, 1)/b.Alpha))/after
}

// coefficients are h₁, C₁ and C₂ of Theorem 3.2. C₂ includes D·L for the bias of the paper's
// weights at the start.
func (b BoundParameters) coefficients() (start, c1, c2 float64) {
	n := float64(b.Horizon)
	start = b.Lipschitz * b.Diameter
	c1 = 2 * b.concentration(b.Alpha/n) * b.Diameter * (float64(b.Smoothness*b.Diameter) + b.Deviation)
	lambda := portable.Log(2 * n * max(b.Levels, 1) / b.Alpha)
	c2 = b.Diameter * (float64(b.noise(lambda)) + float64(b.Smoothness*b.Diameter/2) + b.Lipschitz)
	return start, c1, c2
}

// Risk bounds F(θ_t) − F* of [NewTOFW] for all t ≤ n together, with probability 1 − α (Han et al.,
// Theorem 3.2, with C₁ doubled and h₁ = LD):
//
//	(h₁ + 2C₁√t + C₂·ln t)/t
func (b BoundParameters) Risk(t int64) float64 {
	start, c1, c2 := b.coefficients()
	x := float64(t)
	return (start + float64(2*c1*math.Sqrt(x)) + float64(c2*portable.Log(x))) / x
}

// Regret bounds Σ_{t≤T} F(θ_t) − F* of [NewTOFW] with probability 1 − α (Han et al., Corollary
// 3.1):
//
//	h₁(1 + ln T) + 4C₁√T + C₂(½ln²T + 0.2)
func (b BoundParameters) Regret(t int64) float64 {
	start, c1, c2 := b.coefficients()
	x := float64(t)
	log := portable.Log(x)
	return float64(start*(1+log)) + float64(4*c1*math.Sqrt(x)) + float64(c2*(float64(log*log/2)+0.2))
}

// StrongRisk bounds F(θ_t) − F* of [NewTOFW] for a risk that is μ-strongly convex with a minimizer
// at distance γ > 0 from the boundary of the domain (Han et al., Theorem 3.3; the leading constant
// is the paper's and was not derived again):
//
//	18/(γ²μ)·(C₁²/(t+1) + C₂²·ln²n/(t+1)²)
func (b BoundParameters) StrongRisk(t int64, mu, gamma float64) float64 {
	_, c1, c2 := b.coefficients()
	after := float64(t + 1)
	log := portable.Log(float64(b.Horizon))
	return 18 / (gamma * gamma * mu) * (c1*c1/after + c2*c2*log*log/(after*after))
}

// StrongRegret bounds Σ_{t≤T} F(θ_t) − F* under the conditions of [BoundParameters.StrongRisk]: its
// sum over t, bounded by 18/(γ²μ)·(C₁²·ln(T+1) + C₂²·ln²n·(π²/6 − 1)) (Han et al., Corollary 3.2).
func (b BoundParameters) StrongRegret(t int64, mu, gamma float64) float64 {
	_, c1, c2 := b.coefficients()
	log := portable.Log(float64(b.Horizon))
	return 18 / (gamma * gamma * mu) *
		(float64(c1*c1*portable.Log(float64(t+1))) + float64(c2*c2*log*log*(math.Pi*math.Pi/6-1)))
}
