package server

import (
	"bytes"
	"net/http"
	"strings"
	"testing"

	"github.com/noregret/noregret/api"
	"github.com/noregret/noregret/policy"
)

// TestDecideTakesNoLock checks that decisions are answered while the state is locked and the writer
// is blocked.
func TestDecideTakesNoLock(t *testing.T) {
	w := newWorld(t)
	w.apply(toy)
	w.server.live.mu.Lock()
	ds := w.decide("toy", "a", "b")
	w.get(200, nil, "POST", "/ofrep/v1/evaluate/flags/toy", `{"context": {"targetingKey": "a"}}`)
	w.server.live.mu.Unlock()
	if len(ds) != 2 {
		t.Error(ds)
	}
	last := w.server.log.Stats().Last
	w.decide("toy", "c")
	if got := w.server.log.Stats().Last; got != last {
		t.Errorf("deciding wrote to the log: %d events, %d before", got, last)
	}
}

// TestImmediateExposure checks that with the option, a unit's exposure is durable as soon as the
// unit has a decision.
func TestImmediateExposure(t *testing.T) {
	w := newWorld(t)
	w.apply(strings.Replace(toy, "hold_back: 0.1", "exposure: immediate", 1))
	w.decide("toy", "a", "b", "a")
	w.get(200, nil, "POST", "/ofrep/v1/evaluate/flags/toy", `{"context": {"targetingKey": "c"}}`)
	r, err := w.server.Report("toy")
	if err != nil {
		t.Fatal(err)
	}
	if r.Health.Exposures != (api.Counts{Accepted: 3, Duplicate: 1}) {
		t.Errorf("%+v", r.Health.Exposures)
	}
}

// TestLongPoll checks that a client that has the current policy waits until it changes.
func TestLongPoll(t *testing.T) {
	w := newWorld(t)
	w.apply(toy)
	get := func(tag, wait string) (*http.Response, *policy.Policy) {
		r, err := http.NewRequest("GET", w.http.URL+"/v1/experiments/toy/policy?wait="+wait, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("If-None-Match", tag)
		resp, err := http.DefaultTransport.RoundTrip(r)
		if err != nil {
			t.Error(err)
			return nil, nil
		}
		defer func() { _ = resp.Body.Close() }()
		var b bytes.Buffer
		_, _ = b.ReadFrom(resp.Body)
		if resp.StatusCode != 200 {
			return resp, nil
		}
		p, err := policy.Parse(b.Bytes())
		if err != nil {
			t.Error(err)
		}
		return resp, p
	}
	first, p := get("", "0s")
	tag := first.Header.Get("ETag")
	for i, d := range w.decide("toy", "a", "b", "c", "d") {
		if got := p.Decide([]string{"a", "b", "c", "d"}[i]); got.Name != d.Arm || got.Propensity != d.Propensity {
			t.Errorf("the client decides %+v, the server %+v", got, d)
		}
	}
	if r, _ := get(tag, "0s"); r.StatusCode != http.StatusNotModified {
		t.Errorf("status %d", r.StatusCode)
	}
	if r, _ := get(tag, "5ms"); r.StatusCode != http.StatusNotModified || r.Header.Get("ETag") != tag {
		t.Errorf("status %d", r.StatusCode)
	}
	done := make(chan *policy.Policy)
	go func() {
		_, p := get(tag, "1m")
		done <- p
	}()
	w.get(200, nil, "POST", "/v1/experiments/toy/rollback", "")
	if p := <-done; p == nil || p.Version != 2 || p.State != policy.RolledBack {
		t.Errorf("%+v", p)
	}
	w.get(400, nil, "GET", "/v1/experiments/toy/policy?wait=2h", "")
	w.get(404, nil, "GET", "/v1/experiments/none/policy", "")
	go func() {
		r, _ := get(w.server.policies.get("toy").policy.Digest, "0s")
		_ = r
		_, p := get(`"`+w.server.policies.get("toy").policy.Digest+`"`, "1m")
		done <- p
	}()
	w.server.Drain() // ends the poll
	if p := <-done; p != nil {
		t.Errorf("an ended poll got %+v", p)
	}
	w.get(503, nil, "GET", "/readyz", "")
	w.get(200, nil, "GET", "/livez", "")
}
