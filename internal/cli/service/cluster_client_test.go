package service

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/noregret/noregret/internal/cli/clitest"
)

// TestClusterClientRefuses checks the flags of commands that work on servers in nodes' processes.
func TestClusterClientRefuses(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("0123456789abcdef"), 0o600); err != nil {
		t.Fatal(err)
	}
	short := filepath.Join(t.TempDir(), "short")
	if err := os.WriteFile(short, []byte("0123456789"), 0o600); err != nil {
		t.Fatal(err)
	}
	one := "serve --cluster c --peers h:1 --peer h:1 --cluster-secret-file " + secret
	cmds.Refused(t,
		clitest.Refusal{"serve --cluster-client 127.0.0.1:1", "--cluster: --peers, --peer"},
		clitest.Refusal{"serve --cluster-only", "--cluster: --peers, --peer"},
		clitest.Refusal{one + " --cluster-only", "--cluster-only: nothing could use the server"},
		clitest.Refusal{one + " --cluster-client 0.0.0.0:1", "--cluster-client: \"0.0.0.0:1\": want an IP address of"},
		clitest.Refusal{one + " --cluster-client 127.0.0.1", "--cluster-client: \"127.0.0.1\": want HOST:PORT"},
		clitest.Refusal{"log replay --cluster-secret-file " + secret, "--log: --nats-creds"},
		clitest.Refusal{
			"log nodes --log nats://h:1 --cluster-secret-file " + secret, "--log: nats://h:1: the password of",
		},
		clitest.Refusal{"log nodes --log nats://h:1 --cluster-secret-file no", "--cluster-secret-file: open no"},
		clitest.Refusal{
			"log nodes --log nats://h:1 --cluster-secret-file " + short, "--cluster-secret-file: it has 10 bytes",
		},
		clitest.Refusal{
			"log nodes --log nats://h:1 --nats-creds f --cluster-secret-file " + secret,
			"--cluster-secret-file: want it, --nats-password-file or",
		},
	)
}

// inProcess is three nodes with NATS servers in their processes, that speak TLS to each other.
type inProcess struct {
	peers, clients []string
	nodes          []*node
}

// start runs three nodes, or their servers only, on the directories node0 to node2.
func (c *inProcess) start(t *testing.T, flags ...string) {
	t.Helper()
	c.nodes = nil
	for i, peer := range c.peers {
		c.nodes = append(c.nodes, startNode(t, fmt.Sprint("node", i), append([]string{
			"--cluster", "c", "--peers", strings.Join(c.peers, ","), "--peer", peer, "--cluster-secret-file", "secret",
			"--cluster-client", c.clients[i], "--cluster-cert", "cert.pem", "--cluster-key", "key.pem",
			"--cluster-ca", "cert.pem",
		}, flags...)...))
	}
	for i, n := range c.nodes {
		want := n.url
		if len(flags) > 0 {
			want = "nats://" + c.clients[i]
		}
		if line, err := bufio.NewReader(n.out).ReadString('\n'); err != nil || line != "listening on "+want+"\n" {
			t.Fatalf("node %d prints %q: %v, want %q: %s", i, line, err, want, n.said(t))
		}
	}
}

// end ends them all at once, as one that is the last waits for the others.
func (c *inProcess) end(t *testing.T) {
	t.Helper()
	for _, n := range c.nodes {
		n.stop()
	}
	for _, n := range c.nodes {
		n.end(t)
	}
}

// log are the flags of a command that works on the log by a server.
func (c *inProcess) log(i int) string {
	return "--cluster-secret-file secret --log nats://" + c.clients[i]
}

