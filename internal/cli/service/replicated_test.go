package service

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	natsserver "github.com/nats-io/nats-server/v2/server"

	"github.com/noregret/noregret/internal/cli/clitest"
)

// TestReplicatedRefuses checks that flags of a shared log that do not go together are found before
// anything is made.
func TestReplicatedRefuses(t *testing.T) {
	cmds.Refused(t,
		clitest.Refusal{"serve --log 127.0.0.1:4222", "--log: an address without nats://"},
		clitest.Refusal{"serve --log nats://h:1 --stream a.b", "jetstream.Options: Stream is \"a.b\""},
		clitest.Refusal{"serve --log nats://h:1 --stream-replicas 2", "jetstream.Options: Replicas is 2"},
		clitest.Refusal{"serve --log nats://u:p@h:1", "--log: an address with a user"},
		clitest.Refusal{"log verify --log nats://u:p@h:1", "--log: an address with a user"},
		clitest.Refusal{"serve --log nats://h:1 --nats-password-file no", "--nats-password-file: open no"},
		clitest.Refusal{
			"serve --log nats://h:1 --nats-creds a --nats-password-file no", "--nats-password-file: want it or",
		},
		clitest.Refusal{"serve --log nats://h:1 --nats-key k", "--nats-cert: a client of NATS needs both"},
		clitest.Refusal{"serve --nats-creds c", "--log: --advertise, --rules, --nats-creds"},
		clitest.Refusal{"serve --stream shop", "--log: --stream and --stream-replicas"},
		clitest.Refusal{"serve --rules 1", "--log: --advertise, --rules, --nats-creds"},
		clitest.Refusal{"serve --log nats://127.0.0.1:1 --rules 2", "cluster rules: 2: want 0 to 1, the last version"},
		clitest.Refusal{"serve --peers h:1", "--cluster: --peers, --peer"},
		clitest.Refusal{"serve --cluster c --log nats://h:1", "--cluster: it is in place of --log"},
		clitest.Refusal{"serve --cluster c --nats-ca f", "--cluster: it is in place of --log"},
		clitest.Refusal{"serve --cluster c --peers h:1,h:2", "--peers: 2: want three or five"},
		clitest.Refusal{"serve --cluster c --peers h:1,h:2,h:3", "--peer: \"\": want one of the peers"},
		clitest.Refusal{"serve --cluster c --peers h:1 --peer h:1", "--cluster-secret-file: none"},
		clitest.Refusal{"serve --log nats://10.0.0.9:1 --listen 127.0.0.1:8430", "--advertise: \"\" is out of range"},
		clitest.Refusal{
			"serve --log nats://127.0.0.1:1 --advertise http://0.0.0.0:8430",
			"cluster address: \"http://0.0.0.0:8430\": no other node can reach that",
		},
		clitest.Refusal{"serve --cluster-cert c", "--cluster: --peers, --peer"},
		clitest.Refusal{"serve --cluster-ca c", "--cluster-ca: it is for a log of several nodes"},
		clitest.Refusal{"serve --cluster c --cluster-ca c", "--cluster-cert: TLS between peers needs"},
		clitest.Refusal{"serve --log nats://127.0.0.1:1 --listen 127.0.0.1:1 --cluster-ca no", "--cluster-ca: open no"},
		clitest.Refusal{"serve --cluster c --cluster-secret-file no", "--cluster-secret-file: open no"},
	)
}

// TestPasswordFile runs a node on a server of NATS that wants a password.
func TestPasswordFile(t *testing.T) {
	nats := startNATS(t, &natsserver.User{Username: "shop", Password: "of: the shop"})
	file := filepath.Join(t.TempDir(), "password")
	for text, want := range map[string]string{"shop": "want one line", "shop:of: the shop\n": ""} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		flags := []string{"--log", nats, "--stream-replicas", "1", "--nats-password-file", file}
		if want == "" {
			startNode(t, t.TempDir(), flags...).listens(t)
			continue
		}
		args := append([]string{"serve", "--data", t.TempDir()}, flags...)
		if status, _, stderr := cmds.Try(t.Context(), args...); status != 2 || !strings.Contains(stderr, want) {
			t.Errorf("%q: status %d: %s", text, status, stderr)
		}
	}
}

// TestOneKindOfLog checks that a directory belongs to one log: that in it, or a shared one.
func TestOneKindOfLog(t *testing.T) {
	for _, c := range []struct{ dir, flags, want string }{
		{"log", "--log nats://127.0.0.1:1", "has a log of its own"},
		{"stream", "", "is a stream of NATS"},
	} {
		data := t.TempDir()
		if err := os.Mkdir(filepath.Join(data, c.dir), 0o700); err != nil {
			t.Fatal(err)
		}
		args := append([]string{"serve", "--data", data}, strings.Fields(c.flags)...)
		if status, _, stderr := cmds.Try(t.Context(), args...); status != 2 || !strings.Contains(stderr, c.want) {
			t.Errorf("%s: status %d: %s", c.dir, status, stderr)
		}
	}
}

// node is a service that runs in this process.
type node struct {
	url  string
	data string
	stop context.CancelFunc
	done chan int
	out  io.Reader
	logs *os.File
}

// freeAddress returns an address of this machine that nobody uses.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	return l.Addr().String()
}

