package shards

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

// The table has a line for each set that exists, and the columns of the flag.
func TestRun(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "uci-imbalanced", "page-blocks0.csv.gz")
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		t.Fatal(err)
	}
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	z := gzip.NewWriter(f)
	r := random.New(1, "rows")
	for i := range 2000 {
		label := i % 4 / 3
		fmt.Fprintf(z, "%.3f,%.3f,%d\n", r.NormFloat64()+2*float64(label), r.NormFloat64(), label)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	var out, notes strings.Builder
	args := []string{
		"--data", dir, "--sets", "page-blocks0,abalone19", "--shards", "1,3", "--seeds", "2", "--passes", "2",
		"--measures", "gmean,f1",
	}
	if err := labtest.Run(t.Context(), Command(), args, &out, &notes); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"### gmean, ", "### f1, ", "| train, one pass | 1 ", "| 3 ", "\n| page-blocks0 | 0.",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
	if !strings.Contains(notes.String(), "skipped: abalone19: ") || strings.Contains(out.String(), "abalone19") {
		t.Errorf("notes\n%s", notes.String())
	}
	for _, args := range [][]string{{"--seeds", "1"}, {"--shards", "0"}, {"--sets", "nope"}, {"--measures", "nope"}} {
		if labtest.Run(t.Context(), Command(), args, io.Discard, io.Discard) == nil {
			t.Errorf("%v is not refused", args)
		}
	}
}
