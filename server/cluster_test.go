package server

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/noregret/noregret/api"
	"github.com/noregret/noregret/eventlog"
	"github.com/noregret/noregret/eventlog/memlog"
	"github.com/noregret/noregret/policy"
)

// cluster is some nodes on one log, with one clock. They look at the lease when the test says so.
type cluster struct {
	t       *testing.T
	storage *memlog.Storage
	leases  *memlog.Leases
	clock   *world // whose time is that of all
	nodes   []*member
	change  func(c *Config)
}

// member is a node of a cluster.
type member struct {
	*world
	lease *lyingLease
	log   *memlog.Log
	up    bool
}

// lyingLease is a lease that says, if it lies, that its process holds it.
type lyingLease struct {
	*memlog.Lease
	lies atomic.Bool
	term atomic.Uint64 // that of the last time that it held it
}

// Hold implements [eventlog.Lease].
func (l *lyingLease) Hold(ctx context.Context, holder string) (eventlog.Tenure, error) {
	if l.lies.Load() {
		return eventlog.Tenure{Term: l.term.Load(), Holder: holder, Held: true}, nil
	}
	t, err := l.Lease.Hold(ctx, holder)
	if t.Held {
		l.term.Store(t.Term)
	}
	return t, err
}

// late is a handler that is set later.
type late struct{ atomic.Pointer[http.Handler] }

// ServeHTTP implements [http.Handler].
func (l *late) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := l.Load()
	if h == nil {
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	(*h).ServeHTTP(w, r)
}

// clusterLasts is how long a lease lasts.
const clusterLasts = 2 * time.Second

// newCluster starts some nodes. The first one leads.
func newCluster(t *testing.T, n int, change ...func(c *Config)) *cluster {
	t.Helper()
	noLeaks(t)
	return newLeakyCluster(t, n, change...)
}

func newLeakyCluster(t *testing.T, n int, change ...func(c *Config)) *cluster {
	t.Helper()
	c := &cluster{
		t: t, storage: memlog.NewStorage(), clock: &world{now: time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)},
		change: func(*Config) {},
	}
	if len(change) > 0 {
		c.change = change[0]
	}
	c.leases = memlog.NewLeases(c.now, clusterLasts)
	keys := &policy.Keys{Current: 1, Secrets: map[byte][]byte{1: bytes.Repeat([]byte{7}, 32)}}
	for range n {
		m := &member{lease: &lyingLease{Lease: c.leases.Lease()}, world: &world{t: t, logs: &lockedBuffer{}}}
		m.config = testConfig(t)
		m.config.Keys = keys
		c.nodes = append(c.nodes, m)
		c.start(m)
	}
	t.Cleanup(func() {
		for _, m := range c.nodes {
			if m.up {
				m.http.Close()
				if err := m.server.Close(); err != nil {
					t.Error(err)
				}
			}
		}
	})
	return c
}

func (c *cluster) now() time.Time {
	c.clock.mu.Lock()
	defer c.clock.mu.Unlock()
	return c.clock.now
}

// start starts a node.
func (c *cluster) start(m *member) {
	c.t.Helper()
	handler := &late{}
	m.http = httptest.NewServer(handler)
	m.config.Now = c.now
	m.config.Logger = slog.New(slog.NewTextHandler(m.logs, &slog.HandlerOptions{Level: slog.LevelDebug}))
	m.config.Log = func(o eventlog.Options) (l eventlog.Log, err error) {
		m.log, err = c.storage.Join(o)
		return m.log, err
	}
	m.config.Cluster = DefaultCluster(m.lease, m.http.URL)
	m.config.Cluster.Every, m.config.Cluster.Lasts = time.Hour, time.Hour
	c.change(&m.config)
	s, err := New(m.config)
	if err != nil {
		c.t.Fatal(err)
	}
	m.server, m.up = s, true
	h := s.Handler()
	handler.Store(&h)
}

