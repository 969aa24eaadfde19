package train

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/noregret/noregret/classify"
	"github.com/noregret/noregret/classify/measure"
)

// The measures that evaluate reports follow from predict's lines and the labels in the file by the
// textbook formulas.
func TestEvaluateAgreesWithPredict(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	text := rowsOf(t, 3000, 1001)
	train, model := filepath.Join(dir, "train.svm"), filepath.Join(dir, "m.json")
	if err := os.WriteFile(train, text, 0o666); err != nil {
		t.Fatal(err)
	}
	call := func(args ...string) string {
		t.Helper()
		status, stdout, stderr := cmds.Try(t.Context(), args...)
		if status != 0 {
			t.Fatalf("%v: status %d, %s", args, status, stderr)
		}
		return stdout
	}
	call("train", "--measure", "f2", "--model", model, train)
	lines := strings.Split(strings.TrimSpace(call("predict", "--model", model, train)), "\n")
	rows := strings.Split(strings.TrimSpace(string(text)), "\n")
	if len(lines) != len(rows) {
		t.Fatalf("%d predictions for %d rows", len(lines), len(rows))
	}
	var tp, fn, tn, fp float64
	for i, line := range lines {
		score, label, _ := strings.Cut(line, "\t")
		if _, err := strconv.ParseFloat(score, 64); err != nil {
			t.Fatal(err)
		}
		switch positive := strings.HasPrefix(rows[i], "+1 "); {
		case positive && label == "1":
			tp++
		case positive:
			fn++
		case label == "-1":
			tn++
		default:
			fp++
		}
	}
	var got map[string]any
	if err := json.Unmarshal([]byte(call("evaluate", "--model", model, "--json", train)), &got); err != nil {
		t.Fatal(err)
	}
	p, n, all := tp/(tp+fn), tn/(tn+fp), tp+fn+tn+fp
	for name, want := range map[string]float64{
		"n": all, "positives": tp + fn, "negatives": tn + fp,
		"f1": 2 * tp / (2*tp + fp + fn), "gmean": math.Sqrt(p * n), "hmean": 2 * p * n / (p + n),
		"qmean":       1 - math.Sqrt(((1-p)*(1-p)+(1-n)*(1-n))/2),
		"min_tpr_tnr": min(p, n), "jaccard": tp / (tp + fp + fn), "tpr": p, "tnr": n,
		"accuracy": (tp + tn) / all, "balanced_accuracy": (p + n) / 2, "precision": tp / (tp + fp),
		"f2": 5 * tp / (5*tp + 4*fn + fp), "f0.5": 1.25 * tp / (1.25*tp + 0.25*fn + fp),
		"mcc": (tp*tn - fp*fn) / math.Sqrt((tp+fp)*(tp+fn)*(tn+fp)*(tn+fn)),
	} {
		if v, ok := got[name].(float64); !ok || math.Abs(v-want) > 1e-12 {
			t.Errorf("%s is %v, want %v", name, got[name], want)
		}
	}
}

// The names that evaluate reports are names of measures.
func TestEvaluatedNames(t *testing.T) {
	for _, name := range evaluated[classify.Binary] {
		if _, err := measure.Parse(name); err != nil {
			t.Error(err)
		}
	}
}

// On the electricity market of New South Wales every way to keep up beats none in F1 and in the
// G-mean, for every algorithm that learns from streams, and the last label beats them all:
// lab/docs/prequential.md.
func TestPrequentialElec2(t *testing.T) {
	t.Parallel()
	const path = "../../../../shared/data/elec2/elec2.csv.gz"
	if _, err := os.Stat(path); err != nil {
		t.Skip("the shared data set elec2/elec2.csv.gz is missing")
	}
	for _, c := range []struct{ algorithm, measure string }{{"stamp", "f1"}, {"spade", "gmean"}} {
		args := []string{
			"evaluate", "--prequential", "--algorithm", c.algorithm, "--measure", c.measure, "--json", "--drift",
			"none",
		}
		for _, d := range []string{"restart", "discount", "detector", "adaptive"} {
			args = append(args, "--drift", d)
		}
		status, stdout, stderr := cmds.Try(t.Context(), append(args, path)...)
		if status != 0 {
			t.Fatalf("status %d: %s", status, stderr)
		}
		var got struct {
			Rows  int64
			Forms []struct {
				Form     string
				Measures map[string]float64
			}
		}
		if err := json.Unmarshal([]byte(stdout), &got); err != nil {
			t.Fatal(err)
		}
		if got.Rows != 45312 || len(got.Forms) != 7 {
			t.Fatalf("%d rows, %d forms", got.Rows, len(got.Forms))
		}
		none, last := got.Forms[0].Measures, got.Forms[5].Measures
		for _, f := range got.Forms[1:5] {
			for _, m := range []string{"f1", "gmean"} {
				if !(f.Measures[m] > none[m] && f.Measures[m] < last[m]) {
					t.Errorf("%s, %s: %s %v, without drift %v, last label %v", c.algorithm, f.Form, m, f.Measures[m],
						none[m],
						last[m])
				}
			}
		}
	}
}
