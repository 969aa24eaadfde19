package compare

import (
	"slices"

	"github.com/noregret/noregret/experiment/definition"
)

// Metrics returns the metrics of a definition as a store has them, by their indices.
func Metrics(d *definition.Definition) []Metric {
	out := make([]Metric, len(d.Metrics))
	for m := range out {
		out[m].Ratio, out[m].Width = d.RatioIndex(m) >= 0, d.Event(m)
	}
	return out
}

// Index returns the index in a store of arm k of an experiment with a control arm, -1 for none. The
// control is arm 0 of the store, and the others follow in their order; without a control arm the
// indices are the same.
func Index(control, k int) int {
	switch {
	case k == control:
		return 0
	case k < control:
		return k + 1
	}
	return k
}

// AddVersion adds a round of some metrics of a definition: the sums of the arms in a version, by
// their indices in an experiment with a control arm, -1 for none. Inflation are the factors by
// which returning units raise the variances of all rounds together: a unit that keeps its arm is in
// the sums of many rounds. Sums that [Store.Add] refuses, as they are too large, do not count.
//
// Metrics whose windows have different lengths are added at different times. Each metric has the
// rounds in the order of the versions, and its memories discount a round by the later ones of the
// same metric. So the store is the same, bit for bit, as if all metrics of a version had been added
// together: when a metric comes late, nothing of it weighs less.
func (s *Store) AddVersion(d *definition.Definition, metrics []int, control int, arms []Stats, inflation Inflation) {
	var round []Sums
	for _, m := range metrics {
		round = round[:0]
		for k := range arms {
			o := arms[k].sums(d, m)
			o.Arm = Index(control, k)
			if o.N > 0 {
				round = append(round, o)
			}
		}
		_ = s.Add(m, round)
		if f := inflation.Of(d, m); f != 1 {
			_ = s.SetFactors(m, slices.Repeat([]float64{f}, s.arms))
		}
	}
}

// sums returns the sums of a metric.
func (s *Stats) sums(d *definition.Definition, metric int) Sums {
	if r := d.RatioIndex(metric); r >= 0 {
		q := &s.Pairs[r]
		return Sums{N: float64(q.N), X: q.X, XX: q.XX, Y: q.Y, YY: q.YY, XY: q.Cross}
	}
	q := &s.Metrics[metric]
	return Sums{N: float64(q.N), X: q.Mean, XX: q.M2}
}
