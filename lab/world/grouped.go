package world

import (
	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/pasto"
)

// Grouped plays a world as package scenario does, where a learner draws an arm for each of a number
// of groups: it implements [scenario.World] and [scenario.Phased]. Its guardrails are absolute.
type Grouped struct {
	*World
	// Spread are the sample variances of the units' values in the groups observed last, by group
	// and metric.
	Spread   []float64
	samplers []*Sampler // one for each group
	group    Group
}

// NewGrouped returns a run with groups of the given number of units, whose draws are those of the
// seed.
func NewGrouped(w *World, groups, units int, seed uint64) *Grouped {
	g := &Grouped{World: w, Spread: make([]float64, groups*len(w.Outcomes)), group: NewGroup(0, units, len(w.Outcomes))}
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
func (g *Grouped) Changes() int { return 0 }

// Begins implements [scenario.Phased].
func (g *Grouped) Begins(t int) bool { return t > 1 && g.PhaseAt(t-1) != g.PhaseAt(t-2) }

// Means implements [scenario.World].
func (g *Grouped) Means(t int) *pasto.Table { return g.Phases[g.PhaseAt(t-1)].Means }

// Observe implements [scenario.World].
func (g *Grouped) Observe(t int, arms []int, dst []float64, _ *random.Source) {
	for i, k := range arms {
		g.group.Arm = k
		g.samplers[i].Draw(t-1, &g.group)
		copy(dst[i*len(g.Outcomes):], g.group.Means)
		copy(g.Spread[i*len(g.Outcomes):], g.group.Variances)
	}
}
