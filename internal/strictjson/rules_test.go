package strictjson

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/noregret/noregret"
)

type limits struct {
	Most  int64           `json:"most"`
	Share *float64        `json:"share"`
	Names []string        `json:"names"`
	Table map[string]int  `json:"table"`
	Value json.RawMessage `json:"value"`
}

// choice is a list of numbers or an object of limits.
type choice struct {
	list []float64
	form *limits
}

func (c *choice) UnmarshalStrict(first byte, decode func(v any) error) error {
	switch first {
	case '[':
		return decode(&c.list)
	case '{':
		c.form = new(limits)
		if err := decode(c.form); err != nil {
			return err
		}
		if c.form.Most > 9 {
			return noregret.BadInputf("most", "%d: want at most 9", c.form.Most)
		}
		return nil
	}
	return noregret.BadInputf("", "want a list or an object")
}

func TestRules(t *testing.T) {
	for _, c := range []struct {
		rules     Rules
		raw, want string // want is the result as JSON, or the error
	}{
		{
			Rules{Stored: true},
			`{"names": null, "table": null}`,
			`{"most":0,"share":null,"names":null,"table":null,"value":null}`,
		},
		{Rules{Stored: true}, `{"most": null}`, "most: must be an integer from -9223372036854775808 to " +
			"9223372036854775807, not null"},
		{
			Rules{Stored: true},
			`{"names": ["\ud800"]}`,
			`{"most":0,"share":null,"names":["` + "\ufffd" + `"],"table":null,"value":null}`,
		},
		{
			Rules{WholeFloats: true},
			`{"most": 1.50e3, "table": {"a": -20.0e-1, "b": 0e7}}`,
			`{"most":1500,"share":null,"names":null,"table":{"a":-2,"b":0},"value":null}`,
		},
		{Rules{WholeFloats: true}, `{"most": 1.5}`, "most: must be an integer from -9223372036854775808 to " +
			"9223372036854775807, not 1.5"},
		{Rules{WholeFloats: true}, `{"most": 1.00000000000000001}`, "most: must be an integer from " +
			"-9223372036854775808 to 9223372036854775807, not 1.00000000000000001"},
		{Rules{WholeFloats: true}, `{"most": 1e16}`, "most: must be an integer from -9223372036854775808 to " +
			"9223372036854775807, not 1e16"},
		{Rules{NoNull: true}, `{"share": null}`, "share: null: leave the field out instead"},
		{
			Rules{NoNull: true},
			`{"value": null}`,
			`{"most":0,"share":null,"names":null,"table":null,"value":null}`,
		},
		{
			Rules{Preset: func(v any) { v.(*limits).Most = 7 }},
			`{"names": []}`,
			`{"most":7,"share":null,"names":[],"table":null,"value":null}`,
		},
		{
			Rules{Needs: func(t reflect.Type, field string) bool { return t.Name() == "limits" && field == "share" }},
			`{"most": 1}`, "share: the field is missing",
		},
	} {
		var v limits
		err := Decode([]byte(c.raw), &v, c.rules)
		got := ""
		if err != nil {
			got = err.Error()
		} else if b, err := Encode(v); err == nil {
			got = string(b)
		}
		if got != c.want {
			t.Errorf("%s with %+v\n got %s\nwant %s", c.raw, c.rules, got, c.want)
		}
	}
}

