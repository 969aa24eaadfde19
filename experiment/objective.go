package experiment

import (
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

// value returns the objective of a mixture at the arms' means. Ok is false if arms without a mean
// have a share of 0.1 or more in all.
func (x *roster) value(p []float64) (v float64, ok bool) {
	means, known := x.means()
	return x.valueBy(p, means, known)
}

// valueBy is value for given means.
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

// means returns the goal vector of each arm over its whole life, or nil without an objective. It
// returns nil for a contextual policy, too: it gives the arms to different units, whose means do
// not compare.
func (x *roster) means() (means [][]float64, known []bool) {
	if x.goals == nil || x.encoder != nil {
		return nil, nil
	}
	reference := x.reference()
	for k := range x.Arms {
		dst := make([]float64, x.goals.Dim())
		known = append(known, goalVector(dst, x.def, &x.Arms[k].Stats, x.controlStats(), reference))
		means = append(means, dst)
	}
	return means, known
}
