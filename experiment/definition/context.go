package definition

import (
	"slices"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/policy"
)

// mostCells limits the numbers of the models of lin-ucb and lin-thompson: arms times coordinates
// times coordinates. A policy version has half as many, of 8 bytes each.
const mostCells = 1 << 21

// mostArmCells limits arms times coordinates, for all kinds.
const mostArmCells = 1 << 17

// Contextual reports whether the policy decides by the units' contexts: lin-ucb, lin-thompson or
// squarecb. Its reward is the objective, as that of a bandit.
func (d *Definition) Contextual() bool { return slices.Contains(policy.LinearKinds(), d.Policy.Kind) }

// checkContext checks the context and what only contextual policies have.
func checkContext(d *Definition) error {
	r := &d.Policy
	switch {
	case !d.Contextual() && len(d.Context) > 0:
		return noregret.BadInputf("context",
			"the policy %s does not look at it: want lin-ucb, lin-thompson or squarecb",
			r.Kind)
	case r.Alpha != nil && r.Kind != policy.LinUCB && r.Kind != policy.LinThompson:
		return noregret.BadInputf("policy.alpha", "only the policies lin-ucb and lin-thompson have it")
	case r.Gamma != nil && r.Kind != policy.SquareCB:
		return noregret.BadInputf("policy.gamma", "only the policy squarecb has it")
	case r.Alpha != nil && !(*r.Alpha > 0 && *r.Alpha <= 1000):
		return noregret.BadInputf("policy.alpha", "%v: want a number in (0, 1000]", *r.Alpha)
	case r.Gamma != nil && !(*r.Gamma > 0 && *r.Gamma <= 1e6):
		return noregret.BadInputf("policy.gamma", "%v: want a number in (0, 1e+06]", *r.Gamma)
	case !d.Contextual():
		return nil
	case len(d.Context) == 0:
		return noregret.BadInputf("context", "none: the policy %s needs at least one feature", r.Kind)
	case d.MaxShare != nil:
		return noregret.BadInputf("max_share", "the policy %s has a share for each context: want the policy pasto",
			r.Kind)
	case len(d.Ramp) > 0:
		return noregret.BadInputf("ramp", "the policy %s has none: want a traffic below 1, which can grow", r.Kind)
	case d.ControlShare() > 0:
		return noregret.BadInputf("control.share", "%v: the policy %s gives no share beside its own: want 0, and "+
			"exploration_floor or hold_back", d.ControlShare(), r.Kind)
	}
	e, err := policy.NewEncoder(d.Context)
	if err != nil {
		return err
	}
	arms, err := d.NamedArms()
	if err != nil {
		return err
	}
	n, dim, cells := len(arms), e.Dim(), len(arms)*e.Dim()
	if cells > mostArmCells || r.Kind != policy.SquareCB && cells*dim > mostCells {
		return noregret.BadInputf("context",
			"%d arms with %d coordinates make too large a model: want fewer features, "+
				"values or buckets, fewer arms, or squarecb (at most %d arms times coordinates, for lin-ucb and "+
				"lin-thompson %d "+
				"arms times coordinates squared)", n, dim, mostArmCells, mostCells)
	}
	return nil
}
