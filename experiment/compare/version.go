package compare

import (
	"github.com/noregret/noregret/experiment/definition"
	"github.com/noregret/noregret/internal/vec"
)

// Metrics returns the metrics of a definition as a store has them, by their indices.
func Metrics(d *definition.Definition) []Metric {
	out := make([]Metric, len(d.Metrics))
	for m := range out {
		out[m].Ratio = d.RatioIndex(m) >= 0
		if w := d.Width(m); vec.IsFinite(w) {
			out[m].Width = w
		}
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

// AddVersion adds a round of each metric of a definition: the sums of the arms in a policy version,
// by their indices in an experiment with a control arm, -1 for none. Inflation are the factors by
// which returning units raise variances. Sums that [Store.Add] refuses, as they are too large, do
// not count.
func (s *Store) AddVersion(d *definition.Definition, control int, arms []Stats, inflation Inflation) {
	var round []Sums
	for m := range d.Metrics {
		round = round[:0]
		for k := range arms {
			o := arms[k].sums(d, m)
			o.Arm = Index(control, k)
			if f := inflation.Of(d, m); f != 1 {
				o.XX, o.YY, o.XY = float64(o.XX*f), float64(o.YY*f), float64(o.XY*f)
			}
			if o.N > 0 {
				round = append(round, o)
			}
		}
		_ = s.Add(m, round)
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
