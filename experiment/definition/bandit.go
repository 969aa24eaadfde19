package definition

import (
	"fmt"
	"math"
	"slices"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/bandit"
	"github.com/noregret/noregret/internal/named"
	"github.com/noregret/noregret/policy"
)

// banditKinds are the policies that look for the best single arm by one reward per unit.
var banditKinds = bandit.BatchRules()

// policyKinds are all policies.
var policyKinds = slices.Concat([]string{"pasto", "fixed"}, banditKinds, policy.LinearKinds())

// Bandit reports whether the policy is a bandit without contexts, a rule of [bandit.BatchRules].
// Its reward is the objective, the weighted sum of the goals.
func (d *Definition) Bandit() bool { return slices.Contains(banditKinds, d.Policy.Kind) }

// checkBandit checks the definition of a bandit, with contexts or without: the parts that it has
// and those that it cannot honour.
func checkBandit(d *Definition) error {
	kind := d.Policy.Kind
	switch {
	case d.Policy.Split != nil:
		return noregret.BadInputf("policy.split", "only the policy fixed has a split")
	case len(d.Guardrails) > 0:
		return noregret.BadInputf("guardrails", "the policy %s holds no guardrails: want the policy pasto, which "+
			"does, or no guardrails", kind)
	case d.Objective == nil:
		return noregret.BadInputf("objective", "none: the policy %s needs one", kind)
	case d.Objective.Soft != 0:
		return noregret.BadInputf("objective.soft", "%v: the policy %s improves a sum: want 0, or the policy pasto",
			d.Objective.Soft, kind)
	}
	if rule, ok := bandit.ParseBatchRule(kind); !ok || !rule.Ranged() {
		return nil
	}
	for i, g := range d.Objective.Goals {
		if m := d.Metric(g.Metric); m.Range == nil && m.Cap == nil {
			return noregret.BadInputf(fmt.Sprintf("objective.goals[%d].metric", i), "%q has no range: the policy "+
				"%s needs the range or the cap of every goal, or take thompson or ucb", g.Metric, kind)
		}
	}
	return nil
}

// Reward is the reward of a unit under a bandit: Σ weight·value over the goals.
type Reward struct {
	// Metrics and Weights are those of the goals. A weight is negative where the metric improves
	// downwards.
	Metrics []int
	Weights []float64
	// Low and High are the range of the reward, infinite if a goal has neither a range nor a cap.
	Low, High float64
}

// RewardOf returns the reward of a definition with an objective.
func RewardOf(d *Definition) Reward {
	var r Reward
	for _, g := range d.Objective.Goals {
		i, w := d.MetricIndex(g.Metric), g.Weight
		m := &d.Metrics[i]
		if m.Direction == "down" {
			w = -w
		}
		r.Metrics, r.Weights = append(r.Metrics, i), append(r.Weights, w)
		from, to := math.Inf(-1), math.Inf(1)
		if m.Range != nil || m.Cap != nil {
			from, to = m.Counted()
		}
		a, b := float64(w*from), float64(w*to)
		r.Low, r.High = r.Low+min(a, b), r.High+max(a, b)
	}
	return r
}

// oneOfMany is oneOf for lists with more than two values.
func oneOfMany(place, v string, allowed []string) error {
	if slices.Contains(allowed, v) {
		return nil
	}
	return noregret.BadInputf(place, "%s", named.Unknown(v, allowed))
}
