package experiment

import (
	"strings"
	"testing"

	"github.com/noregret/noregret/experiment/definition"
	"github.com/noregret/noregret/experiment/propose/mixture"
)

// TestPromise checks that the report says what is promised of the guardrails, or why nothing is.
func TestPromise(t *testing.T) {
	t.Parallel()
	const ranged, hard = "{name: m, range: [0, 1]}", "guardrails: [{metric: m, min_change: -0.1}]\n"
	for name, c := range map[string]struct{ metric, more, want string }{
		"promised": {ranged, hard, "in each round with probability 99.87 %, by its standard error (caution 3)"},
		"in all rounds": {
			ranged, strings.Replace(hard, "0.1}", "0.1, alpha: 0.01}", 1) + "strict: true\n",
			"probability at least 99 %",
		},
		"no range": {
			"{name: m}", hard,
			"the guardrail m has no range, and there are no data yet about the arms a, b;",
		},
		"soft":     {ranged, strings.Replace(hard, "}", ", hard: false}", 1), "no guardrail is hard"},
		"deployed": {ranged, strings.Replace(hard, "}", ", hold: deployed}", 1), "deployed only"},
		"drift": {
			ranged, hard + "drift: {kind: window, rounds: 9}\n",
			"in all rounds of a memory together with probability at least 95 %, where the control arm holds them and " +
				"means do not change within the window of 9 rounds",
		},
		"restart": {
			ranged, hard + "drift: {kind: restart, rounds: 9}\n",
			"in all rounds between two restarts together with probability at least 95 %, where the control arm holds " +
				"them and means do not change between two restarts",
		},
		"no guardrail": {ranged, "", ""},
	} {
		s := newScenario(t)
		s.run("apply\nname: e\narms: [{name: c, value: 0}, {name: a, value: 1}, {name: b, value: 2}]\ncontrol: {arm: " +
			"c, share: 0.2}\nmetrics: [" + c.metric + "]\nobjective: {goals: [{metric: m}]}\n" + c.more)
		r, err := s.state.Report("e")
		if err != nil {
			t.Fatal(err)
		}
		switch {
		case c.want == "" && r.Promise != nil:
			t.Errorf("%s: %+v, want none", name, r.Promise)
		case c.want == "":
		case r.Promise == nil || !strings.Contains(r.Promise.Text, c.want) ||
			r.Promise.Holds == strings.HasPrefix(r.Promise.Text, "no promise holds"):
			t.Errorf("%s: %+v, want %q", name, r.Promise, c.want)
		}
		s.check()
	}
}

// TestControlLeavesNoRoom checks that the report says so where the control arm leaves no room to
// try anything.
func TestControlLeavesNoRoom(t *testing.T) {
	t.Parallel()
	for limit, want := range map[string]bool{"0.52": true, "0.2": false} {
		s := newScenario(t)
		s.run("apply\nname: e\narms: [{name: c, value: 0}, {name: a, value: 1}]\ncontrol: {arm: c, share: 0.2}\n" +
			"metrics: [{name: m, range: [0, 1]}]\nobjective: {goals: [{metric: m}]}\nguardrails: [{metric: m, min: " +
			limit + "}]\nround: {length: 1m}\nattribution_window: 1m")
		for round := range 4 {
			s.simulate([]string{"simulate", itoa(2000 * round), "2000", "0", "m=c:.5,a:.9"})
			s.run("wait 3m")
			s.run("due")
		}
		r, err := s.state.Report("e")
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(strings.Join(r.Health.Problems, "\n"), "leaves no room"); got != want {
			t.Errorf("a limit of %s: the problems are %q", limit, r.Health.Problems)
		}
	}
}

// TestProbe checks that what definitions say about arms without data is what the policy does.
func TestProbe(t *testing.T) {
	d, err := definition.Parse("probe.yaml", []byte("name: e\narms: [{name: a, value: 0}, {name: b, value: 1}]\n"+
		"control: {arm: a, share: 0.1}\nmetrics: [{name: x}]\nobjective: {goals: [{metric: x}]}\n"+
		"guardrails: [{metric: x, min_change: -0.1}]\n"))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := d.Probe(), 100*mixture.DefaultOptions().Probe; !d.Mixes() || got != want {
		t.Errorf("%v %% of the units for arms without data, want %v", got, want)
	}
}
