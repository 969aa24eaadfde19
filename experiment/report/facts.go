package report

import (
	"github.com/noregret/noregret/api"
	"github.com/noregret/noregret/experiment/compare"
	"github.com/noregret/noregret/experiment/definition"
	"github.com/noregret/noregret/experiment/guard"
	"github.com/noregret/noregret/internal/vec"
	"github.com/noregret/noregret/pasto"
)

// Facts are what is reported from. Nothing of it is changed.
type Facts struct {
	// Evidence has the sums of all arms and their comparisons with the control.
	Evidence *guard.Evidence
	// States are those of the guardrails.
	States *guard.States
	// Goals is the objective, and Priced the same with prices for hard guardrails; nil without one.
	Goals, Priced *pasto.Goals
	// Arms are all arms, retired ones included, by their indices.
	Arms []Arm
	// Store has the closed versions that are learned from, nil where arms do not compare.
	Store *compare.Store
	// Tight says where the sequences of lifts are tightest.
	Tight Tight
	// Mixture is the one served now, by arm.
	Mixture []float64
}

// Arm is an arm of an experiment.
type Arm struct {
	Name   string
	Active bool
}

func (x *Facts) definition() *definition.Definition { return x.Evidence.Definition }

// control returns the sums of the control arm, nil without one.
func (x *Facts) control() *compare.Stats {
	if x.Evidence.Control < 0 {
		return nil
	}
	return x.Evidence.Stats(x.Evidence.Control)
}

// armAlpha is the probability that an interval of an arm's metric ever misses.
const armAlpha = 0.05

// Means returns the report of the units of an arm, given their sums: their number and the mean of
// each metric with its confidence sequence. That of a private experiment has no intervals.
func Means(d *definition.Definition, a *compare.Stats, inflation compare.Inflation) api.ArmReport {
	r := api.ArmReport{N: a.Units, Metrics: map[string]api.MetricReport{}}
	for i := range d.Metrics {
		var m api.MetricReport
		if j := d.RatioIndex(i); j >= 0 {
			parts := d.Ratios()[j]
			p := compare.DeflatePair(a.Pairs[j], inflation.Of(d, i))
			ratio, low, high, ok := p.IntervalWithin(armAlpha,
				[2]float64{d.Lowest(parts.Numerator), d.Highest(parts.Numerator)},
				[2]float64{d.Lowest(parts.Denominator), d.Highest(parts.Denominator)})
			if m.N = a.Pairs[j].N; ok {
				m.Mean, m.Low, m.High = known(ratio), known(low), known(high)
			}
		} else if s := &a.Metrics[i]; s.N > 0 && d.Privacy != nil {
			m = api.MetricReport{Mean: known(s.Mean), N: s.N}
		} else if s.N > 0 {
			q := compare.Deflate(*s, inflation.Of(d, i))
			low, high := q.Interval(armAlpha, d.Lowest(i), d.Highest(i))
			m = api.MetricReport{Mean: known(s.Mean), Low: known(low), High: known(high), N: s.N}
		}
		r.Metrics[d.Metrics[i].Name] = m
	}
	return r
}

// known returns a pointer to v, or nil if v is not finite.
func known(v float64) *float64 {
	if !vec.IsFinite(v) {
		return nil
	}
	return &v
}
