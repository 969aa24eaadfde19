package ascent

import (
	"math"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/portable"
)

// Constants are the constants of Theorem 1: ‖∇f‖ ≤ Gradient, f is Smooth-smooth, ‖μ‖_F ≤ Means and
// ‖g_t‖ ≤ Step.
type Constants struct{ Gradient, Smooth, Means, Step float64 }

// check returns an error for constants that are negative or not finite.
func (c *Constants) check() error {
	for _, v := range []struct {
		name string
		v    float64
	}{{"gradient", c.Gradient}, {"smooth", c.Smooth}, {"means", c.Means}, {"step", c.Step}} {
		if !(v.v >= 0) || math.IsInf(v.v, 1) {
			return noregret.BadInputf(v.name, "%v: want a finite bound, at least 0", v.v)
		}
	}
	return nil
}

// TheoremConstant is C = ln K + 4e·G² + 32·(G_f² + G_U²·L_f²)·G_U²/G, as printed. Step, G, must be
// above 0.
func TheoremConstant(arms int, c Constants) (float64, error) {
	if err := c.check(); err != nil {
		return 0, err
	}
	if arms < 1 {
		return 0, noregret.BadInputf("arms", "%d: want at least 1", arms)
	}
	if c.Step == 0 {
		return 0, noregret.BadInputf("step", "0: want a bound on ‖g‖ above 0, as the theorem divides by it")
	}
	u := float64(c.Means * c.Means)
	inner := float64(c.Gradient*c.Gradient) + float64(u*float64(c.Smooth*c.Smooth))
	return portable.Log(float64(arms)) + float64(4*math.E*float64(c.Step*c.Step)) + float64(32*inner*u)/c.Step, nil
}

// Bound is the right-hand side C/√T of Theorem 1 for the rounds so far, on max_p f(μp) − E
// f(μp̄_T), for fixed means and [TheoremOptions]. The printed proof does not give this rate: see
// [SupportedBound] for what its argument supports. +Inf before the first round.
func (a *Algorithm) Bound(c Constants) (float64, error) {
	v, err := TheoremConstant(a.s.Live, c)
	if err != nil {
		return 0, err
	}
	return v / math.Sqrt(float64(a.s.T)), nil
}

// Supported holds the parameters of [SupportedBound].
type Supported struct {
	// Arms is K, Groups is Q, the number of groups in a round, and Rounds is T, each at least 1.
	Arms, Groups, Rounds int
	// Gamma is the constant step γ > 0, and Explore is ε_t, above 0 in each round.
	Gamma   float64
	Explore Schedule
	// Constants are G_f, L_f and G_U; Step is not used.
	Constants Constants
	// Noise is B, where B² = Σ_k(‖μ_k‖² + tr Σ_k) for the covariance Σ_k of a group's metrics under
	// arm k.
	Noise float64
	// Spread is R, with max_k g_k − min_k g_k ≤ R in every round.
	Spread float64
}

// SupportedBound is the bound on max_p (1/T)·Σ_t f(V_t p) − (1/T)·Σ_t E f(V_t p_t), V_t =
// (1/t)·Σ_{s≤t} μ_s, that the argument of Theorems 1 and 2 supports once corrected, for IPW with
// n_0 = 0 and means that may change. With fixed means V_t = μ, and it also bounds max_p f(μp) − E
// f(μp̄_T):
//
//	ln K/(γT) + γR²/8 + (R/T)·Σε_t +
//	√2·(G_f + G_U·L_f)·B·√(K/Q)·(1/T)·Σ_t (1/t)·√(Σ_{s≤t} 1/ε_s).
//
// With ε_t ∝ t^−½ it falls as T^−¼, with t^−⅓ as T^−⅓. O(T).
func SupportedBound(b Supported) (float64, error) {
	if err := b.Constants.check(); err != nil {
		return 0, err
	}
	switch {
	case b.Arms < 1 || b.Groups < 1 || b.Rounds < 1:
		return 0, noregret.BadInputf("bound", "%d arms, %d groups and %d rounds: want at least 1 of each", b.Arms,
			b.Groups,
			b.Rounds)
	case !(b.Gamma > 0) || math.IsInf(b.Gamma, 1):
		return 0, noregret.BadInputf("gamma", "%v: want a finite step above 0", b.Gamma)
	case !(b.Noise >= 0) || math.IsInf(b.Noise, 1):
		return 0, noregret.BadInputf("noise", "%v: want a finite number, at least 0", b.Noise)
	case !(b.Spread >= 0) || math.IsInf(b.Spread, 1):
		return 0, noregret.BadInputf("spread", "%v: want a finite range, at least 0", b.Spread)
	}
	if err := b.Explore.validate("exploration", 1); err != nil {
		return 0, err
	}
	t, gamma, spread, c := float64(b.Rounds), b.Gamma, b.Spread, &b.Constants
	sumEps, inverse, last := 0.0, 0.0, 0.0
	for s := 1; s <= b.Rounds; s++ {
		eps, err := b.Explore.in("exploration", s, 1)
		if err != nil {
			return 0, err
		}
		if eps == 0 {
			return 0,
				noregret.BadInputf("exploration",
					"%v is 0 in round %d: want a share above 0, as the weights are up to K/ε",
					b.Explore, s)
		}
		sumEps += eps
		inverse += 1 / eps
		last += math.Sqrt(inverse) / float64(s)
	}
	out := portable.Log(float64(b.Arms))/float64(gamma*t) + float64(gamma*float64(spread*spread)/8) +
		float64(float64(spread/t)*sumEps)
	factor := float64(float64(math.Sqrt2*(c.Gradient+float64(c.Means*c.Smooth))) * b.Noise)
	return out + float64(float64(factor*math.Sqrt(float64(b.Arms)/float64(b.Groups)))*(last/t)), nil
}
