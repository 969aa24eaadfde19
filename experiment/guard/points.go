package guard

import (
	"math"
	"slices"

	"github.com/noregret/noregret/api"
	"github.com/noregret/noregret/experiment/definition"
	"github.com/noregret/noregret/internal/column"
)

// Points has what was known of the guardrails during a version, eight numbers for each: which
// guardrail it is, its limit, and the estimate and the interval of the version's mixture, and then
// those of all that was served so far, when the version ended. What is unknown is not finite.
type Points column.Float64s

// MarshalJSON implements [json.Marshaler].
func (p Points) MarshalJSON() ([]byte, error) { return column.Float64s(p).MarshalJSON() }

// UnmarshalJSON implements [json.Unmarshaler].
func (p *Points) UnmarshalJSON(data []byte) error { return (*column.Float64s)(p).UnmarshalJSON(data) }

// pointFields is the number of numbers of a guardrail.
const pointFields = 8

// kinds are the kinds of limits. A guardrail is its metric's index times their number plus the
// index of its kind.
var kinds = []string{"min", "max", "min_change", "max_change"}

// PointsOf returns the guardrails of a definition with their limits. Nothing is known of them.
func PointsOf(d *definition.Definition) (out Points) {
	unknown, low, high := math.NaN(), math.Inf(-1), math.Inf(1)
	for i := range d.Guardrails {
		g := &d.Guardrails[i]
		limit, up, relative, _ := g.Limit()
		which := len(kinds)*d.MetricIndex(g.Metric) + slices.Index(kinds, Kind(up, relative))
		out = append(out, float64(which), limit, unknown, low, high, unknown, low, high)
	}
	return out
}

// Points returns what is known of the guardrails for a mixture, nil unless they are those of the
// points before.
func (x *States) Points(e *Evidence, p []float64, before Points) Points {
	now := PointsOf(e.Definition)
	if len(before) != len(now) {
		return nil
	}
	for i := 0; i < len(now); i += pointFields {
		if before[i] != now[i] || before[i+1] != now[i+1] {
			return nil
		}
	}
	for i := range x.Guards {
		q, all := x.Intervals(e, i, p)
		for k, v := range []*float64{q.Estimate, q.Low, q.High, all.Estimate, all.Low, all.High} {
			if v != nil {
				now[i*pointFields+2+k] = *v
			}
		}
	}
	return now
}

// Fits reports whether the points are of guardrails on some of a number of metrics.
func (p Points) Fits(metrics int) bool {
	for i := 0; i+pointFields <= len(p); i += pointFields {
		if which := p[i]; !(which >= 0 && which < float64(len(kinds)*metrics)) || which != math.Trunc(which) {
			return false
		}
	}
	return len(p)%pointFields == 0
}

// Report returns the points for a report.
func (p Points) Report(d *definition.Definition) []api.GuardrailPoint {
	out := []api.GuardrailPoint{}
	for ; len(p) > 0; p = p[pointFields:] {
		which := int(p[0])
		out = append(out, api.GuardrailPoint{
			Metric: d.Metrics[which/len(kinds)].Name, Kind: kinds[which%len(kinds)], Limit: p[1],
			Interval: Interval(p[2], p[3], p[4]), Served: Interval(p[5], p[6], p[7]),
		})
	}
	return out
}
