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
// Losses are finite numbers of size at most 1e100. A round costs what one of [AlphaUCB] does.
type MOSS struct {
	// Rounds is T, from 1 to 1e15. A player goes on by the same rule after them.
	Rounds int
	// Sigma is σ, from 1e-100 to 1e100.
	Sigma float64
}

func (m MOSS) plan(int) (*plan, error) {
	if m.Rounds < 1 || float64(m.Rounds) > 1e15 {
		return nil, noregret.BadInputf("rounds", "%d: want 1 to 1e15", m.Rounds)
	}
	if err := checkPositive("sigma", m.Sigma); err != nil {
		return nil, err
	}
	return &plan{
		name: "moss", options: fmt.Sprintf(", rounds=%d, sigma=%v", m.Rounds, m.Sigma), low: -maxLoss, high: maxLoss,
		fixed: "moss shares its horizon out among the arms that it begins with", method: &indices{rule: m},
	}, nil
}

// bonus is d: no index depends on the round.
func (m MOSS) bonus(_ float64, arms int) float64 { return float64(arms) }

func (m MOSS) index(n, mean, arms, _ float64) float64 {
	share := float64(m.Rounds) / float64(arms*n)
	if share <= 1 {
		return mean
	}
	return mean - float64(2*m.Sigma*math.Sqrt(portable.Log(share)/n))
}

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
