package server

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/noregret/noregret/api"
	"github.com/noregret/noregret/experiment"
)

// node returns what a node tells of itself.
func (m *member) node() (out api.Node) {
	m.t.Helper()
	m.get(200, &out, "GET", "/v1/node", "")
	return out
}

// ready reports whether a node is ready.
func (m *member) ready() bool {
	m.t.Helper()
	status, _ := m.do("GET", "/readyz", "")
	return status == http.StatusOK
}

// TestNodeAge cuts a node off: it is ready for the grace time and then not, serves the policy that
// it has, and is ready again once it has what it missed.
func TestNodeAge(t *testing.T) {
	c := newCluster(t, 3)
	leader, cut := c.look(), c.nodes[2]
	leader.apply(toy)
	c.agree()
	c.look()
	if n := leader.node(); n.Role != "leads" || n.Term != 1 || n.Leader != leader.http.URL || n.Address != n.Leader ||
		n.Age != 0 || n.Position != n.End {
		t.Errorf("%+v", n)
	}
	if n := cut.node(); n.Role != "follows" || n.Term != 1 || n.Leader != leader.http.URL || n.Address != cut.http.URL {
		t.Errorf("%+v", n)
	}
	cut.log.Cut(true)
	before := cut.node()
	for _, d := range leader.decide("toy", units("a", 5)...) {
		leader.feedback(d)
	}
	c.clock.wait(time.Second)
	c.look() // the lease still answers, and says that the log goes on
	if n := cut.node(); n.Position != before.Position || n.End != before.Position+5 || n.Age != 1 || !cut.ready() {
		t.Errorf("%+v after a second", n)
	}
	c.clock.wait(30 * time.Second)
	c.look()
	if n := cut.node(); n.Age != 31 || cut.ready() || len(cut.decide("toy", "any")) != 1 {
		t.Errorf("%+v, ready: %v", n, cut.ready())
	}
	_, metrics := cut.do("GET", "/metrics", "")
	for _, line := range []string{
		"noregret_node_leads 0\n", "noregret_node_term 2\n", "noregret_node_age_seconds 31\n",
		"noregret_node_lag_events 5\n",
	} {
		if !strings.Contains(string(metrics), line) {
			t.Errorf("the metrics lack %s", line)
		}
	}
	cut.log.Cut(false)
	c.agree()
	if n := cut.node(); n.Age != 30 { // what it had to reach was the end 30 seconds ago
		t.Errorf("%+v after it has caught up", n)
	}
	c.look()
	if n := cut.node(); n.Age != 0 || !cut.ready() {
		t.Errorf("%+v after another look", n)
	}
	// Without the lease nobody knows the end of the log.
	cut.lease.Cut(true)
	c.clock.wait(31 * time.Second)
	c.look()
	if cut.ready() || cut.node().Leader != "" {
		t.Errorf("%+v without the lease", cut.node())
	}
	status, b := cut.do("POST", "/v1/feedback", feedbackFor(cut.decide("toy", "any")[0]))
	if status != http.StatusServiceUnavailable || !strings.Contains(string(b), "no node is known to lead") {
		t.Errorf("%d %s", status, b)
	}
	if status, _ := cut.do("GET", "/readyz/writes", ""); status != http.StatusServiceUnavailable {
		t.Errorf("ready for writes: %d", status)
	}
}

