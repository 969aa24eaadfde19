package experiment

import (
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/api"
	"github.com/noregret/noregret/confseq"
	"github.com/noregret/noregret/experiment/compare"
	"github.com/noregret/noregret/experiment/definition"
	"github.com/noregret/noregret/internal/vec"
)

// aggregate adds the sums of a source, once for each of its sequence numbers.
func (x *joiner) aggregate(in *joinInput, p *api.Aggregate) Outcome {
	o := Outcome{Items: make([]api.ItemResult, len(p.Items))}
	if in.private != nil {
		return Outcome{Err: errPrivateSums}
	}
	all := func(status api.ItemStatus, err error) Outcome {
		for i := range o.Items {
			o.Items[i].Status = status
			if err != nil {
				o.Items[i].Error = err.Error()
			}
			x.Feedback.Add(status, 1)
		}
		return o
	}
	if in.encoder != nil {
		return all(api.Rejected, noregret.BadInputf("items",
			"sums have no contexts, which the policy %s learns from: "+
				"report units", in.def.Policy.Kind))
	}
	if p.Source == "" || len(p.Source) > 200 || p.Sequence == 0 {
		return all(api.Rejected, noregret.BadInputf("source",
			"%q with sequence %d: want a name of 1 to 200 bytes and numbers from 1",
			p.Source, p.Sequence))
	}
	i, known := slices.BinarySearchFunc(in.senders.Sources, p.Source, func(s source, name string) int {
		return strings.Compare(s.Name, name)
	})
	if known && p.Sequence <= in.senders.Sources[i].Last {
		return all(api.Duplicate, nil)
	}
	if !known && len(in.senders.Sources) >= keepSources {
		return all(api.Rejected, noregret.BadInputf("source",
			"%d sources have reported within the attribution window, the maximum", len(in.senders.Sources)))
	}
	counted := false
	for k := range p.Items {
		status, err := x.sums(in, &p.Items[k])
		o.Items[k].Status = status
		if err != nil {
			o.Items[k].Error = err.Error()
		}
		x.Feedback.Add(status, 1)
		counted = counted || status == api.Accepted
	}
	if !counted {
		return o // the source may use the number again for corrected sums
	}
	if !known {
		in.senders.Sources = slices.Insert(in.senders.Sources, i, source{Name: p.Source})
	}
	in.senders.Sources[i].Last, in.senders.Sources[i].Version = p.Sequence, in.running.Version
	return o
}

// sums adds one item of an aggregate.
func (x *joiner) sums(in *joinInput, a *api.AggregateItem) (api.ItemStatus, error) {
	if a.Version > in.running.Version {
		return api.Rejected, noregret.BadInputf("version", "%d: the latest version is %d", a.Version,
			in.running.Version)
	}
	c := x.cohortOf(a.Version)
	if c == nil {
		return api.Late, nil
	}
	slot := slices.IndexFunc(in.Arms[:len(c.Mixture)], func(s armState) bool { return s.Name == a.Arm })
	if slot < 0 {
		return api.Rejected, noregret.BadInputf("arm", "%q is not an arm of version %d", a.Arm, a.Version)
	}
	if a.HeldBack {
		if slot != in.Control || c.Hold == 0 {
			return api.Rejected, noregret.BadInputf("held_back", "units held back get the control arm")
		}
		slot = len(c.Mixture)
	} else if !(c.Mixture[slot] > 0) {
		return api.Rejected, noregret.BadInputf("arm", "%q had no share in version %d", a.Arm, a.Version)
	}
	if a.Units < 0 || a.Units > 1_000_000_000 {
		return api.Rejected, noregret.BadInputf("units", "%d: want 0 to 1000000000", a.Units)
	}
	sums, err := in.checkSums(a)
	if err == nil {
		err = in.fits(c, slot, sums)
	}
	if err != nil {
		return api.Rejected, err
	}
	x.countUnits(in, c, slot, a.Units)
	c.contrasts = nil
	c.Sums.Units += a.Units
	for m := range in.def.Metrics {
		c.Sums.Missing[m] += sums.missing[m]
		if in.def.Metrics[m].Default != nil {
			c.later(in.def, slot).Metrics[m].Merge(sums.Metrics[m])
			earlyView{in.roster}.addSums(c, slot, m, sums.reported[m])
			continue
		}
		c.Stats[slot].Metrics[m].Merge(sums.Metrics[m])
		in.stats(c, slot).Metrics[m].Merge(sums.Metrics[m])
	}
	for k := range sums.Pairs {
		c.later(in.def, slot).Pairs[k].Merge(sums.Pairs[k])
	}
	return api.Accepted, nil
}

// itemSums are the statistics of an item of sums.
type itemSums struct {
	armStats
	missing  []int64            // by metric: units without a value
	reported []confseq.Sequence // by metric: units with one
}

// fits refuses sums that would overflow, before anything has changed.
func (x *roster) fits(c *cohort, slot int, sums *itemSums) error {
	places := []*armStats{&c.Stats[slot], x.stats(c, slot)}
	if len(c.Later) > 0 {
		places = append(places, &c.Later[slot])
	}
	for _, a := range places {
		if a.Units > math.MaxInt64/2 {
			return noregret.BadInputf("units", "%d are counted already, the maximum", a.Units)
		}
		for m := range sums.Metrics {
			if _, ok := a.Metrics[m].Merged(sums.Metrics[m]); !ok {
				return noregret.BadInputf("metrics."+x.def.Metrics[m].Name, "the sums leave the range of float64")
			}
		}
		for r := range sums.Pairs {
			p := a.Pairs[r]
			p.Merge(sums.Pairs[r])
			if !vec.IsFinite(p.X) || !vec.IsFinite(p.Y) || !vec.IsFinite(p.XX) || !vec.IsFinite(p.YY) ||
				!vec.IsFinite(p.Cross) {
				return noregret.BadInputf("pairs", "the sums leave the range of float64")
			}
		}
	}
	return nil
}

