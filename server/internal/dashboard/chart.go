package dashboard

import (
	"fmt"
	"math"
	"net/http"
	"slices"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/api"
	"github.com/noregret/noregret/experiment/definition"
	"github.com/noregret/noregret/server/internal/web"
)

// chart is what a picture shows, in whatever format: values by version, from which the SVG and the
// PNG are drawn, and which the script and the CSV get.
type chart struct {
	// Title and Unit are the title and the label of the axis of values; Brief is the title on a
	// phone, "" for the same.
	Title, Brief, Unit string
	// Stacked says that the values are shares, drawn one upon the other.
	Stacked bool
	History []api.HistoryPoint
	Lines   []chartLine
	// Now are intervals at the end of the picture.
	Now []chartInterval
}

// chartLine is a line of a chart: values by version with a band, or a level.
type chartLine struct {
	Name string
	// Values, Low and High are by version, nil where unknown; Low and High are nil without a band.
	Values, Low, High []*float64
	// Level is a constant, nil if the line has values.
	Level *float64
	// Colour is the number of the line's colour, for an arm its place, or one of those below.
	Colour int
}

// The colours of lines that are no data of their own.
const (
	inkColour   = -1 // of text
	faintColour = -2 // of what is shown together
)

// chartInterval is an interval of the current mixture.
type chartInterval struct {
	Name      string
	Low, High float64
	Colour    int
}

// valuesOf returns values by version.
func valuesOf(r *api.Report, of func(h *api.HistoryPoint) *float64) []*float64 {
	out := make([]*float64, len(r.History))
	for i := range r.History {
		if v := of(&r.History[i]); v != nil && !math.IsNaN(*v) && !math.IsInf(*v, 0) {
			out[i] = v
		}
	}
	return out
}

// known reports whether any value is known.
func known(values []*float64) bool {
	return slices.ContainsFunc(values, func(v *float64) bool { return v != nil })
}

// hasLift and hasObjective report whether a report compares mixtures with the control arm, and
// values them. It does neither for private experiments (no lift) and contextual ones.
func hasLift(d *definition.Definition, r *api.Report) bool {
	return d.Objective != nil && r.Lift.Control != ""
}

func hasObjective(r *api.Report) bool { return r.Regret != nil }

// chartOf makes the chart of a picture's name. Most is the number of arms that a mixture shows.
func (d *Dashboard) chartOf(name string, def *definition.Definition, r *api.Report, most int) (*chart, error) {
	c, err := d.chartNamed(name, def, r, most)
	if err != nil {
		return nil, err
	}
	if c == nil {
		return nil, web.WithStatus(http.StatusNotFound, noregret.NotFound, "path", "no such picture")
	}
	c.History = r.History
	return c, nil
}

func (d *Dashboard) chartNamed(name string, def *definition.Definition, r *api.Report, most int) (*chart, error) {
	switch name {
	case "mixture":
		return mixtureChart(r, most), nil
	case "lift":
		if hasLift(def, r) {
			return liftChart(r), nil
		}
	case "objective":
		if hasObjective(r) {
			best, err := d.optima.value(d.Source, r)
			return objectiveChart(r, best), err
		}
	case "regret":
		if hasObjective(r) {
			return regretChart(r), nil
		}
	}
	for i := range r.Guardrails {
		if name == fmt.Sprintf("guardrail-%d", i) {
			return guardrailChart(def, r, i), nil
		}
	}
	return nil, nil
}

// mixtureChart has the arms with the greatest shares, and all others together.
func mixtureChart(r *api.Report, most int) *chart {
	c := &chart{Title: "Mixture", Unit: "share", Stacked: true}
	names := armsByShare(r)
	shown := names[:min(len(names), most)]
	if len(names) == most+1 {
		shown = names
	}
	for _, name := range shown {
		c.Lines = append(c.Lines, chartLine{
			Name: name, Colour: r.Arms[name].Place,
			Values: valuesOf(r, func(h *api.HistoryPoint) *float64 { q := h.Mixture[name]; return &q }),
		})
	}
	if rest := names[len(shown):]; len(rest) > 0 {
		c.Lines = append(c.Lines, chartLine{
			Name: fmt.Sprintf("%d others", len(rest)), Colour: faintColour,
			Values: valuesOf(r, func(h *api.HistoryPoint) *float64 {
				sum := 0.0
				for _, name := range rest {
					sum += h.Mixture[name]
				}
				return &sum
			}),
		})
	}
	return c
}

