package experiment

import (
	"math"
	"slices"

	"github.com/noregret/noregret/experiment/definition"
	"github.com/noregret/noregret/experiment/report"
	"github.com/noregret/noregret/pasto"
)

// learnReleased passes the newest release to the learner: for each arm with decisions in the round
// all decisions since it was last observed. It returns the number of decisions that a policy cannot
// use.
func (x releaser) learnReleased(counts []int64) (unlearned int64) {
	p, l := x.Private, &x.learning
	var round []pasto.Observation
	var arms []int
	for i, k := range x.roster.LearnedArms {
		if counts[k] == 0 {
			continue
		}
		unlearned += counts[k]
		if !x.roster.takes(k) {
			continue
		}
		if o, ok := x.releasedObservation(i, k, &p.Taken[k]); ok {
			round, arms = append(round, o), append(arms, k)
		}
	}
	if len(round) == 0 {
		return unlearned
	}
	_ = l.learner.Observe(round) // what it refuses, it does not know
	for _, k := range arms {
		unlearned -= counts[k]
		p.take(k)
		stopView{&x.roster}.observed(k)
	}
	return unlearned
}

// take records that the learner has observed an arm up to the last release.
func (x *privateSums) take(k int) {
	m := len(x.Prefix) / len(x.Counts)
	x.Taken[k] = privateTaken{x.Step, x.Counts[k], slices.Clone(x.Prefix[k*m : (k+1)*m])}
}

// rebuildLearner makes a learner anew and trains it on what is kept. That of a private experiment
// observes the last release as one round: the sums of all rounds have the least noise.
func (x *experimentState) rebuildLearner() error {
	err := x.learning.rebuildLearner(&x.roster, x.joiner.Returns.Factors())
	if x.Private == nil {
		return err
	}
	for k := range x.Private.Taken {
		x.Private.Taken[k] = privateTaken{Sums: make(f64s, len(x.roster.def.Metrics))}
	}
	if x.Private.Step > 0 {
		releaser{x}.learnReleased(x.Private.Counts)
	}
	return err
}

// releasedObservation returns what the learner observes of arm k, its arm i, since an earlier
// release. The values of returning units that keep their arm are not independent: they count as so
// many units as there are at least, with the contribution each.
func (x releaser) releasedObservation(i, k int, since *privateTaken) (pasto.Observation, bool) {
	p, d := x.Private, x.roster.def
	n, m, dim := p.Counts[k]-since.Count, len(d.Metrics), x.roster.goals.Dim()
	if n <= 0 {
		return pasto.Observation{}, false
	}
	of := make([]int, 0, dim) // metrics
	for _, g := range d.Objective.Goals {
		of = append(of, d.MetricIndex(g.Metric))
	}
	for j := range d.Guardrails {
		of = append(of, d.MetricIndex(d.Guardrails[j].Metric))
	}
	o := pasto.Observation{Arm: i, Metrics: make([]float64, dim), Size: float64(n), Earlier: true}
	for at, metric := range of {
		o.Metrics[at] = p.sums.Midpoint(metric) + (p.Prefix[k*m+metric]-since.Sums[metric])/float64(n)
	}
	if !definition.LearnsSums(d) {
		x.addVariances(&o, k, since, of)
		return o, !slices.ContainsFunc(o.Metrics, math.IsNaN)
	}
	each := 1.0 // decisions of a unit
	if d.Stickiness == "unit" {
		each = float64(d.Privacy.UnitContribution)
	}
	o.Size /= each
	o.Noise = &pasto.Noise{Step: make([]float64, dim), Total: make([]float64, dim), Releases: int(p.Step)}
	for at, metric := range of {
		step, total := p.sums.Between(since.Step, p.Step, metric)/each, p.sums.Deviation(p.Step, metric)/each
		o.Noise.Step[at], o.Noise.Total[at] = float64(step*step), float64(total*total)
	}
	return o, true
}

// addVariances divides the values of soft guardrails by the units of their prices, and adds
// variances to the observation in which the noise of each round counts by itself.
func (x releaser) addVariances(o *pasto.Observation, k int, since *privateTaken, of []int) {
	p, d, goals, reference := x.Private, x.roster.def, len(x.roster.def.Objective.Goals), x.roster.reference()
	o.Variances = make([]float64, len(of))
	for at, metric := range of {
		unit := 1.0
		if at >= goals {
			unit = report.PriceUnit(d, &d.Guardrails[at-goals], reference)
		}
		noise := p.sums.Deviation(1, metric)
		s := &x.roster.sums.Arms[k].Metrics[metric]
		v := x.spread(metric, s.Mean, p.sums.Deviation(p.Step, metric)/float64(s.N)) +
			float64(2*noise*noise)*float64(p.Step-since.Step)/o.Size
		o.Metrics[at], o.Variances[at] = o.Metrics[at]/unit, v/unit/unit
	}
}
