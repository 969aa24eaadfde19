package dashboard

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"

	"github.com/noregret/noregret/api"
	"github.com/noregret/noregret/experiment/definition"
	"github.com/noregret/noregret/policy"
	"github.com/noregret/noregret/server/internal/access"
)

// mayUse reports whether a principal may use an experiment.
func (d *Dashboard) mayUse(p *access.Principal, name string) bool {
	if !p.Limited() {
		return true
	}
	e, err := d.Source.Definition(name)
	return err == nil && p.MayUse(name, e.Project)
}

// unitsOf is the number of units of all arms.
func unitsOf(r *api.Report) (n int64) {
	for _, a := range r.Arms {
		n += a.N
	}
	if r.HoldBack != nil {
		n += r.HoldBack.N
	}
	return n
}

// armRow is an arm in the table of an experiment.
type armRow struct {
	Name, Value     string
	Stopped         string // why it gets no share, "" if it may be served
	Share           float64
	N               int64
	Active, Control bool
	Metrics         []api.MetricReport // in the definition's order
}

// view is the data of an experiment's page.
type view struct {
	*api.Report
	Path       string
	Unit       string
	Units      int64
	Definition *definition.Definition
	ArmRows    []armRow
	Lifts      liftTable
	Pictures   []pictureOf
	Events     []api.NoteReport // the newest first
	Audit      []api.AuditEntry // the newest first
	// Optimum is the estimated value of the best mixture, nil if unknown.
	Optimum *float64
	Missing []missing
	// Changes are those that the state allows.
	Changes []change
}

// missing is the share of units that did not report a metric.
type missing struct {
	Metric string
	Share  float64
}

// shownEvents is the number of events that a page shows.
const shownEvents = 20

// experimentView makes the data of an experiment's page.
func (d *Dashboard) experimentView(name, axis string) (*view, error) {
	r, err := d.Source.Report(name)
	if err != nil {
		return nil, err
	}
	def, err := d.Source.Definition(name)
	if err != nil {
		return nil, err
	}
	v := &view{
		Report: r, Path: "/experiments/" + url.PathEscape(name), Unit: def.Unit, Units: unitsOf(r),
		Definition: def, Changes: changesIn(r),
	}
	for arm, a := range r.Arms {
		row := armRow{
			Name: arm, Value: string(a.Value), Share: r.Mixture[arm], N: a.N, Active: a.Active,
			Control: a.Control, Stopped: a.Stopped,
		}
		for i := range def.Metrics {
			row.Metrics = append(row.Metrics, a.Metrics[def.Metrics[i].Name])
		}
		v.ArmRows = append(v.ArmRows, row)
	}
	sortArms(v.ArmRows)
	v.Events, v.Audit = lastEvents(r), d.Source.Audit(name, shownEvents)
	for i := range def.Metrics {
		if share, ok := r.Health.Missing[def.Metrics[i].Name]; ok {
			v.Missing = append(v.Missing, missing{def.Metrics[i].Name, share})
		}
	}
	if v.Optimum, err = d.optima.value(d.Source, r); err != nil {
		return nil, err
	}
	v.Lifts = tableOfLifts(r, v.ArmRows)
	v.Pictures = picturesOf(v.Path, axis, def, r)
	return v, nil
}

// sortArms puts the largest shares first.
func sortArms(rows []armRow) {
	slices.SortFunc(rows, func(a, b armRow) int {
		return cmp.Or(cmp.Compare(b.Share, a.Share), cmp.Compare(b.N, a.N), cmp.Compare(a.Name, b.Name))
	})
}

// lastEvents are notes and new policy versions, the newest first.
func lastEvents(r *api.Report) []api.NoteReport {
	out := slices.Clone(r.Notes)
	for i, h := range r.History {
		if i > 0 || h.Version > 1 { // the first one is "created"
			out = append(out, api.NoteReport{
				Time: h.Time,
				Text: fmt.Sprintf("policy version %d, round %d: %s", h.Version, h.Round, h.Cause),
			})
		}
	}
	slices.SortStableFunc(out, func(a, b api.NoteReport) int { return a.Time.Compare(b.Time) })
	slices.Reverse(out)
	return out[:min(len(out), shownEvents)]
}

