package experiment

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
)

// clone copies what a change may change. The original must not be used for anything after the copy has been.
func (x *live) clone() (*live, error) {
	y := *x
	y.Arms, y.Learn, y.Guards = slices.Clone(x.Arms), slices.Clone(x.Learn), slices.Clone(x.Guards)
	y.Versions, y.Notes, y.Recent, y.cohorts = slices.Clone(x.Versions), slices.Clone(x.Notes), slices.Clone(x.Recent), slices.Clone(x.cohorts)
	last := *x.cohorts[len(x.cohorts)-1]
	y.cohorts[len(y.cohorts)-1] = &last
	b, err := x.maker.MarshalBinary()
	if err != nil {
		return nil, err
	}
	return &y, y.remake(b)
}

// remake makes the maker of a saved one.
func (x *live) remake(saved []byte) error {
	m, err := newMaker(x.def, len(x.Learn), x.fixedSplit())
	if err != nil {
		return err
	}
	if err := m.UnmarshalBinary(saved); err != nil {
		return err
	}
	x.maker = m
	return nil
}

func withReason(what, reason string) string {
	if reason != "" {
		return what + ": " + reason
	}
	return what
}

func (x *live) pause(now int64, reason string) error {
	if x.Status != Running {
		return bad("state", "it is %s: only a running experiment can be paused", x.Status)
	}
	x.Status = Paused
	x.note(now, "%s", withReason("paused", reason))
	return x.renew(now, "paused")
}

func (x *live) resume(now int64, reason string) error {
	if x.Status == Running {
		return bad("state", "it is running already")
	}
	x.Status = Running
	x.RoundStart, x.RoundSeen = now, 0
	x.note(now, "%s", withReason("resumed", reason))
	return x.renew(now, "resumed")
}

func (x *live) rollback(now int64, what, reason string) error {
	if x.Control < 0 {
		return bad("state", "there is no control arm to roll back to: pause or delete the experiment")
	}
	if x.Status == RolledBack {
		return bad("state", "it is rolled back already")
	}
	x.Status = RolledBack
	x.note(now, "%s", withReason(what, reason))
	return x.renew(now, what)
}

// frozen are the fields that a running experiment keeps, by what they are compared as.
func (d *Definition) frozen() map[string]any {
	control := ""
	if d.Control != nil {
		control = d.Control.Arm
	}
	frozen := map[string]any{
		"unit": d.Unit, "salt": d.Salt, "control.arm": control, "metrics": d.Metrics, "hold_back": d.HoldBack, "stickiness": d.Stickiness,
		"exposure": d.Exposure, "policy.kind": d.Policy.Kind, "arms.box": d.Arms.Box,
	}
	if d.Arms.Box != nil { // the points were chosen for it
		frozen["objective"], frozen["guardrails"] = d.Objective, d.Guardrails
		frozen["arms.nodes"], frozen["arms.every"] = d.Arms.Nodes, d.Arms.Every
	}
	return frozen
}

// learning is what a maker is made of: another one is taught anew.
func (d *Definition) learning() any {
	return []any{d.Objective, d.Guardrails, d.Policy, d.Drift}
}

func sameJSON(a, b any) bool {
	x, err := json.Marshal(a)
	y, err2 := json.Marshal(b)
	return err == nil && err2 == nil && bytes.Equal(x, y)
}

// redefine takes a new definition of the running experiment. What changes what has been observed, or who
// gets what, is refused; arms come and go by their own events.
func (x *live) redefine(d *Definition, now int64) error {
	old := x.def.frozen()
	for _, field := range slices.Sorted(maps.Keys(old)) {
		if !sameJSON(old[field], d.frozen()[field]) {
			return bad(field, "it cannot change while the experiment runs: delete the experiment, or make one of another name")
		}
	}
	arms, err := d.named()
	if err != nil {
		return err
	}
	if err := x.sameArms(arms); err != nil {
		return err
	}
	before := x.def
	x.def = d
	if !sameJSON(before.Guardrails, d.Guardrails) {
		x.Guards = newGuards(len(d.Guardrails), now)
	}
	if !sameJSON(before.learning(), d.learning()) {
		if err := x.teach(); err != nil {
			return err
		}
	}
	x.note(now, "definition changed")
	return x.renew(now, "changed")
}

// named are all arms with a name in the definition, the control arm too.
func (d *Definition) named() ([]Arm, error) {
	arms, err := d.expand()
	if err != nil {
		return nil, err
	}
	if c := d.Control; c != nil && c.Value != nil {
		arms = slices.Insert(arms, 0, Arm{c.Arm, c.Value})
	}
	return arms, nil
}

