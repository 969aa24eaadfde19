package server

import (
	"strings"
	"testing"
)

// TestDriftPages checks that the page and the report say how much the learner remembers, and
// nothing without drift.
func TestDriftPages(t *testing.T) {
	w, _ := played(t, toy+"drift: {memory: 20}\n", "toy")
	r, err := w.server.Report("toy")
	if err != nil {
		t.Fatal(err)
	}
	if r.Drift == nil || r.Drift.Memory != 20 {
		t.Fatalf("the report's drift is %+v", r.Drift)
	}
	wants(t, w.text(200, "/experiments/toy"), "The learner remembers</dt><dd>20.00 rounds")
	_, body := w.do("GET", "/v1/experiments/toy/report", "")
	if !strings.Contains(string(body), `"drift":{"memory":20}`) {
		t.Errorf("the report is %.300s", body)
	}
	w, _ = played(t, toy, "toy")
	if strings.Contains(w.text(200, "/experiments/toy"), "The learner remembers") {
		t.Error("a page without drift has a part about it")
	}
}
