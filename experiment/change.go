package experiment

import (
	"bytes"
	"slices"

	"golang.org/x/text/unicode/norm"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/experiment/definition"
	"github.com/noregret/noregret/internal/strictjson"
	"github.com/noregret/noregret/policy"
)

func withReason(what, reason string) string {
	if reason != "" {
		return what + ": " + reason
	}
	return what
}

func (x *experimentState) pause(now int64, reason string) error {
	if x.Status != policy.Running {
		return noregret.BadInputf("state", "the experiment is %s: only a running experiment can be paused", x.Status)
	}
	if err := x.checkCapacity(); err != nil {
		return err
	}
	x.Status = policy.Paused
	x.note(now, "%s", withReason("paused", reason))
	return x.renewWith(now, "paused", x.rounds.served(len(x.roster.Arms)))
}

func (x *experimentState) resume(now int64, reason string) error {
	if x.Status == policy.Running {
		return noregret.BadInputf("state", "already running")
	}
	if err := x.checkCapacity(); err != nil {
		return err
	}
	x.Status = policy.Running
	x.rounds.RoundStart, x.joiner.RoundSeen = now, 0
	x.Ramp.Enter(x.Ramp.Stage, now, x.joiner.Units())
	x.note(now, "%s", withReason("resumed", reason))
	return x.renew(now, "resumed")
}

func (x *experimentState) rollback(now int64, what, reason string) error {
	if x.roster.Control < 0 {
		return noregret.BadInputf("state", "no control arm to roll back to: pause or delete the experiment")
	}
	if x.Status == policy.RolledBack {
		return noregret.BadInputf("state", "already rolled back")
	}
	x.Status, x.Wanted = policy.RolledBack, nil
	x.guards.RolledBack(now)
	x.note(now, "%s", withReason(what, reason))
	return x.renew(now, what)
}

// learningFields are the fields that the learner depends on. A change of them requires a new
// learner.
func learningFields(d *definition.Definition) any {
	fields := []any{d.Objective, d.Guardrails, d.Policy, d.Drift, d.Changes, d.Exploration, d.Strict, d.Caution}
	if d.LearnsControl() {
		fields = append(fields, d.Control.Share, d.ExplorationFloor, d.MaxShare)
	}
	return fields
}

// renewsLearner reports whether a change of the arms requires a new learner: its bounds on shares
// are by arm, and it does not know those that are vetoed.
func renewsLearner(x *roster) bool {
	return x.def.Policy.Kind != "fixed" && !x.def.Contextual() &&
		((stopView{x}).anyVeto() || x.def.LearnsControl() && x.def.MaxShare != nil)
}

// relearns reports whether a change from an earlier definition to that of the roster, which adds or
// retires some arms, requires a new learner.
func relearns(x *roster, before *definition.Definition, arms int) bool {
	return !sameJSON(learningFields(before), learningFields(x.def)) || arms > 0 && renewsLearner(x)
}

func sameJSON(a, b any) bool {
	x, err := strictjson.Encode(a)
	y, err2 := strictjson.Encode(b)
	return err == nil && err2 == nil && bytes.Equal(x, y)
}

// redefine changes the definition of a running experiment, including arms added and removed, as one
// change and one policy version, so that units move once and as few as possible. It refuses changes
// to what has been observed or to the assignment of units.
func (x *experimentState) redefine(d *definition.Definition, now int64) error {
	if err := x.checkCapacity(); err != nil {
		return err
	}
	if err := checkFrozen(x.roster.def, d); err != nil {
		return err
	}
	added, retired, err := x.roster.armChanges(d)
	if err != nil {
		return err
	}
	if x.Private != nil && len(added) > 0 {
		return errPrivateArms
	}
	x.recordGuards()
	before := x.roster.def
	x.roster.def = d
	for _, a := range added {
		x.push(a, false)
		x.note(now, "arm %s added", a.Name)
	}
	x.learning.growStore(len(x.roster.Arms))
	for _, k := range retired {
		x.roster.Arms[k].Active = false
		x.note(now, "arm %s retired", x.roster.Arms[k].Name)
	}
	if !sameJSON(before.Ramp, d.Ramp) {
		x.Ramp.Follow(before, d, now, x.joiner.Units())
	}
	x.Sequences.Watch(d.ComparedMetrics())
	x.Tight.Watch(d)
	x.guards.cache.Forget()
	if !sameJSON(before.Guardrails, d.Guardrails) {
		x.guards.Reset(d, x.rounds.Version+1, now)
		x.Wanted = nil
		for k := range x.roster.Arms {
			x.roster.Arms[k].Beyond, x.roster.Arms[k].Crashed = nil, nil
		}
		if x.Status == policy.RolledBack {
			x.guards.RolledBack(now)
		}
	}
	x.roster.relist()
	if err := x.roster.setGoals(); err != nil {
		return err
	}
	if relearns(&x.roster, before, len(added)+len(retired)) {
		err = x.rebuildLearner()
	} else {
		err = x.learning.remakeArms(&x.roster, len(added), retired)
	}
	if err != nil {
		x.learning.learner = lost{} // it has other arms than the experiment
	}
	if err := x.taught(err); err != nil {
		return err
	}
	x.note(now, "definition changed")
	return x.renewChanged(now, "changed", before, len(added), retired)
}

