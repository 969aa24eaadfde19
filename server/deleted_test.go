package server

import (
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/noregret/noregret/api"
	"github.com/noregret/noregret/dp"
	"github.com/noregret/noregret/policy"
	"github.com/noregret/noregret/server/internal/access"
)

// graced is a service whose deleted experiments are kept for a week, with an experiment that has
// some feedback, and the tokens of decisions whose feedback is still to come.
func graced(t *testing.T) (w *world, later []decision) {
	t.Helper()
	w = newWorld(t, func(c *Config) { c.DeleteGrace = 7 * 24 * time.Hour })
	w.apply(strings.Replace(toy, "attribution_window: 10m", "attribution_window: 2h", 1))
	var shown, said []item
	all := w.decide("toy", unitNames("u", 100)...)
	for _, d := range all {
		shown = append(shown, item{Token: d.Token})
		said = append(said, item{Token: d.Token, Metrics: map[string]float64{"x": 1, "y": 1}})
	}
	w.post("/v1/exposures", shown...)
	w.post("/v1/feedback", said[:60]...)
	w.wait(2 * time.Minute)
	w.server.Tick()
	return w, all[60:]
}

const toyPath = "/v1/experiments/toy"

// TestDeleteAndRestore: an experiment that was deleted is gone for everybody who uses it, and comes
// back exactly as it was, also in another process; feedback for its earlier decisions counts again.
func TestDeleteAndRestore(t *testing.T) {
	for _, restart := range []bool{false, true} {
		w, later := graced(t)
		var definition any
		w.get(200, &definition, "GET", toyPath, "")
		before, decided := w.report("toy"), w.decide("toy", unitNames("v", 50)...)
		w.get(204, nil, "DELETE", toyPath, `{"reason": "by mistake"}`)
		until := w.now.Add(7 * 24 * time.Hour).Format(time.RFC3339)
		if restart {
			w.restart()
		}
		sentence := `no experiment \"toy\": it was deleted, and can be restored until ` + until
		for path, body := range map[string]string{
			"POST " + toyPath + "/decide": `{"units": ["a"]}`, "GET " + toyPath: "", "GET " + toyPath + "/report": "",
			"POST " + toyPath + "/pause": "{}", "POST /ofrep/v1/evaluate/flags/toy": `{"context": {"targetingKey": "a"}}`,
			"GET " + toyPath + "/policy": "",
		} {
			method, path, _ := strings.Cut(path, " ")
			status, b := w.do(method, path, body)
			if status != 404 || !strings.Contains(string(b), "can be restored until "+until) {
				t.Errorf("%s %s: status %d: %s, want 404 with %s", method, path, status, b, sentence)
			}
		}
		f := w.post("/v1/feedback", item{Token: later[0].Token, Metrics: map[string]float64{"x": 1, "y": 1}})
		if f.Rejected != 1 || !strings.Contains(f.Items[0].Error, "can be restored until "+until) {
			t.Errorf("feedback: %+v", f)
		}
		status, b := w.do("PUT", toyPath, toy, "Content-Type", "application/yaml")
		if status != 409 || !strings.Contains(string(b), "restore it, delete it for good, or take another name") {
			t.Errorf("another definition of the name: status %d: %s", status, b)
		}
		w.get(409, nil, "DELETE", toyPath, "")
		var list struct{ Experiments []api.Summary }
		w.get(200, &list, "GET", "/v1/experiments", "")
		if len(list.Experiments) != 0 {
			t.Errorf("%+v", list)
		}
		w.get(200, &list, "GET", "/v1/experiments?deleted=true", "")
		if len(list.Experiments) != 1 || list.Experiments[0].Name != "toy" || list.Experiments[0].Deleted == nil ||
			list.Experiments[0].Deleted.Reason != "by mistake" ||
			list.Experiments[0].Deleted.Until.Format(time.RFC3339) != until {
			t.Errorf("%+v", list)
		}
		if restart {
			w.restart()
		}
		var summary api.Summary
		w.get(200, &summary, "POST", toyPath+"/restore", `{"reason": "it was"}`)
		if summary.State != policy.Running || summary.Version != before.Version {
			t.Errorf("%+v", summary)
		}
		var again any
		w.get(200, &again, "GET", toyPath, "")
		after := w.report("toy")
		if restart { // a process counts what it has refused
			before.Health, after.Health = api.Health{}, api.Health{}
		}
		if !reflect.DeepEqual(again, definition) || !reflect.DeepEqual(after, before) {
			t.Errorf("restart %v: it came back as\n%+v, want\n%+v", restart, after, before)
		}
		if got := w.decide("toy", unitNames("v", 50)...); !sameDecisions(got, decided) {
			t.Errorf("restart %v: the decisions are others", restart)
		}
		var said []item
		for _, d := range later {
			said = append(said, item{Token: d.Token, Metrics: map[string]float64{"x": 1, "y": 1}})
		}
		if f := w.post("/v1/feedback", said...); f.Accepted != len(later) {
			t.Errorf("feedback after the restoration: %d of %d are accepted: %+v", f.Accepted, len(later), f.Items[0])
		}
		w.get(409, nil, "POST", toyPath+"/restore", "")
		var trail api.Audit
		w.get(200, &trail, "GET", "/v1/audit?experiment=toy", "")
		if len(trail.Entries) != 3 || trail.Entries[0].Action != "restore" || trail.Entries[0].Reason != "it was" ||
			trail.Entries[1].Action != "delete" || trail.Entries[1].Reason != "by mistake" {
			t.Errorf("%+v", trail.Entries)
		}
		r, err := w.server.live.Revisions(t.Context(), "toy", 10)
		if err != nil || len(r) != 1 {
			t.Errorf("%d earlier definitions, %v", len(r), err)
		}
	}
}

