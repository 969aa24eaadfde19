package guard

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/noregret/noregret/api"
	"github.com/noregret/noregret/experiment/compare"
	"github.com/noregret/noregret/experiment/definition"
	"github.com/noregret/noregret/internal/vec"
)

// States are the states of an experiment's guardrails and what they have done. Create them with
// [New]. They are not safe for concurrent use.
type States struct {
	// Guards are the states of the guardrails, in the order of the definition.
	Guards []State `json:"guards"`
	// Actions are the last ones, at most 64, the oldest first. They stay when the experiment is
	// rolled back, resumed or gets other guardrails.
	Actions []Action `json:"actions,omitempty"`
	// Early are the comparisons of early values with the control's, by guardrail that has them,
	// ascending.
	Early []Versus `json:"early_contrasts,omitempty"`
}

// State is the state of one guardrail.
type State struct {
	State     api.GuardState `json:"state"`
	Shrinking bool           `json:"shrinking"` // the mixture is being shrunk for it
	Since     int64          `json:"since"`     // of State, in nanoseconds since 1970
	// Acted is set from the action of a breach until the breach is over.
	Acted bool `json:"acted,omitempty"`
	// Tight is where the sequence of a relative guardrail is the tightest, 0 before that is known
	// (confseq.ContrastOptions).
	Tight float64 `json:"tight,omitempty"`
}

// New returns the states of a definition's guardrails at a time. Early values count from a policy
// version on.
func New(d *definition.Definition, from uint64, now int64) States {
	var x States
	x.Reset(d, from, now)
	return x
}

// Reset begins the judgement anew, of the guardrails of a definition. What they have done stays.
func (x *States) Reset(d *definition.Definition, from uint64, now int64) {
	x.Guards = make([]State, len(d.Guardrails))
	for i := range x.Guards {
		x.Guards[i] = State{State: api.GuardUnknown, Since: now}
	}
	x.begin(d, from)
}

// Copy returns a copy that shares nothing with x.
func (x *States) Copy() States {
	y := States{slices.Clone(x.Guards), slices.Clone(x.Actions), slices.Clone(x.Early)}
	for i := range y.Early {
		y.Early[i] = y.Early[i].copy()
	}
	return y
}

// Fits reports whether the states may be those of a definition and a number of arms.
func (x *States) Fits(d *definition.Definition, arms int) bool {
	return len(x.Guards) == len(d.Guardrails) && x.earlyFits(d, arms)
}

// RolledBack ends the judgement of the guardrails: all units get the control arm.
func (x *States) RolledBack(now int64) {
	for i := range x.Guards {
		x.Guards[i].State, x.Guards[i].Since = api.GuardRolledBack, now
	}
}

// Causes of a version that guardrails ask for.
const (
	Stop     = "arm stopped"
	Shrink   = "shrunk"
	Rollback = "rolled back by a guardrail"
)

// Demand is the policy version that guardrails ask for. The event that begins it grants it.
type Demand struct {
	// Cause is the reason of the version: [Stop], [Shrink] or [Rollback].
	Cause string `json:"cause"`
	// Metric is that of the guardrail which asks for a rollback.
	Metric string `json:"metric,omitempty"`
}

// Judgement says what is judged, and when.
type Judgement struct {
	// Mixture is served, by arm, and Version is the policy version of which breaches are recorded.
	Mixture []float64
	Version uint64
	// Now is the time, in nanoseconds since 1970.
	Now int64
	// Over is whether nothing else is served whatever guardrails say: no arm is stopped, and no
	// mixture shrunk.
	Over bool
}

// Verdict is the result of a judgement.
type Verdict struct {
	// Demand is what the guardrails ask for, nil for nothing.
	Demand *Demand
	// Vetoed is whether an arm was stopped until its veto is lifted.
	Vetoed bool
	// Notes say what has changed, in words.
	Notes []string
}

func (v *Verdict) note(format string, args ...any) {
	v.Notes = append(v.Notes, fmt.Sprintf(format, args...))
}

// Judge updates the states of the guardrails by the evidence, and stops arms that by themselves
// break one. Without a stop it judges the served mixture; of new breaches a rollback takes
// precedence over shrinking. After a breach a guardrail acts again only if the breach has ended
// meanwhile. It costs O(guardrails·K).
func (x *States) Judge(e *Evidence, arms []Arm, j *Judgement) (v Verdict) {
	if !j.Over && x.stopArms(e, arms, j.Mixture, &v) {
		v.Demand = &Demand{Cause: Stop} // the guardrails are of what is served without the arms
		return v
	}
	for i := range x.Guards {
		x.judge(e, i, j, &v)
	}
	if j.Over {
		v.Demand = nil
		for i := range x.Guards {
			x.Guards[i].Shrinking = false
		}
	}
	return v
}

