package definition

import (
	"math"
	"slices"
	"time"

	"github.com/noregret/noregret"
)

// bounded reports whether a metric has a range or a cap.
func (m *Metric) bounded() bool { return m.Range != nil || m.Cap != nil }

// Lowest returns the least value that one observation of a metric can count as, −Inf for a mean
// without a range or a cap.
func (d *Definition) Lowest(metric int) float64 {
	m := &d.Metrics[metric]
	if low, _ := m.Counted(); m.bounded() || m.Kind == "count" {
		return low
	}
	return math.Inf(-1)
}

// Highest returns the greatest value that one observation of a metric can count as, +Inf for a
// metric without a range or a cap.
func (d *Definition) Highest(metric int) float64 {
	m := &d.Metrics[metric]
	if _, high := m.Counted(); m.bounded() {
		return high
	}
	return math.Inf(1)
}

// Width returns the width of the interval of one observation of a metric, +Inf for an unbounded
// metric and for ratios.
func (d *Definition) Width(metric int) float64 {
	if d.RatioIndex(metric) >= 0 {
		return math.Inf(1)
	}
	return d.Highest(metric) - d.Lowest(metric)
}

// Event is the size of an event of a metric: the width of the range, of a ratio that of the part
// above the line, and 1 of a count; 0 if it is unknown.
func (d *Definition) Event(metric int) float64 {
	if r := d.RatioIndex(metric); r >= 0 {
		metric = d.Ratios()[r].Numerator
	}
	if w := d.Width(metric); !math.IsInf(w, 1) {
		return w
	}
	if d.Metrics[metric].Kind == "count" {
		return 1
	}
	return 0
}

// Span returns the interval of one observation by which a metric is held to a limit: of the metric
// itself, or, for a ratio of x to y, of x − limit·y. Its ends are infinite where the metric, or a
// part of the ratio, has none.
func (d *Definition) Span(metric int, limit float64) (least, most float64) {
	r := d.RatioIndex(metric)
	if r < 0 {
		return d.Lowest(metric), d.Highest(metric)
	}
	parts := d.Ratios()[r]
	ys := [2]float64{-float64(limit * d.Lowest(parts.Denominator)), -float64(limit * d.Highest(parts.Denominator))}
	least, most = d.Lowest(parts.Numerator)+min(ys[0], ys[1]), d.Highest(parts.Numerator)+max(ys[0], ys[1])
	if math.IsNaN(least) || math.IsNaN(most) { // 0·∞: a limit of 0
		return d.Lowest(parts.Numerator), d.Highest(parts.Numerator)
	}
	return least, most
}

// JudgedMetrics returns the indices of the metrics that a goal or a guardrail has, ascending.
func (d *Definition) JudgedMetrics() []int {
	var out []int
	if d.Objective != nil {
		for _, g := range d.Objective.Goals {
			out = append(out, d.MetricIndex(g.Metric))
		}
	}
	for i := range d.Guardrails {
		out = append(out, d.MetricIndex(d.Guardrails[i].Metric))
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// ComparedMetrics returns the judged metrics whose arms are compared with the control's within
// versions: none without a control, or where the policy gives the arms to different units.
func (d *Definition) ComparedMetrics() []int {
	if d.Control == nil || d.Contextual() {
		return nil
	}
	return d.JudgedMetrics()
}

// CheckValue returns an error unless a value of a metric, by its name, can be reported for a unit.
func (d *Definition) CheckValue(name string, v float64) error {
	m := d.Metric(name)
	if m == nil {
		return noregret.BadInputf("metrics."+name, "not a metric: want one of %s", d.Reportable())
	}
	low, high := m.Interval()
	switch {
	case m.Kind == "ratio":
		return noregret.BadInputf("metrics."+name, "a ratio: report its parts %s and %s", m.Numerator, m.Denominator)
	case !(v >= low && v <= high):
		return noregret.BadInputf("metrics."+name, "%v: want a number in [%v, %v]", v, low, high)
	case m.Kind == "count" && v != math.Trunc(v):
		return noregret.BadInputf("metrics."+name, "%v: a count is a whole number", v)
	}
	return nil
}

// Grace returns how long after a version's end units may still be decided under it, by the service
// while the closing event becomes durable or by a copy of the policy. It is a 20th of the
// attribution window, at least five seconds (or the window, if shorter) to allow for slow disks and
// networks, and at most a minute.
func (d *Definition) Grace() time.Duration {
	w := time.Duration(d.AttributionWindow)
	return min(max(w/20, min(w, 5*time.Second)), time.Minute)
}
