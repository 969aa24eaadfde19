package server

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/noregret/noregret/dp"
	"github.com/noregret/noregret/eventlog"
	"github.com/noregret/noregret/experiment"
)

// leaders returns the addresses of the nodes that began to lead, in their order.
func (c *cluster) leaders(m *member) (out []string) {
	c.t.Helper()
	for r, err := range m.log.Read(c.t.Context(), 1) {
		if err != nil {
			c.t.Fatal(err)
		}
		if r.Kind != experiment.KindLeads {
			continue
		}
		l, err := experiment.OpenLeads(experiment.Event{Kind: r.Kind, Payload: r.Payload})
		if err != nil {
			c.t.Fatal(err)
		}
		out = append(out, l.Address)
	}
	return out
}

// slowLog is a log whose next event that a node leads waits.
type slowLog struct {
	eventlog.Log
	slow    atomic.Bool
	entered chan struct{}
	goOn    chan struct{}
}

// AppendAt implements [eventlog.Appender].
func (l *slowLog) AppendAt(ctx context.Context, first uint64, events ...eventlog.Event) error {
	if events[0].Kind == experiment.KindLeads && l.slow.Swap(false) {
		close(l.entered)
		<-l.goOn
	}
	return l.Log.AppendAt(ctx, first, events...)
}

// TestLeadsByLeaseOnly lets a node begin to lead whose log answers when the lease has ended and
// another node leads: it neither leads nor puts out the other one.
func TestLeadsByLeaseOnly(t *testing.T) {
	var logs []*slowLog
	c := newCluster(t, 3, func(o *Config) {
		inner := o.Log
		o.Log = func(e eventlog.Options) (eventlog.Log, error) {
			l, err := inner(e)
			s := &slowLog{Log: l, entered: make(chan struct{}), goOn: make(chan struct{})}
			logs = append(logs, s)
			return s, err
		}
	})
	first, slow, next := c.look(), c.nodes[1], c.nodes[2]
	first.apply(toy)
	c.agree()
	c.kill(first)
	c.clock.wait(clusterLasts)
	logs[1].slow.Store(true)
	slow.server.node.Lasts = 10 * time.Millisecond
	slow.server.node.look() // gives up
	<-logs[1].entered
	if slow.server.writer.leads.Load() {
		t.Fatal("it leads before the log says so")
	}
	c.clock.wait(clusterLasts)
	if next.server.node.look(); !next.server.writer.leads.Load() {
		t.Fatalf("the next one does not lead: %s", next.logs)
	}
	close(logs[1].goOn)
	// The writer is done with it when it has done this.
	_, _ = slow.server.writer.submit(t.Context(), &command{do: func() error { return nil }})
	if slow.server.writer.leads.Load() {
		t.Error("it leads without the lease")
	}
	if got := c.leaders(next); len(got) != 2 || got[1] != next.http.URL {
		t.Errorf("these have begun to lead: %q", got)
	}
	if s := next.feedback(next.decide("toy", "a")[0]); s != "accepted" {
		t.Errorf("the one that leads says %q", s)
	}
	slow.server.node.look()
	c.agree()
}

// TestCannotTakeOver lets a node take the lease that cannot read its ledger of private experiments:
// it says so, appends nothing, and another node leads.
func TestCannotTakeOver(t *testing.T) {
	var broken atomic.Bool
	n := 0
	c := newCluster(t, 3, func(o *Config) {
		o.noise = []dp.Option{dp.WithInsecureDeterministicNoiseForTesting(5)}
		if n++; n == 2 {
			o.privacyStore = func(dir string) (privacyStore, error) {
				if broken.Load() {
					return nil, errors.New("the disk does not answer")
				}
				return dp.OpenFileStore(dir)
			}
		}
	})
	first := c.look()
	first.apply(privateToy)
	c.agree()
	c.kill(first)
	broken.Store(true)
	if m := c.succeed(); m != c.nodes[2] {
		t.Fatalf("another node leads, or none: %s", c.nodes[1].logs)
	}
	for range 3 {
		c.clock.wait(clusterLasts / 2)
		c.look()
	}
	if got := c.leaders(c.nodes[2]); len(got) != 2 {
		t.Errorf("these have begun to lead: %q", got)
	}
	if !strings.Contains(c.nodes[1].logs.String(), "the disk does not answer") {
		t.Errorf("its log does not say why: %s", c.nodes[1].logs)
	}
}
