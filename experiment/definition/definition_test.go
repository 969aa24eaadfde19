package definition

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/api"
	"github.com/noregret/noregret/internal/legible"
)

func compileSchema(t testing.TB) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(Schema))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("definition.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("definition.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// bySchema reports whether the schema accepts a document, YAML or JSON.
func bySchema(t testing.TB, s *jsonschema.Schema, text string) error {
	t.Helper()
	n, err := readSource("x", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(n.json))
	if err != nil {
		t.Fatal(err)
	}
	return s.Validate(v)
}

const full = `# every field
name: ranking-2026
description: Weights of the ranking
unit: user
salt: pepper
arms:
  grid: {weight: [0, 0.5, 1], mode: [fast, "slow"]}
control: {arm: today, value: {weight: 0.3, mode: fast}, share: 0.1}
metrics:
  - {name: watch, range: [0, 600], unit: s}
  - {name: clicks, kind: count, default: 0}
  - {name: shown, kind: count}
  - {name: rate, kind: ratio, numerator: clicks, denominator: shown}
  - {name: complaints, kind: count, direction: down, default: 0}
objective:
  goals:
    - {metric: watch, weight: 0.5}
    - {metric: complaints}
  soft: 0.1
guardrails:
  - {metric: clicks, min_change: -0.02, penalty: 3, hard: false, alpha: 0.01, action: rollback}
  - {metric: rate, min: 0.05, action: shrink, hard: false, each_arm: true}
policy: {kind: pasto}
exploration_floor: 0.05
max_share: {every: 0.5, arms: {"mode=slow,weight=1": 0.1}}
traffic: 0.8
ramp:
  - {share: 0.05, units: 1000, time: 24h, guardrails: held}
  - {share: 0.25, time: 48h}
round: {length: 30m, min_units: 1000}
attribution_window: 36h
drift: {memory: 100}
stickiness: unit
hold_back: 0.01
exposure: immediate
open_tokens: 5000
`

func TestParseFull(t *testing.T) {
	d, err := Parse("full.yaml", []byte(full))
	if err != nil {
		t.Fatal(err)
	}
	if err := bySchema(t, compileSchema(t), full); err != nil {
		t.Error(err)
	}
	arms, err := d.NamedArms()
	if err != nil || len(arms) != 7 {
		t.Fatalf("%d arms, %v", len(arms), err)
	}
	if got := arms[1].Name + " " + string(arms[1].Value) + " " +
		arms[6].Name; got != `mode=fast,weight=0 {"mode":"fast","weight":0} mode=slow,weight=1` {
		t.Error(got)
	}
	// The JSON form has the same meaning.
	text, err := json.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	again, err := Parse("full.json", text)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(d, again); diff != "" {
		t.Error(diff)
	}
	if err := bySchema(t, compileSchema(t), string(text)); err != nil {
		t.Error(err)
	}
}

// TestDefaults pins the defaults of a short definition.
func TestDefaults(t *testing.T) {
	d, err := Parse("x", []byte(`{"name":"x","arms":[{"name":"a","value":1}],"metrics":[{"name":"m"}],`+
		`"objective":{"goals":[{"metric":"m"}]},"guardrails":[{"metric":"m","min":0}]}`))
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	want :=
		`{"name":"x","unit":"user","salt":"x","arms":[{"name":"a","value":1}],"metrics":[{"name":"m","kind":"mean",` +
			`"direction":"up"}],` +
			`"objective":{"goals":[{"metric":"m","weight":1}]},"guardrails":[{"metric":"m","min":0,"penalty":5,` +
			`"hard":true,"alpha":0.05,"action":"alert"}],` +
			`"policy":{"kind":"pasto"},"exploration_floor":0,"traffic":1,"round":{"length":"1h0m0s","min_units":1},` +
			`"attribution_window":"24h0m0s",` +
			`"drift":{"kind":"none"},"changes":"detect","stickiness":"round","hold_back":0,"exposure":"reported",` +
			`"open_tokens":100000000}`
	if string(text) != want {
		t.Errorf("got %s", text)
	}
}

const small = `name: x
arms:
  - {name: a, value: 1}
  - {name: b, value: 2}
control: {arm: a, share: 0.5}
metrics:
  - name: m
  - {name: n, kind: count}
  - {name: r, kind: ratio, numerator: m, denominator: n}
objective:
  goals:
    - metric: m
guardrails:
  - metric: n
    max: 3
`

// TestParseRefuses changes the small definition in one place and compares the whole error. The
// schema must refuse it too where a schema can express the rule.
func TestParseRefuses(t *testing.T) {
	schema := compileSchema(t)
	if _, err := Parse("d.yaml", []byte(small)); err != nil {
		t.Fatal(err)
	}
	if err := bySchema(t, schema, small); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		old, new, want string
		structural     bool
	}{
		{"name: x", "name: ../x", `d.yaml:1: name: "../x": want 1 to 63 of a-z`, true},
		{"name: x", "nmae: x", `d.yaml:1: nmae: unknown field; known fields: name, description`, true},
		{"name: x\n", "\n", `d.yaml:2: name: the field is missing`, true},
		{"name: x", "name: 7", `d.yaml:1: name: must be a string, not 7`, true},
		{"name: x", "name:", `d.yaml:1: name: null: leave the field out instead`, true},
		{"value: 2", "valeu: 2", `d.yaml:4: arms[1].valeu: unknown field`, true},
		{", value: 2", "", `d.yaml:4: arms[1].value: the field is missing`, true},
		{"name: b", "name: a", `d.yaml:4: arms[1].name: "a" is also the name of arms[0]`, false},
		{"share: 0.5", "share: 1", `d.yaml:5: control.share: 1: want a share in [0, 1)`, true},
		{"share: 0.5", "share: .nan", `d.yaml:5: control.share: .nan: want a finite number`, false},
		{
			"share: 0.5", "share: 1e999",
			`d.yaml:5: control.share: must be a number in the range of float64, not "1e999"`,
			true,
		},
		{
			"share: 0.5", "share: yes please",
			`d.yaml:5: control.share: must be a number in the range of float64, not "yes please"`,
			true,
		},
		{"arm: a, share: 0.5", "arm: c, share: 0.5", `d.yaml:5: control.arm: "c" is not among the arms`, false},
		{"arm: a, share: 0.5", "arm: a", `d.yaml:5: control.share: 0: want a share above 0`, false},
		{"kind: count", "kind: sum", `d.yaml:8: metrics[1].kind: "sum": want mean or count or ratio`, true},
		{
			"kind: count", "kind: count, default: 0.5", `d.yaml:8: metrics[1].default: 0.5: a count is a whole number`,
			false,
		},
		{
			"kind: count", "range: [3, 1]",
			`d.yaml:8: metrics[1].range: [3 1]: want two numbers of size at most 1e+15, the lower first`, false,
		},
		{
			"kind: count", "range: [3]",
			`d.yaml:8: metrics[1].range: [3]: want two numbers of size at most 1e+15, the lower first`, true,
		},
		{"kind: count", "window: soon", `d.yaml:8: metrics[1].window: "soon": want a length of time`, true},
		{"kind: count", "window: 0s", `d.yaml:8: metrics[1].window: 0s: want 1ms to 8784h`, false},
		{"kind: count", "window: 367d", `d.yaml:8: metrics[1].window: 367d: want 1ms to 8784h`, false},
		{"kind: count", "window: 1h1d", `d.yaml:8: metrics[1].window: "1h1d": want a length of time`, true},
		{
			"kind: count", "kind: count, window: 7d",
			`d.yaml:9: metrics[2]: the ratio "r" has parts of two windows, 24h for "m" and 7d for "n"`, false,
		},
		{
			"kind: ratio", "kind: ratio, window: 7d",
			`d.yaml:9: metrics[2].window: "r" is a ratio, whose window is that of its parts`, false,
		},
		{
			"numerator: m", "numerator: r", `d.yaml:9: metrics[2].numerator: "r": want the name of a mean or a count`,
			false,
		},
		{
			"- metric: m", "- metric: z",
			`d.yaml:12: objective.goals[0].metric: "z" is not a metric: want one of m, n, r`,
			false,
		},
		{
			"- metric: m", "- metric: r",
			`d.yaml:12: objective.goals[0].metric: "r" is a ratio, which is not linear in the mixture`, false,
		},
		{
			"- metric: m", "- {metric: m, weight: 0}",
			`d.yaml:12: objective.goals[0].weight: 0: want a number in [1e-15, 1e+15]`, true,
		},
		{"max: 3", "max: 3\n    min: 1", `d.yaml:14: guardrails[0]: 2 limits: want exactly one`, true},
		{"    max: 3", "    alpha: 0.1", `d.yaml:14: guardrails[0]: 0 limits: want exactly one`, true},
		{"max: 3", "max: 3\n    alpha: 0", `d.yaml:16: guardrails[0].alpha: 0: want a probability in (0, 1)`, true},
		{
			"max: 3", "max: 3\n    action: panic",
			`d.yaml:16: guardrails[0].action: "panic": want alert or shrink or rollback`, true,
		},
		{"max: 3", "min_change: -1", `d.yaml:14: guardrails[0]: a change of -1: want one above -1`, true},
		{"max: 3", "max: 3\n    max: 4", `d.yaml:16: guardrails[0].max: duplicate field "max"`, false},
		{"max: 3", "max: 3\nround: {length: soon}", `d.yaml:16: round.length: "soon": want a length of time`, true},
		{"max: 3", "max: 3\nround: {length: 0s}", `d.yaml:16: round.length: 0s: want 1ms to 8784h`, false},
		{
			"max: 3", "max: 3\nround: {min_units: 1.5}",
			`d.yaml:16: round.min_units: must be an integer from -9223372036854775808 to 9223372036854775807, not 1.5`,
			true,
		},
		{"max: 3", "max: 3\nstickiness: always", `d.yaml:16: stickiness: "always": want round or unit`, true},
		{"max: 3", "max: 3\nhold_back: 1", `d.yaml:16: hold_back: 1: want a share in [0, 1)`, true},
		{"max: 3", "max: 3\ndrift: {memory: 2}", `d.yaml:16: drift.memory: 2 rounds: want 5 to 100000`, true},
		{
			"max: 3", "max: 3\npolicy: {kind: fixed, split: {a: 0.5}}",
			`d.yaml:5: control.share: with a fixed policy, policy.split has the control's share`, false,
		},
		{"max: 3", "max: 3\narms: 7", `d.yaml:16: arms: duplicate field "arms"`, true},
		{"objective:\n  goals:\n    - metric: m\n", "", `d.yaml:1: objective: none: the policy pasto needs one`, false},
		{"max: 3", "max: [3", `not valid YAML`, false},
	} {
		if !strings.Contains(small, c.old) {
			t.Fatalf("the definition does not contain %q", c.old)
		}
		text := strings.Replace(small, c.old, c.new, 1)
		_, err := Parse("d.yaml", []byte(text))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got  %v\nwant %s", c.new, err, c.want)
			continue
		}
		var e *noregret.Error
		if !errors.As(err, &e) || e.Code != noregret.BadInput {
			t.Errorf("%s: code of %v", c.new, err)
		}
		if _, readable := readSource("x", []byte(text)); readable != nil {
			continue
		}
		if c.structural == (bySchema(t, schema, text) == nil) {
			t.Errorf("%s: the schema says %v", c.new, bySchema(t, schema, text))
		}
	}
}

