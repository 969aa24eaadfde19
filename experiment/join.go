package experiment

import (
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/confseq"
	"github.com/noregret/noregret/experiment/definition"
	"github.com/noregret/noregret/policy"
)

// unitsEvent applies exposures or feedback.
func (x *live) unitsEvent(kind string, p *UnitsEvent, now int64) Outcome {
	counts, one := &x.Feedback, x.feedback
	if kind == KindExposures {
		counts, one = &x.Exposures, x.expose
	}
	o := Outcome{Items: make([]policy.ItemResult, len(p.Items))}
	for i := range p.Items {
		status, err := one(&p.Items[i], now)
		o.Items[i].Status = status
		if err != nil {
			o.Items[i].Error = err.Error()
		}
		counts.Add(status, 1)
	}
	if p.Rejected > 0 {
		counts.Add(policy.Rejected, p.Rejected)
	}
	return o
}

// row finds what a token stands for, or makes it.
func (x *live) row(e *UnitEvent, now int64) (*cohort, int, policy.ItemStatus, error) {
	unit, ok := policy.ParseUnit(e.Unit)
	if !ok {
		return nil, 0, policy.Rejected, noregret.BadInputf("unit", "%q: want 16 hexadecimal digits", e.Unit)
	}
	if e.Version > x.Version {
		return nil, 0, policy.Rejected, noregret.BadInputf("version", "%d: the latest version is %d", e.Version,
			x.Version)
	}
	c, decided := x.cohortOf(e.Version), e.Time*int64(time.Millisecond)
	switch {
	case now-decided > int64(x.def.AttributionWindow):
		return nil, 0, policy.Late, policy.Expired
	case c == nil:
		return nil, 0, policy.Late, noregret.BadInputf("version", "the window of version %d has closed", e.Version)
	case c.Sealed > 0 && decided > c.Sealed+x.grace():
		return nil, 0, policy.Late, noregret.BadInputf("version",
			"it was decided more than %v after version %d had ended",
			time.Duration(x.grace()), e.Version)
	}
	if e.Arm < 0 || e.Arm >= len(c.Mixture) {
		return nil, 0, policy.Rejected, noregret.BadInputf("arm", "%d: version %d has %d arms", e.Arm, e.Version,
			len(c.Mixture))
	}
	if i := c.find(unit); i >= 0 {
		return c, i, policy.Accepted, nil
	}
	if open := x.open(); open >= x.def.OpenTokens {
		return nil, 0, policy.Rejected, noregret.BadInputf("open_tokens",
			"%d units wait for feedback already, which is the definition's bound", open)
	}
	slot := e.Arm
	if x.policy.HeldBack(unit) {
		slot = len(c.Mixture)
	}
	return c, c.add(unit, slot), policy.Accepted, nil
}

// expose counts a unit, once for each version.
func (x *live) expose(e *UnitEvent, now int64) (policy.ItemStatus, error) {
	c, row, status, err := x.row(e, now)
	if c == nil {
		return status, err
	}
	if c.seen(row) {
		return policy.Duplicate, nil
	}
	c.Slot[row] |= seenBit
	slot := c.slot(row)
	x.countUnits(c, slot, 1)
	for m := range x.def.Metrics { // feedback that came first
		if c.Mask[row]&(1<<m) != 0 && x.def.Metrics[m].Default == nil {
			x.count(c, slot, m, c.Values[row*c.width+m])
		}
	}
	return policy.Accepted, nil
}

// countUnits counts exposed units of a slot.
func (x *live) countUnits(c *cohort, slot int, n int64) {
	if slot < len(c.Mixture) {
		x.Ratio.add(c, slot, n)
	}
	c.Stats[slot].Units += n
	x.stats(c, slot).Units += n
	if c.Round == x.Round {
		x.RoundSeen += n
	}
}

// feedback joins a unit's metrics, each once.
func (x *live) feedback(e *UnitEvent, now int64) (policy.ItemStatus, error) {
	names := slices.Sorted(maps.Keys(e.Metrics))
	for _, name := range names {
		if err := x.checkValue(name, e.Metrics[name]); err != nil {
			return policy.Rejected, err
		}
	}
	if len(names) == 0 {
		return policy.Rejected, noregret.BadInputf("metrics", "none: want at least one of %s", x.def.Reportable())
	}
	c, row, status, err := x.row(e, now)
	if c == nil {
		return status, err
	}
	status = policy.Duplicate
	var again []string
	for _, name := range names {
		m := x.def.MetricIndex(name)
		if c.Mask[row]&(1<<m) != 0 {
			again = append(again, name)
			continue
		}
		status = policy.Accepted
		c.Mask[row] |= 1 << m
		c.Values[row*c.width+m] = e.Metrics[name]
		if c.seen(row) && x.def.Metrics[m].Default == nil {
			x.count(c, c.slot(row), m, e.Metrics[name])
		}
	}
	x.Again += int64(len(again))
	if status == policy.Accepted && len(again) > 0 {
		err = noregret.BadInputf("metrics", "reported before, the first value stays: %s", strings.Join(again, ", "))
	}
	return status, err
}

