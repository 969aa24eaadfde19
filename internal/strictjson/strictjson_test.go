package strictjson

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/noregret/noregret"
)

type inner struct {
	Metrics map[string]float64 `json:"metrics,omitempty"`
	Count   uint32             `json:"count"`
	Level   *float64           `json:"level"`
}

type document struct {
	Name  string          `json:"name"`
	Units []string        `json:"units"`
	Items []inner         `json:"items"`
	Raw   json.RawMessage `json:"raw,omitempty"`
	Any   any             `json:"any,omitempty"`
	Bool  bool            `json:"bool,omitempty"`
	N     int8            `json:"n,omitempty"`
	Sub   inner           `json:"sub,omitempty"`
	Deep  [][]float64     `json:"deep,omitempty"`
	State state           `json:"state,omitempty"`
}

// state reads itself.
type state int

func (s *state) UnmarshalText(b []byte) error {
	if string(b) != "on" {
		return fmt.Errorf("want on")
	}
	*s = 1
	return nil
}

func TestDecodeRefuses(t *testing.T) {
	for _, c := range []struct{ raw, want string }{
		{`{"name": "a", "name": "b"}`, "name: the field is there twice"},
		{`{"Name": "a"}`, "Name: the field is unknown: want one of name, units, items, raw, any, bool, n, sub, deep, " +
			"state"},
		{`{"name": null}`, "name: it is null, want a string"},
		{`{"units": null}`, "units: it is null, want a list"},
		{`{"units": ["a", null]}`, "units[1]: it is null, want a string"},
		{`{"units": ["a", 12]}`, "units[1]: it is 12, want a string"},
		{`{"items": [{"metrics": {"x": 1, "x": 2}}]}`, "items[0].metrics.x: the field is there twice"},
		{
			`{"items": [{"metrics": {"x": null}}]}`,
			"items[0].metrics.x: it is null, want a number in the range of float64",
		},
		{
			`{"items": [{"metrics": {"x": 1e999}}]}`,
			"items[0].metrics.x: it is 1e999, want a number in the range of float64",
		},
		{
			`{"items": [{"metrics": {"a b": "y"}}]}`,
			`items[0].metrics."a b": it is "y", want a number in the range of float64`,
		},
		{`{"items": [{"count": -1}]}`, "items[0].count: it is -1, want a whole number at least 0 in its range"},
		{`{"items": [{"count": 1.0}]}`, "items[0].count: it is 1.0, want a whole number at least 0 in its range"},
		{`{"items": {"count": 1}}`, `items: it is {"count": 1}}, want a list`},
		{`{"n": 200}`, "n: it is 200, want a whole number in its range"},
		{`{"bool": "yes"}`, `bool: it is "yes", want true or false`},
		{`{"sub": []}`, "sub: it is []}, want an object"},
		{`{"state": "off"}`, `state: "off": want on`},
		{`[1]`, "it is [1], want an object"},
		{`null`, "it is null, want an object"},
		{`{"name": "a"} {}`, "text after the value's end, at byte 15"},
		{`{"name": "a"`, "it is no JSON: it ends too early"},
		{`{"name" "a"}`, `it is no JSON at byte 9, in line 1 at "\"a\"}"`},
		{
			"{\"name\":\n [1, -Infinity, 2, 3, 4]}",
			`it is no JSON at byte 16, in line 2 at "Infinity, 2, 3, 4]}": there is no such number in JSON, want a finite one`,
		},
		{
			`{"name": NaN, "other": "and much more"}`,
			`it is no JSON at byte 10, in line 1 at "NaN, \"other\": \"and m...": there is no such number in JSON, want a finite one`,
		},
		{
			`{"name": nan}`,
			`it is no JSON at byte 11, in line 1 at "nan}": there is no such number in JSON, want a finite one`,
		},
		{`{"name": x`, `it is no JSON at byte 10, in line 1 at "x"`},
		{``, "it is no JSON: it ends too early"},
		{"{\"name\": \"\xff\"}", "it is not UTF-8 text"},
		{`{"name": "\ud800"}`, "half of a surrogate pair at byte 10"},
		{`{"name": "\ud800\ud800"}`, "half of a surrogate pair at byte 10"},
		{`{"name": "a\\\udc00"}`, "half of a surrogate pair at byte 13"},
	} {
		var d document
		err := Decode([]byte(c.raw), &d, Rules{})
		if noregret.CodeOf(err) != noregret.BadInput || err.Error() != c.want {
			t.Errorf("%s\n got %v\nwant %s", c.raw, err, c.want)
		}
		if err := Decode([]byte(c.raw), &d, Rules{Hide: true}); err == nil || strings.Contains(err.Error(), "12,") ||
			strings.Contains(err.Error(), "yes") {
			t.Errorf("%s: hidden: %v", c.raw, err)
		}
	}
	var d document
	if err := Decode([]byte(`{"name": "a", "units": []}`), &d, Rules{Required: true}); err == nil ||
		err.Error() != "items: the field is missing" {
		t.Errorf("a missing field: %v", err)
	}
}

// What encoding/json writes of a value reads back as it was, with required fields and without.
func TestDecodeWhatIsWritten(t *testing.T) {
	text := rapid.StringMatching(`[a-z"\\é\x{1F600}\x{FFFD}<&]{0,8}`)
	rapid.Check(t, func(rt *rapid.T) {
		level := rapid.Float64().Draw(rt, "level")
		one := func(label string) inner {
			x := inner{Count: rapid.Uint32().Draw(rt, label)}
			if rapid.Bool().Draw(rt, label) {
				x.Level = &level
			}
			if rapid.Bool().Draw(rt, label) {
				x.Metrics = map[string]float64{text.Draw(rt, label): rapid.Float64().Draw(rt, label)}
			}
			return x
		}
		in := document{
			Name: text.Draw(rt, "name"), Units: rapid.SliceOf(text).Draw(rt, "units"),
			Items: []inner{one("a"), one("b")},
			Raw:   json.RawMessage(`{"x":[null,{}]}`), Any: "y", Bool: true, N: rapid.Int8().Draw(rt, "n"),
			Sub:  one("sub"),
			Deep: [][]float64{{}, {1, level}},
		}
		if in.Units == nil {
			in.Units = []string{}
		}
		raw, err := json.Marshal(in)
		if err != nil {
			rt.Fatal(err)
		}
		raw = []byte(strings.Replace(string(raw), `,"state":0`, "", 1))
		for _, rules := range []Rules{{}, {Required: true}, {Hide: true}} {
			var out document
			if err := Decode(raw, &out, rules); err != nil {
				rt.Fatalf("%s: %v", raw, err)
			}
			if !cmp.Equal(in, out) {
				rt.Fatalf("%s\nread back %s", raw, cmp.Diff(in, out))
			}
		}
	})
}

// Whatever is accepted, encoding/json accepts too, with the same result; and it never panics.
func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"name": "a", "units": ["b"], "items": [{"metrics": {"x": 1.5}, "count": 3, "level": null}]}`))
	f.Add([]byte(`{"raw": {"a": [1, 2]}, "any": [null], "bool": true, "n": -3, "deep": [[1], []]}`))
	f.Add([]byte(`{"name": "\ud83d\ude00\\u", "sub": {"metrics": {"é": 0}}}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		var strict, loose document
		if err := Decode(raw, &strict, Rules{}); err != nil {
			return
		}
		if err := json.Unmarshal(raw, &loose); err != nil || !reflect.DeepEqual(strict, loose) || !utf8.Valid(raw) {
			t.Errorf("%q: %v\nstrict %+v\nloose %+v", raw, err, strict, loose)
		}
	})
}
