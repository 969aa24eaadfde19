package definition

import (
	"strings"
	"testing"
)

func TestChanged(t *testing.T) {
	const base = `name: a
arms: [{name: control, value: {x: 1}}, {name: gain, value: {x: 2, y: [1, 2]}}]
control: {arm: control, share: 0.2}
metrics: [{name: m}, {name: n, range: [0, 1]}]
objective: {goals: [{metric: m}]}
round: {length: 1h}
attribution_window: 1h
`
	parse := func(text string) *Definition {
		t.Helper()
		d, err := Parse("d", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	before := parse(base)
	for _, c := range []struct{ old, new, want string }{
		{"", "", ""},
		{"share: 0.2", "share: 0.3", "control.share"},
		{"y: [1, 2]", "y: [1, 3]", "arms.gain.value.y"},
		{"{length: 1h}", "{length: 2h, min_units: 500}", "round.length, round.min_units"},
		{"[{name: control, value: {x: 1}}, {name: gain, ", "[{name: gain, value: 1}, {name: control, ", "arms.control.value.x, arms.control.value.y added, arms.gain.value"},
		{"{name: gain, value", "{name: more, value", "arms.gain removed, arms.more added"},
		{"name: n, range: [0, 1]", "name: n, range: [0, 2]", "metrics.n.range"},
	} {
		got, err := Changed(before, parse(strings.Replace(base, c.old, c.new, 1)))
		if err != nil || got != c.want {
			t.Errorf("%s for %s: %q, want %q; %v", c.new, c.old, got, c.want, err)
		}
	}
	if got, err := Changed(nil, before); err != nil || got != "created" {
		t.Errorf("%q, %v", got, err)
	}
}
