package dataset

import (
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/noregret/noregret"
)

func TestJSONLabelByName(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{`{"a":1,"Class":"p"}`, "Class"},
		{`{"y":1,"a":2,"target":"p"}`, "target"},
		{`{"y":1,"label":"p"}`, "label"},
		{"\n{\"y\":1,\"b\":2}\n{\"LABEL\":0}", "LABEL"}, // a later row has the more telling name
		{"{\"label\":0}\n{\"target\":1,\"LABEL\":1}", "label"},
		{`{"target":1,"features":{"label":2,"y":3}}`, "target"},          // nested keys are features
		{`{"in":{"label":1},"list":[{"label":1}],"y":0}`, "y"},           // also these
		{`{"Target":1,"target":2}`, "target"},                            // the one in small letters
		{"{\"a\":1,\"y\":1,\"target\" 1}\n{\"y\":2,\"classes\":1}", "y"}, // the fault hides a key
		{"[{\"a\":1,\n\"\\u0079\":1},\n{\"a\":2,\"y\":0}]", "y"},         // an array; an escape
		{`{"label":null,"y":1}`, "label"},                                // there, though it says nothing
		{strings.Repeat("{\"y\":1}\n", lookRows) + `{"label":1,"a":1}`, "y"},
		{strings.Repeat("{\"y\":1}\n", lookRows-1) + `{"label":1,"a":1}`, "label"},
		{`{"a":1}`, "label"},
	} {
		opt := Options{MaxBadLines: 200}
		if strings.Contains(c.text, "list") {
			opt.IgnoreColumns = []string{"list"}
		}
		i, err := readAll(opt, writeFile(t, "a.jsonl", c.text))
		if err != nil || i.Schema.Label != c.want {
			t.Errorf("%.60q: label %q, %v; want %q", c.text, i.Schema.Label, err, c.want)
		}
	}

	for _, c := range []struct {
		opt        Options
		text, want string
	}{
		{
			Options{}, `{"a":1,"b":{"y":2}}`, `1: the row has no label: no key of the first rows is named label, ` +
				`target, class or y (--label-key names another); their keys are a, b`,
		},
		{Options{}, "{\"a\":1,\"y\":1}\n{\"a\":1}", `2: the row has no label (key "y"; --label-key names another)`},
		{
			Options{},
			"{\"a\":1,\"y\":1}\n{\"label\":1}",
			`1: the row has no label (key "label"; --label-key names another)`,
		},
		{Options{LabelKey: "b"}, `{"a":1,"y":1}`, `1: the row has no label (key "b"; --label-key names another)`},
		{Options{}, `{}`, `1: the row has no label (key "label"; --label-key names another)`},
		{
			Options{WeightKey: "y"},
			`{"a":1,"y":1}`,
			`key "y" cannot be both label and weight (--label-key names another label)`,
		},
		{
			Options{IgnoreColumns: []string{"y"}},
			`{"a":1,"y":1}`,
			`key "y" cannot be both label and ignored (--label-key names another label)`,
		},
		{
			Options{LabelKey: "a", TextColumns: []string{"a"}},
			`{"a":1}`,
			`key "a" cannot be both label and text (--label-key names another label)`,
		},
	} {
		_, err := readAll(c.opt, writeFile(t, "a.jsonl", c.text))
		if noregret.CodeOf(err) != noregret.BadInput || !strings.HasSuffix(err.Error(), c.want) {
			t.Errorf("%q: error %v, want %q", c.text, err, c.want)
		}
	}
}

// A model, a second file and a set to read alike have the key of the first file, whatever they have
// beside it.
func TestJSONLabelIsKept(t *testing.T) {
	first := writeFile(t, "a.jsonl", "{\"a\":1,\"y\":\"p\"}\n{\"a\":2,\"y\":\"q\"}\n")
	later := writeFile(t, "b.jsonl", "{\"y\":\"q\",\"a\":3,\"label\":\"p\"}\n")
	i, err := readAll(Options{}, first)
	if err != nil {
		t.Fatal(err)
	}
	for _, opt := range []Options{{Schema: i.Schema, Unseen: UnseenIgnore}, {Like: i.Schema}} {
		set := load(t, opt, later)
		if d := cmp.Diff([]string{"q"}, labelNames(set.Info())); d != "" || set.Info().Schema.Label != "y" {
			t.Errorf("key %q, labels (-want +got):\n%s", set.Info().Schema.Label, d)
		}
	}
	set := load(t, Options{}, first, later)
	if d := cmp.Diff([]string{"p", "q"}, labelNames(set.Info())); d != "" || set.Info().Rows != 3 {
		t.Errorf("%d rows, labels (-want +got):\n%s", set.Info().Rows, d)
	}
}

