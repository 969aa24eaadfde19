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

// state decodes itself from text.
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
		{`{"name": "a", "name": "b"}`, "name: duplicate field"},
		{`{"Name": "a"}`, "Name: unknown field; known fields: name, units, items, raw, any, bool, n, sub, deep, " +
			"state"},
		{`{"name": null}`, "name: must be a string, not null"},
		{`{"units": null}`, "units: must be a list, not null"},
		{`{"units": ["a", null]}`, "units[1]: must be a string, not null"},
		{`{"units": ["a", 12]}`, "units[1]: must be a string, not 12"},
		{`{"items": [{"metrics": {"x": 1, "x": 2}}]}`, "items[0].metrics.x: duplicate field"},
		{
			`{"items": [{"metrics": {"x": null}}]}`,
			"items[0].metrics.x: must be a number in the range of float64, not null",
		},
		{
			`{"items": [{"metrics": {"x": 1e999}}]}`,
			"items[0].metrics.x: must be a number in the range of float64, not 1e999",
		},
		{
			`{"items": [{"metrics": {"a b": "y"}}]}`,
			`items[0].metrics."a b": must be a number in the range of float64, not "y"`,
		},
		{`{"items": [{"count": -1}]}`, "items[0].count: must be an integer from 0 to 4294967295, not -1"},
		{`{"items": [{"count": 1.0}]}`, "items[0].count: must be an integer from 0 to 4294967295, not 1.0"},
		{`{"items": {"count": 1}}`, `items: must be a list, not {"count": 1}}`},
		{`{"n": 200}`, "n: must be an integer from -128 to 127, not 200"},
		{`{"bool": "yes"}`, `bool: must be true or false, not "yes"`},
		{`{"sub": []}`, "sub: must be an object, not []}"},
		{`{"state": "off"}`, `state: "off": want on`},
		{`[1]`, "must be an object, not [1]"},
		{`null`, "must be an object, not null"},
		{`{"name": "a"} {}`, "text follows the value at byte 15"},
		{`{"name": "a"`, "not valid JSON: truncated"},
		{`{"name" "a"}`, `not valid JSON at byte 9, in line 1 at "\"a\"}"`},
		{
			"{\"name\":\n [1, -Infinity, 2, 3, 4]}",
			`not valid JSON at byte 16, in line 2 at "Infinity, 2, 3, 4]}": JSON has only finite numbers`,
		},
		{
			`{"name": NaN, "other": "and much more"}`,
			`not valid JSON at byte 10, in line 1 at "NaN, \"other\": \"and m...": JSON has only finite numbers`,
		},
		{
			`{"name": nan}`,
			`not valid JSON at byte 11, in line 1 at "nan}": JSON has only finite numbers`,
		},
		{`{"name": x`, `not valid JSON at byte 10, in line 1 at "x"`},
		{``, "not valid JSON: truncated"},
		{"{\"name\": \"\xff\"}", "not valid UTF-8"},
		{`{"name": "\ud800"}`, "unpaired surrogate at byte 10"},
		{`{"name": "\ud800\ud800"}`, "unpaired surrogate at byte 10"},
		{`{"name": "a\\\udc00"}`, "unpaired surrogate at byte 13"},
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

// A value written by encoding/json is read back unchanged, with and without required fields.
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

// Input that Decode accepts is accepted by encoding/json with the same result, and Decode never
// panics.
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
