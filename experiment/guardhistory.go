package experiment

import (
	"math"
	"slices"

	"github.com/noregret/noregret/api"
	"github.com/noregret/noregret/experiment/definition"
)

// guardPoints has what was known of the guardrails during a version, guardFields numbers for each:
// which guardrail it is, its limit, and the estimate and the interval of the version's mixture, and
// then those of all that was served so far, when the version ended. What is unknown is not finite.
type guardPoints f64s

// MarshalJSON implements [json.Marshaler].
func (p guardPoints) MarshalJSON() ([]byte, error) { return f64s(p).MarshalJSON() }

// UnmarshalJSON implements [json.Unmarshaler].
func (p *guardPoints) UnmarshalJSON(data []byte) error { return (*f64s)(p).UnmarshalJSON(data) }

const guardFields = 8

// guardKinds are the kinds of limits. A guardrail is its metric's index times their number plus the
// index of its kind.
var guardKinds = []string{"min", "max", "min_change", "max_change"}

// pointsOf returns the guardrails of a definition with their limits. Nothing is known of them.
func pointsOf(d *definition.Definition) (out guardPoints) {
	for i := range d.Guardrails {
		g := &d.Guardrails[i]
		limit, up, relative, _ := g.Limit()
		which := len(guardKinds)*d.MetricIndex(g.Metric) + slices.Index(guardKinds, guardKind(up, relative))
		out = append(out, float64(which), limit, math.NaN(), math.Inf(-1), inf(), math.NaN(), math.Inf(-1), inf())
	}
	return out
}

// withoutShown returns a copy without what only reports show, the guardrails' points and the values
// of versions and of the conclusion, and where lifts are tightest, and without the learners. Nothing in the fold
// depends on them, so a digest leaves them out.
func (f *Frozen) withoutShown() *Frozen {
	out := *f
	out.saved.Experiments = slices.Clone(f.saved.Experiments)
	for i := range out.saved.Experiments {
		e := &out.saved.Experiments[i]
		parts := *e.State
		parts.lifts, e.Learner = lifts{}, nil
		if c := parts.Conclusion; c != nil {
			d := *c
			d.Value, parts.Conclusion = nil, &d
		}
		parts.Versions = make([]*version, len(e.State.Versions))
		for k, v := range e.State.Versions {
			w := *v
			w.Guards, w.Shown = nil, nil
			parts.Versions[k] = &w
		}
		e.State = &parts
	}
	return &out
}

// fits reports whether the points are of guardrails on some of a number of metrics.
func (p guardPoints) fits(metrics int) bool {
	for i := 0; i < len(p); i += guardFields {
		if which := p[i]; !(which >= 0 && which < float64(len(guardKinds)*metrics)) || which != math.Trunc(which) {
			return false
		}
	}
	return len(p)%guardFields == 0
}

// report returns the points for a report, those of the guardrails now in their place.
func (p guardPoints) report(d *definition.Definition) []api.GuardrailPoint {
	out := []api.GuardrailPoint{}
	for ; len(p) > 0; p = p[guardFields:] {
		which := int(p[0])
		out = append(out, api.GuardrailPoint{
			Metric: d.Metrics[which/len(guardKinds)].Name, Kind: guardKinds[which%len(guardKinds)], Limit: p[1],
			Interval: interval(p[2], p[3], p[4]), Served: interval(p[5], p[6], p[7]),
		})
	}
	return out
}

// pointsNow returns the present intervals of the guardrails of a report.
func pointsNow(guardrails []api.GuardrailReport) []api.GuardrailPoint {
	out := []api.GuardrailPoint{}
	for _, g := range guardrails {
		out = append(out, api.GuardrailPoint{
			Metric: g.Metric, Kind: g.Kind, Limit: g.Limit, Interval: g.Interval, Served: g.Served,
		})
	}
	return out
}

// guardRecorder has the method of an experiment that records its guardrails.
type guardRecorder struct{ *experimentState }

// seal records the intervals of the guardrails when the running version ends, or before they
// change. It leaves a version as it is whose guardrails have changed. Only code that applies events
// may call it.
func (x guardRecorder) seal() {
	if len(x.guards.Guards) == 0 || x.Private != nil {
		return
	}
	v, now := x.rounds.Versions[len(x.rounds.Versions)-1], pointsOf(x.roster.def)
	if len(v.Guards) != len(now) {
		return
	}
	for i := 0; i < len(now); i += guardFields {
		if v.Guards[i] != now[i] || v.Guards[i+1] != now[i+1] {
			return
		}
	}
	in := x.guardInput(true)
	for i := range x.guards.Guards {
		q, all := x.guards.intervals(in, i, x.joiner.Running().Mixture, x.guards.cachedBounds(in.roster, i))
		for k, v := range []*float64{q.Estimate, q.Low, q.High, all.Estimate, all.Low, all.High} {
			if v != nil {
				now[i*guardFields+2+k] = *v
			}
		}
	}
	v.Guards = now // copies of the state share the slice
}