// kill ends a node as kill -9 does: nothing more that it does reaches the log or the lease.
func (c *cluster) kill(m *member) {
	c.t.Helper()
	m.up = false
	m.lease.Cut(true)
	_ = m.log.Close() // which reports that it has failed
	m.http.Close()
	_ = m.server.Close() // which reports that the log is closed
	m.lease = &lyingLease{Lease: c.leases.Lease()}
}

// look lets the nodes look at the lease, in their order, and returns the one that leads.
func (c *cluster) look() (leader *member) {
	c.t.Helper()
	for _, m := range c.nodes {
		if m.up {
			m.server.node.look()
		}
	}
	for _, m := range c.nodes {
		if m.up && m.server.writer.leads.Load() {
			if leader != nil {
				c.t.Error("two nodes lead")
			}
			leader = m
		}
	}
	return leader
}

// succeed waits for the end of the lease and returns the node that leads then.
func (c *cluster) succeed() *member {
	c.t.Helper()
	c.clock.wait(clusterLasts)
	m := c.look()
	if m == nil {
		c.t.Fatal("no node leads")
	}
	c.look() // who looked before it led
	return m
}

// agree checks that all nodes reach the same state, once nothing is appended any more: what a node
// was about to append when the last request ended may still come.
func (c *cluster) agree() {
	c.t.Helper()
	for range 100 {
		if c.agrees() {
			return
		}
	}
	c.t.Error("the log goes on")
}

// agrees compares the states of all nodes, and reports whether the log has not gone on meanwhile.
func (c *cluster) agrees() bool {
	c.t.Helper()
	var last uint64
	for _, m := range c.nodes {
		if m.up {
			last = max(last, m.server.live.position())
		}
	}
	digest := ""
	for i, m := range c.nodes {
		if !m.up {
			continue
		}
		ctx, cancel := context.WithTimeout(c.t.Context(), 10*time.Second)
		err := m.server.node.reach(ctx, last)
		cancel()
		if err != nil {
			c.t.Fatalf("node %d is at %d of %d: %v\n%s", i, m.server.live.position(), last, err, m.logs)
		}
		s, err := m.server.State()
		if err != nil {
			c.t.Fatal(err)
		}
		if s.Position > last {
			return false
		}
		if digest == "" {
			digest = s.Digest
		}
		if s.Digest != digest {
			c.t.Errorf("node %d: position %d, digest %.8s, want %.8s", i, s.Position, s.Digest, digest)
		}
	}
	return true
}

// feedback reports an outcome of a decision to a node, and returns what has become of it, "" if the
// node could not say it.
func (m *member) feedback(d decision) api.ItemStatus {
	m.t.Helper()
	status, b := m.do("POST", "/v1/feedback", feedbackFor(d))
	var out api.FeedbackResult
	switch {
	case status == http.StatusServiceUnavailable:
		return ""
	case status != http.StatusOK || json.Unmarshal(b, &out) != nil || len(out.Items) != 1:
		m.t.Fatalf("%d %s", status, b)
	}
	return out.Items[0].Status
}

// accepted returns the number of values that a node counts.
func (m *member) accepted() int64 {
	m.t.Helper()
	var r api.Report
	m.get(200, &r, "GET", "/v1/experiments/toy/report", "")
	return r.Feedback.Accepted
}

// units returns the names of some units.
func units(name string, n int) (out []string) {
	for i := range n {
		out = append(out, fmt.Sprint(name, i))
	}
	return out
}

