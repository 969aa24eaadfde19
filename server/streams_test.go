package server

import (
	"net/http"
	"runtime"
	"strings"
	"testing"

	"github.com/noregret/noregret/server/internal/web"
)

// TestStreamLimit checks that a stream beyond the limit of its class is refused, and that it is
// accepted once another has ended. Other classes, and requests for a policy that do not wait, do
// not count.
func TestStreamLimit(t *testing.T) {
	w := newWorld(t, func(c *Config) { c.MaxStreams = 1 })
	w.apply(toy)
	refused := func(path, detail string, header ...string) {
		t.Helper()
		if status, b := w.do("GET", path, "", header...); status != http.StatusServiceUnavailable ||
			!strings.Contains(string(b), detail) {
			t.Errorf("%s: status %d: %s", path, status, b)
		}
	}
	const wait = "/v1/experiments/toy/policy?wait=1m"
	tag := `"` + w.server.Policy("toy").Digest + `"`
	polled := make(chan *http.Response, 1)
	go func() {
		defer close(polled)
		r, err := http.NewRequest("GET", w.http.URL+wait, nil)
		if err != nil {
			t.Error(err)
			return
		}
		r.Header.Set("If-None-Match", tag)
		resp, err := http.DefaultTransport.RoundTrip(r)
		if err != nil {
			t.Error(err)
			return
		}
		_ = resp.Body.Close()
		polled <- resp
	}()
	for w.server.streams.open[web.Polls].Load() == 0 {
		runtime.Gosched() // until the service has begun the long poll
	}
	refused(wait, "1 long polls are open, which is the limit", "If-None-Match", tag)
	w.get(200, nil, "GET", wait, "") // this request need not wait
	w.get(200, nil, "GET", "/v1/experiments/toy/policy", "")
	w.get(304, nil, "GET", "/v1/experiments/toy/policy", "", "If-None-Match", tag)
	w.get(200, nil, "GET", "/v1/export", "")
	w.events("/experiments/toy/live", 1, func() {
		refused("/live", "1 dashboards are open, which is the limit")
		w.get(200, nil, "GET", "/v1/export", "")
		w.get(200, nil, "GET", "/v1/experiments/toy/report", "")
	})
	for w.server.streams.open[web.Dashboards].Load() > 0 {
		runtime.Gosched() // until the service has seen that the stream's client is gone
	}
	w.events("/live", 1)
	w.get(200, nil, "POST", "/v1/experiments/toy/rollback", "")
	if resp := <-polled; resp == nil || resp.StatusCode != 200 {
		t.Errorf("the long poll ended with %+v", resp)
	}
	for w.server.streams.open[web.Polls].Load() > 0 {
		runtime.Gosched()
	}
	w.server.streams.open[web.Exports].Store(1)
	refused("/v1/export", "1 exports are open, which is the limit")
	w.server.streams.open[web.Exports].Store(0)
	w.get(200, nil, "GET", "/v1/export", "")
}
