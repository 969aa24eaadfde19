package dataset

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/noregret/noregret"
)

func TestJSONLRows(t *testing.T) {
	text := `{"label": "yes", "features": {"a": 1.5, "c": "red", "f": true, "n": null}}

{"features": {"c": "blue", "a": -2e0, "f": false}, "weight": 2.5, "label": "no"}
{"label": "yes", "a": 3, "in": {"x": {"y": 4}}, "u\u0041": 5}
`
	set := load(t, Options{}, writeFile(t, "a.jsonl", text))
	r, err := set.Read()
	want := []string{"0 0:1.5 1:1 2:1 3:1", "1*2.5 0:-2 4:1", "0 0:3 5:4 6:5"}
	if d := cmp.Diff(want, show(t, r, err)); d != "" {
		t.Errorf("rows (-want +got):\n%s", d)
	}
	i := set.Info()
	if d := cmp.Diff([]string{"a", "c=red", "f", "n=missing", "c=blue", "in.x.y", "uA"}, i.Schema.Features); d != "" {
		t.Errorf("features (-want +got):\n%s", d)
	}
	if d := cmp.Diff([]Label{{"yes", 2, 2}, {"no", 1, 2.5}}, i.Labels); d != "" || !i.Weighted {
		t.Errorf("weighted %v, labels (-want +got):\n%s", i.Weighted, d)
	}

	// The schema goes through JSON, as in a model file, and reads other rows in the same space.
	doc, err := json.Marshal(i.Schema)
	if err != nil {
		t.Fatal(err)
	}
	var schema Schema
	if err := json.Unmarshal(doc, &schema); err != nil {
		t.Fatal(err)
	}
	path := writeFile(t, "b.jsonl", `{"uA":1,"c":"blue","a":2,"zz":1,"c2":"x","f":null}`)
	opt := Options{Schema: &schema, Unseen: UnseenIgnore, AllowNoLabel: true}
	set = load(t, opt, path)
	r, err = set.Read()
	if d := cmp.Diff([]string{"- 0:2 4:1 6:1"}, show(t, r, err)); d != "" || set.Info().IgnoredFeatures != 2 {
		t.Errorf("%d ignored, rows (-want +got):\n%s", set.Info().IgnoredFeatures, d)
	}
}

// null is missing by the rule for missing values; of hashed features it is none.
func TestJSONLNull(t *testing.T) {
	path := writeFile(t, "a.jsonl", `{"label":1,"a":null,"b":2}`+"\n"+`{"label":0,"a":3,"b":2}`)
	for _, c := range []struct {
		opt  Options
		want []string
	}{
		{Options{}, []string{"0 0:1 1:2", "1 1:2 2:3"}},
		{Options{Missing: MissingZero}, []string{"0 0:2", "1 0:2 1:3"}},
		{Options{Bits: 4}, []string{"0 3:2", "1 0:3 3:2"}},
	} {
		r, err := load(t, c.opt, path).Read()
		if d := cmp.Diff(c.want, show(t, r, err)); d != "" {
			t.Errorf("%+v: (-want +got):\n%s", c.opt, d)
		}
	}
	_, err := readAll(Options{Missing: MissingError}, path)
	if want := `a.jsonl:1: key "a": cell "null": the value is missing`; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v, want one with %s", err, want)
	}
}

// Numbers of a key that float32 cannot tell apart are refused, also where they are not large.
func TestJSONLNarrow(t *testing.T) {
	var text strings.Builder
	for i := range 20 {
		fmt.Fprintf(&text, `{"label":%d,"day":2460310.%02d}`+"\n", i%2, i)
	}
	path := writeFile(t, "a.jsonl", text.String())
	_, err := readAll(Options{}, path)
	if want := `its large values lie between 2.46031e+06 and 2.46031019e+06`; err == nil ||
		!strings.Contains(err.Error(), want) {
		t.Errorf("error %v, want one with %s", err, want)
	}
	if _, err := readAll(Options{CenterColumns: []string{"day"}}, path); err != nil {
		t.Error(err)
	}
}

// A number that is missing has the feature "key=missing", which no other key of the row may have.
func TestJSONLMissingIsDistinct(t *testing.T) {
	for _, line := range []string{
		`{"label":1,"a":-999,"a=missing":1}`, `{"label":1,"a=missing":1,"a":-999}`, `{"label":1,"a":null,"a=missing":1}`,
	} {
		_, err := readAll(Options{MissingValues: []string{"-999"}}, writeFile(t, "a.jsonl", line))
		if err == nil || !strings.Contains(err.Error(), `its feature "a=missing" is also that of the key "a`) {
			t.Errorf("%s: %v", line, err)
		}
	}
}

// A key may begin as the features of another do, and a model reads what it was trained on.
func TestJSONLKeysWithEquals(t *testing.T) {
	text := `{"label":1,"n":"12.50","n=old":0.3,"t":1700000000,"t=z":3,"a":{"b":"2024-01-01"},"a.b=x":3}` + "\n" +
		`{"label":0,"n":"1.50","n=old":0.5,"t":1700000001,"t=z":3,"a":{"b":"2024-01-02"},"a.b=x":4}` + "\n"
	path := writeFile(t, "a.jsonl", text)
	i, err := readAll(Options{}, path)
	if err != nil {
		t.Fatal(err)
	}
	if j, err := readAll(Options{Schema: i.Schema}, path); err != nil || j.NonZeros != i.NonZeros {
		t.Errorf("by the schema: %v, %d values for %d", err, j.NonZeros, i.NonZeros)
	}
}

