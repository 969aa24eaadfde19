package server

import (
	"encoding/json"
	"time"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/api"
	"github.com/noregret/noregret/policy"
)

// repeater repeats the decisions that clients made by copies of policies. It belongs to a request.
type repeater struct {
	live     *liveState
	table    *policyTable
	policies map[string]map[uint64]*policy.Policy
}

// token returns the token, not signed, of a decision, and its context: nil if the policy looks at
// none. It needs the policy of the decision's version, which the service keeps for some time
// (experiment.State.PolicyAt).
func (a *repeater) token(d *api.Decided, now time.Time) (t policy.Token, context json.RawMessage, err error) {
	e := a.table.get(d.Experiment)
	if e == nil {
		return t, nil, a.table.noSuch(d.Experiment)
	}
	if err := policy.CheckUnit("decided.unit", d.Unit); err != nil {
		return t, nil, err
	}
	if err := checkContext("decided.context", d.Context); err != nil {
		return t, nil, err
	}
	at := time.UnixMilli(d.Time).UTC()
	switch {
	case d.Time < 0:
		return t, nil, noregret.BadInputf("decided.time", "%d: want milliseconds since 1970", d.Time)
	case at.Sub(now) > policy.Tolerance:
		return t, nil, policy.Early
	}
	p, err := a.policy(d.Experiment, d.Version, e)
	if err != nil {
		return t, nil, err
	}
	var by policy.Assignment
	switch {
	case p.Linear != nil:
		x, err := p.Linear.Encoder().Encode(nil, d.Context)
		if err != nil {
			return t, nil, err
		}
		by, context = p.DecideIn(d.Unit, x), d.Context
	case e.encoder == nil && len(d.Context) > 0:
		return t, nil, noregret.BadInputf("decided.context", "the policy does not look at it: want none")
	default:
		by = p.Decide(d.Unit)
	}
	return policy.Token{
		Experiment: d.Experiment, Version: by.Version, Arm: by.Arm, Propensity: by.Propensity, Unit: by.Unit, Time: at,
	}, context, nil
}

// policy returns the policy of a version.
func (a *repeater) policy(name string, version uint64, e *entry) (*policy.Policy, error) {
	if e.policy.Version == version {
		return e.policy, nil
	}
	if p := a.policies[name][version]; p != nil {
		return p, nil
	}
	a.live.mu.RLock()
	p, err := a.live.state.PolicyAt(name, version)
	a.live.mu.RUnlock()
	if err != nil {
		return nil, err
	}
	if a.policies == nil {
		a.policies = map[string]map[uint64]*policy.Policy{}
	}
	if a.policies[name] == nil {
		a.policies[name] = map[uint64]*policy.Policy{}
	}
	a.policies[name][version] = p
	return p, nil
}
