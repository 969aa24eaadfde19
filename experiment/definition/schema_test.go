package definition

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/danielgtaylor/huma/v2"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/noregret/noregret/internal/strictjson"
	"github.com/noregret/noregret/internal/testsize"
	"github.com/noregret/noregret/internal/typeschema"
	"github.com/noregret/noregret/policy"
)

var rewrite = flag.Bool("rewrite", false, "write definition.schema.json anew")

const parts = "#/$defs/"

//go:generate go test -count=1 -run ^TestSchema$ -args -rewrite

// TestSchema checks that definition.schema.json is what the types and their tags say, with the
// fields of required and the values of preset and presets.
func TestSchema(t *testing.T) {
	types := typeschema.New(parts, func(t reflect.Type) string {
		return strings.ToUpper(t.Name()[:1]) + t.Name()[1:]
	})
	types.RegisterTypeAlias(reflect.TypeFor[policy.Duration](), reflect.TypeFor[duration]())
	types.Of(Definition{})
	types.Complete(t)
	all := types.Map()
	for name, s := range all {
		of := types.TypeFromRef(parts + name)
		s.Required = nil
		for _, field := range required {
			if owner, field, _ := strings.Cut(field, "."); owner == of.Name() {
				s.Required = append(s.Required, field)
			}
		}
		v := reflect.New(of)
		preset(v.Interface())
		setDefaults(s, v.Elem(), types.SchemaFromRef)
	}
	root := all["Definition"]
	delete(all, "Definition")
	setDefaults(root, reflect.ValueOf(presets()), types.SchemaFromRef)
	root.Title = "noregret experiment definition"
	least, most := -math.MaxFloat64, math.MaxFloat64
	all["Value"] = &huma.Schema{
		Description: "Any JSON value with numbers that a float64 can hold.",
		AnyOf: []*huma.Schema{
			{Extensions: map[string]any{"type": []string{"string", "boolean", "null"}}},
			{Type: "number", Minimum: &least, Maximum: &most},
			{Type: "array", Items: &huma.Schema{Ref: parts + "Value"}},
			{Type: "object", AdditionalProperties: &huma.Schema{Ref: parts + "Value"}},
		},
	}
	all["ArmValue"] = &huma.Schema{Ref: parts + "Value", Not: &huma.Schema{Type: "null"}}
	all["Duration"] = &huma.Schema{
		Type: "string", Pattern: strings.ReplaceAll(`^\+?(Nd|(Nd)?(N(ns|us|µs|μs|ms|s|m|h))+)$`, "N",
			`([0-9]+(\.[0-9]*)?|\.[0-9]+)`),
		Description: "A length of time from 1ms to 8784h, such as 90s, 1h30m, 36h, 7d. (The range is not in this " +
			"schema: a pattern cannot add.)",
	}
	root.Extensions = map[string]any{
		"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": "https://noregret.dev/definition.schema.json",
		"$defs": all,
	}
	typeschema.Golden(t, "definition.schema.json", root, *rewrite)
}

// setDefaults gives the fields the defaults that a value has, where it is not zero, and those of
// structs in it.
func setDefaults(s *huma.Schema, v reflect.Value, at func(ref string) *huma.Schema) {
	for _, f := range reflect.VisibleFields(v.Type()) {
		p, of := s.Properties[strictjson.Name(f)], v.FieldByIndex(f.Index)
		switch {
		case p == nil || of.IsZero() && of.Kind() != reflect.Bool:
		case of.Kind() == reflect.Struct:
			setDefaults(at(p.Ref), of, at)
		default:
			p.Default = of.Interface()
		}
	}
}

// duration stands for a length of time.
type duration struct{}

func (duration) Schema(huma.Registry) *huma.Schema { return &huma.Schema{Ref: parts + "Duration"} }

