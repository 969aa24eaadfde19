package experiment

import (
	"github.com/noregret/noregret/confseq"
	"github.com/noregret/noregret/experiment/compare"
	"github.com/noregret/noregret/internal/vec"
	"github.com/noregret/noregret/policy"
)

// setGoals makes the objective of the definition.
func (x *roster) setGoals() (err error) {
	x.goals, x.priced, x.learned, x.encoder, x.vector = nil, nil, nil, nil, nil
	if x.def.Contextual() {
		if x.encoder, err = policy.NewEncoder(x.def.Context); err != nil {
			return err
		}
	}
	if x.def.Objective == nil {
		return nil
	}
	if x.goals, err = x.def.Goals(); err != nil {
		return err
	}
	if x.priced, err = x.def.PricedGoals(); err != nil {
		return err
	}
	if x.learned = x.goals; x.def.Plain() {
		x.learned, err = x.def.RawGoals()
	}
	return err
}

// valueBy returns the objective of a mixture at given means. Ok is false if arms without a mean
// have a share of 0.1 or more in all.
func (x *roster) valueBy(p []float64, means [][]float64, known []bool) (v float64, ok bool) {
	if means == nil {
		return 0, false
	}
	theta, total := make([]float64, x.goals.Dim()), 0.0
	for k, w := range p {
		if w > 0 && known[k] {
			total += w
		}
	}
	if !(total > 0.9) { // else too much is unknown
		return 0, false
	}
	for k, w := range p {
		if w > 0 && known[k] {
			for i, u := range means[k] {
				theta[i] += float64(w / total * u)
			}
		}
	}
	v = x.priced.Value(theta)
	return v, vec.IsFinite(v)
}

// goalVectors returns the goal vector of each arm for given statistics of the arms.
func goalVectors(x *roster, stats []armStats, reference *armStats) (means [][]float64, known []bool) {
	var control *armStats
	if x.Control >= 0 {
		control = &stats[x.Control]
	}
	for k := range stats {
		dst := make([]float64, x.goals.Dim())
		known = append(known, goalVector(dst, x.def, &stats[k], control, reference))
		means = append(means, dst)
	}
	return means, known
}

// valuer has the methods of an experiment that value its arms and mixtures, by comparisons within
// versions.
type valuer struct{ *experimentState }

// recordedValue returns the objective of a mixture at the arms' whole-life means, which depend on
// when an arm was served more. Ok is false if arms without a mean have a share of 0.1 or more in
// all. Reports do not show it. States have recorded it and their digests have it, so it stays.
func (x valuer) recordedValue(p []float64) (v float64, ok bool) {
	if x.roster.goals == nil || x.roster.encoder != nil {
		return 0, false
	}
	means, known := goalVectors(&x.roster, x.roster.armStats(), x.roster.reference())
	return x.roster.valueBy(p, means, known)
}

// value returns the objective of a mixture. Ok is false if arms without a mean have a share of 0.1
// or more in all.
func (x valuer) value(p []float64) (v float64, ok bool) {
	means, known := x.means()
	return x.roster.valueBy(p, means, known)
}

// known returns the objective of a mixture, nil if it is unknown.
func (x valuer) known(p []float64) *float64 {
	if v, ok := x.value(p); ok {
		return &v
	}
	return nil
}

// means returns the goal vector of each arm, or nil without an objective. Means of different arms
// are compared within versions ([pairing]); their common level is that of all units. It returns nil
// for a contextual policy, too: it gives the arms to different units, whose means do not compare.
func (x valuer) means() (means [][]float64, known []bool) {
	if x.roster.goals == nil || x.Joint == nil {
		return nil, nil
	}
	d := x.roster.def
	stats := make([]armStats, len(x.roster.Arms))
	for k := range stats {
		stats[k] = compare.NewStats(d)
	}
	for i := range x.Joint.Metrics {
		p := x.Joint.Metrics[i].copy()
		for _, c := range x.joiner.cohorts {
			p.add(d, c.Stats[:len(c.Mixture)])
		}
		var served []float64
		if len(x.joiner.cohorts) > 0 {
			served = x.joiner.running().Mixture
		}
		parts := p.parts(d)
		of, compared := p.estimate(parts, served)
		for k, ok := range compared {
			if ok {
				x.setMean(&stats[k], p.Metric, of[k*parts:(k+1)*parts])
			}
		}
	}
	// Prices are in the units that the learner has.
	return goalVectors(&x.roster, stats, x.roster.reference())
}

// setMean sets the mean of a metric, for a ratio those of its parts, to an estimate within the
// metric's range.
func (x valuer) setMean(a *armStats, metric int, of []float64) {
	d := x.roster.def
	within := func(m int, v float64) float64 {
		return min(max(v, x.roster.def.Lowest(m)), x.roster.def.Highest(m))
	}
	if r := d.RatioIndex(metric); r >= 0 {
		parts := d.Ratios()[r]
		a.Pairs[r] = confseq.Pair{N: 1, X: within(parts.Numerator, of[0]), Y: within(parts.Denominator, of[1])}
		return
	}
	a.Metrics[metric] = confseq.Sequence{N: 1, Mean: within(metric, of[0])}
}
