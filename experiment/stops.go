package experiment

import (
	"slices"
	"strings"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/experiment/guard"
	"github.com/noregret/noregret/policy"
)

// byHand begins the reason of an arm that a person has stopped.
const byHand = "by hand"

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
	if !x.Arms[k].Active || x.Arms[k].Stop != guard.Vetoed {
		return x.Arms[k].Active
	}
	return !slices.ContainsFunc(x.LearnedArms, func(i int) bool {
		return x.Arms[i].Active && x.Arms[i].Stop != guard.Vetoed
	})
}

// anyVeto reports whether an arm is vetoed.
func (x stopView) anyVeto() bool {
	return slices.ContainsFunc(x.Arms, func(a armState) bool { return a.Stop == guard.Vetoed })
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
	case x.roster.Arms[k].Stop == guard.Vetoed:
		return noregret.BadInputf("arm", "%q is vetoed already", p.Arm)
	}
	if err := x.checkCapacity(); err != nil {
		return err
	}
	x.roster.Arms[k].Stop = guard.Vetoed
	x.roster.Arms[k].Why = withReason(byHand+", until the veto is lifted", p.Reason)
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
	if was == guard.Vetoed {
		x.replan()
	}
	return x.renewStopped(now, "veto lifted")
}

// observed records that the learner has observed an arm, which ends its suspension.
func (x stopView) observed(k int) { x.Arms[k].Observe() }

// suspended returns the arms that are suspended.
func (x stopper) suspended() (arms []int) {
	for k := range x.roster.Arms {
		if x.roster.Arms[k].Stop == guard.Suspended {
			arms = append(arms, k)
		}
	}
	return arms
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
