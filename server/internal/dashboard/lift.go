package dashboard

import (
	"image/color"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"

	"github.com/noregret/noregret/internal/picture"
	"github.com/noregret/noregret/policy"
)

// liftRow is an arm or a mixture in the table of lifts.
type liftRow struct {
	Name    string
	Mixture bool
	Active  bool
	Cells   []liftCell // by column
}

// liftCell compares a row with the control in a quantity. It is nil if the mixture does not exist.
type liftCell struct {
	Column string
	C      *policy.Comparison
}

// liftTable is the table of lifts: a column for each quantity.
type liftTable struct {
	Columns []string
	Rows    []liftRow
}

// columnName names a quantity for people.
func columnName(q *policy.LiftQuantity) string {
	switch q.Kind {
	case policy.LiftGoal:
		return "goal " + q.Metric
	case policy.LiftGuardrail:
		text := map[string]string{
			"min": "at least ", "max": "at most ", "min_change": "change at least ", "max_change": "change at most ",
		}[q.Guardrail]
		if q.Limit != nil {
			text += Figure(*q.Limit)
		}
		return "guardrail " + q.Metric + ": " + text
	}
	return "objective"
}

// tableOfLifts arranges the comparisons of a report, arms in the order of the table of arms. It
// leaves out the objective if that is the only goal.
func tableOfLifts(r *policy.Report, arms []armRow) (t liftTable) {
	quantities := r.Lift.Quantities
	if len(quantities) > 1 && quantities[0].Kind == policy.LiftObjective &&
		quantities[0].SoFar.Relative.Estimate != nil {
		quantities = quantities[1:]
	}
	add := func(row liftRow, of func(q *policy.LiftQuantity) *policy.Comparison) {
		for i := range quantities {
			row.Cells = append(row.Cells, liftCell{t.Columns[i], of(&quantities[i])})
		}
		t.Rows = append(t.Rows, row)
	}
	for i := range quantities {
		t.Columns = append(t.Columns, columnName(&quantities[i]))
	}
	if len(quantities) == 0 {
		return t
	}
	mixture := liftRow{Mixture: true, Active: true}
	mixture.Name = "served now"
	add(mixture, func(q *policy.LiftQuantity) *policy.Comparison { return &q.Served })
	if quantities[0].Deployed != nil {
		mixture.Name = "would be deployed"
		add(mixture, func(q *policy.LiftQuantity) *policy.Comparison { return q.Deployed })
	}
	mixture.Name = "served so far"
	add(mixture, func(q *policy.LiftQuantity) *policy.Comparison { return &q.SoFar })
	for _, a := range arms {
		if _, listed := quantities[0].Arms[a.Name]; !listed {
			continue
		}
		add(liftRow{Name: a.Name, Active: a.Active}, func(q *policy.LiftQuantity) *policy.Comparison {
			c := q.Arms[a.Name]
			return &c
		})
	}
	return t
}

// liftPicture plots the lift of what was served and of what would have been deployed, with their
// intervals as bands.
func liftPicture(theme frame, r *policy.Report) (*plot.Plot, error) {
	p := theme.New("Lift against "+short(r.Lift.Control), theme.label(), "objective per unit")
	end := theme.axis(p, r)
	entries := 0
	for i, of := range []struct {
		name     string
		interval func(l *policy.LiftPoint) policy.Interval
	}{
		{"served", func(l *policy.LiftPoint) policy.Interval { return l.Served }},
		{"would be deployed", func(l *policy.LiftPoint) policy.Interval { return l.Deployed }},
	} {
		known := latestKnown(r.History, of.interval)
		line := func(v func(q policy.Interval) *float64) plotter.XYs {
			return theme.steps(known, end, func(h *policy.HistoryPoint) (float64, bool) {
				return *v(of.interval(h.Lift)), true
			})
		}
		if len(known) == 0 {
			continue
		}
		low := line(func(q policy.Interval) *float64 { return q.Low })
		band := line(func(q policy.Interval) *float64 { return q.High })
		for k := len(low) - 1; k >= 0; k-- {
			band = append(band, low[k])
		}
		area, err := plotter.NewPolygon(band)
		if err != nil {
			return nil, err
		}
		area.Color, area.LineStyle.Width = translucent(theme.Line(i)), 0
		l, err := picture.Line(line(func(q policy.Interval) *float64 { return q.Estimate }), theme.Line(i), false)
		if err != nil {
			return nil, err
		}
		p.Add(area, l)
		p.Legend.Add(of.name+", 95 %", l, area)
		entries++
	}
	if err := level(p, "as the control arm", 0, theme.Ink); err != nil {
		return nil, err
	}
	theme.headroom(p, entries+1)
	return p, nil
}

// latestKnown returns the versions whose interval is known at both ends, without the first ones if
// their intervals are so wide that they would flatten the picture.
func latestKnown(all []policy.HistoryPoint, of func(l *policy.LiftPoint) policy.Interval) (out []policy.HistoryPoint) {
	for i := range all {
		if l := all[i].Lift; l != nil {
			if q := of(l); q.Estimate != nil && q.Low != nil && q.High != nil {
				out = append(out, all[i])
			}
		}
	}
	if len(out) == 0 {
		return out
	}
	width := func(h *policy.HistoryPoint) float64 { q := of(h.Lift); return *q.High - *q.Low }
	last := width(&out[len(out)-1])
	for len(out) > 1 && width(&out[0]) > 12*last {
		out = out[1:]
	}
	return out
}

// translucent returns a colour that lets what is behind it through.
func translucent(c color.Color) color.Color {
	r, g, b, _ := c.RGBA()
	return color.NRGBA{uint8(r >> 8), uint8(g >> 8), uint8(b >> 8), 56}
}
