package auto

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/noregret/noregret/lab/internal/labtest"
)

// Results that the file has are taken and the others are added; results of an algorithm that is
// forgotten, and only those, are measured again.
func TestResume(t *testing.T) {
	dir := t.TempDir()
	writeSet(t, filepath.Join(dir, "uci-imbalanced", "page-blocks0.csv.gz"))
	cells := filepath.Join(dir, "cells.json")
	run := func(args ...string) string {
		var out, notes strings.Builder
		args = append([]string{
			"--data", dir, "--sets", "page-blocks0", "--algorithms", "logistic,sgd-hinge", "--python", "",
			"--cells", cells, "--train-share", "0.6",
		}, args...)
		if err := labtest.Run(t.Context(), Command(), args, &out, &notes); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	fresh := run("--measures", "f1,gmean", "--splits", "3")
	if err := os.Remove(cells); err != nil {
		t.Fatal(err)
	}
	// The same, in parts: the file lacks a split and a measure.
	run("--measures", "gmean", "--splits", "2")
	if parts := run("--measures", "f1,gmean", "--splits", "3"); cut(parts) != cut(fresh) {
		t.Errorf("in parts\n%s\nat once\n%s", parts, fresh)
	}
	// What the file says is not measured.
	o, err := readOutcomes(cells, 0.6, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(o.list) != 18 {
		t.Errorf("%d results, want 18", len(o.list))
	}
	for i := range o.list {
		*o.list[i].Value = 0.125
	}
	if err := o.save(); err != nil {
		t.Fatal(err)
	}
	if v := autoOf(fresh); !strings.HasPrefix(v, "0.") {
		t.Fatalf("auto is %s in\n%s", v, fresh)
	}
	if n := strings.Count(run("--measures", "f1", "--splits", "3"), "0.125 ± 0.000"); n != 2 {
		t.Errorf("%d cells from the file, want 2", n)
	}
	again := run("--measures", "f1", "--splits", "3", "--forget", "auto")
	if strings.Count(again, "0.125 ± 0.000") != 1 || autoOf(again) != autoOf(fresh) {
		t.Errorf("auto forgotten:\n%s", again)
	}
	if _, err := readOutcomes(cells, 0.7, nil); err == nil || !strings.Contains(err.Error(), "0.6, want 0.7") {
		t.Errorf("another share: %v", err)
	}
	if err := os.WriteFile(cells, []byte(`{"outcomes":[{"sets":1}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := readOutcomes(cells, 0.6, nil); err == nil || !strings.Contains(err.Error(), cells) {
		t.Errorf("a damaged file: %v", err)
	}
}

// autoOf is the cell of auto in the line of f1.
func autoOf(printed string) string {
	for line := range strings.Lines(printed) {
		if f := strings.Split(line, "|"); len(f) > 5 && strings.TrimSpace(f[2]) == "f1" {
			return strings.TrimSpace(f[4])
		}
	}
	return "none"
}

// cut leaves out the times, which are the last two columns and the last note.
func cut(printed string) string {
	var out strings.Builder
	for line := range strings.Lines(printed) {
		if f := strings.Split(line, "|"); len(f) > 3 {
			line = strings.Join(f[:len(f)-3], "|")
		} else if strings.HasPrefix(line, "It takes") {
			continue
		}
		out.WriteString(strings.TrimSpace(line) + "\n")
	}
	return out.String()
}