// Schema implements [huma.SchemaProvider]: arms are a list, a grid or a box.
func (Arms) Schema(r huma.Registry) *huma.Schema {
	least, most := 1, MaxArms
	return &huma.Schema{
		OneOf: []*huma.Schema{
			{
				Type: "array", MinItems: &least, MaxItems: &most,
				Items: r.Schema(reflect.TypeFor[policy.Arm](), true, ""),
			},
			r.Schema(reflect.TypeFor[armsForm](), true, ""),
		},
	}
}

// TransformSchema implements [huma.SchemaTransformer].
func (armsForm) TransformSchema(_ huma.Registry, s *huma.Schema) *huma.Schema {
	least, most := 1, MaxArms
	s.Properties["grid"].AdditionalProperties = &huma.Schema{
		Type: "array", MinItems: &least, MaxItems: &most, UniqueItems: true,
		Items: &huma.Schema{Ref: parts + "ArmValue"},
	}
	s.OneOf = oneRequired("grid", "box")
	return s
}

// oneRequired are schemas that require one of the fields each.
func oneRequired(fields ...string) (out []*huma.Schema) {
	for _, f := range fields {
		out = append(out, &huma.Schema{Required: []string{f}})
	}
	return out
}

// Schema implements [huma.SchemaProvider]: a cap is a number, or a quantile.
func (Cap) Schema(r huma.Registry) *huma.Schema {
	low, high := 0.0, largest
	return &huma.Schema{OneOf: []*huma.Schema{
		{Type: "number", Format: "double", ExclusiveMinimum: &low, Maximum: &high},
		r.Schema(reflect.TypeFor[capForm](), true, ""),
	}}
}

// TransformSchema implements [huma.SchemaTransformer].
func (MaxShare) TransformSchema(_ huma.Registry, s *huma.Schema) *huma.Schema {
	s.Properties["arms"].Extensions = map[string]any{"propertyNames": map[string]any{
		"minLength": 1, "maxLength": maxArmName, "pattern": typeschema.Line(),
	}}
	return s
}

// TransformSchema implements [huma.SchemaTransformer].
func (Stage) TransformSchema(_ huma.Registry, s *huma.Schema) *huma.Schema {
	s.AnyOf = oneRequired("units", "time", "guardrails")
	s.Properties["time"] = &huma.Schema{AnyOf: []*huma.Schema{
		{Ref: parts + "Duration"}, {Type: "string", Pattern: "^[+-]?0$"},
	}}
	return s
}

// TransformSchema implements [huma.SchemaTransformer].
func (Guardrail) TransformSchema(_ huma.Registry, s *huma.Schema) *huma.Schema {
	s.OneOf = oneRequired("min", "max", "min_change", "max_change")
	return s
}

// bases are accepted definitions that together have every field.
var bases = []string{
	full, small,
	`{"name":"p","arms":{"box":{"d":{"low":0,"high":1}},"nodes":4,"every":10},"control":{"arm":"none",` +
		`"value":{"d":0},"share":0.2},
	  "metrics":[{"name":"m","direction":"down","default":1.5}],"objective":{"goals":[{"metric":"m"}],"soft":0},` +
		`"guardrails":[{"metric":"m","max":3,"hard":true,"hold":"deployed"}]}`,
	`{"name":"f","arms":[{"name":"a","value":{"x":[1,null]}},{"name":"b","value":"<b>"}],"metrics":[{"name":"m"}],` +
		`"policy":{"kind":"fixed","split":{"a":0.5,"b":0.5}},
	  "guardrails":[{"metric":"m","min":-1}],"drift":{"kind":"none"},"changes":"detect"}`,
	`{"name":"e","arms":[{"name":"a","value":1},{"name":"b","value":2}],` +
		`"metrics":[{"name":"m","cap":{"quantile":0.5,"of":[1,2]}}],` +
		`"objective":{"goals":[{"metric":"m"}]},"changes":"none","exploration":{"share":0.1}}`,
	`{"name":"w","arms":[{"name":"a","value":1},{"name":"b","value":2}],"metrics":[{"name":"m"}],` +
		`"objective":{"goals":[{"metric":"m"}]},"drift":{"memory":5}}`,
	`{"name":"k","arms":[{"name":"a","value":1},{"name":"b","value":2}],"metrics":[{"name":"m","range":[0,1]}],` +
		`"objective":{"goals":[{"metric":"m"}]},"policy":{"kind":"kl-ucb"},"drift":{"kind":"none"}}`,
	`{"name":"l","arms":[{"name":"a","value":1},{"name":"b","value":2}],"metrics":[{"name":"m","range":[0,1]}],` +
		`"objective":{"goals":[{"metric":"m"}]},"policy":{"kind":"lin-ucb","alpha":0.5},"context":[` +
		`{"name":"age","kind":"number","range":[0,99]},{"name":"land","kind":"category","values":["de","fr"]},` +
		`{"name":"query","kind":"text-hash","buckets":8,"optional":true}]}`,
	`{"name":"q","arms":[{"name":"a","value":1},{"name":"b","value":2}],"metrics":[{"name":"m","range":[0,1]}],` +
		`"objective":{"goals":[{"metric":"m"}]},"policy":{"kind":"squarecb","gamma":2},"exposure":"reported",` +
		`"context":[{"name":"age","kind":"number","range":[0,99],"optional":false}]}`,
	private,
}

