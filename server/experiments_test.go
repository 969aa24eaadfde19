package server

import (
	"net/http"
	"strings"
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

// TestIfMatch checks that a definition is replaced only if it is the one that the client has seen,
// and created only if it is not there.
func TestIfMatch(t *testing.T) {
	w := newWorld(t)
	put := func(text string, header ...string) (int, string) {
		t.Helper()
		status, b := w.do("PUT", "/v1/experiments/toy", text, append(header, "Content-Type", "application/yaml")...)
		return status, string(b)
	}
	tag := func() string {
		t.Helper()
		r, err := http.NewRequest("GET", w.http.URL+"/v1/experiments/toy", nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, _ := w.send(r)
		return resp.Header.Get("ETag")
	}
	if status, b := put(toy, "If-Match", `"x"`); status != 412 {
		t.Errorf("nothing to match: status %d: %s", status, b)
	}
	if status, b := put(toy, "If-None-Match", "*"); status != 201 {
		t.Errorf("creation: status %d: %s", status, b)
	}
	first := tag()
	changed := strings.Replace(toy, "share: 0.2", "share: 0.3", 1)
	if status, b := put(changed, "If-None-Match", "*"); status != 412 {
		t.Errorf("creation of what exists: status %d: %s", status, b)
	}
	if status, b := put(changed, "If-Match", `"other", `+first); status != 200 {
		t.Errorf("a match: status %d: %s", status, b)
	}
	if status, b := put(toy, "If-Match", first); status != 412 || !strings.Contains(b, "has changed meanwhile") {
		t.Errorf("the tag of before: status %d: %s", status, b)
	}
	if d, err := w.server.Definition("toy"); err != nil || d.Control.Share != 0.3 || tag() == first || first == "" {
		t.Errorf("%+v, %v, %q", d, err, first)
	}
	if status, b := put(toy, "If-Match", "*"); status != 200 || tag() != first {
		t.Errorf("any match: status %d: %s; the tags %s, %s", status, b, first, tag())
	}
	if status, _ := w.do("GET", "/v1/experiments/toy", "", "If-None-Match", first); status != 304 {
		t.Errorf("status %d", status)
	}
}
