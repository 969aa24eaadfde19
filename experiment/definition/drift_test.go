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

// TestDrift: each kind of drift takes its own fields, with hard guardrails that hold in what is
// served, and no others.
func TestDrift(t *testing.T) {
	const hard = "guardrails: [{metric: n, min_change: -0.05}]\n"
	for _, drift := range []string{
		"{kind: none}", "{kind: restart, rounds: 50}", "{kind: restart, horizon: 1000, variation: 1}",
		"{kind: discount, rate: 0.01}", "{kind: window, rounds: 50}", "{kind: detector, detector: cusum}",
		"{kind: detector, detector: page-hinkley}", "{kind: detector, detector: adwin}",
		"{kind: detector, detector: kswin}", "{kind: adaptive}",
	} {
		d, err := Parse("d.yaml", []byte(driftText+hard+"drift: "+drift))
		if err != nil {
			t.Errorf("%s: %v", drift, err)
			continue
		}
		if !d.LearnsControl() || !d.Guardrails[0].Hard || d.HoldsDeployed() {
			t.Errorf("%s: what is served does not hold the guardrail", drift)
		}
	}
	for _, c := range []struct{ drift, want string }{
		{"{kind: restart}", "drift.rounds: none: want the rounds between two restarts, or a horizon and a variation"},
		{"{kind: restart, rounds: 5, horizon: 9, variation: 1}", "drift.horizon: 9"},
		{"{kind: restart, rounds: 100001}", "drift.rounds: 100001: want 1 to 100000"},
		{"{kind: restart, horizon: 9}", "drift.variation: 0: want a number above 0"},
		{"{kind: restart, horizon: 9, variation: 10}", "drift.variation: 10"},
		{"{kind: window}", "drift.rounds: 0 with kind window"},
		{"{kind: discount}", "drift.rate: 0 with kind discount"},
		{"{kind: discount, rate: 0.1, rounds: 5}", "drift.rounds: 5 with kind discount"},
		{"{kind: detector}", "drift.detector: \"\": want one of cusum, page-hinkley, adwin, kswin"},
		{"{kind: detector, detector: other}", "drift.detector: \"other\": want one of cusum"},
		{"{kind: adaptive, rate: 0.1}", "drift.rate: 0.1 with kind adaptive"},
		{"{kind: adaptive, detector: cusum}", "drift.detector: \"cusum\" with kind adaptive"},
		{"{kind: other}", "drift.kind: \"other\": want one of none, restart, discount, window, detector, adaptive"},
		{"{kind: none, interval: 5}", "interval"},
	} {
		if _, err := Parse("d.yaml", []byte(driftText+"drift: "+c.drift)); err == nil ||
			!strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", c.drift, err, c.want)
		}
	}
}

// TestDriftOfPolicies: a policy that cannot forget in a way is refused with a word for those ways
// that it can.
func TestDriftOfPolicies(t *testing.T) {
	const context = "context: [{name: age, kind: number, range: [0, 99]}]\n"
	text := strings.Replace(driftText, "control: {arm: a, share: 0.1}\n", "", 1)
	for _, c := range []struct{ more, want string }{
		{"policy: {kind: thompson}\ndrift: {kind: restart, rounds: 5}", ""},
		{"policy: {kind: ucb}\ndrift: {kind: discount, rate: 0.1}", ""},
		{"policy: {kind: kl-ucb}\ndrift: {kind: window, rounds: 5}", ""},
		{"policy: {kind: tsallis-inf}\ndrift: {kind: detector, detector: cusum}", ""},
		{"policy: {kind: ucb}\ndrift: {kind: adaptive}", "forgets by restart, discount, window or detector"},
		{context + "policy: {kind: lin-ucb}\ndrift: {kind: restart, rounds: 5}", ""},
		{
			context + "policy: {kind: lin-ucb}\ndrift: {kind: window, rounds: 5}",
			"the policy lin-ucb forgets by restart only",
		},
		{"policy: {kind: fixed, split: {a: 1}}\ndrift: {kind: adaptive}", "a fixed policy forgets nothing"},
	} {
		_, err := Parse("d.yaml", []byte(text+c.more))
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", c.more, err, c.want)
		}
	}
}

// TestDriftNote: a definition whose interval of restarts follows from a budget says it.
func TestDriftNote(t *testing.T) {
	for drift, want := range map[string]string{
		"{kind: restart, horizon: 1000, variation: 1}": "drift: the learner begins anew every 100 rounds, which " +
			"suits a " +
			"variation of 1 over 1000 rounds",
		"{kind: restart, rounds: 100}": "",
		"{kind: adaptive}":             "",
	} {
		d, err := Parse("d.yaml", []byte(driftText+"drift: "+drift))
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(Notes(d), "; "); got != want {
			t.Errorf("%s: %q, want %q", drift, got, want)
		}
	}
}

// The interval for a horizon T and a variation V is (T/V)^(2/3), rounded up.
func TestDriftInterval(t *testing.T) {
	for _, c := range []struct {
		d    Drift
		want int
	}{
		{Drift{Kind: "restart", Rounds: 7}, 7},
		{Drift{Kind: "restart", Horizon: 1000, Variation: 1}, 100},
		{Drift{Kind: "restart", Horizon: 10_000, Variation: 10}, 100},
		{Drift{Kind: "restart", Horizon: 10_000, Variation: 0.001}, 10_000},
		{Drift{Kind: "window", Rounds: 7}, 0},
	} {
		if got := c.d.Interval(); got != c.want {
			t.Errorf("%+v: %d rounds, want %d", c.d, got, c.want)
		}
	}
}
