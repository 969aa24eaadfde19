package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/noregret/noregret/internal/legible"
)

// The answers of a service whose log has texts of before they were checked. X stands for the text.
var oldAnswers = map[string]string{
	"/v1/audit": `{"entries": [{"position": 2, "time": "2026-11-01T12:00:00Z", "action": "rollback", "experiment": "toy",
		"arm": X, "who": X, "from": X, "what": X, "reason": X}]}`,
	"/v1/alerts": `{"webhook": true, "waiting": 1, "failure": X, "active": [{"format": 1, "id": "a", "key": "k",
		"kind": "breach", "state": "raised", "time": "2026-11-01T12:00:00Z", "since": "2026-11-01T12:00:00Z",
		"experiment": X, "text": X}]}`,
	"/v1/experiments": `{"experiments": [{"name": "toy", "state": "running", "version": 1, "round": 1, "description": X}]}`,
	"/v1/experiments/toy/report": `{"name": "toy", "state": "running", "version": 1, "round": 1,
		"mixture": {X: 1}, "arms": {X: {"n": 1, "metrics": {X: {"n": 1, "mean": 1}}}},
		"lift": {"control": X, "alpha": 0.05, "quantities": [{"kind": "goal", "metric": X, "served": {"verdict": X},
			"so_far": {}, "arms": {X: {}}}]},
		"health": {"problems": [X]}, "promise": {"text": X},
		"notes": [{"time": "2026-11-01T12:00:00Z", "text": X}]}`,
	"/v1/experiments/toy/explain": `{"experiment": "toy", "arm": X, "unit": X, "time": "2026-11-01T12:00:00Z", "value": X,
		"version": 2, "round": 1, "propensity": 0.5, "consistent": true, "distribution": [{"arm": X, "p": 1}],
		"scores": [{"arm": X, "score": 1}], "steps": [{"version": 1, "arm": X}, {"version": 2, "arm": X}],
		"policy": {"made": "2026-11-01T12:00:00Z", "cause": X, "units": {X: 1}, "known": {X: {X: {"n": 1, "mean": 1}}}}}`,
	"/v1/experiments/toy": `{"name": "toy", "description": X, "arms": [{"name": "a", "value": X},
		{"name": "b", "value": {X: 2}}], "metrics": [{"name": "m"}], "objective": {"goals": [{"metric": "m"}]}}`,
}

// TestOldTexts: whatever the texts of a service are, the commands that show them print as many
// lines as for harmless ones, and no character that people cannot see.
func TestOldTexts(t *testing.T) {
	text := "fine"
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer, ok := oldAnswers[r.URL.Path]
		x, err := json.Marshal(text)
		if !ok || err != nil {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprint(w, strings.ReplaceAll(answer, "X", string(x)))
	}))
	defer service.Close()
	show := func(args ...string) string {
		var stdout, stderr strings.Builder
		status := run(t.Context(), append(args, "--server", service.URL), strings.NewReader(""), &stdout, &stderr)
		if status != 0 {
			t.Fatalf("%v with %q: status %d: %s", args, text, status, stderr.String())
		}
		return stdout.String()
	}
	for _, command := range []string{
		"audit", "alerts", "experiment list", "experiment report toy", "experiment explain toy TOKEN",
		"experiment get toy",
		"audit --json", "experiment report toy --json", "experiment get toy --json",
	} {
		args := strings.Fields(command)
		text = "fine"
		plain := strings.Count(show(args...), "\n")
		for _, text = range []string{
			"fine\n2026-11-01T12:00:00Z  boss  10.0.0.1  toy  delete", "\x1b[2J\x1b[Hfine", "fine \u202e enif",
			"\u009b2J", "a\u2028b\rc",
		} {
			out := show(args...)
			if got := strings.Count(out, "\n"); got != plain && command != "experiment get toy" {
				t.Errorf("%s with %q: %d lines, %d with a harmless text:\n%s", command, text, got, plain, out)
			}
			if strings.ContainsFunc(strings.ReplaceAll(out, "\n", ""), legible.Unclear) {
				t.Errorf("%s with %q: %q", command, text, out)
			}
		}
	}
}

// TestTableIsLegible: a cell is one cell of one row, whatever it holds.
func TestTableIsLegible(t *testing.T) {
	row := []string{"a\nb", "\x1b[31mred", "1"}
	g := table{gap: true}
	g.add("feature", "weight", "n")
	g.add(row...)
	var b strings.Builder
	if err := g.write(&b); err != nil {
		t.Fatal(err)
	}
	want := "\nfeature         weight  n\n\"a\\nb\"   \"\\x1b[31mred\"  1\n"
	if b.String() != want || row[0] != "a\nb" {
		t.Errorf("%q, want %q", b.String(), want)
	}
}

// TestLegibleData: names of files and of features, and labels, are shown without the characters
// that people cannot see, and take as many lines as others.
func TestLegibleData(t *testing.T) {
	dir := t.TempDir()
	show := func(yes, no, feature, name string) (out []string) {
		var rows strings.Builder
		fmt.Fprintf(&rows, "%s,y,label\n", feature)
		for i := range 120 {
			label := no
			if i%3 == 0 {
				label = yes
			}
			fmt.Fprintf(&rows, "%d,%d,%s\n", i%7+10*((i+2)%3/2), i%5, label)
		}
		file, model := filepath.Join(dir, name+".csv"), filepath.Join(dir, name+".json")
		if err := os.WriteFile(file, []byte(rows.String()), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, args := range [][]string{
			{"train", "--measure", "f1", "--label", "label", "--positive", yes, "--model", model, file},
			{"inspect", model},
			{"evaluate", "--model", model, file},
			{"predict", "--model", model, file},
			{"train", "--measure", "f1", "--label", "label", "--positive", "other", "--model", model, file},
		} {
			var stdout, stderr strings.Builder
			status := run(t.Context(), args, strings.NewReader(""), &stdout, &stderr)
			if (status != 0) != slices.Contains(args, "other") {
				t.Fatalf("%q: status %d: %s", args, status, stderr.String())
			}
			out = append(out, stdout.String(), stderr.String())
		}
		return out
	}
	plain := show("yes", "no", "x", "plain")
	hostile := show("yes\u202e", "no\u009b2J", "x\x1b[2J", "b\x1bad\u202e")
	for i, text := range hostile {
		if strings.ContainsFunc(strings.NewReplacer("\n", "", "\t", "").Replace(text), legible.Unclear) {
			t.Errorf("%d: %q", i, text)
		}
		if got, want := strings.Count(text, "\n"), strings.Count(plain[i], "\n"); got != want {
			t.Errorf("%d: %d lines, want %d: %s", i, got, want, text)
		}
	}
}
