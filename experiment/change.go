package experiment

import (
	"bytes"
	"maps"
	"slices"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/experiment/definition"
	"github.com/noregret/noregret/internal/strictjson"
	"github.com/noregret/noregret/policy"
)

// clone copies what a change may change. The original must not be used for anything after the copy
// has been.
func (x *live) clone() (*live, error) {
	y := *x
	y.Arms, y.Learn, y.Guards = slices.Clone(x.Arms), slices.Clone(x.Learn), slices.Clone(x.Guards)
	y.Ratio.Streams, y.Ratio.Seen, y.Ratio.Expected = slices.Clone(x.Ratio.Streams), slices.Clone(x.Ratio.Seen),
		slices.Clone(x.Ratio.Expected)
	y.Versions, y.Notes, y.Recent, y.cohorts = slices.Clone(x.Versions), slices.Clone(x.Notes), slices.Clone(x.Recent),
		slices.Clone(x.cohorts)
	last := *x.cohorts[len(x.cohorts)-1]
	y.cohorts[len(y.cohorts)-1] = &last
	b, err := x.learner.MarshalBinary()
	if err != nil {
		return nil, err
	}
	return &y, y.restoreLearner(b)
}

// restoreLearner makes the learner of a saved one.
func (x *live) restoreLearner(saved []byte) error {
	m, err := makeLearner(x.def, len(x.Learn), x.fixedSplit())
	if err != nil {
		return err
	}
	if err := m.UnmarshalBinary(saved); err != nil {
		return err
	}
	x.learner = m
	return nil
}

func withReason(what, reason string) string {
	if reason != "" {
		return what + ": " + reason
	}
	return what
}

func (x *live) pause(now int64, reason string) error {
	if x.Status != policy.Running {
		return noregret.BadInputf("state", "it is %s: only a running experiment can be paused", x.Status)
	}
	if err := x.room(); err != nil {
		return err
	}
	x.Status = policy.Paused
	x.note(now, "%s", withReason("paused", reason))
	return x.renewWith(now, "paused", x.served())
}

func (x *live) resume(now int64, reason string) error {
	if x.Status == policy.Running {
		return noregret.BadInputf("state", "it is running already")
	}
	if err := x.room(); err != nil {
		return err
	}
	x.Status = policy.Running
	x.RoundStart, x.RoundSeen = now, 0
	x.note(now, "%s", withReason("resumed", reason))
	return x.renew(now, "resumed")
}

func (x *live) rollback(now int64, what, reason string) error {
	if x.Control < 0 {
		return noregret.BadInputf("state", "there is no control arm to roll back to: pause or delete the experiment")
	}
	if x.Status == policy.RolledBack {
		return noregret.BadInputf("state", "it is rolled back already")
	}
	x.Status = policy.RolledBack
	x.note(now, "%s", withReason(what, reason))
	return x.renew(now, what)
}

// frozen are the fields that a running experiment keeps, by what they are compared as.
func frozenFields(d *definition.Definition) map[string]any {
	control := ""
	if d.Control != nil {
		control = d.Control.Arm
	}
	frozen := map[string]any{
		"unit": d.Unit, "salt": d.Salt, "control.arm": control, "metrics": d.Metrics, "hold_back": d.HoldBack,
		"stickiness": d.Stickiness,
		"exposure":   d.Exposure, "policy.kind": d.Policy.Kind, "arms.box": d.Arms.Box,
	}
	if d.Arms.Box != nil { // the points were chosen for it
		frozen["objective"], frozen["guardrails"] = d.Objective, d.Guardrails
		frozen["arms.nodes"], frozen["arms.every"] = d.Arms.Nodes, d.Arms.Every
	}
	return frozen
}

// learning is what a maker is made of: another one is taught anew.
func learningFields(d *definition.Definition) any {
	return []any{d.Objective, d.Guardrails, d.Policy, d.Drift}
}

func sameJSON(a, b any) bool {
	x, err := strictjson.Encode(a)
	y, err2 := strictjson.Encode(b)
	return err == nil && err2 == nil && bytes.Equal(x, y)
}

