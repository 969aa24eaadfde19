package definition

import (
	"strings"
	"testing"
)

const driftText = `
name: d
arms: [{name: a, value: 1}, {name: b, value: 2}]
control: {arm: a, share: 0.1}
metrics: [{name: m, range: [0, 1]}, {name: n, range: [0, 1]}]
objective: {goals: [{metric: m}]}
`

// TestDrift: a memory is a number of rounds, and what was written before memories is refused with
// what to write now.
func TestDrift(t *testing.T) {
	for drift, want := range map[string]int64{
		"{kind: none}": 0, "{}": 0, "{memory: 5}": 5, "{memory: 100000}": 100000,
	} {
		d, err := Parse("d.yaml", []byte(driftText+"drift: "+drift))
		if err != nil || d.Drift.Memory != want {
			t.Errorf("%s: %+v, %v", drift, d, err)
		}
	}
	for _, c := range []struct{ drift, want string }{
		{"{memory: 4}", "drift.memory: 4 rounds: want 5 to 100000"},
		{"{memory: 0}", "drift.memory: 0 rounds: want 5 to 100000"},
		{"{memory: 100001}", "drift.memory: 100001 rounds: want 5 to 100000"},
		{"{kind: discount, rate: 0.02}", "drift.kind: discount is gone: write memory: 50, as 1/rate"},
		{"{kind: discount, rate: 0.3}", "that is a memory of 3 rounds: write memory, with 5 rounds or more"},
		{"{kind: discount}", "discount is gone: write memory, the number of rounds"},
		{"{kind: window, rounds: 50}", "window is gone: write memory: 50"},
		{"{kind: window, rounds: 3}", "window is gone: that is a memory of 3 rounds"},
		{"{kind: restart, rounds: 7}", "restart is gone: write memory: 7"},
		{"{kind: restart, horizon: 1000, variation: 1}", "restart is gone: write memory, the number"},
		{"{kind: detector, detector: cusum}", "detector is gone: leave drift out"},
		{"{kind: adaptive}", "adaptive is gone: leave drift out"},
		{"{kind: other}", "drift.kind: \"other\": want memory"},
		{"{kind: none, rounds: 5}", "drift.rounds: is gone: want memory"},
		{"{rate: 0.1}", "drift.rate: is gone: want memory"},
		{"{horizon: 1}", "drift.horizon: is gone"},
		{"{variation: 1}", "drift.variation: is gone"},
		{"{detector: adwin}", "drift.detector: is gone"},
		{"{interval: 5}", "interval"},
	} {
		if _, err := Parse("d.yaml", []byte(driftText+"drift: "+c.drift)); err == nil ||
			!strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", c.drift, err, c.want)
		}
	}
}

// TestDriftOfPolicies: a policy that cannot forget is refused.
func TestDriftOfPolicies(t *testing.T) {
	const context = "context: [{name: age, kind: number, range: [0, 99]}]\n"
	text := strings.Replace(driftText, "control: {arm: a, share: 0.1}\n", "", 1)
	for _, c := range []struct{ more, want string }{
		{"policy: {kind: thompson}\n", ""},
		{"policy: {kind: tsallis-inf}\n", ""},
		{context + "policy: {kind: lin-ucb}\n", ""},
		{"policy: {kind: fixed, split: {a: 1}}\n", "a fixed policy forgets nothing"},
		{"changes: none\n", "with changes none"},
	} {
		_, err := Parse("d.yaml", []byte(text+c.more+"drift: {memory: 5}"))
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", c.more, err, c.want)
		}
	}
}

// TestExplorationAndStrict: exploration has a share only, and strict bounds need a range of every
// hard guardrail, independent rounds and a promise for what is served.
func TestExplorationAndStrict(t *testing.T) {
	const hard = "guardrails: [{metric: n, min_change: -0.05}]\n"
	for _, c := range []struct{ more, want string }{
		{"exploration: {share: 0.2}", ""},
		{"exploration: {}", ""},
		{"exploration: {share: 2}", "exploration.share: 2: want a share"},
		{"exploration: {decay: 5}", "exploration.decay: is gone"},
		{"exploration: {optimism: 2}", "exploration.optimism: is gone"},
		{hard + "strict: true", ""},
		{hard + "strict: true\ndrift: {memory: 5}", "drift.memory: 5 with strict"},
		{hard + "strict: true\ncaution: 2", "caution: 2"},
		{hard + "strict: true\nstickiness: unit", "strict: with stickiness unit"},
		{"guardrails: [{metric: n, min: 0.1, hold: deployed}]\nstrict: true", "strict: with hold deployed"},
		{"guardrails: [{metric: k, min: 0.1}]\nstrict: true", "\"k\" has no range: with strict no arm could ever"},
		{"guardrails: [{metric: k, min: 0.1, hard: false}]\nstrict: true", ""},
	} {
		text := strings.Replace(driftText, "{name: n, range: [0, 1]}", "{name: n, range: [0, 1]}, {name: k}", 1)
		d, err := Parse("d.yaml", []byte(text+c.more))
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", c.more, err, c.want)
		}
		if err == nil && d.Exploration != nil && d.Exploration.Share != 0.2 && d.Exploration.Share != 0.5 {
			t.Errorf("%s: %+v", c.more, d.Exploration)
		}
	}
}
