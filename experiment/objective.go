package experiment

import (
	"github.com/noregret/noregret/internal/vec"
	"github.com/noregret/noregret/policy"
)

// setGoals makes the objective of the definition.
func (x *roster) setGoals() (err error) {
	x.goals, x.priced, x.learned, x.encoder = nil, nil, nil, nil
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
// are compared within versions ([compare.Store]); their common level is that of all units. It
// returns nil for a contextual policy, too: it gives the arms to different units, whose means do
// not compare.
func (x valuer) means() (means [][]float64, known []bool) {
	if x.roster.goals == nil || x.learning.Store == nil {
		return nil, nil
	}
	// Prices are in the units that the learner has.
	return goalVectors(&x.roster, x.roster.estimated(x.whole()), x.roster.reference())
}
