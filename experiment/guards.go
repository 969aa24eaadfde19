package experiment

import (
	"math"

	"github.com/noregret/noregret/api"
	"github.com/noregret/noregret/policy"
)

// guards holds the states of the guardrails and what they are judged by beside the arms'
// statistics.
type guards struct {
	Guards []guardState `json:"guards"`
	// Actions are the last ones, the oldest first.
	Actions []guardAction            `json:"actions,omitempty"`
	open    map[uint64]openSequences // by open version, as far as they are known
	bounds  [][]armBound             // by guardrail and arm, as far as they are known
}

// guardState is the state of one guardrail.
type guardState struct {
	State     api.GuardState `json:"state"`
	Shrinking bool           `json:"shrinking"` // the mixture is being shrunk for it
	Since     int64          `json:"since"`
	// Acted is set from the action of a breach until the breach is over.
	Acted bool `json:"acted,omitempty"`
	// Tight is where the sequence of a relative guardrail is the tightest, 0 before that is known
	// (confseq.ContrastOptions).
	Tight float64 `json:"tight,omitempty"`
}

func newGuards(n int, now int64) []guardState {
	g := make([]guardState, n)
	for i := range g {
		g[i] = guardState{State: api.GuardUnknown, Since: now}
	}
	return g
}

// classify returns the state of a guardrail by its slack.
func (b *slackBounds) classify() api.GuardState {
	switch {
	case math.IsNaN(b.estimate):
		return api.GuardUnknown
	case b.high < 0, b.estimate < 0 && b.served.high < 0:
		return api.GuardBreached
	case b.estimate < 0:
		return api.GuardWatch
	case b.low >= 0:
		return api.GuardHeld
	}
	return api.GuardOk
}

// evaluate updates the states of the guardrails for the served mixture. It returns the action of a
// new breach: "rollback", with the metric, takes precedence over "shrink"; "" means none.
func (x *guards) evaluate(in *guardInput, p []float64, version uint64, now int64,
	note func(t int64, format string, args ...any),
) (act, why string) {
	for i := range x.Guards {
		g, s := &in.def.Guardrails[i], &x.Guards[i]
		x.tighten(in, i)
		b := x.slack(in, i, p, x.cachedBounds(in.roster, i))
		state := b.classify()
		if (earlyView{in.roster}).breachedEarly(g, p) {
			state = api.GuardBreached
		}
		if state == s.State {
			continue
		}
		if state.Verdict() != s.State.Verdict() {
			note(now, "guardrail %s: %s", g.Metric, state.Verdict())
		}
		s.State, s.Since = state, now
		if state != api.GuardBreached {
			s.Acted = false
			continue
		}
		if s.Acted { // it was breached already when the experiment was rolled back
			continue
		}
		s.Acted = true
		x.acted(guardAction{Metric: g.Metric, Action: g.Action, Version: version, Time: now})
		switch g.Action {
		case "rollback":
			act, why = g.Action, g.Metric
		case "shrink":
			s.Shrinking = true
			if act == "" {
				act = g.Action
			}
		}
	}
	return act, why
}

// rolledBack ends the judgement of the guardrails: all units get the control arm.
func (x *guards) rolledBack(now int64) {
	for i := range x.Guards {
		x.Guards[i].State, x.Guards[i].Since = api.GuardRolledBack, now
	}
}

// evaluateGuardrails evaluates all guardrails and notes what they ask for: another version without
// arms that are stopped, or the action of a new breach. It does nothing while the experiment is
// rolled back, and while what they asked for before is not granted. After resume, a breach acts
// again only if it has ended meanwhile.
func (x *experimentState) evaluateGuardrails(now int64) {
	if len(x.guards.Guards) == 0 || x.Status == policy.RolledBack || x.Private != nil || x.Wanted != nil ||
		x.event.acts {
		return
	}
	in, version := x.guardInput(true), x.rounds.Version
	if x.Status == policy.Concluded { // nothing is served instead
		_, _ = x.guards.evaluate(in, x.joiner.Running().Mixture, version, now, x.note)
		for i := range x.guards.Guards {
			x.guards.Guards[i].Shrinking = false
		}
		return
	}
	if (stopper{x}).stopArms(in, now) {
		x.Wanted = &wanted{Cause: wantStop} // the guardrails are of what is served without the arms
		return
	}
	if x.event.judged > 0 {
		version = x.event.judged
	}
	switch act, metric := x.guards.evaluate(in, x.joiner.Running().Mixture, version, now, x.note); act {
	case "rollback":
		x.Wanted = &wanted{Cause: wantRollback, Metric: metric}
	case "shrink":
		x.Wanted = &wanted{Cause: wantShrink}
	}
}

// cachedBounds returns the cached bounds of the arms in a guardrail. Only code that applies events
// may call it.
func (x *guards) cachedBounds(r *roster, i int) []armBound {
	if len(x.bounds) != len(x.Guards) {
		x.bounds = make([][]armBound, len(x.Guards))
	}
	for len(x.bounds[i]) < len(r.Arms) {
		x.bounds[i] = append(x.bounds[i], armBound{})
	}
	return x.bounds[i]
}

// guardKind names the kind of a limit.
func guardKind(up, relative bool) string {
	return map[bool]string{true: "min", false: "max"}[up] + map[bool]string{true: "_change"}[relative]
}

func (x *guards) report(in *guardInput, p []float64, i int) api.GuardrailReport {
	g, s := &in.def.Guardrails[i], &x.Guards[i]
	limit, up, relative, _ := g.Limit()
	out := api.GuardrailReport{
		Metric: g.Metric, Limit: limit, State: s.State, Since: stamp(s.Since), Alpha: g.Alpha,
		Action: g.Action, Acted: x.lastAction(g.Metric),
	}
	out.Kind = guardKind(up, relative)
	if in.def.Privacy == nil { // else there are no sequences of raw feedback to judge it by
		out.Interval, out.Served = x.intervals(in, i, p, nil)
	}
	return out
}

// intervals returns the values of a mixture and of all that was served in guardrail i, in the units
// of its limit, all unknown without observations. The cached bounds are those of [guards.slack].
func (x *guards) intervals(in *guardInput, i int, p []float64, kept []armBound) (mixture, soFar api.Interval) {
	g := &in.def.Guardrails[i]
	limit, up, relative, _ := g.Limit()
	b := x.slack(in, i, p, kept)
	if math.IsNaN(b.estimate) {
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
		return api.Interval{
			Estimate: known(estimate/scale + limit), Low: known(low/scale + limit),
			High: known(high/scale + limit),
		}
	}
	now, served := 1.0, 1.0
	if relative {
		now, served = math.Abs(b.level), math.Abs(b.served.level)
	} else if j := in.def.RatioIndex(in.def.MetricIndex(g.Metric)); j >= 0 {
		now = in.denominator(j, p)
		served = in.allDenominators(j)
	}
	return value(b.estimate, b.low, b.high, now),
		value(b.served.estimate, b.served.low, b.served.high, served)
}
