package embedded_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"go.uber.org/goleak"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/eventlog"
	"github.com/noregret/noregret/eventlog/jetstream"
	"github.com/noregret/noregret/eventlog/jetstream/embedded"
)

func TestMain(m *testing.M) {
	// Seen once: a server of v2.15.2 ended and left these two.
	const nats = "github.com/nats-io/nats-server/v2/server"
	goleak.VerifyTestMain(m,
		goleak.IgnoreTopFunction("github.com/nats-io/nats.go/jetstream.(*jetStream).resetPendingAcksOnReconnect"),
		goleak.IgnoreTopFunction(nats+".(*fileStore).flushStreamStateLoop"),
		goleak.IgnoreTopFunction(nats+"/ats.Register.func1"))
}

// freeAddresses returns loopback addresses on which nothing listens, below the ports of outgoing
// connections, which could take one of them.
func freeAddresses(t *testing.T, n int) (out []string) {
	t.Helper()
	for port := 21000; len(out) < n && port < 32000; port++ {
		address := fmt.Sprintf("127.0.0.1:%d", port)
		l, err := net.Listen("tcp", address)
		if err != nil {
			continue
		}
		out = append(out, address)
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if len(out) < n {
		t.Fatal("no free ports")
	}
	return out
}

// cluster is three servers in this process.
type cluster struct {
	peers   []string
	dir     string
	servers [3]*embedded.Server
}

// start starts server i.
func (c *cluster) start(ctx context.Context, i int) error {
	s, err := embedded.Start(ctx, embedded.Options{
		Cluster: "test", Peers: c.peers, Node: c.peers[i], Password: "secret", Dir: filepath.Join(c.dir, fmt.Sprint(i)),
	})
	c.servers[i] = s
	return err
}

// log opens the log by server i.
func (c *cluster) log(ctx context.Context, t *testing.T, i int) *jetstream.Log {
	t.Helper()
	o := jetstream.DefaultOptions()
	o.Stream, o.Dir, o.Patience = "log", filepath.Join(c.dir, fmt.Sprint("node", i)), 2*time.Minute
	o.Connect = []nats.Option{c.servers[i].Connect()}
	l, err := jetstream.Open(ctx, o, eventlog.DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// TestCluster appends by one node and reads by another one, which goes on when a third has ended.
func TestCluster(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	c := &cluster{peers: freeAddresses(t, 3), dir: t.TempDir()}
	var starting sync.WaitGroup
	var errs [3]error
	for i := range c.servers {
		starting.Go(func() { errs[i] = c.start(ctx, i) })
	}
	starting.Wait()
	defer func() {
		for _, s := range c.servers {
			if s != nil {
				s.Close()
			}
		}
	}()
	for _, err := range errs {
		if err != nil {
			t.Fatal(err)
		}
	}
	writer := c.log(ctx, t, 0)
	reader := c.log(ctx, t, 1)
	event := func(i int) eventlog.Event {
		return eventlog.Event{Kind: "test", Time: int64(i), Payload: fmt.Append(nil, i)}
	}
	for i := range 5 {
		if err := writer.AppendAt(ctx, uint64(i+1), event(i)); err != nil {
			t.Fatal(err)
		}
	}
	c.servers[2].Close()
	c.servers[2] = nil
	for i := 5; i < 10; i++ {
		if err := writer.AppendAt(ctx, uint64(i+1), event(i)); err != nil {
			t.Fatal(err)
		}
	}
	n := 0
	for r, err := range reader.Tail(ctx, 1) {
		if err != nil {
			t.Fatal(err)
		}
		if want := event(n); r.Position != uint64(n+1) || string(r.Payload) != string(want.Payload) {
			t.Fatalf("position %d has %q", r.Position, r.Payload)
		}
		if n++; n == 10 {
			break
		}
	}
	// The one that has ended comes back on its files, and takes the others' place.
	if err := c.start(ctx, 2); err != nil {
		t.Fatal(err)
	}
	late := c.log(ctx, t, 2)
	if err := late.AppendAt(ctx, 11, event(10)); err != nil {
		t.Fatal(err)
	}
	for _, l := range []*jetstream.Log{writer, reader, late} {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestClients connects to a server from outside, with its password only.
func TestClients(t *testing.T) {
	free := freeAddresses(t, 2)
	s, err := embedded.Start(t.Context(), embedded.Options{
		Cluster: "test", Peers: free[:1], Node: free[0], Password: "secret", Dir: t.TempDir(), Clients: free[1],
	})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for password, want := range map[string]error{"secret": nil, "other": nats.ErrAuthorization} {
		c, err := nats.Connect("nats://"+free[1], nats.UserInfo(embedded.User, password))
		if !errors.Is(err, want) {
			t.Errorf("with the password %s: %v, want %v", password, err, want)
		}
		if err == nil {
			c.Close()
		}
	}
	if c, err := nats.Connect("nats://" + free[1]); !errors.Is(err, nats.ErrAuthorization) {
		t.Errorf("without a password: %v", err)
		c.Close()
	}
}

// TestRefused starts servers that cannot be.
func TestRefused(t *testing.T) {
	three := []string{"127.0.0.1:21001", "127.0.0.1:21002", "127.0.0.1:21003"}
	good := embedded.Options{Cluster: "test", Peers: three, Node: three[0], Password: "secret", Dir: t.TempDir()}
	for name, change := range map[string]func(o *embedded.Options){
		"cluster":   func(o *embedded.Options) { o.Cluster = "a b" },
		"peers":     func(o *embedded.Options) { o.Peers = three[:2] },
		"twice":     func(o *embedded.Options) { o.Peers = []string{three[0], three[0], three[1]} },
		"HOST:PORT": func(o *embedded.Options) { o.Peers = []string{three[0], three[1], "c"} },
		"node":      func(o *embedded.Options) { o.Node = "127.0.0.1:1" },
		"password":  func(o *embedded.Options) { o.Password = "" },
		"clients":   func(o *embedded.Options) { o.Clients = "10.0.0.1:4222" },
		"bcrypt":    func(o *embedded.Options) { o.Password = "$2a$10$abcdefgh" },
		"directory": func(o *embedded.Options) { o.Dir = "" },
		"listen":    func(o *embedded.Options) { o.Listen = "here" },
	} {
		o := good
		change(&o)
		_, err := embedded.Start(t.Context(), o)
		if noregret.CodeOf(err) != noregret.Usage || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v, want an error of code usage that says it", name, err)
		}
	}
}
