package join

import (
	"maps"
	"math"
	"slices"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/api"
	"github.com/noregret/noregret/confseq"
	"github.com/noregret/noregret/experiment/compare"
	"github.com/noregret/noregret/experiment/definition"
	"github.com/noregret/noregret/internal/vec"
	"github.com/noregret/noregret/policy"
)

// Aggregate adds the sums of a source, once for each of its sequence numbers.
func (x *Joiner) Aggregate(in *Input, p *api.Aggregate) (Result, error) {
	o := Result{Items: make([]api.ItemResult, len(p.Items))}
	if x.Bounded != nil {
		return Result{}, errUnbounded
	}
	all := func(status api.ItemStatus, err error) (Result, error) {
		for i := range o.Items {
			o.Items[i].Status = status
			if err != nil {
				o.Items[i].Error = err.Error()
			}
			x.Feedback.Add(status, 1)
		}
		return o, nil
	}
	if in.Encoder != nil {
		return all(api.Rejected, noregret.BadInputf("items",
			"sums have no contexts, which the policy %s learns from: report units", in.Definition.Policy.Kind))
	}
	if p.Source == "" || len(p.Source) > 200 || p.Sequence == 0 {
		return all(api.Rejected, noregret.BadInputf("source",
			"%q with sequence %d: want a name of 1 to 200 bytes and numbers from 1", p.Source, p.Sequence))
	}
	i, known := x.source(p.Source)
	if known && p.Sequence <= x.Sources[i].Last {
		return all(api.Duplicate, nil)
	}
	if !known && len(x.Sources) >= keepSources {
		return all(api.Rejected, noregret.BadInputf("source",
			"%d sources have reported within the attribution window, the maximum", len(x.Sources)))
	}
	counted := false
	for k := range p.Items {
		status, err := x.aggregate(in, &p.Items[k])
		o.Items[k].Status = status
		if err != nil {
			o.Items[k].Error = err.Error()
		}
		x.Feedback.Add(status, 1)
		counted = counted || status == api.Accepted
	}
	if !counted {
		return o, nil // the source may use the number again for corrected sums
	}
	if !known {
		x.Sources = slices.Insert(x.Sources, i, Source{Name: p.Source})
	}
	x.Sources[i].Last, x.Sources[i].Version = p.Sequence, in.Policy.Version
	return o, nil
}

// keepSources is the maximum number of sources that reported within the attribution window.
const keepSources = 10_000

// aggregate adds one item of an aggregate.
func (x *Joiner) aggregate(in *Input, a *api.AggregateItem) (api.ItemStatus, error) {
	d := in.Definition
	if a.Version > in.Policy.Version {
		return api.Rejected, noregret.BadInputf("version", "%d: the latest version is %d", a.Version,
			in.Policy.Version)
	}
	v := x.Version(a.Version)
	if v == nil || v.Matured != 0 { // units count in all metrics alike
		return api.Late, nil
	}
	slot := slices.IndexFunc(in.Policy.Arms[:len(v.Mixture)], func(s policy.Arm) bool { return s.Name == a.Arm })
	if slot < 0 {
		return api.Rejected, noregret.BadInputf("arm", "%q is not an arm of version %d", a.Arm, a.Version)
	}
	if a.HeldBack {
		if slot != in.Policy.Control || v.Hold == 0 {
			return api.Rejected, noregret.BadInputf("held_back", "units held back get the control arm")
		}
		slot = len(v.Mixture)
	} else if !(v.Mixture[slot] > 0) {
		return api.Rejected, noregret.BadInputf("arm", "%q had no share in version %d", a.Arm, a.Version)
	}
	if a.Units < 0 || a.Units > 1_000_000_000 {
		return api.Rejected, noregret.BadInputf("units", "%d: want 0 to 1000000000", a.Units)
	}
	sums, err := checkSums(d, a)
	if err == nil {
		err = x.fits(d, v, slot, sums)
	}
	if err != nil {
		return api.Rejected, err
	}
	x.countUnits(in, v, slot, a.Units, false)
	v.Sums.Units += a.Units
	for m := range d.Metrics {
		v.Sums.Missing[m] += sums.missing[m]
		if d.Metrics[m].Default != nil {
			v.later(d, slot).Metrics[m].Merge(sums.Metrics[m])
			if e, ok := earlyValues(d, m, &sums.reported[m]); ok {
				x.addEarly(v, slot, m, e)
			}
			continue
		}
		for _, s := range x.sums(v, slot) {
			s.Metrics[m].Merge(sums.Metrics[m])
		}
	}
	for k := range sums.Pairs {
		v.later(d, slot).Pairs[k].Merge(sums.Pairs[k])
	}
	return api.Accepted, nil
}