// replacements are the JSON values that the test gives to each field.
var replacements = []string{
	`null`, `true`, `false`, `""`, `" "`, `"x"`, `"é"`, `"a\u0000b"`, `"1h"`, `"-1h"`, `".s"`, `"1."`, `"1.s"`, `"0"`,
	`"0s"`, `"+1h"`, `"1h30m"`, `"9000h"`, `"1e3s"`, `"1.5h"`, `"24h0m0s"`, `"µs"`,
	`"7d"`, `"1.5d12h"`, `"1h1d"`, `"1d-1h"`, `"d"`, `"1d1d"`,
	`"unit"`, `"cusum"`, `"restart"`, `"none"`, `"fixed"`, `"down"`, `"count"`, `"rollback"`, `"m"`,
	`0`, `1`, `-1`, `-0`, `0.5`, `1.0`, `1e3`, `1E2`, `100.00`, `1.5e1`, `0.1e1`, `1e6`, `1e15`, `1e16`, `1e300`,
	`1e999`, `-1e999`, `1e-5`, `12345678901234567890`,
	`[]`, `[1]`, `[0,1]`, `[1,0]`, `[1,1.0]`, `[null]`, `[1e999]`, `["a","a"]`, `[{}]`, `{}`, `{"x":1}`, `{"é":[1]}`,
	`{"a":1e999}`, `{"a b":{"low":0,"high":1}}`,
	`"` + strings.Repeat("x", 64) + `"`, `"` + strings.Repeat("é", 63) + `"`, `"` + strings.Repeat("é", 200) + `"`,
	`"` + strings.Repeat("é", 201) + `"`, `"` + strings.Repeat("x", 300) + `"`, `"` + strings.Repeat("é", 5000) + `"`,
}

// severalFields are the faults that only Parse can find because they concern several fields or the
// sum of a duration's parts.
var severalFields = regexp.MustCompile(strings.Join([]string{
	`^(round.length|attribution_window|metrics\[\d+\].window): \S+: want 1ms to 8784h$`, `ratio, whose window`, `parts of two windows`,
	`private experiment`, `exact noise of so little size`, `only a hard guardrail has it`, `hold: served: needs`, `cap: the quantile`,
	`^(changes|exploration): only the policy pasto`, `the policy (thompson|ucb|kl-ucb|tsallis-inf|lin-ucb|squarecb) `,
	`^policy.(alpha|gamma): only`, `^context`, `max_share: no bound`,
	`max_share.*: (it is the control arm|the arms may have|the points of a box)`,
	`max_share: a fixed`, `^ramp: no control arm`, `shares that grow`, `^ramp\S*: nothing to wait for`,
	`^ramp\S+: \S+: want 0s to 8784h`, `ramp.*the definition has no guardrails`,
	`is not a metric`, `want the name of a mean or a count`, `is also the numerator`, `has neither range nor default`,
	`is not a ratio: only a ratio has`,
	`want a number in the range`, `a count is`, `want two numbers .*, the lower first`,
	`control.*: "[^"]*" is (not )?among the arms`, `want a share above 0`, `the control is the only arm`,
	`no control arm`, `relative to the control arm`, `needs a control arm`,
	`policy.split`, `a fixed policy`, `learned from all rounds`, `with changes none`,
	`drift.memory: \S+ with strict`, `needs objective.soft 0`,
	`cannot choose points`, `the policy pasto needs one`, `is also the name of (arms|metrics)\[`, `duplicate goal`,
	`is a ratio, which is not linear`, `can have a min or a max`,
	`low < high`, `is not an arm`, `want 1 to 100000$`, `would have the name`, `repeats the value at \[`,
	`more than 1000 points`,
	`a point's name would have`, `only a box has nodes and every`,
	`the points that are chosen of the box`, `limits: want exactly one`, `arms.grid.\S+: .*want 1 to 200 characters`,
}, "|"))

