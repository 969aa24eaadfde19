package dataset

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/noregret/noregret"
)

// schemaOf returns the schema that a text is read with, and its rows.
func schemaOf(t *testing.T, opt Options, text string) (*Schema, []string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "data")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	opt.Missing = MissingIndicator
	s, err := Open(context.Background(), []string{path}, opt)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	var rows []string
	var b Block
	for {
		err := s.Next(&b)
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		for i := range b.Len() {
			rows = append(rows, fmt.Sprint(b.Row(i)))
		}
	}
	return s.Info().Schema, rows
}

// raws are the lines of a text as JSON values.
func raws(text string) (out []json.RawMessage) {
	for line := range strings.Lines(text) {
		out = append(out, json.RawMessage(strings.TrimSpace(line)))
	}
	return out
}

func TestRowParserReadsAsFiles(t *testing.T) {
	for name, c := range map[string]struct {
		opt           Options
		file, objects string
		lines         string // "" for a format without
	}{
		"csv": {
			file:    "age,city,note,y\n3,Paris,\"a, b\",1\n-4.5e1,,x,0\n,Rome,\"a \"\"q\"\"\",1\n",
			objects: `{"age":3,"city":"Paris","note":"a, b","y":1}` + "\n" + `{"age":-4.5e1,"note":"x"}` + "\n" + `{"age":null,"city":"Rome","note":"a \"q\""}`,
		},
		"decimal commas": {
			opt:     Options{Delimiter: ";", Decimal: ","},
			file:    "a;b;y\n1,5;2;0\n2,25;-3;1\n",
			objects: `{"a":1.5,"b":2}` + "\n" + `{"a":"2,25","b":-3}`,
		},
		"amounts": {
			file:    "a,b,y\n\"$1,200.50\",£3,0\n$-7,£4,1\n",
			objects: `{"a":1200.5,"b":"£3"}` + "\n" + `{"a":-7,"b":4}`,
		},
		"json lines": {
			file:    `{"label":1,"a":2,"c":"x"}` + "\n" + `{"label":0,"a":-1,"c":"y","n":{"k":4}}` + "\n",
			objects: `{"a":2,"c":"x"}` + "\n" + `{"a":-1,"c":"y","n":{"k":4}}`,
			lines:   `{"a":2,"c":"x"}` + "\n" + `{"a":-1,"c":"y","n":{"k":4}}`,
		},
		"svmlight": {
			file: "1 1:0.5 7:2\n-1 10:-3\n1\n", objects: `{"7":2,"1":0.5}` + "\n" + `{"10":-3}` + "\n{}",
			lines: "1:0.5 7:2\n# none\n1 10:-3\n0\n",
		},
		"hashed": {
			opt: Options{Bits: 6}, file: "1 1:0.5 700:2\n-1 10:-3\n", objects: `{"700":2,"1":0.5}` + "\n" + `{"10":-3}`,
		},
		"vw": {opt: Options{Format: VW, Bits: 8}, file: "1 |a x:2 y\n-1 |b z\n", lines: "|a x:2 y\n1 |b z"},
	} {
		t.Run(name, func(t *testing.T) {
			schema, want := schemaOf(t, c.opt, c.file)
			p, err := NewRowParser(schema, UnseenError)
			if err != nil {
				t.Fatal(err)
			}
			check := func(b *Block, ignored int64, err error) {
				t.Helper()
				if err != nil || ignored != 0 || b.Len() != len(want) {
					t.Fatalf("%v rows, %d ignored, %v", b, ignored, err)
				}
				for i := range want {
					if got := fmt.Sprint(b.Row(i)); got != want[i] {
						t.Errorf("row %d is %s, in the file it is %s", i, got, want[i])
					}
				}
			}
			for range 2 { // the memory of the first call is used again
				if c.objects != "" {
					check(p.Objects(raws(c.objects)))
				}
				if c.lines != "" {
					check(p.Lines([]byte(c.lines)))
				}
			}
		})
	}
}

// With UnseenIgnore columns that the model lacks are counted, if the row has one of the model's, as
// they are in files.
func TestRowParserOtherColumns(t *testing.T) {
	schema, _ := schemaOf(t, Options{}, "a,b,y\n1,2,1\n3,4,0\n")
	p, err := NewRowParser(schema, UnseenIgnore)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		b, ignored, err := p.Objects(raws(`{"a":1,"b":2,"new":"x","no":null,"more":{"k":[1]}}` + "\n" + `{"new":2,"b":1,"a":3}`))
		if err != nil || b.Len() != 2 || ignored != 3 {
			t.Fatalf("%v, %d ignored", err, ignored)
		}
		want := []IgnoredColumn{{"more", `{"k":[1]}`, false}, {"new", "x", false}}
		if d := cmp.Diff(want, p.IgnoredColumns()); d != "" {
			t.Error(d)
		}
	}
	if _, ignored, err := p.Objects(raws(`{"a":1,"b":2,"c":"NA","d":"?","e":null,"f":""}`)); err != nil || ignored != 0 {
		t.Errorf("missing values: %v, %d ignored", err, ignored)
	}
	if _, _, err := p.Objects(raws(`{"A":1,"y":1}`)); err == nil || !strings.Contains(err.Error(), "no such column") {
		t.Errorf("a row without a column of the model: %v", err)
	}
}