// TestCluster sends what appends to every node: what follows passes it on, and reads what it wrote.
func TestCluster(t *testing.T) {
	c := newCluster(t, 3)
	if c.look() != c.nodes[0] {
		t.Fatal("the first node does not lead")
	}
	c.nodes[1].apply(toy)
	for i, m := range c.nodes {
		if m.server.Policy("toy") == nil && i == 1 {
			t.Error("the node that has passed on a definition does not have it")
		}
	}
	c.agree()
	total := int64(0)
	for i, m := range c.nodes {
		for _, d := range m.decide("toy", units(fmt.Sprint("u", i, "-"), 5)...) {
			m.post("/v1/exposures", item{Token: d.Token})
			if s := m.feedback(d); s != api.Accepted {
				t.Errorf("node %d: %s", i, s)
			}
			if total++; m.accepted() != total {
				t.Errorf("node %d counts %d of %d right after it has passed it on", i, m.accepted(), total)
			}
			if s := c.nodes[(i+1)%3].feedback(d); s != api.Duplicate {
				t.Errorf("again to another node: %s", s)
			}
		}
	}
	c.agree()
	// Rounds are closed by the node that leads.
	c.clock.wait(2 * time.Minute)
	c.look()
	for _, m := range c.nodes[1:] {
		m.server.Tick()
	}
	before := c.nodes[0].server.live.position()
	c.nodes[0].server.Tick()
	if after := c.nodes[0].server.live.position(); after == before {
		t.Error("the node that leads has closed no round")
	}
	c.agree()
}

// TestClusterKill kills the node that leads, several times: another one goes on, nothing that was
// acknowledged is lost or counted twice, and who was killed catches up.
func TestClusterKill(t *testing.T) {
	c := newCluster(t, 3)
	leader := c.look()
	leader.apply(toy)
	c.agree()
	counted := int64(0)
	for round := range 4 {
		ds := leader.decide("toy", units(fmt.Sprint("k", round, "-"), 6)...)
		for i, d := range ds[:3] {
			if c.nodes[(round+i)%3].feedback(d) == api.Accepted {
				counted++
			}
		}
		c.agree()
		killed := leader
		c.kill(killed)
		for _, m := range c.nodes {
			if m.up && m.feedback(ds[3]) != "" {
				t.Error("feedback was acknowledged while the node that leads was dead")
			}
			if m.up && len(m.decide("toy", "any")) != 1 {
				t.Error("a node that follows does not decide")
			}
		}
		if leader = c.succeed(); leader == killed {
			t.Fatal("the dead leads")
		}
		for i, d := range ds {
			want := api.Duplicate
			if i >= 3 {
				counted, want = counted+1, api.Accepted
			}
			if s := leader.feedback(d); s != want {
				t.Errorf("round %d, item %d: %s, want %s", round, i, s, want)
			}
		}
		c.start(killed)
		c.look()
		c.agree()
		for i, m := range c.nodes {
			if n := m.accepted(); n != counted {
				t.Errorf("round %d: node %d counts %d, want %d", round, i, n, counted)
			}
		}
	}
}

// TestTwoLeaders lets two nodes believe that they lead: one of two appends at a position is
// refused, so each value counts once.
func TestTwoLeaders(t *testing.T) {
	c := newCluster(t, 3)
	old := c.look()
	old.apply(toy)
	c.agree()
	ds := old.decide("toy", units("t", 24)...)
	old.lease.lies.Store(true)
	c.clock.wait(clusterLasts)
	next := c.nodes[1]
	next.server.node.look()
	if !old.server.writer.leads.Load() || !next.server.writer.leads.Load() {
		t.Fatal("two nodes do not lead")
	}
	counted := int64(0)
	for i, d := range ds {
		first, second := old, next
		if i%3 == 0 {
			first, second = next, old
		}
		for _, m := range []*member{first, second} {
			switch s := m.feedback(d); s {
			case api.Accepted:
				counted++
			case "", api.Duplicate:
			default:
				t.Errorf("item %d: %s", i, s)
			}
		}
		if i%4 == 3 { // both lead again, in a term of their own
			old.lease.term.Add(100)
			for _, m := range []*member{first, second, first, second} {
				c.clock.wait(clusterLasts)
				m.server.node.look()
			}
		}
	}
	if counted < 12 || counted > 24 {
		t.Errorf("%d of 24 were acknowledged", counted)
	}
	old.lease.lies.Store(false)
	leader := c.succeed()
	c.agree()
	if n := leader.accepted(); n != counted {
		t.Errorf("%d are counted, %d were acknowledged", n, counted)
	}
	again := int64(0)
	for _, d := range ds {
		if leader.feedback(d) == api.Duplicate {
			again++
		}
	}
	if again != counted {
		t.Errorf("%d of %d acknowledged ones are known", again, counted)
	}
	if !strings.Contains(old.logs.String()+next.logs.String(), "this node leads no longer: another one appends") {
		t.Error("no node says that another one appends")
	}
}

