package report

import (
	"math"
	"slices"

	"github.com/noregret/noregret/confseq"
	"github.com/noregret/noregret/experiment/guard"
	"github.com/noregret/noregret/internal/vec"
)

// compared compares a metric of all arms, and of what was served, with the control's.
type compared struct {
	control int
	arms    []guard.Own  // the differences
	levels  []levelOf    // the control's means in the arms' versions
	served  guard.Served // the difference of what was served
	level   levelOf
	width   float64 // of the range of an observation, +Inf without a range
	low     float64 // the ends of that range, infinite with an infinite width
	high    float64
	ratio   *float64 // the control's ratio if the metric is one, NaN if it is not known
}

// levelOf is a mean of the control with its bounds.
type levelOf struct{ mean, low, high float64 }

// liftLevel is the control level's part of alpha. What was served and the arms together have one
// half of alpha each, and in both the control's level gets this part.
const liftLevel = 0.1

// compare compares a metric. With probability 1 − alpha, all bounds of differences and levels hold
// at all times.
func (x *Facts) compare(l *TightMetric, alpha float64) *compared {
	e, d, metric := x.Evidence, x.definition(), l.Metric
	s := e.Compared(metric)
	o := confseq.ContrastOptions{Width: d.Width(metric), Inflation: e.Inflation().Of(d, metric)}
	of := func(c *confseq.Contrast, tight, alpha float64) (guard.Own, levelOf) {
		o.Tight = tight
		from, to := c.Interval(0, float64((1-liftLevel)*alpha), o)
		// The level alone is the contrast of a mean that is always 0 with −1 times the control's.
		alone := confseq.Contrast{
			Units: c.Units, Weight: c.Weight, Level: c.Level, Change: c.Change, ChangeMost: c.ChangeMost,
		}
		half := o
		half.Width /= 2 // without an arm a term has only half of the span
		low, high := alone.Interval(-1, float64(liftLevel*alpha), half)
		return guard.Own{Mean: c.Mean(0), From: from, To: to, Level: alone.Mean(-1)}, levelOf{alone.Mean(-1), low, high}
	}
	out := &compared{control: e.Control, width: o.Width, low: math.Inf(-1), high: math.Inf(1)}
	if vec.IsFinite(o.Width) {
		out.low, out.high = d.Lowest(metric), d.Highest(metric)
	}
	side := alpha / 4
	served, level := of(&s.Served, l.Served, side)
	out.level = level
	out.served = guard.Served{Estimate: served.Mean, Low: served.From, High: served.To, Level: level.mean}
	total := 0.0
	for k := range s.Arms {
		total += s.Arms[k].Weight
	}
	for k := range x.Arms {
		a := guard.Own{Mean: math.NaN(), From: -out.width, To: out.width}
		level := levelOf{math.NaN(), math.Inf(-1), math.Inf(1)}
		if k < len(s.Arms) && s.Arms[k].Weight > 0 {
			tight := 0.0
			if k < len(l.Arms) {
				tight = l.Arms[k]
			}
			a, level = of(&s.Arms[k], tight, e.Part(side, k))
			a.Weight = s.Arms[k].Weight / total
		}
		if k == e.Control { // the control does not differ from itself
			a.Mean, a.From, a.To = 0, 0, 0
		}
		out.arms, out.levels = append(out.arms, a), append(out.levels, level)
	}
	if r := d.RatioIndex(metric); r >= 0 {
		ratio, ok := x.control().Pairs[r].Ratio()
		if !ok {
			ratio = math.NaN()
		}
		out.ratio = &ratio
	}
	return out
}

// within returns the comparison with all bounds within what the metric's range allows: a mean of
// the control is in the range, and an arm's mean differs from it by no more than its distance from
// the ends of the range. So a mixture that is the control arm but for a share s differs from it by
// no more than s times that. The bounds hold with the probability that those of x have.
func (x *compared) within() *compared {
	if !vec.IsFinite(x.width) {
		return x
	}
	y := *x
	y.arms, y.levels = slices.Clone(x.arms), slices.Clone(x.levels)
	y.level = x.inRange(x.level)
	least, most := x.allowed(y.level)
	y.served.Low, y.served.High = max(x.served.Low, least), min(x.served.High, most)
	for k := range y.arms {
		y.levels[k] = x.inRange(x.levels[k])
		if a := &y.arms[k]; k != x.control {
			least, most := x.allowed(y.levels[k])
			a.From, a.To = max(a.From, least), min(a.To, most)
		}
	}
	return &y
}

