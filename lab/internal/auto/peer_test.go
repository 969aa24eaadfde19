package auto

import (
	"bufio"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/noregret/noregret/classify"
	"github.com/noregret/noregret/classify/measure"
	"github.com/noregret/noregret/dataset"
	"github.com/noregret/noregret/lab/internal/labtest"
)

// fakePython is a program that answers as the script does, with the counts of the rows to train on:
// without an error for f1, and with nothing else for gmean.
const fakePython = `#!/bin/sh
[ "$1" = -c ] && exit 0
p=$(grep -c '^1 ' "$3"); n=$(grep -c '^0 ' "$3")
[ "$4 $5 $6" = "3 f1 gmean" ] || exit 7
echo "{\"seconds\": 2, \"confusions\": {\"f1\": [[$n, 0], [0, $p]], \"gmean\": [[0, $n], [$p, 0]]}}"
`

// The peer gets the rows of the split and the measures that it knows; its values and auto's lead
// are in the table and in the file. Without scikit-learn there is a word.
func TestPeer(t *testing.T) {
	dir := t.TempDir()
	writeSet(t, filepath.Join(dir, "uci-imbalanced", "page-blocks0.csv.gz"))
	python, cells := filepath.Join(dir, "python"), filepath.Join(dir, "cells.json")
	if err := os.WriteFile(python, []byte(fakePython), 0o700); err != nil {
		t.Fatal(err)
	}
	run := func(python string) (string, string) {
		var out, notes strings.Builder
		if err := labtest.Run(t.Context(), Command(), []string{
			"--data", dir, "--sets", "page-blocks0", "--measures", "f1,gmean,hmean", "--algorithms", "logistic",
			"--splits", "2", "--python", python, "--cells", cells,
		}, &out, &notes); err != nil {
			t.Fatal(err)
		}
		return out.String(), notes.String()
	}
	out, notes := run(filepath.Join(dir, "none"))
	if !strings.Contains(notes, "skipped: scikit-learn: ") || strings.Contains(out, "behind scikit-learn") {
		t.Errorf("without Python: %s%s", notes, out)
	}
	out, notes = run(python)
	for _, want := range []string{
		"| 1.000 ± 0.000 | -0.", "| 0.000 ± 0.000 | +0.", "scikit-learn in 1 of 2 lines, and at least as good in 1",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("there is no %q in\n%s%s", want, out, notes)
		}
	}
	o, err := readOutcomes(cells, 0.7, nil)
	if err != nil {
		t.Fatal(err)
	}
	i, ok := o.at[trial{"page-blocks0", "f1", peerName, 1}]
	if !ok || *o.list[i].Value != 1 || o.list[i].Seconds != 2 {
		t.Errorf("f1 of the peer: %v %+v", ok, o.list)
	}
}

// Measures of confusions: the second of two classes is positive, and classes without rows do not
// count.
func TestValueOf(t *testing.T) {
	macro, err := measure.ParseMulti("macro_recall", false)
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		m      measure.Objective
		counts [][]float64
		want   float64
	}{
		{measure.FBeta{B: 1}, [][]float64{{50, 10}, {5, 20}}, 40.0 / 55},
		{macro, [][]float64{{3, 1, 0}, {2, 2, 0}, {0, 0, 0}}, 0.625},
	} {
		if v, err := valueOf(tc.m, tc.counts); err != nil || math.Abs(v-tc.want) > 1e-12 {
			t.Errorf("%s of %v: %v, %v; want %v", tc.m.Name(), tc.counts, v, err, tc.want)
		}
	}
	for _, counts := range [][][]float64{nil, {{1, 2}}, {{1, 2}, {3}}, {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}} {
		if _, err := valueOf(measure.FBeta{B: 1}, counts); err == nil {
			t.Errorf("%v is not refused", counts)
		}
	}
}

// Rows are written with the features from 0, the exact values and the numbers of the classes in the
// order of the data's labels.
func TestWriteRows(t *testing.T) {
	b, err := dataset.NewBuilder(3, "9", "10", "2")
	if err != nil {
		t.Fatal(err)
	}
	for class, index := range [][]uint32{{0, 2}, {}, {1}} {
		if err := b.Add(index, []float32{0.1, -3e20}[:len(index)], class, 1); err != nil {
			t.Fatal(err)
		}
	}
	set, err := b.Set()
	if err != nil {
		t.Fatal(err)
	}
	many, err := classify.NewData(set, classify.Multiclass)
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		data classify.Data
		want string
	}{
		{classify.Data{Set: set, Positive: 1}, "0 0:0.1 2:-3e+20\n1\n0 1:0.1\n"},
		{many, "1 0:0.1 2:-3e+20\n2\n0 1:0.1\n"},
	} {
		var out strings.Builder
		w := bufio.NewWriter(&out)
		if err := writeRows(w, tc.data); err != nil {
			t.Fatal(err)
		}
		if _ = w.Flush(); out.String() != tc.want {
			t.Errorf("wrote %q, want %q", out.String(), tc.want)
		}
	}
}