func TestParseJSONLines(t *testing.T) {
	for text, want := range map[string]string{
		"{\n\"name\": \"x\",\n\"arms\": []\n, \"oops\": 1}": "j:4: oops: unknown field",
		"{\n\"name\": \"x\",\n}":                            "j:3: not valid JSON",
		"{\"name\": \"x\"":                                  "j:1: not valid JSON: truncated",
		"{\"name\": \"x\"} \n x":                            "j:2: ",
		"{\"name\": \"a\", \n\"name\": \"b\"}":              `j:2: name: duplicate field "name"`,
		"":                                                  "j:1: the document is empty",
		"[1]":                                               "j:1: must be an object, not [1]",
		"a: &x [1]\nb: *x\n--- \nc: 1":                      "a second document",
		"name: !!binary aGk=":                               "name: aGk=: JSON has no values of type !!binary",
		"\xff":                                              "j: not valid UTF-8",
	} {
		if _, err := Parse("j", []byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %s", text, err, want)
		}
	}
	bomb := "a: &a [x,x,x,x,x,x,x,x,x,x]\n"
	for c := 'b'; c < 'j'; c++ {
		p := string(c - 1)
		bomb += string(c) + ": &" + string(c) + " [*" + strings.Repeat(p+",*", 9) + p + "]\n"
	}
	if _, err := Parse("j", []byte(bomb)); err == nil {
		t.Error("exponentially nested aliases were accepted")
	}
}