// inRange returns a level whose bounds are within the range.
func (x *compared) inRange(l levelOf) levelOf {
	return levelOf{l.mean, max(l.low, x.low), min(l.high, x.high)}
}

// allowed returns the least and the greatest difference that the range allows from a level.
func (x *compared) allowed(l levelOf) (least, most float64) { return x.low - l.high, x.high - l.low }

// difference is a comparison of an arm or of a mixture before it is reported.
type difference struct {
	guard.Own
	level levelOf
	// allowed is the width of the bounds that the range alone implies.
	allowed float64
	// The difference of a mixture that is the control but for a share of other arms is between
	// low·share and high·share less part of the control's mean. Part is the share, weighted by the
	// control's means in the versions of its arms.
	low, high, share, part float64
}

// between returns a difference with what the range implies for a share of arms other than the
// control.
func (x *compared) between(a guard.Own, level levelOf, allowed, share, part float64) difference {
	return difference{a, level, allowed, x.low, x.high, share, part}
}

func (x *compared) arm(k int) difference {
	least, most := x.allowed(x.levels[k])
	return x.between(x.arms[k], x.levels[k], most-least, 1, 1)
}

func (x *compared) soFar() difference {
	least, most := x.allowed(x.level)
	a := guard.Own{Mean: x.served.Estimate, From: x.served.Low, To: x.served.High}
	return x.between(a, x.level, most-least, 1, 1)
}

// mixture compares a mixture. Its level is the weighted mean of its arms' levels, with the relative
// precision of the level of what was served.
func (x *compared) mixture(p []float64) difference {
	b := guard.Mix(len(x.arms), x.control, p, func(k int) guard.Own { return x.arms[k] }, x.served)
	level, scale := x.level, b.Level/x.level.mean
	if scale > 0 {
		level = levelOf{scale * level.mean, scale * level.low, scale * level.high}
	}
	allowed, share, part := 0.0, 0.0, 0.0
	for k, w := range p {
		if k == x.control || !(w > 0) {
			continue
		}
		least, most := x.allowed(x.levels[k])
		allowed += float64(w * (most - least))
		share += w
		if own := x.levels[k].mean / level.mean; vec.IsFinite(own) {
			part += float64(w * own)
		} else {
			part += w
		}
	}
	return x.between(guard.Own{Mean: b.Estimate, From: b.Low, To: b.High}, level, allowed, share, part)
}

// vague reports whether the bounds of a difference say next to nothing: they are no narrower than
// the metric's range implies, or they exclude neither half nor twice the control's value.
func (x *compared) vague(d *difference) bool {
	if d.allowed > 0 && d.To-d.From >= float64((1-1e-9)*d.allowed) {
		return true
	}
	_, low, high := d.relative()
	return low <= -0.5 && high >= 1
}

// unit returns the factor from differences to the metric's units. The differences of a ratio are in
// units of its numerator.
func (x *compared) unit(d *difference) float64 {
	if x.ratio == nil {
		return 1
	}
	return math.Abs(*x.ratio / d.level.mean)
}

// relative returns the difference relative to the absolute value of the level.
func (d *difference) relative() (estimate, low, high float64) {
	l := d.level
	if l.mean < 0 {
		l = levelOf{-l.mean, -l.high, -l.low}
	}
	estimate, low, high = d.Mean/l.mean, math.Inf(-1), math.Inf(1)
	if !(l.low > 0) {
		return estimate, low, high
	}
	low, high = min(d.From/l.low, d.From/l.high), max(d.To/l.low, d.To/l.high)
	if d.low >= 0 && d.level.mean > 0 {
		low = max(low, float64(d.share*(d.low/l.high))-d.part)
		high = min(high, float64(d.share*(d.high/l.low))-d.part)
	}
	return estimate, low, high
}
