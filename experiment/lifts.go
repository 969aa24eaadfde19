package experiment

import (
	"math"
	"slices"

	"github.com/noregret/noregret/confseq"
	"github.com/noregret/noregret/experiment/definition"
)

// lifts holds the data of the report's comparisons with the control arm: the contrasts of the
// versions whose window has closed, for each metric of a goal or of a guardrail.
type lifts struct {
	Lifts []lift `json:"lifts,omitempty"`
}

// lift holds the contrasts of a metric.
type lift struct {
	contrasts
	// Tight is the sum of squares at which a sequence without a range is tightest, by arm;
	// TightServed is the same for what was served. They are 0 until there is enough data to fix
	// them.
	Tight       f64s    `json:"tight"`
	TightServed float64 `json:"tight_served"`
}

func (x *lifts) copy() lifts {
	out := slices.Clone(x.Lifts)
	for i := range out {
		out[i].Arms, out[i].Tight = slices.Clone(out[i].Arms), slices.Clone(out[i].Tight)
	}
	return lifts{out}
}

// watch adds an entry for each metric of a goal or a guardrail if there is a control arm. It keeps
// the entries that exist.
func (x *lifts) watch(d *definition.Definition) {
	var metrics []int
	if d.Control != nil && !d.Contextual() {
		for _, g := range liftedGoals(d) {
			metrics = append(metrics, d.MetricIndex(g.Metric))
		}
		for i := range d.Guardrails {
			metrics = append(metrics, d.MetricIndex(d.Guardrails[i].Metric))
		}
	}
	slices.Sort(metrics)
	var out []lift
	for _, m := range slices.Compact(metrics) {
		l := lift{contrasts: contrasts{Metric: m}}
		if i := x.of(m); i >= 0 {
			l = x.Lifts[i]
		}
		out = append(out, l)
	}
	x.Lifts = out
}

func liftedGoals(d *definition.Definition) []definition.Goal {
	if d.Objective == nil {
		return nil
	}
	return d.Objective.Goals
}

// of returns the index of a metric, or -1.
func (x *lifts) of(metric int) int {
	return slices.IndexFunc(x.Lifts, func(l lift) bool { return l.Metric == metric })
}

// closeVersion adds a version whose window has closed.
func (x *lifts) closeVersion(r *roster, c *cohort) {
	for i := range x.Lifts {
		of := r.contrast(c, x.Lifts[i].Metric)
		x.Lifts[i].merge(&of)
		x.Lifts[i].tighten(&x.Lifts[i].contrasts)
	}
}

// sealVersion fixes where sequences are tightest as soon as a version has enough data, without
// waiting for its window.
func (x *lifts) sealVersion(r *roster, c *cohort) {
	for i := range x.Lifts {
		l := &x.Lifts[i]
		if len(l.Tight) == len(r.Arms) && l.TightServed > 0 && !slices.Contains(l.Tight, 0) {
			continue
		}
		of := r.contrast(c, l.Metric)
		of.merge(&l.contrasts)
		l.tighten(&of)
	}
}

// tighten fixes where sequences with enough data are tightest.
func (l *lift) tighten(of *contrasts) {
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

// liftInput is the input of the comparisons: the contrasts of all versions.
type liftInput struct {
	*guardInput
	lifts
	kept []bool // the arms to compare, nil for all
}

// lifter has the methods of an experiment that compare its arms.
type lifter struct{ *experimentState }

// input returns the contrasts of all versions, including the open ones.
func (x lifter) input() *liftInput {
	in := &liftInput{
		guardInput: &guardInput{roster: &x.roster, inflation: x.guards.Returns.factor}, lifts: x.lifts.copy(),
	}
	for _, c := range x.joiner.cohorts {
		for i := range in.Lifts {
			of := x.roster.contrast(c, in.Lifts[i].Metric)
			in.Lifts[i].merge(&of)
		}
	}
	return in
}

// compared compares a metric of all arms, and of what was served, with the control's.
type compared struct {
	control int
	arms    []armSlack  // the differences
	levels  []levelOf   // the control's means in the arms' versions
	served  servedSlack // the difference of what was served
	level   levelOf
	width   float64  // of the range of an observation, +Inf without a range
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
	metric := l.Metric
	o := confseq.ContrastOptions{Width: in.width(metric), Inflation: in.inflated(metric)}
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
	x := &compared{control: in.Control, width: o.Width}
	side := alpha / 4
	served, level := of(&l.Served, l.TightServed, side)
	x.served, x.level = servedSlack{served.mean, served.from, served.to, level.mean}, level
	total := 0.0
	for k := range l.Arms {
		total += l.Arms[k].Weight
	}
	for k := range in.Arms {
		a, level := armSlack{mean: math.NaN(), from: -x.width, to: x.width}, levelOf{math.NaN(), math.Inf(-1), inf()}
		if k < len(l.Arms) && l.Arms[k].Weight > 0 {
			tight := 0.0
			if k < len(l.Tight) {
				tight = l.Tight[k]
			}
			a, level = of(&l.Arms[k], tight, in.part(side, k))
			a.weight = l.Arms[k].Weight / total
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

// difference is a comparison of an arm or of a mixture before it is reported.
type difference struct {
	armSlack
	level levelOf
}

func (x *compared) arm(k int) difference { return difference{x.arms[k], x.levels[k]} }

func (x *compared) soFar() difference {
	return difference{armSlack{mean: x.served.estimate, from: x.served.low, to: x.served.high}, x.level}
}

// mixture compares a mixture. Its level is the weighted mean of its arms' levels, with the relative
// precision of the level of what was served.
func (x *compared) mixture(p []float64) difference {
	b := mixedSlack(len(x.arms), x.control, p, func(k int) armSlack { return x.arms[k] }, x.served)
	level, scale := x.level, b.level/x.level.mean
	if scale > 0 {
		level = levelOf{scale * level.mean, scale * level.low, scale * level.high}
	}
	return difference{armSlack{mean: b.estimate, from: b.low, to: b.high}, level}
}

// vague reports whether the bounds of a difference are no narrower than the metric's range implies.
func (x *compared) vague(d *difference) bool { return d.to-d.from >= 2*x.width }

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
	return estimate, min(d.from/l.low, d.from/l.high), max(d.to/l.low, d.to/l.high)
}
