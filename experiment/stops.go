package experiment

import (
	"slices"
	"strings"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/experiment/definition"
	"github.com/noregret/noregret/policy"
)

// stop is the reason why an active arm gets no share.
type stop string

const (
	// vetoed arms get no share until the veto is lifted. The learner does not plan with them.
	vetoed stop = "veto"
	// suspended arms get no share until the learner has observed them.
	suspended stop = "suspended"
)

// byHand begins the reason of an arm that a person has stopped.
const byHand = "by hand"

// stopState is the part of an arm's state that says whether it may be served.
type stopState struct {
	Stop stop `json:"stop,omitempty"`
	// Why explains Stop to people.
	Why string `json:"why,omitempty"`
	// Beyond lists the guardrails that the arm by itself breaks with confidence, so that each acts
	// once.
	Beyond []int `json:"beyond,omitempty"`
	// Crashed lists the guardrails for which the arm was vetoed as one that crashes, so that each
	// does so once.
	Crashed []int `json:"crashed,omitempty"`
	// Observed reports whether the learner has ever observed the arm.
	Observed bool `json:"observed,omitempty"`
}

// stopsArms reports whether a guardrail stops arms that by themselves break it with confidence:
// until a veto is lifted if every arm must hold it, else until the learner has observed the arm. A
// soft guardrail that only alerts stops nothing. Under a fixed policy only those do that shrink, or
// that every arm must hold.
func stopsArms(d *definition.Definition, g *definition.Guardrail) bool {
	if d.Policy.Kind == "fixed" {
		return g.EachArm || g.Action == "shrink"
	}
	return g.EachArm || g.Hard || g.Action != "alert"
}

// stopView has the methods of the roster for stopped arms and bounds on shares.
type stopView struct{ *roster }

// stopper has the methods of an experiment that stop its arms.
type stopper struct{ *experimentState }

func (x stopper) view() stopView { return stopView{&x.roster} }

// limit restricts a mixture to the arms that may be served, and to their bounds.
func (x stopView) limit(p []float64) {
	x.clearStopped(p)
	x.bound(p)
}

// clearStopped moves the shares of stopped arms to the control arm, or, without one, to the other
// arms in proportion. If no other arm has a share, p stays as it is.
func (x stopView) clearStopped(p []float64) {
	moved, rest := 0.0, 0.0
	for k := range p {
		if x.Arms[k].Stop != "" {
			moved += p[k]
		} else {
			rest += p[k]
		}
	}
	if moved == 0 || x.Control < 0 && !(rest > 0) {
		return
	}
	for k := range p {
		switch {
		case x.Arms[k].Stop != "":
			p[k] = 0
		case x.Control < 0:
			p[k] /= rest
		}
	}
	if x.Control >= 0 {
		p[x.Control] += moved
	}
}

// bound moves the part of a share above the arm's bound to the control arm. Without a control arm
// the other arms get it, in proportion and up to their own bounds.
func (x stopView) bound(p []float64) {
	if x.def.MaxShare == nil {
		return
	}
	for range len(p) + 1 { // each pass but the last fills an arm
		over, free := 0.0, 0.0
		for k := range p {
			if most := x.maxShare(k); p[k] >= most {
				over += p[k] - most
				p[k] = most
			} else if x.Arms[k].Stop == "" {
				free += p[k]
			}
		}
		switch {
		case !(over > 1e-12):
			return
		case x.Control >= 0:
			p[x.Control] += over
			return
		case !(free > 0):
			x.spread(p, over)
			return
		}
		for k := range p {
			if p[k] < x.maxShare(k) && x.Arms[k].Stop == "" {
				p[k] += float64(over * (p[k] / free))
			}
		}
	}
}

// spread gives a share to active arms without one, evenly and up to their bounds.
func (x stopView) spread(p []float64, share float64) {
	free := 0.0
	for k := range p {
		if x.Arms[k].Active && x.Arms[k].Stop == "" {
			free += x.maxShare(k) - p[k]
		}
	}
	for k := range p {
		if free > 0 && x.Arms[k].Active && x.Arms[k].Stop == "" {
			p[k] += float64(min(share/free, 1) * (x.maxShare(k) - p[k]))
		}
	}
}