// TestClusterClient goes through what people do with the log of nodes with NATS servers in their
// processes: move a log into their servers, examine and verify the copies while nodes run, forget a
// node, restore a backup to new servers, and go back to one node.
func TestClusterClient(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("secret", []byte("0123456789abcdef\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	peerPair(t)
	usedService(t, "data", 1000*time.Hour)
	want := digest(t, "--data data")
	logCommand(t, "export --data data -o events.jsonl")
	c := &inProcess{}
	for range 3 {
		c.peers, c.clients = append(c.peers, freeAddress(t)), append(c.clients, freeAddress(t))
	}

	c.start(t, "--cluster-only")
	logCommand(t, "import events.jsonl --data node0 %s", c.log(0))
	for i := range c.peers {
		if got := digest(t, c.log(i)); got != want {
			t.Errorf("by server %d: %+v, want %+v", i, got, want)
		}
	}
	c.end(t)

	keys, err := os.ReadFile("data/keys.json")
	if err != nil {
		t.Fatal(err)
	}
	for i := range c.peers {
		if err := os.WriteFile(fmt.Sprintf("node%d/keys.json", i), keys, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c.start(t)
	for _, n := range c.nodes {
		n.ask(t, "POST", "/v1/experiments/coin/decide", `{"units": ["u"]}`, http.StatusOK)
	}
	var doctor struct {
		Conditions []struct{ What, Server, State, Message string }
		Healthy    bool
	}
	// A copy may be behind, or its server not heard of, for a short time after the start.
	args := strings.Fields("log doctor --json " + c.log(1))
	status, printed, said := cmds.Try(t.Context(), args...)
	for tries := 0; status != 0 && tries < 100; tries++ {
		status, printed, said = cmds.Try(t.Context(), args...)
	}
	if err := json.Unmarshal([]byte(printed), &doctor); err != nil || status != 0 {
		t.Fatalf("status %d, %v: %s%s", status, err, printed, said)
	}
	copies := 0
	for _, d := range doctor.Conditions {
		if d.What == "copy" && d.State == "ok" {
			copies++
		}
	}
	if !doctor.Healthy || copies != 3 {
		t.Errorf("the doctor says %+v", doctor)
	}
	if got := logCommand(t, "verify %s", c.log(2)); !strings.Contains(got, "all copies are sound and the same") ||
		strings.Count(got, "copy of ") != 3 {
		t.Errorf("verify says %s", got)
	}
	var listed struct{ Nodes []struct{ Name string } }
	if err := json.Unmarshal([]byte(logCommand(t, "nodes --json %s", c.log(0))), &listed); err != nil {
		t.Fatal(err)
	}
	backup := cmds.Printed(t, "backup", "--server", c.nodes[0].url, "-o", "backup.tar")
	c.end(t)

	// A node that ends saves a snapshot: then the log keeps events for it.
	c.start(t, "--cluster-only")
	if err := json.Unmarshal([]byte(logCommand(t, "nodes --json %s", c.log(0))), &listed); err != nil {
		t.Fatal(err)
	}
	if len(listed.Nodes) == 0 {
		t.Error("the log keeps events for no node")
	}
	for _, n := range listed.Nodes {
		logCommand(t, "forget-node --node %s %s", n.Name, c.log(1))
	}
	// A server may list it until it has heard of that.
	for tries := 0; strings.Contains(logCommand(t, "nodes --json %s", c.log(2)), `"name"`); tries++ {
		if tries == 1000 {
			t.Fatal("a node is still there that was forgotten")
		}
	}
	want = digest(t, c.log(0))
	logCommand(t, "export -o back.jsonl %s", c.log(0))
	logCommand(t, "import back.jsonl --data alone")
	if got := digest(t, "--data alone"); got != want {
		t.Errorf("back on one node: %+v, want %+v", got, want)
	}
	c.end(t)

	for i := range c.peers {
		if err := os.RemoveAll(fmt.Sprint("node", i)); err != nil {
			t.Fatal(err)
		}
	}
	c.start(t, "--cluster-only")
	restored := cmds.Printed(t, append([]string{"restore", "backup.tar", "--data", "restored"},
		strings.Fields(c.log(0))...)...)
	if got := digest(t, c.log(1)); got.Digest == "" || !strings.Contains(restored, got.Digest) {
		t.Errorf("%s: restored %s, want the digest %s", backup, restored, got.Digest)
	}
	c.end(t)
	for _, file := range []string{"keys.json", "stream"} {
		if err := os.Rename(filepath.Join("restored", file), filepath.Join("node0", file)); err != nil {
			t.Fatal(err)
		}
	}
	for i := range c.peers[1:] {
		if err := os.WriteFile(fmt.Sprintf("node%d/keys.json", i+1), keys, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c.start(t)
	for _, n := range c.nodes {
		n.ask(t, "POST", "/v1/experiments/coin/decide", `{"units": ["u"]}`, http.StatusOK)
	}
	c.end(t)
}

// peerPair writes cert.pem, which has signed itself and names this machine, and key.pem.
func peerPair(t *testing.T) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotAfter: time.Unix(1<<33, 0), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		IsCA:        true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	der, err := x509.CreateCertificate(rand.Reader, c, c, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	for path, block := range map[string]*pem.Block{
		"cert.pem": {Type: "CERTIFICATE", Bytes: der}, "key.pem": {Type: "PRIVATE KEY", Bytes: secret},
	} {
		if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
