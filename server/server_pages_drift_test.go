package server

import (
	"strings"
	"testing"
)

// TestDriftPages checks that the page and the report say what the learner has forgotten, and
// nothing without drift.
func TestDriftPages(t *testing.T) {
	w, _ := played(t, toy+"drift: {kind: restart, rounds: 2}\n", "toy")
	r, err := w.server.Report("toy")
	if err != nil {
		t.Fatal(err)
	}
	if r.Drift == nil || r.Drift.Kind != "restart" || r.Drift.Count == 0 || len(r.Drift.Events) == 0 ||
		r.Drift.Events[0].Cause != "interval" || r.Drift.Memory > 2 {
		t.Fatalf("the report's drift is %+v", r.Drift)
	}
	wants(t, w.text(200, "/experiments/toy"), "Drift: restart", "Forgotten at once</dt><dd>",
		"All arms are learned anew: the interval of restarts has ended.",
		"all arms are learned anew: the interval of restarts has ended")
	_, body := w.do("GET", "/v1/experiments/toy/report", "")
	if !strings.Contains(string(body), `"drift":{"kind":"restart","memory":`) {
		t.Errorf("the report is %.300s", body)
	}
	page := func(text string) string {
		w, _ := played(t, toy+text, "toy")
		return w.text(200, "/experiments/toy")
	}
	if strings.Contains(page(""), "Drift:") {
		t.Error("a page without drift has a part about it")
	}
	wants(t, page("drift: {kind: adaptive}\n"), "Drift: adaptive", "What is known is worth</dt><dd>3.000 rounds")
}