// maxShare returns the bound on an arm's share.
func (x stopView) maxShare(k int) float64 {
	if k == x.Control {
		return 1
	}
	return x.def.MaxShare.Of(x.Arms[k].Name)
}

// left reports whether any arm other than the control may be served.
func (x stopView) left() bool {
	for k := range x.Arms {
		if k != x.Control && x.Arms[k].Active && x.Arms[k].Stop == "" {
			return true
		}
	}
	return false
}

// stopArms stops the arms that by themselves break a guardrail with confidence. It reports whether
// there are any.
func (x stopper) stopArms(in *guardInput, now int64) (stopped bool) {
	veto := false
	for i := range x.roster.def.Guardrails {
		g := &x.roster.def.Guardrails[i]
		if !stopsArms(x.roster.def, g) {
			continue
		}
		beyond := x.beyond(in, i)
		for k := range x.roster.Arms {
			a := &x.roster.Arms[k]
			if k == x.roster.Control || !a.Active || !x.turned(in, i, k, beyond(k)) {
				continue
			}
			switch {
			case a.Stop == vetoed || a.Stop == suspended && !g.EachArm || !g.EachArm && a.Observed:
				continue
			case g.EachArm || x.roster.def.Policy.Kind == "fixed":
				a.Stop, a.Why, veto = vetoed, "guardrail "+g.Metric+": the arm breaks it by itself; until the veto "+
					"is lifted", true
			default:
				a.Stop, a.Why = suspended, "guardrail "+g.Metric+": the arm breaks it by itself; until its first "+
					"window has closed"
			}
			stopped = true
			x.note(now, "arm %s stopped: %s", a.Name, a.Why)
		}
	}
	if veto {
		x.replan()
	}
	return stopped
}

// beyond returns a function that reports whether an arm by itself breaks guardrail i with
// confidence.
func (x stopper) beyond(in *guardInput, i int) func(k int) bool {
	g := &x.roster.def.Guardrails[i]
	if early := (earlyView{&x.roster}); early.boundedSide(g) {
		return func(k int) bool { return early.beyond(g, k) }
	}
	_, up, relative, _ := g.Limit()
	var arm func(k int) armSlack
	if relative {
		arm, _ = x.guards.relativeSlack(in, i)
	} else {
		arm, _ = in.plainSlack(g, x.guards.cachedBounds(&x.roster, i))
	}
	contrast, inflation := earlyContrastView{&x.roster}, in.inflated(x.roster.def.MetricIndex(g.Metric))
	return func(k int) bool {
		a := arm(k)
		return up && a.to < 0 || !up && a.from > 0 || contrast.beyond(i, k, inflation)
	}
}

// turned records whether an arm breaks guardrail i by itself, and reports whether it did not
// before.
func (x stopper) turned(in *guardInput, i, k int, beyond bool) bool {
	a := &x.roster.Arms[k]
	at, was := slices.BinarySearch(a.Beyond, i)
	// Only the mixture must hold it, so an arm is not stopped if the mixture holds it with
	// confidence.
	if beyond && !was && !x.roster.def.Guardrails[i].EachArm {
		beyond = !(x.guards.slack(in, i, x.joiner.Running().Mixture, x.guards.cachedBounds(&x.roster, i)).low >= 0)
	}
	switch {
	case beyond && !was:
		a.Beyond = slices.Insert(slices.Clone(a.Beyond), at, i)
		return true
	case !beyond && was:
		a.Beyond = slices.Delete(slices.Clone(a.Beyond), at, at+1)
	}
	return false
}

// replan rebuilds the learner without the vetoed arms. If that fails, it keeps the old learner; the
// served mixture leaves the vetoed arms out in any case.
func (x stopper) replan() {
	if d := x.roster.def; d.Arms.Box == nil && d.Policy.Kind != "fixed" && !d.Contextual() {
		_ = x.rebuildLearner()
	}
}

// planned reports whether the learner plans with an arm. It plans with the active arms that are not
// vetoed or, if there are none, with all active arms.
func (x stopView) planned(k int) bool {
	if !x.Arms[k].Active || x.Arms[k].Stop != vetoed {
		return x.Arms[k].Active
	}
	return !slices.ContainsFunc(x.LearnedArms, func(i int) bool { return x.Arms[i].Active && x.Arms[i].Stop != vetoed })
}

