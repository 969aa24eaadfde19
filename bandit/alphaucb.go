package bandit

import (
	"fmt"
	"math"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/portable"
)

// AlphaUCB is UCB(α), optimism in the face of uncertainty (Auer, Cesa-Bianchi and Fischer 2002;
// Orabona 2019, Algorithm 10.5): round t pulls the arm of the lowest confidence bound of its loss,
//
//	argmin_i μ̂_i − σ·√(2α·ln t/N_i)
//
// where μ̂_i is the mean of the N_i losses of arm i, and first each arm once. Losses minus their
// mean are σ-subgaussian: σ is the standard deviation of normal losses, and (b − a)/2 for losses in
// [a, b]. UCB1 is σ = ½, α = 4 for losses in [0, 1]. No horizon is needed. [AlphaUCBBound] and
// [AlphaUCBGapFreeBound] are the guarantees, for α > 2. Smaller α explore less, and often pay much
// less; the theorem has no bound for them.
//
// Losses are finite numbers of size at most 1e100. A round costs O(d) and allocates nothing. From
// 64 arms on it costs O(log d) and an index for each number of losses that arms have, or for each
// arm whose index is near the lowest; arms whose indices differ by rounding only may then change
// places.
type AlphaUCB struct {
	// Alpha is α, above 0 and at most 1e6. The guarantee needs one above 2.
	Alpha float64
	// Sigma is σ, from 1e-100 to 1e100.
	Sigma float64
}

func (u AlphaUCB) plan(int) (*plan, error) {
	if !(u.Alpha > 0 && u.Alpha <= 1e6) {
		return nil, noregret.BadInputf("alpha", "%v: want a number above 0, at most 1e6", u.Alpha)
	}
	if err := checkPositive("sigma", u.Sigma); err != nil {
		return nil, err
	}
	return &plan{
		name: "ucb", options: fmt.Sprintf(", alpha=%v, sigma=%v", u.Alpha, u.Sigma), low: -maxLoss, high: maxLoss,
		method: &indices{rule: u},
	}, nil
}

// bonus is σ·√(2α·ln t).
func (u AlphaUCB) bonus(t float64, _ int) float64 {
	return float64(u.Sigma * math.Sqrt(2*u.Alpha*portable.Log(t)))
}

func (u AlphaUCB) index(n, mean, bonus, _ float64) float64 { return mean - bonus/math.Sqrt(n) }

// AlphaUCBBound bounds the pseudo-regret after T rounds with the gaps Δ_i:
//
//	(α/(α−2))·Σ Δ_i + Σ_{Δ_i > 0} 8ασ²·ln T/Δ_i
//
// (Orabona 2019, Theorem 10.14). It is +Inf for α ≤ 2.
func AlphaUCBBound(gaps []float64, rounds int, alpha, sigma float64) float64 {
	if alpha <= 2 {
		return math.Inf(1)
	}
	sum, inverse := gapSums(gaps)
	pulls := float64(8 * alpha * square(sigma) * portable.Log(float64(rounds)))
	return float64(alpha/(alpha-2)*sum) + float64(pulls*inverse)
}

// AlphaUCBPulls bounds the expected number of pulls of an arm with the gap Δ > 0 after T rounds:
// 8ασ²·ln T/Δ² + α/(α−2) (Orabona 2019, Theorem 10.14). It is +Inf for α ≤ 2.
func AlphaUCBPulls(gap float64, rounds int, alpha, sigma float64) float64 {
	if alpha <= 2 {
		return math.Inf(1)
	}
	return float64(8*alpha*square(sigma/gap)*portable.Log(float64(rounds))) + alpha/(alpha-2)
}

// AlphaUCBGapFreeBound bounds the pseudo-regret after T rounds in a form that stays useful for
// small gaps: 4σ·√(2αd·T·ln T) + (α/(α−2))·Σ Δ_i (Orabona 2019, Theorem 10.15). It is +Inf for α ≤
// 2.
func AlphaUCBGapFreeBound(gaps []float64, rounds int, alpha, sigma float64) float64 {
	if alpha <= 2 {
		return math.Inf(1)
	}
	sum, _ := gapSums(gaps)
	t := float64(rounds)
	root := math.Sqrt(2 * alpha * float64(len(gaps)) * float64(t*portable.Log(t)))
	return float64(4*sigma*root) + float64(alpha/(alpha-2)*sum)
}

// gapSums returns Σ Δ_i and Σ 1/Δ_i over the positive gaps.
func gapSums(gaps []float64) (sum, inverse float64) {
	for _, g := range gaps {
		if g > 0 {
			sum += g
			inverse += 1 / g
		}
	}
	return sum, inverse
}
