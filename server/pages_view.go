package server

import (
	"cmp"
	"fmt"
	"html/template"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/experiment"
	"github.com/noregret/noregret/policy"
)

// pageFuncs are the functions of the templates.
var pageFuncs = template.FuncMap{
	"num": func(v any) string {
		switch v := v.(type) {
		case *float64:
			if v != nil {
				return figure(*v)
			}
		case float64:
			return figure(v)
		}
		return "unknown"
	},
	"interval": interval,
	"percent":  percent,
	"count":    group,
	"moment":   func(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05") },
	"machine":  func(t time.Time) string { return t.UTC().Format(time.RFC3339) },
	"state": func(s policy.Status) string {
		if s == policy.RolledBack {
			return "rolled back"
		}
		return string(s)
	},
}

// figure is a number with four significant digits, without an exponent where it can be read
// without.
func figure(v float64) string {
	switch a := math.Abs(v); {
	case v == 0:
		return "0"
	case a >= 1e6 || a < 1e-4:
		return strconv.FormatFloat(v, 'g', 4, 64)
	default:
		return strconv.FormatFloat(v, 'f', max(0, 3-int(math.Floor(math.Log10(a)))), 64)
	}
}

// interval is "[low, high]", with what is unbounded or unknown left open.
func interval(low, high *float64) string {
	if low == nil && high == nil {
		return ""
	}
	l, h := "−∞", "∞"
	if low != nil {
		l = figure(*low)
	}
	if high != nil {
		h = figure(*high)
	}
	return "[" + l + ", " + h + "]"
}

// percent is a share; small ones are not rounded to nothing.
func percent(p float64) string {
	if p > 0 && p < 0.0005 {
		return "< 0.1 %"
	}
	return strconv.FormatFloat(100*p, 'f', 1, 64) + " %"
}

// group writes a number with spaces between thousands.
func group(v any) string {
	s := fmt.Sprint(v)
	sign := ""
	if s[0] == '-' {
		sign, s = "-", s[1:]
	}
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "\u202f" + s[i:]
	}
	return sign + s
}

// listRow is an experiment in the list.
type listRow struct {
	policy.Summary
	Path  string
	Units int64
	Guard policy.GuardState // the worst, "" without guardrails
	// Problems is how many health problems there are.
	Problems int
}

// listed is the list and when it was so.
type listed struct {
	Rows []listRow
	Time time.Time
}

// badness orders the states of guardrails.
var badness = []policy.GuardState{"", policy.GuardOk, policy.GuardUnknown, policy.GuardWatch, policy.GuardBreached}

func (s *Server) listRows() (*listed, error) {
	out := &listed{}
	for _, e := range s.Experiments() {
		r, err := s.Report(e.Name)
		if noregret.CodeOf(err) == noregret.NotFound {
			continue // deleted meanwhile
		} else if err != nil {
			return nil, err
		}
		row := listRow{
			Summary: e, Path: "/experiments/" + url.PathEscape(e.Name), Units: unitsOf(r),
			Problems: len(r.Health.Problems),
		}
		for _, g := range r.Guardrails {
			if slices.Index(badness, g.State) > slices.Index(badness, row.Guard) {
				row.Guard = g.State
			}
		}
		out.Rows = append(out.Rows, row)
		if r.Time.After(out.Time) {
			out.Time = r.Time
		}
	}
	return out, nil
}

func unitsOf(r *policy.Report) (n int64) {
	for _, a := range r.Arms {
		n += a.N
	}
	if r.HoldBack != nil {
		n += r.HoldBack.N
	}
	return n
}

// armRow is an arm in the table.
type armRow struct {
	Name, Value     string
	Share           float64
	N               int64
	Active, Control bool
	Metrics         []policy.MetricReport // in the definition's order
}

// view is what an experiment's page shows.
type view struct {
	*policy.Report
	Path       string
	Unit       string
	Units      int64
	Definition *experiment.Definition
	ArmRows    []armRow
	Pictures   []pictureOf
	Events     []policy.NoteReport // the newest first
	// Optimum is the value of the best mixture by what is known.
	Optimum *float64
	Missing []missing
}

// missing is how often a metric was not reported.
type missing struct {
	Metric string
	Share  float64
}

// shownEvents is how many of the last events a page shows.
const shownEvents = 20

