package definition

import (
	"errors"
	"slices"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/drift"
	"github.com/noregret/noregret/forget"
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
	budget := x.Kind == "restart" && x.Rounds == 0
	switch {
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
	case x.Rounds < 0 || x.Rounds > mostDriftRounds:
		return noregret.BadInputf("drift.rounds", "%d: want 1 to %d", x.Rounds, mostDriftRounds)
	case x.Kind == "window" && x.Rounds == 0:
		return noregret.BadInputf("drift.rounds", "%d with kind %s: want 1 to %d", x.Rounds, x.Kind, mostDriftRounds)
	case x.Kind == "adaptive" && x.Rounds != 0:
		return noregret.BadInputf("drift.rounds", "%d with kind %s: want none", x.Rounds, x.Kind)
	case x.Kind == "detector" && !slices.Contains(forget.Detectors(), x.Detector):
		return noregret.BadInputf("drift.detector", "%s", named.Unknown(x.Detector, forget.Detectors()))
	}
	var e *noregret.Error
	if err := x.Rule().Validate(); errors.As(err, &e) {
		return noregret.BadInputf("drift."+e.Place, "%s", e.Message)
	}
	return nil
}

// Rule returns the rule by which the learner forgets: that of a restart has the Interval.
func (x *Drift) Rule() forget.Rule {
	r := forget.Rule{Kind: forget.Kind(x.Kind), Rounds: int(x.Rounds), Rate: x.Rate, Detector: x.Detector}
	switch x.Kind {
	case "none":
		r.Kind = forget.None
	case "restart":
		r.Rounds = x.Interval()
	}
	return r
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
