package jetstream

import (
	"sync"
	"testing"
	"time"

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

// TestLeaseClock asks for the time of the server, which has the clock of this process.
func TestLeaseClock(t *testing.T) {
	s := newLease(t, newHost(t))
	before := time.Now()
	at, err := s.Now(t.Context())
	if err != nil || at.Before(before.Add(-time.Millisecond)) || at.After(time.Now().Add(time.Millisecond)) {
		t.Errorf("%v, %v, asked at %v", at, err, before)
	}
}
