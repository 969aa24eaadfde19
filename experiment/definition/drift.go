package definition

import (
	"slices"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/drift"
	"github.com/noregret/noregret/internal/named"
	"github.com/noregret/noregret/pasto/drifting"
)

// driftKinds are the kinds of [Drift].
var driftKinds = []string{"none", "restart", "discount", "window", "detector", "adaptive"}

// mostDriftRounds bounds the rounds of an interval and of a window.
const mostDriftRounds = drifting.MostRounds

// checkDrift checks how the learner forgets.
func checkDrift(d *Definition) error {
	x := &d.Drift
	if err := oneOfMany("drift.kind", x.Kind, driftKinds); err != nil {
		return err
	}
	if err := checkDriftOf(d); err != nil {
		return err
	}
	window, discount, detector := x.Kind == "window", x.Kind == "discount", x.Kind == "detector"
	budget := x.Kind == "restart" && x.Rounds == 0
	switch {
	case (window || x.Kind == "restart" && !budget) != (x.Rounds != 0):
		return noregret.BadInputf("drift.rounds", "%d with kind %s: a window and a restart have a number of rounds, "+
			"others have none", x.Rounds, x.Kind)
	case x.Rounds != 0 && (x.Rounds < 1 || x.Rounds > mostDriftRounds):
		return noregret.BadInputf("drift.rounds", "%d: want 1 to %d", x.Rounds, mostDriftRounds)
	case discount != (x.Rate != 0):
		return noregret.BadInputf("drift.rate", "%v with kind %s: a discount has a rate, others have none", x.Rate,
			x.Kind)
	case discount && !(x.Rate > 0 && x.Rate < 1):
		return noregret.BadInputf("drift.rate", "%v: want a number in (0, 1)", x.Rate)
	case !budget && (x.Horizon != 0 || x.Variation != 0):
		return noregret.BadInputf("drift.horizon",
			"%d and variation %v with kind %s: they belong to a restart without "+
				"rounds", x.Horizon, x.Variation, x.Kind)
	case budget && x.Horizon == 0 && x.Variation == 0:
		return noregret.BadInputf("drift.rounds", "none: want the rounds between two restarts, or a horizon and a "+
			"variation")
	case budget && (x.Horizon < 1 || x.Horizon > mostDriftRounds):
		return noregret.BadInputf("drift.horizon", "%d: want 1 to %d", x.Horizon, mostDriftRounds)
	case budget && !(x.Variation > 0 && x.Variation <= float64(x.Horizon)):
		return noregret.BadInputf("drift.variation", "%v: want a number above 0, at most the horizon", x.Variation)
	case detector && !slices.Contains(drifting.Detectors(), x.Detector):
		return noregret.BadInputf("drift.detector", "%s", named.Unknown(x.Detector, drifting.Detectors()))
	case !detector && x.Detector != "":
		return noregret.BadInputf("drift.detector", "%q with kind %s: only the kind detector has one", x.Detector,
			x.Kind)
	}
	return nil
}

// checkDriftOf checks whether the policy can forget in this way.
func checkDriftOf(d *Definition) error {
	kind := d.Drift.Kind
	switch {
	case kind == "none":
		return nil
	case d.Policy.Kind == "fixed":
		return noregret.BadInputf("drift.kind", "%q: a fixed policy forgets nothing", kind)
	case d.Arms.Box != nil:
		return noregret.BadInputf("drift.kind", "%q: points of a box are learned with drift none", kind)
	case d.Bandit() && kind == "adaptive":
		return noregret.BadInputf("drift.kind", "%q: the policy %s forgets by restart, discount, window or detector: "+
			"want one of these, or the policy pasto", kind, d.Policy.Kind)
	case d.Contextual() && kind != "restart":
		return noregret.BadInputf("drift.kind", "%q: the policy %s forgets by restart only: want restart, or the "+
			"policy pasto, which has no contexts", kind, d.Policy.Kind)
	}
	return nil
}

// Interval returns the number of rounds between two restarts: Rounds, or what suits the budget. For
// rewards that are linear in the mixture and observed for what is served that is (T/V)^(2/3) of T
// rounds with variation V (Besbes, Gur and Zeevi 2015, Section 5). It is 0 for other kinds.
func (x *Drift) Interval() int {
	if x.Kind != "restart" {
		return 0
	}
	if x.Rounds > 0 {
		return int(x.Rounds)
	}
	b, err := drift.NewBudget(int(x.Horizon), x.Variation)
	if err != nil {
		return int(x.Horizon) // checked
	}
	return b.BatchSize(drift.ConvexGradient)
}
