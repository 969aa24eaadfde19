package dashboard

import (
	"strings"

	"github.com/noregret/noregret/api"
	"github.com/noregret/noregret/experiment/definition"
)

// guardrailChart has the values of a guardrail's metric, for a change those relative to the control
// arm: the mean of each version's units (not for a change), that of its mixture with its interval
// by what was known when it ended, the limit, and the present interval. A mixture has no interval
// while one of its arms has none, such as one of few units; if no version has one, the chart has
// the interval of all that was served until then.
func guardrailChart(def *definition.Definition, r *api.Report, i int) *chart {
	g := &r.Guardrails[i]
	c := &chart{Title: "Guardrail: " + g.Metric, Unit: g.Metric}
	prefix := ""
	if strings.HasSuffix(g.Kind, "_change") {
		c.Unit, prefix = "change from "+def.Control.Arm, "change "
	} else {
		seen := valuesOf(r, func(h *api.HistoryPoint) *float64 { return h.Metrics[g.Metric] })
		if known(seen) {
			c.Lines = append(c.Lines, chartLine{Name: "mean of the version's units", Values: seen})
		}
	}
	mixture := guardedLine(r, g, chartLine{Name: "mixture, known then", Colour: 2},
		func(p *api.GuardrailPoint) *api.Interval { return &p.Interval })
	if known(mixture.Values) {
		c.Lines = append(c.Lines, mixture)
	}
	if !known(mixture.Low) {
		served := guardedLine(r, g, chartLine{Name: "all served so far, known then", Colour: 3},
			func(p *api.GuardrailPoint) *api.Interval { return &p.Served })
		if known(served.Low) {
			c.Lines = append(c.Lines, served)
		}
	}
	prefix += map[bool]string{true: "at least ", false: "at most "}[strings.HasPrefix(g.Kind, "min")]
	limit := chartLine{Name: "limit: " + prefix + Figure(g.Limit), Colour: 1}
	limits := valuesOf(r, func(h *api.HistoryPoint) *float64 {
		if p := pointOf(h, g); p != nil {
			return &p.Limit
		}
		return nil
	})
	if limit.Level = &g.Limit; changed(limits, g.Limit) {
		limit.Level, limit.Values = nil, limits
	}
	c.Lines = append(c.Lines, limit)
	if g.Low != nil && g.High != nil {
		c.Now = append(c.Now, chartInterval{
			Name: "interval of the current mixture", Low: *g.Low, High: *g.High, Colour: 2,
		})
	}
	return c
}

// pointOf returns what a version has of a guardrail, nil for nothing. Of several on one metric in
// one direction it is the one with the limit, or else the first.
func pointOf(h *api.HistoryPoint, g *api.GuardrailReport) (out *api.GuardrailPoint) {
	for i := range h.Guardrails {
		p := &h.Guardrails[i]
		if p.Metric == g.Metric && p.Kind == g.Kind && (out == nil || p.Limit == g.Limit) {
			out = p
		}
	}
	return out
}

// guardedLine is l with a value of each version in a guardrail, and its interval as a band.
func guardedLine(r *api.Report, g *api.GuardrailReport, l chartLine,
	part func(p *api.GuardrailPoint) *api.Interval,
) chartLine {
	side := func(of func(q *api.Interval) *float64) []*float64 {
		return valuesOf(r, func(h *api.HistoryPoint) *float64 {
			if p := pointOf(h, g); p != nil {
				return of(part(p))
			}
			return nil
		})
	}
	bounded := func(end func(q *api.Interval) *float64) []*float64 {
		return side(func(q *api.Interval) *float64 {
			if q.Low == nil || q.High == nil {
				return nil
			}
			return end(q)
		})
	}
	l.Values = side(func(q *api.Interval) *float64 { return q.Estimate })
	l.Low = bounded(func(q *api.Interval) *float64 { return q.Low })
	l.High = bounded(func(q *api.Interval) *float64 { return q.High })
	if !known(l.Low) {
		l.Low, l.High = nil, nil
	}
	return l
}

// changed reports whether a known value is another one than the last.
func changed(values []*float64, last float64) bool {
	for _, v := range values {
		if v != nil && *v != last {
			return true
		}
	}
	return false
}
