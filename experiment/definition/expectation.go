package definition

import (
	"maps"
	"math"
	"slices"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/portable"
)

// Plan has the expectations of an experiment before it runs. It has no effect on the experiment;
// package plan computes from it how long the experiment takes.
type Plan struct {
	// UnitsPerDay is the number of units that are exposed on a day.
	UnitsPerDay float64 `json:"units_per_day"`
	// Expect describes one unit's value of each metric under the control arm, ratios excepted.
	Expect map[string]Expectation `json:"expect"`
	// Improvement is the relative improvement of the goals by the best arm, above 0.
	Improvement float64 `json:"improvement"`
	// Days are the durations for which the smallest detectable effect is computed.
	Days []float64 `json:"days"`
}

// Expectation describes the distribution of one unit's value. The standard deviation follows from
// SD, from Rate and Sigma, or, for a count, from the mean: that of a Bernoulli variable if the
// range is [0, 1], and of a Poisson variable otherwise.
type Expectation struct {
	// Mean is the mean over units, including those without a value if the metric has a default.
	Mean float64 `json:"mean"`
	// SD is the standard deviation of one unit's value.
	SD *float64 `json:"sd,omitempty"`
	// Rate is the share of the units with a value other than 0, and Sigma the standard deviation of
	// the logarithm of such a value, which is log-normal: revenue.
	Rate  *float64 `json:"rate,omitempty"`
	Sigma *float64 `json:"sigma,omitempty"`
}

// planPresets are the values of the fields of a plan that may be left out.
func planPresets() Plan { return Plan{Improvement: 0.05, Days: []float64{7, 14, 28}} }

// Deviation returns the standard deviation of one unit's value of a metric.
func (e *Expectation) Deviation(m *Metric) float64 {
	switch {
	case e.SD != nil:
		return *e.SD
	case e.Rate != nil: // E x² = mean²·e^σ²/rate
		return e.Mean * math.Sqrt(portable.Exp(float64(*e.Sigma**e.Sigma))/(*e.Rate)-1)
	case len(m.Range) == 2 && m.Range[1] == 1:
		return math.Sqrt(float64(e.Mean * (1 - e.Mean)))
	}
	return math.Sqrt(e.Mean)
}

// checkPlan validates the plan.
func (d *Definition) checkPlan() error {
	p := d.Plan
	if p == nil {
		return nil
	}
	switch {
	case !(p.UnitsPerDay >= 1 && p.UnitsPerDay <= largest):
		return noregret.BadInputf("plan.units_per_day", "%v: want 1 to %v", p.UnitsPerDay, largest)
	case !(p.Improvement > 0 && p.Improvement <= 1000):
		return noregret.BadInputf("plan.improvement", "%v: want a relative improvement above 0 and at most 1000",
			p.Improvement)
	case len(p.Days) == 0 || len(p.Days) > 100:
		return noregret.BadInputf("plan.days", "%d durations: want 1 to 100", len(p.Days))
	}
	for _, v := range p.Days {
		if !(v > 0 && v <= 3660) {
			return noregret.BadInputf("plan.days", "%v: want days above 0 and at most 3660", v)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(p.Expect)) {
		e := p.Expect[name]
		if err := d.checkExpectation("plan.expect."+name, name, &e); err != nil {
			return err
		}
	}
	for i := range d.Metrics {
		if m := &d.Metrics[i]; m.Kind != "ratio" {
			if _, ok := p.Expect[m.Name]; !ok {
				return noregret.BadInputf("plan.expect", "metric %q is missing: every reported metric is required",
					m.Name)
			}
		}
	}
	return nil
}

func (d *Definition) checkExpectation(place, name string, e *Expectation) error {
	m := d.Metric(name)
	switch {
	case m == nil:
		return noregret.BadInputf(place, "%q is not a metric: want %s", name, d.metricNames())
	case m.Kind == "ratio":
		return noregret.BadInputf(place, "%q is a ratio: its expectation follows from those of its parts", name)
	case !within(e.Mean):
		return noregret.BadInputf(place+".mean", "%v: want a number of size at most %v", e.Mean, largest)
	}
	if low, high := m.Interval(); e.Mean < low || e.Mean > high {
		return noregret.BadInputf(place+".mean", "%v: want a number in the metric's range [%v, %v]", e.Mean, low, high)
	}
	switch {
	case (e.Rate == nil) != (e.Sigma == nil):
		return noregret.BadInputf(place, "want rate and sigma together")
	case e.Rate != nil && e.SD != nil:
		return noregret.BadInputf(place, "want sd, or rate and sigma")
	case e.SD != nil && !(*e.SD > 0 && *e.SD <= largest):
		return noregret.BadInputf(place+".sd", "%v: want a standard deviation above 0 and at most %v", *e.SD, largest)
	case e.Rate != nil && !(*e.Rate > 0 && *e.Rate <= 1):
		return noregret.BadInputf(place+".rate", "%v: want a share above 0 and at most 1", *e.Rate)
	case e.Sigma != nil && !(*e.Sigma > 0 && *e.Sigma <= 5):
		return noregret.BadInputf(place+".sigma", "%v: want a number above 0 and at most 5", *e.Sigma)
	case e.Rate != nil && (m.Kind == "count" || !(e.Mean > 0)):
		return noregret.BadInputf(place, "rate and sigma describe a metric of kind mean with a mean above 0")
	case e.SD == nil && e.Rate == nil && m.Kind != "count":
		return noregret.BadInputf(place, "%q is of kind %s: want sd, or rate and sigma", name, m.Kind)
	case !(e.Deviation(m) > 0):
		return noregret.BadInputf(place+".mean", "%v: every unit would have the same value", e.Mean)
	}
	return nil
}
