package definition

import (
	"fmt"

	"github.com/noregret/noregret/dp"
)

// Probe is the largest share of the units that all arms get together about which nothing is known,
// where a hard guardrail has no range.
const Probe = 0.02

// Notes returns sentences about what is allowed in a definition but weakens what its guardrails can
// say, goals and guardrails without a bound on one observation, or what its privacy protects. It
// returns nil if there are none.
func Notes(d *Definition) (notes []string) {
	if d.Objective != nil {
		for i, g := range d.Objective.Goals {
			// few units have large counts
			if m := d.Metric(g.Metric); m.Kind == "mean" && m.Range == nil && m.Cap == nil {
				notes = append(notes, fmt.Sprintf("objective.goals[%d]: %s has neither a range nor a cap, so a single "+
					"unit may outweigh all others of its arm: a cap, such as the value that one unit in a thousand "+
					"exceeds, bounds what one unit can do to the choice", i, m.Name))
			}
		}
	}
	for i := range d.Guardrails {
		g := &d.Guardrails[i]
		metric := unboundedMetric(d, g)
		if metric == "" {
			continue
		}
		text := fmt.Sprintf("guardrails[%d]: %s has neither a range nor a cap, so the verdicts are asymptotic, and "+
			"there is none while a single unit has more than a 20th of the sum of squared deviations, as with "+
			"revenue that few units carry", i, metric)
		if g.Hard && d.LearnsControl() && !d.HoldsDeployed() {
			text += fmt.Sprintf("; arms without data get %v %% of the units together, and no promise holds until they "+
				"have some", 100*Probe)
		}
		notes = append(notes, text)
	}
	return append(notes, PrivacyNotes(d)...)
}

// PrivacyNotes returns the sentences of [Notes] about what the privacy of a definition protects.
func PrivacyNotes(d *Definition) (notes []string) {
	p := d.Privacy
	if p == nil {
		return nil
	}
	// So many units there are at least if each release has the smallest round.
	units := max(1, float64(d.Round.MinUnits)*float64(p.Rounds)/float64(max(1, p.UnitContribution)))
	for _, text := range dp.BudgetWarnings(p.Epsilon, p.Delta, units) {
		notes = append(notes, "privacy: "+text)
	}
	return notes
}

// unboundedMetric returns the name of a metric for which a guardrail has no bound on one
// observation, "" if there is none. A change of a ratio has none in any case, so its parts do not
// matter.
func unboundedMetric(d *Definition, g *Guardrail) string {
	of := []int{d.MetricIndex(g.Metric)}
	if r := d.RatioIndex(of[0]); r >= 0 {
		limit, _, relative, _ := g.Limit()
		if relative {
			return ""
		}
		of = []int{d.Ratios()[r].Numerator}
		if limit != 0 {
			of = append(of, d.Ratios()[r].Denominator)
		}
	}
	for _, m := range of {
		if x := &d.Metrics[m]; x.Range == nil && x.Cap == nil {
			return x.Name
		}
	}
	return ""
}