// anyVeto reports whether an arm is vetoed.
func (x stopView) anyVeto() bool {
	return slices.ContainsFunc(x.Arms, func(a armState) bool { return a.Stop == vetoed })
}

// renewStopped begins a version after arms were stopped. A paused experiment continues to serve its
// mixture without them.
func (x stopper) renewStopped(now int64, cause string) error {
	if x.Status == policy.Paused {
		return x.renewPaused(now, cause, x.rounds.served(len(x.roster.Arms)).Shares())
	}
	return x.renew(now, cause)
}

// veto stops an arm until the veto is lifted.
func (x stopper) veto(p *ArmEvent, now int64) error {
	k := slices.IndexFunc(x.roster.Arms, func(a armState) bool { return a.Name == p.Arm })
	switch {
	case k < 0 || !x.roster.Arms[k].Active:
		return noregret.BadInputf("arm", "%q is not an active arm", p.Arm)
	case k == x.roster.Control:
		return noregret.BadInputf("arm", "%q is the control arm, which cannot be vetoed", p.Arm)
	case x.roster.Arms[k].Stop == vetoed:
		return noregret.BadInputf("arm", "%q is vetoed already", p.Arm)
	}
	if err := x.checkCapacity(); err != nil {
		return err
	}
	x.roster.Arms[k].Stop, x.roster.Arms[k].Why = vetoed, withReason(byHand+", until the veto is lifted", p.Reason)
	if !x.view().left() && x.roster.Control < 0 {
		return noregret.BadInputf("arm", "%q is the last one the policy can choose: at least one must stay", p.Arm)
	}
	x.note(now, "%s", withReason("arm "+p.Arm+" vetoed", p.Reason))
	x.replan()
	return x.renewStopped(now, "arm vetoed")
}

// lift lets a stopped arm be served again. The same guardrail stops it again only after a time in
// which the arm did not break it with confidence.
func (x stopper) lift(p *ArmEvent, now int64) error {
	k := slices.IndexFunc(x.roster.Arms, func(a armState) bool { return a.Name == p.Arm })
	if k < 0 || !x.roster.Arms[k].Active || x.roster.Arms[k].Stop == "" {
		return noregret.BadInputf("arm", "%q is not an arm that is stopped", p.Arm)
	}
	if err := x.checkCapacity(); err != nil {
		return err
	}
	was := x.roster.Arms[k].Stop
	x.roster.Arms[k].Stop, x.roster.Arms[k].Why = "", ""
	x.note(now, "%s", withReason("arm "+p.Arm+" no longer stopped", p.Reason))
	if was == vetoed {
		x.replan()
	}
	return x.renewStopped(now, "veto lifted")
}

// observed records that the learner has observed an arm, which ends its suspension.
func (x stopView) observed(k int) {
	a := &x.Arms[k]
	a.Observed = true
	if a.Stop == suspended {
		a.Stop, a.Why = "", ""
	}
}

// suspended returns the arms that are suspended.
func (x stopper) suspended() (arms []int) {
	for k := range x.roster.Arms {
		if x.roster.Arms[k].Stop == suspended {
			arms = append(arms, k)
		}
	}
	return arms
}

// release begins to shrink the mixture for guardrails that arms whose suspension has ended break by
// themselves. The mixture with these arms must be shown to hold the limit from its first unit on.
func (x stopper) release(arms []int, now int64) {
	for _, k := range arms {
		if x.roster.Arms[k].Stop == suspended {
			continue
		}
		for _, i := range x.roster.Arms[k].Beyond {
			if g := &x.roster.def.Guardrails[i]; g.Action == "shrink" && !x.guards.Guards[i].Shrinking {
				x.guards.Guards[i].Shrinking = true
				x.note(now, "arm %s no longer stopped: the mixture is shrunk for the guardrail %s",
					x.roster.Arms[k].Name,
					g.Metric)
			}
		}
	}
}

// stopped returns a text for each arm that is stopped.
func (x stopView) stopped() (texts []string) {
	for k := range x.Arms {
		if a := &x.Arms[k]; a.Active && a.Stop != "" {
			texts = append(texts, strings.Join([]string{"arm", a.Name, "gets no share:", a.Why}, " "))
		}
	}
	return texts
}