// TestParseLongAliases repeats a long text, and an object whose field has a long name. The values
// are few but would take all of a machine's memory if they were written out.
func TestParseLongAliases(t *testing.T) {
	long, many := strings.Repeat("x", 400_000), "["+strings.Repeat("*a,", 90_000)+"*a]\n"
	for _, text := range []string{
		"a: &a " + long + "\nb: " + many,
		"a: &a\n  ? " + long + "\n  : 1\nb: " + many,
	} {
		_, err := Parse("j", []byte(text))
		if err == nil || !strings.Contains(err.Error(), "bytes with aliases written out") {
			t.Errorf("got %.200v, want an error about the size", err)
		}
	}
}

// TestDocumentedDefinition reads the examples of the format's page.
func TestDocumentedDefinition(t *testing.T) {
	page, err := os.ReadFile("../../docs/formats/definition.md")
	if err != nil {
		t.Fatal(err)
	}
	schema, n := compileSchema(t), 0
	for i, part := range strings.Split(string(page), "```yaml\n") {
		if i == 0 {
			continue
		}
		text, _, _ := strings.Cut(part, "```")
		n++
		if _, err := Parse("definition.md", []byte(text)); err != nil {
			t.Errorf("example %d: %v", n, err)
		}
		if err := bySchema(t, schema, text); err != nil {
			t.Errorf("example %d: %v", n, err)
		}
	}
	if n < 3 {
		t.Errorf("%d examples", n)
	}
}

