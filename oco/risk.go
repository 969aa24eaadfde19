package oco

import (
	"fmt"
	"math"
	"slices"

	"github.com/noregret/noregret"

	"github.com/noregret/noregret/internal/portable"
	"github.com/noregret/noregret/loss"
)

// HighProbabilitySlack is 2·√(2·ln(2/δ)/T), by which the mean risk of the points of a learner may
// exceed min_u Risk(u) + Regret_T(u)/T with probability more than δ, for losses in [0, 1] (Orabona
// 2019, Theorem 3.13).
func HighProbabilitySlack(rounds int, delta float64) (float64, error) {
	if err := checkConfidence(rounds, delta); err != nil {
		return 0, err
	}
	return 2 * math.Sqrt(2*portable.Log(2/delta)/float64(rounds)), nil
}

// SampleComplexity is the smallest T at which regret(T)/T + [HighProbabilitySlack](T, delta) is at
// most epsilon, for a bound regret(T) with regret(T)/T nonincreasing. It returns an error if that
// takes more than 2⁶⁰ rounds.
func SampleComplexity(regret func(rounds int) float64, delta, epsilon float64) (int, error) {
	if err := checkConfidence(1, delta); err != nil {
		return 0, err
	}
	if err := positive("epsilon", epsilon); err != nil {
		return 0, err
	}
	good := func(t int) bool {
		s, _ := HighProbabilitySlack(t, delta) // checked above
		return regret(t)/float64(t)+s <= epsilon
	}
	hi := 1
	for !good(hi) {
		if hi > math.MaxInt/8 {
			return 0, noregret.BadInputf("epsilon", "%v is not reached in %d rounds", epsilon, hi)
		}
		hi *= 2
	}
	lo := hi / 2 // not good, or 0
	for hi-lo > 1 {
		if mid := lo + (hi-lo)/2; good(mid) {
			hi = mid
		} else {
			lo = mid
		}
	}
	return hi, nil
}

// ValidationSlack is 2·√(2·ln(2n/δ)/T), by which the risk of the best of n candidates on T fresh
// samples may exceed that of the best candidate with probability more than δ (Orabona 2019, Theorem
// 3.14). Choosing among the T/2 points of a learner by the other half of T samples costs at most
// 8·√(ln(T/δ)/T) with probability at least 1 − 2δ.
func ValidationSlack(candidates, samples int, delta float64) (float64, error) {
	if err := checkConfidence(samples, delta); err != nil {
		return 0, err
	}
	if candidates < 1 {
		return 0, noregret.BadInputf("candidates", "%d: want at least 1", candidates)
	}
	return 2 * math.Sqrt(2*portable.Log(2*float64(candidates)/delta)/float64(samples)), nil
}

// Select is the index of the least empirical risk, the first of equal ones.
func Select(risks []float64) (int, error) {
	if err := checkFinite("risks", risks, max(len(risks), 1)); err != nil {
		return 0, err
	}
	best := 0
	for i, r := range risks {
		if r < risks[best] {
			best = i
		}
	}
	return best, nil
}

func checkConfidence(rounds int, delta float64) error {
	if rounds < 1 {
		return noregret.BadInputf("rounds", "%d: want at least 1", rounds)
	}
	if !(delta > 0 && delta < 1) {
		return noregret.BadInputf("delta", "%v: want a probability in (0, 1)", delta)
	}
	return nil
}

// TrainValidate is validation selection (Orabona 2019, Theorem 3.14): it plays a learner on one
// half of independent samples, keeps every point played, and returns the point of least mean loss
// on the other half, the first of equal ones, with that loss. With probability at least 1 − 2δ its
// risk is at most min_u (Risk(u) + Regret(u)/len(train)) + 8·√(ln(T/δ)/T), T = len(train) +
// len(validate), for losses in [0, 1]. O(T·d) memory.
func TrainValidate(learner Learner, train, validate []loss.Function) (point []float64, risk float64, err error) {
	l, err := NewLinearized(learner)
	if err != nil {
		return nil, 0, err
	}
	if len(train) == 0 || len(validate) == 0 {
		return nil, 0, noregret.BadInputf("samples", "%d to train and %d to validate: at least one of each is required",
			len(train),
			len(validate))
	}
	for i, f := range validate {
		if err := checkLoss(f, learner.Dim()); err != nil {
			return nil, 0, fmt.Errorf("validate[%d]: %w", i, err)
		}
	}
	points := make([][]float64, len(train))
	risks := make([]float64, len(train))
	for i, f := range train {
		points[i] = slices.Clone(learner.Predict())
		if err := l.UpdateLoss(f); err != nil {
			return nil, 0, fmt.Errorf("train[%d]: %w", i, err)
		}
		var s sum
		for _, f := range validate {
			s.add(f.Value(points[i]))
		}
		risks[i] = s.value() / float64(len(validate))
	}
	best, err := Select(risks)
	if err != nil {
		return nil, 0, err
	}
	return points[best], risks[best], nil
}
