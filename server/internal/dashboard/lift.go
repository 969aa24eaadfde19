package dashboard

import (
	"image/color"

	"github.com/noregret/noregret/api"
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
	C      *api.Comparison
}

// liftTable is the table of lifts: a column for each quantity.
type liftTable struct {
	Columns []string
	Rows    []liftRow
}

// columnName names a quantity for people.
func columnName(q *api.LiftQuantity) string {
	switch q.Kind {
	case api.LiftGoal:
		return "goal " + q.Metric
	case api.LiftGuardrail:
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
func tableOfLifts(r *api.Report, arms []armRow) (t liftTable) {
	quantities := r.Lift.Quantities
	if len(quantities) > 1 && quantities[0].Kind == api.LiftObjective &&
		quantities[0].SoFar.Relative.Estimate != nil {
		quantities = quantities[1:]
	}
	add := func(row liftRow, of func(q *api.LiftQuantity) *api.Comparison) {
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
	add(mixture, func(q *api.LiftQuantity) *api.Comparison { return &q.Served })
	if quantities[0].Deployed != nil {
		mixture.Name = "would be deployed"
		add(mixture, func(q *api.LiftQuantity) *api.Comparison { return q.Deployed })
	}
	mixture.Name = "served so far"
	add(mixture, func(q *api.LiftQuantity) *api.Comparison { return &q.SoFar })
	for _, a := range arms {
		if _, listed := quantities[0].Arms[a.Name]; !listed {
			continue
		}
		add(liftRow{Name: a.Name, Active: a.Active}, func(q *api.LiftQuantity) *api.Comparison {
			c := q.Arms[a.Name]
			return &c
		})
	}
	return t
}

// translucent returns a colour that lets what is behind it through.
func translucent(c color.Color) color.Color {
	r, g, b, _ := c.RGBA()
	return color.NRGBA{uint8(r >> 8), uint8(g >> 8), uint8(b >> 8), 56}
}
