package plan

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/noregret/noregret/experiment/definition"
	"github.com/noregret/noregret/internal/parallel"
	"github.com/noregret/noregret/policy"
)

// mostPlanned is the largest number of units a day that a plan may have.
const mostPlanned = 1e12

// Cost is what the gain waits for: its days in closed form if a part of the definition is left out.
type Cost struct {
	// Without names the part.
	Without string `json:"without"`
	// Days is nil beyond ten years.
	Days *float64 `json:"days"`
}

// variant is a definition in which something was changed.
type variant struct {
	what      string
	d         *definition.Definition
	guardrail int // whose limit was widened, -1 for none
}

// limitText writes a guardrail's limit.
func limitText(g *definition.Guardrail) string {
	limit, up, relative, _ := g.Limit()
	kind := map[bool]string{true: "min", false: "max"}[up]
	if relative {
		kind += "_change"
	}
	return g.Metric + " " + kind + " " + strconv.FormatFloat(limit, 'g', 4, 64)
}

// guardrailsWith returns a copy of the definition with other guardrails.
func guardrailsWith(d *definition.Definition, list []definition.Guardrail) *definition.Definition {
	c := *d
	c.Guardrails = list
	return &c
}

// fewerArms returns a copy of the definition with half of the arms beside the control, every second
// one from the first on, with the numbers of those left out and of all; nil if there are fewer than
// two.
func fewerArms(d *definition.Definition) (c *definition.Definition, out, of int, err error) {
	list, err := d.NamedArms()
	if err != nil {
		return nil, 0, 0, err
	}
	var kept []policy.Arm
	for i := range list {
		control := d.Control != nil && list[i].Name == d.Control.Arm
		if control && d.Control.Value != nil {
			continue // it is not in the list of arms
		}
		if !control {
			if of++; of%2 == 0 {
				out++
				continue
			}
		}
		kept = append(kept, list[i])
	}
	if of < 2 || len(kept) < 2 && (d.Control == nil || d.Control.Value == nil) {
		return nil, 0, of, nil
	}
	e := *d
	e.Arms = definition.Arms{List: kept}
	if m := d.MaxShare; m != nil && len(m.Arms) > 0 {
		e.MaxShare = &definition.MaxShare{Every: m.Every, Arms: map[string]float64{}}
		for i := range kept {
			if share, ok := m.Arms[kept[i].Name]; ok {
				e.MaxShare.Arms[kept[i].Name] = share
			}
		}
		if m.Every == 0 && len(e.MaxShare.Arms) == 0 {
			e.MaxShare = nil
		}
	}
	return &e, out, of, nil
}

// parts returns the definition without each of its parts that may cost days: a guardrail, a goal,
// half of the arms.
func parts(d *definition.Definition) (list []variant, err error) {
	for i := range d.Guardrails {
		rest := slices.Delete(slices.Clone(d.Guardrails), i, i+1)
		list = append(list, variant{"guardrail " + limitText(&d.Guardrails[i]), guardrailsWith(d, rest), -1})
	}
	if n := len(d.Objective.Goals); n > 1 {
		for i := range n {
			c, o := *d, *d.Objective
			o.Goals = slices.Delete(slices.Clone(o.Goals), i, i+1)
			c.Objective = &o
			list = append(list, variant{"goal " + d.Objective.Goals[i].Metric, &c, -1})
		}
	}
	c, out, of, err := fewerArms(d)
	if c != nil {
		list = append(list, variant{fmt.Sprintf("%d of the %d arms beside the control", out, of), c, -1})
	}
	return list, err
}

// gainDays returns the days until 90 % of the gain is served, in closed form.
func gainDays(ctx context.Context, d *definition.Definition) (*float64, error) {
	a, err := newArms(d)
	if err != nil {
		return nil, err
	}
	c := closedForm{d: d, units: unitsPerDay(d), shares: a.shares, arms: len(a.list) - 1}
	reached, err := newCourse(&c).run(ctx, true, nil, false)
	return reached.gain, err
}

// daysOf returns the days of each variant, several at the same time.
func daysOf(ctx context.Context, list []variant) ([]*float64, error) {
	return parallel.Runs(ctx, len(list), 0, nil, func(i int) (*float64, error) { return gainDays(ctx, list[i].d) })
}

// costs returns the days of the gain without each part of the definition, those that save most
// first.
func costs(ctx context.Context, d *definition.Definition) ([]Cost, error) {
	list, err := parts(d)
	if err != nil {
		return nil, err
	}
	days, err := daysOf(ctx, list)
	if err != nil {
		return nil, err
	}
	var out []Cost
	for i := range list {
		out = append(out, Cost{list[i].what, days[i]})
	}
	slices.SortStableFunc(out, func(a, b Cost) int {
		switch {
		case earlier(a.Days, b.Days):
			return -1
		case earlier(b.Days, a.Days):
			return 1
		}
		return 0
	})
	return out, nil
}

// earlier reports whether a is before b; nil is never.
func earlier(a, b *float64) bool { return a != nil && (b == nil || *a < *b) }

// waitsFor returns the part without which the gain is served the earliest, "" if no part costs a
// tenth of the days.
func waitsFor(days *float64, list []Cost) string {
	if len(list) == 0 || list[0].Days == nil || days != nil && *list[0].Days > 0.9**days {
		return ""
	}
	return list[0].Without
}