// armTable is a part of the table of arms.
type armTable struct {
	Definition *definition.Definition
	Private    bool // its means have no intervals
	Rows       []armRow
}

const (
	// unfolded is the number of arms that the table of arms shows whatever their share is, and
	// smallShare the share below which it folds the others.
	unfolded   = 12
	smallShare = 0.01
)

// large returns the number of rows that the table of arms shows: the first unfolded ones, and all
// up to the last one with a share of at least smallShare.
func (v *view) large() int {
	n := min(unfolded, len(v.ArmRows))
	for n < len(v.ArmRows) && v.ArmRows[n].Share >= smallShare {
		n++
	}
	return n
}

// Large returns the arms that the table of arms shows, and the control arm.
func (v *view) Large() armTable {
	n := v.large()
	rows := slices.Clone(v.ArmRows[:n])
	for _, a := range v.ArmRows[n:] {
		if a.Control {
			rows = append(rows, a)
		}
	}
	return armTable{v.Definition, v.Report.Privacy != nil, rows}
}

// Small returns the arms that the table of arms folds.
func (v *view) Small() armTable {
	rows := slices.Clone(v.ArmRows[v.large():])
	rows = slices.DeleteFunc(rows, func(a armRow) bool { return a.Control })
	return armTable{v.Definition, v.Report.Privacy != nil, rows}
}

// bar is an arm's part of the unit interval in the picture of an explanation.
type bar struct {
	Arm      string
	P, From  float64
	X, Width float64 // in per mille
	Colour   int
	Drawn    bool
}

// knownRow has the estimates of an arm at the time when the policy was made.
type knownRow struct {
	Arm     string
	Units   uint64
	Metrics []api.KnownMetric
}

// scorePart is a coordinate of the unit's context with its part of each arm's score.
type scorePart struct {
	Coordinate string
	X          float64
	Products   []float64 // in the order of the scores
}

// showScores fills in the scores of a contextual decision, coordinates first that matter most for
// the drawn arm.
func (v *explained) showScores(e *api.Explanation) {
	of := map[string]int{}
	add := func(s *policy.ArmScore) {
		for _, c := range s.Contributions {
			if _, ok := of[c.Coordinate]; !ok {
				of[c.Coordinate] = len(v.Parts)
				v.Parts = append(v.Parts, scorePart{Coordinate: c.Coordinate, X: c.X})
			}
		}
	}
	for i := range e.Scores {
		if e.Scores[i].Arm == e.Arm {
			add(&e.Scores[i])
		}
	}
	for _, s := range e.Scores {
		if !s.Retired {
			add(&s)
			v.Scores = append(v.Scores, s)
		}
	}
	for i := range v.Parts {
		v.Parts[i].Products = make([]float64, len(v.Scores))
	}
	for k := range v.Scores {
		for _, c := range v.Scores[k].Contributions {
			v.Parts[of[c.Coordinate]].Products[k] = c.Product
		}
	}
}

// show fills in the bars and the tables of an explanation. The colours of the arms go by their
// places in the report.
func (v *explained) show(e *api.Explanation, r *api.Report) {
	v.E, v.Mark = e, 1000*e.Fraction
	v.showScores(e)
	for _, d := range e.Distribution {
		b := bar{Arm: d.Arm, P: d.P, From: d.From, X: 1000 * d.From, Width: 1000 * d.P}
		b.Colour = r.Arms[d.Arm].Place % (hues * shades)
		b.Drawn = e.Fraction >= d.From && e.Fraction < d.From+d.P
		v.Bars = append(v.Bars, b)
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