// armEvent applies an event that concerns an arm.
func (x *experimentState) armEvent(kind string, p *ArmEvent, now int64) error {
	switch kind {
	case KindVetoArm:
		return stopper{x}.veto(p, now)
	case KindLiftArm:
		return stopper{x}.lift(p, now)
	}
	return x.changeArm(kind, p, now)
}

// changeArm adds or retires an arm.
func (x *experimentState) changeArm(kind string, p *ArmEvent, now int64) error {
	if x.roster.def.Arms.Box != nil {
		return noregret.BadInputf("arm", "the arms are points of a box, which the policy chooses")
	}
	if err := x.checkCapacity(); err != nil {
		return err
	}
	k := slices.IndexFunc(x.roster.Arms, func(a armState) bool { return a.Name == p.Arm })
	if kind == KindAddArm && x.Private != nil {
		return errPrivateArms
	}
	if kind == KindAddArm {
		if err := definition.CheckArmName("arm", p.Arm); err != nil {
			return err
		}
		switch {
		case k >= 0:
			return noregret.BadInputf("arm", "%q is the name of a current or former arm: give the new arm a new name",
				p.Arm)
		case len(x.roster.Arms) >= 2*definition.MaxArms:
			return noregret.BadInputf("arm", "there have been %d arms: make a new experiment", len(x.roster.Arms))
		}
		value, err := definition.ReadValue("arm", p.Value)
		if err != nil {
			return err
		}
		x.push(policy.Arm{Name: p.Arm, Value: value}, false)
		x.learning.growStore(len(x.roster.Arms))
		if renewsLearner(&x.roster) {
			err = x.rebuildLearner()
		} else {
			_, err = x.learning.learner.AddArm()
		}
		if err := x.taught(err); err != nil {
			return err
		}
		x.note(now, "arm %s added", p.Arm)
		return x.renewChanged(now, "arm added", x.roster.def, 1, nil)
	}
	active := 0
	for _, i := range x.roster.LearnedArms {
		if x.roster.Arms[i].Active && (i != x.roster.Control || x.roster.def.Policy.Kind == "fixed") {
			active++
		}
	}
	switch {
	case k < 0 || !x.roster.Arms[k].Active:
		return noregret.BadInputf("arm", "%q is not an active arm", p.Arm)
	case k == x.roster.Control:
		return noregret.BadInputf("arm", "%q is the control arm, which cannot be retired", p.Arm)
	case active < 2:
		return noregret.BadInputf("arm", "%q is the last one the policy can choose: at least one must stay", p.Arm)
	}
	x.roster.Arms[k].Active = false
	if renewsLearner(&x.roster) {
		stopper{x}.replan()
	} else if err := x.taught(x.learning.learner.RetireArm(slices.Index(x.roster.LearnedArms, k))); err != nil {
		return err
	}
	x.note(now, "arm %s retired", p.Arm)
	return x.renewChanged(now, "arm retired", x.roster.def, 0, []int{k})
}

// Plan returns the events that bring an experiment, nil for none, to a definition: one event, or
// none if the experiment has that definition already. It refuses a definition that could not be
// read from the log again, such as one that is short only because of YAML's aliases.
func (s *State) Plan(d *definition.Definition, now int64) ([]Event, error) {
	if x := s.live[d.Name]; x != nil && sameJSON(x.roster.def, d) {
		return nil, nil
	}
	text, err := strictjson.Encode(d)
	if err != nil {
		return nil, err
	}
	parsed, err := definition.Parse("the definition as JSON", text)
	if err != nil {
		return nil, err
	}
	if err := checkNames(s.live[d.Name], parsed); err != nil {
		return nil, err
	}
	e, err := NewEvent(KindDefinition, now, DefinitionEvent{Experiment: d.Name, Definition: text})
	e.parsed = parsed
	return []Event{e}, err
}

// checkNames returns an error for an arm whose name looks the same as that of another arm that the
// experiment, nil for a new one, has or had.
func checkNames(x *experimentState, d *definition.Definition) error {
	if x == nil {
		return nil
	}
	arms, err := d.NamedArms()
	if err != nil {
		return err
	}
	names := make(map[string]string, len(x.roster.Arms))
	for k := range x.roster.Arms {
		name := x.roster.Arms[k].Name
		names[norm.NFC.String(name)] = name
	}
	for i := range arms {
		if other := names[norm.NFC.String(arms[i].Name)]; other != "" && other != arms[i].Name {
			return noregret.BadInputf("arms", "%q looks the same as the current or former arm %q: want names that "+
				"differ not only in the form of Unicode characters", arms[i].Name, other)
		}
	}
	return nil
}
