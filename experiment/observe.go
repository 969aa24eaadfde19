package experiment

import (
	"github.com/noregret/noregret/experiment/compare"
	"github.com/noregret/noregret/experiment/report"
	"github.com/noregret/noregret/pasto"
)

// observations returns what a learner of points of a box observes of a version, with an arm's index
// in the learner: an observation for each of its arms with all metrics. Sums are those of all
// versions.
func (x *roster) observations(stats, sums []compare.Stats) (round []pasto.Observation) {
	reference := report.Reference(x.def, sums, x.Control)
	var control *compare.Stats
	if x.Control >= 0 && x.Control < len(stats) {
		if control = &stats[x.Control]; control.Units == 0 {
			control = &sums[x.Control] // none in this round: all rounds'
		}
	}
	for i, k := range x.LearnedArms {
		if k >= len(stats) || stats[k].Units == 0 {
			continue
		}
		o := pasto.Observation{
			Arm: i, Metrics: make([]float64, x.goals.Dim()), Size: float64(stats[k].Units), Earlier: true,
		}
		if report.GoalVector(o.Metrics, x.def, &stats[k], control, reference) {
			round = append(round, o)
		}
	}
	return round
}

// valued reports whether an arm has values of all goals and guardrails in a version.
func (x *roster) valued(a *compare.Stats) bool {
	has := func(metric string) bool {
		m := x.def.MetricIndex(metric)
		if r := x.def.RatioIndex(m); r >= 0 {
			return a.Pairs[r].N > 0
		}
		return a.Metrics[m].N > 0
	}
	for _, g := range x.def.Objective.Goals {
		if !has(g.Metric) {
			return false
		}
	}
	for i := range x.def.Guardrails {
		if !has(x.def.Guardrails[i].Metric) {
			return false
		}
	}
	return a.Units > 0
}
