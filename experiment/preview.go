package experiment

import (
	"fmt"
	"slices"

	"github.com/noregret/noregret/api"
	"github.com/noregret/noregret/experiment/definition"
)

// Preview returns what applying a definition would change, or the error with which that would be
// refused. It changes nothing: it applies the definition to a copy of the experiment.
func (s *State) Preview(d *definition.Definition, now int64) (*api.Applied, error) {
	x := s.live[d.Name]
	p := &api.Preview{Changes: []api.FieldChange{}, Evidence: []string{}}
	out := &api.Applied{Name: d.Name, Created: x == nil, Preview: p}
	var before *definition.Definition
	if x != nil {
		before, out.Version = x.roster.def, x.rounds.Version
	}
	events, err := s.Plan(d, now)
	if err != nil {
		return nil, err
	}
	y := x
	for _, e := range events { // one at most
		t, err := attempt(s, d.Name, e)
		if err != nil {
			return nil, err
		}
		defer t.drop()
		if p.Changes, err = definition.Diff(before, d); err != nil {
			return nil, err
		}
		y, out.Changed = t.state.live[d.Name], true
	}
	p.Next, p.Shares = y.rounds.Version, previewShares(x, y)
	switch {
	case out.Created:
		p.Evidence = append(p.Evidence, "the experiment begins without evidence")
		if last := s.gone[d.Name]; last > 0 {
			p.Evidence = append(p.Evidence, fmt.Sprintf("the deleted experiment of this name, whose last version was "+
				"%d, leaves nothing", last))
		}
	case out.Changed:
		p.Evidence = x.evidence(y)
	}
	return out, nil
}

// previewShares lists the shares of the arms that have one before a change, after it, or both.
func previewShares(x, y *experimentState) []api.ShareChange {
	n := len(y.roster.Arms)
	out := make([]api.ShareChange, 0, n)
	after := y.rounds.served(n).Shares()
	var before []float64
	if x != nil {
		before = x.rounds.served(n).Shares() // the change keeps the indices of arms
	}
	for k := range n {
		c := api.ShareChange{Arm: y.roster.Arms[k].Name, After: after[k]}
		if before != nil {
			c.Before = before[k]
		}
		if y.roster.Arms[k].Active || c.Before > 0 {
			out = append(out, c)
		}
	}
	return out
}

// evidence says what y, which x becomes by a change of its definition, keeps of what x has learned.
func (x *experimentState) evidence(y *experimentState) []string {
	before, after := x.roster.def, y.roster.def
	out := []string{fmt.Sprintf("kept: the counts of all arms, of %d units; feedback for units of earlier versions "+
		"counts until their windows close", x.joiner.Units())}
	add := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	changed := 0
	for k := range y.roster.Arms {
		name := y.roster.Arms[k].Name
		switch {
		case k >= len(x.roster.Arms):
			changed++
			add("new: arm %s has no evidence", name)
		case x.roster.Arms[k].Active && !y.roster.Arms[k].Active && after.Arms.Box == nil:
			changed++
			add("retired: arm %s cannot return under its name; its evidence stays", name)
		}
	}
	planned := x.roster
	planned.def = after
	switch {
	case y.roster.goals == nil:
	case before.Mixes() && after.Mixes(): // its sums do not depend on what is wanted
		add("kept: the learner and what it has learned")
	case relearns(&planned, before, changed):
		add("anew: the learner, which learns again from what earlier rounds have shown")
	default:
		add("kept: the learner and what it has learned")
	}
	if !sameJSON(before.Guardrails, after.Guardrails) {
		add("anew: the states of the guardrails, judged by the feedback of all units so far")
	}
	for i := range y.Sequences {
		if m := y.Sequences[i].Metric; x.Sequences.Of(m) == nil {
			add("anew: the comparison of %s with the control arm, which counts no unit whose window has closed",
				after.Metrics[m].Name)
		}
	}
	if !sameJSON(before.Ramp, after.Ramp) {
		switch n := len(after.Ramp); {
		case y.Ramp.Stage < n:
			add("anew: the ramp, in stage %d of %d", y.Ramp.Stage+1, n)
		case len(before.Ramp) > 0 && x.Ramp.Stage < len(before.Ramp):
			add("over: the ramp; the learned mixture gets all of the traffic")
		}
	}
	return slices.Clip(out)
}