// redefine takes a new definition of the running experiment, arms that come and go with it, as one
// change and one policy version: units then move once, and no more of them than they must. What
// changes what has been observed, or who gets what, is refused.
func (x *live) redefine(d *definition.Definition, now int64) error {
	if err := x.room(); err != nil {
		return err
	}
	old, new := frozenFields(x.def), frozenFields(d)
	for _, field := range slices.Sorted(maps.Keys(old)) {
		if !sameJSON(old[field], new[field]) {
			return noregret.BadInputf(field, "it cannot change while the experiment runs: delete the experiment, or "+
				"make one of "+
				"another name")
		}
	}
	added, retired, err := x.armChanges(d)
	if err != nil {
		return err
	}
	before := x.def
	x.def = d
	for _, a := range added {
		x.push(a, false)
		x.note(now, "arm %s added", a.Name)
	}
	for _, k := range retired {
		x.Arms[k].Active = false
		x.note(now, "arm %s retired", x.Arms[k].Name)
	}
	if !sameJSON(before.Guardrails, d.Guardrails) {
		x.Guards, x.bounds = newGuards(len(d.Guardrails), now), nil
	}
	if !sameJSON(learningFields(before), learningFields(d)) {
		err = x.rebuildLearner()
	} else {
		err = x.remakeArms(len(added), retired)
	}
	if err != nil {
		return err
	}
	x.note(now, "definition changed")
	return x.renewChanged(now, "changed", before, len(added), retired)
}

// remakeArms tells the maker of arms that came at the end, and of those that went.
func (x *live) remakeArms(added int, retired []int) error {
	for range added {
		if _, err := x.learner.AddArm(); err != nil {
			return err
		}
	}
	for _, k := range retired {
		if err := x.learner.RetireArm(slices.Index(x.Learn, k)); err != nil {
			return err
		}
	}
	return nil
}

// armChanges are the arms that a definition adds, and the indices of those that it leaves out.
func (x *live) armChanges(d *definition.Definition) (added []policy.Arm, retired []int, err error) {
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
				"%q was retired: an arm does not come back, give a new one a new name", a.Name)
		case !definition.SameValue(x.Arms[k].Value, a.Value):
			return nil, nil, noregret.BadInputf("arms",
				"%q has another value: an arm is what it was, give the new value a new name",
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

// changeArm adds or retires an arm.
func (x *live) changeArm(kind string, p *ArmEvent, now int64) error {
	if x.def.Arms.Box != nil {
		return noregret.BadInputf("arm", "the arms are points of a box, which the policy chooses")
	}
	if err := x.room(); err != nil {
		return err
	}
	k := slices.IndexFunc(x.Arms, func(a armState) bool { return a.Name == p.Arm })
	if kind == KindAddArm {
		if err := definition.CheckArmName("arm", p.Arm); err != nil {
			return err
		}
		switch {
		case k >= 0:
			return noregret.BadInputf("arm", "%q is, or was, an arm: give a new one a new name", p.Arm)
		case len(x.Arms) >= 2*definition.MaxArms:
			return noregret.BadInputf("arm", "there have been %d arms: make a new experiment", len(x.Arms))
		}
		value, err := definition.ReadValue("arm", p.Value)
		if err != nil {
			return err
		}
		if _, err := x.learner.AddArm(); err != nil {
			return err
		}
		x.push(policy.Arm{Name: p.Arm, Value: value}, false)
		x.note(now, "arm %s added", p.Arm)
		return x.renewChanged(now, "arm added", x.def, 1, nil)
	}
	active := 0
	for _, i := range x.Learn {
		if x.Arms[i].Active {
			active++
		}
	}
	switch {
	case k < 0 || !x.Arms[k].Active:
		return noregret.BadInputf("arm", "%q is no active arm", p.Arm)
	case k == x.Control:
		return noregret.BadInputf("arm", "%q is the control arm, which cannot be retired", p.Arm)
	case active < 2:
		return noregret.BadInputf("arm", "%q is the last one the policy can choose: at least one must stay", p.Arm)
	}
	if err := x.learner.RetireArm(slices.Index(x.Learn, k)); err != nil {
		return err
	}
	x.Arms[k].Active = false
	x.note(now, "arm %s retired", p.Arm)
	return x.renewChanged(now, "arm retired", x.def, 0, []int{k})
}

// Plan lists the events that turn an experiment, nil for none, into what a definition says: one, or
// none where it is that already.
func (s *State) Plan(d *definition.Definition, now int64) ([]Event, error) {
	if x := s.live[d.Name]; x != nil && sameJSON(x.def, d) {
		return nil, nil
	}
	text, err := strictjson.Encode(d)
	if err != nil {
		return nil, err
	}
	e, err := NewEvent(KindDefinition, now, DefinitionEvent{d.Name, text})
	e.parsed = d
	return []Event{e}, err
}
