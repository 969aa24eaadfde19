package experiment

import (
	"math"
	"slices"

	"github.com/noregret/noregret/experiment/compare"
)

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

// take records that the store has an arm up to the last release.
func (x *privateSums) take(k int) {
	m := len(x.Prefix) / len(x.Counts)
	x.Taken[k] = privateTaken{x.Step, x.Counts[k], slices.Clone(x.Prefix[k*m : (k+1)*m])}
}

// rebuildLearner makes a learner anew for the definition.
func (x *experimentState) rebuildLearner() error {
	return x.learning.rebuildLearner(&x.roster, x.joiner.Returns.Factors())
}

// addReleased adds a release to the store: for each arm with decisions in its round all that was
// released of it since the last such round. The variance of a unit is bounded by the range and the
// mean, and the noise of the sums is added to it. In the sum of rounds that noise cancels but for
// that of the last release, which the factors of the variances say.
func (x releaser) addReleased(r *privateRound) {
	p, metrics, store := x.Private, len(x.roster.def.Metrics), x.learning.Store
	for m := range metrics {
		var round []compare.Sums
		for k := range r.Counts {
			since := &p.Taken[k]
			n := float64(p.Counts[k] - since.Count)
			if r.Counts[k] == 0 || !(n > 0) {
				continue
			}
			step := p.sums.Between(since.Step, p.Step, m)
			round = append(round, compare.Sums{
				Arm: compare.Index(x.roster.Control, k), N: n,
				X:  p.sums.Midpoint(m) + (p.Prefix[k*metrics+m]-since.Sums[m])/n,
				XX: float64((n - 1) * (x.unitVariance(k, m) + float64(step*step)/n)),
			})
		}
		if len(round) > 0 && store != nil && store.Add(m, round) == nil {
			_ = store.SetFactors(m, x.noiseFactors(m))
		}
	}
	for k := range r.Counts {
		if r.Counts[k] > 0 {
			p.take(k)
		}
	}
}

// unitVariance bounds the variance of a unit of arm k in a metric.
func (x releaser) unitVariance(k, metric int) float64 {
	p, n := x.Private, float64(max(x.Private.Counts[k], 1))
	mean := p.sums.Midpoint(metric) + p.Prefix[k*len(x.roster.def.Metrics)+metric]/n
	return x.spread(metric, mean, p.sums.Deviation(p.Step, metric)/n)
}

// uncancelled is by how much the variance of the noise in a contrast of all rounds may exceed that
// of the last release, as the shares of arms change between rounds.
const uncancelled = 4

// stickyMargin is the factor of the variances of few units that come back in many rounds, whose
// errors are far from normal.
const stickyMargin = 2

// noiseFactors returns, by arm of the store, the variance of the contrast with arm 0 beside that
// which the store takes from the noise of each round by itself.
func (x releaser) noiseFactors(metric int) []float64 {
	p, store := x.Private, x.learning.Store
	total := p.sums.Deviation(p.Step, metric)
	is, taken := make([]float64, store.Arms()), make([]float64, store.Arms())
	for k := range p.Counts {
		at, n := compare.Index(x.roster.Control, k), float64(max(p.Counts[k], 1))
		is[at] = x.unitVariance(k, metric)/n + float64(uncancelled*float64(total*total))/n/n
		taken[at] = store.UnitVariance(metric, at) / n
	}
	each := 1.0
	if x.roster.def.Stickiness == "unit" {
		each = stickyMargin
	}
	out := make([]float64, len(is))
	for k := range out {
		out[k] = float64(each*(is[k]+is[0])) / (taken[k] + taken[0])
		if !(out[k] > 0) || math.IsInf(out[k], 0) {
			out[k] = 1
		}
	}
	return out
}