func (s *Server) experimentView(name string) (*view, error) {
	r, err := s.Report(name)
	if err != nil {
		return nil, err
	}
	d, err := s.Definition(name)
	if err != nil {
		return nil, err
	}
	v := &view{Report: r, Path: "/experiments/" + url.PathEscape(name), Unit: d.Unit, Units: unitsOf(r), Definition: d}
	for arm, a := range r.Arms {
		row := armRow{
			Name: arm, Value: string(a.Value), Share: r.Mixture[arm], N: a.N, Active: a.Active,
			Control: a.Control,
		}
		for i := range d.Metrics {
			row.Metrics = append(row.Metrics, a.Metrics[d.Metrics[i].Name])
		}
		v.ArmRows = append(v.ArmRows, row)
	}
	slices.SortFunc(v.ArmRows, func(a, b armRow) int {
		return cmp.Or(cmp.Compare(b.Share, a.Share), cmp.Compare(b.N, a.N), cmp.Compare(a.Name, b.Name))
	})
	v.Events = lastEvents(r)
	for i := range d.Metrics {
		if share, ok := r.Health.Missing[d.Metrics[i].Name]; ok {
			v.Missing = append(v.Missing, missing{d.Metrics[i].Name, share})
		}
	}
	if v.Optimum, err = s.optima.value(s, r); err != nil {
		return nil, err
	}
	v.Pictures = picturesOf(v.Path, d, r)
	return v, nil
}

// lastEvents are notes and new policy versions, the newest first.
func lastEvents(r *policy.Report) []policy.NoteReport {
	out := slices.Clone(r.Notes)
	for i, h := range r.History {
		if i > 0 || h.Version > 1 { // the first one is "created"
			out = append(out, policy.NoteReport{
				Time: h.Time,
				Text: fmt.Sprintf("policy version %d, round %d: %s", h.Version, h.Round, h.Cause),
			})
		}
	}
	slices.SortStableFunc(out, func(a, b policy.NoteReport) int { return a.Time.Compare(b.Time) })
	slices.Reverse(out)
	return out[:min(len(out), shownEvents)]
}

// bar is an arm's part of the unit interval, in the explain page's picture.
type bar struct {
	Arm      string
	P, From  float64
	X, Width float64 // in per mille
	Colour   int
	Drawn    bool
}

// knownRow is what was known of an arm when the policy was made.
type knownRow struct {
	Arm     string
	Units   uint64
	Metrics []policy.KnownMetric
}

// shownColours is how many arms of an explanation have a colour of their own; the next one is that
// of all others.
const shownColours = 8

// show fills in what an explanation says.
func (v *explained) show(e *policy.Explanation) {
	v.E, v.Mark = e, 1000*e.Fraction
	for _, d := range e.Distribution {
		b := bar{Arm: d.Arm, P: d.P, From: d.From, X: 1000 * d.From, Width: 1000 * d.P, Colour: shownColours}
		b.Drawn = e.Fraction >= d.From && e.Fraction < d.From+d.P
		v.Bars = append(v.Bars, b)
	}
	var order []int // the greatest shares get the colours
	for i := range v.Bars {
		order = append(order, i)
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(v.Bars[b].P, v.Bars[a].P) })
	for rank, i := range order[:min(len(order), shownColours)] {
		v.Bars[i].Colour = rank
	}
	for arm, metrics := range e.Policy.Known {
		for m := range metrics {
			if !slices.Contains(v.Metrics, m) {
				v.Metrics = append(v.Metrics, m)
			}
		}
		v.Known = append(v.Known, knownRow{Arm: arm, Units: e.Policy.Units[arm]})
	}
	slices.Sort(v.Metrics)
	slices.SortFunc(v.Known, func(a, b knownRow) int { return cmp.Compare(a.Arm, b.Arm) })
	for i := range v.Known {
		for _, m := range v.Metrics {
			v.Known[i].Metrics = append(v.Known[i].Metrics, e.Policy.Known[v.Known[i].Arm][m])
		}
	}
}

// parseForm reads a form's body; its fault is told without its values.
func parseForm(b []byte) (url.Values, error) {
	v, err := url.ParseQuery(string(b))
	if err != nil {
		return nil, withStatus(http.StatusBadRequest, noregret.BadInput, "body", "it is no form")
	}
	return v, nil
}
