package confident

import (
	"math"

	"github.com/noregret/noregret/pasto/internal/round"
	"github.com/noregret/noregret/pasto/optimum"
)

// planner solves for the mixtures.
type planner struct {
	*guard
	program        optimum.Partial // of V̂ moved by its errors, as the objective sees it
	up, down, safe []float64
	theta          []float64
	value          float64 // of the last solution, without hard guardrails, in the moved table
	err            error
}

const (
	epochRatio = 1.05
	// bisectionSteps is the number of bisections that look for the largest feasible share of the
	// caution of hard guardrails.
	bisectionSteps = 6
)

// reset makes room for the arms and metrics.
func (w *planner) reset() {
	w.program.Reset(w.objective, len(w.s.Active))
	w.theta = make([]float64, len(w.sign))
}

// ready computes the estimates, and reports whether they tell enough for a solution.
func (w *planner) ready() bool {
	ready, control := w.model.Estimate(w.s.Active) && w.model.NoiseKnown(), w.options.Control
	w.program.Usable = w.model.Usable
	return ready && (control < 0 || w.model.Usable[control])
}

// solve computes p⁺, p⁻ and, where hard guardrails are promised, the safe mixture. They stay as
// they are until the noise is known, and where a solution fails.
func (w *planner) solve() {
	s := &w.s
	w.err = nil
	ready := w.ready()
	if w.promised() {
		w.computeSlack(ready)
	}
	if !ready || w.hard && w.model.EffectsUnknown() {
		return
	}
	w.up, w.down = append(w.up[:0], s.Up...), append(w.down[:0], s.Down...)
	w.safe = append(w.safe[:0], s.Safe...)
	low := w.deploy(w.down)
	if w.promised() {
		w.moveEstimates(1, 0)
		for k := range s.Active { // hard guardrails are by the bounds that what is served must hold
			for j, i := range w.guards {
				w.program.Table.Arm(k)[i] = w.goals.Metrics()[i].Limit() + float64(w.sign[i]*w.slack.Arm(k)[j])
			}
		}
		if !w.optimize(w.safe) {
			w.only(w.safe, w.options.Control)
		}
	}
	w.moveEstimates(1, 1)
	w.optimize(w.up)
	if w.err != nil {
		return
	}
	s.Width = 1
	if r := w.objectiveRange(); w.value-low < r {
		s.Width = max(w.value-low, 0) / r
	}
	copy(s.Up, w.up)
	copy(s.Down, w.down)
	copy(s.Safe, w.safe)
	w.cap(s.Down)
}

// deploy computes p⁻ and returns its cautious value. Where no mixture holds the hard guardrails
// with all their caution, it is the control arm, or without one that of the largest feasible share
// of the caution, and where none holds them by the estimates, the mixture of least violation.
func (w *planner) deploy(p []float64) float64 {
	try := func(room float64) bool {
		w.moveEstimates(-1, room)
		return w.optimize(p)
	}
	if try(1) {
		return w.value
	}
	if control := w.options.Control; control >= 0 {
		w.only(p, control)
		return w.value
	}
	if !try(0) || !w.options.has(noBisection) {
		return w.value
	}
	low, high, at := 0.0, 1.0, 0.0
	for range bisectionSteps {
		if at = (low + high) / 2; try(at) {
			low = at
		} else {
			high = at
		}
	}
	if at != low {
		try(low)
	}
	return w.value
}

// only makes p arm k alone.
func (w *planner) only(p []float64, k int) {
	clear(p)
	p[k] = 1
	w.value = w.reward(w.program.Table.Arm(k))
}

// moveEstimates writes the estimates moved in the metrics' good direction, within their ranges: by
// the optimism where sign is 1, and by the caution of each metric where it is −1. Hard guardrails
// take the share room of that.
func (w *planner) moveEstimates(sign, room float64) {
	w.move(func(k, i int, v, square float64) float64 {
		z := w.options.Exploration.Optimism
		if sign < 0 {
			z = -w.caution[i]
		}
		if w.about.Hard[i] {
			z = float64(z * room)
		}
		if z > 0 {
			square = w.model.Uneven(k, i, square)
		}
		v += float64(w.sign[i] * float64(z*math.Sqrt(square)))
		if w.relative[i] {
			return v
		}
		return min(max(v, w.low[i]), w.high[i])
	})
}

// move writes to the table what f makes of the estimate of metric i of each usable arm k as the
// objective sees it, and its squared error.
func (w *planner) move(f func(k, i int, v, square float64) float64) {
	for k, ok := range w.model.Usable {
		for i := range w.sign {
			if ok {
				v, square := w.seen(k, i)
				w.program.Table.Arm(k)[i] = f(k, i, v, square)
			}
		}
	}
}

// stay makes [planner.move] write the estimates as they are.
func stay(_, _ int, v, _ float64) float64 { return v }

// objectiveRange returns the range of the objective over the usable arms' estimates, +Inf if they
// are all the same.
func (w *planner) objectiveRange() float64 {
	low, high := math.Inf(1), math.Inf(-1)
	w.move(stay)
	for k, ok := range w.model.Usable {
		if ok {
			v := w.reward(w.program.Table.Arm(k))
			low, high = min(low, v), max(high, v)
		}
	}
	if v := high - low; v > 0 {
		return v
	}
	return math.Inf(1)
}

// optimize improves p in the moved table, and reports whether the hard guardrails can be held there
// (see [optimum.Partial]). It leaves the value in the planner, and an error of the objective.
func (w *planner) optimize(p []float64) (feasible bool) {
	feasible, err := w.program.Maximize(p)
	if w.err == nil {
		w.err = err
	}
	w.program.Table.Mean(w.theta, p)
	w.value = w.reward(w.theta)
	return feasible
}

// cap cuts off what is above the caps of the arms. It goes to the control arm, or without one to
// the arms of the best estimates that have room.
func (w *planner) cap(p []float64) {
	if w.options.Caps != nil {
		score := func(k int) float64 { return w.reward(w.model.Means(k)) }
		round.Cap(p, w.options.Control, w.most, score, w.s.Active)
	}
}

// most is the largest share that arm k may have.
func (w *planner) most(k int) float64 {
	switch {
	case !w.s.Active[k]:
		return 0
	case k >= len(w.options.Caps) || k == w.options.Control:
		return 1
	}
	return w.options.Caps[k]
}
