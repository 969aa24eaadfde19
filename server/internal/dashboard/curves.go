package dashboard

import (
	"math"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"

	"github.com/noregret/noregret/experiment/definition"
	"github.com/noregret/noregret/internal/picture"
	"github.com/noregret/noregret/policy"
)

// objectivePicture plots the objective against the versions.
func objectivePicture(theme frame, r *policy.Report, best *float64) (*plot.Plot, error) {
	p := theme.New("Objective", theme.label(), "objective per unit")
	end := theme.axis(p, r)
	value := theme.steps(r.History, end, func(h *policy.HistoryPoint) (float64, bool) {
		if h.Value == nil {
			return 0, false
		}
		return *h.Value, true
	})
	value, left := withoutBeginning(value, r.Regret.BestSingle.Value)
	entries := 0
	if len(value) > 0 {
		l, err := picture.Line(value, theme.Line(0), false)
		if err != nil {
			return nil, err
		}
		p.Add(l)
		p.Legend.Add("mixture, known then", l)
		entries++
		if left {
			p.Legend.Add("(before: far below)")
			entries++
		}
	}
	if v := r.Regret.BestSingle.Value; v != nil {
		if err := level(p, "best single arm, known now", *v, theme.Line(1)); err != nil {
			return nil, err
		}
		entries++
	}
	if best != nil {
		if err := level(p, "best mixture, known now", *best, theme.Ink); err != nil {
			return nil, err
		}
		entries++
	}
	theme.headroom(p, entries)
	return p, nil
}

// regretPicture plots the regret per unit against the best single arm, by version.
func regretPicture(theme frame, r *policy.Report) (*plot.Plot, error) {
	p := theme.New("Regret against the best single arm", theme.label(), "per unit so far")
	if theme.narrow {
		p.Title.Text = "Regret"
	}
	end := theme.axis(p, r)
	course := theme.steps(r.History, end, func(h *policy.HistoryPoint) (float64, bool) {
		if h.Regret == nil {
			return 0, false
		}
		return *h.Regret, true
	})
	entries := 0
	if len(course) > 0 {
		l, err := picture.Line(course, theme.Line(0), false)
		if err != nil {
			return nil, err
		}
		p.Add(l)
		p.Legend.Add("what was served", l)
		entries++
	}
	if err := level(p, "the best single arm", 0, theme.Line(1)); err != nil {
		return nil, err
	}
	theme.headroom(p, entries+1)
	return p, nil
}

// withoutBeginning drops the first steps of a line if they are so far below the rest and the best
// single arm that they would flatten the picture, and reports whether it has dropped any.
func withoutBeginning(value plotter.XYs, best *float64) (plotter.XYs, bool) {
	if best == nil || len(value) == 0 {
		return value, false
	}
	last, top := value[len(value)-1].Y, math.Inf(-1)
	for _, x := range value {
		top = max(top, x.Y)
	}
	span := max(math.Abs(top-*best), math.Abs(last-*best), 1e-3*math.Abs(*best), 1e-9)
	floor := min(*best, last) - 4*span
	first := 0
	for first < len(value) && value[first].Y < floor {
		first++
	}
	return value[first:], first > 0
}

// guardrailPicture plots a guardrail's metric against the versions, with its limit and its present
// interval. For a change relative to the control arm it plots the metric itself and scales the
// limit by the present mean of the control arm.
func guardrailPicture(theme frame, d *definition.Definition, r *policy.Report, i int) (*plot.Plot, error) {
	g := &r.Guardrails[i]
	p := theme.New("Guardrail: "+short(g.Metric), theme.label(), short(g.Metric))
	end := theme.axis(p, r)
	scale, known := 1.0, true
	limit := g.Limit
	if strings.HasSuffix(g.Kind, "_change") {
		m := r.Arms[d.Control.Arm].Metrics[g.Metric].Mean
		if known = m != nil; known {
			scale, limit = *m, *m*(1+g.Limit)
		}
	}
	seen := theme.steps(r.History, end, func(h *policy.HistoryPoint) (float64, bool) {
		m := h.Metrics[g.Metric]
		if m == nil {
			return 0, false
		}
		return *m, true
	})
	entries := 0
	if len(seen) > 0 {
		l, err := picture.Line(seen, theme.Line(0), false)
		if err != nil {
			return nil, err
		}
		p.Add(l)
		p.Legend.Add("mean of the version's units", l)
		entries++
	}
	if known {
		name := map[bool]string{true: "limit: at least", false: "limit: at most"}[strings.HasPrefix(g.Kind, "min")]
		if err := level(p, name+" "+Figure(limit), limit, theme.Line(1)); err != nil {
			return nil, err
		}
		entries++
	}
	at := func(v float64) float64 {
		if strings.HasSuffix(g.Kind, "_change") {
			return (1 + v) * scale
		}
		return v
	}
	if known && g.Low != nil && g.High != nil {
		x := end - 0.01*(end-p.X.Min)
		l, err := picture.Line(plotter.XYs{{X: x, Y: at(*g.Low)}, {X: x, Y: at(*g.High)}}, theme.Line(2), false)
		if err != nil {
			return nil, err
		}
		l.Width = vg.Points(4)
		p.Add(l)
		p.Legend.Add("interval of the current mixture", l)
		entries++
	}
	theme.headroom(p, entries)
	return p, nil
}
