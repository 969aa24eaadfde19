package plan

import (
	"math"
	"time"

	"github.com/noregret/noregret/confseq"
	"github.com/noregret/noregret/experiment/definition"
	"github.com/noregret/noregret/internal/portable"
	"github.com/noregret/noregret/internal/stat"
)

// closedForm computes the plan in closed form, from confidence sequences at the expected sums.
type closedForm struct {
	d      *definition.Definition
	units  float64 // a day
	shares Shares
	arms   int // beside the control
}

// servedLevel is the part of a guardrail's alpha that the experiment gives to the sequence of the
// served mixture.
const servedLevel = 0.8

// unitsPerDay is the number of units a day that are learned from.
func unitsPerDay(d *definition.Definition) float64 { return d.Plan.UnitsPerDay * (1 - d.HoldBack) }

// group returns n units of a metric whose mean is (1 + change) times the expected one.
func (c *closedForm) group(metric int, n, change float64) confseq.Group {
	m := mean(c.d, metric)
	v := variance(c.d, metric)
	g := confseq.Group{N: n, Mean: m + float64(change*math.Abs(m)), Per: 1, Square: float64(n * v)}
	g.Farthest = c.farthest(metric, n)
	if r := c.d.RatioIndex(metric); r >= 0 {
		g.Per = mean(c.d, c.d.Ratios()[r].Denominator)
		g.Mean *= g.Per
	}
	return g
}

// farthest returns the typical largest deviation of n values from their mean: 3 standard
// deviations, or of log-normal values the one that a single value exceeds on average.
func (c *closedForm) farthest(metric int, n float64) float64 {
	e := c.d.Plan.Expect[c.d.Metrics[metric].Name]
	if e.Rate == nil || c.d.RatioIndex(metric) >= 0 {
		return float64(3 * math.Sqrt(variance(c.d, metric)))
	}
	low, high := 0.0, 10.0
	for range 40 {
		if z := (low + high) / 2; float64(float64(n**e.Rate)*stat.NormalBelow(-z)) > 1 {
			low = z
		} else {
			high = z
		}
	}
	_, most := c.d.Metrics[metric].Counted()
	return min(float64(e.Mean / *e.Rate * portable.Exp(float64(*e.Sigma*high)-float64(0.5*float64(*e.Sigma**e.Sigma)))),
		most)
}

// width returns the width of the range of one observation, +Inf without one.
func (c *closedForm) width(metric int) float64 {
	if m := &c.d.Metrics[metric]; m.Range != nil || m.Cap != nil {
		low, high := m.Counted()
		return high - low
	}
	return math.Inf(1)
}

// interval returns the confidence interval, with level alpha at each end, for the relative change
// of one arm, or of everything served, after some days in which they differ from the control by the
// relative change.
func (c *closedForm) interval(metric int, days, change, against, alpha float64, all bool) (low, high float64) {
	var x confseq.Contrast
	control := c.group(metric, float64(c.units*days)*c.shares.Control, 0)
	if all {
		x.AddServed(c.group(metric, float64(c.units*days)*(1-c.shares.Control), change/(1-c.shares.Control)), control)
	} else {
		x.AddArm(c.group(metric, float64(c.units*days)*c.shares.Arm, change), control, float64(c.units*days))
	}
	tight := against // the sequence is tuned to the smallest effect of interest
	if tight == 0 {
		tight = change
	}
	against, tight = c.signed(metric, against), c.signed(metric, tight)
	return x.Interval(against, alpha, confseq.ContrastOptions{
		Width: c.width(metric), Tight: max(x.Tight(tight), math.SmallestNonzeroFloat64), Inflation: 1,
	})
}

// signed returns a change, which is relative to the size of the control's mean, as a factor of that
// mean less 1, which may be negative.
func (c *closedForm) signed(metric int, change float64) float64 {
	if mean(c.d, metric) < 0 {
		return -change
	}
	return change
}

// first returns the least number of days at which the condition holds, or nil if that is beyond ten
// years. A condition that holds must hold on all later days.
func first(holds func(days float64) bool) *float64 {
	high := 1.0 / 64
	for !holds(high) {
		if high *= 2; high > 2*longest {
			return nil
		}
	}
	low := high / 2
	if high == 1.0/64 {
		low = 0
	}
	for range 40 {
		if mid := (low + high) / 2; holds(mid) {
			high = mid
		} else {
			low = mid
		}
	}
	return some(high)
}

