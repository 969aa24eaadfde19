package jetstream

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"go.uber.org/goleak"
)

// TestMain runs the tests, or a server for one of them.
func TestMain(m *testing.M) {
	if text := os.Getenv(childVariable); text != "" {
		var c child
		err := json.Unmarshal([]byte(text), &c)
		if err == nil {
			err = c.serve()
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	// What copies a snapshot to its bucket publishes by a JetStream of its own, one goroutine of
	// which does not always end with it (nats.go v1.55.0).
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction(
		"github.com/nats-io/nats.go/jetstream.(*jetStream).resetPendingAcksOnReconnect"))
}

// host is a server in this process, on a directory.
type host struct {
	dir    string
	port   int // 0 for none
	users  []*server.User
	server *server.Server
}

// newHost starts a server that ends with the test.
func newHost(t testing.TB) *host {
	t.Helper()
	h := &host{dir: t.TempDir()}
	h.start(t)
	t.Cleanup(h.stop)
	return h
}

// start starts the server, or starts it again. It does not flush: what a test of one process kills
// survives in the memory of the system.
func (h *host) start(t testing.TB) {
	t.Helper()
	s, err := server.NewServer(&server.Options{
		JetStream: true, StoreDir: h.dir, DontListen: h.port == 0, Host: "127.0.0.1", Port: h.port,
		NoSigs: true, NoLog: true, MaxPayload: 8 << 20,
		SyncInterval: time.Hour, Users: h.users,
	})
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	if !s.ReadyForConnections(time.Minute) {
		t.Fatal("the server does not start")
	}
	h.server = s
}

// stop ends the server.
func (h *host) stop() {
	h.server.Shutdown()
	h.server.WaitForShutdown()
}

// files is the directory of a stream.
func (h *host) files(stream string) string {
	return filepath.Join(h.dir, "jetstream", "$G", "streams", stream)
}

// options are those of a log with a directory of its own. One failure is enough for it to give up.
func (h *host) options(t testing.TB, stream string) Options {
	return Options{
		Servers: []string{nats.DefaultURL}, Stream: stream, Dir: t.TempDir(), Replicas: 1, Timeout: 30 * time.Second,
		Patience: time.Millisecond, Poll: 10 * time.Millisecond, Connect: []nats.Option{nats.InProcessServer(h.server)},
	}
}

// copyFiles replaces a directory by a copy of another one.
func copyFiles(t testing.TB, from, to string) {
	t.Helper()
	if err := os.RemoveAll(to); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
}
