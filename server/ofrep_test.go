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
	w.get(200, nil, "POST", "/ofrep/v1/evaluate/flags?exposure=immediate", `{"context": {"targetingKey": "ann"}}`)
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

// TestBulkSelects checks that a bulk evaluation keeps to its flag set and exposes nobody unless it
// is asked to. Before, it evaluated all flags, and the unit that loaded a page had seen each of
// them.
func TestBulkSelects(t *testing.T) {
	w := newWorld(t)
	for name, project := range map[string]string{"cart": "shop", "news": "blog", "price": "shop"} {
		w.apply(fmt.Sprintf("name: %s\nproject: %s\narms: [{name: a, value: 1}]\nmetrics: [{name: x}]\n"+
			"policy: {kind: fixed, split: {a: 1}}\nexposure: immediate", name, project))
	}
	w.apply(toy) // of no project
	const body = `{"context": {"targetingKey": "ann"}}`
	tags := map[string]string{}
	for _, c := range []struct {
		query, header, value, want string
		exposed                    int64
	}{
		{"", "", "", "cart news price toy", 0},
		{"?exposure=none", "", "", "cart news price toy", 0},
		{"?flagSet=shop", "", "", "cart price", 0},
		{"", "Flagd-Selector", "flagSetId=shop", "cart price", 0},
		{"?flagSet=none", "", "", "", 0},
		{"?flagSet=shop&exposure=immediate", "", "", "cart price", 1},
		{"?flagSet=shop", "Noregret-Exposure", "immediate", "cart price", 2},
	} {
		var out struct{ Flags []flag }
		r, err := http.NewRequest("POST", w.http.URL+"/ofrep/v1/evaluate/flags"+c.query, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		if c.header != "" {
			r.Header.Set(c.header, c.value)
		}
		resp, b := w.send(r)
		if err := json.Unmarshal(b, &out); err != nil || resp.StatusCode != 200 {
			t.Fatalf("%+v: status %d: %s", c, resp.StatusCode, b)
		}
		var names []string
		for _, f := range out.Flags {
			names = append(names, f.Key)
		}
		got := strings.Join(names, " ")
		tag := resp.Header.Get("ETag")
		key := fmt.Sprint(got, " ", c.exposed > 0)
		if got != c.want || tags[key] != "" && tags[key] != tag {
			t.Errorf("%+v: %s with the tag %s, earlier %s", c, got, tag, tags[key])
		}
		tags[key] = tag
		for name, want := range map[string]int64{"cart": c.exposed, "price": c.exposed, "news": 0} {
			report, err := w.server.Report(name)
			if err != nil || min(want, 1) != min(report.Arms["a"].N, 1) {
				t.Errorf("%+v: %s has %d exposures, %v", c, name, report.Arms["a"].N, err)
			}
		}
	}
	if len(tags) != 4 {
		t.Errorf("selections share tags: %v", tags)
	}
	for query, want := range map[string]string{
		"?flagSet=A": `flagSet: \"A\": want the name of a project`, "?exposure=later": "want none or immediate",
	} {
		if status, b := w.do("POST", "/ofrep/v1/evaluate/flags"+query, body); status != 400 ||
			!strings.Contains(string(b), want) {
			t.Errorf("%s: status %d: %s", query, status, b)
		}
	}
	// One flag is asked for where it is shown.
	w.get(200, nil, "POST", "/ofrep/v1/evaluate/flags/news", body)
	if r, err := w.server.Report("news"); err != nil || r.Arms["a"].N != 1 {
		t.Errorf("one flag: %+v, %v", r, err)
	}
}

// TestBulkTagOfWindows: the tag of a bulk evaluation changes within half the shortest window of a
// metric, after which exposures by a cached token no longer count.
func TestBulkTagOfWindows(t *testing.T) {
	w := newWorld(t)
	w.apply("name: e\narms: [{name: a, value: 1}]\nmetrics: [{name: x, window: 1h}, {name: y}]\n" +
		"policy: {kind: fixed, split: {a: 1}}\nattribution_window: 168h")
	status, tag := 0, ""
	bulk := func() {
		t.Helper()
		r, err := http.NewRequest("POST", w.http.URL+"/ofrep/v1/evaluate/flags",
			strings.NewReader(`{"context": {"targetingKey": "ann"}}`))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("If-None-Match", tag)
		resp, _ := w.send(r)
		status, tag = resp.StatusCode, resp.Header.Get("ETag")
	}
	bulk()
	if bulk(); status != http.StatusNotModified {
		t.Errorf("at once: status %d", status)
	}
	w.wait(31 * time.Minute)
	if bulk(); status != http.StatusOK {
		t.Errorf("after half of the shortest window: status %d", status)
	}
	var p struct {
		Window   string `json:"attribution_window"`
		Shortest string `json:"exposure_window"`
	}
	w.get(200, &p, "GET", "/v1/experiments/e/policy", "")
	if p.Window != "168h0m0s" || p.Shortest != "1h0m0s" {
		t.Errorf("the policy has the windows %+v", p)
	}
}