// guardrail computes the times of one guardrail. Along is whether that of a change is to be found
// along the course of the experiment.
func (c *closedForm) guardrail(g *definition.Guardrail) (out Guardrail, along bool) {
	kind, limit, expected, broken := limitOf(c.d, g)
	out = Guardrail{Metric: g.Metric, Kind: kind, Limit: limit, Expected: expected, Broken: broken}
	_, up, relative, _ := g.Limit()
	metric := c.d.MetricIndex(g.Metric)
	sign := 1.0
	if !up {
		sign = -1
	}
	if !(float64(sign*(expected-limit)) > 0) { // the control breaks it
		return out, false
	}
	alpha := float64(servedLevel * g.Alpha)
	slack := func(days, value float64) (low, high float64) {
		if relative {
			return c.interval(metric, days, value, limit, alpha, true)
		}
		return c.level(metric, days, value, limit, float64(2*alpha))
	}
	inside := func(days, value float64) (held, breached bool) {
		low, high := slack(days, value)
		if up {
			return low >= 0, high < 0
		}
		return high <= 0, low > 0
	}
	if out.Prevented = guarded(c.d, g); relative && (out.Prevented || len(c.d.Ramp) > 0) {
		along = true
	} else {
		out.Held.ClosedForm = c.after(metric, first(func(days float64) bool {
			held, _ := inside(days, expected)
			return held
		}))
	}
	if !out.Prevented {
		out.Breached.ClosedForm = c.after(metric, first(func(days float64) bool {
			_, breached := inside(days, broken)
			return breached
		}))
	}
	return out, along
}

// after adds the window for which a metric with a default must wait.
func (c *closedForm) after(metric int, days *float64) *float64 {
	if days == nil || !c.waits(metric) {
		return days
	}
	return some(*days + c.lag(metric))
}

// lag returns the window of a metric, in days.
func (c *closedForm) lag(metric int) float64 {
	return float64(c.d.Window(metric)) / float64(24*time.Hour)
}

// waits reports whether the units of a metric count only after their window has closed.
func (c *closedForm) waits(metric int) bool {
	if r := c.d.RatioIndex(metric); r >= 0 {
		parts := c.d.Ratios()[r]
		return c.waits(parts.Numerator) || c.waits(parts.Denominator)
	}
	return c.d.Metrics[metric].Default != nil
}

// level returns the confidence interval for the mean of everything served minus the limit, if the
// mean has the given value.
func (c *closedForm) level(metric int, days, value, limit, alpha float64) (low, high float64) {
	return c.levelOf(metric, max(int64(float64(c.units*days)), 0), value, limit, alpha)
}

// levelOf is level for a number of units.
func (c *closedForm) levelOf(metric int, n int64, value, limit, alpha float64) (low, high float64) {
	v := variance(c.d, metric)
	least, most := math.Inf(-1), math.Inf(1)
	if r := c.d.RatioIndex(metric); r >= 0 { // numerator − limit·denominator
		value = float64((value - limit) * mean(c.d, c.d.Ratios()[r].Denominator))
		limit = 0
	} else if m := &c.d.Metrics[metric]; m.Range != nil || m.Cap != nil {
		least, most = m.Counted()
	} else if c.d.Metrics[metric].Kind == "count" {
		least = 0
	}
	if n < 2 {
		return least - limit, most - limit
	}
	sd := math.Sqrt(v)
	s := confseq.Sequence{
		N: n, Mean: value, M2: float64(float64(n-1) * v), Low: max(value-float64(3*sd), least),
		High: min(value+float64(3*sd), most),
	}
	low, high = s.Interval(alpha, least, most)
	return low - limit, high - limit
}

// effect computes the smallest effects in one metric.
func (c *closedForm) effect(metric int) Effect {
	out := Effect{
		Metric: c.d.Metrics[metric].Name, Mean: mean(c.d, metric), Deviation: math.Sqrt(variance(c.d, metric)),
	}
	for _, days := range c.d.Plan.Days {
		out.Smallest = append(out.Smallest, c.smallest(metric, days))
	}
	return out
}

// smallest returns the smallest relative change of one arm that is distinguishable from none after
// some days, by the units that count by then; nil if no unit does or if it is above 1000 %.
func (c *closedForm) smallest(metric int, days float64) *float64 {
	const alpha = 0.05 / 2
	if c.waits(metric) {
		days -= c.lag(metric)
	}
	if !(days > 0) {
		return nil
	}
	seen := func(change float64) bool {
		low, _ := c.interval(metric, days, change, 0, alpha, false)
		return low > 0
	}
	low, high := 0.0, 1.0/1024
	for ; !seen(high); high *= 2 {
		if low = high; high > 10 {
			return nil
		}
	}
	for range 40 {
		if mid := (low + high) / 2; seen(mid) {
			high = mid
		} else {
			low = mid
		}
	}
	return &high
}