// sameArms refuses arms other than the active ones (those of a box excepted).
func (x *live) sameArms(arms []Arm) error {
	have := map[string]json.RawMessage{}
	for k := range x.Arms {
		if a := &x.Arms[k]; a.Active && (x.def.Arms.Box == nil || k == x.Control) {
			have[a.Name] = a.Value
		}
	}
	for _, a := range arms {
		v, ok := have[a.Name]
		if !ok {
			return bad("arms", "%q is not among the experiment's arms: add it first", a.Name)
		}
		if !bytes.Equal(v, a.Value) {
			return bad("arms", "%q has another value: an arm is what it was, give the new value a new name", a.Name)
		}
		delete(have, a.Name)
	}
	for _, name := range slices.Sorted(maps.Keys(have)) {
		return bad("arms", "%q is missing: retire it first", name)
	}
	return nil
}

// changeArm adds or retires an arm.
func (x *live) changeArm(kind string, p *ArmEvent, now int64) error {
	if x.def.Arms.Box != nil {
		return bad("arm", "the arms are points of a box, which the policy chooses")
	}
	k := slices.IndexFunc(x.Arms, func(a armState) bool { return a.Name == p.Arm })
	if kind == KindAddArm {
		if err := checkArmName("arm", p.Arm); err != nil {
			return err
		}
		switch {
		case k >= 0:
			return bad("arm", "%q is, or was, an arm: give a new one a new name", p.Arm)
		case len(x.Arms) >= 2*MaxArms:
			return bad("arm", "there have been %d arms: make a new experiment", len(x.Arms))
		case !json.Valid(p.Value):
			return bad("arm", "%q has no value", p.Arm)
		}
		if err := x.maker.AddArm(); err != nil {
			return err
		}
		x.push(Arm{p.Arm, p.Value})
		x.note(now, "arm %s added", p.Arm)
		return x.renew(now, "arm added")
	}
	active := 0
	for _, i := range x.Learn {
		if x.Arms[i].Active {
			active++
		}
	}
	switch {
	case k < 0 || !x.Arms[k].Active:
		return bad("arm", "%q is no active arm", p.Arm)
	case k == x.Control:
		return bad("arm", "%q is the control arm, which cannot be retired", p.Arm)
	case active < 2:
		return bad("arm", "%q is the last one the policy can choose: at least one must stay", p.Arm)
	}
	if err := x.maker.RetireArm(slices.Index(x.Learn, k)); err != nil {
		return err
	}
	x.Arms[k].Active = false
	x.note(now, "arm %s retired", p.Arm)
	return x.renew(now, "arm retired")
}

// Plan lists the events that turn an experiment, nil for none, into what a definition says: arms are added
// and retired, then the definition changes. Append them together.
func (s *State) Plan(d *Definition, now int64) ([]Event, error) {
	text, err := json.Marshal(d)
	if err != nil {
		return nil, err
	}
	var out []Event
	add := func(kind string, payload any) error {
		e, err := NewEvent(kind, now, payload)
		out = append(out, e)
		return err
	}
	x := s.live[d.Name]
	if x != nil && sameJSON(x.def, d) {
		return nil, nil
	}
	if x != nil && x.def.Arms.Box == nil && d.Arms.Box == nil {
		arms, err := d.named()
		if err != nil {
			return nil, err
		}
		for _, a := range arms {
			if !slices.ContainsFunc(x.Arms, func(b armState) bool { return a.Name == b.Name }) {
				if err := add(KindAddArm, ArmEvent{d.Name, a.Name, a.Value}); err != nil {
					return nil, err
				}
			}
		}
		for k := range x.Arms {
			a := &x.Arms[k]
			if a.Active && !slices.ContainsFunc(arms, func(b Arm) bool { return a.Name == b.Name }) {
				if err := add(KindRetireArm, ArmEvent{d.Name, a.Name, nil}); err != nil {
					return nil, err
				}
			}
		}
	}
	return out, add(KindDefinition, DefinitionEvent{d.Name, text})
}

// Try applies events of one experiment to a copy of it and reports why they would be refused, or nil.
func (s *State) Try(name string, events []Event) error {
	t := &State{position: s.position, time: s.time, live: maps.Clone(s.live), gone: maps.Clone(s.gone)}
	if x := s.live[name]; x != nil {
		y, err := x.deepClone()
		if err != nil {
			return err
		}
		t.live[name] = y
	}
	for i, e := range events {
		o, err := t.Apply(s.position+uint64(i)+1, e)
		if err != nil {
			return err
		}
		if o.Err != nil {
			return o.Err
		}
	}
	return nil
}
