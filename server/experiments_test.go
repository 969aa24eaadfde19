package server

import (
	"testing"

	"github.com/noregret/noregret/policy"
)

// TestOperator checks pause, resume, rollback, veto and delete, and the reports that follow them.
func TestOperator(t *testing.T) {
	w := newWorld(t)
	w.apply(toy)
	units := []string{"a", "b", "c", "d", "e", "f", "g", "h"}
	token := w.decide("toy", units...)[0].Token
	var s policy.Summary
	for _, step := range []struct {
		path   string
		status int
		state  policy.Status
	}{
		{"pause", 200, "paused"},
		{"pause", 409, ""},
		{"resume", 200, "running"},
		{"rollback", 200, "rolled_back"},
		{"resume", 200, "running"},
	} {
		w.get(step.status, &s, "POST", "/v1/experiments/toy/"+step.path, `{"reason": "a test"}`)
		if step.status == 200 && s.State != step.state {
			t.Errorf("%s: %+v", step.path, s)
		}
		if step.state == "rolled_back" {
			for _, d := range w.decide("toy", units...) {
				if d.Arm != "control" || d.Propensity != 1 {
					t.Errorf("rolled back: %+v", d)
				}
			}
		}
	}
	w.get(200, nil, "GET", "/v1/experiments", "")
	w.get(200, nil, "GET", "/v1/state", "")
	w.get(200, nil, "GET", "/metrics", "")
	w.get(200, nil, "GET", "/v1/definition.schema.json", "")
	w.get(200, &s, "POST", "/v1/experiments/toy/veto", `{"arm": "gain", "reason": "odd"}`)
	for _, d := range w.decide("toy", units...) {
		if d.Arm == "gain" {
			t.Errorf("a vetoed arm is served: %+v", d)
		}
	}
	w.get(409, nil, "POST", "/v1/experiments/toy/veto", `{"arm": "gain"}`)
	w.get(409, nil, "POST", "/v1/experiments/toy/veto", `{"arm": "control"}`)
	w.get(200, nil, "POST", "/v1/experiments/toy/veto", `{"arm": "gain", "lift": true}`)
	w.get(409, nil, "POST", "/v1/experiments/toy/conclude", "")
	w.get(409, nil, "POST", "/v1/experiments/toy/conclude", `{"mixture": {"gain": 0.5}}`)
	w.get(400, nil, "POST", "/v1/experiments/toy/conclude", `{"mixture": {"gain": "all"}}`)
	w.get(200, &s, "POST", "/v1/experiments/toy/conclude", `{"mixture": {"gain": 1}, "reason": "good"}`)
	if s.State != policy.Concluded {
		t.Errorf("concluded: %+v", s)
	}
	for _, d := range w.decide("toy", units...) {
		if d.Arm != "gain" && d.Propensity != 1 {
			t.Errorf("concluded: %+v", d)
		}
	}
	var r policy.Report
	w.get(200, &r, "GET", "/v1/experiments/toy/report", "")
	if q := r.Conclusion; q == nil || q.Mixture["gain"] != 1 || q.Reason != "good" || q.Source != "named" ||
		len(q.Arms) != len(r.Arms) {
		t.Errorf("the record: %+v", q)
	}
	w.get(409, nil, "POST", "/v1/experiments/toy/resume", "")
	w.get(204, nil, "DELETE", "/v1/experiments/toy", "")
	w.get(404, nil, "GET", "/v1/experiments/toy/report", "")
	if f := w.post("/v1/feedback", item{token, map[string]float64{"x": 1}}); f.Rejected != 1 {
		t.Errorf("feedback for a deleted experiment: %+v", f)
	}
}