// sameDecisions reports whether decisions have the same arms and propensities.
func sameDecisions(a, b []decision) bool {
	same := len(a) == len(b)
	for i := range a {
		same = same && a[i].Arm == b[i].Arm && a[i].Propensity == b[i].Propensity && a[i].Version == b[i].Version
	}
	return same
}

// TestGraceEnds: after the grace time an experiment is deleted for good, and so it is at once with
// now; its name may be used again, with higher versions.
func TestGraceEnds(t *testing.T) {
	w, _ := graced(t)
	version := w.report("toy").Version
	w.get(204, nil, "DELETE", toyPath, "")
	w.wait(7*24*time.Hour - time.Second)
	w.server.Tick()
	w.get(200, nil, "POST", toyPath+"/restore", "")
	w.get(204, nil, "DELETE", toyPath, "")
	w.wait(7 * 24 * time.Hour)
	w.server.Tick()
	status, b := w.do("POST", toyPath+"/restore", "")
	if status != 404 || strings.Contains(string(b), "can be restored") {
		t.Errorf("status %d: %s", status, b)
	}
	w.apply(toy)
	if v := w.report("toy").Version; v <= version {
		t.Errorf("the new experiment begins at version %d, want above %d", v, version)
	}
	for _, first := range []string{"", `{"now": true}`} {
		w.get(204, nil, "DELETE", toyPath, first)
		if first == "" { // kept, and then deleted for good
			w.get(204, nil, "DELETE", toyPath, `{"now": true}`)
		}
		w.get(404, nil, "POST", toyPath+"/restore", "")
		w.apply(toy)
	}
	if rows, _ := w.server.live.state.OpenBytes("toy"); rows != 0 {
		t.Errorf("%d bytes are in use", rows)
	}
}

