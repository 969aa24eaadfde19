package experiment

import (
	"errors"
	"math"
	"time"

	"github.com/noregret/noregret/pasto"
	"github.com/noregret/noregret/pasto/optimum"
	"github.com/noregret/noregret/policy"
)

func stamp(ns int64) time.Time { return time.Unix(0, ns).UTC() }

// known returns a pointer to v, or nil if v is not finite.
func known(v float64) *float64 {
	if !finite(v) {
		return nil
	}
	return &v
}

// Report returns the report of an experiment. It costs O(K·M) and the length of the history.
func (s *State) Report(name string) (*policy.Report, error) {
	x := s.live[name]
	if x == nil {
		return nil, notThere(name)
	}
	r := &policy.Report{
		Name: name, Description: x.def.Description, State: x.Status, Version: x.Version, Round: x.Round,
		Created: stamp(x.Created), Time: stamp(s.time),
		Mixture: x.shares(x.running().Mixture), Arms: map[string]policy.ArmReport{},
		Feedback:   x.Feedback,
		Guardrails: []policy.GuardrailReport{}, Health: x.healthReport(), History: []policy.HistoryPoint{},
		Notes: []policy.NoteReport{},
	}
	var regrets map[uint64]*float64
	r.Regret, regrets = x.regret()
	for k := range x.Arms {
		r.Arms[x.Arms[k].Name] = x.namedArm(k)
	}
	r.Conclusion, r.Ramp, r.Traffic = x.Conclusion, ramp{x}.report(s.time), x.def.Traffic
	if x.Status == policy.Concluded {
		r.Traffic = 1
	}
	if x.outside() > 0 || x.Holdout.Units > 0 {
		h := x.armReport(&x.Holdout)
		h.Active, h.Control = true, true
		r.HoldBack = &h
	}
	in := x.guardInput(false)
	for i := range x.Guards {
		r.Guardrails = append(r.Guardrails, x.guards.report(in, x.running().Mixture, i))
	}
	for _, v := range x.thinned(len(x.Arms)) {
		p := policy.HistoryPoint{
			Version: v.Version, Round: v.Round, Time: stamp(v.Time), Cause: v.Cause,
			Mixture: x.shares(v.Split.Shares()), Value: v.Value,
			Units: v.Seen, Metrics: map[string]*float64{}, Regret: regrets[v.Version],
		}
		for i, m := range v.Observed {
			p.Metrics[x.def.Metrics[i].Name] = m
		}
		r.History = append(r.History, p)
	}
	for _, n := range x.Notes {
		r.Notes = append(r.Notes, policy.NoteReport{Time: stamp(n.Time), Text: n.Text})
	}
	return r, nil
}

// regret computes the regret against the best single arm, in total and per unit up to each version.
func (x *experimentState) regret() (*policy.Regret, map[uint64]*float64) {
	means, seen := x.means()
	if means == nil {
		return nil, nil
	}
	r := &policy.Regret{}
	best, arm := math.Inf(-1), -1
	for k := range means {
		if v := x.priced.Value(means[k]); seen[k] && x.Arms[k].Active && v > best {
			best, arm = v, k
		}
	}
	if arm < 0 {
		return r, nil
	}
	r.BestSingle.Arm, r.BestSingle.Value = x.Arms[arm].Name, known(best)
	if v, ok := x.valueBy(x.running().Mixture, means, seen); ok {
		r.Mixture = &v
	}
	sum, course := 0.0, make(map[uint64]*float64, len(x.Versions))
	for _, v := range x.Versions {
		units := v.Seen
		if c := x.cohortOf(v.Version); c != nil {
			for k := range c.Mixture {
				units += c.Stats[k].Units
			}
		}
		if value, ok := x.valueBy(v.Split.Shares(), means, seen); ok && units > 0 {
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

// Optimum returns a solver for the best mixture of the active arms at their current means, with a
// certificate: no mixture is better by more than its Gap. It returns nil without an objective, or
// before anything is observed, and the solver returns nil if no mixture holds the hard guardrails. The solver may take long; it no longer reads the
// state.
func (s *State) Optimum(name string) (solve func() (*optimum.Optimum, error), err error) {
	x := s.live[name]
	if x == nil {
		return nil, notThere(name)
	}
	means, seen := x.means()
	var arms []int
	for k := range means {
		if seen[k] && x.Arms[k].Active {
			arms = append(arms, k)
		}
	}
	if len(arms) == 0 {
		return nil, nil
	}
	t, err := pasto.NewTable(len(arms), x.goals.Dim())
	if err != nil {
		return nil, err
	}
	for i, k := range arms {
		copy(t.Arm(i), means[k])
	}
	goals, all := x.goals, len(x.Arms)
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