// liftChart has the lift of what was served and of what would have been deployed, with their
// intervals as bands.
func liftChart(r *api.Report) *chart {
	c := &chart{Title: "Lift against " + r.Lift.Control, Unit: "objective per unit"}
	for i, of := range []struct {
		name     string
		interval func(l *api.LiftPoint) api.Interval
	}{
		{"served", func(l *api.LiftPoint) api.Interval { return l.Served }},
		{"would be deployed", func(l *api.LiftPoint) api.Interval { return l.Deployed }},
	} {
		end := func(side func(q api.Interval) *float64) []*float64 {
			return valuesOf(r, func(h *api.HistoryPoint) *float64 {
				if h.Lift == nil {
					return nil
				}
				if q := of.interval(h.Lift); q.Estimate != nil && q.Low != nil && q.High != nil {
					return side(q)
				}
				return nil
			})
		}
		l := chartLine{
			Name: of.name + ", 95 %", Colour: i,
			Values: end(func(q api.Interval) *float64 { return q.Estimate }),
			Low:    end(func(q api.Interval) *float64 { return q.Low }),
			High:   end(func(q api.Interval) *float64 { return q.High }),
		}
		if known(l.Values) {
			c.Lines = append(c.Lines, l)
		}
	}
	zero := 0.0
	c.Lines = append(c.Lines, chartLine{Name: "as the control arm", Level: &zero, Colour: inkColour})
	return c
}

// objectiveChart has the value of each version's mixture by what was known then, beside the best
// single arm and the best mixture by what is known now.
func objectiveChart(r *api.Report, best *float64) *chart {
	c := &chart{Title: "Objective", Unit: "objective per unit"}
	value := chartLine{
		Name:   "mixture, known then",
		Values: valuesOf(r, func(h *api.HistoryPoint) *float64 { return h.Value }),
	}
	if known(value.Values) {
		c.Lines = append(c.Lines, value)
	}
	if v := r.Regret.BestSingle.Value; v != nil {
		c.Lines = append(c.Lines, chartLine{Name: "best single arm, known now", Level: v, Colour: 1})
	}
	if best != nil {
		c.Lines = append(c.Lines, chartLine{Name: "best mixture, known now", Level: best, Colour: inkColour})
	}
	return c
}

// Of the versions of which little is known, a picture shows as much as leaves the rest legible:
// lines up to lineReach times the range of what is known at the end beyond that, and bands up to
// bandReach times.
const (
	lineReach = 4
	bandReach = 1
)

// bounds returns the range of the axis of values, and ok = false if no value is known. What lies
// outside is cut off.
func (c *chart) bounds() (low, high float64, ok bool) {
	low, high = math.Inf(1), math.Inf(-1)
	add := func(v float64) { low, high = min(low, v), max(high, v) }
	each := func(values []*float64, add func(v float64)) {
		for _, v := range values {
			if v != nil {
				add(*v)
			}
		}
	}
	for _, q := range c.Now {
		add(q.Low)
		add(q.High)
	}
	for i := range c.Lines {
		l := &c.Lines[i]
		for _, values := range [][]*float64{{l.Level}, settled(l.Values), lastKnown(l.Low), lastKnown(l.High)} {
			each(values, add)
		}
	}
	if low > high {
		return 0, 0, false
	}
	first, last := low, high
	within := func(reach float64) func(v float64) {
		span := float64(reach * max(last-first, float64(1e-3*max(math.Abs(first), math.Abs(last)))))
		return func(v float64) { add(min(max(v, first-span), last+span)) }
	}
	for i := range c.Lines {
		each(c.Lines[i].Values, within(lineReach))
		each(c.Lines[i].Low, within(bandReach))
		each(c.Lines[i].High, within(bandReach))
	}
	return low, high, true
}

// lastKnown returns the last known value, if there is one.
func lastKnown(values []*float64) []*float64 {
	for i := len(values) - 1; i >= 0; i-- {
		if values[i] != nil {
			return values[i : i+1]
		}
	}
	return nil
}

// settled returns the known values of the last quarter, at least one: the end alone has no range
// where a mixture has become the best arm.
func settled(values []*float64) (out []*float64) {
	for _, v := range values {
		if v != nil {
			out = append(out, v)
		}
	}
	return out[len(out)-min(len(out), max(1, len(out)/4)):]
}

// regretChart has the regret per unit against the best single arm.
func regretChart(r *api.Report) *chart {
	c := &chart{Title: "Regret against the best single arm", Brief: "Regret", Unit: "per unit so far"}
	course := valuesOf(r, func(h *api.HistoryPoint) *float64 { return h.Regret })
	if known(course) {
		c.Lines = append(c.Lines, chartLine{Name: "what was served", Values: course})
	}
	zero := 0.0
	c.Lines = append(c.Lines, chartLine{Name: "the best single arm", Level: &zero, Colour: 1})
	return c
}
