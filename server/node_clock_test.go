package server

import (
	"context"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/noregret/noregret/eventlog"
)

// clockLease is a lease with a clock.
type clockLease struct {
	eventlog.Lease
	now func() time.Time
}

// Now implements [eventlog.LeaseClock].
func (l clockLease) Now(context.Context) (time.Time, error) { return l.now(), nil }

// TestClockAhead lets a node take the lease whose clock is an hour ahead: it leaves the lead to
// another one, and leads if there is no other.
func TestClockAhead(t *testing.T) {
	n := 0
	c := newCluster(t, 3, func(o *Config) {
		now := o.Now
		o.Cluster.Lease = clockLease{o.Cluster.Lease, now}
		if n++; n == 2 {
			o.Now = func() time.Time { return now().Add(time.Hour) }
		}
	})
	first, ahead, right := c.look(), c.nodes[1], c.nodes[2]
	first.apply(toy)
	c.agree()
	c.kill(first)
	ahead.server.node.Lasts = clusterLasts
	if m := c.succeed(); m != right {
		t.Fatalf("another node leads, or none: %s", ahead.logs)
	}
	if got := c.leaders(right); len(got) != 2 || !strings.Contains(ahead.logs.String(), "leaves the lead to others") ||
		!strings.Contains(ahead.logs.String(), "ahead=1h0m0s") {
		t.Errorf("these have begun to lead: %q\n%s", got, ahead.logs)
	}
	c.clock.wait(4 * clusterLasts)
	right.server.node.look()
	ahead.server.node.look() // and sees that another one leads
	c.agree()
	c.kill(right)
	for i := range 6 {
		c.clock.wait(clusterLasts)
		if ahead.server.node.look(); ahead.server.writer.leads.Load() != (i > 3) {
			t.Fatalf("look %d: it leads: %v\n%s", i, i <= 3, ahead.logs)
		}
	}
	if !strings.Contains(ahead.logs.String(), "as no other node leads") {
		t.Error(ahead.logs)
	}
}

// TestClockApart lets the time of a node that follows differ from that of the one that leads:
// beyond some difference its decisions would be refused, so it is not ready until the clock is
// right, or it leads itself.
func TestClockApart(t *testing.T) {
	var off atomic.Int64
	n := 0
	c := newCluster(t, 2, func(o *Config) {
		now := o.Now
		if n++; n == 2 {
			o.Now = func() time.Time { return now().Add(time.Duration(off.Load())) }
		}
	})
	leader, other := c.look(), c.nodes[1]
	leader.apply(toy)
	c.agree()
	for _, s := range []struct {
		off  time.Duration
		says string
	}{
		{0, ""},
		{mostApart - time.Second, ""},
		{mostApart + 2*time.Second, "32s ahead of that of the node that leads"},
		{0, ""},
		{-time.Hour, "1h0m0s behind that of the node that leads"},
		{time.Second - mostApart, ""},
		{time.Hour, "1h0m0s ahead of"},
	} {
		off.Store(int64(s.off))
		c.clock.wait(time.Second)
		c.look()
		for _, path := range []string{"/readyz", "/readyz/writes"} {
			status, b := other.do("GET", path, "")
			if (status == http.StatusOK) != (s.says == "") || !strings.Contains(string(b), s.says) {
				t.Errorf("%s, %v off: %d %s", path, s.off, status, b)
			}
			if status, b := leader.do("GET", path, ""); status != http.StatusOK {
				t.Errorf("%s of the one that leads: %d %s", path, status, b)
			}
		}
	}
	d := other.decide("toy", "a")[0]
	status, b := other.do("POST", "/v1/feedback", feedbackFor(d))
	if status != http.StatusServiceUnavailable || !strings.Contains(string(b), "ask another node") {
		t.Errorf("passed on: %d %s", status, b)
	}
	c.kill(leader)
	if c.succeed() != other || !other.ready() {
		t.Error("it does not lead, or is not ready then")
	}
	if s := other.feedback(d); s != "accepted" {
		t.Errorf("its decision: %q", s)
	}
}