func TestJSONLErrors(t *testing.T) {
	for _, c := range []struct{ line, want string }{
		{`[1]`, `expected a JSON object, found "[1]"`},
		{`{"label":1`, `expected a comma or a closing brace, but the line ends`},
		{`{"label":1,}`, `expected a string in double quotes, found "}"`},
		{`{"label":1 "a":2}`, `expected a comma or a closing brace, found "\"a\":2}"`},
		{`{"label":1,"a" 2}`, `expected a colon after the key, found "2}"`},
		{`{"label":1,"a":01}`, `key "a": expected a number, found "01}"`},
		{`{"label":1,"a":1.}`, `key "a": expected a number, found "1.}"`},
		{`{"label":1,"a":+1}`, `key "a": expected a number, a string, true, false or null, found "+1}"`},
		{`{"label":1,"a":NaN}`, `key "a": expected a number, a string, true, false or null, found "NaN}"`},
		{`{"label":1,"a":1e39}`, `key "a": value "1e39": the value must lie in the range of float32, ±3.4028235e38`},
		{`{"label":1,"a":[1]}`, `key "a": arrays are not allowed; give each element a key of its own`},
		{`{"label":1,"a":1,"a":2}`, `duplicate key "a"`},
		{`{"label":1,"a":"x","a":"y"}`, `duplicate key "a"`},
		{`{"label":1,"a":null,"a":1}`, `duplicate key "a"`},
		{`{"label":1,"a.b":1,"a":{"b":2}}`, `duplicate key "a.b"`},
		{`{"label":1,"a":"x","a=x":5}`, `key "a=x": its feature "a=x" is also that of the key "a"; rename one`},
		{`{"label":1,"a\u003dx":0,"a":"x"}`, `key "a": its feature "a=x" is also that of the key "a=x"; rename one`},
		{`{"label":1,"a":"b=c","a=b":"c"}`, `key "a=b": its feature "a=b=c" is also that of the key "a"; rename one`},
		{`{"label":1,"label":1}`, `duplicate key "label"`},
		{`{"a":1}`, `the row has no label (key "label"; --label-key names another)`},
		{`{"label":null,"a":1}`, `the row has no label (key "label"; --label-key names another)`},
		{`{"label":"nan","a":1}`, `key "label": label "nan": a label must be a finite number or a name`},
		{`{"label":"","a":1}`, `key "label": the label is empty`},
		{`{"label":{},"a":1}`, `key "label": expected a string, a number, true, false or null, found "{},\"a\":1}"`},
		{`{"label":1,"weight":-1}`, `key "weight": weight "-1": it must be a number from 0 to 3.4028234663852886e+38`},
		{`{"label":1,"weight":"1"}`, `key "weight": expected a number, found "\"1\"}"`},
		{
			`{"label":1,"id":4,"features":{"a":1}}`,
			`key "id" beside "features": move it into "features", or ignore it by name`,
		},
		{`{"label":1} x`, `"x" follows the object; a line holds one object`},
		{`{"label":1,"a":"` + "\x01" + `"}`, `key "a": control character 0x01 in a string`},
		{`{"label":1,"a":"x}`, `key "a": string "\"x}" is not closed`},
		{"{\"label\":1,\"\xff\":1}", `byte 0xff in "{\"label\":1,\"\xff\":1}" is not UTF-8; the file may be Latin-1: iconv -f WINDOWS-1252 -t UTF-8 FILE | noregret ... -`},
	} {
		t.Run(c.line, func(t *testing.T) {
			path := writeFile(t, "a.jsonl", "{\"label\":1}\n"+c.line+"\n{\"label\":0}\n")
			_, err := readAll(Options{}, path)
			want := path + ":2: " + c.want
			if err == nil || err.Error() != want {
				t.Errorf("got  %v\nwant %s", err, want)
			}
			if noregret.CodeOf(err) != noregret.BadInput {
				t.Errorf("code %q", noregret.CodeOf(err))
			}
			i, err := readAll(Options{MaxBadLines: 1}, path)
			if err != nil || i.Rows != 2 || i.Dim != 0 {
				t.Errorf("with one bad line allowed: %v, %d rows, dim %d", err, i.Rows, i.Dim)
			}
		})
	}
}

func TestJSONLIgnoredKeys(t *testing.T) {
	text := `{"label":true,"id":{"a":[1,"]",{"b":"}"}]},"features":{"x":1,"t":"skip"}}` + "\n" +
		`{"label":false,"id":3,"features":{"x":2}}`
	set := load(t, Options{IgnoreColumns: []string{"id", "t"}}, writeFile(t, "a.jsonl", text))
	r, err := set.Read()
	if d := cmp.Diff([]string{"0 0:1", "1 0:2"}, show(t, r, err)); d != "" {
		t.Errorf("rows (-want +got):\n%s", d)
	}
	if d := cmp.Diff([]string{"1", "0"}, labelNames(set.Info())); d != "" {
		t.Errorf("labels (-want +got):\n%s", d)
	}
}

// The keys of label and weight are part of the schema.
func TestJSONLSchemaKnowsTheKeys(t *testing.T) {
	path := writeFile(t, "a.jsonl", `{"y":1,"w":2,"x":3}`)
	schema := load(t, Options{LabelKey: "y", WeightKey: "w"}, path).Info().Schema
	i, err := readAll(Options{Schema: schema}, path)
	if err != nil || i.Weight != 2 || len(i.Labels) != 1 || i.Dim != 1 {
		t.Errorf("%v, %+v", err, i)
	}
}
