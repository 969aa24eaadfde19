package guard

import (
	"slices"
	"time"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/api"
)

// Action is what was done about a breach.
type Action struct {
	Metric string `json:"metric"`
	// Action is alert, shrink or rollback.
	Action string `json:"action"`
	// Version is the policy version that was served, and Time when it was done, in nanoseconds
	// since 1970.
	Version uint64 `json:"version"`
	Time    int64  `json:"t"`
	// Logged: an event in the log says so.
	Logged bool `json:"logged,omitempty"`
}

// mostActions bounds the actions that are remembered.
const mostActions = 64

// act remembers the action of a breach.
func (x *States) act(a Action) {
	x.Actions = append(x.Actions, a)
	if n := len(x.Actions) - mostActions; n > 0 {
		x.Actions = slices.Clone(x.Actions[n:])
	}
}

// Logged notes that an action is in the log. It returns an error if no guardrail has done it.
func (x *States) Logged(e *Action) error {
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
func (x *States) lastAction(metric string) *api.GuardAction {
	for _, a := range slices.Backward(x.Actions) {
		if a.Metric == metric {
			return &api.GuardAction{Action: a.Action, Time: time.Unix(0, a.Time).UTC(), Version: a.Version}
		}
	}
	return nil
}
