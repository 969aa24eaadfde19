package guard

import (
	"math"
	"slices"
)

// allowance is the total share of the arms without any bound while the mixture is shrunk: without a
// share they would never get a bound.
const allowance = 0.02

// Shrink moves p towards the control arm until the lower bounds of the shrinking guardrails hold: p
// ← (1−ρ)·e + ρ·p with ρ = min(1, y/(y − LCB(p))) for the control's slack y. The smallest ρ counts;
// it is 0 if the control itself violates the limit. Arms without a bound (new ones whose metric has
// no range) are left out and get at most a 50th of the units together until they have one. A
// guardrail whose bound holds stops shrinking.
func (x *States) Shrink(e *Evidence, p []float64) {
	open := x.openArms(e, p)
	rest, aside := p, 0.0
	if len(open) > 0 {
		rest = slices.Clone(p)
		for _, k := range open {
			aside += rest[k]
			rest[k] = 0
		}
		for k := range rest {
			if rest[k] /= 1 - aside; !(aside < 1) {
				rest[k] = 0
			}
		}
		if !(aside < 1) {
			rest[e.Control] = 1
		}
	}
	rho := x.shrinkage(e, rest, len(open) > 0)
	if rho == 1 && len(open) == 0 {
		return
	}
	keep := min(aside, allowance)
	for k := range p {
		q := float64(rho * rest[k])
		if k == e.Control {
			q += 1 - rho
		}
		q = float64(q * (1 - keep))
		if aside > 0 && slices.Contains(open, k) {
			q += float64(p[k] * (keep / aside))
		}
		rest[k] = q
	}
	copy(p, rest)
}

// openArms returns the arms with a share that have no bound yet in a shrinking guardrail.
func (x *States) openArms(e *Evidence, p []float64) (open []int) {
	for i := range x.Guards {
		if x.Guards[i].Shrinking {
			for _, k := range x.Slack(e, i, p).Open {
				if !slices.Contains(open, k) {
					open = append(open, k)
				}
			}
		}
	}
	return open
}

// shrinkage returns ρ for a mixture. A guardrail whose bound holds stops shrinking, unless arms
// were left out of the mixture.
func (x *States) shrinkage(e *Evidence, p []float64, partly bool) float64 {
	rho := 1.0
	for i := range x.Guards {
		if !x.Guards[i].Shrinking {
			continue
		}
		b := x.Slack(e, i, p)
		if math.IsNaN(b.Estimate) {
			continue
		}
		if b.Low >= 0 {
			x.Guards[i].Shrinking = partly
			continue
		}
		control := make([]float64, len(p))
		control[e.Control] = 1
		safe := x.Slack(e, i, control).Estimate
		if !(safe > 0) {
			rho = 0
			continue
		}
		rho = min(rho, safe/(safe-b.Low))
	}
	return rho
}

// Shown reports whether a mixture is shown to hold guardrail i. Arms without any bound are left out
// if they have no more than a 50th of the units together: arms of few units would keep a ramp from
// the units by which they would get a bound.
func (x *States) Shown(e *Evidence, i int, p []float64) bool {
	b := x.Slack(e, i, p)
	if b.Low >= 0 {
		return true
	}
	rest, aside := slices.Clone(p), 0.0
	for _, k := range b.Open {
		aside += rest[k]
		rest[k] = 0
	}
	if !(aside > 0 && aside <= allowance) {
		return false
	}
	for k := range rest {
		rest[k] /= 1 - aside
	}
	return x.Slack(e, i, rest).Low >= 0
}

// manyObserved is the number of observations of a metric from which a guardrail without any bound
// is a problem.
const manyObserved = 1000

// Problems returns a sentence for each guardrail for which the mixture is shrunk, with the arms
// that have no bound yet. Unless the experiment is over, it returns one for each guardrail, too,
// whose sequence is still unbounded though its metric has many observations, as a few of them
// dominate the sum of squares.
func (x *States) Problems(e *Evidence, names func(k int) string, p []float64, over bool) (problems []string) {
	for i := range x.Guards {
		if !x.Guards[i].Shrinking {
			continue
		}
		text := "guardrail " + e.Definition.Guardrails[i].Metric + ": the mixture is shrunk towards the control arm"
		for at, k := range x.Slack(e, i, p).Open {
			text += []string{"; too new for a bound, with a 50th of the units together: ", ", "}[min(at, 1)] + names(k)
		}
		problems = append(problems, text)
	}
	for i := range x.Guards {
		g := &e.Definition.Guardrails[i]
		metric, n := e.Definition.MetricIndex(g.Metric), int64(0)
		for k := range e.Joined.Arms {
			seen, _ := e.Stats(k).Mean(e.Definition, metric)
			n += seen
		}
		if over || n < manyObserved {
			continue
		}
		s := x.Slack(e, i, p).Served
		if s.Estimate == s.Estimate && (math.IsInf(s.Low, -1) || math.IsInf(s.High, 1)) {
			problems = append(problems, "guardrail "+g.Metric+": no verdict yet, as one unit may have more than a "+
				"20th of the sum of squared deviations; a range or a cap of the metric would allow one, and sums "+
				"should name their smallest and largest value")
		}
	}
	return problems
}
