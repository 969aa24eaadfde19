package definition

import (
	"math"
	"slices"
	"strconv"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/pasto"
)

// Goals returns the objective of package pasto: the goals, then each guardrail as a slack that must
// be at least 0, in the units of its price where it is soft.
func (d *Definition) Goals() (*pasto.Goals, error) { return d.goals(true) }

// PricedGoals is Goals with a price for every violation, including those of hard guardrails.
// Reports use it because they also value mixtures that break one.
func (d *Definition) PricedGoals() (*pasto.Goals, error) { return d.goals(false) }

func (d *Definition) goals(hard bool) (*pasto.Goals, error) {
	return d.newGoals(func(g *Guardrail, m pasto.Metric) pasto.Metric {
		m.Lambda, m.Hard = g.Price(), g.Hard && hard
		return m
	}, func(m pasto.Metric) pasto.Metric { return m })
}

// RawGoals returns the objective for a learner that observes the arms' own values. Limits are its
// thresholds, and changes are relative to the learner's control arm. For a ratio x/d the values are
// x − c·d for the limit c, with threshold 0. For a change δ of a ratio they are x − c·d + c·D,
// where D is the control arm's mean denominator and c = r + δ·|r| for its ratio r: compared with
// the control arm, that is the slack x − c·d less the error of r. If the price of a soft guardrail
// is in units of the control's mean, its values are to be divided by that mean. A private
// experiment whose learner does not take released sums ([LearnsSums]) has no ranges: noise takes
// means out of them.
func (d *Definition) RawGoals() (*pasto.Goals, error) {
	ranges := d.Privacy == nil || LearnsSums(d)
	ranged := func(m pasto.Metric) pasto.Metric {
		of := d.Metric(m.Name)
		if low, high := of.Counted(); ranges && of.Kind != "ratio" && (of.Range != nil || of.Cap != nil) {
			m.Lower, m.Upper = low, high
		}
		return m
	}
	return d.newGoals(func(g *Guardrail, m pasto.Metric) pasto.Metric {
		limit, up, relative, _ := g.Limit()
		of := d.Metric(g.Metric)
		m.Lambda, m.Hard, m.Relative = g.Price(), g.Hard, relative
		if !up {
			m.Direction = pasto.Down
		}
		if relative {
			m.Threshold = min(limit, mostChange)
		} else if of.Kind != "ratio" {
			m.Threshold = limit
		}
		if ranges && (g.Hard || !relative && limit != 0) {
			m.Lower, m.Upper = d.rawSpan(g)
		}
		return m
	}, ranged)
}

// mostChange is the largest change that package pasto compares; a larger one is never reached.
const mostChange = 1e6

// rawSpan returns the range of one observation of a guardrail's metric as RawGoals has it, 0 and 0
// if it is unbounded.
func (d *Definition) rawSpan(g *Guardrail) (low, high float64) {
	limit, _, relative, _ := g.Limit()
	metric := d.MetricIndex(g.Metric)
	if relative && d.Metrics[metric].Kind == "ratio" {
		return 0, 0
	}
	if low, high = d.Span(metric, limit); math.IsInf(low, 0) || math.IsInf(high, 0) {
		return 0, 0
	}
	return low, high
}

// newGoals makes the objective with guardrails and goals as the functions complete them.
func (d *Definition) newGoals(guard func(g *Guardrail, m pasto.Metric) pasto.Metric,
	goal func(m pasto.Metric) pasto.Metric,
) (*pasto.Goals, error) {
	if d.Objective == nil {
		return nil, noregret.BadInputf("objective", "the definition has none")
	}
	var metrics []pasto.Metric
	for _, g := range d.Objective.Goals {
		m := pasto.Metric{Name: g.Metric, Weight: g.Weight}
		if d.Metric(g.Metric).Direction == "down" {
			m.Direction = pasto.Down
		}
		metrics = append(metrics, goal(m))
	}
	for i := range d.Guardrails {
		g := &d.Guardrails[i]
		metrics = append(metrics, guard(g, pasto.Metric{
			Name: "guardrail " + strconv.Itoa(i) + " " + g.Metric, Role: pasto.Guardrail,
		}))
	}
	return pasto.NewGoals(metrics, d.Objective.Soft)
}

// Price returns λ of the squared slack of a soft guardrail, whose penalty is that of the violation
// in units of the limit. Where the limit is a change or 0, slacks are in units of the control's
// mean, and the price is the penalty.
func (g *Guardrail) Price() float64 {
	limit, _, relative, _ := g.Limit()
	if relative || limit == 0 {
		return g.Penalty
	}
	return min(max(g.Penalty/float64(limit*limit), 1e-60), 1e60)
}

// Limit returns the guardrail's limit. Up reports whether it is a lower limit, relative whether it
// is a change; given is the number of limits that are set, 1 in a valid definition.
func (g *Guardrail) Limit() (limit float64, up, relative bool, given int) {
	for i, v := range []*float64{g.Min, g.Max, g.MinChange, g.MaxChange} {
		if v != nil {
			limit, up, relative = *v, i%2 == 0, i >= 2
			given++
		}
	}
	return limit, up, relative, given
}

// Plain reports whether the default learner is used: the policy is learned, and the arms are not
// points of a box.
func (d *Definition) Plain() bool { return d.Policy.Kind == "pasto" && d.Arms.Box == nil }

// LearnsControl reports whether the control arm is an arm of the learner. Otherwise it has a fixed
// share beside the learned mixture.
func (d *Definition) LearnsControl() bool { return d.Plain() && d.Control != nil }

// Probe is the largest share of the units, in per cent, that all arms get together about which
// nothing is known, where a hard guardrail has no range: the default policy's (package
// propose/mixture) or that of package pasto/confident.
func (d *Definition) Probe() float64 {
	if d.Mixes() {
		return 2
	}
	return 1
}

// Mixes reports whether the default policy serves the definition (package propose/mixture): it has
// a control arm that is compared by raw feedback, and asks for no other memory, exploration or
// promise than that policy's own. Units that keep their arm over rounds are one observation, which
// sums within rounds do not know, so that policy does not serve them.
func (d *Definition) Mixes() bool {
	return d.LearnsControl() && d.Objective != nil && d.Privacy == nil && d.Drift.Kind == "none" &&
		d.Exploration == nil && d.Changes != "none" && !d.Strict && !d.HoldsDeployed() && d.Stickiness != "unit"
}

// HoldsDeployed reports whether hard guardrails are to hold only in what would be deployed.
func (d *Definition) HoldsDeployed() bool {
	return slices.ContainsFunc(d.Guardrails, func(g Guardrail) bool { return g.Hard && g.Hold == "deployed" })
}

// ControlShare returns the control arm's least share, 0 without a control arm.
func (d *Definition) ControlShare() float64 {
	if d.Control == nil {
		return 0
	}
	return d.Control.Share
}
