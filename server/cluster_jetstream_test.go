package server

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	natsserver "github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"github.com/noregret/noregret/api"
	"github.com/noregret/noregret/eventlog"
	"github.com/noregret/noregret/eventlog/jetstream"
)

// onJetStream returns what puts the nodes of a cluster on a stream of a server in this process.
func onJetStream(t *testing.T) func(o *Config) {
	t.Helper()
	nats1, err := natsserver.NewServer(&natsserver.Options{
		JetStream: true, StoreDir: t.TempDir(), DontListen: true, NoSigs: true, NoLog: true, MaxPayload: 32 << 20,
		SyncInterval: time.Hour, // no test of the disk
	})
	if err != nil {
		t.Fatal(err)
	}
	nats1.Start()
	if !nats1.ReadyForConnections(time.Minute) {
		t.Fatal("the server does not start")
	}
	t.Cleanup(func() {
		nats1.Shutdown()
		nats1.WaitForShutdown()
	})
	return func(o *Config) {
		options := jetstream.DefaultOptions()
		options.Stream, options.Replicas, options.Dir = "cluster", 1, filepath.Join(o.Data, "log")
		options.Poll, options.Connect = 10*time.Millisecond, []nats.Option{nats.InProcessServer(nats1)}
		lease, err := jetstream.NewLease(options)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(lease.Close)
		// Without the clock, which is not that of the nodes.
		o.Cluster.Lease = struct{ eventlog.Lease }{lease}
		o.SnapshotEvery = 10
		o.Log = func(e eventlog.Options) (eventlog.Log, error) { return jetstream.Open(t.Context(), options, e) }
	}
}

// TestClusterOnJetStream runs three nodes on a stream of a server in this process: what each is
// sent counts once, another node leads as soon as the first one has ended, and a node that starts
// anew has all of it.
func TestClusterOnJetStream(t *testing.T) {
	c := newLeakyCluster(t, 3, onJetStream(t))
	leader := c.look()
	if leader != c.nodes[0] {
		t.Fatalf("the first node does not lead: %s", c.nodes[0].logs)
	}
	c.nodes[1].apply(toy)
	counted := int64(0)
	for round := range 3 {
		for i, m := range c.nodes {
			m.server.node.look() // it may have followed since before the definition was there
			for _, d := range m.decide("toy", units(fmt.Sprint("j", round, i, "-"), 5)...) {
				if s := m.feedback(d); s != api.Accepted {
					t.Errorf("node %d: %s\n%s", i, s, m.logs)
				}
				counted++
			}
		}
		c.agree()
		leader.http.Close()
		if err := leader.server.Close(); err != nil { // which releases the lease
			t.Fatal(err)
		}
		ended := leader
		ended.up = false
		if leader = c.look(); leader == nil {
			t.Fatal("no other node leads")
		}
		c.start(ended)
		c.look()
		c.agree()
		for i, m := range c.nodes {
			if n := m.accepted(); n != counted {
				t.Errorf("node %d counts %d, want %d", i, n, counted)
			}
		}
	}
}