// TestNodeBehindClock refuses to lead with a clock that is more than two seconds behind the last
// event, and bounds the time of events by it otherwise.
func TestNodeBehindClock(t *testing.T) {
	var back atomic.Int64
	c := newCluster(t, 2)
	first, second := c.nodes[0], c.nodes[1]
	first.apply(toy)
	c.agree()
	now := c.now
	c.kill(second)
	c.change = func(o *Config) { o.Now = func() time.Time { return now().Add(-time.Duration(back.Load())) } }
	c.start(second)
	c.clock.wait(time.Hour)
	first.post("/v1/exposures", item{Token: first.decide("toy", "a")[0].Token})
	c.agree()
	c.kill(first)
	c.clock.wait(clusterLasts)
	back.Store(int64(5 * time.Second)) // 3 before the last event
	second.server.node.look()
	if second.server.writer.leads.Load() || !strings.Contains(second.logs.String(), "the last event is ahead of this "+
		"node's clock, by 3s: want at most 2s") {
		t.Errorf("it leads, or its log does not say why not: %s", second.logs)
	}
	back.Store(int64(3 * time.Second))
	c.clock.wait(0)
	second.server.node.wait = time.Time{}
	if c.look() != second {
		t.Fatal("it does not lead")
	}
	before := second.server.live.state.Time()
	second.post("/v1/exposures", item{Token: second.decide("toy", "b")[0].Token})
	for r, err := range second.log.Read(t.Context(), second.server.live.position()-1) {
		if err != nil || r.Time < before {
			t.Errorf("%s at %d, %d before the last event, %v", r.Kind, r.Time, before-r.Time, err)
		}
	}
}

// TestNodeCompacted ends a node that follows a log whose next events are gone: it begins anew with
// a snapshot.
func TestNodeCompacted(t *testing.T) {
	c := newCluster(t, 2)
	leader, cut := c.look(), c.nodes[1]
	leader.apply(toy)
	c.agree()
	cut.log.Cut(true)
	for _, d := range leader.decide("toy", units("a", 5)...) {
		leader.feedback(d)
	}
	frozen, err := leader.server.live.state.Freeze()
	if err != nil {
		t.Fatal(err)
	}
	if err := leader.server.writer.snapshots.save(frozen); err != nil {
		t.Fatal(err)
	}
	if err := leader.log.Compact(t.Context(), frozen.Position()); err != nil {
		t.Fatal(err)
	}
	cut.log.Cut(false)
	<-cut.server.node.tail.ended
	if err := cut.server.writer.recovery.end(); err == nil || !strings.Contains(err.Error(), "compacted") {
		t.Errorf("the process goes on: %v", err)
	}
	c.kill(cut)
	c.start(cut)
	c.look()
	c.agree()
	if n := cut.accepted(); n != 5 {
		t.Errorf("%d of 5 values after the restart", n)
	}
}

