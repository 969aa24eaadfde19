package definition

import (
	"maps"
	"math"
	"slices"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/named"
	"github.com/noregret/noregret/internal/portable"
)

// Plan has the expectations of an experiment before it runs. It has no effect on the experiment;
// package plan computes from it how long the experiment takes.
type Plan struct {
	// UnitsPerDay is the number of units that are exposed on a day.
	UnitsPerDay float64 `json:"units_per_day" minimum:"1" maximum:"1e12"`
	// Expect describes one unit's value of each metric under the control arm, ratios excepted.
	Expect map[string]Expectation `json:"expect"`
	// Improvement is the relative improvement of the goals by the best arm, above 0.
	Improvement float64 `json:"improvement" exclusiveMinimum:"0" maximum:"1000"`
	// Days are the durations for which the smallest detectable effect is computed.
	Days []float64 `json:"days" minItems:"1" maxItems:"100" exclusiveMinimum:"0" maximum:"3660"`
}

// Expectation describes the distribution of one unit's value. The standard deviation follows from
// SD, from Rate and Sigma, or, for a count, from the mean: that of a binomial variable on the
// range, which on [0, 1] is a Bernoulli variable, and without a range that of a Poisson variable.
type Expectation struct {
	// Mean is the mean over units, including those without a value if the metric has a default.
	Mean float64 `json:"mean" minimum:"-1e15" maximum:"1e15"`
	// SD is the standard deviation of one unit's value.
	SD *float64 `json:"sd,omitempty" exclusiveMinimum:"0" maximum:"1e15"`
	// Rate is the share of the units with a value other than 0, and Sigma the standard deviation of
	// the logarithm of such a value, which is log-normal: revenue.
	Rate  *float64 `json:"rate,omitempty" exclusiveMinimum:"0" maximum:"1"`
	Sigma *float64 `json:"sigma,omitempty" exclusiveMinimum:"0" maximum:"5"`
}

// mostUnits is the largest number of units on a day.
const mostUnits = 1e12

// planPresets are the values of the fields of a plan that may be left out.
func planPresets() Plan { return Plan{Improvement: 0.05, Days: []float64{7, 14, 28}} }

// Deviation returns the standard deviation of one unit's value of a metric.
func (e *Expectation) Deviation(m *Metric) float64 {
	switch {
	case e.SD != nil:
		return *e.SD
	case e.Rate != nil: // E x² = mean²·e^σ²/rate
		return e.Mean * math.Sqrt(portable.Exp(float64(*e.Sigma**e.Sigma))/(*e.Rate)-1)
	case m.Range != nil || m.Cap != nil:
		low, high := m.ends()
		return math.Sqrt(max(float64((e.Mean-low)*(high-e.Mean))/(high-low), 0))
	}
	return math.Sqrt(e.Mean)
}

// ends returns the least and the greatest value of one observation as it counts: of counts, whole
// numbers.
func (m *Metric) ends() (low, high float64) {
	low, high = m.Counted()
	if m.Kind == "count" {
		low, high = math.Ceil(low), math.Floor(high)
	}
	return low, high
}

// checkDeviation checks that some values of the metric have the mean and the standard deviation
// (Bhatia and Davis 2000), which of whole numbers is not too small either.
func (m *Metric) checkDeviation(place string, e *Expectation) error {
	low, high := m.ends()
	if most := math.Sqrt(float64((e.Mean - low) * (high - e.Mean))); *e.SD > float64(most*(1+1e-9)) {
		return noregret.BadInputf(place+".sd", "%v: values in [%v, %v] with the mean %v have at most %v", *e.SD, low,
			high, e.Mean, most)
	}
	part := e.Mean - math.Floor(e.Mean)
	if least := math.Sqrt(float64(part * (1 - part))); m.Kind == "count" && *e.SD < float64(least*(1-1e-9)) {
		return noregret.BadInputf(place+".sd", "%v: whole numbers with the mean %v have at least %v", *e.SD, e.Mean,
			least)
	}
	return nil
}

// checkPlan validates the plan.
func (d *Definition) checkPlan() error {
	p := d.Plan
	if p == nil {
		return nil
	}
	switch {
	case !(p.UnitsPerDay >= 1 && p.UnitsPerDay <= mostUnits):
		return noregret.BadInputf("plan.units_per_day", "%v: want 1 to %v", p.UnitsPerDay, mostUnits)
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
	for _, r := range d.Ratios() {
		above, below := d.Metrics[r.Numerator].Name, d.Metrics[r.Denominator].Name
		if !within(p.Expect[above].Mean / p.Expect[below].Mean) {
			return noregret.BadInputf("plan.expect."+below+".mean", "%v: the ratio %q of the means is not a number of "+
				"size at most %v", p.Expect[below].Mean, d.Metrics[r.Metric].Name, largest)
		}
	}
	return nil
}

func (d *Definition) checkExpectation(place, name string, e *Expectation) error {
	m := d.Metric(name)
	switch {
	case m == nil:
		return noregret.BadInputf(place, "%q is not a metric: %swant %s", name, named.DidYouMean(name, metricList(d)),
			d.metricNames())
	case m.Kind == "ratio":
		return noregret.BadInputf(place, "%q is a ratio: its expectation follows from those of its parts", name)
	case !within(e.Mean):
		return noregret.BadInputf(place+".mean", "%v: want a number of size at most %v", e.Mean, largest)
	}
	low, high := m.ends()
	if e.Rate != nil { // the mean is that before the cap
		low, high = m.Interval()
	}
	if e.Mean < low || e.Mean > high {
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
	case e.Rate != nil && low > 0:
		return noregret.BadInputf(place, "a share of the units has the value 0, which is outside the metric's range "+
			"[%v, %v]: want sd", low, high)
	case e.SD == nil && e.Rate == nil && m.Kind != "count":
		return noregret.BadInputf(place, "%q is of kind %s: want sd, or rate and sigma", name, m.Kind)
	case !(e.Deviation(m) > 0):
		return noregret.BadInputf(place+".mean", "%v: every unit would have the same value", e.Mean)
	case e.SD != nil:
		return m.checkDeviation(place, e)
	}
	return nil
}
