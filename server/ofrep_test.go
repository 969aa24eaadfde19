package server

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"
)

func TestOFREP(t *testing.T) {
	w := newWorld(t)
	w.apply(toy)
	w.apply(strings.NewReplacer("name: toy", "name: other", "{boost: 1}", "true").Replace(toy))
	var f flag
	w.get(200, &f, "POST", "/ofrep/v1/evaluate/flags/toy", `{"context": {"targetingKey": "ann", "country": "de"}}`)
	d := w.decide("toy", "ann")[0]
	if f.Key != "toy" || f.Reason != "SPLIT" || f.Variant != d.Arm || string(f.Value) != string(d.Value) ||
		f.Metadata.DecisionID != d.Token ||
		f.Metadata.Propensity != d.Propensity || f.Metadata.PolicyVersion != d.Version {
		t.Errorf("%+v, decided %+v", f, d)
	}
	if got := w.post("/v1/feedback", item{f.Metadata.DecisionID, map[string]float64{"x": 1}}); got.Accepted != 1 {
		t.Errorf("the decisionId is not a token for feedback: %+v", got)
	}
	for body, want := range map[string]string{
		`{}`:                                "TARGETING_KEY_MISSING",
		`{"context": {}}`:                   "TARGETING_KEY_MISSING",
		`{"context": {"targetingKey": ""}}`: "TARGETING_KEY_MISSING",
		`{"context": {"targetingKey": 7}}`:  "INVALID_CONTEXT",
		`{"context": 7}`:                    "PARSE_ERROR",
		`{`:                                 "PARSE_ERROR",
		`{"context": {"targetingKey": "` + strings.Repeat("x", 600) + `"}}`: "INVALID_CONTEXT",
	} {
		var e flagFailure
		w.get(400, &e, "POST", "/ofrep/v1/evaluate/flags/toy", body)
		if e.ErrorCode != want || e.Key != "toy" {
			t.Errorf("%s: %+v, want %s", body, e, want)
		}
		w.get(400, &e, "POST", "/ofrep/v1/evaluate/flags", body)
	}
	var e flagFailure
	w.get(404, &e, "POST", "/ofrep/v1/evaluate/flags/none", `{"context": {"targetingKey": "ann"}}`)
	if e.ErrorCode != "FLAG_NOT_FOUND" || e.Key != "none" {
		t.Errorf("%+v", e)
	}
	bulk := func(unit, tag string) (int, string, []flag) {
		r, err := http.NewRequest("POST", w.http.URL+"/ofrep/v1/evaluate/flags",
			strings.NewReader(`{"context": {"targetingKey": "`+unit+`"}}`))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("If-None-Match", tag)
		resp, err := http.DefaultTransport.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = resp.Body.Close() }()
		var out struct{ Flags []flag }
		if resp.StatusCode == 200 {
			if err := json.NewDecoder(resp.Body).Decode(&out); err != nil {
				t.Fatal(err)
			}
		}
		return resp.StatusCode, resp.Header.Get("ETag"), out.Flags
	}
	status, tag, flags := bulk("ann", "")
	if status != 200 || tag == "" || len(flags) != 2 || flags[0].Key != "other" || flags[1].Key != "toy" ||
		len(flags[0].Value) == 0 {
		t.Fatalf("%d %s %+v", status, tag, flags)
	}
	if status, again, _ := bulk("ann", tag); status != 304 || again != tag {
		t.Errorf("%d %s", status, again)
	}
	if status, _, _ := bulk("bob", tag); status != 200 {
		t.Errorf("another unit's tag: %d", status)
	}
	w.wait(5 * time.Minute) // half a window: cached tokens must not expire
	if status, _, _ := bulk("ann", tag); status != 200 {
		t.Errorf("after half a window: %d", status)
	}
	_, tag, _ = bulk("ann", "")
	w.get(200, nil, "POST", "/v1/experiments/toy/rollback", "")
	if status, _, flags := bulk("ann", tag); status != 200 || flags[1].Variant != "control" {
		t.Errorf("after a rollback: %d %+v", status, flags)
	}
}

// TestBulkIsOneFlush checks that the immediate exposures of all flags of a bulk evaluation are one
// write to the log, with an event for each experiment.
func TestBulkIsOneFlush(t *testing.T) {
	w := newWorld(t)
	const many = 12
	for i := range many {
		w.apply(fmt.Sprintf("name: e%d\narms: [{name: a, value: 1}]\nmetrics: [{name: x}]\npolicy: {kind: fixed, "+
			"split: {a: 1}}\nexposure: immediate", i))
	}
	before := w.server.log.Stats()
	w.get(200, nil, "POST", "/ofrep/v1/evaluate/flags", `{"context": {"targetingKey": "ann"}}`)
	after := w.server.log.Stats()
	if after.Events-before.Events != many || after.Groups-before.Groups != 1 {
		t.Errorf("%d events in %d flushes, want %d in 1", after.Events-before.Events, after.Groups-before.Groups, many)
	}
	for i := range many {
		r, err := w.server.Report(fmt.Sprint("e", i))
		if err != nil || r.Arms["a"].N != 1 {
			t.Errorf("e%d: %+v, %v", i, r, err)
		}
	}
}
