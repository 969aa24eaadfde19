package experiment

import (
	"fmt"
	"strconv"

	"github.com/noregret/noregret/pasto/confident"
	"github.com/noregret/noregret/policy"
)

// promiser is a learner that says whether what it serves holds the hard guardrails.
type promiser interface{ Promise() confident.Promise }

// promise says what is promised of the guardrails, nil without any.
func (x *experimentState) promise() *policy.Promise {
	if len(x.roster.def.Guardrails) == 0 {
		return nil
	}
	none := func(why string) *policy.Promise { return &policy.Promise{Text: "no promise holds: " + why} }
	d := x.roster.def
	switch {
	case x.Status == policy.Concluded:
		return none("the experiment is concluded, and nothing is served instead of its mixture")
	case x.Status == policy.RolledBack:
		return none("the experiment is rolled back, and all units get the control arm")
	case d.Policy.Kind == "fixed":
		return none("a fixed policy serves its split")
	case d.Arms.Box != nil:
		return none("the policy chooses points of a box, of which nothing is known at first")
	case d.Drift.Kind != "none":
		return none("with drift, means have no bounds that are valid at all times")
	}
	l, ok := x.learning.learner.(promiser)
	if !ok {
		return none("the learner makes none")
	}
	p := l.Promise()
	if !p.Holds {
		return none(p.Reason)
	}
	return &policy.Promise{
		Holds: true, Alpha: p.Alpha,
		Text: fmt.Sprintf("what is served holds every hard guardrail, in all rounds together with probability at "+
			"least %s %%, where the control arm holds them and means do not change",
			strconv.FormatFloat(100*(1-p.Alpha), 'g', 6, 64)),
	}
}

// noRoom returns a text if the policy has learned, and hard guardrails leave no room for any arm
// but the control.
func (x *experimentState) noRoom() string {
	d := x.roster.def
	if x.Status != policy.Running || !d.LearnsControl() || x.roster.goals == nil || !x.roster.goals.HasHard() ||
		d.HoldsDeployed() || !x.roster.Arms[x.roster.Control].Observed || !(stopView{&x.roster}).left() {
		return ""
	}
	for i, p := range x.learning.learner.Serving() {
		if x.roster.LearnedArms[i] == x.roster.Control && p < 1-1e-9 {
			return ""
		}
	}
	return "all units get the control arm: a hard guardrail leaves no room, as the control arm is not known to hold " +
		"it by any margin"
}
