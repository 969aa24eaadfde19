package confident

import (
	"github.com/noregret/noregret/pasto/internal/round"
	"github.com/noregret/noregret/pasto/optimum"
)

// planner solves for the mixtures.
type planner struct {
	*guard
	program        optimum.Partial // of V̂ moved by its errors, as the objective sees it
	up, down, safe []float64
}

const (
	epochRatio = 1.05
	// bisectionSteps is the number of bisections that look for the largest feasible share of the
	// caution of hard guardrails.
	bisectionSteps = 6
)

// reset makes the planner one for as many arms as the state has.
func (w *planner) reset() {
	w.program.Reset(w.objective, len(w.s.Active))
	w.program.Most = w.options.largest(len(w.s.Active))
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
	w.program.Err = nil
	ready := w.ready()
	if w.promised() {
		w.computeSlack(ready)
	}
	if !ready || len(w.guards) > 0 && w.model.EffectsUnknown() {
		return
	}
	w.up, w.down, w.safe = append(w.up[:0], s.Up...), append(w.down[:0], s.Down...), append(w.safe[:0], s.Safe...)
	w.move(stay)
	most := w.program.Range()
	w.deploy(w.down)
	low := w.program.Value
	if w.promised() {
		w.moveEstimates(1, 0)
		for k := range s.Active { // hard guardrails are by the bounds that what is served must hold
			for j, i := range w.guards {
				w.program.Table.Arm(k)[i] = w.goals.Metrics()[i].Limit() + float64(w.metrics[i].Sign*w.slack.Arm(k)[j])
			}
		}
		if !w.program.Maximize(w.safe) {
			round.Shrink(w.safe, w.options.Control, round.SafeShare(w.safe, w.options.Control, &w.slack))
		}
	}
	w.moveEstimates(1, 1)
	w.program.Maximize(w.up)
	if w.program.Err != nil {
		return
	}
	s.Width = 1
	if more := w.program.Value - low; more < most {
		s.Width = max(more, 0) / most
	}
	copy(s.Up, w.up)
	copy(s.Down, w.down)
	copy(s.Safe, w.safe)
	w.cap(s.Down) // where few arms are usable
}

// deploy computes p⁻ and its cautious value. Where no mixture holds the hard guardrails with all
// their caution, it is the control arm, or without one that of the largest feasible share of the
// caution, and where none holds them by the estimates, the mixture of least violation.
func (w *planner) deploy(p []float64) {
	try := func(room float64) bool {
		w.moveEstimates(-1, room)
		return w.program.Maximize(p)
	}
	switch control := w.options.Control; {
	case try(1):
	case control >= 0:
		w.program.Only(p, control)
	case try(0) && w.options.has(noBisection):
		round.LargestShare(bisectionSteps, try)
	}
}

// moveEstimates writes the estimates moved in the metrics' good direction, within their ranges: by
// the optimism where sign is 1, and by the caution of each metric where it is −1. Hard guardrails
// take the share room of that.
func (w *planner) moveEstimates(sign, room float64) {
	w.move(func(k, i int, v, square float64) float64 {
		z := w.options.Exploration.Optimism
		if sign < 0 {
			z = -w.metrics[i].caution
			if !w.model.EffectsShown() { // else levels move, and a suspicion is seldom right
				v += float64(w.metrics[i].Sign * w.suspected(k, i))
			}
		}
		if w.metrics[i].Hard {
			z = float64(z * room)
		}
		v = w.model.Moved(k, i, v, square, z)
		if w.metrics[i].Relative {
			return v
		}
		return min(max(v, w.metrics[i].from), w.metrics[i].to)
	})
}

// move writes to the table what f makes of the estimate of metric i of each usable arm k as the
// objective sees it, and its squared error.
func (w *planner) move(f func(k, i int, v, square float64) float64) {
	for k, ok := range w.model.Usable {
		for i := range w.metrics {
			if ok {
				v, square := w.seen(k, i)
				w.program.Table.Arm(k)[i] = f(k, i, v, square)
			}
		}
	}
}

// stay makes [planner.move] write the estimates as they are.
func stay(_, _ int, v, _ float64) float64 { return v }

// cap cuts off what is above the caps of the arms. It goes to the control arm, or without one to
// the arms of the best estimates that have room.
func (w *planner) cap(p []float64) {
	if most := w.program.Most; most != nil {
		score := func(k int) float64 { return w.program.Reward(w.model.Means(k)) }
		round.Cap(p, w.options.Control, most, score, w.s.Active)
	}
}