func FuzzDefinition(f *testing.F) {
	f.Add(full)
	f.Add(small)
	f.Add(
		`{"name":"x","arms":{"box":{"w":{"low":0,"high":1}}},"metrics":[{"name":"m"}],` +
			`"objective":{"goals":[{"metric":"m"}]}}`)
	f.Fuzz(func(t *testing.T, text string) {
		d, err := Parse("f", []byte(text))
		if err != nil {
			if noregret.CodeOf(err) != noregret.BadInput {
				t.Fatalf("%v", err)
			}
			return
		}
		out, err := json.Marshal(d)
		if err != nil {
			t.Fatal(err)
		}
		again, err := Parse("f", out)
		if err != nil {
			t.Fatalf("its own JSON is refused: %v\n%s", err, out)
		}
		if diff := cmp.Diff(d, again); diff != "" {
			t.Fatal(diff)
		}
	})
}

// TestUnclearValues checks that a null value, which has none of the types of a flag, and names with
// invisible characters are refused, while values may contain both.
func TestUnclearValues(t *testing.T) {
	for arms, want := range map[string]string{
		`[{"name": "a", "value": null}]`:                             "arms[0].value: null: want a value",
		`{"grid": {"w": [1, null]}}`:                                 "arms.grid.w[1]: null: want a value",
		"[{\"name\": \"a\u202eb\", \"value\": 1}]":                   "without control characters",
		"[{\"name\": \"a\u200bb\", \"value\": 1}]":                   "without control characters",
		`[{"name": "a", "value": {"x": null}}]`:                      "",
		"[{\"name\": \"grün – très 🙂 <b>\", \"value\": \"\u202e\"}]": "",
	} {
		text := `{"name": "x", "arms": ` + arms +
			`, "metrics": [{"name": "m"}], "objective": {"goals": [{"metric": "m"}]}}`
		_, err := Parse("d", []byte(text))
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", arms, err)
		}
	}
}

