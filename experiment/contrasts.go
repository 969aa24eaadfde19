package experiment

import (
	"math"
	"slices"

	"github.com/noregret/noregret/experiment/compare"
)

// centres returns the values from which the next version's deviations are measured, by metric: the
// control's means so far, NaN if unknown.
func (x *guards) centres(r *roster) f64s {
	out := make(f64s, len(r.def.Metrics))
	for m := range out {
		out[m] = math.NaN()
		if s := r.controlStats(); s != nil && s.Metrics[m].N > 0 {
			out[m] = s.Metrics[m].Mean
		}
	}
	return out
}

// contrast compares the arms of a version.
func (x *roster) contrast(c *cohort, metric int) *compare.Sequence {
	centre := math.NaN()
	if metric < len(c.Centre) {
		centre = c.Centre[metric]
	}
	return compare.Version(x.def, metric, x.Control, c.Stats[:len(c.Mixture)], centre)
}

// guardInput is the evidence on the guardrails: the arms, and the comparisons of all versions.
type guardInput struct {
	*roster
	closed    compare.Sequences // of the versions whose window has closed
	open      []*cohort
	keep      bool                // the open versions keep their comparisons
	all       []*compare.Sequence // of all versions, by index in closed; nil until one is asked for
	inflation []float64           // by metric, nil without returning units
}

// guardInput returns the evidence so far. Only code that applies events may pass keep, with which
// the open versions keep their comparisons.
func (x *experimentState) guardInput(keep bool) *guardInput {
	return &guardInput{
		roster: &x.roster, closed: x.Sequences, open: x.joiner.cohorts, keep: keep, inflation: x.guards.Returns.factor,
	}
}

// compared returns the comparison of a metric over all versions, those that are open included.
func (in *guardInput) compared(metric int) *compare.Sequence {
	i := slices.IndexFunc(in.closed, func(s compare.Sequence) bool { return s.Metric == metric })
	if in.all == nil {
		in.all = make([]*compare.Sequence, len(in.closed))
	}
	if in.all[i] == nil {
		all := in.closed[i].Copy()
		for _, c := range in.open {
			all.Merge(in.ofVersion(c, i))
		}
		in.all[i] = &all
	}
	return in.all[i]
}

// ofVersion returns the comparison of an open version, by its index in closed.
func (in *guardInput) ofVersion(c *cohort, i int) *compare.Sequence {
	if i < len(c.contrasts) && c.contrasts[i] != nil {
		return c.contrasts[i]
	}
	of := in.contrast(c, in.closed[i].Metric)
	if in.keep {
		if len(c.contrasts) != len(in.closed) {
			c.contrasts = make([]*compare.Sequence, len(in.closed))
		}
		c.contrasts[i] = of
	}
	return of
}

// inflated returns the factor by which returning units raise the variance of a metric.
func (in *guardInput) inflated(metric int) float64 {
	if in.inflation == nil {
		return 1
	}
	if r := in.def.RatioIndex(metric); r >= 0 {
		parts := in.def.Ratios()[r]
		return max(in.inflation[parts.Numerator], in.inflation[parts.Denominator])
	}
	return in.inflation[metric]
}
