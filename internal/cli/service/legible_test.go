package service

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
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
		status := cmds.Run(t.Context(), append(args, "--server", service.URL), strings.NewReader(""), &stdout, &stderr)
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