// TestDeletedInScope: who is limited to other experiments learns nothing of a deleted one, and who
// is limited to its project may restore it.
func TestDeletedInScope(t *testing.T) {
	w := scoped(t)
	w.server.config.DeleteGrace = time.Hour
	for _, name := range []string{"secret", "blog", "cart"} {
		w.as("boss")
		w.get(204, nil, "DELETE", "/v1/experiments/"+name, `{"reason": "over"}`)
	}
	for _, rt := range w.server.router.all {
		if !strings.Contains(rt.Pattern, "{name}") || rt.Scoped || rt.Role == access.Anyone {
			continue
		}
		w.as("shop")
		path := strings.NewReplacer("{name}", "secret").Replace(rt.Pattern)
		status, b := w.do(rt.Method, path, "")
		if status != http.StatusForbidden || strings.Contains(string(b), "deleted") {
			t.Errorf("%s %s: status %d: %s", rt.Method, path, status, b)
		}
	}
	_, b := w.do("GET", "/v1/experiments?deleted=true", "")
	if text := string(b); !strings.Contains(text, `"cart"`) || strings.Contains(text, "secret") ||
		strings.Contains(text, "blog") {
		t.Errorf("%s", text)
	}
	w.get(200, nil, "GET", "/v1/audit?experiment=cart", "")
	_, b = w.do("GET", "/v1/audit", "")
	if text := string(b); !strings.Contains(text, `"reason":"over"`) || strings.Contains(text, "secret") ||
		strings.Contains(text, "blog") {
		t.Errorf("%s", text)
	}
	w.get(200, nil, "POST", "/v1/experiments/cart/restore", "")
}

// TestDeletedPrivate: a deletion within its grace time neither releases nor closes anything, and
// restoring an experiment, or making another one of its name, gives no new budget.
func TestDeletedPrivate(t *testing.T) {
	w := privateServer(t, func(c *Config) { c.DeleteGrace = 24 * time.Hour })
	one := func(int) map[string]float64 { return map[string]float64{"buy": 1} }
	w.privateRound(unitNames("u", 40), one)
	w.matured()
	account := func() (spent float64, steps int64, state dp.RunState) {
		t.Helper()
		spent, err := w.server.writer.privacy.ledger.Spent("secret", 1e-6)
		if err != nil {
			t.Fatal(err)
		}
		_, runs, err := w.server.writer.privacy.ledger.Account("secret")
		if err != nil || len(runs) != 1 {
			t.Fatalf("%d runs, %v", len(runs), err)
		}
		return spent, runs[0].Steps, runs[0].State
	}
	spent, steps, state := account()
	if steps == 0 {
		t.Fatal("nothing was released")
	}
	before := w.report("secret")
	w.get(204, nil, "DELETE", "/v1/experiments/secret", "")
	w.matured()
	w.restart()
	w.matured()
	if s, n, v := account(); s != spent || n != steps || v != state {
		t.Errorf("after the deletion %v were spent in %d releases (%s), want %v in %d (%s)", s, n, v, spent, steps,
			state)
	}
	saved, err := w.server.live.state.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	// This keeps snapshots from being given away.
	if name, err := privateIn(saved); name != "secret" || err != nil {
		t.Errorf("the state counts as one without raw feedback: %q, %v", name, err)
	}
	w.get(200, nil, "POST", "/v1/experiments/secret/restore", "")
	if after := w.report("secret"); !reflect.DeepEqual(after.Arms, before.Arms) || after.Version != before.Version {
		t.Errorf("%+v, want %+v", after.Arms, before.Arms)
	}
	w.privateRound(unitNames("v", 40), one)
	w.matured()
	if _, n, v := account(); n <= steps || v != state {
		t.Errorf("%d releases (%s): want more than %d", n, v, steps)
	}
	w.get(204, nil, "DELETE", "/v1/experiments/secret", "")
	w.wait(25 * time.Hour)
	w.server.Tick()
	w.server.Tick()
	status, b := w.do("PUT", "/v1/experiments/secret", privateToy, "Content-Type", "application/yaml")
	if status != 409 {
		t.Errorf("another private experiment of the name: status %d: %s", status, b)
	}
}
