package experiment

import (
	"maps"
	"math"
	"slices"
	"strings"
	"time"
)

// unitsEvent applies exposures or feedback.
func (x *live) unitsEvent(kind string, p *UnitsEvent, now int64) Outcome {
	counts, one := &x.Feedback, x.feedback
	if kind == KindExposures {
		counts, one = &x.Exposures, x.expose
	}
	o := Outcome{Items: make([]Item, len(p.Items))}
	for i := range p.Items {
		status, err := one(&p.Items[i], now)
		o.Items[i].Status = status
		if err != nil {
			o.Items[i].Error = err.Error()
		}
		counts.add(status, 1)
	}
	if p.Rejected > 0 {
		counts.add(Rejected, p.Rejected)
	}
	return o
}

// row finds what a token stands for, or makes it.
func (x *live) row(e *UnitEvent, now int64) (*cohort, int, ItemStatus, error) {
	unit, ok := parseUnit(e.Unit)
	if !ok {
		return nil, 0, Rejected, bad("unit", "%q: want 16 hexadecimal digits", e.Unit)
	}
	if e.Version > x.Version {
		return nil, 0, Rejected, bad("version", "%d: the latest version is %d", e.Version, x.Version)
	}
	c := x.cohortOf(e.Version)
	if c == nil || now-e.Time*int64(time.Millisecond) > int64(x.def.AttributionWindow) {
		return nil, 0, Late, nil
	}
	if e.Arm < 0 || e.Arm >= len(c.Mixture) {
		return nil, 0, Rejected, bad("arm", "%d: version %d has %d arms", e.Arm, e.Version, len(c.Mixture))
	}
	if i := c.find(unit); i >= 0 {
		return c, i, Accepted, nil
	}
	open := 0
	for _, c := range x.cohorts {
		open += c.rows()
	}
	if int64(open) >= x.def.OpenTokens {
		return nil, 0, Rejected, bad("open_tokens", "%d units wait for feedback already, which is the definition's bound", open)
	}
	slot := e.Arm
	if draw(unit, x.policy.holdKey) < x.policy.HoldBack {
		slot = len(c.Mixture)
	}
	return c, c.add(unit, slot), Accepted, nil
}

// expose counts a unit, once for each version.
func (x *live) expose(e *UnitEvent, now int64) (ItemStatus, error) {
	c, row, status, err := x.row(e, now)
	if c == nil {
		return status, err
	}
	if c.seen(row) {
		return Duplicate, nil
	}
	c.Slot[row] |= seenBit
	slot := c.slot(row)
	x.countUnits(c, slot, 1)
	for m := range x.def.Metrics { // feedback that came first
		if c.Mask[row]&(1<<m) != 0 && x.def.Metrics[m].Default == nil {
			x.count(c, slot, m, c.Values[row*c.width+m])
		}
	}
	return Accepted, nil
}

// countUnits counts exposed units of a slot.
func (x *live) countUnits(c *cohort, slot int, n int64) {
	c.Stats[slot].Units += n
	x.stats(c, slot).Units += n
	if c == x.cohorts[len(x.cohorts)-1] || c.Round == x.Round {
		x.RoundSeen += n
	}
	if slot < len(c.Mixture) && x.Status != RolledBack {
		x.Ratio.add(x, c, slot, n)
	}
}

// feedback joins a unit's metrics, each once.
func (x *live) feedback(e *UnitEvent, now int64) (ItemStatus, error) {
	names := slices.Sorted(maps.Keys(e.Metrics))
	for _, name := range names {
		if err := x.checkValue(name, e.Metrics[name]); err != nil {
			return Rejected, err
		}
	}
	if len(names) == 0 {
		return Rejected, bad("metrics", "none: want at least one of %s", x.def.reportable())
	}
	c, row, status, err := x.row(e, now)
	if c == nil {
		return status, err
	}
	status = Duplicate
	for _, name := range names {
		m := x.def.metricIndex(name)
		if c.Mask[row]&(1<<m) != 0 {
			continue
		}
		status = Accepted
		c.Mask[row] |= 1 << m
		c.Values[row*c.width+m] = e.Metrics[name]
		if c.seen(row) && x.def.Metrics[m].Default == nil {
			x.count(c, c.slot(row), m, e.Metrics[name])
		}
	}
	return status, nil
}

// reportable names the metrics that can be reported.
func (d *Definition) reportable() string {
	var names []string
	for i := range d.Metrics {
		if d.Metrics[i].Kind != "ratio" {
			names = append(names, d.Metrics[i].Name)
		}
	}
	return strings.Join(names, ", ")
}

func (x *live) checkValue(name string, v float64) error {
	m := x.def.metric(name)
	if m == nil {
		return bad("metrics."+name, "it is no metric: want one of %s", x.def.reportable())
	}
	low, high := m.interval()
	switch {
	case m.Kind == "ratio":
		return bad("metrics."+name, "it is a ratio: report its parts %s and %s", m.Numerator, m.Denominator)
	case !(v >= low && v <= high):
		return bad("metrics."+name, "%v: want a number in [%v, %v]", v, low, high)
	case m.Kind == "count" && v != math.Trunc(v):
		return bad("metrics."+name, "%v: a count is a whole number", v)
	}
	return nil
}

