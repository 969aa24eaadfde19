package experiment

import (
	"cmp"
	"errors"
	"math"
	"slices"
	"time"

	"github.com/noregret/noregret/api"
	"github.com/noregret/noregret/experiment/report"
	"github.com/noregret/noregret/internal/vec"
	"github.com/noregret/noregret/pasto"
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
		Feedback:   x.joiner.Feedback,
		Guardrails: []api.GuardrailReport{}, Health: x.healthReport(), History: []api.HistoryPoint{},
		Notes: []api.NoteReport{},
	}
	kept, next := pageOf(&x.roster, page)
	r.Next = next
	var regrets map[uint64]*float64
	r.Regret, regrets = x.regret()
	for k := range x.roster.Arms {
		if kept != nil && !kept[k] {
			continue
		}
		r.Arms[x.roster.Arms[k].Name] = x.roster.namedArm(k, x.joiner.Returns.Factors())
	}
	r.Uniform = uniformView{x}.report()
	r.Conclusion, r.Ramp, r.Traffic = x.Conclusion, ramp{x}.report(s.time), x.roster.def.Traffic
	if x.Status == policy.Concluded {
		r.Traffic = 1
	}
	if x.outside() > 0 || x.joiner.Holdout.Units > 0 {
		h := x.roster.armReport(&x.joiner.Holdout, x.joiner.Returns.Factors())
		h.Active, h.Control = true, true
		r.HoldBack = &h
	}
	deployed := lifter{x}.deployed()
	if deployed != nil {
		r.Deployed = x.roster.shares(deployed)
	}
	r.Lift = lifter{x}.report(deployed, kept)
	in := x.guardInput(false)
	for i := range x.guards.Guards {
		r.Guardrails = append(r.Guardrails, x.guards.report(in, x.joiner.Running().Mixture, i))
	}
	r.Privacy = releaser{x}.privacyReport()
	r.Promise, r.Drift = x.learning.Promised, forgottenView{x}.report()
	for _, v := range x.rounds.thinned(len(x.roster.Arms)) {
		p := api.HistoryPoint{
			Version: v.Version, Round: v.Round, Time: stamp(v.Time), Cause: v.Cause,
			Mixture: x.roster.shares(v.Split.Shares()),
			Units:   v.Seen, Metrics: map[string]*float64{}, Regret: regrets[v.Version],
			Guardrails: v.Guards.report(x.roster.def),
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
	for _, n := range x.notes() {
		r.Notes = append(r.Notes, api.NoteReport{Time: stamp(n.Time), Text: n.Text})
	}
	r.Headline = report.Headline(x.roster.def, r)
	if kept != nil {
		r.Keep(func(arm string) bool { _, ok := r.Arms[arm]; return ok })
	}
	return r, nil
}

// notes returns the notes with those of the learner, in the order of their times.
func (x *experimentState) notes() []Note {
	all := slices.Concat(x.learning.told.Notes, x.Notes)
	slices.SortStableFunc(all, func(a, b Note) int { return cmp.Compare(a.Time, b.Time) })
	return all[max(len(all)-keepNotes, 0):]
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

// regret computes the regret against the best single arm, in total and per unit up to each version.
func (x *experimentState) regret() (*api.Regret, map[uint64]*float64) {
	means, seen := valuer{x}.means()
	if means == nil {
		return nil, nil
	}
	r := &api.Regret{}
	best, arm, held := math.Inf(-1), -1, false
	for k := range means {
		if !seen[k] || !x.roster.Arms[k].Active {
			continue
		}
		// arms that hold the hard guardrails come first
		v, holds := x.roster.priced.Value(means[k]), vec.IsFinite(x.roster.goals.Value(means[k]))
		if holds && !held || holds == held && v > best {
			best, arm, held = v, k, holds
		}
	}
	if arm < 0 {
		return r, nil
	}
	r.BestSingle.Arm, r.BestSingle.Value = x.roster.Arms[arm].Name, known(best)
	if v, ok := x.roster.valueBy(x.joiner.Running().Mixture, means, seen); ok {
		r.Mixture = &v
	}
	sum, course := 0.0, make(map[uint64]*float64, len(x.rounds.Versions))
	for _, v := range x.rounds.Versions {
		units := v.Seen
		if c := x.joiner.Version(v.Version); c != nil {
			for k := range c.Mixture {
				units += c.Stats[k].Units
			}
		}
		if value, ok := x.roster.valueBy(v.Split.Shares(), means, seen); ok && units > 0 {
			sum += float64(value * float64(units))
			r.Units += units
			course[v.Version] = known(best - sum/float64(r.Units))
		}
	}
	if r.Units > 0 {
		average := sum / float64(r.Units)
		r.Average, r.PerUnit, r.Total = known(average), known(best-average),
			known(float64((best-average)*float64(r.Units)))
	}
	return r, course
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
	means, seen := valuer{x}.means()
	var arms []int
	for k := range means {
		if seen[k] && x.roster.Arms[k].Active {
			arms = append(arms, k)
		}
	}
	if len(arms) == 0 {
		return nil, nil
	}
	t, err := pasto.NewTable(len(arms), x.roster.goals.Dim())
	if err != nil {
		return nil, err
	}
	for i, k := range arms {
		copy(t.Arm(i), means[k])
	}
	goals, all := x.roster.goals, len(x.roster.Arms)
	return func() (*optimum.Optimum, error) {
		o, err := optimum.Maximize(goals, t, optimum.Options{Tolerance: 1e-6, Iterations: 10_000})
		if _, impossible := errors.AsType[*optimum.Infeasible](err); impossible {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		p := make([]float64, all)
		for i, k := range arms {
			p[k] = o.Mixture[i]
		}
		o.Mixture = p
		return o, nil
	}, nil
}
