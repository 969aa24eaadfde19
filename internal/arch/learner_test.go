package arch

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// learnerParts are the parts of the default learner, and the files of pasto that each is in: what
// an observation meets on its way to what is served and deployed, but for noisy sums.
var learnerParts = map[string][]string{
	"armStats": {"internal/mixed/moments.go", "internal/mixed/round.go"},
	"noise":    {"internal/mixed/noise.go", "internal/mixed/estimate.go", "internal/mixed/bounds.go"},
	"detector": {"internal/mixed/change.go"},
	"planner":  {"confident/plan.go", "confident/problem.go"},
	"serve":    {"confident/serve.go", "confident/guard.go"},
	// The exported type, and the model that joins the first three parts.
	"Learner": {"confident/confident.go", "internal/mixed/model.go"},
}

// otherFiles are the files of the packages of these parts that are in none, by what they are for.
var otherFiles = map[string][]string{
	"options":     {"confident/options.go", "internal/mixed/rules.go"},
	"snapshots":   {"confident/state.go", "internal/mixed/state.go"},
	"reports":     {"confident/report.go", "confident/infeasible.go", "internal/mixed/allowance.go"},
	"drift":       {"confident/inside.go", "internal/mixed/forget.go"},
	"noisy sums":  {"internal/mixed/released.go"},
	"description": {"confident/doc.go", "internal/mixed/doc.go"},
}

// mostLearnerLines is what the parts must stay below, in lines of code.
const mostLearnerLines = 1200

func TestLearnerSize(t *testing.T) {
	var listed []string
	lines := func(parts map[string][]string) (total int) {
		for _, part := range slices.Sorted(maps.Keys(parts)) {
			sum := 0
			for _, name := range parts[part] {
				text, err := os.ReadFile(filepath.Join("..", "..", "pasto", name))
				if err != nil {
					t.Fatal(err)
				}
				sum += codeLines(string(text))
			}
			t.Logf("%s: %d lines of code", part, sum)
			total += sum
			listed = append(listed, parts[part]...)
		}
		return total
	}
	total, beside := lines(learnerParts), lines(otherFiles)
	t.Logf("the learner: %d, and %d beside it", total, beside)
	if total >= mostLearnerLines {
		t.Errorf("the parts of the default learner have %d lines of code: want less than %d", total, mostLearnerLines)
	}
	_, all := load(t)
	for _, f := range all {
		own := f.dir == "pasto/confident" || f.dir == "pasto/internal/mixed"
		if own && !f.isTest() && !slices.Contains(listed, strings.TrimPrefix(f.path, "pasto/")) {
			t.Errorf("%s is in no part of the default learner: add it to one, or to the other files", f.path)
		}
	}
}

// codeLines is the number of lines that are neither blank nor only a line comment.
func codeLines(text string) (n int) {
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "//") {
			n++
		}
	}
	return n
}

func TestCodeLines(t *testing.T) {
	if n := codeLines("// Package p is.\npackage p\n\nfunc f() { // does\n\t// nothing\n}\n\n"); n != 3 {
		t.Errorf("%d lines, want 3", n)
	}
}
