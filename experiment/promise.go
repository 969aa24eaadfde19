package experiment

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/noregret/noregret/api"
	"github.com/noregret/noregret/experiment/definition"
	"github.com/noregret/noregret/experiment/guard"
	"github.com/noregret/noregret/internal/stat"
	"github.com/noregret/noregret/policy"
)

// promise says what is promised of the guardrails, nil without any.
func (x *proposer) promise() *api.Promise {
	if len(x.roster.def.Guardrails) == 0 {
		return nil
	}
	none := func(why string) *api.Promise { return &api.Promise{Text: "no promise holds: " + why} }
	d := x.roster.def
	switch {
	case x.Status == policy.Concluded:
		return none("the experiment is concluded, and nothing is served instead of its mixture")
	case x.Status == policy.RolledBack:
		return none("the experiment is rolled back, and all units get the control arm")
	case d.Policy.Kind == "fixed":
		return none("a fixed policy serves its split")
	case d.Arms.Box != nil:
		return none("the policy chooses points of a box, about which there are no data at first")
	}
	l, ok := x.learning.learner.(*mixtureLearner)
	switch {
	case d.Control == nil:
		return none("there is no control arm")
	case d.HoldsDeployed():
		return none("the hard guardrails hold in what would be deployed only")
	case !ok:
		return none("the learner makes none")
	}
	return x.caution(l)
}

// caution says how surely what the default policy serves holds the hard guardrails.
func (x *proposer) caution(l *mixtureLearner) *api.Promise {
	none := func(why string) *api.Promise { return &api.Promise{Text: "no promise holds: " + why} }
	last, hard := l.proposal(), false
	if last == nil {
		return none("the policy has proposed nothing")
	}
	for i := range l.problem.Guardrails {
		if g := &l.problem.Guardrails[i]; g.Hard {
			hard = true
			if s := &last.Guardrails[i]; s.Known && s.Control < 0 && x.Private == nil {
				return none("the control arm itself does not hold \"" + x.roster.def.Guardrails[i].Metric + "\"")
			}
		}
	}
	if !hard {
		return none("no guardrail is hard")
	}
	if why := x.unbounded(); why != "" {
		return none(why)
	}
	if alpha := l.options.Strict; alpha > 0 {
		return &api.Promise{
			Holds: true, Alpha: alpha,
			Text: fmt.Sprintf("what is served holds every hard guardrail, in all rounds together with probability at "+
				"least %s %%, where the control arm holds them and the differences of arms do not change",
				strconv.FormatFloat(100*(1-alpha), 'g', 6, 64)),
		}
	}
	z := l.options.Caution
	alpha := stat.NormalBelow(-z)
	surely := strconv.FormatFloat(100*(1-alpha), 'g', 4, 64)
	return &api.Promise{
		Holds: true, Alpha: alpha,
		Text: fmt.Sprintf("what is served holds each hard guardrail in each round with probability %s %%, by its "+
			"standard error (caution %v), where the control arm holds it", surely, z),
	}
}

// unbounded returns a text if hard guardrails must hold in what is served, one of them has no
// range, and the learner has no data about some arms; else "".
func (x *experimentState) unbounded() string {
	d := x.roster.def
	if !d.LearnsControl() || d.HoldsDeployed() {
		return ""
	}
	var arms []string
	for k := range x.roster.Arms {
		if a := &x.roster.Arms[k]; a.Active && !a.Observed && k != x.roster.Control {
			arms = append(arms, a.Name)
		}
	}
	if n := len(arms); n > 5 {
		arms = append(arms[:5], "and "+itoa(n-5)+" more")
	}
	for i := range d.Guardrails {
		g := &d.Guardrails[i]
		m := d.Metric(g.Metric)
		if g.Hard && (m.Kind == "ratio" || m.Range == nil && m.Cap == nil) && len(arms) > 0 {
			return fmt.Sprintf("the metric of the guardrail %s has no range, and there are no data yet about the "+
				"arms %s; they get %v %% of the units together", g.Metric, strings.Join(arms, ", "),
				100*definition.Probe)
		}
	}
	return ""
}

// fewRounds is the number of rounds in which hard guardrails may leave no room as too little is
// known of the control arm.
const fewRounds = 3

// noRoom returns a text if the policy has learned from a few rounds, and hard guardrails leave no
// room for any arm but the control.
func (x *experimentState) noRoom() string {
	d := x.roster.def
	if x.Status != policy.Running || !d.LearnsControl() || x.roster.goals == nil || !x.roster.goals.HasHard() ||
		d.HoldsDeployed() || len(x.learning.Recent) < fewRounds || !(stopView{&x.roster}).left() {
		return ""
	}
	shrinks := slices.ContainsFunc(x.guards.Guards, func(g guard.State) bool { return g.Shrinking })
	if shrinks || x.joiner.Running().Mixture[x.roster.Control] < 1-1e-6 {
		return ""
	}
	return "all units get the control arm: a hard guardrail leaves no room, as the control arm is not known to hold " +
		"it by any margin"
}
