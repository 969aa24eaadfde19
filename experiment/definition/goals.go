package definition

import (
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
	if d.Objective == nil {
		return nil, noregret.BadInputf("objective", "the definition has none")
	}
	var metrics []pasto.Metric
	for _, g := range d.Objective.Goals {
		m := pasto.Metric{Name: g.Metric, Weight: g.Weight}
		if d.Metric(g.Metric).Direction == "down" {
			m.Direction = pasto.Down
		}
		metrics = append(metrics, m)
	}
	for i := range d.Guardrails {
		g := &d.Guardrails[i]
		metrics = append(metrics, pasto.Metric{
			Name: "guardrail " + strconv.Itoa(i) + " " + g.Metric, Role: pasto.Guardrail, Lambda: g.Price(),
			Hard: g.Hard && hard,
		})
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

// Mixes reports whether the default policy serves the definition (package propose/mixture).
func (d *Definition) Mixes() bool { return d.Plain() && d.Objective != nil }

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
