package optimum

import (
	"math"
	"slices"

	"github.com/noregret/noregret/internal/vec"
	"github.com/noregret/noregret/pasto"
	"github.com/noregret/noregret/pasto/internal/round"
)

// capped is what a solution under largest shares works with.
type capped struct {
	means  pasto.Table // of the arms, while the table has those of mixtures
	usable []bool      // arms that are not at their largest shares
	base   []float64   // M: the part of the mixture's means that is of arms at these
}

// maximizeCapped takes the solution p without largest shares, and whether it is feasible, to one
// under them. An arm that is cut stays at its largest share c, so that the result may miss the
// optimum, and seldom a mixture that holds the guardrails. There is a solution for each cut. Beside
// arms that have a share of 1 − rest together and the sum b in the mixture's means, mixtures q of
// the others are worth f(b + rest·V·q): those of a table whose rows are b + rest·V_k. Where the
// largest shares leave no room for a whole mixture it has them in proportion.
func (w *Partial) maximizeCapped(p []float64, feasible bool) bool {
	c, rest, usable := &w.capped, 1.0, w.Usable
	k := w.furthest(p, 1)
	if k < 0 {
		return feasible
	}
	c.means.Reset(len(p), w.Table.Metrics())
	for a := range p {
		copy(c.means.Arm(a), w.Table.Arm(a))
	}
	c.usable = append(c.usable[:0], usable...)
	c.base = slices.Grow(c.base[:0], w.Table.Metrics())[:w.Table.Metrics()]
	clear(c.base)
	w.Usable = c.usable
	for ; k >= 0; k = w.furthest(p, rest) {
		rest -= w.Most[k]
		vec.AddScaled(c.base, w.Most[k], c.means.Arm(k))
		if c.usable[k] = false; !slices.Contains(c.usable, true) {
			clear(p)
			break
		}
		for a, ok := range c.usable {
			if ok {
				row := w.Table.Arm(a)
				copy(row, c.base)
				vec.AddScaled(row, rest, c.means.Arm(a))
			}
		}
		feasible = w.maximize(p)
	}
	w.Usable = usable
	for a := range p {
		copy(w.Table.Arm(a), c.means.Arm(a))
		if p[a] = float64(rest * p[a]); usable[a] && !c.usable[a] {
			p[a] = w.Most[a]
		}
	}
	if !slices.Contains(c.usable, true) {
		round.Normalize(p, usable)
		w.Table.Mean(w.theta, p)
		feasible = w.hard == nil || !math.IsInf(w.hard.Value(w.theta), -1)
	}
	return feasible
}

// furthest returns the usable arm whose part of a share of rest is furthest above the largest that
// it may have, −1 for none.
func (w *Partial) furthest(p []float64, rest float64) (k int) {
	k, most := -1, 1e-12
	for a, ok := range w.Usable {
		if above := float64(rest*p[a]) - w.Most[a]; ok && above > most {
			k, most = a, above
		}
	}
	return k
}