// Options that name a column or key name it in either format, and one that is nowhere is an error.
func TestNamedColumnsAndKeys(t *testing.T) {
	const csv, rows = "churn,y,x,w\n1,0,2,3\n0,1,5,1\n", `{"churn":1,"y":0,"x":2,"w":3}` + "\n" +
		`{"churn":0,"y":1,"x":5,"w":1,"late":"a"}` + "\n"
	for _, c := range []struct {
		opt       Options
		csv, json string // the error, or "" for the label churn and the weight w
	}{
		{Options{LabelColumn: "churn", WeightColumn: "w"}, "", ""},
		{Options{LabelKey: "churn", WeightKey: "w"}, "", ""},
		{Options{LabelColumn: "churn", LabelKey: "churn", WeightKey: "w"}, "", ""},
		{
			Options{LabelColumn: "churn", LabelKey: "y"},
			`the label is the column "churn" (--label) and the key "y" (--label-key): name one`,
			`the label is the column "churn" (--label) and the key "y" (--label-key): name one`,
		},
		{
			Options{WeightKey: "lats"},
			`a:1: no weight column "lats"; the 4 columns are churn, y, x, w`,
			`a: no row has the key "lats" (--weight-key): did you mean late? the keys of the first rows are churn, y, x, w, late`,
		},
		{Options{Categorical: []string{"nope"}}, `no categorical column "nope"`, `has the key "nope" (--categorical)`},
		{Options{IgnoreColumns: []string{"nope"}}, `no ignored column "nope"`, `has the key "nope" (--ignore-columns)`},
		{Options{TextColumns: []string{"nope"}}, `no text column "nope"`, `has the key "nope" (--text)`},
		{Options{CenterColumns: []string{"nope"}}, `no column "nope" (--center)`, `the key "nope" (--center)`},
		{
			Options{CenterColumns: []string{"x"}, Categorical: []string{"x"}},
			`"x" (--center) is categorical: only numbers are centered`,
			`"x" (--center) is categorical: only numbers are centered`,
		},
	} {
		for text, want := range map[string]string{csv: c.csv, rows: c.json} {
			path := writeFile(t, "a", text)
			c.opt.Format = map[string]Format{csv: CSV, rows: JSONL}[text]
			i, err := readAll(c.opt, path)
			switch {
			case want == "" && (err != nil || i.Weight != 4 || i.Labels[0].Name != "1"):
				t.Errorf("%s: %v, weight %v, labels %v", c.opt.Format, err, i.Weight, i.Labels)
			case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
				t.Errorf("%s: got  %v\nwant %s", c.opt.Format, err, want)
			}
		}
	}
}

// Keys that options name need not be in rows that are read as others were.
func TestNamedKeysOfOtherRows(t *testing.T) {
	opt := Options{Format: JSONL, IgnoreColumns: []string{"id"}, Categorical: []string{"promo"}}
	i, err := readAll(opt, writeFile(t, "a", `{"label":1,"id":"u","x":2,"promo":"p"}`+"\n"+`{"label":0,"x":1}`+"\n"))
	if err != nil {
		t.Fatal(err)
	}
	opt.Schema = i.Schema
	if j, err := readAll(opt, writeFile(t, "b", `{"label":1,"x":2}`+"\n")); err != nil || j.Rows != 1 {
		t.Errorf("%d rows, error %v; want 1", j.Rows, err)
	}
}

// The label of an object is that of a row of CSV with the same names, wherever CSV finds one by
// name.
func TestJSONLabelAsCSV(t *testing.T) {
	words := []string{"label", "Label", "target", "TARGET", "class", "y", "Y", "a", "b", "classes", "labels", "yy"}
	random := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		random.Shuffle(len(words), func(i, k int) { words[i], words[k] = words[k], words[i] })
		names := words[:1+random.IntN(len(words)-1)]
		row := map[string]string{}
		var object []string
		for _, name := range names {
			row[name] = "v" + name
			pair, err := json.Marshal(map[string]string{name: "v" + name})
			if err != nil {
				t.Fatal(err)
			}
			object = append(object, strings.Trim(string(pair), "{}"))
		}
		csv := strings.Join(names, ",") + "\nv" + strings.Join(names, ",v") + "\n"
		byName := usualLabel(names) != ""
		a, err := readAll(Options{Header: HeaderYes}, writeFile(t, "a.csv", csv))
		if err != nil {
			t.Fatalf("%q: %v", csv, err)
		}
		b, err := readAll(Options{}, writeFile(t, "a.jsonl", "{"+strings.Join(object, ",")+"}\n"))
		if (err == nil) != byName {
			t.Fatalf("%q: %v", object, err)
		}
		if d := cmp.Diff(labelNames(a), labelNames(b)); byName && d != "" {
			t.Fatalf("%q (-csv +json):\n%s", names, d)
		}
	}
}
