package jetstream

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
	_ "unsafe" // for the election timeouts

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	js "github.com/nats-io/nats.go/jetstream"

	"github.com/noregret/noregret/eventlog"
)

// The servers of the tests elect a leader in a fraction of the usual 4 to 9 seconds.
//
//go:linkname minElectionTimeout github.com/nats-io/nats-server/v2/server.minElectionTimeout
//go:linkname maxElectionTimeout github.com/nats-io/nats-server/v2/server.maxElectionTimeout
//go:linkname hbInterval github.com/nats-io/nats-server/v2/server.hbInterval
var minElectionTimeout, maxElectionTimeout, hbInterval time.Duration

// childVariable tells a process of this test that it is a server.
const childVariable = "NOREGRET_TEST_SERVER"

// child says what server a process is.
type child struct {
	Name, Dir  string
	Port       int
	Cluster    int   // the port of its routes
	Routes     []int // of all
	SyncAlways bool
}

// serve runs the server that the environment asks for until the process is killed or its input
// ends, as it does with the process that has started it.
func (c child) serve() error {
	minElectionTimeout, maxElectionTimeout, hbInterval = time.Second, 2*time.Second, 250*time.Millisecond
	o := &server.Options{
		ServerName: c.Name, Host: "127.0.0.1", Port: c.Port, JetStream: true, StoreDir: c.Dir, MaxPayload: 8 << 20,
		NoSigs: true, NoLog: true, SyncAlways: c.SyncAlways,
		Cluster: server.ClusterOpts{Name: "test", Host: "127.0.0.1", Port: c.Cluster},
	}
	for _, port := range c.Routes {
		o.Routes = append(o.Routes, &url.URL{Scheme: "nats", Host: fmt.Sprint("127.0.0.1:", port)})
	}
	s, err := server.NewServer(o)
	if err != nil {
		return err
	}
	s.Start()
	if !s.ReadyForConnections(time.Minute) {
		return errors.New("it is not ready")
	}
	fmt.Println("ready")
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

// cluster is three servers in processes of their own.
type cluster struct {
	servers  []child
	commands []*exec.Cmd
}

// newCluster starts three servers, which end with the test.
func newCluster(t testing.TB) *cluster {
	t.Helper()
	dir := t.TempDir()
	ports := freePorts(t, 6)
	c := &cluster{commands: make([]*exec.Cmd, 3)}
	for i := range 3 {
		name := fmt.Sprint("n", i)
		c.servers = append(c.servers, child{
			Name: name, Dir: filepath.Join(dir, name), Port: ports[i], Cluster: ports[3+i], Routes: ports[3:],
			SyncAlways: true,
		})
	}
	for i := range c.servers {
		c.start(t, i)
	}
	t.Cleanup(func() {
		for i := range c.servers {
			c.kill(i)
		}
	})
	return c
}

// freePorts returns ports that nobody uses. They lie below those of outgoing connections, one of
// which would otherwise take the port of a server that is down.
func freePorts(t testing.TB, n int) (out []int) {
	for port := 20_000 + os.Getpid()*31%10_000; len(out) < n; port++ {
		l, err := net.Listen("tcp", fmt.Sprint("127.0.0.1:", port))
		if err != nil {
			continue
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		out = append(out, port)
	}
	return out
}

// start starts a server and waits until it takes connections.
func (c *cluster) start(t testing.TB, i int) {
	t.Helper()
	b, err := json.Marshal(c.servers[i])
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childVariable+"="+string(b))
	cmd.Stderr = os.Stderr
	_, err = cmd.StdinPipe() // which Wait closes
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "ready\n" {
		t.Fatalf("a server says %q: %v", line, err)
	}
	c.commands[i] = cmd
}

// kill ends a server as kill -9 does.
func (c *cluster) kill(i int) {
	if cmd := c.commands[i]; cmd != nil {
		_ = cmd.Process.Kill() // it may have ended
		_ = cmd.Wait()
		c.commands[i] = nil
	}
}

// options are those of a log with three replicas, and of a node with a directory of its own.
func (c *cluster) options(t testing.TB, stream string) Options {
	o := DefaultOptions()
	o.Stream, o.Dir, o.Servers = stream, t.TempDir(), nil
	o.Poll, o.Patience = 20*time.Millisecond, time.Minute
	for _, s := range c.servers {
		o.Servers = append(o.Servers, fmt.Sprint("nats://127.0.0.1:", s.Port))
	}
	return o
}

// leader returns which server leads the stream.
func (c *cluster) leader(t testing.TB, l *Log) int {
	t.Helper()
	for {
		s, err := l.wire.js.Stream(t.Context(), l.o.Stream)
		if err == nil {
			if info := s.CachedInfo(); info.Cluster != nil {
				i := slices.IndexFunc(c.servers, func(s child) bool { return s.Name == info.Cluster.Leader })
				if i >= 0 {
					return i
				}
			}
		}
		if !pause(t.Context(), 10*time.Millisecond) {
			t.Fatal(err)
		}
	}
}

// load appends groups to a log until stop is closed, and returns how many.
func load(t testing.TB, l *Log, stop <-chan struct{}, appended chan<- int) {
	for n := 0; ; n++ {
		select {
		case <-stop:
			appended <- n
			return
		default:
		}
		if err := l.AppendAt(t.Context(), uint64(2*n+1), group("w", n)...); err != nil {
			t.Errorf("group %d: %v", n, err)
			appended <- n
			return
		}
	}
}

// progress waits until a log has some more events. If nobody appends any more it fails the test,
// which would otherwise wait for ever.
func progress(t testing.TB, l *Log) {
	t.Helper()
	if !advance(t, l, 3*time.Minute) {
		t.Fatalf("nothing comes behind %+v", l.Stats())
	}
}

// advance reports whether a log has some more events within a time.
func advance(t testing.TB, l *Log, within time.Duration) bool {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	for r, err := range l.Tail(ctx, l.Stats().Last+1) {
		if ctx.Err() != nil {
			return false
		}
		if err != nil {
			t.Fatalf("behind %+v: %v", l.Stats(), err)
		}
		if r.Position%20 == 0 {
			return true
		}
	}
	return false
}

// TestCluster runs tests of three servers, one after the other.
func TestCluster(t *testing.T) {
	c := newCluster(t)
	run := func(name string, test func(t *testing.T)) {
		t.Run(name, func(t *testing.T) {
			t.Cleanup(func() { c.revive(t) }) // also for the next one, if this one fails
			test(t)
		})
	}
	run("ServersDie", c.serversDie)
	run("Stalls", c.stalls)
	run("Beside", c.beside)
	run("DamagedReplica", c.damagedReplica)
	run("Verifies", c.verifies)
	run("NoMajority", c.noMajority)
	run("NotCommitted", c.notCommitted)
}

// revive starts the servers that are dead, and lets those go on that were stopped.
func (c *cluster) revive(t testing.TB) {
	for i, cmd := range c.commands {
		if cmd == nil {
			c.start(t, i)
		} else if err := cmd.Process.Signal(syscall.SIGCONT); err != nil {
			t.Error(err)
		}
	}
}

// serversDie kills each server that leads the stream in turn, and starts it again, while one
// node appends and another one follows. Nothing that was acknowledged is lost, nothing is there
// twice, and both nodes go on by themselves.
func (c *cluster) serversDie(t *testing.T) {
	writer, follower := openLog(t, c.options(t, "die")), openLog(t, c.options(t, "die"))
	stop, appended := make(chan struct{}), make(chan int, 1)
	go load(t, writer, stop, appended)
	for range 3 {
		progress(t, follower)
		i := c.leader(t, writer)
		c.kill(i)
		progress(t, follower)
		c.start(t, i)
		c.caughtUp(t, i, follower)
	}
	close(stop)
	groups := <-appended
	last := uint64(2 * groups)
	for _, l := range []*Log{writer, follower, openLog(t, c.options(t, "die"))} {
		next := uint64(1)
		for r, err := range l.Tail(t.Context(), 1) {
			if err != nil {
				t.Fatal(err)
			}
			n := int(r.Position-1) / 2
			if r.Position != next || !same(r.Event, group("w", n)[(r.Position-1)%2]) {
				t.Fatalf("position %d is %+v", next, r)
			}
			if next++; next > last {
				break
			}
		}
		if s := l.Stats(); s.Last != last || s.Failed != "" {
			t.Errorf("%+v, want %d", s, last)
		}
	}
	t.Logf("%d groups while three leaders were killed", groups)
}

// caughtUp waits until a server has what a log has now. A server that is still catching up does not
// lead, and nobody may while another one is away.
func (c *cluster) caughtUp(t *testing.T, i int, l *Log) {
	t.Helper()
	l.mu.Lock()
	last := l.last.sequence
	l.mu.Unlock()
	o := c.options(t, l.o.Stream)
	// The server that a node is connected to answers its reads.
	o.Servers = []string{fmt.Sprint("nats://127.0.0.1:", c.servers[i].Port)}
	o.Connect = []nats.Option{nats.IgnoreDiscoveredServers()}
	w, err := dial(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	defer w.conn.Close()
	for {
		raws, err := w.fetch(t.Context(), last, 1)
		if err == nil && len(raws) > 0 {
			return
		}
		if !pause(t.Context(), 20*time.Millisecond) {
			t.Fatal(err)
		}
	}
}

// beside lets one process after the other hold the lease, each with a server of its own: it leads
// the stream then, and not the bucket of the lease, and the process keeps its term.
func (c *cluster) beside(t *testing.T) {
	log := openLog(t, c.options(t, "beside"))
	for i, server := range c.servers {
		o := c.options(t, "beside")
		o.Beside = server.Name
		s, err := NewLease(o)
		if err != nil {
			t.Fatal(err)
		}
		s.lasts = time.Hour
		var first eventlog.Tenure
		for {
			now, err := s.Hold(t.Context(), server.Name)
			if err == nil && now.Held && first.Term == 0 {
				first = now
			}
			if err == nil && first.Term > 0 && now != first {
				t.Fatalf("%+v after %+v", now, first)
			}
			var bucket js.StreamInfo
			err = s.wire.askOf(t.Context(), "KV_beside-lease", "STREAM.INFO", "", &bucket)
			other := err == nil && !slices.Contains([]string{"", server.Name}, bucket.Cluster.Leader)
			if other && c.leader(t, log) == i {
				break
			}
			if !pause(t.Context(), 50*time.Millisecond) {
				t.Fatalf("the bucket is led by %+v", bucket.Cluster)
			}
		}
		if err := log.AppendAt(t.Context(), uint64(2*i+1), group("w", i)...); err != nil {
			t.Fatal(err)
		}
		if err := s.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
		s.Close()
	}
}

// stalls stops the process of the server that leads the stream while a node appends: the others
// elect a leader, and the old one learns of it when it goes on.
func (c *cluster) stalls(t *testing.T) {
	writer, follower := openLog(t, c.options(t, "stall")), openLog(t, c.options(t, "stall"))
	stop, appended := make(chan struct{}), make(chan int, 1)
	go load(t, writer, stop, appended)
	progress(t, follower)
	i := c.leader(t, follower)
	if err := c.commands[i].Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	progress(t, follower)
	if err := c.commands[i].Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	progress(t, follower)
	close(stop)
	if groups := <-appended; writer.Stats().Last != uint64(2*groups) {
		t.Errorf("%+v after %d groups", writer.Stats(), groups)
	}
}

// damagedReplica flips a bit of a message in one replica's file: every read is answered with
// what was written.
func (c *cluster) damagedReplica(t *testing.T) {
	o := c.options(t, "damage")
	writer := openLog(t, o)
	const groups = 50
	for n := range groups {
		if err := writer.AppendAt(t.Context(), uint64(2*n+1), group("w", n)...); err != nil {
			t.Fatal(err)
		}
	}
	i := (c.leader(t, writer) + 1) % 3 // one that does not lead
	c.kill(i)
	flip(t, filepath.Join(c.servers[i].Dir, "jetstream", "$G", "streams", "damage", "msgs"), "w 7")
	c.start(t, i)
	near := c.options(t, "damage")
	// The server that a node is connected to answers its reads.
	near.Servers = []string{fmt.Sprint("nats://127.0.0.1:", c.servers[i].Port)}
	near.Connect = []nats.Option{nats.DontRandomize(), nats.IgnoreDiscoveredServers()}
	reader := openLog(t, near)
	for range 20 {
		next := uint64(1)
		for r, err := range reader.Read(t.Context(), 1) {
			if err != nil || r.Position != next || !same(r.Event, group("w", int(next-1)/2)[(next-1)%2]) {
				t.Fatalf("position %d is %+v, %v", next, r, err)
			}
			next++
		}
		if next != 2*groups+1 {
			t.Fatalf("%d events", next-1)
		}
	}
}

// noMajority kills two of three servers: the node that appends saves a snapshot all the same, as
// one that ends does. When they are back it goes on.
func (c *cluster) noMajority(t *testing.T) {
	o := c.options(t, "majority")
	o.Servers, o.Connect = o.Servers[:1], []nats.Option{nats.IgnoreDiscoveredServers()}
	o.Timeout /= 5
	l := openLog(t, o)
	fill(t, l, 0, 5)
	for _, i := range []int{1, 2} {
		c.kill(i)
	}
	if err := l.SaveSnapshot(t.Context(), 10, []byte("state")); err != nil {
		t.Fatal(err)
	}
	for _, i := range []int{1, 2} {
		c.start(t, i)
	}
	fill(t, l, 5, 8)
	if s := l.Stats(); s.Last != 16 || s.Snapshot != 10 {
		t.Errorf("%+v", s)
	}
}

// notCommitted lets a message reach only the server that leads: it is in that server's Raft log,
// and an append at its place is refused, but no read finds it before a majority has it. So what one
// replica answers is committed, which inPlace relies on.
func (c *cluster) notCommitted(t *testing.T) {
	leads := c.leader(t, openLog(t, c.options(t, "raft")))
	near := c.options(t, "raft")
	// The server that a node is connected to answers its reads.
	near.Servers = []string{fmt.Sprint("nats://127.0.0.1:", c.servers[leads].Port)}
	near.Connect = []nats.Option{nats.IgnoreDiscoveredServers()}
	l := openLog(t, near)
	fill(t, l, 0, 3)
	for i := range c.servers {
		if i != leads {
			c.kill(i)
		}
	}
	l.mu.Lock()
	m := encode(l.last, group("not committed", 3))
	l.mu.Unlock()
	logs := filepath.Join(c.servers[leads].Dir, "jetstream", "$SYS", "_js_", "*", "msgs")
	limit, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for !has(t, logs, "not committed") {
		if err := l.wire.publish(limit, m); err == nil {
			t.Fatal("it was acknowledged without a majority")
		}
		if limit.Err() != nil {
			t.Fatal("the server that leads does not take it")
		}
	}
	t.Logf("a second attempt: %v", l.wire.publish(t.Context(), m))
	if raws, err := l.wire.fetch(t.Context(), m.sequence, 1); err != nil || len(raws) > 0 {
		t.Errorf("it is read as %+v, %v", raws, err)
	}
	if held, found, err := l.inPlace(t.Context(), m); held || found {
		t.Errorf("it has its place: %v, %v, %v", held, found, err)
	}
	c.revive(t)
	if stored, err := l.store(t.Context(), m); err != nil || !stored {
		t.Fatalf("%v, %v", stored, err)
	}
	if s := l.Stats(); s.Last != 8 {
		t.Errorf("%+v", s)
	}
}

// has reports whether a file of the directories that match a pattern has a text.
func has(t testing.TB, dirs, text string) bool {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dirs, "*.blk"))
	if err != nil {
		t.Fatal(err)
	}
	return slices.ContainsFunc(names, func(name string) bool {
		b, err := os.ReadFile(name)
		return err == nil && strings.Contains(string(b), text) // else it was removed meanwhile
	})
}

// flip flips a bit of the first file of a directory that has a text.
func flip(t testing.TB, dir, text string) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*.blk"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if at := strings.Index(string(b), text); at >= 0 {
			b[at] ^= 1
			if err := os.WriteFile(name, b, 0o600); err != nil {
				t.Fatal(err)
			}
			return
		}
	}
	t.Fatalf("no file of %v has %q", names, text)
}
