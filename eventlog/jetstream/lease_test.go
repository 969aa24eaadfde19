package jetstream

import (
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"github.com/noregret/noregret/eventlog"
)

// newLease returns the lease of another process, which does not end while the test runs.
func newLease(t testing.TB, h *host) *Lease {
	t.Helper()
	s, err := NewLease(h.options(t, "log"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	if s.lasts != LeaseTime {
		t.Errorf("a lease lasts %v, want %v", s.lasts, LeaseTime)
	}
	s.lasts = time.Hour
	return s
}

// hold calls Hold and compares the answer.
func hold(t testing.TB, s *Lease, name string, want eventlog.Tenure) {
	t.Helper()
	if got, err := s.Hold(t.Context(), name); err != nil || got != want {
		t.Fatalf("%s: %+v, %v, want %+v", name, got, err, want)
	}
}

// TestLease checks that one process at a time holds the lease, that its term does not change while
// it keeps the lease, also after a lost answer, and that each holder has a larger term than the one
// before.
func TestLease(t *testing.T) {
	h := newHost(t)
	a, b := newLease(t, h), newLease(t, h)
	first, err := a.Hold(t.Context(), "a")
	if err != nil || !first.Held || first.Holder != "a" || first.Term == 0 {
		t.Fatalf("%+v, %v", first, err)
	}
	hold(t, a, "a2", eventlog.Tenure{Term: first.Term, Holder: "a2", Held: true})
	hold(t, b, "b", eventlog.Tenure{Term: first.Term, Holder: "a2"})
	a.revision-- // as if the answer to the last call had been lost
	hold(t, a, "a3", eventlog.Tenure{Term: first.Term, Holder: "a3", Held: true})
	a.term, a.revision = 0, 0 // as if that to the first one had been
	hold(t, a, "a4", eventlog.Tenure{Term: first.Term, Holder: "a4", Held: true})
	if err := b.Release(t.Context()); err != nil { // which holds nothing
		t.Fatal(err)
	}
	hold(t, b, "b", eventlog.Tenure{Term: first.Term, Holder: "a4"})
	if err := a.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	second, err := b.Hold(t.Context(), "b")
	if err != nil || !second.Held || second.Term <= first.Term {
		t.Fatalf("%+v after %+v, %v", second, first, err)
	}
	// The lease of a process that does not keep it ends by itself, as the bucket drops the key.
	ctx := t.Context()
	if err := b.keys.Purge(ctx, leaseKey); err != nil { // what its age does, at once
		t.Fatal(err)
	}
	third, err := a.Hold(t.Context(), "a")
	if err != nil || !third.Held || third.Term <= second.Term {
		t.Fatalf("%+v after %+v, %v", third, second, err)
	}
	// The other one learns that it has lost the lease.
	hold(t, b, "b", eventlog.Tenure{Term: third.Term, Holder: "a"})
	if status, err := b.keys.Status(ctx); err != nil || status.TTL() != a.lasts {
		t.Errorf("it lasts %v: %v", status.TTL(), err)
	}
}

// TestLeaseRivals checks that of several processes that ask at once exactly one gets the lease.
func TestLeaseRivals(t *testing.T) {
	h := newHost(t)
	for range 20 {
		const rivals = 4
		leases := make([]*Lease, rivals)
		got := make([]eventlog.Tenure, rivals)
		var all sync.WaitGroup
		for i := range leases {
			leases[i] = newLease(t, h)
			all.Go(func() {
				var err error
				if got[i], err = leases[i].Hold(t.Context(), string(rune('a'+i))); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		held := 0
		for i, g := range got {
			if g.Held {
				held++
			}
			if g.Term != got[0].Term || g.Holder != got[0].Holder {
				t.Errorf("%+v and %+v", g, got[0])
			}
			if err := leases[i].Release(t.Context()); err != nil {
				t.Error(err)
			}
		}
		if held != 1 {
			t.Fatalf("%d hold it: %+v", held, got)
		}
	}
}

// TestLeaseWithoutKeeper lets a process take the lease of one that does not keep it, while the
// servers do not drop the key, as after a step back of their clock.
func TestLeaseWithoutKeeper(t *testing.T) {
	h := newHost(t)
	a, b, c := newLease(t, h), newLease(t, h), newLease(t, h)
	first, err := a.Hold(t.Context(), "a")
	if err != nil || !first.Held {
		t.Fatalf("%+v, %v", first, err)
	}
	hold(t, b, "b", eventlog.Tenure{Term: first.Term, Holder: "a"})
	b.unchanged.end()
	hold(t, a, "a", eventlog.Tenure{Term: first.Term, Holder: "a", Held: true})
	hold(t, b, "b", eventlog.Tenure{Term: first.Term, Holder: "a"}) // it was kept meanwhile
	hold(t, c, "c", eventlog.Tenure{Term: first.Term, Holder: "a"})
	b.unchanged.end()
	c.unchanged.end()
	second, err := b.Hold(t.Context(), "b")
	if err != nil || !second.Held || second.Term <= first.Term {
		t.Fatalf("%+v after %+v, %v", second, first, err)
	}
	hold(t, c, "c", eventlog.Tenure{Term: second.Term, Holder: "b"})
	hold(t, a, "a", eventlog.Tenure{Term: second.Term, Holder: "b"})
}

// TestLeaseHolderGoesFirst lets a process wait that could not take the lease while its bucket had
// no leader: who held it gets it back, also when the servers have dropped the key.
func TestLeaseHolderGoesFirst(t *testing.T) {
	h := newHost(t)
	a, b := newLease(t, h), newLease(t, h)
	first, err := a.Hold(t.Context(), "a")
	if err != nil || !first.Held {
		t.Fatalf("%+v, %v", first, err)
	}
	hold(t, b, "b", eventlog.Tenure{Term: first.Term, Holder: "a"})
	drop := func() {
		t.Helper()
		if err := a.keys.Purge(t.Context(), leaseKey); err != nil {
			t.Fatal(err)
		}
	}
	drop()
	b.blocked = true // as if it had tried before
	if got, err := b.Hold(t.Context(), "b"); !errors.Is(err, errWaits) || got != (eventlog.Tenure{}) {
		t.Fatalf("it does not wait: %+v, %v", got, err)
	}
	second, err := a.Hold(t.Context(), "a")
	if err != nil || !second.Held {
		t.Fatalf("%+v, %v", second, err)
	}
	hold(t, b, "b", eventlog.Tenure{Term: second.Term, Holder: "a"})
	drop()
	b.first.end()
	if third, err := b.Hold(t.Context(), "b"); err != nil || !third.Held || third.Term <= second.Term {
		t.Fatalf("%+v after %+v, %v", third, second, err)
	}
}

// TestLeaseNotTaken lets a process try to take a lease whose bucket does not answer: it leaves the
// lease to others first, for as long as it lasts, once the bucket has a leader.
func TestLeaseNotTaken(t *testing.T) {
	silent := &server.Permissions{Publish: &server.SubjectPermission{
		Allow: []string{">"}, Deny: []string{"$KV.log-lease.>"},
	}}
	h := &host{dir: t.TempDir(), users: []*server.User{
		{Username: "mute", Password: "p", Permissions: silent}, {Username: "u", Password: "p"},
	}}
	h.start(t)
	t.Cleanup(h.stop)
	as := func(user string) *Lease {
		s := newLease(t, h)
		s.o.Connect = append(s.o.Connect, nats.UserInfo(user, "p"))
		s.o.Timeout = 5 * time.Second
		return s
	}
	maker, mute := as("u"), as("mute")
	first, err := maker.Hold(t.Context(), "a")
	if err != nil || !first.Held {
		t.Fatalf("%+v, %v", first, err)
	}
	if err := maker.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	mute.o.Timeout = 50 * time.Millisecond
	for mute.keys == nil { // until it has found the bucket
		_, err = mute.Hold(t.Context(), "b")
	}
	if err == nil || errors.Is(err, errWaits) || !mute.blocked {
		t.Fatalf("it does not know that it could not take it: %v", err)
	}
	mute.o.Timeout = 5 * time.Second
	if _, err := mute.Hold(t.Context(), "b"); !errors.Is(err, errWaits) || mute.blocked || mute.first.over() {
		t.Errorf("it does not wait: %v", err)
	}
	mute.first.end()
	mute.o.Timeout = 50 * time.Millisecond
	if _, err := mute.Hold(t.Context(), "b"); err == nil || errors.Is(err, errWaits) {
		t.Errorf("it does not try again: %v", err)
	}
}

// TestLeaseWithoutBucket loses the bucket of the lease: its holder keeps the lease as long as the
// stream answers, but not for ever.
func TestLeaseWithoutBucket(t *testing.T) {
	h := newHost(t)
	o := h.options(t, "log")
	log, err := Open(t.Context(), o, eventlog.DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = log.Close() }() // its stream is gone
	a, b := newLease(t, h), newLease(t, h)
	a.o.Timeout, b.o.Timeout = 100*time.Millisecond, 100*time.Millisecond
	first, err := a.Hold(t.Context(), "a")
	if err != nil || !first.Held {
		t.Fatalf("%+v, %v", first, err)
	}
	hold(t, b, "b", eventlog.Tenure{Term: first.Term, Holder: "a"})
	if err := a.wire.js.DeleteKeyValue(t.Context(), "log-lease"); err != nil {
		t.Fatal(err)
	}
	hold(t, a, "a2", eventlog.Tenure{Term: first.Term, Holder: "a2", Held: true})
	refused := func(s *Lease, why string) {
		t.Helper()
		if got, err := s.Hold(t.Context(), "x"); err == nil || got != (eventlog.Tenure{}) {
			t.Errorf("%s: %+v, %v", why, got, err)
		}
	}
	refused(b, "one that did not hold it")
	a.silence.end()
	refused(a, "after a long time")
	a.silence.begin(time.Hour)
	hold(t, a, "a", eventlog.Tenure{Term: first.Term, Holder: "a", Held: true})
	if err := a.wire.js.DeleteStream(t.Context(), "log"); err != nil {
		t.Fatal(err)
	}
	refused(a, "without the stream")
}

// TestLeaseOfMajority keeps the lease without its bucket only if the server that leads the stream
// says that it reaches a majority.
func TestLeaseOfMajority(t *testing.T) {
	o := DefaultOptions()
	o.Stream = "log"
	w := answered(t, &o)
	var cluster string
	if _, err := w.conn.Subscribe(api+"STREAM.INFO."+o.Stream, func(m *nats.Msg) {
		_ = m.Respond([]byte(`{"config": {"name": "` + o.Stream + `"}, "cluster": {` + cluster + `}}`))
	}); err != nil {
		t.Fatal(err)
	}
	s := &Lease{o: o, wire: w, term: 1}
	s.silence.begin(time.Hour)
	const near, far = `{"name": "b", "active": 900000000}`, `{"name": "c", "active": 4000000000}`
	for text, want := range map[string]bool{
		`"leader": "a", "replicas": [` + near + `, ` + near + `]`:                               true,
		`"leader": "a", "replicas": [` + near + `, ` + far + `]`:                                true,
		`"leader": "a", "replicas": [` + far + `, ` + far + `]`:                                 false,
		`"leader": "a", "replicas": [{"name": "b", "active": 1, "offline": true}, ` + far + `]`: false,
		`"leader": "a", "replicas": [` + near + `, ` + far + `, ` + far + `, ` + far + `]`:      false,
		`"replicas": [` + near + `, ` + near + `]`:                                              false,
	} {
		if cluster = text; s.goesOn(t.Context()) != want {
			t.Errorf("%s: kept %t", text, !want)
		}
	}
}

// TestLeaseClock asks for the time of the server, which has the clock of this process.
func TestLeaseClock(t *testing.T) {
	s := newLease(t, newHost(t))
	before := time.Now()
	at, err := s.Now(t.Context())
	if err != nil || at.Before(before.Add(-time.Millisecond)) || at.After(time.Now().Add(time.Millisecond)) {
		t.Errorf("%v, %v, asked at %v", at, err, before)
	}
}
