package scenario

import (
	"math"
	"slices"

	"github.com/noregret/noregret/internal/stat"
)

// summarize adds up the outcomes in their order.
func summarize(o *Options, out []outcome) *Result {
	r := &Result{
		Scenario: o.Scenario, Algorithm: o.Algorithm, Runs: o.Runs, Rounds: o.Rounds, Noise: *o.Noise, Seed: o.Seed,
		At:   o.Checkpoints,
		Hard: o.Hard, Iterate: o.Iterate, Threshold: o.Threshold,
	}
	if o.Start != nil {
		r.Start = *o.Start
	}
	for i := range o.Checkpoints {
		deployed := func(x *outcome) float64 { return x.deployed[i].Value }
		served := func(x *outcome) float64 { return x.served[i].Value }
		r.Objective.add(out, deployed)
		r.Serving.Objective.add(out, served)
		r.Gain.add(out, i, deployed)
		r.Serving.Gain.add(out, i, served)
		r.addMarks(out, i)
		r.Violation.add(out, func(x *outcome) Score { return x.deployed[i] })
		r.Serving.Violation.add(out, func(x *outcome) Score { return x.served[i] })
		r.Mixture.Share = append(r.Mixture.Share, meanShare(out, i))
	}
	last := len(o.Checkpoints) - 1
	r.BestSingle, r.Optimum = Number(r.Single.Mean[last]), Number(r.Best.Mean[last])
	holds := func(i int) bool { return !o.Hard || r.Violation.Share[i] <= 0.05 }
	r.Crossing.Single = lasting(r.At, func(i int) bool { return holds(i) && lead(out, i) > 0 })
	r.Crossing.Optimum = lasting(r.At, func(i int) bool { return holds(i) && r.Gain.Ratio[i] >= 0.95 })
	r.Infeasible = countInfeasible(out)
	return r
}

// lasting returns the first reported round from which on ok holds, 0 if there is none.
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

// add adds the mean, the standard deviation and the quartiles of a value over runs.
func (c *Curve) add(out []outcome, of func(x *outcome) float64) {
	var values []float64
	sum, square, size := 0.0, 0.0, 1.0
	for j := range out {
		v := of(&out[j])
		sum += v
		values = append(values, v)
	}
	mean := sum / float64(len(out))
	for _, v := range values {
		if d := math.Abs(v - mean); d > 1e150 { // its square would overflow
			size = 1e150
		}
	}
	for _, v := range values {
		d := (v - mean) / size
		square += float64(d * d)
	}
	slices.Sort(values)
	c.SD = append(c.SD, float64(size*math.Sqrt(square/max(float64(len(out))-1, 1))))
	c.Mean = append(c.Mean, mean)
	c.Q25 = append(c.Q25, stat.Quantile(values, 0.25))
	c.Median = append(c.Median, stat.Quantile(values, 0.5))
	c.Q75 = append(c.Q75, stat.Quantile(values, 0.75))
}

// add adds the relative gains of a value at checkpoint i, over the runs that have an F_S.
func (g *Gain) add(out []outcome, i int, of func(x *outcome) float64) {
	var value, single, best, runs float64
	var ratios []float64
	for j := range out {
		x := &out[j]
		if x.single[i] != x.single[i] {
			continue
		}
		value += of(x)
		single += x.single[i]
		best += x.best[i]
		runs++
		if gap := x.best[i] - x.single[i]; gap > 1e-3 {
			ratios = append(ratios, (of(x)-x.single[i])/gap)
		}
	}
	ratio := math.NaN()
	if best > single {
		ratio = (value - single) / (best - single)
	}
	square, spread := 0.0, math.NaN() // of the residuals of the ratio
	for j := range out {
		if x := &out[j]; x.single[i] == x.single[i] {
			d := of(x) - x.single[i] - float64(ratio*(x.best[i]-x.single[i]))
			square += float64(d * d)
		}
	}
	slices.Sort(ratios)
	g.Each = append(g.Each, ratios)
	g.Ratio = append(g.Ratio, ratio)
	if runs > 1 && best > single {
		spread = math.Sqrt(square*runs/(runs-1)) / (best - single)
	}
	g.Error = append(g.Error, spread)
	g.Median = append(g.Median, stat.Quantile(ratios, 0.5))
}

// addMarks adds the means of F_S, F* and F* − F at checkpoint i.
func (r *Result) addMarks(out []outcome, i int) {
	r.Single.add(out, func(x *outcome) float64 { return x.single[i] })
	r.Best.add(out, func(x *outcome) float64 { return x.best[i] })
	r.Distance.add(out, func(x *outcome) float64 { return x.best[i] - x.deployed[i].Value })
}

// add adds the mean of a value over the runs in which it is not NaN.
func (s *Single) add(out []outcome, of func(x *outcome) float64) {
	sum, runs := 0.0, 0
	for j := range out {
		if v := of(&out[j]); v == v {
			sum += v
			runs++
		}
	}
	s.Mean = append(s.Mean, sum/float64(runs))
	s.Runs = append(s.Runs, runs)
}

// lead is Σ (F − F_S) over the runs that have an F_S.
func lead(out []outcome, i int) float64 {
	sum := 0.0
	for j := range out {
		if x := &out[j]; x.single[i] == x.single[i] {
			sum += x.deployed[i].Value - x.single[i]
		}
	}
	return sum
}

// add adds the mean violation and the share of runs that violate a guardrail.
func (v *Violation) add(out []outcome, of func(x *outcome) Score) {
	sum, broken := 0.0, 0.0
	for j := range out {
		x := of(&out[j])
		sum += x.Violation
		if x.Broken {
			broken++
		}
	}
	v.Mean = append(v.Mean, sum/float64(len(out)))
	v.Share = append(v.Share, broken/float64(len(out)))
}

// meanShare is the mean mixture of the runs whose mixtures were kept.
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