func (x *live) checkValue(name string, v float64) error {
	m := x.def.Metric(name)
	if m == nil {
		return noregret.BadInputf("metrics."+name, "it is no metric: want one of %s", x.def.Reportable())
	}
	low, high := m.Interval()
	switch {
	case m.Kind == "ratio":
		return noregret.BadInputf("metrics."+name, "it is a ratio: report its parts %s and %s", m.Numerator,
			m.Denominator)
	case !(v >= low && v <= high):
		return noregret.BadInputf("metrics."+name, "%v: want a number in [%v, %v]", v, low, high)
	case m.Kind == "count" && v != math.Trunc(v):
		return noregret.BadInputf("metrics."+name, "%v: a count is a whole number", v)
	}
	return nil
}

// aggregate adds the sums of a source, once for each of its sequence numbers.
func (x *live) aggregate(p *policy.Aggregate, _ int64) Outcome {
	o := Outcome{Items: make([]policy.ItemResult, len(p.Items))}
	all := func(status policy.ItemStatus, err error) Outcome {
		for i := range o.Items {
			o.Items[i].Status = status
			if err != nil {
				o.Items[i].Error = err.Error()
			}
			x.Feedback.Add(status, 1)
		}
		return o
	}
	if p.Source == "" || len(p.Source) > 200 || p.Sequence == 0 {
		return all(policy.Rejected, noregret.BadInputf("source",
			"%q with sequence %d: want a name of 1 to 200 bytes and numbers from 1",
			p.Source, p.Sequence))
	}
	i, known := slices.BinarySearchFunc(x.Sources, p.Source, func(s source, name string) int {
		return strings.Compare(s.Name, name)
	})
	if known && p.Sequence <= x.Sources[i].Last {
		return all(policy.Duplicate, nil)
	}
	if !known && len(x.Sources) >= keepSources {
		return all(policy.Rejected, noregret.BadInputf("source",
			"%d sources have reported within the attribution window, which is the "+
				"most there may be", len(x.Sources)))
	}
	counted := false
	for j := range p.Items {
		status, err := x.sums(&p.Items[j])
		o.Items[j].Status = status
		if err != nil {
			o.Items[j].Error = err.Error()
		}
		x.Feedback.Add(status, 1)
		counted = counted || status == policy.Accepted
	}
	if !counted {
		return o // the number may come again, with what was meant
	}
	if !known {
		x.Sources = slices.Insert(x.Sources, i, source{Name: p.Source})
	}
	x.Sources[i].Last, x.Sources[i].Version = p.Sequence, x.Version
	return o
}

// sums adds one item of an aggregate.
func (x *live) sums(a *policy.AggregateItem) (policy.ItemStatus, error) {
	if a.Version > x.Version {
		return policy.Rejected, noregret.BadInputf("version", "%d: the latest version is %d", a.Version, x.Version)
	}
	c := x.cohortOf(a.Version)
	if c == nil {
		return policy.Late, nil
	}
	slot := slices.IndexFunc(x.Arms[:len(c.Mixture)], func(s armState) bool { return s.Name == a.Arm })
	if slot < 0 {
		return policy.Rejected, noregret.BadInputf("arm", "%q is no arm of version %d", a.Arm, a.Version)
	}
	if a.HeldBack {
		if slot != x.Control || x.def.HoldBack == 0 {
			return policy.Rejected, noregret.BadInputf("held_back", "units held back get the control arm")
		}
		slot = len(c.Mixture)
	} else if !(c.Mixture[slot] > 0) {
		return policy.Rejected, noregret.BadInputf("arm", "%q had no share in version %d", a.Arm, a.Version)
	}
	if a.Units < 0 || a.Units > 1_000_000_000 {
		return policy.Rejected, noregret.BadInputf("units", "%d: want 0 to 1000000000", a.Units)
	}
	sums, err := x.checkSums(a)
	if err == nil {
		err = x.fits(c, slot, sums)
	}
	if err != nil {
		return policy.Rejected, err
	}
	x.countUnits(c, slot, a.Units)
	c.Sums.Units += a.Units
	for m := range x.def.Metrics {
		c.Sums.Missing[m] += sums.missing[m]
		if x.def.Metrics[m].Default != nil {
			c.later(x.def, slot).Metrics[m].Merge(sums.Metrics[m])
			continue
		}
		c.Stats[slot].Metrics[m].Merge(sums.Metrics[m])
		x.stats(c, slot).Metrics[m].Merge(sums.Metrics[m])
	}
	for r := range sums.Pairs {
		c.later(x.def, slot).Pairs[r].Merge(sums.Pairs[r])
	}
	return policy.Accepted, nil
}

