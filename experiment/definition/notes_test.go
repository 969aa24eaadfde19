package definition

import (
	"strings"
	"testing"
)

// A privacy budget that protects little is noted.
func TestPrivacyNotes(t *testing.T) {
	for _, c := range []struct {
		privacy string
		want    []string // the beginnings of the notes
	}{
		{"", nil},
		{"privacy: {epsilon: 1, delta: 1.0e-6}", nil},
		{"privacy: {epsilon: 10, delta: 1.0e-6}", nil},
		{"privacy: {epsilon: 10.5, delta: 1.0e-6}", []string{"privacy: epsilon = 10.5 is above 10"}},
		{"privacy: {epsilon: 1, delta: 0.01, rounds: 8}", []string{"privacy: delta = 0.01 is at least 1/n = 0.00625"}},
		{"privacy: {epsilon: 1, delta: 0.01, rounds: 8, unit_contribution: 2}", nil},
	} {
		d, err := Parse("notes.yaml", []byte("name: x\narms: [{name: a, value: 1}, {name: b, value: 2}]\n"+
			"control: {arm: a, share: 0.2}\nmetrics: [{name: y, range: [0, 1], default: 0}]\nround: {length: 1m, "+
			"min_units: "+
			"20}\nobjective: {goals: [{metric: y}]}\n"+c.privacy+"\n"))
		if err != nil {
			t.Fatal(err)
		}
		notes := Notes(d)
		if len(notes) != len(c.want) {
			t.Errorf("%+v: %q", c, notes)
			continue
		}
		for i := range notes {
			if !strings.HasPrefix(notes[i], c.want[i]) {
				t.Errorf("%+v: %q", c, notes)
			}
		}
	}
}

// A guardrail on a metric without a bound is noted: a cap or a range of the metric, or of both
// parts of a ratio, is what it asks for.
func TestNotes(t *testing.T) {
	for _, c := range []struct {
		revenue, views, guardrail string
		want                      []string // parts of the only note, none for no note
	}{
		{"", "", "metric: revenue, min_change: -0.05", []string{"guardrails[0]: revenue has neither", "no promise"}},
		{"", "", "metric: revenue, min: 1, hard: false", []string{"guardrails[0]: revenue has neither"}},
		{", cap: 100", ", cap: 9", "metric: revenue, min_change: -0.05", nil},
		{", range: [0, 500]", "", "metric: revenue, min_change: -0.05", nil},
		{", range: [0, 100]", "", "metric: each, min: 1, hard: false", []string{"guardrails[0]: views has neither"}},
		{", cap: 100", ", cap: 9", "metric: each, min: 1", nil},
		{", range: [0, 100]", ", range: [0, 9]", "metric: each, min: 1", nil},
		{"", "", "metric: each, min_change: -0.05", nil},
	} {
		d, err := Parse("notes.yaml", []byte("name: x\narms: [{name: a, value: 1}, {name: b, value: 2}]\n"+
			"control: {arm: a, share: 0.2}\nmetrics:\n  - {name: revenue"+c.revenue+"}\n  - {name: views, kind: count"+
			c.views+"}\n  - {name: each, kind: ratio, numerator: revenue, denominator: views}\n"+
			"objective: {goals: [{metric: views}]}\nguardrails: [{"+c.guardrail+"}]\n"))
		if err != nil {
			t.Fatal(err)
		}
		notes := Notes(d)
		if len(notes) != min(len(c.want), 1) {
			t.Errorf("%+v: %q", c, notes)
			continue
		}
		for _, want := range c.want {
			if !strings.Contains(notes[0], want) {
				t.Errorf("%+v: %q", c, notes[0])
			}
		}
		if len(c.want) == 1 && strings.Contains(notes[0], "promise") {
			t.Errorf("%+v: %q", c, notes[0])
		}
	}
}

// A goal without a bound on one unit is noted, as a guardrail is.
func TestGoalNotes(t *testing.T) {
	for _, c := range []struct {
		revenue, goal string
		want          string // the beginning of the only note, "" for no note
	}{
		{"", "revenue", "objective.goals[0]: revenue has neither"},
		{", cap: 100", "revenue", ""},
		{", range: [0, 100]", "revenue", ""},
		{"", "views", ""}, // a count
	} {
		d, err := Parse("notes.yaml", []byte("name: x\narms: [{name: a, value: 1}, {name: b, value: 2}]\n"+
			"metrics:\n  - {name: revenue"+c.revenue+"}\n  - {name: views, kind: count}\n"+
			"objective: {goals: [{metric: "+c.goal+"}]}\n"))
		if err != nil {
			t.Fatal(err)
		}
		switch notes := Notes(d); {
		case c.want == "" && len(notes) != 0, c.want != "" && (len(notes) != 1 || !strings.HasPrefix(notes[0], c.want)):
			t.Errorf("%+v: %q", c, notes)
		}
	}
}

// A cap on one part of a ratio would take from a large unit a piece of one part only.
func TestPartCaps(t *testing.T) {
	for _, c := range []struct {
		revenue, views string
		ok             bool
	}{
		{"", "", true},
		{", cap: 100", ", cap: 9", true},
		{", cap: 100", "", false},
		{"", ", cap: 9", false},
	} {
		_, err := Parse("caps.yaml", []byte("name: x\narms: [{name: a, value: 1}, {name: b, value: 2}]\n"+
			"metrics:\n  - {name: revenue"+c.revenue+"}\n  - {name: views, kind: count"+c.views+"}\n"+
			"  - {name: each, kind: ratio, numerator: revenue, denominator: views}\n"+
			"objective: {goals: [{metric: views}]}\n"))
		if c.ok != (err == nil) {
			t.Errorf("%+v: %v", c, err)
		}
		if err != nil && !strings.Contains(err.Error(), "metrics[2]") {
			t.Errorf("%v: names no place", err)
		}
	}
}
