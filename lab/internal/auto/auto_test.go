package auto

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

// A set that exists gives a line for each measure of its task, and one for each figure with
// --coverage; sets that do not are left out, with a word.
func TestRun(t *testing.T) {
	dir := t.TempDir()
	writeSet(t, filepath.Join(dir, "uci-imbalanced", "page-blocks0.csv.gz"))
	common := []string{
		"--data", dir, "--sets", "page-blocks0,abalone19", "--measures", "gmean,macro_f1", "--splits", "2",
		"--python", "",
	}
	for _, tc := range []struct {
		args  []string
		lines int
		want  string
	}{
		{[]string{"--algorithms", "spade,logistic"}, 1, "Auto is at most one spread behind the best single "},
		{[]string{"--coverage", "--rows", "300"}, 8, "| page-blocks0 | auto      | gmean       | f1 "},
		{[]string{"--coverage", "--rows", "300", "--algorithms", "spade"}, 8, "| page-blocks0 | spade "},
	} {
		var out, notes strings.Builder
		if err := labtest.Run(t.Context(), Command(), append(tc.args, common...), &out, &notes); err != nil {
			t.Fatal(err)
		}
		printed := out.String()
		if n := strings.Count(printed, "\n| page-blocks0 |"); n != tc.lines || !strings.Contains(printed, tc.want) {
			t.Errorf("%v: %d lines, want %d, and %q in\n%s", tc.args, n, tc.lines, tc.want, printed)
		}
		if !strings.Contains(notes.String(), "skipped: abalone19: ") {
			t.Errorf("notes\n%s", notes.String())
		}
	}
}

// Files take the place of the sets. With three labels a file is of several classes.
func TestRunFiles(t *testing.T) {
	dir := t.TempDir()
	two, three := filepath.Join(dir, "two.csv.gz"), filepath.Join(dir, "three.csv")
	writeSet(t, two)
	var rows strings.Builder
	rows.WriteString("x,target,z\n")
	r := random.New(2, "three")
	for i := range 300 {
		fmt.Fprintf(&rows, "%.3f,%c,%.3f\n", r.NormFloat64()+float64(i%3), 'a'+i%3, r.NormFloat64())
	}
	if err := os.WriteFile(three, []byte(rows.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	args := []string{
		"--data", dir, "--measures", "gmean,macro_f1", "--splits", "2", "--python", "", "--algorithms", "sgd-balanced",
	}
	var out strings.Builder
	err := labtest.Run(t.Context(), Command(), append(args, "--files", two+","+three), &out, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"| two   | gmean ", "| three | macro_f1 ", " of 2 lines, and"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
	same := filepath.Join(t.TempDir(), "two.csv.gz")
	writeSet(t, same)
	err = labtest.Run(t.Context(), Command(), append(args, "--files", two+","+same), io.Discard, io.Discard)
	if err == nil || !strings.Contains(err.Error(), "two.csv.gz") {
		t.Errorf("two files of one name: %v", err)
	}
}

// writeSet writes 600 rows of three features, a quarter of them positive.
func writeSet(t *testing.T, path string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		t.Fatal(err)
	}
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	z, r := gzip.NewWriter(f), random.New(1, "rows")
	for i := range 600 {
		label := max(0, i%4-2)
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
	for _, args := range [][]string{{"--splits", "1"}, {"--sets", "nope"}, {"--nonsense"}} {
		if labtest.Run(t.Context(), Command(), args, io.Discard, io.Discard) == nil {
			t.Errorf("%v is not refused", args)
		}
	}
}
