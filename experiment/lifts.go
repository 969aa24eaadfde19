package experiment

import (
	"math"
	"slices"

	"github.com/noregret/noregret/confseq"
	"github.com/noregret/noregret/experiment/compare"
	"github.com/noregret/noregret/experiment/definition"
	"github.com/noregret/noregret/internal/vec"
)

// lifts says where the confidence sequences of the report's comparisons with the control arm are
// tightest, for each metric of a goal or of a guardrail. Nothing but reports depends on it, so a
// digest leaves it out.
type lifts struct {
	Lifts []lift `json:"lifts,omitempty"`
}

// lift says where the sequences of a metric are tightest.
type lift struct {
	Metric int `json:"metric"`
	// Tight is the sum of squares at which a sequence without a range is tightest, by arm;
	// TightServed is the same for what was served. They are 0 until there is enough data to fix
	// them.
	Tight       f64s    `json:"tight"`
	TightServed float64 `json:"tight_served"`
}

func (x *lifts) copy() lifts {
	out := slices.Clone(x.Lifts)
	for i := range out {
		out[i].Tight = slices.Clone(out[i].Tight)
	}
	return lifts{out}
}

// watch adds an entry for each metric of a goal or a guardrail if there is a control arm. It keeps
// the entries that exist.
func (x *lifts) watch(d *definition.Definition) {
	var out []lift
	for _, m := range d.ComparedMetrics() {
		l := lift{Metric: m}
		if i := x.of(m); i >= 0 {
			l = x.Lifts[i]
		}
		out = append(out, l)
	}
	x.Lifts = out
}

// watches reports whether the lifts are of the definition's goals and guardrails.
func (x *lifts) watches(d *definition.Definition) bool {
	return slices.EqualFunc(x.Lifts, d.ComparedMetrics(), func(l lift, m int) bool { return l.Metric == m })
}

// of returns the index of a metric, or -1.
func (x *lifts) of(metric int) int {
	return slices.IndexFunc(x.Lifts, func(l lift) bool { return l.Metric == metric })
}

// tighten fixes where sequences are tightest as soon as there is enough data, by all versions so
// far.
func (x *lifts) tighten(in *guardInput) {
	for i := range x.Lifts {
		l := &x.Lifts[i]
		if len(l.Tight) < len(in.Arms) || l.TightServed == 0 || slices.Contains(l.Tight, 0) {
			l.tighten(in.compared(l.Metric))
		}
	}
}

// tighten fixes where sequences with enough data are tightest.
func (l *lift) tighten(of *compare.Sequence) {
	for len(l.Tight) < len(of.Arms) {
		l.Tight = append(l.Tight, 0)
	}
	for k := range of.Arms {
		if l.Tight[k] == 0 {
			l.Tight[k] = liftTight(&of.Arms[k])
		}
	}
	if l.TightServed == 0 {
		l.TightServed = liftTight(&of.Served)
	}
}

// A sequence is tightest when a lift of liftSought is about to be detected, but at no less than the
// current sum of squares and at no more than liftLatest times it. It is fixed after liftUnits
// units.
const (
	liftSought = 0.05
	liftLatest = 100
	liftUnits  = 200
)

// liftTight returns the sum of squares at which a contrast's sequence is tightest, 0 if there is
// too little data.
func liftTight(c *confseq.Contrast) float64 {
	v, gap := c.Own+c.Zero, float64(liftSought*c.Level)
	if c.Units < liftUnits || !(v > 0) {
		return 0
	}
	if wanted := float64(9*v) * (v / float64(gap*gap)); wanted < liftLatest*v {
		return max(wanted, v)
	}
	return liftLatest * v
}

// liftInput is the input of the report's comparisons.
type liftInput struct {
	*guardInput
	lifts
	kept []bool // the arms to compare, nil for all
}

// lifter has the methods of an experiment that compare its arms.
type lifter struct{ *experimentState }

// input returns the comparisons of all versions, including the open ones.
func (x lifter) input() *liftInput {
	return &liftInput{guardInput: x.guardInput(false), lifts: x.lifts}
}

