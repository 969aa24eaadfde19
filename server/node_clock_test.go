package server

import (
	"context"
	"strings"
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
