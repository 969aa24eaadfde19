package train

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/noregret/noregret/internal/cli/clitest"
)

func TestPredictRefuses(t *testing.T) {
	cmds.Refused(
		t,
		clitest.Refusal{"predict x", `--model: is required: the model file`},
		clitest.Refusal{"predict --model m.json --output x x", `--output: "x" is an input and would be overwritten`},
		clitest.Refusal{"predict --model m.json --at-recall 1 x", `--at-recall: 1 is out of range, want a number in (0, 1)`},
		clitest.Refusal{"predict --model m.json --top 0 x", `--top: 0 is out of range, want at least 1`},
		clitest.Refusal{"predict --model m.json --top 5 --at-precision .5 x", `--top: excludes --at-precision`},
		clitest.Refusal{"predict --model m.json --confidence .5 x", `--confidence: needs --at-recall`},
	)
}

// Values that training did not have are told by their columns, and what a missing number counts as.
func TestPredictNamesWhatIsIgnored(t *testing.T) {
	dir := t.TempDir()
	data, later, model := filepath.Join(dir, "x.csv"), filepath.Join(dir, "y.csv"), filepath.Join(dir, "m.json")
	text := "age,city,y\n"
	for i := range 60 {
		text += []string{"1,Rome,a\n", "2,Paris,b\n"}[i%2]
	}
	for path, text := range map[string]string{data: text, later: "age,city\n,Berlin\n2,Oslo\n"} {
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	cmds.Printed(t, "train", "--measure", "f1", "--passes", "3", "--model", model, data)
	status, _, got := cmds.Try(t.Context(), "predict", "--model", model, later)
	want := `noregret: ignored 3 values of features that training did not have (--unseen error refuses them): ` +
		`"age" (missing), "city" ("Berlin"); a missing number counts as 0, in a centered column as its center, ` +
		"as training had none there\n"
	if status != 0 || got != want {
		t.Errorf("status %d: %s", status, got)
	}
}

// A file of costs that is not written with commas is told by its line.
func TestReadCostFile(t *testing.T) {
	none := "c.csv: the file has no costs, want a line true,predicted,cost for each cost that is not 1"
	for text, want := range map[string]string{
		"a,b,3\n":                            "",
		"true,predicted,cost\na,b,3\n":       "",
		"predicted,true,cost\nb,a,3\n":       "",
		"cost,true,predicted\n3,a,b\n":       "",
		"\ufefftrue,predicted,cost\na,b,3\n": "",
		"\ufeffa,b,3\n":                      "",
		"":                                   none,
		"true,predicted,cost\n":              none,
		"label,predicted,cost\na,b,3\n": "c.csv:1: the header is label,predicted,cost, want the columns true, " +
			"predicted, cost",
		"true;predicted;cost\na;b;3\n": `c.csv:1: the line "true;predicted;cost" has 1 cell, want true,predicted,cost ` +
			"with commas between them",
		"a,b,3\na,b\n": `c.csv:2: the line "a,b" has 2 cells, want true,predicted,cost with commas between them`,
	} {
		costs := [][]float64{{0, 1}, {1, 0}}
		err := readCostFile(strings.NewReader(text), "c.csv", []string{"a", "b"}, costs)
		if (want == "") != (err == nil) || err != nil && err.Error() != want {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
		labelled := [][]float64{{0, 1}, {1, 0}}
		text = strings.ReplaceAll(text, "a,b", "cost,b")
		err = readCostFile(strings.NewReader(text), "c.csv", []string{"cost", "b"}, labelled)
		if strings.HasPrefix(text, "true,predicted,cost\ncost") && (err != nil || labelled[0][1] != 3) {
			t.Errorf("with a label cost: %v, %v", err, labelled)
		}
		if want == "" && (costs[0][1] != 3 || costs[1][0] != 1) {
			t.Errorf("%q: the costs are %v", text, costs)
		}
	}
}

// An input without a row is an error, however it is named.
func TestPredictNothing(t *testing.T) {
	dir := t.TempDir()
	data, model := filepath.Join(dir, "x.csv"), filepath.Join(dir, "m.json")
	for name, text := range map[string]string{
		"x.csv":     "age,y\n" + strings.Repeat("1,a\n2,b\n", 30),
		"empty.csv": "", "empty": "", "head.csv": "age,y\n", "blank": "\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	cmds.Printed(t, "train", "--measure", "f1", "--passes", "3", "--model", model, data)
	for _, name := range []string{"-", "empty.csv", "empty", "head.csv", "blank"} {
		place := "standard input"
		if name != "-" {
			name = filepath.Join(dir, name)
			place = name
		}
		for _, command := range []string{"predict", "evaluate"} {
			var stdout, stderr strings.Builder
			args := []string{command, "--model", model, name}
			status := cmds.Run(t.Context(), args, strings.NewReader(""), &stdout, &stderr)
			if want := "noregret: " + place + ": the input has no examples\n"; status != 3 || stdout.Len() > 0 ||
				stderr.String() != want {
				t.Errorf("%s %s: status %d, %q, %q", command, name, status, &stdout, &stderr)
			}
		}
	}
}

// The label of a line is the one with the largest score, whatever characters its name has.
func TestPredictSeveralClasses(t *testing.T) {
	dir := t.TempDir()
	data, model := filepath.Join(dir, "x.csv"), filepath.Join(dir, "m.json")
	text := ""
	for i := range 90 {
		text += []string{"1,0,\"a \"\"quoted\"\" name\"\n", "0,1,ä\n", "-1,-1,plain\n"}[i%3]
	}
	if err := os.WriteFile(data, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	cmds.Printed(t, "train", "--measure", "macro_recall", "--passes", "3", "--header", "no", "--model", model, data)
	want := []string{`a "quoted" name`, "ä", "plain"}
	for i, line := range strings.Split(strings.TrimSpace(cmds.Printed(t, "predict", "--json", "--model", model, data)),
		"\n") {
		var x struct {
			Label  string
			Scores map[string]float64
		}
		if err := json.Unmarshal([]byte(line), &x); err != nil {
			t.Fatal(err)
		}
		if len(x.Scores) != 3 || x.Label != want[i%3] {
			t.Fatalf("row %d: %s", i, line)
		}
		for _, v := range x.Scores {
			if v > x.Scores[x.Label] {
				t.Errorf("row %d: a score exceeds that of the label: %s", i, line)
			}
		}
	}
}
