package experiment

import (
	"math"

	"github.com/noregret/noregret/confseq"
	"github.com/noregret/noregret/experiment/guard"
	"github.com/noregret/noregret/experiment/report"
	"github.com/noregret/noregret/internal/vec"
	"github.com/noregret/noregret/pasto"
)

// observations returns what the learner observes of a version, with an arm's index in the learner:
// an observation for each of its arms with all metrics. The factors are those by which returning
// units raise the variance of each metric, nil for none.
func (x *roster) observations(stats []armStats, factors []float64) (round []pasto.Observation) {
	reference := x.reference()
	var control *armStats
	if x.Control >= 0 && x.Control < len(stats) {
		if control = &stats[x.Control]; control.Units == 0 {
			control = x.controlStats() // none in this round: all rounds'
		}
	}
	for i, k := range x.LearnedArms {
		if k >= len(stats) || stats[k].Units == 0 {
			continue
		}
		o := pasto.Observation{
			Arm: i, Metrics: make([]float64, x.goals.Dim()), Size: float64(stats[k].Units), Earlier: true,
		}
		if x.def.Plain() {
			o.Variances = make([]float64, x.goals.Dim())
			in := &rawInput{guardInput{roster: x, inflation: factors}, &stats[k], reference, &o}
			if !in.fill() {
				continue
			}
		} else if !report.GoalVector(o.Metrics, x.def, &stats[k], control, reference) {
			continue
		}
		round = append(round, o)
	}
	return round
}

// rawInput is an arm's statistics in a version, from which an observation is filled with the values
// of [definition.Definition.RawGoals].
type rawInput struct {
	guardInput
	arm, reference *armStats
	out            *pasto.Observation
}

// fill fills the observation. It returns false if a value is unobserved.
func (in *rawInput) fill() bool {
	n := len(in.def.Objective.Goals)
	for i, g := range in.def.Objective.Goals {
		m := in.def.MetricIndex(g.Metric)
		if !in.set(i, m, in.arm.Metrics[m], 0, 1) {
			return false
		}
	}
	for i := range in.def.Guardrails {
		g := &in.def.Guardrails[i]
		m, unit := in.def.MetricIndex(g.Metric), report.PriceUnit(in.def, g, in.reference)
		limit, _, relative, _ := g.Limit()
		r := in.def.RatioIndex(m)
		if r < 0 {
			if !in.set(n+i, m, in.arm.Metrics[m], 0, unit) {
				return false
			}
			continue
		}
		// Compared with the control arm this is the slack: see RawGoals. The control's ratio is
		// that of all rounds.
		shift := 0.0
		if relative {
			of := &in.reference.Pairs[r]
			ratio, ok := of.Ratio()
			if !ok {
				return false
			}
			limit = guard.OfControl(ratio, limit)
			shift = float64(limit * of.Y)
		}
		if !in.set(n+i, m, in.arm.Pairs[r].Contrast(limit), shift, unit) {
			return false
		}
	}
	return true
}

// set sets value i of the observation from a metric's values in the version, moved by shift and
// divided by unit. It sets the variance so that, divided by the number of units, it is that of the
// mean. The variance of a single value is unknown.
func (in *rawInput) set(i, metric int, s confseq.Sequence, shift, unit float64) bool {
	if s.N == 0 {
		return false
	}
	v := s.Variance()
	if v == 0 && in.def.Metrics[metric].Kind == "count" && math.IsInf(in.def.Highest(metric), 0) {
		v = 1 / float64(s.N) // of one event, which has not come yet
	} else if v == 0 && !vec.IsFinite(in.def.Width(metric)) {
		v = math.NaN()
	}
	value := (s.Mean + shift) / unit
	if x := &in.learned.Metrics()[i]; x.HasRange() { // the mean is rounded
		value = min(max(value, x.Lower), x.Upper)
	}
	in.out.Metrics[i] = value
	in.out.Variances[i] = float64(v*in.inflated(metric)) / unit / unit * (in.out.Size / float64(s.N))
	return true
}
