package experiment

import (
	"slices"

	"github.com/noregret/noregret/experiment/compare"
	"github.com/noregret/noregret/experiment/guard"
	"github.com/noregret/noregret/experiment/join"
	"github.com/noregret/noregret/experiment/report"
	"github.com/noregret/noregret/policy"
)

// guards has the states of the guardrails, and what is kept of their evidence.
type guards struct {
	guard.States
	cache *guard.Cache
}

// GuardEvent is the payload of [KindGuardrail].
type GuardEvent struct {
	Experiment string `json:"experiment"`
	// Metric is that of the guardrail.
	Metric string `json:"metric"`
	// Action is what was done: alert, shrink or rollback.
	Action string `json:"action"`
	// Version is the policy version that was served when the guardrail was breached.
	Version uint64 `json:"version"`
	// Time is when it was done, in nanoseconds since 1970.
	Time int64 `json:"t"`
}

// events returns what the guardrails of an experiment have done, the oldest first, or of that what
// is not in the log.
func (x *guards) events(name string, unlogged bool) (out []GuardEvent) {
	for _, a := range x.Actions {
		if !unlogged || !a.Logged {
			out = append(out, GuardEvent{name, a.Metric, a.Action, a.Version, a.Time})
		}
	}
	return out
}

// guardEvidence returns what the guardrails are judged by. Only code that applies events may pass
// fold.
func (x *experimentState) guardEvidence(fold bool) *guard.Evidence {
	return &guard.Evidence{
		Definition: x.roster.def, Control: x.roster.Control, Initial: x.roster.InitialArms, Joined: x.joiner,
		Closed: x.Sequences, Cache: x.guards.cache, Fold: fold,
	}
}

// stoppable returns the arms as guardrails see them.
func (x *roster) stoppable() []guard.Arm {
	out := make([]guard.Arm, len(x.Arms))
	for k := range out {
		a := &x.Arms[k]
		out[k] = guard.Arm{Name: a.Name, Active: a.Active, Stopped: &a.Stopped}
	}
	return out
}

// evaluateGuardrails judges all guardrails and notes what they ask for: another version without
// arms that are stopped, or the action of a new breach. It does nothing while the experiment is
// rolled back, and while what they asked for before is not granted.
func (x *experimentState) evaluateGuardrails(now int64) {
	if len(x.guards.Guards) == 0 || x.Status == policy.RolledBack || x.Private != nil || x.Wanted != nil ||
		x.event.acts {
		return
	}
	j := guard.Judgement{
		Mixture: x.joiner.Running().Mixture, Version: x.rounds.Version, Now: now, Over: x.Status == policy.Concluded,
	}
	if x.event.judged > 0 && !j.Over {
		j.Version = x.event.judged
	}
	v := x.guards.Judge(x.guardEvidence(true), x.roster.stoppable(), &j)
	x.tellVerdict(&v, now)
	x.Wanted = v.Demand
}

// tellVerdict notes what a verdict says, and plans without the arms that it vetoes.
func (x *experimentState) tellVerdict(v *guard.Verdict, now int64) {
	for _, text := range v.Notes {
		x.note(now, "%s", text)
	}
	if v.Vetoed {
		stopper{x}.replan()
	}
}

// closeGuarded adds metrics of a version whose window has closed to what guardrails and reports
// compare. Complete is whether all metrics of the goals have closed now.
func (x *experimentState) closeGuarded(c *join.Closed, complete bool) {
	e := x.guardEvidence(true)
	x.Sequences.Add(c.Metrics, func(metric int) *compare.Sequence {
		return guard.Compare(x.roster.def, x.roster.Control, c.Version, metric)
	})
	x.Tight.Fix(len(x.roster.Arms), x.Sequences.Of)
	x.guards.Close(e, c)
	if complete {
		x.Uniform = x.Uniform.Close(x.roster.def, c.Version, stopView{&x.roster}.planned)
	}
}

// sealGuarded records what is known of the guardrails when the running version ends.
func (x *experimentState) sealGuarded() {
	running := x.joiner.Running()
	x.Tight.Fix(len(x.roster.Arms), func(metric int) *compare.Sequence {
		s := x.Sequences.Of(metric).Copy()
		s.Merge(guard.Compare(x.roster.def, x.roster.Control, running, metric))
		return &s
	})
	x.recordGuards()
}

// recordGuards records the intervals of the guardrails when the running version ends, or before
// they change. It leaves a version as it is whose guardrails have changed.
func (x *experimentState) recordGuards() {
	if len(x.guards.Guards) == 0 || x.Private != nil {
		return
	}
	v := x.rounds.current()
	if now := x.guards.Points(x.guardEvidence(true), x.joiner.Running().Mixture, v.Guards); now != nil {
		v.Guards = now // copies of the state share the slice
	}
}

// facts returns what is reported from.
func (x *experimentState) facts() *report.Facts {
	out := &report.Facts{
		Evidence: x.guardEvidence(false), States: &x.guards.States, Goals: x.roster.goals, Priced: x.roster.priced,
		Store: x.learning.Store, Tight: x.Tight,
	}
	for k := range x.roster.Arms {
		a := &x.roster.Arms[k]
		out.Arms = append(out.Arms, report.Arm{Name: a.Name, Active: a.Active})
	}
	if len(x.joiner.Versions) > 0 {
		out.Mixture = x.joiner.Running().Mixture
	}
	return out
}

// course returns what reports show of a mixture that is served from now on, nil without an
// objective.
func (x *experimentState) course(s *Serving) *shown {
	if x.roster.goals == nil {
		return nil
	}
	f, now := x.facts(), s.Shares.Shares()
	return &shown{Value: f.Values().Of(now), Lift: f.LiftPoint(now, s.Deployed)}
}

// withoutShown returns a copy without what only reports show: the guardrails' points and the values
// of versions and of the conclusion, where lifts are tightest and the comparison with the uniform
// policy; and without the learners. Nothing in the fold depends on them, so a digest leaves them
// out.
func (f *Frozen) withoutShown() *Frozen {
	out := *f
	out.saved.Experiments = slices.Clone(f.saved.Experiments)
	for i := range out.saved.Experiments {
		e := &out.saved.Experiments[i]
		parts := *e.State
		parts.Tight, parts.Uniform, e.Learner = nil, nil, nil
		if c := parts.Conclusion; c != nil {
			d := *c
			d.Value, parts.Conclusion = nil, &d
		}
		parts.Versions = make([]*version, len(e.State.Versions))
		for k, v := range e.State.Versions {
			w := *v
			w.Guards, w.Shown = nil, nil
			parts.Versions[k] = &w
		}
		e.State = &parts
	}
	return &out
}