// aggregate adds the sums of a source, once for each of its sequence numbers.
func (x *live) aggregate(p *AggregateEvent, _ int64) Outcome {
	o := Outcome{Items: make([]Item, len(p.Items))}
	all := func(status ItemStatus, err error) Outcome {
		for i := range o.Items {
			o.Items[i].Status = status
			if err != nil {
				o.Items[i].Error = err.Error()
			}
			x.Feedback.add(status, 1)
		}
		return o
	}
	if p.Source == "" || len(p.Source) > 200 || p.Sequence == 0 {
		return all(Rejected, bad("source", "%q with sequence %d: want a name of 1 to 200 bytes and numbers from 1", p.Source, p.Sequence))
	}
	i, known := slices.BinarySearchFunc(x.Sources, p.Source, func(s source, name string) int { return strings.Compare(s.Name, name) })
	if known && p.Sequence <= x.Sources[i].Last {
		return all(Duplicate, nil)
	}
	if !known && len(x.Sources) >= keepSources {
		return all(Rejected, bad("source", "there are %d sources already, which is the most there may be", len(x.Sources)))
	}
	if !known {
		x.Sources = slices.Insert(x.Sources, i, source{Name: p.Source})
	}
	x.Sources[i].Last = p.Sequence
	for j := range p.Items {
		status, err := x.sums(&p.Items[j])
		o.Items[j].Status = status
		if err != nil {
			o.Items[j].Error = err.Error()
		}
		x.Feedback.add(status, 1)
	}
	return o
}

// sums adds one item of an aggregate.
func (x *live) sums(a *AggregateItem) (ItemStatus, error) {
	if a.Version > x.Version {
		return Rejected, bad("version", "%d: the latest version is %d", a.Version, x.Version)
	}
	c := x.cohortOf(a.Version)
	if c == nil {
		return Late, nil
	}
	slot := slices.IndexFunc(x.Arms[:len(c.Mixture)], func(s armState) bool { return s.Name == a.Arm })
	if slot < 0 {
		return Rejected, bad("arm", "%q is no arm of version %d", a.Arm, a.Version)
	}
	if a.HeldBack {
		if slot != x.Control || x.def.HoldBack == 0 {
			return Rejected, bad("held_back", "units held back get the control arm")
		}
		slot = len(c.Mixture)
	} else if !(c.Mixture[slot] > 0) {
		return Rejected, bad("arm", "%q had no share in version %d", a.Arm, a.Version)
	}
	if a.Units < 0 || a.Units > 1_000_000_000 {
		return Rejected, bad("units", "%d: want 0 to 1000000000", a.Units)
	}
	metrics, pairs, err := x.checkSums(a)
	if err != nil {
		return Rejected, err
	}
	x.countUnits(c, slot, a.Units)
	x.Matured += a.Units
	for m, s := range metrics {
		if s.N > 0 {
			c.Stats[slot].Metrics[m].Merge(s)
			x.stats(c, slot).Metrics[m].Merge(s)
		}
		if x.def.Metrics[m].Kind != "ratio" {
			x.Missing[m] += a.Units - s.N
		}
	}
	for r, p := range pairs {
		c.Stats[slot].Pairs[r].Merge(p)
		x.stats(c, slot).Pairs[r].Merge(p)
	}
	return Accepted, nil
}

// checkSums turns an item's sums into statistics. Units without a value of a metric with a default are
// counted as the default.
func (x *live) checkSums(a *AggregateItem) ([]Sequence, []Pair, error) {
	metrics, pairs := make([]Sequence, len(x.def.Metrics)), make([]Pair, len(x.def.ratios()))
	for _, name := range slices.Sorted(maps.Keys(a.Metrics)) {
		s, m := a.Metrics[name], x.def.metricIndex(name)
		if m < 0 || x.def.Metrics[m].Kind == "ratio" {
			return nil, nil, bad("metrics."+name, "want one of %s", x.def.reportable())
		}
		if s.N > a.Units {
			return nil, nil, bad("metrics."+name, "%d values of %d units: want at most one for each", s.N, a.Units)
		}
		q, err := FromSums(s.N, s.Sum, s.Squares)
		if err != nil {
			return nil, nil, bad("metrics."+name, "%w", err)
		}
		if low, high := x.def.Metrics[m].interval(); s.N > 0 && !(q.Mean >= low && q.Mean <= high) {
			return nil, nil, bad("metrics."+name, "the mean is %v: want a number in [%v, %v]", q.Mean, low, high)
		}
		metrics[m] = q
	}
	for m := range metrics {
		if d := x.def.Metrics[m].Default; d != nil {
			metrics[m].Merge(Sequence{N: a.Units - metrics[m].N, Mean: *d})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(a.Products)) {
		r := x.def.ratioIndex(max(x.def.metricIndex(name), 0))
		if x.def.metricIndex(name) < 0 || r < 0 {
			return nil, nil, bad("products."+name, "it is no ratio")
		}
		parts := x.def.ratios()[r]
		p, err := pairOf(a.Metrics[x.def.Metrics[parts.numerator].Name], a.Metrics[x.def.Metrics[parts.denominator].Name], a.Products[name])
		if err != nil {
			return nil, nil, bad("products."+name, "%w", err)
		}
		pairs[r] = p
	}
	return metrics, pairs, nil
}

// pairOf is the pair of two metrics' sums and the sum of their products.
func pairOf(x, y Sums, product float64) (Pair, error) {
	if x.N != y.N || x.N < 1 {
		return Pair{}, bad("n", "%d values of the numerator and %d of the denominator: want as many of both, at least 1", x.N, y.N)
	}
	a, err := FromSums(x.N, x.Sum, x.Squares)
	if err != nil {
		return Pair{}, err
	}
	b, err := FromSums(y.N, y.Sum, y.Squares)
	if err != nil {
		return Pair{}, err
	}
	cross := product - float64(a.Mean*y.Sum)
	if !finite(cross) || float64(cross*cross) > float64(1.000001*a.M2*b.M2)+float64(1e-9*x.Squares*y.Squares) {
		return Pair{}, bad("product", "%v: by Cauchy and Schwarz no such values can have it", product)
	}
	return Pair{N: x.N, X: a.Mean, Y: b.Mean, XX: a.M2, YY: b.M2, Cross: cross}, nil
}
