package experiment

import (
	"github.com/noregret/noregret/confseq"
	"github.com/noregret/noregret/experiment/compare"
	"github.com/noregret/noregret/experiment/definition"
	"github.com/noregret/noregret/internal/vec"
)

// storeMetrics returns the metrics of a definition as a store has them, by their indices.
func storeMetrics(d *definition.Definition) []compare.Metric {
	out := make([]compare.Metric, len(d.Metrics))
	for m := range out {
		out[m].Ratio = d.RatioIndex(m) >= 0
		if w := d.Width(m); vec.IsFinite(w) {
			out[m].Width = w
		}
	}
	return out
}

// newStore returns the empty store of an experiment's arms, nil for a contextual policy: it gives
// the arms to different units, whose means do not compare.
func newStore(d *definition.Definition, arms int) (*compare.Store, error) {
	if d.Contextual() {
		return nil, nil
	}
	return compare.New(max(arms, 1), storeMetrics(d))
}

// fits reports whether the store may be that of the roster.
func (x *learning) fits(r *roster) bool {
	if x.Store == nil || r.def.Contextual() {
		return x.Store == nil && r.def.Contextual()
	}
	return x.Store.Fits(max(len(r.Arms), 1), storeMetrics(r.def))
}

// growStore adds the arms of the roster that have come since to the store.
func (x *learning) growStore(arms int) {
	for x.Store != nil && x.Store.Arms() < arms {
		x.Store.AddArm()
	}
}

// storeArm returns the index of arm k in the store. The control is its arm 0, and the others
// follow in their order; without a control arm the indices are the same.
func (x *roster) storeArm(k int) int {
	switch {
	case k == x.Control:
		return 0
	case k < x.Control:
		return k + 1
	}
	return k
}

// addRound adds the sums of the arms in a version to a store, nil for none. The factors are those
// by which returning units raise the variance of each metric, nil for none. Sums that the store
// refuses, as they are too large, do not count.
func (x *roster) addRound(to *compare.Store, stats []armStats, factors []float64) {
	if to == nil {
		return
	}
	in := &guardInput{roster: x, inflation: factors}
	var round []compare.Sums
	for m := range x.def.Metrics {
		round = round[:0]
		for k := range stats {
			s := sumsOf(x.def, m, &stats[k])
			s.Arm = x.storeArm(k)
			if f := in.inflated(m); f != 1 {
				s.XX, s.YY, s.XY = float64(s.XX*f), float64(s.YY*f), float64(s.XY*f)
			}
			if s.N > 0 {
				round = append(round, s)
			}
		}
		_ = to.Add(m, round)
	}
}

// sumsOf returns the sums of an arm's units in a metric.
func sumsOf(d *definition.Definition, metric int, a *armStats) compare.Sums {
	if j := d.RatioIndex(metric); j >= 0 {
		q := &a.Pairs[j]
		return compare.Sums{N: float64(q.N), X: q.X, XX: q.XX, Y: q.Y, YY: q.YY, XY: q.Cross}
	}
	q := &a.Metrics[metric]
	return compare.Sums{N: float64(q.N), X: q.Mean, XX: q.M2}
}

// whole returns the store of all versions that are learned from, those that are open included, or
// nil without one.
func (x *experimentState) whole() *compare.Store {
	all := x.learning.Store
	for _, c := range x.joiner.Versions {
		if all == nil || !c.Learnable || x.Private != nil {
			continue
		}
		if all == x.learning.Store {
			all = all.Copy()
		}
		x.roster.addRound(all, c.Arms(), x.joiner.Returns.Factors())
	}
	return all
}

// estimated returns the arms' means of the judged metrics as the statistics of one unit each: the
// control's level and the contrasts with it, within the metrics' ranges. Means that are not known
// are left out.
func (x *roster) estimated(s *compare.Store) []armStats {
	d := x.def
	out := make([]armStats, len(x.Arms))
	for k := range out {
		out[k] = compare.NewStats(d)
	}
	within := func(m int, v float64) float64 { return min(max(v, d.Lowest(m)), d.Highest(m)) }
	var e compare.Contrasts
	for _, m := range d.JudgedMetrics() {
		s.Contrasts(&e, m, 0, 0)
		for k := range out {
			a, b, ok := e.Means(x.storeArm(k))
			if !ok {
				continue
			}
			if r := d.RatioIndex(m); r >= 0 {
				parts := d.Ratios()[r]
				out[k].Pairs[r] = confseq.Pair{N: 1, X: within(parts.Numerator, a), Y: within(parts.Denominator, b)}
			} else {
				out[k].Metrics[m] = confseq.Sequence{N: 1, Mean: within(m, a)}
			}
		}
	}
	return out
}
