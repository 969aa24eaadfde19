package box

import (
	"errors"

	"github.com/noregret/noregret/pasto"
	"github.com/noregret/noregret/pasto/internal/round"
	"github.com/noregret/noregret/pasto/optimum"
)

// surely is the number of standard errors of [Learner.Infeasible].
const surely = 3

// Infeasible reports whether the guardrails, hard or not, can be held according to the current
// surfaces: nil if some mixture of the nodes holds them, and otherwise the least violation of a
// mixture of the nodes. Sure reports that no mixture of the nodes and of as many candidates as in a
// plan holds them, even on surfaces moved in the good direction by three standard errors. So sure
// is only an estimate if the metrics vary faster than the spacing of the nodes. It costs as much as
// a plan and changes nothing. For objectives that are not [pasto.Goals], and before the noise is
// known, it is nil.
func (c *Learner) Infeasible() (least *optimum.Infeasible, sure bool) {
	g, ok := c.objective.(*pasto.Goals)
	if !ok || !c.s.Evidence.settled() {
		return nil, false
	}
	surfaces := c.surfaces(false)
	if surfaces == nil {
		return nil, false
	}
	copied := *c
	points := append(append([][]float64{}, c.s.Points...), copied.candidates()...)
	means, deviations := c.tables(surfaces, points)
	nodes := round.NewTable(c.Arms(), means.Metrics())
	for k := range c.Arms() {
		copy(nodes.Arm(k), means.Arm(k))
	}
	least, ok = errors.AsType[*optimum.Infeasible](optimum.CheckFeasible(g, nodes))
	if !ok {
		return nil, false
	}
	best := c.moved(means, deviations, means.Arms(), func(i int) float64 {
		if g.Metrics()[i].Role == pasto.Guardrail {
			return surely
		}
		return 0
	})
	_, sure = errors.AsType[*optimum.Infeasible](optimum.CheckFeasible(g, best))
	return least, sure
}