// itemSums are the statistics of an item of sums.
type itemSums struct {
	armStats
	missing []int64 // by metric: units without a value
}

// fits refuses sums that would leave the range of numbers, before anything has changed.
func (x *live) fits(c *cohort, slot int, sums *itemSums) error {
	places := []*armStats{&c.Stats[slot], x.stats(c, slot)}
	if len(c.Later) > 0 {
		places = append(places, &c.Later[slot])
	}
	for _, a := range places {
		if a.Units > math.MaxInt64/2 {
			return noregret.BadInputf("units", "there are %d already: no more can be counted", a.Units)
		}
		for m := range sums.Metrics {
			if _, ok := a.Metrics[m].Merged(sums.Metrics[m]); !ok {
				return noregret.BadInputf("metrics."+x.def.Metrics[m].Name, "the sums leave the range of float64")
			}
		}
		for r := range sums.Pairs {
			p := a.Pairs[r]
			p.Merge(sums.Pairs[r])
			if !finite(p.X) || !finite(p.Y) || !finite(p.XX) || !finite(p.YY) || !finite(p.Cross) {
				return noregret.BadInputf("pairs", "the sums leave the range of float64")
			}
		}
	}
	return nil
}

// checkSums turns an item's sums into statistics, as if its units had come one by one: units
// without a value of a metric with a default count as the default, in ratios too.
func (x *live) checkSums(a *policy.AggregateItem) (*itemSums, error) {
	out := &itemSums{newArmStats(x.def), make([]int64, len(x.def.Metrics))}
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
		out.Metrics[m] = q
	}
	for _, name := range slices.Sorted(maps.Keys(a.Pairs)) {
		if m := x.def.MetricIndex(name); m < 0 || x.def.RatioIndex(m) < 0 {
			return nil, noregret.BadInputf("pairs."+name, "it is no ratio")
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
			out.Metrics[m].Merge(confseq.Sequence{N: out.missing[m], Mean: *d})
		}
	}
	return out, nil
}

// pairSums is the pair of a ratio: of the units that have both parts, as the item says; without a
// word of it, of those with one part where the other was reported of none and has a default; and,
// where both have defaults, of the units without either.
func (x *live) pairSums(a *policy.AggregateItem, parts definition.Ratio) (confseq.Pair, error) {
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
		q, given = policy.PairSums{N: u.N, X: u.Sum, Y: y, XX: u.Squares, YY: y * d, XY: u.Sum * d}, true
	case v.N > 0 && u.N == 0 && num.Default != nil:
		d := *num.Default
		x := float64(float64(v.N) * d)
		q, given = policy.PairSums{N: v.N, X: x, Y: v.Sum, XX: x * d, YY: v.Squares, XY: v.Sum * d}, true
	}
	var p confseq.Pair
	if given {
		var err error
		if p, err = pairOf(num, den, q); err != nil {
			return p, err
		}
	} else if u.N > 0 || v.N > 0 {
		return p, nil // which units have both cannot be known
	}
	if rest := a.Units - p.N; rest > 0 && num.Default != nil && den.Default != nil {
		p.Merge(confseq.Pair{N: rest, X: *num.Default, Y: *den.Default})
	}
	return p, nil
}

// pairOf is the pair of the sums of a ratio's parts.
func pairOf(num, den *definition.Metric, q policy.PairSums) (confseq.Pair, error) {
	a, err := num.FromSums(policy.Sums{N: q.N, Sum: q.X, Squares: q.XX})
	if err != nil {
		return confseq.Pair{}, noregret.BadInputf(num.Name, "%w", err)
	}
	b, err := den.FromSums(policy.Sums{N: q.N, Sum: q.Y, Squares: q.YY})
	if err != nil {
		return confseq.Pair{}, noregret.BadInputf(den.Name, "%w", err)
	}
	cross := q.XY - float64(a.Mean*q.Y)
	if !finite(cross) || float64(cross*cross) > float64(1.000001*a.M2*b.M2)+float64(1e-9*q.XX*q.YY) {
		return confseq.Pair{}, noregret.BadInputf("xy", "%v: by Cauchy and Schwarz no such values can have it", q.XY)
	}
	return confseq.Pair{N: q.N, X: a.Mean, Y: b.Mean, XX: a.M2, YY: b.M2, Cross: cross}, nil
}
