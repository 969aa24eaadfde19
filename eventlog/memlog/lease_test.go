package memlog_test

import (
	"testing"
	"time"

	"github.com/noregret/noregret/eventlog"
	"github.com/noregret/noregret/eventlog/memlog"
)

// TestLease lets three processes ask for the lease: one holds it, and the term grows with each
// holder.
func TestLease(t *testing.T) {
	now := time.Unix(1000, 0)
	leases := memlog.NewLeases(func() time.Time { return now }, 2*time.Second)
	a, b, c := leases.Lease(), leases.Lease(), leases.Lease()
	hold := func(p *memlog.Lease, name string, want eventlog.Tenure) {
		t.Helper()
		if got, err := p.Hold(t.Context(), name); err != nil || got != want {
			t.Errorf("%s: %+v, %v, want %+v", name, got, err, want)
		}
	}
	hold(a, "a", eventlog.Tenure{Term: 1, Holder: "a", Held: true})
	hold(b, "b", eventlog.Tenure{Term: 1, Holder: "a"})
	now = now.Add(1900 * time.Millisecond)
	hold(a, "a#7", eventlog.Tenure{Term: 1, Holder: "a#7", Held: true})
	now = now.Add(1900 * time.Millisecond)
	hold(b, "b", eventlog.Tenure{Term: 1, Holder: "a#7"})
	a.Cut(true)
	if _, err := a.Hold(t.Context(), "a"); err == nil {
		t.Error("a process without a connection holds the lease")
	}
	if a.Release(t.Context()) == nil {
		t.Error("a process without a connection has released the lease")
	}
	now = now.Add(100 * time.Millisecond)
	hold(c, "c", eventlog.Tenure{Term: 2, Holder: "c", Held: true})
	a.Cut(false)
	hold(a, "a", eventlog.Tenure{Term: 2, Holder: "c"})
	if err := a.Release(t.Context()); err != nil { // which is not its own
		t.Error(err)
	}
	hold(b, "b", eventlog.Tenure{Term: 2, Holder: "c"})
	if err := c.Release(t.Context()); err != nil {
		t.Error(err)
	}
	hold(b, "b", eventlog.Tenure{Term: 3, Holder: "b", Held: true})
	if _, err := leases.Lease().Hold(ended(t), "d"); err == nil {
		t.Error("a context that has ended")
	}
}
