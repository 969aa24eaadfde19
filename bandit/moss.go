package bandit

import (
	"fmt"
	"math"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/portable"
)

// MOSS is the minimax optimal strategy in the stochastic case (Audibert and Bubeck 2009): each
// round pulls the arm of the lowest confidence bound of its loss, the first of several,
//
//	argmin_i μ̂_i − 2σ·√(ln⁺(T/(d·N_i))/N_i)
//
// where μ̂_i is the mean of the N_i losses of arm i, ln⁺ is max(ln, 0), T the horizon and d the
// number of arms, and first each arm once. Losses minus their mean are σ-subgaussian: σ = ½ for
// losses in [0, 1] gives the index of the paper, √(ln⁺(T/(d·N_i))/N_i). An arm with T/d losses or
// more has its mean as its index, so that far fewer pulls are spent on arms that are nearly as good
// as the best one than by [AlphaUCB]: the regret is O(σ·√(d·T)), without its factor √ln T.
// [MOSSBound] is the guarantee.
//
// Losses are finite numbers of size at most 1e100. A round costs what one of [AlphaUCB] does. Not
// safe for concurrent use.
type MOSS struct {
	averages
	rounds  int
	sigma   float64
	indices indices
}

// NewMOSS returns MOSS for a horizon of so many rounds, after which it goes on with the same rule.
// It returns an error of code bad_input if there is no arm, rounds is not from 1 to 1e15, or σ is
// outside [1e-100, 1e100].
func NewMOSS(arms, rounds int, sigma float64) (*MOSS, error) {
	if err := checkArms(arms); err != nil {
		return nil, err
	}
	if rounds < 1 || float64(rounds) > 1e15 {
		return nil, noregret.BadInputf("rounds", "%d: want 1 to 1e15", rounds)
	}
	if err := checkNoise(sigma); err != nil {
		return nil, err
	}
	m := &MOSS{rounds: rounds, sigma: sigma}
	m.setUp(m, arms, -maxLoss, maxLoss, "moss", fmt.Sprintf(", rounds=%d, sigma=%v", rounds, sigma))
	return m, nil
}

func (m *MOSS) renewed(int) core { return nil }

func (m *MOSS) add() error {
	return noregret.BadInputf("arm", "moss shares its horizon out among the arms that it begins with")
}

func (m *MOSS) pick(v *view, t int, _ Rand) int { return m.indices.pick(m, &m.averages, v, t) }

func (m *MOSS) renew()         { m.indices.renew() }
func (m *MOSS) renewArm(k int) { m.indices.renewArm(m, &m.averages, k) }

// index is the lower confidence bound of arm k. It does not depend on the round.
func (m *MOSS) index(k int, _, _ float64) float64 {
	n := float64(m.s.Pulls[k])
	share := float64(m.rounds) / float64(float64(len(m.p))*n)
	if share <= 1 {
		return m.s.Means[k]
	}
	return m.s.Means[k] - float64(2*m.sigma*math.Sqrt(portable.Log(share)/n))
}

// bonus is 0: no index depends on the round.
func (m *MOSS) bonus(int) float64 { return 0 }

// Index is the lower confidence bound of arm k in the current round, −∞ before its first loss.
func (m *MOSS) Index(k int) float64 {
	if m.s.Pulls[k] == 0 {
		return math.Inf(-1)
	}
	return m.index(k, 0, math.Inf(1))
}

// Probabilities is 1 for the arm of the round, see [Randomized].
func (m *MOSS) Probabilities() []float64 { return m.certain() }

// MOSSBound bounds the pseudo-regret of [MOSS] after the T rounds of its horizon, and so after
// fewer, with the gaps Δ_i and σ-subgaussian losses:
//
//	39σ·√(d·T) + Σ Δ_i
//
// (Lattimore and Szepesvári 2020, Theorem 9.1, scaled by σ). It is below the 49·√(d·T) of Audibert
// and Bubeck (2009, Theorem 5) for losses in [0, 1], which are ½-subgaussian. It is 0 for one arm.
func MOSSBound(gaps []float64, rounds int, sigma float64) float64 {
	if len(gaps) == 1 {
		return 0
	}
	sum, _ := gapSums(gaps)
	return float64(39*sigma*math.Sqrt(float64(len(gaps))*float64(rounds))) + sum
}
