package definition

import (
	"fmt"
	"slices"
	"time"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/policy"
)

// Window returns how long after a decision a unit's value of a metric counts: the metric's own
// window, or else the attribution window. That of a ratio is that of its parts. O(1), and
// O(metrics) for a ratio.
func (d *Definition) Window(metric int) time.Duration {
	m := &d.Metrics[metric]
	if m.Kind == "ratio" {
		m = d.Metric(m.Numerator)
	}
	if m.Window != nil {
		return time.Duration(*m.Window)
	}
	return time.Duration(d.AttributionWindow)
}

// Windows returns the shortest and the longest window of a metric. Exposures count within the
// shortest one, so that every metric is of the same units; a unit waits for the longest one.
// O(metrics).
func (d *Definition) Windows() (shortest, longest time.Duration) {
	shortest = -1
	for i := range d.Metrics {
		if m := &d.Metrics[i]; m.Kind != "ratio" { // its window is that of its parts
			w := d.Window(i)
			if shortest < 0 || w < shortest {
				shortest = w
			}
			longest = max(longest, w)
		}
	}
	return shortest, longest
}

// LearnedMetrics returns the metrics that a policy needs of a version before it learns from it,
// ascending: those of the goals and, unless it is a bandit, of the guardrails; all metrics without
// an objective.
func (d *Definition) LearnedMetrics() []int {
	var out []int
	switch {
	case d.Objective == nil:
		out = d.MetricIndices()
	case d.Bandit() || d.Contextual():
		for _, g := range d.Objective.Goals {
			out = append(out, d.MetricIndex(g.Metric))
		}
		slices.Sort(out)
	default:
		out = d.JudgedMetrics()
	}
	return out
}

// checkWindows checks the windows of metrics.
func (d *Definition) checkWindows() error {
	for i := range d.Metrics {
		m, place := &d.Metrics[i], fmt.Sprintf("metrics[%d]", i)
		if m.Window == nil {
			continue
		}
		switch w := *m.Window; {
		case m.Kind == "ratio":
			return noregret.BadInputf(place+".window", "%q is a ratio, whose window is that of its parts: give both "+
				"parts the same window", m.Name)
		case w < policy.Duration(time.Millisecond) || w > mostWindow:
			return noregret.BadInputf(place+".window", "%v: want 1ms to 8784h", w)
		case d.Privacy != nil && w != d.AttributionWindow:
			return noregret.BadInputf(place+".window", "%v, where the attribution window is %v: a private experiment "+
				"releases the sums of all metrics of a version at once, want the same window for all",
				w, d.AttributionWindow)
		}
	}
	for _, r := range d.Ratios() {
		above, below := d.Window(r.Numerator), d.Window(r.Denominator)
		if above != below {
			return noregret.BadInputf(fmt.Sprintf("metrics[%d]", r.Metric), "the ratio %q has parts of two windows, "+
				"%v for %q and %v for %q, so that it would be of different times of a unit: want the same window for "+
				"both",
				d.Metrics[r.Metric].Name, policy.Duration(above), d.Metrics[r.Numerator].Name, policy.Duration(below),
				d.Metrics[r.Denominator].Name)
		}
	}
	return nil
}

// mostWindow is the longest window, and the longest round.
const mostWindow = policy.Duration(366 * 24 * time.Hour)