// itemSums are the statistics of an item of sums.
type itemSums struct {
	compare.Stats
	missing  []int64            // by metric: units without a value
	reported []confseq.Sequence // by metric: units with one
}

// fits refuses sums that would overflow, before anything has changed.
func (x *Joiner) fits(d *definition.Definition, v *Version, slot int, sums *itemSums) error {
	both := x.sums(v, slot)
	places := both[:]
	if len(v.Later) > 0 {
		places = append(places, &v.Later[slot])
	}
	for _, a := range places {
		if a.Units > math.MaxInt64/2 {
			return noregret.BadInputf("units", "%d are counted already, the maximum", a.Units)
		}
		for m := range sums.Metrics {
			if _, ok := a.Metrics[m].Merged(sums.Metrics[m]); !ok {
				return noregret.BadInputf("metrics."+d.Metrics[m].Name, "the sums leave the range of float64")
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
func checkSums(d *definition.Definition, a *api.AggregateItem) (*itemSums, error) {
	n := len(d.Metrics)
	out := &itemSums{compare.NewStats(d), make([]int64, n), make([]confseq.Sequence, n)}
	for _, name := range slices.Sorted(maps.Keys(a.Metrics)) {
		s, m := a.Metrics[name], d.MetricIndex(name)
		if m < 0 || d.Metrics[m].Kind == "ratio" {
			return nil, noregret.BadInputf("metrics."+name, "want one of %s", d.Reportable())
		}
		if s.N > a.Units {
			return nil, noregret.BadInputf("metrics."+name, "%d values of %d units: want at most one for each", s.N,
				a.Units)
		}
		q, err := d.Metrics[m].FromSums(s)
		if err != nil {
			return nil, noregret.BadInputf("metrics."+name, "%w", err)
		}
		out.Metrics[m], out.reported[m] = q, q
	}
	for _, name := range slices.Sorted(maps.Keys(a.Pairs)) {
		if m := d.MetricIndex(name); m < 0 || d.RatioIndex(m) < 0 {
			return nil, noregret.BadInputf("pairs."+name, "not a ratio")
		}
	}
	for r, parts := range d.Ratios() {
		p, err := pairSums(d, a, parts)
		if err != nil {
			return nil, noregret.BadInputf("pairs."+d.Metrics[parts.Metric].Name, "%w", err)
		}
		out.Pairs[r] = p
	}
	for m := range out.Metrics {
		if d.Metrics[m].Kind == "ratio" {
			continue
		}
		out.missing[m] = a.Units - out.Metrics[m].N
		if d := d.Metrics[m].Default; d != nil {
			out.Metrics[m].Merge(confseq.Repeated(out.missing[m], *d))
		}
	}
	return out, nil
}

// pairSums returns the pair of a ratio. It has the units with both parts, as the item states. If
// the item states none, it has the units with one part, provided that the other part was not
// reported at all and has a default. If both parts have defaults, it also has the units without
// either.
func pairSums(d *definition.Definition, a *api.AggregateItem, parts definition.Ratio) (confseq.Pair, error) {
	num, den := &d.Metrics[parts.Numerator], &d.Metrics[parts.Denominator]
	u, v := a.Metrics[num.Name], a.Metrics[den.Name]
	q, given := a.Pairs[d.Metrics[parts.Metric].Name]
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