// A JSON boolean or number is the category that is the same, however the file spells it.
func TestRowParserSpellings(t *testing.T) {
	for _, c := range []struct{ categories, value, want string }{
		{"True,False", "true", "True"},
		{"True,False", "false", "False"},
		{"TRUE,no", "true", "TRUE"},
		{"true,True", "true", "true"},
		{"True,TRUE", "true", ""},
		{"True,False", `"true"`, ""},
		{"yes,no", "true", ""},
		{"25,26", "25", "25"},
		{"25,26", "25.0", "25"},
		{"25,26", "2.5e1", "25"},
		{"25.0,26.0", "25", "25.0"},
		{"1000000,2", "1e6", "1000000"},
		{"25.0,25.00", "25", ""},
		{"25.0,25", "25.00", "25"},
		{"0.0,1.0", "-0.0", "0.0"},
		{"25,26", "27", ""},
		{"9007199254740993,1", "9007199254740992.0", ""},
	} {
		a, b, _ := strings.Cut(c.categories, ",")
		schema, _ := schemaOf(t, Options{Categorical: []string{"c"}}, "c,x,y\n"+a+",1,0\n"+b+",2,1\n")
		p, err := NewRowParser(schema, UnseenIgnore)
		if err != nil {
			t.Fatal(err)
		}
		block, ignored, err := p.Objects(raws(`{"c":` + c.value + `,"x":0}`))
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if index, _ := block.Row(0); len(index) == 1 {
			got = strings.TrimPrefix(schema.Features[index[0]], "c=")
		}
		if got != c.want || (ignored > 0) != (c.want == "") || len(p.IgnoredColumns()) != int(ignored) {
			t.Errorf("of %s, %s is %q with %d ignored, want %q", c.categories, c.value, got, ignored, c.want)
		}
	}
}

func TestRowParserErrors(t *testing.T) {
	csv, _ := schemaOf(t, Options{}, "age,city,rate,y\n3,Paris,10%,1\n4,Rome,20%,0\n")
	dates, _ := schemaOf(t, Options{}, "d,y\n2024-01-01,1\n2024-01-02,0\n")
	svm, _ := schemaOf(t, Options{}, "1 1:1 3:1\n0 2:1\n")
	jsonl, _ := schemaOf(t, Options{}, "{\"label\":1,\"a\":2}\n")
	for _, c := range []struct {
		schema      *Schema
		row, wanted string
	}{
		{csv, `{"ag":3}`, `rows[1]."ag": the model has no such column: want some of "age", "city", "rate"`},
		{csv, `{"age":"old","city":"Rome","rate":"1%"}`, `rows[1]: column "age": cell "old" is not a number, but the column's first value is one`},
		{csv, `{"age":"1,5","city":"Rome","rate":"1%"}`, `write all of a column in one way`},
		{dates, `{"d":"x"}`, `cell "x" is not a date`},
		{csv, `{"age":[3]}`, `rows[1]."age": "[3]": want a number, a text`},
		{csv, `{"rate":3}`, `the column has percentages`},
		{csv, `{"age":1,"city":"Berlin","rate":"1%"}`, `"city=Berlin"`},
		{csv, `{"age":1,"age":2}`, `age`},
		{csv, `[3]`, `rows[1]: "[3]": want a JSON object`},
		{svm, `{"x":3}`, `rows[1]."x": want the number of a feature`},
		{svm, `{"1":"3"}`, `rows[1].1: "\"3\"": want a number`},
		{svm, `{"1":3,"01":3}`, `rows[1]: `},
		{svm, `{"9":3}`, `rows[1]: `},
		{svm, `{"0":3}`, `index 0`},
		{svm, `{"99999999999":3}`, `rows[1]: `},
		{svm, `{"1":1e99}`, `rows[1]: `},
		{jsonl, `{"b":3}`, `rows[1]: key "b"`},
		{jsonl, `{"a":3,"a":4}`, `duplicate key`},
	} {
		p, err := NewRowParser(c.schema, UnseenError)
		if err != nil {
			t.Fatal(err)
		}
		first := map[Format]string{CSV: `{"age":1,"city":"Rome","rate":"1%"}`, SVMLight: "{}", JSONL: "{}"}[c.schema.Format]
		if c.schema == dates {
			first = `{"d":"2024-01-01"}`
		}
		_, _, err = p.Objects([]json.RawMessage{json.RawMessage(first), json.RawMessage(c.row)})
		if noregret.CodeOf(err) != noregret.BadInput || !strings.Contains(err.Error(), c.wanted) {
			t.Errorf("%s: %v, want %s", c.row, err, c.wanted)
		}
		if err != nil && strings.Contains(err.Error(), "--") {
			t.Errorf("%s: %v: who sends rows has no flags", c.row, err)
		}
	}
	p, err := NewRowParser(svm, UnseenIgnore)
	if err != nil {
		t.Fatal(err)
	}
	b, ignored, err := p.Lines([]byte("1:2 9:1\n"))
	if err != nil || ignored != 1 || fmt.Sprint(b.Row(0)) != "[0] [2]" {
		t.Errorf("%v %d %v", b, ignored, err)
	}
	if _, _, err := p.Lines([]byte("1:2\n2:x\n")); err == nil || !strings.Contains(err.Error(), "line:2") {
		t.Error(err)
	}
	if _, err := NewRowParser(&Schema{Format: IDX, Dim: 4}, UnseenError); noregret.CodeOf(err) != noregret.Usage {
		t.Error(err)
	}
}
