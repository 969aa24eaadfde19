package classify

import (
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/strictjson"
)

// The second example in docs/formats/model.md can be read and is in canonical form, and the page
// names every field.
func TestMultiModelPage(t *testing.T) {
	example := pageExample(t, 2)
	m, err := ReadClassifier(strings.NewReader(example), "model.md")
	if err != nil {
		t.Fatal(err)
	}
	if got := string(written(t, m)); got != example {
		t.Errorf("the example would be written as\n%s", got)
	}
	page, err := os.ReadFile("../docs/formats/model.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, doc := range []reflect.Type{reflect.TypeFor[multiDoc](), reflect.TypeFor[MultiModelData]()} {
		for f := range doc.Fields() {
			if name := strictjson.Name(f); !strings.Contains(string(page), "`"+name+"`") {
				t.Errorf("the page does not name %s", name)
			}
		}
	}
}

// Every broken rule has its own error, which comes before that of the checksum.
func TestMultiModelRefuses(t *testing.T) {
	example := pageExample(t, 2)
	for _, tc := range []struct{ old, new, want string }{
		{`"task": "multiclass"`, `"task": "binary"`, "m.json: task: want multiclass or multilabel"},
		{
			`"task": "multiclass"`, `"task": "multilabel"`,
			`m.json: algorithm: no algorithm for multilabel data is named "spade"`,
		},
		{`"measure": "macro_recall"`, `"measure": "f1"`, `m.json: measure: no measure of class recalls is named "f1"`},
		{
			`"algorithm": "spade"`, `"algorithm": "stamp"`,
			`m.json: algorithm: no algorithm for multiclass data is named "stamp"`,
		},
		{`"labels": ["high","low","mid"]`, `"labels": ["high"]`, "m.json: labels: there are 1, want at least 2"},
		{
			`"labels": ["high","low","mid"]`, `"labels": ["high","low","high"]`,
			`m.json: labels[2]: the label "high" appears twice`,
		},
		{
			`"labels": ["high","low","mid"]`, `"labels": ["high","low"]`,
			"m.json: models: there are 3, want one for each of the 2",
		},
		{
			`"index":[0,1],"value":[-1.14`, `"index":[0,2],"value":[-1.14`,
			"m.json: models[1].weights.index[1]: the index is 2",
		},
		{`"intercept":1.49`, `"intercept":null,"x":1.49`, "m.json: models[1]."},
		{`"train_rows":7`, `"train_rows":-7`, "m.json: data.train_rows: -7, want"},
		{`"train":[{"rows":2,"weight":2},`, `"train":[`, "m.json: data.train: there are 2, want one for each of the 3"},
		{`"weight":3}`, `"weight":-3}`, "m.json: data.train[1].weight: -3, want"},
		{`"dim": 2`, `"dim": 3`, "m.json: dim: 3, but schema.dim is 2"},
		{`"seed":1`, `"seed":2`, "m.json: checksum: does not match"},
	} {
		if !strings.Contains(example, tc.old) {
			t.Fatalf("the example does not contain %s", tc.old)
		}
		_, err := ReadClassifier(strings.NewReader(strings.Replace(example, tc.old, tc.new, 1)), "m.json")
		if err == nil || !strings.HasPrefix(err.Error(), tc.want) || noregret.CodeOf(err) != noregret.BadInput {
			t.Errorf("%s for %s: got %v\nwant %s", tc.new, tc.old, err, tc.want)
		}
	}
}