// checkSums turns an item's sums into statistics, as if its units had been reported one by one:
// units without a value of a metric with a default count as the default, in ratios too.
func (x *roster) checkSums(a *api.AggregateItem) (*itemSums, error) {
	n := len(x.def.Metrics)
	out := &itemSums{compare.NewStats(x.def), make([]int64, n), make([]confseq.Sequence, n)}
	for _, name := range slices.Sorted(maps.Keys(a.Metrics)) {
		s, m := a.Metrics[name], x.def.MetricIndex(name)
		if m < 0 || x.def.Metrics[m].Kind == "ratio" {
			return nil, noregret.BadInputf("metrics."+name, "want one of %s", x.def.Reportable())
		}
		if s.N > a.Units {
			return nil, noregret.BadInputf("metrics."+name, "%d values of %d units: want at most one for each", s.N,
				a.Units)
		}
		q, err := x.def.Metrics[m].FromSums(s)
		if err != nil {
			return nil, noregret.BadInputf("metrics."+name, "%w", err)
		}
		out.Metrics[m], out.reported[m] = q, q
	}
	for _, name := range slices.Sorted(maps.Keys(a.Pairs)) {
		if m := x.def.MetricIndex(name); m < 0 || x.def.RatioIndex(m) < 0 {
			return nil, noregret.BadInputf("pairs."+name, "not a ratio")
		}
	}
	for r, parts := range x.def.Ratios() {
		p, err := x.pairSums(a, parts)
		if err != nil {
			return nil, noregret.BadInputf("pairs."+x.def.Metrics[parts.Metric].Name, "%w", err)
		}
		out.Pairs[r] = p
	}
	for m := range out.Metrics {
		if x.def.Metrics[m].Kind == "ratio" {
			continue
		}
		out.missing[m] = a.Units - out.Metrics[m].N
		if d := x.def.Metrics[m].Default; d != nil {
			out.Metrics[m].Merge(confseq.Repeated(out.missing[m], *d))
		}
	}
	return out, nil
}

// pairSums returns the pair of a ratio. It has the units with both parts, as the item states. If
// the item states none, it has the units with one part, provided that the other part was not
// reported at all and has a default. If both parts have defaults, it also has the units without
// either.
func (x *roster) pairSums(a *api.AggregateItem, parts definition.Ratio) (confseq.Pair, error) {
	num, den := &x.def.Metrics[parts.Numerator], &x.def.Metrics[parts.Denominator]
	u, v := a.Metrics[num.Name], a.Metrics[den.Name]
	q, given := a.Pairs[x.def.Metrics[parts.Metric].Name]
	switch {
	case given && (q.N < 1 || q.N > a.Units):
		return confseq.Pair{}, noregret.BadInputf("n", "%d of %d units: want at least 1, and at most all", q.N, a.Units)
	case given:
	case u.N > 0 && v.N == 0 && den.Default != nil:
		d := *den.Default
		y := float64(float64(u.N) * d)
		q, given = api.PairSums{N: u.N, X: u.Sum, Y: y, XX: u.Squares, YY: y * d, XY: u.Sum * d}, true
	case v.N > 0 && u.N == 0 && num.Default != nil:
		d := *num.Default
		x := float64(float64(v.N) * d)
		q, given = api.PairSums{N: v.N, X: x, Y: v.Sum, XX: x * d, YY: v.Squares, XY: v.Sum * d}, true
	}
	var p confseq.Pair
	if given {
		var err error
		if p, err = pairOf(num, den, q); err != nil {
			return p, err
		}
		narrow(&p.XLow, &p.XHigh, u, q.N)
		narrow(&p.YLow, &p.YHigh, v, q.N)
	} else if u.N > 0 || v.N > 0 {
		return p, nil // it is unknown which units have both
	}
	if rest := a.Units - p.N; rest > 0 && num.Default != nil && den.Default != nil {
		p.Merge(confseq.FromParts(confseq.Repeated(rest, *num.Default), confseq.Repeated(rest, *den.Default), 0))
	}
	return p, nil
}

// narrow narrows the bounds of n values to the extremes of the sums, if these have n values, too.
func narrow(low, high *float64, s api.Sums, n int64) {
	if s.N == n && s.Low != nil && s.High != nil {
		*low, *high = max(*low, *s.Low), min(*high, *s.High)
	}
}

// pairOf makes a pair of the sums of a ratio's parts.
func pairOf(num, den *definition.Metric, q api.PairSums) (confseq.Pair, error) {
	a, err := num.FromSums(api.Sums{N: q.N, Sum: q.X, Squares: q.XX})
	if err != nil {
		return confseq.Pair{}, noregret.BadInputf(num.Name, "%w", err)
	}
	b, err := den.FromSums(api.Sums{N: q.N, Sum: q.Y, Squares: q.YY})
	if err != nil {
		return confseq.Pair{}, noregret.BadInputf(den.Name, "%w", err)
	}
	cross := q.XY - float64(a.Mean*q.Y)
	if !vec.IsFinite(cross) || float64(cross*cross) > float64(1.000001*a.M2*b.M2)+float64(1e-9*q.XX*q.YY) {
		return confseq.Pair{}, noregret.BadInputf("xy",
			"%v: no values with these sums of squares can have it (Cauchy and Schwarz)", q.XY)
	}
	return confseq.FromParts(a, b, cross), nil
}
