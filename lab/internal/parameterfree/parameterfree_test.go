package parameterfree

import (
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/lab/internal/labtest"
)

// A set that exists gives a line in the table of every trainer; sets that do not are left out, with
// a word.
func TestRun(t *testing.T) {
	dir := t.TempDir()
	writeRows(t, filepath.Join(dir, "uci-imbalanced", "page-blocks0.csv.gz"))
	var out, notes strings.Builder
	args := []string{
		"--data", dir, "--sets", "page-blocks0,abalone19", "--trainers", "sgd-logistic,spade", "--seeds", "2",
		"--passes", "2",
	}
	if err := labtest.Run(t.Context(), Command(), args, &out, &notes); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"### sgd-logistic (f1)\n\n| set ", "| loss, default | loss, best of 5 |", "### spade (qmean)",
		"\n| page-blocks0 | ", "Training loss: auto has ", "Examples visited, default : tuned : auto = 1 : ",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
	if n := strings.Count(out.String(), "| page-blocks0 |"); n != 2 || strings.Contains(out.String(), "abalone19") {
		t.Errorf("%d lines of the set in\n%s", n, out.String())
	}
	if !strings.Contains(notes.String(), "skipped: abalone19: ") {
		t.Errorf("notes\n%s", notes.String())
	}
}

// writeRows writes 400 rows of three features, a quarter of them positive.
func writeRows(t *testing.T, path string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		t.Fatal(err)
	}
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	z := gzip.NewWriter(f)
	r := random.New(1, "rows")
	for i := range 400 {
		label := 0
		if i%4 == 0 {
			label = 1
		}
		fmt.Fprintf(z, "%.3f,%.3f,%.3f,%d\n", r.NormFloat64()+2*float64(label), 100*r.NormFloat64(), r.Float64(), label)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

// Without data the error names the directory; bad arguments are refused.
func TestRunWithoutData(t *testing.T) {
	dir := t.TempDir()
	err := labtest.Run(t.Context(), Command(), []string{"--data", dir}, io.Discard, io.Discard)
	if want := dir + ": no data set of this comparison in this directory"; err == nil ||
		!strings.Contains(err.Error(), want) {
		t.Errorf("error %v, want %q", err, want)
	}
	for _, args := range [][]string{{"--seeds", "1"}, {"--passes", "-1"}, {"--sets", "nope"}, {"--nonsense"}} {
		if labtest.Run(t.Context(), Command(), args, io.Discard, io.Discard) == nil {
			t.Errorf("%v is not refused", args)
		}
	}
}

func TestRatio(t *testing.T) {
	r := row{autoLoss: []float64{0, 0}, bestLoss: []float64{.002, .002}}
	if got := r.ratio(); got != .5 {
		t.Errorf("the ratio of a loss of 0 to one of 0.002 is %v, want 0.5", got)
	}
	if m, s := meanOf([]float64{1, 3}); m != 2 || s*s < 1.99 || s*s > 2.01 {
		t.Errorf("%v ± %v of 1 and 3", m, s)
	}
}