// Advice is a definition that serves most of the gain in time.
type Advice struct {
	// Changes are what it changes, in words; empty if nothing has to change.
	Changes []string `json:"changes"`
	// Days are those of the changed definition in closed form, nil if none was found that is in
	// time.
	Days *float64 `json:"days"`
	// UnitsPerDay is the number of units a day with which the definition would be in time as it is,
	// nil if that is not needed or no number is enough.
	UnitsPerDay *float64 `json:"units_per_day,omitempty"`
	// LeastDays are the days of the definition with the most units a day that a plan may have,
	// 10¹²: those that windows, rounds and a ramp take alone. It is set if no number of units is
	// enough, but nil also then if they are more than ten years.
	LeastDays *float64 `json:"least_days,omitempty"`
	// Definition is the changed definition as text, "" if nothing changes or none was found.
	Definition string `json:"definition,omitempty"`
}

// Advise looks for a definition that serves 90 % of the gain within some days, in closed form. In
// each step it widens the limit of a guardrail by half, or leaves out half of the arms, whichever
// saves most. A limit is widened twice at most. If that is not enough, the advice is the number of
// units that would be, or the days that no number of units makes fewer. If ctx ends it returns the
// error of ctx.
func Advise(ctx context.Context, d *definition.Definition, within float64) (*Advice, error) {
	out, first := &Advice{Changes: []string{}}, d
	days, err := gainDays(ctx, d)
	for widened := make([]int, len(d.Guardrails)); err == nil; {
		if inTime(days, within) {
			out.Days = days
			if len(out.Changes) == 0 {
				return out, nil
			}
			if out.Definition, err = definition.Text(d); err == nil {
				_, err = definition.Parse("the definition that is proposed", []byte(out.Definition))
			}
			return out, err
		}
		var best variant
		var most *float64
		var list []variant
		if list, err = steps(d, widened); err != nil {
			break
		}
		saved, err := daysOf(ctx, list)
		if err != nil {
			return nil, err
		}
		for i, v := range list {
			if earlier(saved[i], most) {
				best, most = v, saved[i]
			}
		}
		if best.d == nil {
			break
		}
		if best.guardrail >= 0 {
			widened[best.guardrail]++
		}
		d, days = best.d, most
		out.Changes = append(out.Changes, best.what)
	}
	if err != nil {
		return nil, err
	}
	out = &Advice{Changes: []string{}}
	out.UnitsPerDay, out.LeastDays, err = enough(ctx, first, within)
	return out, err
}

// enough returns a number of units a day with which the gain is served within some days, to three
// digits. If even the most that a plan may have are too few, it returns nil and the days with
// these.
func enough(ctx context.Context, d *definition.Definition, within float64) (units, least *float64, err error) {
	c, p := *d, *d.Plan
	c.Plan = &p
	days := func(units float64) (*float64, error) {
		p.UnitsPerDay = units
		return gainDays(ctx, &c)
	}
	if least, err = days(mostPlanned); err != nil || !inTime(least, within) {
		return nil, least, err
	}
	low, high := d.Plan.UnitsPerDay, min(2*d.Plan.UnitsPerDay, mostPlanned)
	for found := false; !found || high-low > high/1000; {
		try := high
		if found {
			try = (low + high) / 2
		}
		now, err := days(try)
		switch {
		case err != nil:
			return nil, nil, err
		case inTime(now, within):
			found, high = true, try
		case found:
			low = try
		default:
			low, high = high, min(2*high, mostPlanned)
		}
	}
	return &high, nil, nil
}

// inTime reports whether a number of days, nil for never, is within some others.
func inTime(days *float64, within float64) bool { return days != nil && *days <= within }

// steps returns the definition after each of the changes that [Advise] may make in a step, given
// how often each limit was widened.
func steps(d *definition.Definition, widened []int) (list []variant, err error) {
	for i := range d.Guardrails {
		if widened[i] == 2 || !d.Guardrails[i].Hard {
			continue
		}
		all := slices.Clone(d.Guardrails)
		g := &all[i]
		limit, up, relative, _ := g.Limit()
		expected := 0.0
		if !relative {
			expected = mean(d, d.MetricIndex(g.Metric))
		}
		wide := expected + float64(1.5*(limit-expected))
		if relative && up && wide <= -1 {
			continue // no limit at all
		}
		// Three digits of the distance, so that people can read it.
		distance, err := strconv.ParseFloat(strconv.FormatFloat(wide-expected, 'g', 3, 64), 64)
		if err != nil {
			return nil, err
		}
		if wide, err = strconv.ParseFloat(strconv.FormatFloat(expected+distance, 'g', 12, 64), 64); err != nil {
			return nil, err
		}
		if up && wide >= limit || !up && wide <= limit {
			continue // the control is not expected to hold it
		}
		for _, p := range []**float64{&g.Min, &g.Max, &g.MinChange, &g.MaxChange} {
			if *p != nil {
				*p = &wide
			}
		}
		list = append(list, variant{
			"guardrail " + limitText(&d.Guardrails[i]) + " becomes " + limitText(g),
			guardrailsWith(d, all), i,
		})
	}
	c, out, of, err := fewerArms(d)
	if c != nil {
		list = append(list, variant{fmt.Sprintf("arms beside the control: %d", of-out), c, -1})
	}
	return list, err
}
