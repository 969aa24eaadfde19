package policy

import (
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/noregret/noregret"
)

var visitor = []Feature{
	{Name: "age", Kind: Number, Range: Range{0, 100}},
	{Name: "country", Kind: Category, Values: []string{"DE", "FR", "true"}},
	{Name: "query", Kind: TextHash, Buckets: 4, Optional: true},
	{Name: "score", Kind: Number, Range: Range{-1e-3, 3e-3}, Optional: true},
}

func mustEncoder(t testing.TB, features []Feature) *Encoder {
	e, err := NewEncoder(features)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// TestEncode pins vectors, so that clients in other languages can compare theirs
// (docs/formats/policy.md). The buckets of the words were computed by another program: Mix of
// FNV-1a is 0xe0c13ffc340b758f for "café" and 0x4771aae79bf4879a for "paris".
func TestEncode(t *testing.T) {
	e := mustEncoder(t, visitor)
	names := []string{
		"constant", "age", "country=DE", "country=FR", "country=true", "query#0", "query#1", "query#2", "query#3",
		"query?", "score", "score?",
	}
	if diff := cmp.Diff(names, e.Names()); diff != "" || e.Dim() != len(names) {
		t.Error(diff)
	}
	r := math.Sqrt(0.5)
	for _, c := range []struct {
		context string
		want    []float64
	}{
		{`{"age": 30, "country": "FR"}`, []float64{1, -.4, 0, 1, 0, 0, 0, 0, 0, 1, 0, 1}},
		{
			` { "country" : true , "age" : 1e2 , "score": -1e-3, "query": "" } `,
			[]float64{1, 1, 0, 0, 1, 0, 0, 0, 0, 0, -1, 0},
		},
		{
			`{"age":0,"country":"\u0044E","query":"Café, PARIS!","score":0.001}`,
			[]float64{1, -1, 1, 0, 0, 0, r, 0, -r, 0, 0, 0},
		},
	} {
		got, err := e.Encode(nil, json.RawMessage(c.context))
		if diff := cmp.Diff(c.want, got, cmpopts.EquateApprox(0, 1e-15)); err != nil || diff != "" {
			t.Errorf("%s: %v\n%s", c.context, err, diff)
		}
	}
	if got, err := mustEncoder(t, nil).Encode(nil, nil); err != nil || !slices.Equal(got, []float64{1}) {
		t.Errorf("no features: %v, %v", got, err)
	}
}

func TestEncodeErrors(t *testing.T) {
	e := mustEncoder(t, visitor)
	for _, c := range []struct{ context, place, text string }{
		{`{}`, "context.age", "missing: want a number from 0 to 100"},
		{``, "context.age", "missing"},
		{`{"age": 1}`, "context.country", `one of the strings "DE", "FR", "true"`},
		{`{"age": 101, "country": "DE"}`, "context.age", "101: want a number from 0 to 100"},
		{`{"age": -1e400, "country": "DE"}`, "context.age", "-1e400: want a number"},
		{`{"age": "30", "country": "DE"}`, "context.age", `"30": want a number`},
		{`{"age": null, "country": "DE"}`, "context.age", "null: want a number"},
		{`{"age": {"a": 1}, "country": "DE"}`, "context.age", "an object: want a number"},
		{`{"age": 1, "country": "IT"}`, "context.country", `"IT": want one of`},
		{`{"age": 1, "country": false}`, "context.country", `false: want one of`},
		{`{"age": 1, "country": 3}`, "context.country", `3: want one of`},
		{`{"age": 1, "country": "DE", "query": ["a"]}`, "context.query", "a list: want a string"},
		{`{"age": 1, "country": "DE", "agee": 1}`, "context.agee", "unknown feature: want one of age, country, query"},
		{`{"age": 1, "age": 1, "country": "DE"}`, "context.age", "occurs twice"},
		{`[]`, "context", "want an object"},
		{`{"age": 01}`, "context", "byte 11"},
		{`{"age": 1`, "context", "truncated"},
		{`{"age": 1,}`, "context", "a string in quotes"},
		{`{"age": 1} x`, "context", "nothing after the object"},
		{`{"age": 1.}`, "context", "digits"},
		{`{"age": 1e}`, "context", "digits"},
		{`{"age": +1}`, "context", "a number"},
		{"{\"age\n\": 1}", "context", "control character"},
		{`{"\q": 1}`, "context", "valid escapes"},
		{`{"\`, "context", "end of a string"},
		{"{\"\xff\": 1}", "context", "UTF-8"},
		{`{"age": ` + strings.Repeat(" ", MaxContext) + `1}`, "context", "at most 65536"},
	} {
		_, err := e.Encode(nil, json.RawMessage(c.context))
		var bad *noregret.Error
		if !errors.As(err, &bad) || bad.Place != c.place || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%.60s: %v, want %q at %s", c.context, err, c.text, c.place)
		}
	}
}

func TestFeatureErrors(t *testing.T) {
	many := make([]string, MaxDim)
	for i := range many {
		many[i] = strings.Repeat("x", i%100) + string(rune('a'+i/100)) + "y"
	}
	for _, c := range []struct {
		features []Feature
		place    string
	}{
		{[]Feature{{Name: "", Kind: Number, Range: Range{0, 1}}}, "context[0].name"},
		{[]Feature{{Name: "a=b", Kind: Number, Range: Range{0, 1}}}, "context[0].name"},
		{[]Feature{{Name: "ä", Kind: Number, Range: Range{0, 1}}}, "context[0].name"},
		{[]Feature{{Name: "constant", Kind: Number, Range: Range{0, 1}}}, "context[0].name"},
		{[]Feature{{Name: "a", Kind: "text"}}, "context[0].kind"},
		{[]Feature{{Name: "a", Kind: Number}}, "context[0].range"},
		{[]Feature{{Name: "a", Kind: Number, Range: Range{1, 0}}}, "context[0].range"},
		{[]Feature{{Name: "a", Kind: Number, Range: Range{0, math.Inf(1)}}}, "context[0].range"},
		{[]Feature{{Name: "a", Kind: Number, Range: Range{0, 1}, Buckets: 3}}, "context[0].buckets"},
		{[]Feature{{Name: "a", Kind: Category}}, "context[0].values"},
		{[]Feature{{Name: "a", Kind: Category, Values: []string{"x", "x"}}}, "context[0].values[1]"},
		{[]Feature{{Name: "a", Kind: Category, Values: []string{"x", ""}}}, "context[0].values[1]"},
		{[]Feature{{Name: "a", Kind: Category, Values: []string{"x"}, Range: Range{0, 1}}}, "context[0].range"},
		{[]Feature{{Name: "a", Kind: TextHash}}, "context[0].buckets"},
		{[]Feature{{Name: "a", Kind: TextHash, Buckets: 3, Values: []string{"x"}}}, "context[0].values"},
		{
			[]Feature{{Name: "a", Kind: TextHash, Buckets: 3}, {Name: "a", Kind: TextHash, Buckets: 3}},
			"context[1].name",
		},
		{[]Feature{{Name: "a", Kind: Category, Values: many}}, "context[0]"},
	} {
		_, err := NewEncoder(c.features)
		var bad *noregret.Error
		if !errors.As(err, &bad) || bad.Place != c.place {
			t.Errorf("%.80v: %v, want a fault at %s", c.features, err, c.place)
		}
	}
}

// FuzzEncode compares the scanner with encoding/json: what is accepted is an object with the same
// values.
func FuzzEncode(f *testing.F) {
	features := []Feature{
		{Name: "n", Kind: Number, Range: Range{-1e6, 1e6}, Optional: true},
		{Name: "c", Kind: Category, Values: []string{"x", "y", "true"}, Optional: true},
		{Name: "t", Kind: TextHash, Buckets: 8, Optional: true},
	}
	e, err := NewEncoder(features)
	if err != nil {
		f.Fatal(err)
	}
	for _, s := range []string{
		`{}`, `{"n":1.5e3}`, `{"n":-0,"c":"\u0078","t":"a b"}`, `{"c":true}`, `{"t":"\ud800"}`, `{"n":01}`, `{"n":1}}`,
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		x, err := e.Encode(nil, json.RawMessage(text))
		if err != nil {
			return
		}
		var want map[string]any
		if strings.TrimLeft(text, " \t\r\n") == "" {
			text = "{}"
		}
		if err := json.Unmarshal([]byte(text), &want); err != nil {
			t.Fatalf("%q is accepted: %v", text, err)
		}
		n, ok := want["n"].(float64)
		if missing := x[2] == 1; missing == ok || ok && x[1] != 2*((n+1e6)/2e6)-1 {
			t.Errorf("%q: %v", text, x)
		}
		if length := x[7:15]; x[15] == 0 {
			if s := math.Sqrt(dot(length, length)); s != 0 && math.Abs(s-1) > 1e-12 {
				t.Errorf("%q: length %v", text, s)
			}
		}
	})
}

func dot(x, y []float64) float64 {
	s := 0.0
	for i := range x {
		s += x[i] * y[i]
	}
	return s
}

func TestEncodeAllocations(t *testing.T) {
	e := mustEncoder(t, visitor)
	context := json.RawMessage(`{"age": 30.25, "country": "FR", "query": "cheap flights to Paris", "score": 1e-3}`)
	dst := make([]float64, e.Dim())
	if n := testing.AllocsPerRun(100, func() {
		if _, err := e.Encode(dst, context); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
