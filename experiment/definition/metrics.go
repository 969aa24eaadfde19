package definition

import (
	"math"
	"slices"
	"strings"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/api"
	"github.com/noregret/noregret/confseq"
)

// Ratio is a ratio metric, by the indices of the metric and of its parts.
type Ratio struct{ Metric, Numerator, Denominator int }

// Ratios lists the ratio metrics in their order.
func (d *Definition) Ratios() []Ratio {
	var out []Ratio
	for i := range d.Metrics {
		if m := &d.Metrics[i]; m.Kind == "ratio" {
			out = append(out, Ratio{i, d.MetricIndex(m.Numerator), d.MetricIndex(m.Denominator)})
		}
	}
	return out
}

// RatioIndex returns the index of a metric among the ratios, or -1.
func (d *Definition) RatioIndex(metric int) int {
	if d.Metrics[metric].Kind != "ratio" {
		return -1
	}
	for i, r := range d.Ratios() {
		if r.Metric == metric {
			return i
		}
	}
	return -1
}

// Reportable names the metrics that can be reported.
func (d *Definition) Reportable() string {
	var names []string
	for i := range d.Metrics {
		if d.Metrics[i].Kind != "ratio" {
			names = append(names, d.Metrics[i].Name)
		}
	}
	return strings.Join(names, ", ")
}

// FromSums is [confseq.FromSums] for the metric. It also returns an error for sums that
// observations of the metric's kind and range cannot have.
func (m *Metric) FromSums(p api.Sums) (confseq.Sequence, error) {
	s, err := confseq.FromSums(p.N, p.Sum, p.Squares)
	if err != nil || s.N == 0 {
		return s, err
	}
	low, high := m.Counted()
	if slack := float64(1e-9 * (high - low)); !(s.Mean >= low-slack && s.Mean <= high+slack) {
		return s, noregret.BadInputf("sum", "the mean is %v: want a number in [%v, %v]", s.Mean, low, high)
	}
	s.Mean = min(max(s.Mean, low), high)
	s.Low, s.High = max(s.Low, low), min(s.High, high)
	for _, end := range []*float64{p.Low, p.High} {
		if end != nil && !(*end >= low && *end <= high) {
			return s, noregret.BadInputf("sums", "the smallest or largest value is %v: want a number in [%v, %v]", *end,
				low, high)
		}
	}
	if p.Low != nil {
		s.Low = min(max(s.Low, *p.Low), s.Mean)
	}
	if p.High != nil {
		s.High = max(min(s.High, *p.High), s.Mean)
	}
	// Σ(x − low)(high − x) is at least 0 (Bhatia and Davis 2000).
	n := float64(p.N)
	if most := float64(float64(n*(high-s.Mean)) *
		(s.Mean - low)); s.M2 > float64(most*(1+1e-9))+float64(1e-9*p.Squares) {
		return s, noregret.BadInputf("squares", "%v for %d observations with sum %v: in [%v, %v] it is at most %v",
			p.Squares, p.N,
			p.Sum, low, high, most+float64(s.Mean*p.Sum))
	}
	if m.Kind == "count" && (p.Sum != math.Trunc(p.Sum) || p.Squares != math.Trunc(p.Squares) || p.Squares < p.Sum) {
		return s, noregret.BadInputf("sums", "%v and %v: counts are whole numbers, and their squares at least as large",
			p.Sum,
			p.Squares)
	}
	return s, nil
}

// largest is the greatest size of an observation, a limit, a weight or a parameter: sums of a
// billion units' squares and their products with weights stay far inside float64.
const largest = 1e15

func within(v float64) bool { return math.Abs(v) <= largest }

func isWeight(v float64) bool { return v >= 1/largest && v <= largest }

// Counted returns the interval of one observation after capping: the range, narrowed by the cap.
func (m *Metric) Counted() (low, high float64) {
	low, high = m.Interval()
	if m.Cap != nil {
		c := float64(*m.Cap)
		low, high = max(low, -c), min(high, c)
	}
	return low, high
}

// Count returns the observation as it counts: capped if the metric has a cap.
func (m *Metric) Count(v float64) float64 {
	low, high := m.Counted()
	return min(max(v, low), high)
}

// Interval returns the range of one observation as it is reported.
func (m *Metric) Interval() (low, high float64) {
	switch {
	case len(m.Range) == 2:
		return m.Range[0], m.Range[1]
	case m.Kind == "count":
		return 0, largest
	}
	return -largest, largest
}

// Metric returns the metric with the given name, or nil.
func (d *Definition) Metric(name string) *Metric {
	if i := d.MetricIndex(name); i >= 0 {
		return &d.Metrics[i]
	}
	return nil
}

// MetricIndex returns the index of the metric with the given name, or -1.
func (d *Definition) MetricIndex(name string) int {
	return slices.IndexFunc(d.Metrics, func(m Metric) bool { return m.Name == name })
}

// MetricIndices returns the indices of all metrics, ascending.
func (d *Definition) MetricIndices() []int {
	out := make([]int, len(d.Metrics))
	for m := range out {
		out[m] = m
	}
	return out
}

func (d *Definition) metricNames() string { return strings.Join(metricList(d), ", ") }

// metricList returns the names of the metrics.
func metricList(d *Definition) (names []string) {
	for _, m := range d.Metrics {
		names = append(names, m.Name)
	}
	return names
}
