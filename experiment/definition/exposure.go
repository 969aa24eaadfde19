package definition

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/policy"
)

// maxStages is the greatest number of stages of a ramp.
const maxStages = 50

// checkLearning checks how the learner looks for changes and explores.
func (d *Definition) checkLearning() error {
	if err := oneOf("changes", d.Changes, "detect", "none"); err != nil {
		return err
	}
	plain, e := d.Plain(), d.Exploration
	switch c := d.Caution; {
	case c != nil && !(*c >= 0 && *c <= 10):
		return noregret.BadInputf("caution", "%v: want a number of standard errors in [0, 10]", *c)
	case c != nil && (!d.LearnsControl() || d.Strict || d.HoldsDeployed()):
		return noregret.BadInputf("caution", "%v: only what is served beside a control arm has it: with the policy "+
			"pasto and no box, without strict and hold deployed", *c)
	case d.Strict:
		if err := d.checkStrict(); err != nil {
			return err
		}
	}
	switch {
	case d.Changes == "none" && !plain:
		return noregret.BadInputf("changes", "only the policy pasto, and no box, looks for changes")
	case e == nil:
		return nil
	case !plain:
		return noregret.BadInputf("exploration", "only the policy pasto, and no box, has a budget")
	case !(e.Share >= 0 && e.Share <= 1):
		return noregret.BadInputf("exploration.share", "%v: want a share in [0, 1]", e.Share)
	}
	return nil
}

// MostStrict is the largest number of arms under strict bounds.
const MostStrict = 128

// checkStrict checks that strict bounds can promise something and let arms be tried: what is not
// known yet counts with the worst value of its range.
func (d *Definition) checkStrict() error {
	switch arms, err := d.NamedArms(); {
	case !d.LearnsControl():
		return noregret.BadInputf("strict", "want the policy pasto with a control arm, and no box")
	case d.HoldsDeployed():
		return noregret.BadInputf("strict", "with hold deployed: nothing is promised for what is served, want one of "+
			"the two")
	case d.Stickiness == "unit" || d.Privacy != nil:
		return noregret.BadInputf("strict", "with stickiness unit or privacy: its bounds are for rounds of "+
			"independent units, want caution")
	case err != nil:
		return err
	case len(arms) > MostStrict:
		return noregret.BadInputf("strict", "%d arms: want at most %d", len(arms), MostStrict)
	}
	for i := range d.Guardrails {
		g := &d.Guardrails[i]
		if m := d.Metric(g.Metric); g.Hard && (m == nil || m.Kind == "ratio" || m.Range == nil && m.Cap == nil) {
			return noregret.BadInputf(fmt.Sprintf("guardrails[%d].metric", i), "%q has no range: with strict no arm "+
				"could ever be tried, want a metric with a range or a cap, or caution in place of strict", g.Metric)
		}
	}
	return nil
}

// checkMaxShare checks the bounds on the shares of arms.
func (d *Definition) checkMaxShare() error {
	m := d.MaxShare
	if m == nil {
		return nil
	}
	switch {
	case d.Policy.Kind == "fixed":
		return noregret.BadInputf("max_share", "a fixed policy serves its split: bound the shares there")
	case m.Every == 0 && len(m.Arms) == 0:
		return noregret.BadInputf("max_share", "no bound: want every, or arms, or both")
	case !(m.Every >= 0 && m.Every <= 1):
		return noregret.BadInputf("max_share.every", "%v: want a share in (0, 1]", m.Every)
	}
	arms, err := d.NamedArms()
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(m.Arms)) {
		v, place := m.Arms[name], "max_share.arms."+name
		switch {
		case d.Control != nil && name == d.Control.Arm:
			return noregret.BadInputf(place, "the control arm has no cap: it takes the traffic that other arms may "+
				"not have")
		case !slices.ContainsFunc(arms, func(a policy.Arm) bool { return a.Name == name }):
			return noregret.BadInputf(place, "%q is not an arm", name)
		case !(v >= 0 && v <= 1):
			return noregret.BadInputf(place, "%v: want a share in [0, 1]", v)
		}
	}
	if d.Control != nil {
		return nil
	}
	if d.Arms.Box != nil {
		return noregret.BadInputf("max_share", "the points of a box need a control arm for the rest of the traffic")
	}
	total := 0.0
	for _, a := range arms {
		total += m.Of(a.Name)
	}
	if total < 1 {
		return noregret.BadInputf("max_share", "the arms' bounds sum to %v and no control arm takes the rest: "+
			"want a sum of at least 1", total)
	}
	return nil
}

// checkRamp checks the stages of the ramp.
func (d *Definition) checkRamp() error {
	if len(d.Ramp) == 0 {
		return nil
	}
	if d.Control == nil {
		return noregret.BadInputf("ramp", "no control arm for the rest of the traffic: want a control")
	}
	if len(d.Ramp) > maxStages {
		return noregret.BadInputf("ramp", "%d stages: want at most %d", len(d.Ramp), maxStages)
	}
	const year = policy.Duration(366 * 24 * time.Hour)
	for i := range d.Ramp {
		s, place := &d.Ramp[i], fmt.Sprintf("ramp[%d]", i)
		switch {
		case !(s.Share > 0 && s.Share < 1):
			return noregret.BadInputf(place+".share", "%v: want a share in (0, 1); after the last stage it is 1",
				s.Share)
		case i > 0 && s.Share <= d.Ramp[i-1].Share:
			return noregret.BadInputf(place+".share", "%v after %v: want shares that grow", s.Share, d.Ramp[i-1].Share)
		case s.Units < 0 || s.Units > 1_000_000_000_000:
			return noregret.BadInputf(place+".units", "%d: want 0 to 1000000000000", s.Units)
		case s.Time < 0 || s.Time > year:
			return noregret.BadInputf(place+".time", "%v: want 0s to 8784h", s.Time)
		case s.Guardrails == "held" && len(d.Guardrails) == 0:
			return noregret.BadInputf(place+".guardrails", "the definition has no guardrails")
		case s.Units == 0 && s.Time == 0 && s.Guardrails == "":
			return noregret.BadInputf(place, "nothing to wait for: want units, time or guardrails")
		}
		if s.Guardrails != "" {
			if err := oneOf(place+".guardrails", s.Guardrails, "held"); err != nil {
				return err
			}
		}
	}
	return nil
}
