package play

import (
	"math"

	"github.com/noregret/noregret/internal/compensated"
)

// Estimate is the mean of a number over runs.
type Estimate struct {
	// Mean is the mean; it is not finite where one of the numbers or their sum is not.
	Mean float64
	// StandardError is the mean's standard error, s/√n with s² = Σ(v − Mean)²/(n − 1); NaN for one
	// run and where the mean is not finite.
	StandardError float64
}

// Summary is the outcome of one learner over all its runs.
type Summary struct {
	Learner, Game string
	// Rounds is the number of rounds of each run, Runs the number of runs and Seed the first seed.
	Rounds, Runs int
	Seed         uint64
	// Loss, Regret and Bound are the means of the certificates' numbers. A mean of Bound is +Inf if
	// the learner gave none in one of the runs.
	Loss, Regret, Bound Estimate
	// SharpBound is the mean of the certificates' sharp bounds, NaN if the learner has none.
	SharpBound Estimate
	// WorstRatio is the largest ratio of regret to bound in a run, and WorstSeed the seed of the
	// first run that attained it; NaN and 0 if no run has a ratio.
	WorstRatio float64
	WorstSeed  uint64
	// Exceeded is the number of runs with a regret above their bound, see
	// [regret.Certificate.Holds]; 0 where the game adds noise.
	Exceeded int
	// Noisy reports that the game adds noise to the feedback: the bound is one of the expected
	// regret. Excess is then the mean of the regret less the bound, which both depend on the noise.
	Noisy  bool
	Excess Estimate
	// Floor is the mean of the results' Floor, NaN if the game guarantees none.
	Floor float64
	// Dynamic is the summary of the dynamics, nil unless they were measured.
	Dynamic *DynamicSummary
}

// DynamicSummary is the outcome of one learner over all its runs, against moving comparators.
type DynamicSummary struct {
	// Regret is the mean dynamic regret, Bound the mean of the learner's bounds on it and Interval
	// the mean of the largest regret in an interval. A mean of Bound is +Inf if the learner gave
	// none in one of the runs.
	Regret, Bound, Interval Estimate
	// Variation and Hull are the means of [regret.Variation]'s Total and Hull.
	Variation, Hull Estimate
	// Floor is the mean of the results' DynamicFloor, NaN if there is none.
	Floor float64
}

// Holds reports whether the regret is within the bound: in every run, or with noise in the feedback
// on average up to four standard errors and rounding. With noise it is not known of one run, and of
// a learner without a bound.
func (s *Summary) Holds() (holds, known bool) {
	if !s.Noisy {
		return s.Exceeded == 0, true
	}
	if s.Runs == 1 || math.IsInf(s.Bound.Mean, 1) {
		return false, false
	}
	slack := float64(1e-9*math.Abs(s.Bound.Mean)) + float64(1e-12*math.Abs(s.Loss.Mean))
	return s.Excess.Mean-float64(4*s.Excess.StandardError) <= slack, true
}

// Summarize sums up the results of a [Run] by learner, in the order in which the learners appear.
// Sums are compensated and in the order of the results.
func Summarize(results []Result) []Summary {
	type key struct{ learner, game string }
	runs := map[key][]Result{}
	var order []key
	for _, r := range results {
		k := key{r.Learner, r.Game}
		if runs[k] == nil {
			order = append(order, k)
		}
		runs[k] = append(runs[k], r)
	}
	all := make([]Summary, 0, len(order))
	for _, k := range order {
		all = append(all, summarize(runs[k]))
	}
	return all
}

// summarize sums up the runs of one learner in one game.
func summarize(runs []Result) Summary {
	s := Summary{
		Learner: runs[0].Learner, Game: runs[0].Game, Rounds: runs[0].Rounds, Runs: len(runs), Seed: runs[0].Seed,
		Loss:       estimate(runs, func(r *Result) float64 { return r.LearnerLoss }),
		Regret:     estimate(runs, func(r *Result) float64 { return r.Regret }),
		Bound:      estimate(runs, func(r *Result) float64 { return r.Bound }),
		SharpBound: estimate(runs, func(r *Result) float64 { return r.SharpBound }),
		Floor:      estimate(runs, func(r *Result) float64 { return r.Floor }).Mean,
		WorstRatio: math.NaN(), Noisy: runs[0].Noisy,
		Excess: estimate(runs, func(r *Result) float64 { return r.Regret - r.Bound }),
	}
	if runs[0].Dynamic != nil {
		s.Dynamic = &DynamicSummary{
			Regret:    estimate(runs, func(r *Result) float64 { return r.Dynamic.Regret }),
			Bound:     estimate(runs, func(r *Result) float64 { return r.Dynamic.Bound }),
			Interval:  estimate(runs, func(r *Result) float64 { return r.Dynamic.Worst().Regret }),
			Variation: estimate(runs, func(r *Result) float64 { return r.Dynamic.Variation.Total }),
			Hull:      estimate(runs, func(r *Result) float64 { return r.Dynamic.Variation.Hull }),
			Floor:     estimate(runs, func(r *Result) float64 { return r.DynamicFloor }).Mean,
		}
	}
	for i := range runs {
		r := &runs[i]
		if v := r.Ratio(); v > s.WorstRatio || math.IsNaN(s.WorstRatio) && !math.IsNaN(v) {
			s.WorstRatio, s.WorstSeed = v, r.Seed
		}
		if !r.Holds() {
			s.Exceeded++
		}
	}
	return s
}

// estimate is the mean of a number over runs, with its standard error.
func estimate(runs []Result, number func(*Result) float64) Estimate {
	n := float64(len(runs))
	var sum compensated.Sum
	plain := 0.0
	for i := range runs {
		v := number(&runs[i])
		sum.Add(v)
		plain += v
	}
	if math.IsNaN(plain) || math.IsInf(plain, 0) {
		return Estimate{Mean: plain / n, StandardError: math.NaN()}
	}
	e := Estimate{Mean: sum.Value() / n, StandardError: math.NaN()}
	if len(runs) > 1 {
		var squares compensated.Sum
		for i := range runs {
			v := number(&runs[i]) - e.Mean
			squares.AddProduct(v, v)
		}
		e.StandardError = math.Sqrt(squares.Value() / (n - 1) / n)
	}
	return e
}