// TestReplacedUnknowingly lets a node lead whose lease goes on to say that it leads when another
// one has begun to, as a lease may that cannot be asked: once its append was refused, it gives the
// lease back and puts nobody out.
func TestReplacedUnknowingly(t *testing.T) {
	c := newCluster(t, 3)
	old := c.look()
	old.apply(toy)
	c.agree()
	ds := old.decide("toy", units("t", 2)...)
	old.lease.lies.Store(true)
	c.clock.wait(clusterLasts)
	next := c.nodes[1]
	next.server.node.look()
	if s := old.feedback(ds[0]); s == api.Accepted || old.server.writer.leads.Load() {
		t.Fatalf("the feedback of the old one is %q, and it leads: %t", s, old.server.writer.leads.Load())
	}
	for range 3 {
		old.server.node.look()
		c.clock.wait(clusterLasts / 4)
	}
	if got := c.leaders(next); len(got) != 2 || got[1] != next.http.URL || !next.server.writer.leads.Load() {
		t.Errorf("these have begun to lead: %q", got)
	}
	if n := strings.Count(old.logs.String(), "another node has led since"); n != 1 {
		t.Errorf("it says %d times that another one leads: %s", n, old.logs)
	}
	if s := next.feedback(ds[1]); s != api.Accepted {
		t.Errorf("the one that leads says %q", s)
	}
	old.lease.lies.Store(false)
	c.succeed()
	c.agree()
}

// TestRoutesPassOn checks that every route that is not only read says what appends.
func TestRoutesPassOn(t *testing.T) {
	w := newWorld(t)
	local := map[string]bool{"login": true, "logout": true, "testAlerts": true}
	n := 0
	for _, rt := range w.server.router.all {
		appends := rt.Appends != nil
		if rt.Method != http.MethodGet && appends == local[rt.ID] {
			t.Errorf("%s %s (%s) says that it appends: %v", rt.Method, rt.Pattern, rt.ID, appends)
		}
		if appends {
			n++
		}
	}
	if n < 20 {
		t.Errorf("%d routes append", n)
	}
}

// TestClusterBackup takes a backup from a node that follows: it is one of the node that leads, and
// a service that is alone goes on with it.
func TestClusterBackup(t *testing.T) {
	c := newCluster(t, 3)
	leader, other := c.look(), c.nodes[1]
	leader.apply(toy)
	for _, d := range leader.decide("toy", units("b", 5)...) {
		leader.feedback(d)
	}
	c.agree()
	status, b := other.do("GET", "/v1/backup", "")
	if status != http.StatusOK {
		t.Fatalf("%d %s", status, b)
	}
	c.agree()
	data := filepath.Join(t.TempDir(), "alone")
	if _, err := Restore(t.Context(), "backup", bytes.NewReader(b), data); err != nil {
		t.Fatal(err)
	}
	w := &member{world: newWorld(t, func(o *Config) { o.Data, o.FS = data, nil })}
	if n := w.accepted(); n != 5 {
		t.Errorf("%d of 5 values", n)
	}
	if s := w.feedback(w.decide("toy", "new")[0]); s != api.Accepted {
		t.Errorf("a new value: %s", s)
	}
	if n := w.node(); n.Role != "alone" || n.Term != 0 {
		t.Errorf("%+v", n)
	}
}