// fields lists the paths of all values below v.
func fields(path []any, v any) (out [][]any) {
	if len(path) > 0 {
		out = append(out, slices.Clone(path))
	}
	switch x := v.(type) {
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(x)) {
			out = append(out, fields(append(path, k), x[k])...)
		}
	case []any:
		for i := range x {
			out = append(out, fields(append(path, i), x[i])...)
		}
	}
	return out
}

// put returns the document with the value at a path replaced.
func put(v any, path []any, to any) any {
	if len(path) == 0 {
		return to
	}
	switch x := v.(type) {
	case map[string]any:
		c := maps.Clone(x)
		c[path[0].(string)] = put(x[path[0].(string)], path[1:], to)
		return c
	case []any:
		c := slices.Clone(x)
		c[path[0].(int)] = put(x[path[0].(int)], path[1:], to)
		return c
	}
	return v
}

// agree fails the test unless the schema and the parser agree on a document.
func agree(t *testing.T, s *jsonschema.Schema, what string, text []byte) (accepted bool) {
	t.Helper()
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	schema := s.Validate(v)
	_, parser := Parse("d", text)
	switch {
	case parser == nil && schema != nil:
		t.Errorf("%s: the parser accepts it, the schema says %v", what, schema)
	case parser != nil && schema == nil:
		message := parser.Error()
		if i := strings.Index(message, ": "); i >= 0 {
			message = message[i+2:]
		}
		if !severalFields.MatchString(message) {
			t.Errorf("%s: the schema accepts it, the parser says %s", what, message)
		}
	}
	return parser == nil && schema == nil
}

// TestSchemaAndParserAgree sets every field of the definitions to each of many values, and removes
// it. The schema and the parser must accept the same documents, except for faults that concern
// several fields.
func TestSchemaAndParserAgree(t *testing.T) {
	s := compileSchema(t)
	accepted, all := 0, 0
	stride := 1
	if testsize.Short() {
		stride = 7
	}
	for i, base := range bases {
		n, err := readSource("x", []byte(base))
		if err != nil {
			t.Fatal(err)
		}
		var doc any
		d := json.NewDecoder(bytes.NewReader(n.json))
		d.UseNumber()
		if err := d.Decode(&doc); err != nil {
			t.Fatal(err)
		}
		if text, err := strictjson.Encode(doc); err != nil || !agree(t, s, fmt.Sprint("base ", i), text) {
			t.Fatalf("base %d is refused: %v", i, err)
		}
		for _, path := range fields(nil, doc) {
			for _, to := range replacements {
				if all++; all%stride != 0 {
					continue
				}
				text, err := strictjson.Encode(put(doc, path, json.RawMessage(to)))
				if err != nil {
					t.Fatal(err)
				}
				if agree(t, s, fmt.Sprintf("base %d, %v = %.40s", i, path, to), text) {
					accepted++
				}
				if t.Failed() && all > 40_000 {
					return
				}
			}
		}
	}
	t.Logf("both accept %d of %d documents", accepted, all)
}