// TestCap checks that a cap limits the value that counts and not the values that may be reported.
// Sums are of values that were already capped.
func TestCap(t *testing.T) {
	text := `{"name":"c","arms":[{"name":"a","value":1}],"metrics":[{"name":"revenue","cap":50},
	  {"name":"orders","kind":"count","cap":3},{"name":"part","range":[-10,90],"cap":20}],
	  "policy":{"kind":"fixed","split":{"a":1}}}`
	d, err := Parse("c", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	for i, c := range []struct{ low, high, of, counts float64 }{
		{-50, 50, 1e6, 50},
		{0, 3, 7, 3},
		{-10, 20, 90, 20},
	} {
		m := &d.Metrics[i]
		if low, high := m.Counted(); low != c.low || high != c.high || m.Count(c.of) != c.counts {
			t.Errorf("%s counts in [%v, %v], %v as %v", m.Name, low, high, c.of, m.Count(c.of))
		}
		if _, high := m.Interval(); high < c.of {
			t.Errorf("%s: %v is refused", m.Name, c.of)
		}
	}
	if _, err := d.Metrics[0].FromSums(api.Sums{N: 2, Sum: 120, Squares: 7200}); err == nil {
		t.Error("sums of values beyond the cap were accepted")
	}
	low, high := -1.0, 9.0
	s, err := d.Metrics[0].FromSums(api.Sums{N: 10, Sum: 40, Squares: 300, Low: &low, High: &high})
	if err != nil || s.Low != low || s.High != high {
		t.Errorf("extremes: %+v, %v", s, err)
	}
	for _, bad := range []string{"0", "-1", "1e16"} {
		if _, err := Parse("c", []byte(strings.Replace(text, `"cap":50`, `"cap":`+bad, 1))); err == nil {
			t.Errorf("a cap of %s was accepted", bad)
		}
	}
}

// TestTexts: texts that people could misread are refused where a definition is written, and are
// read where it was stored.
func TestTexts(t *testing.T) {
	const rest = "name: a\narms: [{name: x, value: 1}, {name: y, value: 2}]\nmetrics: [{name: m}]\n" +
		"objective: {goals: [{metric: m}]}\n"
	for _, bad := range []string{`\n`, `\t`, `\e[2J`, `\x9b2J`, `\u202e`, `\u2066`, `\u2028`, `\u200b`, `\0`} {
		for _, field := range []string{"description", "unit", "salt"} {
			text := rest + field + `: "as ` + bad + ` said"`
			_, err := Parse("d", []byte(text))
			if err == nil || !strings.HasPrefix(err.Error(), "d:5: "+field+": ") ||
				!strings.Contains(err.Error(), "want one line") {
				t.Errorf("%s: %v", text, err)
			}
			if _, err := ParseStored("d", []byte(text)); err != nil {
				t.Errorf("%s: stored: %v", text, err)
			}
		}
	}
	contextual := strings.Replace(rest, "objective", "policy: {kind: lin-ucb}\ncontext: [{name: c, kind: category, "+
		`values: [d, "e\u202e"]}]`+"\ncontrol: {arm: x}\nobjective", 1)
	_, err := Parse("d", []byte(contextual))
	if err == nil || !strings.Contains(err.Error(), "context[0].values[1]: ") {
		t.Errorf("%s: %v", contextual, err)
	}
}

// TestNormalisation: no two arms differ by Unicode normalisation only. One name may have any form.
func TestNormalisation(t *testing.T) {
	const rest = "\nname: a\nmetrics: [{name: m}]\nobjective: {goals: [{metric: m}]}\n"
	for text, place := range map[string]string{
		`arms: [{name: "caf\u00e9", value: 1}, {name: b, value: 2}, {name: "cafe\u0301", value: 3}]`:                        "arms[2].name",
		`arms: [{name: "\u212b", value: 1}, {name: "\u00c5", value: 2}]`:                                                    "arms[1].name",
		`arms: {grid: {p: ["caf\u00e9", "cafe\u0301"]}}`:                                                                    "arms.grid",
		`{arms: [{name: "caf\u00e9", value: 1}], control: {arm: "cafe\u0301", value: 2, share: 0.2}}`:                       "arms[0].name",
		`arms: [{name: "cafe\u0301", value: 1}, {name: cafe, value: 2}, {name: "x\u00b2", value: 3}, {name: x2, value: 4}]`: "",
	} {
		if rest, ok := strings.CutPrefix(text, "{"); ok {
			text = strings.Replace(strings.TrimSuffix(rest, "}"), ", control", "\ncontrol", 1)
		}
		_, err := Parse("d", []byte(text+rest))
		switch {
		case place == "" && err != nil:
			t.Errorf("%s: %v", text, err)
		case place != "" && (err == nil || !strings.Contains(err.Error(), place+": ") ||
			!strings.Contains(err.Error(), "looks the same")):
			t.Errorf("%s: %v, want an error at %s", text, err, place)
		}
		if _, err := ParseStored("d", []byte(text+rest)); err != nil {
			t.Errorf("%s: stored: %v", text, err)
		}
	}
}

// TestTextIsLegible: a definition that is written for people has no character that they cannot see,
// and is read back unchanged.
func TestTextIsLegible(t *testing.T) {
	text := "name: a\narms: [{name: x, value: \"a\\u202eb\\u009b2J\\n\"}, {name: y, value: {\"\\ufeff\": 2}}]\n" +
		"metrics: [{name: m}]\nobjective: {goals: [{metric: m}]}\ndescription: \"old\\e[2J\"\n"
	d, err := ParseStored("d", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	shown, err := Text(d)
	if err != nil || strings.ContainsFunc(strings.ReplaceAll(shown, "\n", ""), legible.Unclear) {
		t.Errorf("%v: %q", err, shown)
	}
	again, err := ParseStored("d", []byte(shown))
	if err != nil || !reflect.DeepEqual(again, d) {
		t.Errorf("%v: %+v, want %+v", err, again, d)
	}
}
