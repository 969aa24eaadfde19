package experiment

import (
	"math"
	"slices"

	"github.com/noregret/noregret/experiment/compare"
	"github.com/noregret/noregret/experiment/join"
)

// contrast compares the arms of a version.
func (x *roster) contrast(c *join.Version, metric int) *compare.Sequence {
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
	open      []*join.Version
	known     map[uint64]openSequences // the comparisons of open versions that were kept
	keep      bool                     // they are kept
	all       []*compare.Sequence      // of all versions, by index in closed, as they are asked for
	inflation []float64                // by metric, nil without returning units
}

// guardInput returns the evidence so far. Only code that applies events may pass keep, with which
// the open versions keep their comparisons.
func (x *experimentState) guardInput(keep bool) *guardInput {
	if keep && x.guards.open == nil {
		x.guards.open = map[uint64]openSequences{}
	}
	return &guardInput{
		roster: &x.roster, closed: x.Sequences, open: x.joiner.Versions, known: x.guards.open, keep: keep,
		inflation: x.joiner.Returns.Factors(),
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

// openSequences are the comparisons of an open version as long as its sums are the same, by index
// in closed; nil for those that are not known.
type openSequences struct {
	changes uint64
	of      []*compare.Sequence
}

// ofVersion returns the comparison of an open version, by its index in closed.
func (in *guardInput) ofVersion(v *join.Version, i int) *compare.Sequence {
	kept := in.known[v.Version]
	if kept.changes != v.Changes() || len(kept.of) != len(in.closed) {
		kept = openSequences{v.Changes(), make([]*compare.Sequence, len(in.closed))}
	}
	if kept.of[i] == nil {
		of := in.contrast(v, in.closed[i].Metric)
		if !in.keep {
			return of
		}
		kept.of[i] = of
		in.known[v.Version] = kept
	}
	return kept.of[i]
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
