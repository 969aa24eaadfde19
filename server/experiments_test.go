package server

import (
	"testing"

	"github.com/noregret/noregret/policy"
)

// TestOperator: pause, resume, rollback and delete, and the reports that follow them.
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
	w.get(204, nil, "DELETE", "/v1/experiments/toy", "")
	w.get(404, nil, "GET", "/v1/experiments/toy/report", "")
	if f := w.post("/v1/feedback", item{token, map[string]float64{"x": 1}}); f.Rejected != 1 {
		t.Errorf("feedback for what is gone: %+v", f)
	}
}