// judge judges guardrail i.
func (x *States) judge(e *Evidence, i int, j *Judgement, v *Verdict) {
	g, s := &e.Definition.Guardrails[i], &x.Guards[i]
	x.tighten(e, i)
	b := x.Slack(e, i, j.Mixture)
	state := b.State()
	if e.breachedEarly(g, j.Mixture) {
		state = api.GuardBreached
	}
	if state == s.State {
		return
	}
	if state.Verdict() != s.State.Verdict() {
		v.note("guardrail %s: %s", g.Metric, state.Verdict())
	}
	s.State, s.Since = state, j.Now
	if state != api.GuardBreached {
		s.Acted = false
		return
	}
	if s.Acted { // it was breached already when the experiment was rolled back
		return
	}
	s.Acted = true
	x.act(Action{Metric: g.Metric, Action: g.Action, Version: j.Version, Time: j.Now})
	switch g.Action {
	case "rollback":
		v.Demand = &Demand{Cause: Rollback, Metric: g.Metric}
	case "shrink":
		s.Shrinking = true
		if v.Demand == nil {
			v.Demand = &Demand{Cause: Shrink}
		}
	}
}

// tighten fixes where the sequence of a relative guardrail is the tightest, as soon as there is
// enough to say.
func (x *States) tighten(e *Evidence, i int) {
	g := &e.Definition.Guardrails[i]
	if _, _, relative, _ := g.Limit(); relative && !(x.Guards[i].Tight > 0) {
		c := e.Compared(e.Definition.MetricIndex(g.Metric))
		x.Guards[i].Tight = c.Served.Tight(e.change(g))
	}
}

// Kind names the kind of a limit: min, max, min_change or max_change.
func Kind(up, relative bool) string {
	return map[bool]string{true: "min", false: "max"}[up] + map[bool]string{true: "_change"}[relative]
}

// Report returns the report of guardrail i for a mixture. That of a private experiment has no
// intervals, as there are no sequences of raw feedback to judge it by.
func (x *States) Report(e *Evidence, i int, p []float64) api.GuardrailReport {
	g, s := &e.Definition.Guardrails[i], &x.Guards[i]
	limit, up, relative, _ := g.Limit()
	out := api.GuardrailReport{
		Metric: g.Metric, Limit: limit, State: s.State, Since: time.Unix(0, s.Since).UTC(), Alpha: g.Alpha,
		Action: g.Action, Acted: x.lastAction(g.Metric), Kind: Kind(up, relative),
	}
	if e.Definition.Privacy == nil {
		out.Interval, out.Served = x.Intervals(e, i, p)
	}
	return out
}

// Intervals returns the values of a mixture and of all that was served in guardrail i, in the units
// of its limit, all unknown without observations.
func (x *States) Intervals(e *Evidence, i int, p []float64) (mixture, soFar api.Interval) {
	g := &e.Definition.Guardrails[i]
	limit, up, relative, _ := g.Limit()
	b := x.Slack(e, i, p)
	if math.IsNaN(b.Estimate) {
		return mixture, soFar
	}
	// From the slack to the value: y = slack + limit; a change is slack/|control| + limit; a ratio
	// of means slack/denominator + limit.
	value := func(estimate, low, high, scale float64) api.Interval {
		if !(scale > 0) {
			return api.Interval{}
		}
		if !up {
			estimate, low, high = -estimate, -high, -low
		}
		return Interval(estimate/scale+limit, low/scale+limit, high/scale+limit)
	}
	now, served := 1.0, 1.0
	if relative {
		now, served = math.Abs(b.Level), math.Abs(b.Served.Level)
	} else if r := e.Definition.RatioIndex(e.Definition.MetricIndex(g.Metric)); r >= 0 {
		now, served = e.denominators(r, p)
	}
	return value(b.Estimate, b.Low, b.High, now),
		value(b.Served.Estimate, b.Served.Low, b.Served.High, served)
}

// denominators returns the mean of a ratio's denominator in a mixture, and over all units.
func (e *Evidence) denominators(ratio int, p []float64) (mixture, all float64) {
	sum := compare.NewStats(e.Definition)
	for k := range e.Joined.Arms {
		sum.Pairs[ratio].Merge(e.Stats(k).Pairs[ratio])
		if k < len(p) {
			mixture += float64(p[k] * e.Stats(k).Pairs[ratio].Y)
		}
	}
	return mixture, sum.Pairs[ratio].Y
}

// Interval returns an interval of a report: what is not finite is not known.
func Interval(estimate, low, high float64) api.Interval {
	known := func(v float64) *float64 {
		if !vec.IsFinite(v) {
			return nil
		}
		return &v
	}
	return api.Interval{Estimate: known(estimate), Low: known(low), High: known(high)}
}
