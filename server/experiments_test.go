package server

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/noregret/noregret/api"
	"github.com/noregret/noregret/policy"
)

// TestOperator checks pause, resume, rollback, veto and delete, and the reports that follow them.
func TestOperator(t *testing.T) {
	w := newWorld(t)
	w.apply(toy)
	units := []string{"a", "b", "c", "d", "e", "f", "g", "h"}
	token := w.decide("toy", units...)[0].Token
	var s api.Summary
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
	var r api.Report
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

// TestDryRun asks what a definition would change: nothing changes, and the answer is what applying
// the definition then does.
func TestDryRun(t *testing.T) {
	w := newWorld(t)
	ask := func(want int, text string, header ...string) (out api.Applied, answer string) {
		t.Helper()
		before := position(t, w)
		status, b := w.do("PUT", "/v1/experiments/toy?dry_run=true", text,
			append(header, "Content-Type", "application/yaml")...)
		if status != want {
			t.Fatalf("status %d, want %d: %s", status, want, b)
		}
		if after := position(t, w); after != before {
			t.Errorf("the log went from %d to %d", before, after)
		}
		if status == 200 {
			if err := json.Unmarshal(b, &out); err != nil || out.Preview == nil {
				t.Fatalf("%v: %s", err, b)
			}
		}
		return out, string(b)
	}
	if a, b := ask(200, toy); !a.Created || !a.Changed || a.Version != 0 || a.Preview.Next != 1 {
		t.Errorf("before it is there: %s", b)
	}
	w.get(404, nil, "GET", "/v1/experiments/toy", "")
	w.apply(toy)
	if a, b := ask(200, toy); a.Created || a.Changed || a.Version != 1 || a.Preview.Next != 1 ||
		len(a.Preview.Changes) != 0 || len(a.Preview.Shares) != 3 {
		t.Errorf("the same: %s", b)
	}
	changed := strings.Replace(toy, "share: 0.2", "share: 0.8", 1)
	a, b := ask(200, changed)
	if a.Created || !a.Changed || a.Preview.Next != 2 || len(a.Preview.Evidence) < 2 ||
		!strings.Contains(b, `"changes":[{"path":"control.share","before":0.2,"after":0.8}]`) {
		t.Errorf("another share: %s", b)
	}
	if d, err := w.server.Definition("toy"); err != nil || d.Control.Share != 0.2 {
		t.Errorf("%+v, %v", d, err)
	}
	w.apply(changed)
	moved := 0
	for _, d := range w.decide("toy", "ann", "bob", "cem", "dan", "eve") {
		for _, s := range a.Preview.Shares {
			if s.Before != s.After {
				moved++
			}
			heldBack := d.Propensity == 1
			if s.Arm == d.Arm && s.After != d.Propensity && !heldBack {
				t.Errorf("%+v, foretold %+v", d, s)
			}
		}
	}
	if moved == 0 {
		t.Errorf("no share changes: %+v", a.Preview.Shares)
	}
	if _, b := ask(409, toy+"unit: visit\n"); !strings.Contains(b, `"user\" cannot become \"visit\" while`) {
		t.Error(b)
	}
	ask(412, toy, "If-None-Match", "*")
	ask(400, toy+"no: field\n")
	w.get(400, nil, "PUT", "/v1/experiments/toy?dry_run=maybe", `{}`)
	w.get(400, nil, "GET", "/v1/experiments/toy?dry_run=true", "")
}

// position returns the position of the log.
func position(t testing.TB, w *world) uint64 {
	t.Helper()
	s, err := w.server.State()
	if err != nil {
		t.Fatal(err)
	}
	return s.Position
}
