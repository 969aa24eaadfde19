package ascent

import (
	"github.com/noregret/noregret/pasto"
)

// WindowMeans is [ArmMeans] over the last rounds. An arm not served in them keeps its last mean. It
// stores the observations of the window.
func WindowMeans(rounds int) Estimator { return Estimator{form: &formWindow, param: float64(rounds)} }

var formWindow = form{name: "window-means", direct: true, check: checkWindow}

func checkWindow(rounds float64) string {
	if rounds >= 1 && rounds <= 1e9 {
		return ""
	}
	return "a window of 1 to 1e9 rounds"
}

// windowRound is a round in the window.
type windowRound struct {
	Arms   []int
	Sizes  []float64
	Values []float64
}

// copy copies v to w and reuses the memory of w.
func (w *windowRound) copy(v *windowRound) {
	w.Arms, w.Sizes, w.Values = append(w.Arms[:0], v.Arms...), append(w.Sizes[:0], v.Sizes...),
		append(w.Values[:0], v.Values...)
}

// slide removes the oldest round from the window, adds the new one, and recomputes the means of the
// arms of both.
func (e *estimate) slide(obs []pasto.Observation) {
	n := len(e.s.Ring)
	slot := &e.s.Ring[(e.s.T-1)%n]
	for i, k := range slot.Arms {
		w := slot.Sizes[i]
		e.s.Count[k]--
		rest := e.s.Weight[k] - w
		if e.s.Count[k] > 0 && rest > 0 {
			row := e.s.Sum[k*e.m : (k+1)*e.m]
			for m := range row {
				row[m] -= float64(w / rest * (slot.Values[i*e.m+m] - row[m]))
			}
		} else {
			rest = 0
		}
		e.s.Weight[k] = rest
	}
	slot.Arms, slot.Sizes, slot.Values = slot.Arms[:0], slot.Sizes[:0], slot.Values[:0]
	for i := range obs {
		o := &obs[i]
		size := 1.0
		if o.Size > 0 {
			size = o.Size
		}
		slot.Arms = append(slot.Arms, o.Arm)
		slot.Sizes = append(slot.Sizes, size)
		slot.Values = append(slot.Values, o.Metrics...)
		e.s.Count[o.Arm]++
		e.blend(o, size)
	}
	if e.s.T%n == 0 {
		e.refresh()
	}
}

// refresh recomputes the window's means from its observations, so that rounding does not
// accumulate.
func (e *estimate) refresh() {
	for k := range e.k {
		if e.s.Count[k] > 0 {
			e.s.Weight[k] = 0
		}
	}
	for r := range e.s.Ring {
		slot := &e.s.Ring[r]
		for i, k := range slot.Arms {
			e.blend(&pasto.Observation{Arm: k, Metrics: slot.Values[i*e.m : (i+1)*e.m]}, slot.Sizes[i])
		}
	}
}
