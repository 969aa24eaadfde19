package scenario

import (
	"context"
	"errors"
	"math"
	"slices"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/pasto"
	"github.com/noregret/noregret/pasto/optimum"
)

// Truth is what the true means of a world say: the best single arm, the certified best mixture, and
// the value of any mixture. All worlds of this module whose arms have known means are scored by it.
// It is not safe for concurrent use.
type Truth struct {
	// Goals is the objective, and Means are the arms' means as it sees them: contrasts for relative
	// guardrails.
	Goals *pasto.Goals
	Means *pasto.Table
	// Arm is the best single arm that holds the hard guardrails and Single its value, −1 and NaN if
	// none does.
	Arm    int
	Single float64
	// Best is the best mixture that holds the hard guardrails, nil if none does.
	Best *optimum.Optimum
	// Infeasible describes guardrails, soft ones included, that no mixture holds; nil if one does.
	Infeasible *optimum.Infeasible

	theta, v []float64
}

// NewTruth finds the best arm and the best mixture. It returns an error if the gap of the mixture
// is not certified to 1e-9 of the size of the objective's terms, or of 1 if that is larger, beside
// what rounding may add; and ctx's error if ctx has ended. It costs what [optimum.Maximize] does.
func NewTruth(ctx context.Context, goals *pasto.Goals, means *pasto.Table) (*Truth, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	t := &Truth{
		Goals: goals, Means: means, theta: make([]float64, means.Metrics()), v: make([]float64, means.Metrics()),
	}
	var err error
	if t.Arm, t.Single, err = optimum.BestSingle(goals, means); err != nil {
		if !goals.HasHard() {
			return nil, err
		}
		t.Arm, t.Single = -1, math.NaN() // no arm holds the hard guardrails
	}
	best, err := optimum.Maximize(goals, means, optimum.DefaultOptions())
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	switch {
	case errors.As(err, &t.Infeasible):
		return t, nil
	case err != nil:
		return nil, err
	}
	if err := certified(goals, means, best); err != nil {
		return nil, err
	}
	t.Best, t.Infeasible = best, best.Infeasible
	return t, nil
}

// Optimum is the value of the best mixture, NaN if none holds the hard guardrails.
func (t *Truth) Optimum() float64 {
	if t.Best == nil {
		return math.NaN()
	}
	return t.Best.Value
}

// Score is what a mixture is worth under the true means.
type Score struct {
	// Value is the objective without hard guardrails.
	Value float64
	// Violation is the sum of the violations of the guardrails, and Broken reports whether one of
	// them exceeds its slack.
	Violation float64
	Broken    bool
}

// Score returns the score of a mixture of length K. O(K·M).
func (t *Truth) Score(p []float64) Score {
	t.Means.Mean(t.theta, p)
	return Score{t.Goals.Reward(t.theta), t.Goals.Violations(t.v, t.theta), !t.Goals.Holds(t.theta)}
}

// certified returns an error if the gap of an optimum is larger than admitted.
func certified(f *pasto.Goals, means *pasto.Table, best *optimum.Optimum) error {
	if most := admitted(f, means, best); !(best.Gap <= most) {
		return noregret.Errorf(noregret.Internal, "optimum", "the certified gap is %v, want at most %v", best.Gap, most)
	}
	return nil
}

// admitted is the largest gap that an optimum may have: 1e-9 of max(1, Σ_m (|d_m| + ν_m)·max_k
// |μ_km|), for the gradient d and the prices ν, plus what rounding the metrics by h_m = 1e-15·max_k
// |μ_km| may add, Σ_m |d_m(θ + h) − d_m(θ − h)|·max_k |μ_km − θ_m|.
func admitted(f *pasto.Goals, means *pasto.Table, best *optimum.Optimum) float64 {
	m := means.Metrics()
	theta, d, size, apart := make([]float64, m), make([]float64, m), make([]float64, m), make([]float64, m)
	means.Mean(theta, best.Mixture)
	f.Gradient(d, theta)
	for k := range means.Arms() {
		for i, v := range means.Arm(k) {
			size[i] = max(size[i], math.Abs(v))
			apart[i] = max(apart[i], math.Abs(v-theta[i]))
		}
	}
	terms, over, under := 0.0, make([]float64, m), make([]float64, m)
	for i, v := range theta {
		terms += float64(math.Abs(d[i]) * size[i])
		if best.Prices != nil {
			terms += float64(best.Prices[i] * size[i])
		}
		h := float64(1e-15 * size[i])
		over[i], under[i] = v+h, v-h
	}
	f.Gradient(d, over)
	up := slices.Clone(d)
	f.Gradient(d, under)
	rounding := 0.0
	for i := range d {
		rounding += float64(math.Abs(up[i]-d[i]) * apart[i])
	}
	return float64(1e-9*max(terms, 1)) + rounding
}
