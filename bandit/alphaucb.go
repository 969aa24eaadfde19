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
// places. Not safe for concurrent use.
type AlphaUCB struct {
	averages
	alpha, sigma float64
	indices      indices
	root         []float64 // √N_i
}

// NewAlphaUCB returns UCB(α). It returns an error of code bad_input if there is no arm, α is not in
// (0, 1e6], or σ is outside [1e-100, 1e100]. The guarantee needs α > 2.
func NewAlphaUCB(arms int, alpha, sigma float64) (*AlphaUCB, error) {
	if err := checkArms(arms); err != nil {
		return nil, err
	}
	if !(alpha > 0 && alpha <= 1e6) {
		return nil, noregret.BadInputf("alpha", "%v: want a number above 0, at most 1e6", alpha)
	}
	if err := checkNoise(sigma); err != nil {
		return nil, err
	}
	u := &AlphaUCB{alpha: alpha, sigma: sigma}
	u.setUp(u, arms, -maxLoss, maxLoss, "ucb", fmt.Sprintf(", alpha=%v, sigma=%v", alpha, sigma))
	return u, nil
}

func (u *AlphaUCB) renewed(arms int) core {
	c := &AlphaUCB{alpha: u.alpha, sigma: u.sigma}
	c.setUp(c, arms, u.lowest, u.highest, u.name, u.options)
	return c
}

func (u *AlphaUCB) pick(v *view, t int, _ Rand) int {
	if v != lockstep || u.unseen > 0 || len(u.p) >= manyArms {
		return u.indices.pick(u, &u.averages, v, t)
	}
	width, arm, least := u.bonus(t), 0, math.Inf(1)
	for k, mean := range u.s.Means {
		if x := mean - width/u.root[k]; x < least {
			arm, least = k, x
		}
	}
	return arm
}

func (u *AlphaUCB) renew() {
	u.indices.renew()
	u.root = make([]float64, len(u.p))
	for k, n := range u.s.Pulls {
		u.root[k] = math.Sqrt(float64(n))
	}
}

func (u *AlphaUCB) renewArm(k int) {
	u.root[k] = math.Sqrt(float64(u.s.Pulls[k]))
	u.indices.renewArm(u, &u.averages, k)
}

// index is the lower confidence bound of arm k for σ·√(2α·ln t).
func (u *AlphaUCB) index(k int, width, _ float64) float64 {
	return u.s.Means[k] - width/u.root[k]
}

// bonus is σ·√(2α·ln t).
func (u *AlphaUCB) bonus(t int) float64 {
	return float64(u.sigma * math.Sqrt(2*u.alpha*portable.Log(float64(t))))
}

// Index is the lower confidence bound of arm k in the current round, −∞ before its first loss.
func (u *AlphaUCB) Index(k int) float64 {
	if u.s.Pulls[k] == 0 {
		return math.Inf(-1)
	}
	return u.index(k, u.bonus(u.s.Rounds+1), math.Inf(1))
}

// Probabilities is 1 for the arm of the round, see [Randomized].
func (u *AlphaUCB) Probabilities() []float64 { return u.certain() }

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