// startNode runs a node on a directory until the test ends or it is stopped.
func startNode(t *testing.T, data string, flags ...string) *node {
	t.Helper()
	address := freeAddress(t)
	ctx, cancel := context.WithCancel(context.Background())
	n := &node{url: "http://" + address, data: data, stop: cancel, done: make(chan int, 1)}
	var err error
	if n.logs, err = os.CreateTemp(t.TempDir(), "log"); err != nil {
		t.Fatal(err)
	}
	r, w := io.Pipe()
	go func() {
		args := append([]string{"serve", "--listen", address, "--data", data}, flags...)
		n.done <- cmds.Run(ctx, args, strings.NewReader(""), w, n.logs)
		_ = w.Close()
	}()
	t.Cleanup(func() { n.end(t) })
	n.out = r
	return n
}

// listens waits until a node takes requests.
func (n *node) listens(t *testing.T) {
	t.Helper()
	if line, err := bufio.NewReader(n.out).ReadString('\n'); err != nil || !strings.HasPrefix(line, "listening on ") {
		t.Fatalf("it prints %q: %v: %s", line, err, n.said(t))
	}
}

// said returns what a node has logged.
func (n *node) said(t *testing.T) string {
	b, err := os.ReadFile(n.logs.Name())
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// end stops a node.
func (n *node) end(t *testing.T) {
	t.Helper()
	if n.stop == nil {
		return
	}
	n.stop()
	n.stop = nil
	if status := <-n.done; status != 0 {
		t.Errorf("a node ends with status %d: %s", status, n.said(t))
	}
	_ = n.logs.Close()
}

// ask sends a request until the answer is the status, and returns its body.
func (n *node) ask(t *testing.T, method, path, body string, want int) string {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for end := time.After(time.Minute); ; {
		r, err := http.NewRequestWithContext(t.Context(), method, n.url+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		if method == "PUT" {
			r.Header.Set("Content-Type", "application/yaml")
		}
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(answer.Body)
		if err := answer.Body.Close(); err != nil {
			t.Error(err)
		}
		if err == nil && answer.StatusCode == want {
			return string(got)
		}
		select {
		case <-tick.C:
		case <-end:
			t.Fatalf("%s %s: %s %s: %s", method, path, answer.Status, got, n.said(t))
		}
	}
}

// decides lets a node decide.
func (n *node) decides(t *testing.T, unit int) {
	t.Helper()
	body := fmt.Sprintf(`{"units": ["u%d"]}`, unit)
	if got := n.ask(t, "POST", "/v1/experiments/toy/decide", body, http.StatusOK); !strings.Contains(got, `"token"`) {
		t.Errorf("%s", got)
	}
}

// TestNodes runs two nodes on one log: an experiment that one takes is decided by both, also after
// the node that led has ended.
func TestNodes(t *testing.T) {
	nats := startNATS(t)
	first, second := t.TempDir(), t.TempDir()
	a := startNode(t, first, "--log", nats, "--stream-replicas", "1")
	a.listens(t)
	keys, err := os.ReadFile(filepath.Join(first, "keys.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(second, "keys.json"), keys, 0o600); err != nil {
		t.Fatal(err)
	}
	b := startNode(t, second, "--log", nats, "--stream-replicas", "1")
	b.listens(t)
	definition := cmds.Printed(t, "experiment", "example")
	a.ask(t, "GET", "/readyz", "", http.StatusOK)
	b.ask(t, "PUT", "/v1/experiments/toy", definition, http.StatusCreated) // which a takes
	for _, n := range []*node{a, b} {
		n.ask(t, "GET", "/v1/experiments/toy", "", http.StatusOK)
		n.decides(t, 1)
	}
	a.end(t)
	other := strings.ReplaceAll(definition, "toy", "other")
	b.ask(t, "PUT", "/v1/experiments/other", other, http.StatusCreated)
	b.decides(t, 2)
}

// TestCluster runs three nodes with NATS servers in their processes: what one takes all decide,
// also after one has ended.
func TestCluster(t *testing.T) {
	var peers []string
	for range 3 {
		peers = append(peers, freeAddress(t))
	}
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("0123456789abcdef\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var nodes []*node
	for _, peer := range peers {
		data := t.TempDir()
		keys := `{"current": 1, "secrets": {"1": "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="}}`
		if err := os.WriteFile(filepath.Join(data, "keys.json"), []byte(keys), 0o600); err != nil {
			t.Fatal(err)
		}
		nodes = append(nodes, startNode(t, data, "--cluster", "c", "--peers", strings.Join(peers, ","),
			"--peer", peer, "--cluster-secret-file", secret))
	}
	for _, n := range nodes {
		n.listens(t)
	}
	definition := cmds.Printed(t, "experiment", "example")
	nodes[1].ask(t, "PUT", "/v1/experiments/toy", definition, http.StatusCreated)
	for i, n := range nodes {
		n.ask(t, "GET", "/v1/experiments/toy", "", http.StatusOK)
		n.decides(t, i)
	}
	nodes[0].end(t)
	other := strings.ReplaceAll(definition, "toy", "other")
	nodes[2].ask(t, "PUT", "/v1/experiments/other", other, http.StatusCreated)
	nodes[1].ask(t, "GET", "/v1/experiments/other", "", http.StatusOK)
}
