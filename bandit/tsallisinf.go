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
// of about 7 iterations and allocates nothing. Not safe for concurrent use.
type TsallisINF struct {
	weighted
	estimator Estimator
	bits      []uint64 // for mark
}

// NewTsallisINF returns Tsallis-INF on arms with losses in [0, limit]. It returns an error of code
// bad_input if there is no arm, the limit is outside [1e-100, 1e100] or the estimator is unknown.
func NewTsallisINF(arms int, estimator Estimator, limit float64) (*TsallisINF, error) {
	if err := checkPlayer(arms, limit); err != nil {
		return nil, err
	}
	if estimator != ImportanceWeighted && estimator != ReducedVariance {
		return nil, noregret.BadInputf("estimator", "%d: want ImportanceWeighted or ReducedVariance", int(estimator))
	}
	f := &TsallisINF{estimator: estimator}
	if estimator == ReducedVariance {
		f.bits = make([]uint64, (arms+63)/64)
	}
	f.setUp(f, arms, 0, limit, fmt.Sprintf("tsallis-inf(arms=%d, estimator=%v, limit=%v)", arms, estimator, limit))
	f.power = true
	return f, nil
}

func (f *TsallisINF) weigh(p, sums []float64, t int) {
	rate := 1 / (f.limit * math.Sqrt(float64(t)))
	if f.estimator == ReducedVariance {
		rate *= 2
	}
	tsallis(p, sums, rate, 0.5)
}

func (f *TsallisINF) credit(sums []float64, c *drawn, loss float64) {
	if f.estimator == ImportanceWeighted {
		creditImportance(sums, c, loss)
		return
	}
	for i := range sums {
		base := 0.0
		if hasBit(c.Base, i) {
			base = f.limit / 2
		}
		estimate := base
		if i == c.Arm {
			estimate += (loss - base) / c.Propensity
		}
		sums[i] = addEstimate(sums[i], estimate)
	}
}

// mark sets the bits of the arms with B_i = L/2.
func (f *TsallisINF) mark(p []float64, t int) []uint64 {
	if f.estimator == ImportanceWeighted {
		return nil
	}
	clear(f.bits)
	for i, x := range p {
		if float64(x*float64(t)) >= 16 {
			f.bits[i>>6] |= 1 << (i & 63)
		}
	}
	return f.bits
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