func TestUnmarshaler(t *testing.T) {
	for raw, want := range map[string]string{
		`{"c": [1, 2]}`:                 "",
		`{"c": {"most": 3}}`:            "",
		`{"c": {"most": 30}}`:           "c.most: 30: want at most 9",
		`{"c": {"names": [1]}}`:         "c.names[0]: must be a string, not 1",
		`{"c": [1, "x"]}`:               `c[1]: must be a number in the range of float64, not "x"`,
		`{"c": 3}`:                      "c: want a list or an object",
		`{"c": [1], "c": [2]}`:          "c: duplicate field",
		`{"c": {"most": 3, "many": 4}}`: "c.many: unknown field; known fields: most, share, names, table, value",
	} {
		var v struct {
			C choice `json:"c"`
		}
		err := Decode([]byte(raw), &v, Rules{})
		got := ""
		if err != nil {
			got = err.Error()
		}
		if got != want || err != nil && noregret.CodeOf(err) != noregret.BadInput {
			t.Errorf("%s\n got %s\nwant %s", raw, got, want)
		}
		if err == nil && v.C.list == nil && (v.C.form == nil || v.C.form.Most != 3) {
			t.Errorf("%s is decoded to %+v", raw, v)
		}
		var w struct {
			C *choice `json:"c"`
		}
		if err := Decode([]byte(raw), &w, Rules{}); err == nil != (want == "") || err != nil && err.Error() != want {
			t.Errorf("%s by a pointer: %v, want %s", raw, err, want)
		} else if err == nil && !reflect.DeepEqual(*w.C, v.C) {
			t.Errorf("%s by a pointer is decoded to %+v, want %+v", raw, w.C, v.C)
		}
	}
}

// TestUnmarshalerNull checks that null leaves a pointer to a type with several forms nil.
func TestUnmarshalerNull(t *testing.T) {
	w := struct {
		C *choice `json:"c"`
	}{new(choice)}
	if err := Decode([]byte(`{"c": null}`), &w, Rules{}); err != nil || w.C != nil {
		t.Errorf("%+v, %v", w.C, err)
	}
}

// TestNumberKey compares different spellings of a number, and its neighbours.
func TestNumberKey(t *testing.T) {
	for _, same := range [][]string{
		{"0", "-0", "0.0", "0e5"},
		{"1", "1.0", "10e-1", "0.1E+1"},
		{"-1200", "-1.2e3", "-1200.00"},
	} {
		for _, x := range same {
			if NumberKey(x) != NumberKey(same[0]) || NumberKey(x) == NumberKey("1.00000000000000001") {
				t.Errorf("the key of %s is %s, that of %s is %s", x, NumberKey(x), same[0], NumberKey(same[0]))
			}
		}
	}
}

// TestDepth: a value may be as deep as the bound, and no deeper, whether it is skipped or not.
func TestDepth(t *testing.T) {
	for _, c := range []struct {
		raw  string
		deep bool
	}{
		{`{"value": [[1]]}`, false},
		{`{"value": [[[]]]}`, true},
		{`{"value": [{"a": {}}]}`, true},
		{`{"other": [[1]]}`, false},
		{`{"other": [[[]]]}`, true},
		{`[[[[`, true},
	} {
		var v limits
		err := Decode([]byte(c.raw), &v, Rules{Depth: 3, Lenient: true})
		want := "more than 3 lists and objects within each other"
		if (err != nil) != c.deep || c.deep && err.Error() != want {
			t.Errorf("%s: %v", c.raw, err)
		}
	}
}

// TestLenient: unknown fields are passed over, null is a missing field, and everything else holds.
func TestLenient(t *testing.T) {
	for raw, want := range map[string]string{
		`{"other": {"x": [1, "]"]}, "most": 3, "more": null}`:              "",
		`{"most": 3, "share": null, "names": null, "value": null, "x": 1}`: "",
		`{"most": 3, "Most": 4}`:                                           "",
		`{"most": 3, "most": 4}`:                                           "most: duplicate field",
		`{"most": 3, "x": 4, "y": 5, "x": 6}`:                              "x: duplicate field",
		`{"most": 3, "names": [null]}`:                                     "names[0]: must be a string, not null",
		`{"most": 3} 1`:                                                    "text follows the value at byte 13",
		`{"most": "3"}`: "most: must be an integer from -9223372036854775808 to 9223372036854775807, " +
			`not "3"`,
	} {
		var v limits
		err := Decode([]byte(raw), &v, Rules{Lenient: true})
		got := ""
		if err != nil {
			got = err.Error()
		}
		if got != want || want == "" && (v.Most != 3 || v.Names != nil || v.Value != nil) {
			t.Errorf("%s: %q, %+v", raw, got, v)
		}
	}
}
