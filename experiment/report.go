package experiment

import (
	"slices"
	"time"

	"github.com/noregret/noregret/api"
	"github.com/noregret/noregret/experiment/report"
	"github.com/noregret/noregret/internal/vec"
	"github.com/noregret/noregret/pasto/optimum"
	"github.com/noregret/noregret/policy"
)

func stamp(ns int64) time.Time { return time.Unix(0, ns).UTC() }

// known returns a pointer to v, or nil if v is not finite.
func known(v float64) *float64 {
	if !vec.IsFinite(v) {
		return nil
	}
	return &v
}

// Report returns the report of an experiment. It costs O(K·M) and the length of the history.
func (s *State) Report(name string) (*api.Report, error) {
	return s.ReportPage(name, api.Page{})
}

// Guardrails returns the part of the report about guardrails, which costs little beside the whole.
func (s *State) Guardrails(name string) ([]api.GuardrailReport, error) {
	x := s.live[name]
	if x == nil {
		return nil, s.Deleted.NotThere(name)
	}
	return x.guardrails(x.facts()), nil
}

func (x *experimentState) guardrails(facts *report.Facts) []api.GuardrailReport {
	out := []api.GuardrailReport{}
	for i := range x.guards.Guards {
		out = append(out, x.guards.Report(facts.Evidence, i, facts.Mixture))
	}
	return out
}

// ReportPage returns the report of an experiment with the arms of a page only. An arm that is not
// on the page costs little.
func (s *State) ReportPage(name string, page api.Page) (*api.Report, error) {
	x := s.live[name]
	if x == nil {
		return nil, s.Deleted.NotThere(name)
	}
	r := &api.Report{
		Name: name, Description: x.roster.def.Description, State: x.Status, Version: x.rounds.Version,
		Round:   x.rounds.Round,
		Created: stamp(x.Created), Time: stamp(s.time),
		Mixture: x.roster.shares(x.joiner.Running().Mixture), Arms: map[string]api.ArmReport{},
		Feedback: x.joiner.Feedback,
		Health:   x.healthReport(), History: []api.HistoryPoint{}, Notes: []api.NoteReport{},
	}
	kept, next := pageOf(&x.roster, page)
	r.Next = next
	var regrets map[uint64]*float64
	facts := x.facts()
	values := facts.Values()
	r.Regret, regrets = facts.Regret(values, x.history())
	for k := range x.roster.Arms {
		if kept != nil && !kept[k] {
			continue
		}
		r.Arms[x.roster.Arms[k].Name] = x.roster.namedArm(k, x.joiner)
	}
	r.Uniform = x.Uniform.Report(x.roster.def, x.joiner.Returns.Factors())
	r.Conclusion, r.Ramp, r.Traffic = x.Conclusion, x.rampReport(s.time), x.roster.def.Traffic
	if x.Status == policy.Concluded {
		r.Traffic = 1
	}
	if x.outside() > 0 || x.joiner.Holdout.Units > 0 {
		h := report.Means(x.roster.def, &x.joiner.Holdout, x.joiner.Returns.Factors())
		h.Active, h.Control = true, true
		r.HoldBack = &h
	}
	deployed := x.deployed()
	if deployed != nil {
		r.Deployed = x.roster.shares(deployed)
	}
	r.Lift = facts.Lift(deployed, kept)
	r.Guardrails = x.guardrails(facts)
	r.Privacy = releaser{x}.privacyReport()
	r.Promise = x.learning.Promised
	if n := x.roster.def.Drift.Memory; n > 0 {
		r.Drift = &api.DriftReport{Memory: float64(n)}
	}
	for _, v := range x.rounds.thinned(len(x.roster.Arms)) {
		p := api.HistoryPoint{
			Version: v.Version, Round: v.Round, Time: stamp(v.Time), Cause: v.Cause,
			Mixture: x.roster.shares(v.Split.Shares()),
			Units:   v.Seen, Metrics: map[string]*float64{}, Regret: regrets[v.Version],
			Guardrails: v.Guards.Report(x.roster.def),
		}
		if v.Version == x.rounds.Version {
			p.Guardrails = pointsNow(r.Guardrails)
		}
		if v.Deployed != nil && x.roster.goals != nil {
			p.Deployed = x.roster.shares(v.Deployed)
		}
		if v.Shown != nil {
			p.Value, p.Lift = v.Shown.Value, v.Shown.Lift
		}
		for i, m := range v.Observed {
			p.Metrics[x.roster.def.Metrics[i].Name] = m
		}
		r.History = append(r.History, p)
	}
	for _, n := range x.Notes {
		r.Notes = append(r.Notes, api.NoteReport{Time: stamp(n.Time), Text: n.Text})
	}
	r.Headline = report.Headline(x.roster.def, r)
	if kept != nil {
		r.Keep(func(arm string) bool { _, ok := r.Arms[arm]; return ok })
	}
	return r, nil
}

// pageOf returns which arms belong to a page, by index, and the name of its last arm if there are
// further ones. It returns nil if the page has all arms.
func pageOf(x *roster, p api.Page) (kept []bool, next string) {
	if p == (api.Page{}) {
		return nil, ""
	}
	names, index := make([]string, len(x.Arms)), make(map[string]int, len(x.Arms))
	for k := range x.Arms {
		names[k], index[x.Arms[k].Name] = x.Arms[k].Name, k
	}
	slices.Sort(names)
	names, next = p.Of(names)
	kept = make([]bool, len(x.Arms))
	for _, name := range names {
		kept[index[name]] = true
	}
	return kept, next
}

// history returns the versions that are kept with the units that were exposed under them.
func (x *experimentState) history() []report.Version {
	out := make([]report.Version, len(x.rounds.Versions))
	for i, v := range x.rounds.Versions {
		out[i] = report.Version{Version: v.Version, Shares: v.Split.Shares(), Units: v.Seen}
		if c := x.joiner.Version(v.Version); c != nil {
			for k := range c.Mixture {
				out[i].Units += c.Stats[k].Units
			}
		}
	}
	return out
}

// deployed returns the shares that the policy would deploy, by arm, as the log says, or nil if
// there are none.
func (x *experimentState) deployed() []float64 {
	p := slices.Clone(x.learning.Deployed)
	for len(p) > 0 && len(p) < len(x.roster.Arms) {
		p = append(p, 0)
	}
	return p
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

// Optimum returns a solver for the best mixture of the active arms at their current means, which
// compare the arms within versions (docs/formats/report.md), with a certificate: no mixture is
// better by more than its Gap. It returns nil without an objective, or before anything is observed,
// and the solver returns nil if no mixture holds the hard guardrails. The solver may take long; it
// no longer reads the state.
func (s *State) Optimum(name string) (solve func() (*optimum.Optimum, error), err error) {
	x := s.live[name]
	if x == nil {
		return nil, s.Deleted.NotThere(name)
	}
	facts := x.facts()
	return facts.Optimum(facts.Values())
}
