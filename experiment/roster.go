package experiment

import (
	"github.com/noregret/noregret"
	"github.com/noregret/noregret/experiment/definition"
	"github.com/noregret/noregret/experiment/guard"
	"github.com/noregret/noregret/pasto"
	"github.com/noregret/noregret/policy"
)

// roster holds the definition and the arms.
type roster struct {
	def         *definition.Definition
	goals       *pasto.Goals    // nil without an objective
	priced      *pasto.Goals    // the same with prices for hard guardrails, for reports
	encoder     *policy.Encoder // of the context; nil unless the policy is contextual
	Arms        []armState      `json:"arms"`
	LearnedArms []int           `json:"learn"` // the learner's arms, as indices of Arms
	Control     int             `json:"control"`
	InitialArms int             `json:"founders"` // the number of arms at the beginning
}

// armState is the state of an arm. Retired arms stay, so that indices never change.
type armState struct {
	policy.Arm
	Active bool  `json:"active"`
	Since  int64 `json:"since"` // units of all arms when it was added
	guard.Stopped
}

// push adds an arm, with the number of units of all arms so far.
func (x *roster) push(a policy.Arm, control bool, since int64) {
	k := len(x.Arms)
	x.Arms = append(x.Arms, armState{Arm: a, Active: true, Since: since})
	if control {
		x.Control = k
	}
	if x.learns(k) {
		x.LearnedArms = append(x.LearnedArms, k)
	}
}

// learns reports whether an arm is one of the learner's: all but a control arm with a fixed share
// under the policy pasto.
func (x *roster) learns(k int) bool {
	return k != x.Control || x.def.Policy.Kind != "pasto" || x.def.LearnsControl()
}

// relist lists the learner's arms anew, after a change of the definition.
func (x *roster) relist() {
	x.LearnedArms = nil
	for k := range x.Arms {
		if x.learns(k) {
			x.LearnedArms = append(x.LearnedArms, k)
		}
	}
}

// fixedSplit returns the shares of a fixed policy, by arm; retired arms have none.
func (x *roster) fixedSplit() []float64 {
	p := make([]float64, len(x.LearnedArms))
	if x.def.Policy.Kind != "fixed" {
		return p
	}
	for i, k := range x.LearnedArms {
		p[i] = x.def.Policy.Split[x.Arms[k].Name]
	}
	return p
}

// armChanges returns the arms that a definition adds and the indices of those that it removes.
func (x *roster) armChanges(d *definition.Definition) (added []policy.Arm, retired []int, err error) {
	arms, err := d.NamedArms()
	if err != nil {
		return nil, nil, err
	}
	have := make(map[string]int, len(x.Arms))
	for k := range x.Arms {
		have[x.Arms[k].Name] = k
	}
	wanted := make(map[string]bool, len(arms))
	for _, a := range arms {
		wanted[a.Name] = true
		k, ok := have[a.Name]
		switch {
		case !ok:
			added = append(added, a)
		case !x.Arms[k].Active:
			return nil, nil, noregret.BadInputf("arms",
				"%q was retired and cannot return: give the new arm a new name", a.Name)
		case !definition.SameValue(x.Arms[k].Value, a.Value):
			return nil, nil, noregret.BadInputf("arms",
				"%q has another value: an arm's value cannot change, give the new value a new name",
				a.Name)
		}
	}
	if n := len(x.Arms) + len(added); n > 2*definition.MaxArms {
		return nil, nil, noregret.BadInputf("arms",
			"there would have been %d arms in all, more than %d: make a new experiment", n,
			2*definition.MaxArms)
	}
	for k := range x.Arms {
		if box := d.Arms.Box != nil && k != x.Control; x.Arms[k].Active && !box && !wanted[x.Arms[k].Name] {
			retired = append(retired, k)
		}
	}
	return added, retired, nil
}

// shares returns a mixture by name, without retired arms that have no share.
func (x *roster) shares(p []float64) map[string]float64 {
	out := make(map[string]float64, len(p))
	for k, v := range p {
		if v > 0 || x.Arms[k].Active {
			out[x.Arms[k].Name] = v
		}
	}
	return out
}

// setGoals makes the objective of the definition.
func (x *roster) setGoals() (err error) {
	x.goals, x.priced, x.encoder = nil, nil, nil
	if x.def.Contextual() {
		if x.encoder, err = policy.NewEncoder(x.def.Context); err != nil {
			return err
		}
	}
	if x.def.Objective == nil {
		return nil
	}
	if x.goals, err = x.def.Goals(); err != nil {
		return err
	}
	x.priced, err = x.def.PricedGoals()
	return err
}
