package definition

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/noregret/noregret/bandit"
)

const banditText = `name: x
arms: [{name: a, value: 1}, {name: b, value: 2}]
metrics: [{name: m, range: [0, 2]}, {name: n, cap: 3, direction: down}, {name: free}]
objective: {goals: [{metric: m, weight: 2}, {metric: n}]}
policy: {kind: KIND}
`

// TestBandit: every kind takes what it can honour, and refuses the rest with the policy that can.
func TestBandit(t *testing.T) {
	t.Parallel()
	for _, kind := range banditKinds {
		text := strings.Replace(banditText, "KIND", kind, 1)
		d, err := Parse("d.yaml", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if !d.Bandit() || d.Plain() || d.LearnsControl() {
			t.Errorf("%s is no bandit", kind)
		}
		if r := RewardOf(d); !slices.Equal(r.Weights, []float64{2, -1}) || !slices.Equal(r.Metrics, []int{0, 1}) ||
			r.Low != -3 || r.High != 7 {
			t.Errorf("%s: the reward is %+v", kind, r)
		}
		for _, c := range []struct{ more, want string }{
			{"guardrails: [{metric: m, min: 0}]", "guardrails: the policy " + kind + " holds no guardrails: want the " +
				"policy pasto, which does"},
			{"exploration: {share: 0.1}", "exploration: only the policy pasto"},
		} {
			if _, err := Parse("d.yaml", []byte(text+c.more)); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s with %s: %v, want %s", kind, c.more, err, c.want)
			}
		}
		for _, c := range []struct{ old, new, want string }{
			{"{metric: n}]", "{metric: n}], soft: 1", "objective.soft: 1: the policy " + kind + " improves a sum"},
			{"objective: {goals: [{metric: m, weight: 2}, {metric: n}]}\n", "", "objective: none: the policy " + kind},
			{"kind: " + kind, "kind: " + kind + ", split: {a: 1}", "policy.split: only the policy fixed"},
			{"[{name: a, value: 1}, {name: b, value: 2}]", "{box: {p: {low: 0, high: 1}}}", "want pasto"},
			{
				"kind: " + kind, "kind: best",
				`policy.kind: "best": want one of pasto, fixed, thompson, ucb, kl-ucb, tsallis-inf`,
			},
		} {
			if _, err := Parse("d.yaml", []byte(strings.Replace(text, c.old, c.new, 1))); err == nil ||
				!strings.Contains(err.Error(), c.want) {
				t.Errorf("%s with %s: %v, want %s", kind, c.new, err, c.want)
			}
		}
		free := strings.Replace(text, "{metric: n}", "{metric: free}", 1)
		d, err = Parse("d.yaml", []byte(free))
		if rule, _ := bandit.ParseBatchRule(kind); !rule.Ranged() {
			if err != nil {
				t.Fatal(err)
			}
			if r := RewardOf(d); !math.IsInf(r.Low, -1) || !math.IsInf(r.High, 1) {
				t.Errorf("%s: the reward is %+v", kind, r)
			}
		} else if err == nil || !strings.Contains(err.Error(), `objective.goals[1].metric: "free" has no range`) {
			t.Errorf("%s without a range: %v", kind, err)
		}
	}
}
