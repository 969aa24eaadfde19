package server

import (
	"bytes"
	"context"
	"iter"
	"strings"
	"testing"
	"time"

	"github.com/noregret/noregret/eventlog"
	"github.com/noregret/noregret/policy"
)

// flipped is a log that shows a wrong value in one event.
type flipped struct {
	eventlog.Log
	from, to string
}

// Tail implements [eventlog.Reader].
func (l *flipped) Tail(ctx context.Context, from uint64) iter.Seq2[eventlog.Record, error] {
	return func(yield func(eventlog.Record, error) bool) {
		for r, err := range l.Log.Tail(ctx, from) {
			r.Payload = bytes.Replace(r.Payload, []byte(l.from), []byte(l.to), 1)
			if !yield(r, err) {
				return
			}
		}
	}
}

// ended returns the reason why a node has stopped. It waits until the node has reached a position,
// or reads nothing more.
func (m *member) ended(position uint64) error {
	m.t.Helper()
	ctx, cancel := context.WithTimeout(m.t.Context(), 10*time.Second)
	defer cancel()
	tail := m.server.node.tail
	go func() {
		select {
		case <-tail.ended:
			cancel()
		case <-ctx.Done():
		}
	}()
	_ = m.server.node.reach(ctx, position)
	m.server.writer.digests.running.Wait()
	err := m.server.writer.err()
	if err == nil {
		m.t.Fatalf("the node goes on\n%s", m.logs)
	}
	return err
}

// TestOtherState gives one of three nodes another value than the others: it stops and says so, and
// no other one does. What it has served, it serves on.
func TestOtherState(t *testing.T) {
	c := newCluster(t, 3, func(o *Config) { o.SnapshotEvery = 5 })
	leader, wrong := c.look(), c.nodes[2]
	c.kill(wrong)
	c.change = func(o *Config) {
		o.SnapshotEvery = 5
		open := o.Log
		o.Log = func(options eventlog.Options) (eventlog.Log, error) {
			log, err := open(options)
			return &flipped{log, `"x":1`, `"x":2`}, err
		}
	}
	c.start(wrong)
	c.look()
	leader.apply(toy)
	ds := leader.decide("toy", units("o", 20)...)
	for _, d := range ds {
		leader.post("/v1/exposures", item{Token: d.Token})
	}
	if err := wrong.server.writer.err(); err != nil {
		t.Fatalf("before any value: %v", err)
	}
	for _, d := range ds {
		leader.feedback(d)
		leader.settle() // so that its digest is ready when the next one is due
		leader.server.writer.digests.running.Wait()
	}
	if err := wrong.ended(leader.server.live.position()); !strings.Contains(err.Error(), "the digest at position") {
		t.Errorf("%v", err)
	}
	if !strings.Contains(wrong.logs.String(), stateDiffers) {
		t.Error("its log does not say what to do")
	}
	c.clock.wait(time.Minute)
	c.look()
	if wrong.ready() || len(wrong.decide("toy", "any")) != 1 || wrong.server.writer.recovery.end() != nil {
		t.Error("it is ready, does not decide, or the process ends")
	}
	for _, m := range c.nodes[:2] {
		if err := m.server.writer.err(); err != nil {
			t.Errorf("a sound node: %v", err)
		}
		d := m.server.writer.digests
		d.mu.Lock()
		if len(d.told) < 3 {
			t.Errorf("it was told too little: %v", d.told)
		}
		d.mu.Unlock()
	}
	// It must not lead, whoever else is gone.
	c.kill(c.nodes[0])
	c.kill(c.nodes[1])
	c.clock.wait(clusterLasts)
	if c.look() != nil {
		t.Error("a node leads whose state is wrong")
	}
}

// TestOtherKeys starts a node with other keys: it does not follow, and says which file to copy.
// Keys are replaced node by node if each has both meanwhile.
func TestOtherKeys(t *testing.T) {
	c := newCluster(t, 2)
	leader, other := c.look(), c.nodes[1]
	leader.apply(toy)
	c.agree()
	one, two := bytes.Repeat([]byte{7}, 32), bytes.Repeat([]byte{8}, 32)
	keys := func(current byte, secrets map[byte][]byte) *policy.Keys {
		return &policy.Keys{Current: current, Secrets: secrets}
	}
	only, both := keys(2, map[byte][]byte{2: two}), map[byte][]byte{1: one, 2: two}
	c.kill(other)
	other.config.Keys = only
	other.config.Log = func(o eventlog.Options) (eventlog.Log, error) { return c.storage.Join(o) }
	if _, err := New(other.config); err == nil || !strings.Contains(err.Error(), "copy keys.json") ||
		!strings.Contains(err.Error(), leader.http.URL) {
		t.Errorf("other keys: %v", err)
	}
	for i, k := range []*policy.Keys{keys(1, both), keys(2, both), only} {
		for _, m := range []*member{other, leader} {
			if m.up {
				c.kill(m)
			}
			c.clock.wait(clusterLasts)
			c.look()
			m.config.Keys = k
			c.start(m)
			c.look()
			c.agree()
			for _, m := range c.nodes {
				if err := m.server.writer.err(); err != nil {
					t.Errorf("step %d: %v", i, err)
				}
			}
		}
	}
}

// TestKeysOfNewLog starts two nodes without keys at a new log: each makes some, and the one ends
// that does not lead.
func TestKeysOfNewLog(t *testing.T) {
	c := newCluster(t, 2, func(o *Config) {
		o.Keys = nil
		o.Cluster.Lease.(*lyingLease).Cut(true)
	})
	for _, m := range c.nodes {
		m.lease.Cut(false)
		m.server.node.look()
	}
	if err := c.nodes[1].ended(1); !strings.Contains(err.Error(), "copy keys.json in its data directory") {
		t.Errorf("%v", err)
	}
	if c.look() != c.nodes[0] {
		t.Error("the first one does not lead")
	}
}

// TestNewerRules lets a node lead by rules that another one does not know: that one ends, and does
// not begin again.
func TestNewerRules(t *testing.T) {
	c := newCluster(t, 3)
	old, newer := c.look(), c.nodes[1]
	old.apply(toy)
	c.agree()
	c.kill(newer)
	c.change = func(o *Config) { o.Cluster.knows, o.Cluster.Rules = 2, 2 }
	c.start(newer)
	c.look()
	c.agree()
	c.kill(old)
	c.clock.wait(clusterLasts)
	newer.server.node.look()
	third := c.nodes[2]
	const want = "by version 2 of the rules for nodes, and this program knows those up to 1"
	if err := third.ended(newer.server.live.position()); !strings.Contains(err.Error(), want) {
		t.Errorf("%v", err)
	}
	if err := third.server.writer.recovery.end(); err == nil || !isMisfit(err) {
		t.Errorf("its process goes on: %v", err)
	}
	third.config.Log = func(o eventlog.Options) (eventlog.Log, error) { return c.storage.Join(o) }
	third.config.Cluster.knows = 1
	if _, err := New(third.config); !isMisfit(err) {
		t.Errorf("it begins again: %v", err)
	}
	newer.feedback(newer.decide("toy", "a")[0])
	if newer.accepted() != 1 {
		t.Error("the newer one does not go on")
	}
}
