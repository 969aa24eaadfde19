package experiment

import (
	"slices"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/api"
)

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

// guardAction is what was done about a breach. It stays when the experiment is rolled back, resumed
// or gets other guardrails.
type guardAction struct {
	Metric  string `json:"metric"`
	Action  string `json:"action"`
	Version uint64 `json:"version"`
	Time    int64  `json:"t"`
	// Logged: an event in the log says so.
	Logged bool `json:"logged,omitempty"`
}

// keepActions bounds the actions that an experiment remembers.
const keepActions = 64

// acted remembers the action of a breach.
func (x *guards) acted(a guardAction) {
	x.Actions = append(x.Actions, a)
	if n := len(x.Actions) - keepActions; n > 0 {
		x.Actions = slices.Clone(x.Actions[n:])
	}
}

// unlogged returns the events of the actions that are not in the log.
func (x *guards) unlogged(name string) (out []GuardEvent) {
	for _, a := range x.Actions {
		if !a.Logged {
			out = append(out, GuardEvent{name, a.Metric, a.Action, a.Version, a.Time})
		}
	}
	return out
}

// logged notes that an action is in the log.
func (x *guards) logged(e *GuardEvent) error {
	for i := range x.Actions {
		a := &x.Actions[i]
		if !a.Logged && a.Metric == e.Metric && a.Action == e.Action && a.Version == e.Version && a.Time == e.Time {
			a.Logged = true
			return nil
		}
	}
	return noregret.BadInputf("metric", "no guardrail on %q has done this: %s", e.Metric, e.Action)
}

// lastAction returns the last action of the guardrails on a metric, nil for none.
func (x *guards) lastAction(metric string) *api.GuardAction {
	for _, a := range slices.Backward(x.Actions) {
		if a.Metric == metric {
			return &api.GuardAction{Action: a.Action, Time: stamp(a.Time), Version: a.Version}
		}
	}
	return nil
}
