package propose

import "github.com/noregret/noregret/pasto"

// OfGoals returns the problem of goals with so many arms, the control first. Its metrics are those
// of the goals, and a soft guardrail has the price of its λ in the metric's own units.
func OfGoals(goals *pasto.Goals, arms int) *Problem {
	p := &Problem{Soft: goals.Soft(), Arms: make([]Arm, arms)}
	for k := range p.Arms {
		p.Arms[k].Most = 1
	}
	for i := range goals.Metrics() {
		x := goals.Metrics()[i].EnsureDefaults()
		p.Metrics = append(p.Metrics, Metric{Name: x.Name, Lower: x.Lower, Upper: x.Upper})
		down := x.Direction == pasto.Down
		switch x.Role {
		case pasto.Primary:
			p.Goals = append(p.Goals, Goal{Metric: i, Down: down, Weight: x.Weight})
		case pasto.Guardrail:
			g := Guardrail{Metric: i, Down: down, Limit: x.Threshold, Relative: x.Relative, Hard: x.Hard}
			if !x.Hard {
				g.Price, g.Absolute = x.Lambda, true
			}
			p.Guardrails = append(p.Guardrails, g)
		}
	}
	return p
}
