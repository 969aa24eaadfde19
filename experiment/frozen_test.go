package experiment

import (
	"strings"
	"testing"
)

// TestFrozenFieldsAreNamed: a change that a running experiment refuses is named by its place and
// both values.
func TestFrozenFieldsAreNamed(t *testing.T) {
	const text = "apply\nname: x\narms: [{name: a, value: 1}, {name: b, value: 2}]\n" +
		"control: {arm: a, share: 0.2}\n" +
		"metrics: [{name: clicks, kind: count, range: [0, 1], window: 3s}, " +
		"{name: time, range: [0, 60], default: 0}]\n" +
		"objective: {goals: [{metric: clicks}]}\nround: {length: 1h}"
	for _, c := range []struct{ old, new, want string }{
		{"window: 3s", "window: 1h", "metrics[0].window: 3s cannot become 1h while the experiment runs"},
		{", window: 3s", "", "metrics[0].window: 3s cannot be left out while the experiment runs"},
		{"default: 0", "default: 0, window: 90m", "metrics[1].window: cannot become 1h30m while the experiment runs"},
		{"[0, 60]", "[0, 61.5]", "metrics[1].range[1]: 60 cannot become 61.5 while the experiment runs"},
		{"name: time", "name: seconds", `metrics[1].name: "time" cannot become "seconds" while the experiment runs`},
		{", {name: time, range: [0, 60], default: 0}", "", "metrics: cannot change while the experiment runs"},
		{"arm: a,", "arm: b,", `control.arm: "a" cannot become "b" while the experiment runs`},
		{"name: x\n", "name: x\nunit: visit\n", `unit: "user" cannot become "visit" while the experiment runs`},
	} {
		s := newScenario(t)
		s.run(text)
		out := s.run(strings.Replace(text, c.old, c.new, 1))
		if !strings.Contains(out, c.want+": delete the experiment, or make one of another name") {
			t.Errorf("%s for %s: %s\nwant %s", c.new, c.old, out, c.want)
		}
	}
}
