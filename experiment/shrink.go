package experiment

import (
	"math"
	"slices"
)

// shrinkAllowance is the total share of the arms without any bound while the mixture is shrunk:
// without a share they would never get a bound.
const shrinkAllowance = 0.02

// shrunk returns a text for each guardrail that shrinks the mixture, with the arms that have no
// bound yet.
func (x *guards) shrunk(in *guardInput, p []float64) (problems []string) {
	for i := range x.Guards {
		if !x.Guards[i].Shrinking {
			continue
		}
		text := "guardrail " + in.def.Guardrails[i].Metric + ": the mixture is shrunk towards the control arm"
		for at, k := range x.slack(in, i, p, nil).open {
			text += []string{"; too new for a bound, with a 50th of the units together: ", ", "}[min(at, 1)] +
				in.Arms[k].Name
		}
		problems = append(problems, text)
	}
	return problems
}

// manyObserved is the number of observations of a metric from which a guardrail without any bound
// is a problem.
const manyObserved = 1000

// undecided returns a sentence for each guardrail whose sequence is still unbounded though its
// metric has many observations, as a few of them dominate the sum of squares.
func (x *guards) undecided(in *guardInput, p []float64) (problems []string) {
	for i := range x.Guards {
		g := &in.def.Guardrails[i]
		metric, n := in.def.MetricIndex(g.Metric), int64(0)
		for k := range in.Arms {
			seen, _ := in.sums.Arms[k].Mean(in.def, metric)
			n += seen
		}
		if n < manyObserved {
			continue
		}
		s := x.slack(in, i, p, nil).served
		if s.estimate == s.estimate && (math.IsInf(s.low, -1) || math.IsInf(s.high, 1)) {
			problems = append(problems, "guardrail "+g.Metric+": no verdict yet, as one unit may have more than a "+
				"20th of the sum of squared deviations; a range or a cap of the metric would allow one, and sums "+
				"should name their smallest and largest value")
		}
	}
	return problems
}

// shrink moves p towards the control arm until the lower bounds of the shrinking guardrails hold: p
// ← (1−ρ)·e + ρ·p with ρ = min(1, y/(y − LCB(p))) for the control's slack y. The smallest ρ counts;
// it is 0 if the control itself violates the limit. Arms without a bound (new ones whose metric has
// no range) are left out and get at most a 50th of the units together until they have one.
func (x *guards) shrink(in *guardInput, p []float64) {
	open := x.openArms(in, p)
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
			rest[in.Control] = 1
		}
	}
	rho := x.shrinkage(in, rest, len(open) > 0)
	if rho == 1 && len(open) == 0 {
		return
	}
	keep := min(aside, shrinkAllowance)
	for k := range p {
		q := float64(rho * rest[k])
		if k == in.Control {
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
func (x *guards) openArms(in *guardInput, p []float64) (open []int) {
	for i := range x.Guards {
		if x.Guards[i].Shrinking {
			for _, k := range x.slack(in, i, p, nil).open {
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
func (x *guards) shrinkage(in *guardInput, p []float64, partly bool) float64 {
	rho := 1.0
	for i := range x.Guards {
		if !x.Guards[i].Shrinking {
			continue
		}
		b := x.slack(in, i, p, x.cachedBounds(in.roster, i))
		if math.IsNaN(b.estimate) {
			continue
		}
		if b.low >= 0 {
			x.Guards[i].Shrinking = partly
			continue
		}
		e := make([]float64, len(p))
		e[in.Control] = 1
		safe := x.slack(in, i, e, x.cachedBounds(in.roster, i)).estimate
		if !(safe > 0) {
			rho = 0
			continue
		}
		rho = min(rho, safe/(safe-b.low))
	}
	return rho
}
