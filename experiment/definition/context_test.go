package definition

import (
	"strings"
	"testing"

	"github.com/noregret/noregret/policy"
)

const contextText = `name: x
arms: [{name: a, value: 1}, {name: b, value: 2}]
control: {arm: a}
metrics: [{name: m}]
objective: {goals: [{metric: m}]}
policy: {kind: KIND}
context: [{name: age, kind: number, range: [0, 100]}, {name: land, kind: category, values: [de, fr]}]
`

// TestContext: contextual policies have features and immediate exposures, and refuse what they
// cannot honour.
func TestContext(t *testing.T) {
	t.Parallel()
	for _, kind := range policy.LinearKinds() {
		text := strings.Replace(contextText, "KIND", kind, 1)
		d, err := Parse("d.yaml", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if !d.Contextual() || d.Bandit() || d.Plain() || d.Exposure != "immediate" || len(d.Context) != 2 {
			t.Errorf("%s: %+v", kind, d)
		}
		if d, err = Parse("d.yaml", []byte(text+"exposure: reported")); err != nil || d.Exposure != "reported" {
			t.Errorf("%s with reported exposures: %+v, %v", kind, d, err)
		}
		other := "gamma"
		if kind == policy.SquareCB {
			other = "alpha"
		}
		for _, c := range []struct{ old, new, want string }{
			{"control: {arm: a}", "control: {arm: a, share: 0.1}", "control.share: 0.1: the policy " + kind},
			{"control: {arm: a}", "guardrails: [{metric: m, min: 0}]", "guardrails: the policy " + kind},
			{"control: {arm: a}", "max_share: {every: 0.6}", "max_share: the policy " + kind},
			{"control: {arm: a}", "control: {arm: a}\nramp: [{share: 0.1, units: 5}]", "ramp: the policy " + kind},
			{"control: {arm: a}", "drift: {memory: 4}", "drift.memory"},
			{"kind: " + kind, "kind: " + kind + ", " + other + ": 1", "policy." + other + ": only"},
			{"kind: " + kind, "kind: " + kind + ", split: {a: 1}", "policy.split: only"},
			{"kind: number", "kind: numbers", "context[0].kind"},
			{"range: [0, 100]", "range: [5, 5]", "context[0].range: [5, 5]"},
			{"values: [de, fr]", "values: [de, de]", "context[1].values[1]"},
			{"name: land", "name: age", `context[1].name: "age" occurs twice`},
			{"{name: age, kind: number", "{kind: number", "context[0].name"},
			{
				"{name: age, kind: number, range: [0, 100]}", "{name: q, kind: text-hash, buckets: 2000}",
				"context[0].buckets: 2000",
			},
		} {
			if !strings.Contains(text, c.old) {
				t.Fatalf("the definition does not contain %q", c.old)
			}
			if _, err := Parse("d.yaml", []byte(strings.Replace(text, c.old, c.new, 1))); err == nil ||
				!strings.Contains(err.Error(), c.want) {
				t.Errorf("%s with %s: %v, want %s", kind, c.new, err, c.want)
			}
		}
		cut, _, _ := strings.Cut(text, "context:")
		if _, err := Parse("d.yaml", []byte(cut)); err == nil ||
			!strings.Contains(err.Error(), "at least one feature") {
			t.Errorf("%s without a context: %v", kind, err)
		}
		wide := strings.Replace(text, "values: [de, fr]", "values: [de, fr]}, {name: q, kind: text-hash, buckets: 1010",
			1)
		wide = strings.Replace(wide, "{name: b, value: 2}", "{name: b, value: 2}, {name: c, value: 3}", 1)
		if _, err := Parse("d.yaml", []byte(wide)); (err == nil) != (kind == policy.SquareCB) {
			t.Errorf("%s with 3 arms and 1014 coordinates: %v", kind, err)
		}
	}
	if _, err := Parse("d.yaml", []byte(strings.Replace(contextText, "KIND", "thompson", 1))); err == nil ||
		!strings.Contains(err.Error(), "context: the policy thompson does not look at it") {
		t.Errorf("thompson with a context: %v", err)
	}
}
