package definition

import (
	"errors"
	"fmt"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/dp"
	"github.com/noregret/noregret/private/aggregate"
)

// Privacy asks for differential privacy with respect to a unit's feedback: everything the service
// publishes about the experiment is computed from noisy sums of the feedback. docs/privacy.md says
// what is protected and what is not.
type Privacy struct {
	// Epsilon and Delta are the budget of the whole experiment: [0.001, 100] and [1e-15, 0.01].
	Epsilon float64 `json:"epsilon" minimum:"0.001" maximum:"100"`
	Delta   float64 `json:"delta" minimum:"1e-15" maximum:"0.01"`
	// UnitContribution is the number of decisions of a unit, 1 to 1000, whose feedback counts over
	// the whole experiment; 1 by default. Further decisions are made, but their feedback does not
	// count.
	UnitContribution int `json:"unit_contribution" minimum:"1" maximum:"1000"`
	// Rounds is the most releases of sums, 1 to 10000, one for each policy version that is learned
	// from; 1000 by default. After the last one nothing more is learned. The noise grows with it.
	Rounds int64 `json:"rounds" minimum:"1" maximum:"10000"`
}

// Budget returns the privacy budget: (ε, δ) in Gaussian differential privacy.
func (p *Privacy) Budget() (dp.Budget, error) { return dp.GDPBudget(p.Epsilon, p.Delta) }

// mostReleased bounds the numbers that a private experiment releases: arms times metrics times
// rounds. The noise of all of them is kept.
const mostReleased = 1 << 19

// checkPrivacy checks a private experiment: its budget, and that everything that uses feedback can
// be computed from noisy sums.
func checkPrivacy(d *Definition) error {
	p := d.Privacy
	if p == nil {
		return nil
	}
	switch {
	case !(p.Epsilon >= 0.001 && p.Epsilon <= 100):
		return noregret.BadInputf("privacy.epsilon", "%v: want a number in [0.001, 100]", p.Epsilon)
	case !(p.Delta >= 1e-15 && p.Delta <= 0.01):
		return noregret.BadInputf("privacy.delta", "%v: want a probability in [1e-15, 0.01]", p.Delta)
	case p.UnitContribution < 1 || p.UnitContribution > 1000:
		return noregret.BadInputf("privacy.unit_contribution", "%d: want 1 to 1000 decisions", p.UnitContribution)
	case p.Rounds < 1 || p.Rounds > 10_000:
		return noregret.BadInputf("privacy.rounds", "%d: want 1 to 10000", p.Rounds)
	case !d.Plain():
		return noregret.BadInputf("privacy", "a private experiment needs the policy pasto and arms that are not a "+
			"box, which learn from sums alone")
	case d.Drift.Memory != 0:
		return noregret.BadInputf("privacy", "with a drift.memory of %d: a private experiment has sums over all "+
			"rounds, want none", d.Drift.Memory)
	case d.HoldBack > 0:
		return noregret.BadInputf("privacy", "with hold_back %v: a private experiment releases nothing of units held "+
			"back, want 0", d.HoldBack)
	}
	for i := range d.Metrics {
		m, place := &d.Metrics[i], fmt.Sprintf("metrics[%d]", i)
		switch {
		case m.Kind == "ratio":
			return noregret.BadInputf(place, "%q is a ratio: a private experiment releases sums of means and counts",
				m.Name)
		case m.Range == nil && (m.Cap == nil || m.Kind == "count"):
			return noregret.BadInputf(place, "%q has no range: a private experiment needs one for the "+
				"size of the noise", m.Name)
		case m.Default == nil:
			return noregret.BadInputf(place, "%q has no default: a private experiment needs one, so that nobody sees "+
				"who reported", m.Name)
		}
		if low, high := m.Counted(); !(low < high) {
			return noregret.BadInputf(place, "%q counts as %v always: a private experiment needs a range within "+
				"its cap", m.Name, low)
		}
	}
	for i := range d.Guardrails {
		if g := &d.Guardrails[i]; g.Action != "alert" || g.EachArm {
			return noregret.BadInputf(fmt.Sprintf("guardrails[%d]", i), "action %s, each_arm %t: a private experiment "+
				"calls no breach, for which raw feedback would be needed: want alert and false; the policy keeps to "+
				"a hard guardrail by itself", g.Action, g.EachArm)
		}
	}
	for i := range d.Ramp {
		place := fmt.Sprintf("ramp[%d].guardrails", i)
		if d.Ramp[i].Guardrails != "" {
			return noregret.BadInputf(place, "%q: a private experiment calls no guardrail held, for which raw "+
				"feedback would be needed: want units or time", d.Ramp[i].Guardrails)
		}
	}
	arms, err := d.NamedArms()
	if err != nil {
		return err
	}
	if int64(len(arms)*len(d.Metrics)) > mostReleased/p.Rounds {
		return noregret.BadInputf("privacy.rounds", "%d with %d arms and %d metrics: a private experiment releases at "+
			"most %d numbers in all", p.Rounds, len(arms), len(d.Metrics), mostReleased)
	}
	if _, err := p.Budget(); err != nil {
		return err
	}
	_, err = aggregate.New(ReleasedSums(d, len(arms)))
	if errors.Is(err, dp.ErrLattice) {
		return noregret.BadInputf("privacy.epsilon", "%v with delta %v, %d rounds and %d metrics: exact noise of so "+
			"little size differs from Gaussian noise by more than a hundredth of delta, want a smaller epsilon or a "+
			"larger delta (%w)", p.Epsilon, p.Delta, p.Rounds, len(d.Metrics), err)
	}
	return err
}

// MostPrivate is the largest number of decisions of a version whose feedback counts.
const MostPrivate = 1 << 24

// ReleasedSums returns what a private experiment with so many arms releases.
func ReleasedSums(d *Definition, arms int) aggregate.Config {
	c := aggregate.Config{
		Arms: arms, Contribution: d.Privacy.UnitContribution, Rounds: d.Privacy.Rounds, Epsilon: d.Privacy.Epsilon,
		Delta: d.Privacy.Delta, Batch: MostPrivate, Kind: dp.SquareRoot,
	}
	for i := range d.Metrics {
		low, high := d.Metrics[i].Counted()
		c.Metrics = append(c.Metrics, aggregate.Range{Low: low, High: high})
	}
	return c
}
