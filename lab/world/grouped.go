package world

import (
	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/pasto"
)

// Grouped plays a world as package scenario does, where a learner draws an arm for each of a number
// of groups: it implements [scenario.World]. A group is one unit, and the learner does not know its
// noise. The world has absolute guardrails, and its means change once at most.
type Grouped struct {
	*World
	samplers []*Sampler // one for each group
	unit     Group
}

// NewGrouped returns the groups of a run, whose draws are those of the seed.
func NewGrouped(w *World, groups int, seed uint64) *Grouped {
	g := &Grouped{World: w, unit: NewGroup(0, 1, len(w.Outcomes))}
	for i := range groups {
		g.samplers = append(g.samplers, NewSampler(w, random.Mix(seed)+uint64(i)))
	}
	return g
}

// Objective implements [scenario.World].
func (g *Grouped) Objective() *pasto.Goals { return g.Goals }

// Groups implements [scenario.World].
func (g *Grouped) Groups() int { return len(g.samplers) }

// Changes implements [scenario.World].
func (g *Grouped) Changes() int { return g.Phases[len(g.Phases)-1].From }

// Means implements [scenario.World].
func (g *Grouped) Means(t int) *pasto.Table { return g.Phases[g.PhaseAt(t-1)].Means }

// Observe implements [scenario.World].
func (g *Grouped) Observe(t int, arms []int, dst []float64, _ *random.Source) {
	for i, k := range arms {
		g.unit.Arm = k
		g.samplers[i].Draw(t-1, &g.unit)
		copy(dst[i*len(g.Outcomes):], g.unit.Means)
	}
}
