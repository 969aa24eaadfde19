package bandit

import (
	"fmt"
	"math"

	"github.com/noregret/noregret"
)

// Estimator is the estimate of the losses that [TsallisINF] uses.
type Estimator int

const (
	// ImportanceWeighted is g̃_i = 1[A = i]·g/p_i.
	ImportanceWeighted Estimator = iota
	// ReducedVariance is g̃_i = 1[A = i]·(g − B_i)/p_i + B_i with B_i = L/2 for the arms with p_i ≥
	// 16/t, and 0 for the others.
	ReducedVariance
)

// String is "importance-weighted" or "reduced-variance".
func (e Estimator) String() string {
	switch e {
	case ImportanceWeighted:
		return "importance-weighted"
	case ReducedVariance:
		return "reduced-variance"
	}
	return "unknown"
}

// TsallisINF is [INF] with q = ½ and a rate that falls with the rounds t (Zimmert and Seldin 2021):
//
//	p_i = (Λ + η_t·G̃_i)^{−2} with η_t = 1/(L·√t), and 2/(L·√t) with reduced variance.
//
// Their η_t is twice this one. It needs no horizon, and no word on whether the losses are random or
// adversarial: its regret is O(√(d·T)) in the worst case, [TsallisINFBound], and O(Σ_i ln T/Δ_i)
// for independent losses with the gaps Δ_i. [TsallisINFBound] and [TsallisINFGapBound] are for
// importance weights: estimates of reduced variance may be negative, which their proofs exclude,
// and there is no function for their bound. The losses are in [0, L]. A round costs O(d) for each
// of about 7 iterations and allocates nothing.
type TsallisINF struct {
	Estimator Estimator
	// Limit is L, from 1e-100 to 1e100.
	Limit float64
}

func (f TsallisINF) plan(int) (*plan, error) {
	if err := checkPositive("limit", f.Limit); err != nil {
		return nil, err
	}
	if f.Estimator != ImportanceWeighted && f.Estimator != ReducedVariance {
		return nil, noregret.BadInputf("estimator", "%d: want ImportanceWeighted or ReducedVariance", int(f.Estimator))
	}
	return estimates("tsallis-inf", fmt.Sprintf(", estimator=%v, limit=%v", f.Estimator, f.Limit), 0, f.Limit,
		&weights{rule: f, unit: 1, power: true}), nil
}

func (f TsallisINF) weigh(p, sums []float64, t float64) {
	rate := 1 / (f.Limit * math.Sqrt(t))
	if f.Estimator == ReducedVariance {
		rate *= 2
	}
	tsallis(p, sums, rate, 0.5)
}

func (f TsallisINF) credit(sums []float64, c *drawn, loss float64) {
	if f.Estimator == ImportanceWeighted {
		creditImportance(sums, c, loss)
		return
	}
	for i := range sums {
		base := 0.0
		if hasBit(c.Base, i) {
			base = f.Limit / 2
		}
		estimate := base
		if i == c.Arm {
			estimate += (loss - base) / c.Propensity
		}
		sums[i] = addEstimate(sums[i], estimate)
	}
}

// mark sets the bits of the arms with B_i = L/2.
func (f TsallisINF) mark(words []uint64, p []float64, t int) []uint64 {
	if f.Estimator == ImportanceWeighted {
		return nil
	}
	clear(words)
	for i, x := range p {
		if float64(x*float64(t)) >= 16 {
			words[i>>6] |= 1 << (i & 63)
		}
	}
	return words
}

// TsallisINFBound bounds the expected regret of [TsallisINF] with the importance-weighted estimator
// after T rounds, whatever the losses: L·(4·√(d·T) + 1) (Zimmert and Seldin 2021, Theorem 1). It is
// 0 for one arm.
func TsallisINFBound(arms, rounds int, limit float64) float64 {
	if arms == 1 {
		return 0
	}
	return limit * (float64(4*math.Sqrt(float64(arms)*float64(rounds))) + 1)
}
