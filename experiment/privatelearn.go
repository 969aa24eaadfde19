package experiment

import "github.com/noregret/noregret/experiment/compare"

// learnReleased tells the learner of the newest release. It returns the number of decisions that a
// policy cannot use.
func (x releaser) learnReleased(counts []int64) (unlearned int64) {
	var arms []int
	for _, k := range x.roster.LearnedArms {
		if counts[k] == 0 {
			continue
		}
		if unlearned += counts[k]; x.roster.takes(k) {
			arms = append(arms, k)
		}
	}
	if l, ok := x.learning.learner.(*mixtureLearner); ok {
		l.changed()
	}
	for _, k := range arms {
		unlearned -= counts[k]
		stopView{&x.roster}.observed(k)
	}
	return unlearned
}

// rebuildLearner makes a learner anew for the definition.
func (x *experimentState) rebuildLearner() error {
	return x.learning.rebuildLearner(&x.roster, x.joiner)
}

// addReleased makes the store that of the newest release: of each arm one mean of all rounds. The
// noise of the sums of single rounds would add up.
func (x releaser) addReleased() {
	p, metrics := x.Private, len(x.roster.def.Metrics)
	for m := range metrics {
		var totals []compare.Total
		noise := p.sums.Deviation(p.Step, m)
		for k, count := range p.Counts {
			if n := float64(count); count > 0 {
				totals = append(totals, compare.Total{
					Arm: compare.Index(x.roster.Control, k), N: n,
					X:        p.sums.Midpoint(m) + p.Prefix[k*metrics+m]/n,
					Variance: x.unitVariance(k, m)/n + float64(noise*noise)/n/n,
				})
			}
		}
		if x.learning.Store != nil {
			_ = x.learning.Store.SetTotals(m, int(p.Step), totals)
		}
	}
}

// unitVariance bounds the variance of a unit of arm k in a metric.
func (x releaser) unitVariance(k, metric int) float64 {
	p, n := x.Private, float64(max(x.Private.Counts[k], 1))
	mean := p.sums.Midpoint(metric) + p.Prefix[k*len(x.roster.def.Metrics)+metric]/n
	return x.spread(metric, mean, p.sums.Deviation(p.Step, metric)/n)
}
