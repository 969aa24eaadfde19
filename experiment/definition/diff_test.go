package definition

import (
	"fmt"
	"strings"
	"testing"
)

func parsed(t *testing.T, text string) *Definition {
	t.Helper()
	d, err := Parse("x", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestDiff(t *testing.T) {
	const guards = "\nguardrails: [{metric: clicks, min: 1, hard: false}, {metric: clicks, max: 9, hard: false}]"
	for _, tc := range []struct{ old, new, want string }{
		{"hold_back: 0.01", "hold_back: 0.01", ""},
		{"length: 30m", "length: 0.5h", ""},
		{"length: 30m", "length: 1h", `round.length: "30m0s" > "1h0m0s"`},
		{"weight: 0.5", "weight: 0.6", "objective.goals.watch.weight: 0.5 > 0.6"},
		{"alpha: 0.01", "alpha: 0.02", "guardrails.clicks.alpha: 0.01 > 0.02"},
		{", action: shrink", "", `guardrails.rate.action: "shrink" > "alert"`},
		{"traffic: 0.8\n", "", "traffic: 0.8 > 1"},
		{"description: Weights of the ranking\n", "", `description: "Weights of the ranking" > `},
		{
			"  - {name: watch, range: [0, 600], unit: s}\n", "  - {name: watch, range: [0, 700], unit: s}\n",
			"metrics.watch.range[1]: 600 > 700",
		},
		{
			"- {name: clicks, kind: count, default: 0}\n  - {name: shown, kind: count}",
			"- {name: shown, kind: count}\n  - {name: clicks, kind: count, default: 0}",
			`metrics: ["watch","clicks","shown","rate","complaints"] > ["watch","shown","clicks","rate","complaints"]`,
		},
	} {
		changed := strings.Replace(full, tc.old, tc.new, 1)
		if tc.old != tc.new && changed == full {
			t.Fatalf("%q is not in the definition", tc.old)
		}
		checkDiff(t, full, changed, tc.want)
	}
	plain := "name: x\narms: [{name: a, value: {z: 1, y: [2]}}, {name: b, value: 2}]\n" +
		"metrics: [{name: clicks, kind: count}]\nobjective: {goals: [{metric: clicks}]}"
	checkDiff(t, plain, strings.Replace(plain, "{name: b, value: 2}", "{name: c, value: 3}", 1),
		`arms.c:  > {"name":"c","value":3}; arms.b: {"name":"b","value":2} > `)
	checkDiff(t, plain, strings.Replace(plain, "[2]", "[3]", 1),
		`arms.a.value: {"z":1,"y":[2]} > {"z":1,"y":[3]}`)
	checkDiff(t, plain+guards, plain+strings.Replace(guards, "9", "8", 1), "guardrails[1].max: 9 > 8")
	checkDiff(t, plain, strings.Replace(plain, "name: x", "name: y", 1), `name: "x" > "y"; salt: "x" > "y"`)
}

func checkDiff(t *testing.T, before, after, want string) {
	t.Helper()
	changes, err := Diff(parsed(t, before), parsed(t, after))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range changes {
		got = append(got, fmt.Sprintf("%s: %s > %s", c.Path, c.Before, c.After))
	}
	if strings.Join(got, "; ") != want {
		t.Errorf("got %s\nwant %s", strings.Join(got, "; "), want)
	}
}

// TestDiffOfNone lists all fields of a definition that is new or gone.
func TestDiffOfNone(t *testing.T) {
	d := parsed(t, full)
	created, err := Diff(nil, d)
	if err != nil || len(created) < 15 || created[0].Path != "name" || created[0].Before != nil {
		t.Errorf("%d changes, %+v, %v", len(created), created, err)
	}
	gone, err := Diff(d, nil)
	if err != nil || len(gone) != len(created) || gone[0].After != nil {
		t.Errorf("%+v, %v", gone, err)
	}
}
