package propose

import (
	"github.com/noregret/noregret"
	"github.com/noregret/noregret/experiment/definition"
)

// Of returns the problem of a definition with these arms, the control first where there is one, and
// the definition's metrics by their indices. It returns an error if the definition has no
// objective.
func Of(d *definition.Definition, arms []string) (*Problem, error) {
	switch {
	case d.Objective == nil:
		return nil, noregret.BadInputf("objective", "the definition has none: want goals to improve")
	case d.Control != nil && (len(arms) == 0 || arms[0] != d.Control.Arm):
		return nil, noregret.BadInputf("control", "arms %q: want the control arm first", arms)
	}
	p := &Problem{
		Soft: d.Objective.Soft, Control: d.ControlShare(), Floor: d.ExplorationFloor, Arms: make([]Arm, len(arms)),
		NoControl: d.Control == nil, HoldDeployed: d.HoldsDeployed(), Memory: int(d.Drift.Memory),
	}
	if d.AllRounds() {
		p.Memory = AllRounds
	}
	for k, name := range arms {
		p.Arms[k].Most = 1
		if d.MaxShare != nil && (k > 0 || p.NoControl) {
			p.Arms[k].Most = d.MaxShare.Of(name)
		}
	}
	for i := range d.Metrics {
		m := &d.Metrics[i]
		x := Metric{Name: m.Name, Ratio: m.Kind == "ratio"}
		if !x.Ratio && (m.Range != nil || m.Cap != nil) {
			x.Lower, x.Upper = m.Counted()
		}
		x.Event = d.Event(i)
		p.Metrics = append(p.Metrics, x)
	}
	for _, g := range d.Objective.Goals {
		m := d.MetricIndex(g.Metric)
		p.Goals = append(p.Goals, Goal{Metric: m, Down: d.Metrics[m].Direction == "down", Weight: g.Weight})
	}
	for i := range d.Guardrails {
		g := &d.Guardrails[i]
		limit, up, relative, _ := g.Limit()
		p.Guardrails = append(p.Guardrails, Guardrail{
			Metric: d.MetricIndex(g.Metric), Down: !up, Limit: limit, Relative: relative,
			Hard: g.Hard, Price: g.Penalty,
		})
	}
	return p, p.Validate()
}
