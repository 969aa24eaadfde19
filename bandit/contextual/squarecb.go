package contextual

import (
	"fmt"
	"math"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/portable"
	"github.com/noregret/noregret/policy"
)

// SquareCBOptions are the parameters of [SquareCB]. Begin with [DefaultSquareCBOptions].
type SquareCBOptions struct {
	PlayerOptions
	// Gamma and Exponent give the rate γ = Gamma·max(n, 1)^Exponent after n rewards. Gamma is above
	// 0 and at most 1e30, Exponent from 0 to 1: 0 keeps γ fixed, 0.5 suits an unknown number of
	// rounds.
	Gamma, Exponent float64
	// Low and High are the ends of the range of rewards, at which predictions are cut off: two
	// numbers of size at most 1e30, or −Inf and +Inf to cut nothing.
	Low, High float64
}

// DefaultSquareCBOptions are Gamma √arms, Exponent ½, rewards without a range, separate weights, no
// floor and 10,000 choices that wait.
func DefaultSquareCBOptions(arms, dim int) SquareCBOptions {
	return SquareCBOptions{
		PlayerOptions: defaultPlayerOptions(arms, dim), Gamma: math.Sqrt(float64(arms)), Exponent: 0.5,
		Low: math.Inf(-1), High: math.Inf(1),
	}
}

// SquareCB is inverse gap weighting over any regression (Abe and Long 1999; Foster and Rakhlin
// 2020, Algorithm 1): with the predictions ŷ_k, b the first arm of the largest one and n the number
// of allowed arms,
//
//	p_k = 1/(n + γ(ŷ_b − ŷ_k)) for k ≠ b, and p_b is the rest.
//
// If the expected reward is f(x) for some f that the regressor competes with, the regret is at most
// [SquareCBBound]. Only the square loss of the regressor counts, so that any model can be used. A
// round costs a prediction for each arm and an update.
type SquareCB struct {
	core
}

// NewSquareCB returns the player. Fresh makes a regressor without observations; it is called for
// each arm, or once if all arms share the weights, and again when a snapshot is restored. Two of
// its regressors must not share any state. It returns an error of code bad_input if an option is
// out of its range.
func NewSquareCB(o SquareCBOptions, fresh func() (Regressor, error)) (*SquareCB, error) {
	cut := !math.IsInf(o.Low, -1) || !math.IsInf(o.High, 1)
	switch {
	case !(o.Gamma > 0 && o.Gamma <= 1e30):
		return nil, noregret.BadInputf("gamma", "%v: want a number above 0, at most 1e30", o.Gamma)
	case !(o.Exponent >= 0 && o.Exponent <= 1):
		return nil, noregret.BadInputf("exponent", "%v: want a number from 0 to 1", o.Exponent)
	case cut && !(math.Abs(o.Low) <= maxReward && math.Abs(o.High) <= maxReward && o.Low < o.High):
		return nil, noregret.BadInputf("range",
			"[%v, %v]: want two numbers of size at most 1e30, the lower one first, or −Inf and +Inf", o.Low, o.High)
	}
	s := &SquareCB{}
	gamma := func() float64 { return gammaAfter(o.Gamma, o.Exponent, s.count) }
	rule := func() policy.Rule { return policy.Rule{Kind: policy.SquareCB, Gamma: gamma(), Floor: o.Floor} }
	text := fmt.Sprintf("squarecb(gamma=%v, exponent=%v, range=[%v, %v])", o.Gamma, o.Exponent, o.Low, o.High)
	return s, s.setUp(o.PlayerOptions, text, rule, func() (estimator, error) {
		r, err := fresh()
		return regressed{r, cut, o.Low, o.High}, err
	})
}

// gammaAfter is the rate after n rewards.
func gammaAfter(gamma, exponent float64, n uint64) float64 {
	switch exponent {
	case 0:
		return gamma
	case 0.5:
		return gamma * math.Sqrt(float64(max(n, 1)))
	}
	return gamma * portable.Pow(float64(max(n, 1)), exponent)
}

// SquareCBBound returns the bound on the expected regret of [SquareCB] with a fixed γ and no floor
// after the given rounds:
//
//	2·(arms − 1)·rounds/γ + γ·squareRegret/4
//
// Here squareRegret bounds the expected square regret Σ (ŷ − y)² − Σ (f(x) − y)² of the regressor
// against the expected reward f; see [Ridge.SquareRegret]. The first term is the lemma
//
//	Σ p_k·(f_j − f_k) ≤ 2·(arms − 1)/γ + (γ/4)·Σ p_k·(ŷ_k − f_k)²  for each arm j and each f
//
// of Foster and Rakhlin (2020, Lemma 3) with arms − 1 for arms. [SquareCBGamma] minimizes the
// bound.
func SquareCBBound(arms, rounds int, squareRegret, gamma float64) float64 {
	return 2*float64(arms-1)*float64(rounds)/gamma + float64(float64(gamma*squareRegret)/4)
}

// SquareCBGamma returns the γ that minimizes [SquareCBBound], √(8·(arms − 1)·rounds/squareRegret);
// the bound is then √(2·(arms − 1)·rounds·squareRegret).
func SquareCBGamma(arms, rounds int, squareRegret float64) float64 {
	return math.Sqrt(8 * float64(arms-1) * float64(rounds) / squareRegret)
}
