package scenario

import (
	"math"
	"slices"
)

// summarize makes the result of the outcomes, in their order.
func summarize(o *Options, out []outcome) *Result {
	r := &Result{Scenario: o.Scenario, Algorithm: o.Algorithm, Runs: o.Runs, Rounds: o.Rounds, Noise: *o.Noise, Seed: o.Seed, At: o.Checkpoints}
	for i := range o.Checkpoints {
		r.addObjective(out, i)
		r.addGain(out, i)
		r.addViolation(out, i)
		r.Mixture.Share = append(r.Mixture.Share, meanShare(out, i))
	}
	last := len(o.Checkpoints) - 1
	r.BestSingle, r.Optimum = Number(r.Single.Mean[last]), r.Objective.Mean[last]+r.Distance.Mean[last]
	r.Crossing.Single = lasting(r.At, func(i int) bool { return r.Objective.Mean[i] > r.Single.Mean[i] })
	r.Crossing.Optimum = lasting(r.At, func(i int) bool { return r.Gain.Ratio[i] >= 0.95 })
	r.Infeasible = countInfeasible(out)
	return r
}

// lasting is the first round from which on ok holds at all rounds reported, or 0.
func lasting(at []int, ok func(i int) bool) int {
	since := 0
	for i, t := range at {
		switch {
		case !ok(i):
			since = 0
		case since == 0:
			since = t
		}
	}
	return since
}

// addObjective adds the mean, the standard deviation and the quartiles over runs at checkpoint i, and the means of the
// best single arm and of the distance to the optimum.
func (r *Result) addObjective(out []outcome, i int) {
	runs := float64(len(out))
	var values []float64
	var value, best, square float64
	for j := range out {
		value += out[j].value[i]
		best += out[j].best[i]
		values = append(values, out[j].value[i])
	}
	mean := value / runs
	for _, v := range values {
		square += float64((v - mean) * (v - mean))
	}
	slices.Sort(values)
	r.Objective.SD = append(r.Objective.SD, math.Sqrt(square/max(runs-1, 1)))
	r.Objective.Mean = append(r.Objective.Mean, mean)
	r.Objective.Q25 = append(r.Objective.Q25, quantile(values, 0.25))
	r.Objective.Q75 = append(r.Objective.Q75, quantile(values, 0.75))
	r.Distance.Mean = append(r.Distance.Mean, (best-value)/runs)
}

// addGain adds the relative gains at checkpoint i, over the runs that have a single arm to compare with.
func (r *Result) addGain(out []outcome, i int) {
	var value, single, best, runs float64
	var ratios []float64
	for j := range out {
		x := &out[j]
		if x.single[i] != x.single[i] {
			continue
		}
		runs++
		value += x.value[i]
		single += x.single[i]
		best += x.best[i]
		if gap := x.best[i] - x.single[i]; gap > 1e-3 {
			ratios = append(ratios, (x.value[i]-x.single[i])/gap)
		}
	}
	ratio := math.NaN()
	if best > single {
		ratio = (value - single) / (best - single)
	}
	slices.Sort(ratios)
	r.Single.Mean = append(r.Single.Mean, single/runs)
	r.Gain.Ratio = append(r.Gain.Ratio, ratio)
	r.Gain.Median = append(r.Gain.Median, quantile(ratios, 0.5))
}

func (r *Result) addViolation(out []outcome, i int) {
	sum, broken := 0.0, 0.0
	for j := range out {
		sum += out[j].violation[i]
		if out[j].broken[i] {
			broken++
		}
	}
	r.Violation.Mean = append(r.Violation.Mean, sum/float64(len(out)))
	r.Violation.Share = append(r.Violation.Share, broken/float64(len(out)))
}

// meanShare is the mean mixture of the runs that kept theirs: all, or the first.
func meanShare(out []outcome, i int) []float64 {
	var share []float64
	runs := 0.0
	for j := range out {
		if out[j].share == nil {
			continue
		}
		runs++
		if share == nil {
			share = make([]float64, len(out[j].share[i]))
		}
		for k, v := range out[j].share[i] {
			share[k] += v
		}
	}
	for k := range share {
		share[k] /= runs
	}
	return share
}

func countInfeasible(out []outcome) Infeasible {
	x := Infeasible{Metrics: []string{}, By: []float64{}}
	for j := range out {
		if out[j].reported {
			x.Reported++
		}
		if out[j].sure {
			x.Sure++
		}
		least := out[j].infeasible
		if least == nil {
			continue
		}
		if x.Runs == 0 {
			x.Metrics, x.By = least.Metrics, least.By
		}
		x.Runs++
		x.Violation += least.Violation
	}
	x.Violation /= float64(max(x.Runs, 1))
	return x
}

// quantile interpolates linearly between sorted values (type 7 of Hyndman and Fan); NaN for none.
func quantile(sorted []float64, q float64) float64 {
	if len(sorted) == 0 {
		return math.NaN()
	}
	x := float64(q * float64(len(sorted)-1))
	i := int(x)
	if i+1 >= len(sorted) {
		return sorted[len(sorted)-1]
	}
	return sorted[i] + float64((x-float64(i))*(sorted[i+1]-sorted[i]))
}
