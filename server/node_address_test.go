package server

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// TestSameAddress runs a second node that says that it is reached where the first one is, as two
// nodes on different machines do by a loopback address: it passes nothing on to itself, and says
// why, but not when it has only been started again.
func TestSameAddress(t *testing.T) {
	var first string
	c := newCluster(t, 2, func(o *Config) {
		if first == "" {
			first = o.Cluster.Address
		}
		o.Cluster.Address = first
	})
	leader, double := c.look(), c.nodes[1]
	leader.apply(toy)
	c.agree()
	double.server.node.Lasts = clusterLasts
	const says = "another node leads at the address of this one"
	for i := range 3 {
		if said := strings.Contains(double.logs.String(), says); said != (i > 1) {
			t.Errorf("look %d: it says so: %v\n%s", i, said, double.logs)
		}
		c.clock.wait(clusterLasts)
		leader.server.node.look()
		double.server.node.look()
	}
	status, b := double.do("POST", "/v1/feedback", feedbackFor(double.decide("toy", "a")[0]))
	if status != http.StatusServiceUnavailable || !strings.Contains(string(b), "no node is known to lead") {
		t.Errorf("%d %s", status, b)
	}
	if status, _ := double.do("GET", "/readyz/writes", ""); status != http.StatusServiceUnavailable {
		t.Errorf("it takes writes: %d", status)
	}
}

// TestProofNotTaken passes a request on to a node whose clock is far off: the client reads that it
// may try again, and not that it must not do this.
func TestProofNotTaken(t *testing.T) {
	var off atomic.Int64
	n := 0
	c := newCluster(t, 2, func(o *Config) {
		if now := o.Now; n == 1 {
			o.Now = func() time.Time { return now().Add(time.Duration(off.Load())) }
		}
		n++
	})
	leader, other := c.look(), c.nodes[1]
	leader.apply(toy)
	c.agree()
	c.look()
	off.Store(int64(5 * time.Second))
	if s := other.feedback(other.decide("toy", "a")[0]); s != "accepted" {
		t.Errorf("5 seconds: %q", s)
	}
	off.Store(int64(2 * time.Minute))
	other.server.node.look()
	status, b := other.do("POST", "/v1/feedback", feedbackFor(other.decide("toy", "b")[0]))
	if status != http.StatusServiceUnavailable || !strings.Contains(other.logs.String(), "a clock that differs") {
		t.Errorf("%d %s\n%s", status, b, other.logs)
	}
}