// compared compares a metric of all arms, and of what was served, with the control's.
type compared struct {
	control int
	arms    []armSlack  // the differences
	levels  []levelOf   // the control's means in the arms' versions
	served  servedSlack // the difference of what was served
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
func (in *liftInput) compare(l *lift, alpha float64) *compared {
	metric, s := l.Metric, in.compared(l.Metric)
	o := confseq.ContrastOptions{Width: in.def.Width(metric), Inflation: in.inflated(metric)}
	of := func(c *confseq.Contrast, tight, alpha float64) (armSlack, levelOf) {
		o.Tight = tight
		from, to := c.Interval(0, float64((1-liftLevel)*alpha), o)
		// The level alone is the contrast of a mean that is always 0 with −1 times the control's.
		alone := confseq.Contrast{
			Units: c.Units, Weight: c.Weight, Level: c.Level, Change: c.Change, ChangeMost: c.ChangeMost,
		}
		half := o
		half.Width /= 2 // without an arm a term has only half of the span
		low, high := alone.Interval(-1, float64(liftLevel*alpha), half)
		return armSlack{mean: c.Mean(0), from: from, to: to, level: alone.Mean(-1)}, levelOf{alone.Mean(-1), low, high}
	}
	x := &compared{control: in.Control, width: o.Width, low: math.Inf(-1), high: inf()}
	if vec.IsFinite(o.Width) {
		x.low, x.high = in.def.Lowest(metric), in.def.Highest(metric)
	}
	side := alpha / 4
	served, level := of(&s.Served, l.TightServed, side)
	x.served, x.level = servedSlack{served.mean, served.from, served.to, level.mean}, level
	total := 0.0
	for k := range s.Arms {
		total += s.Arms[k].Weight
	}
	for k := range in.Arms {
		a, level := armSlack{mean: math.NaN(), from: -x.width, to: x.width}, levelOf{math.NaN(), math.Inf(-1), inf()}
		if k < len(s.Arms) && s.Arms[k].Weight > 0 {
			tight := 0.0
			if k < len(l.Tight) {
				tight = l.Tight[k]
			}
			a, level = of(&s.Arms[k], tight, in.part(side, k))
			a.weight = s.Arms[k].Weight / total
		}
		if k == in.Control { // the control does not differ from itself
			a.mean, a.from, a.to = 0, 0, 0
		}
		x.arms, x.levels = append(x.arms, a), append(x.levels, level)
	}
	if r := in.def.RatioIndex(metric); r >= 0 {
		ratio, ok := in.controlStats().Pairs[r].Ratio()
		if !ok {
			ratio = math.NaN()
		}
		x.ratio = &ratio
	}
	return x
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
	y.served.low, y.served.high = max(x.served.low, least), min(x.served.high, most)
	for k := range y.arms {
		y.levels[k] = x.inRange(x.levels[k])
		if a := &y.arms[k]; k != x.control {
			least, most := x.allowed(y.levels[k])
			a.from, a.to = max(a.from, least), min(a.to, most)
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
	armSlack
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
func (x *compared) between(a armSlack, level levelOf, allowed, share, part float64) difference {
	return difference{a, level, allowed, x.low, x.high, share, part}
}

func (x *compared) arm(k int) difference {
	least, most := x.allowed(x.levels[k])
	return x.between(x.arms[k], x.levels[k], most-least, 1, 1)
}

func (x *compared) soFar() difference {
	least, most := x.allowed(x.level)
	a := armSlack{mean: x.served.estimate, from: x.served.low, to: x.served.high}
	return x.between(a, x.level, most-least, 1, 1)
}

// mixture compares a mixture. Its level is the weighted mean of its arms' levels, with the relative
// precision of the level of what was served.
func (x *compared) mixture(p []float64) difference {
	b := mixedSlack(len(x.arms), x.control, p, func(k int) armSlack { return x.arms[k] }, x.served)
	level, scale := x.level, b.level/x.level.mean
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
	return x.between(armSlack{mean: b.estimate, from: b.low, to: b.high}, level, allowed, share, part)
}

// vague reports whether the bounds of a difference say next to nothing: they are no narrower than
// the metric's range implies, or they exclude neither half nor twice the control's value.
func (x *compared) vague(d *difference) bool {
	if d.allowed > 0 && d.to-d.from >= float64((1-1e-9)*d.allowed) {
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
	estimate, low, high = d.mean/l.mean, math.Inf(-1), inf()
	if !(l.low > 0) {
		return estimate, low, high
	}
	low, high = min(d.from/l.low, d.from/l.high), max(d.to/l.low, d.to/l.high)
	if d.low >= 0 && d.level.mean > 0 {
		low = max(low, float64(d.share*(d.low/l.high))-d.part)
		high = min(high, float64(d.share*(d.high/l.low))-d.part)
	}
	return estimate, low, high
}
