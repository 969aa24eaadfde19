package definition

import (
	"strconv"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/pasto"
)

// Goals returns the objective of package pasto: the goals, then each guardrail as a slack that must
// be at least 0.
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
		m := pasto.Metric{Name: "goal " + g.Metric, Weight: g.Weight}
		if d.Metric(g.Metric).Direction == "down" {
			m.Direction = pasto.Down
		}
		metrics = append(metrics, m)
	}
	for i := range d.Guardrails {
		g := &d.Guardrails[i]
		metrics = append(metrics, pasto.Metric{
			Name: "guardrail " + strconv.Itoa(i) + " " + g.Metric, Role: pasto.Guardrail,
			Lambda: g.Penalty, Hard: g.Hard && hard,
		})
	}
	return pasto.NewGoals(metrics, d.Objective.Soft)
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

// ControlShare returns the control arm's fixed share, 0 without a control arm.
func (d *Definition) ControlShare() float64 {
	if d.Control == nil {
		return 0
	}
	return d.Control.Share
}
