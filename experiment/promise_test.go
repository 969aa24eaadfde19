package experiment

import (
	"strings"
	"testing"
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
		"drift":    {ranged, hard + "drift: {memory: 9}\n", "in each round with probability 99.87 %"},
		"no control": {
			ranged, "guardrails: [{metric: m, min: 0.1}]\n", "there is no control arm",
		},
		"no guardrail": {ranged, "", ""},
	} {
		s, control := newScenario(t), "control: {arm: c, share: 0.2}\n"
		if name == "no control" {
			control = ""
		}
		s.run("apply\nname: e\narms: [{name: c, value: 0}, {name: a, value: 1}, {name: b, value: 2}]\n" + control +
			"metrics: [" + c.metric + "]\nobjective: {goals: [{metric: m}]}\n" + c.more)
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