// TestPassedOn checks who may pass requests on, that none is passed on twice, and that the audit
// trail has the client and not the node.
func TestPassedOn(t *testing.T) {
	tokens := filepath.Join(t.TempDir(), "tokens.yaml")
	const text = "tokens:\n- {name: admin, token: admin-token-1234567, roles: [admin]}\n" +
		"- {name: reader, token: reader-token-123456, roles: [read]}\n"
	if err := os.WriteFile(tokens, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	c := newCluster(t, 2, func(o *Config) { o.Tokens = tokens })
	leader, other := c.look(), c.nodes[1]
	leader.token, other.token = "admin-token-1234567", "admin-token-1234567"
	other.apply(toy)
	c.agree()
	var trail api.Audit
	leader.get(200, &trail, "GET", "/v1/audit", "")
	if e := trail.Entries[0]; e.Who != "admin" || e.From != "127.0.0.1" || e.Action != experiment.KindDefinition {
		t.Errorf("%+v", e)
	}
	status, b := other.do("POST", "/v1/experiments/toy/pause", "", "Authorization", "Bearer reader-token-123456")
	if status != http.StatusForbidden {
		t.Errorf("a token without the role: %d %s", status, b)
	}
	const path = "/v1/experiments/toy/resume"
	proves := func(to *member, principal string, d time.Duration) string {
		r, err := http.NewRequest("POST", to.http.URL+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set(principalHeader, principal)
		return proof(other.server.node.signer, to.http.URL, r, c.now().Add(d).Unix())
	}
	zeros := strings.Repeat("00", 32)
	for _, h := range []struct {
		to     *member
		path   string
		header []string
		status int
		want   string
	}{
		{leader, path, []string{nodeHeader, "1.00"}, 403, "not made with the keys of this node"},
		{other, path, []string{nodeHeader, proves(other, "", 0)}, 503, "this node does not lead"},
		{leader, path, []string{nodeHeader, proves(leader, "", 0)}, 409, "already running"},
		{leader, path, []string{nodeHeader, proves(leader, zeros, 0), principalHeader, zeros}, 401, "access token"},
		// What was seen on its way is of no use for anything else.
		{leader, path, []string{nodeHeader, proves(other, "", 0)}, 403, "for this request to " + leader.http.URL},
		{leader, path, []string{nodeHeader, proves(leader, "", 0), principalHeader, zeros}, 403, "this request"},
		{leader, path, []string{nodeHeader, proves(leader, "", 0), clientHeader, "10.0.0.1"}, 403, "this request"},
		{leader, "/v1/experiments/toy/pause", []string{nodeHeader, proves(leader, "", 0)}, 403, "this request"},
		{leader, path, []string{nodeHeader, proves(leader, "", -2*time.Minute)}, 403, "and now"},
	} {
		status, b := h.to.do("POST", h.path, "", h.header...)
		if status != h.status || !strings.Contains(string(b), h.want) {
			t.Errorf("%s %q: %d %s, want %d", h.path, h.header, status, b, h.status)
		}
	}
	r, err := http.NewRequest("POST", leader.http.URL+"/v1/experiments/toy/pause", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer admin-token-1234567")
	if resp, _ := leader.send(r); resp.Header.Get(positionHeader) != "" {
		t.Error("a client reads a position")
	}
	r, err = http.NewRequest("POST", other.http.URL+"/v1/experiments/toy/resume", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer admin-token-1234567")
	if resp, _ := other.send(r); resp.StatusCode != 200 || resp.Header.Get(positionHeader) != "" ||
		len(resp.Header.Values("X-Request-Id")) != 1 || len(resp.Header.Values("X-Content-Type-Options")) != 1 {
		t.Errorf("%d, %v", resp.StatusCode, resp.Header)
	}
}

// roundTripper is a function that sends requests.
type roundTripper func(r *http.Request) (*http.Response, error)

// RoundTrip implements [http.RoundTripper].
func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// TestPassesNoSecrets checks what a node passes on: to a node with the same keys only, and without
// what clients show of themselves.
func TestPassesNoSecrets(t *testing.T) {
	var seen atomic.Pointer[http.Header]
	inner := nodeTransport(nil)
	c := newCluster(t, 2, func(o *Config) {
		o.Cluster.Transport = roundTripper(func(r *http.Request) (*http.Response, error) {
			h := r.Header.Clone()
			seen.Store(&h)
			return inner.RoundTrip(r)
		})
	})
	t.Cleanup(inner.CloseIdleConnections)
	leader, other := c.look(), c.nodes[1]
	leader.apply(toy)
	c.agree()
	secrets := []string{
		"Authorization", "Bearer secret", "X-API-Key", "secret", "Ocp-Apim-Subscription-Key", "secret", "Cookie",
		"noregret_session=secret",
	}
	body := feedbackFor(other.decide("toy", "a")[0])
	if status, b := other.do("POST", "/v1/feedback", body, secrets...); status != 200 || seen.Load() == nil {
		t.Fatalf("%d %s", status, b)
	}
	for name, values := range *seen.Load() {
		if strings.Contains(strings.Join(values, " "), "secret") {
			t.Errorf("%s is passed on", name)
		}
	}
	// Somebody who can write the lease names a host of his.
	seen.Store(nil)
	c.clock.wait(clusterLasts)
	if _, err := c.leases.Lease().Hold(t.Context(), leader.http.URL+"#7"); err != nil {
		t.Fatal(err)
	}
	other.server.node.look()
	status, b := other.do("POST", "/v1/feedback", feedbackFor(other.decide("toy", "b")[0]))
	if status != http.StatusServiceUnavailable || !strings.Contains(string(b), "no node is known to lead") ||
		seen.Load() != nil || !strings.Contains(other.logs.String(), "has other keys, or is no node") {
		t.Errorf("%d %s, passed on: %v", status, b, seen.Load())
	}
	if n := other.node(); n.Leader != "" || n.End != n.Position {
		t.Errorf("%+v", n)
	}
}
