package definition

import (
	"errors"
	"strings"
	"testing"

	"github.com/noregret/noregret"
)

// private is a definition with privacy.
const private = `{"name":"v","arms":[{"name":"a","value":1},{"name":"b","value":2}],
 "control":{"arm":"a","share":0.1},
 "metrics":[{"name":"m","range":[0,1],"default":0},{"name":"n","kind":"count","range":[0,5],"default":0}],
 "objective":{"goals":[{"metric":"m"}]},"guardrails":[{"metric":"n","max":3}],
 "privacy":{"epsilon":1,"delta":1e-6,"unit_contribution":2,"rounds":50}}`

func TestPrivacyPresets(t *testing.T) {
	d, err := Parse("d", []byte(strings.Replace(private, `,"unit_contribution":2,"rounds":50`, "", 1)))
	if err != nil {
		t.Fatal(err)
	}
	if want := (Privacy{Epsilon: 1, Delta: 1e-6, UnitContribution: 1, Rounds: 1000}); *d.Privacy != want {
		t.Errorf("%+v, want %+v", *d.Privacy, want)
	}
}

// Whatever would publish something computed from raw feedback is refused with its reason.
func TestPrivacyRefuses(t *testing.T) {
	for _, c := range []struct{ old, new, want string }{
		{`"epsilon":1`, `"epsilon":0`, "privacy.epsilon: 0: want a number"},
		{`"delta":1e-6`, `"delta":0.5`, "privacy.delta: 0.5: want a probability"},
		{`"delta":1e-6`, `"delta":0`, "privacy.delta: 0: want"},
		{`"epsilon":1`, `"epsilon":40`, "privacy.epsilon: 40 with delta 1e-06, 50 rounds and 2 metrics: exact noise"},
		{`"unit_contribution":2`, `"unit_contribution":0`, "privacy.unit_contribution: 0"},
		{`"rounds":50`, `"rounds":20000`, "privacy.rounds: 20000"},
		{`"range":[0,1],"default":0`, `"default":0`, `metrics[0]: "m" has no range`},
		{`"kind":"count","range":[0,5]`, `"kind":"count","cap":5`, `metrics[1]: "n" has no range`},
		{`"range":[0,5],"default":0`, `"range":[0,5]`, `metrics[1]: "n" has no default`},
		{`"range":[0,5],"default":0`, `"range":[0,5],"default":0,"window":"1h"`, `metrics[1].window: 1h, where the`},
		{`"max":3}`, `"max":3,"action":"rollback"}`, "guardrails[0]: action rollback"},
		{`"max":3}`, `"max":3,"action":"shrink"}`, "guardrails[0]: action shrink"},
		{`"max":3}`, `"max":3,"each_arm":true}`, "each_arm true"},
		{`"objective"`, `"drift":{"memory":10},"objective"`, `with a drift.memory of 10`},
		{`"objective"`, `"hold_back":0.1,"objective"`, "with hold_back 0.1"},
		{
			`"objective"`, `"ramp":[{"share":0.5,"units":9,"guardrails":"held"}],"objective"`,
			"ramp[0].guardrails: \"held\"",
		},
		{
			`"default":0}]`, `"default":0},{"name":"r","kind":"ratio","numerator":"m","denominator":"n"}]`,
			`metrics[2]: "r" is a ratio`,
		},
		{
			`"objective":{"goals":[{"metric":"m"}]},"guardrails":[{"metric":"n","max":3}]`,
			`"policy":{"kind":"fixed","split":{"a":1}}`, "",
		},
	} {
		_, err := Parse("d", []byte(strings.Replace(private, c.old, c.new, 1)))
		if e, ok := errors.AsType[*noregret.Error](err); !ok || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v (%v), want %q", c.new, err, e, c.want)
		}
	}
	bandit := `{"name":"v","arms":[{"name":"a","value":1},{"name":"b","value":2}],
	 "metrics":[{"name":"m","range":[0,1],"default":0}],"objective":{"goals":[{"metric":"m"}]},
	 "policy":{"kind":"thompson"},"privacy":{"epsilon":1,"delta":1e-6}}`
	if _, err := Parse("d", []byte(bandit)); err == nil || !strings.Contains(err.Error(), "needs the policy pasto") {
		t.Error(err)
	}
}
