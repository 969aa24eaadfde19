package server

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

// TestProfiles: the profiles are on their own port, for requests to this machine's names only, and
// the service itself has none.
func TestProfiles(t *testing.T) {
	noLeaks(t)
	defer http.DefaultClient.CloseIdleConnections()
	p, err := OpenProfiles("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	get := func(path, host string) (int, string) {
		t.Helper()
		r, err := http.NewRequest("GET", "http://"+p.Address().String()+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Host = host
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = resp.Body.Close() }()
		b, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return resp.StatusCode, string(b)
	}
	status, body := get("/debug/pprof/goroutine?debug=1", "")
	if status != 200 || !strings.Contains(body, "TestProfiles") {
		t.Errorf("status %d: %.200s", status, body)
	}
	if status, _ := get("/debug/pprof/goroutine", "evil.example"); status != http.StatusMisdirectedRequest {
		t.Errorf("for another host: status %d", status)
	}
	if status, _ := get("/", ""); status != 404 {
		t.Errorf("elsewhere: status %d", status)
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	w := newWorld(t)
	if status, _ := w.do("GET", "/debug/pprof/", ""); status != 404 {
		t.Errorf("in the service: status %d", status)
	}
	for _, address := range []string{"0.0.0.0:0", ":6060", "192.0.2.1:6060", "host:6060"} {
		if _, err := OpenProfiles(address); err == nil || !strings.Contains(err.Error(), "want a loopback address") {
			t.Errorf("%s: %v", address, err)
		}
	}
}
