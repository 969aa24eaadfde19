package service

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	natsserver "github.com/nats-io/nats-server/v2/server"

	"github.com/noregret/noregret/api"
	"github.com/noregret/noregret/client"
	"github.com/noregret/noregret/internal/cli/clitest"
	"github.com/noregret/noregret/server"
)

// startNATS runs a NATS server in this process until the test ends and returns its address.
func startNATS(t *testing.T, users ...*natsserver.User) string {
	t.Helper()
	s, err := natsserver.NewServer(&natsserver.Options{
		Host: "127.0.0.1", Port: -1, JetStream: true, StoreDir: t.TempDir(), NoSigs: true, NoLog: true,
		MaxPayload: 8 << 20, Users: users, SyncInterval: time.Hour, // no test of the disk
	})
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	if !s.ReadyForConnections(time.Minute) {
		t.Fatal("the NATS server does not start")
	}
	t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
	return s.ClientURL()
}

// clockedService starts a service whose time a test moves, with a client of it. The function that
// it returns ends the service.
func clockedService(t *testing.T, data string, retain time.Duration, clock *atomic.Int64) (
	s *server.Server, c *client.Client, stop func(),
) {
	t.Helper()
	clock.Store(time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC).UnixNano())
	config := server.DefaultConfig(data)
	config.Tick, config.Retain, config.Logger = time.Hour, retain, slog.New(slog.DiscardHandler)
	config.Now = func() time.Time { return time.Unix(0, clock.Load()) }
	s, err := server.New(config)
	if err != nil {
		t.Fatal(err)
	}
	h := httptest.NewServer(s.Handler())
	t.Cleanup(h.Close)
	return s, clientOf(t, h.URL), func() {
		t.Helper()
		h.Close()
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// usedService makes the data directory of a service that has decided, taken feedback and, if it
// retains events for a limited time only, dropped its first ones.
func usedService(t *testing.T, data string, retain time.Duration) {
	t.Helper()
	var clock atomic.Int64
	s, c, stop := clockedService(t, data, retain, &clock)
	if _, err := c.Apply(t.Context(), "coin", []byte(coinDefinition)); err != nil {
		t.Fatal(err)
	}
	for i := range 300 {
		ds, err := c.Decide(t.Context(), "coin", fmt.Sprint("u", i))
		if err != nil {
			t.Fatal(err)
		}
		won := api.FeedbackItem{Token: ds[0].Token, Metrics: map[string]float64{"won": float64(i % 2)}}
		if f, err := c.Feedback(t.Context(), won); err != nil || f.Accepted != 1 {
			t.Fatal(f, err)
		}
		if i%100 == 50 {
			clock.Add(int64(time.Hour))
			s.Tick()
		}
	}
	stop()
}

// logCommand runs a command on a log and returns what it prints.
func logCommand(t *testing.T, format string, args ...any) string {
	t.Helper()
	return cmds.Printed(t, append([]string{"log"}, strings.Fields(fmt.Sprintf(format, args...))...)...)
}

// digest returns where a log ends and the digest of the state there, by a replay.
func digest(t *testing.T, source string) (out api.StateName) {
	t.Helper()
	text := logCommand(t, "replay --json %s", source)
	if err := json.Unmarshal([]byte(text), &out); err != nil || out.Digest == "" {
		t.Fatalf("%s: %v: %s", source, err, text)
	}
	return out
}

// TestMoves moves a log from a directory to a stream of NATS and back, whole and without its first
// events: each event keeps its position and bytes, and the state is the same.
func TestMoves(t *testing.T) {
	t.Chdir(t.TempDir())
	nats := startNATS(t)
	for name, retain := range map[string]time.Duration{"whole": 1000 * time.Hour, "dropped": 30 * time.Minute} {
		t.Run(name, func(t *testing.T) {
			data, stream := name, fmt.Sprintf("--log %s --stream-replicas 1 --stream %s", nats, name)
			usedService(t, data, retain)
			want, snapshot := digest(t, "--data "+data), ""
			logCommand(t, "export --data %s -o %s.jsonl --snapshot %s.state", data, name, name)
			if _, err := os.Stat(name + ".state"); err == nil {
				snapshot = "--snapshot " + name + ".state"
			} else if retain < time.Hour || !errors.Is(err, os.ErrNotExist) {
				t.Fatal(err)
			}
			logCommand(t, "import %s.jsonl --data %s-node %s %s", name, name, snapshot, stream)
			if got := digest(t, stream); got != want {
				t.Errorf("the stream: %+v, want %+v", got, want)
			}
			if got := digest(t, stream+" --data "+name+"-node"); got != want {
				t.Errorf("the stream with the node's directory: %+v, want %+v", got, want)
			}
			logCommand(t, "export %s -o %s.back.jsonl --snapshot %s.back.state", stream, name, name)
			if snapshot != "" {
				snapshot = "--snapshot " + name + ".back.state"
			}
			logCommand(t, "import %s.back.jsonl --data %s-back %s", name, name, snapshot)
			if got := digest(t, "--data "+name+"-back"); got != want {
				t.Errorf("the directory again: %+v, want %+v", got, want)
			}
			for _, file := range []string{".jsonl", ".state"} {
				first, err := os.ReadFile(name + file)
				again, other := os.ReadFile(name + ".back" + file)
				if string(first) != string(again) || os.IsNotExist(err) != os.IsNotExist(other) {
					t.Errorf("%s%s: %d bytes, and %d after the moves", name, file, len(first), len(again))
				}
			}
			// A node starts where the log ends, also one with an empty directory.
			for _, dir := range []string{name + "-node", name + "-other"} {
				n := startNode(t, dir, append(strings.Fields(stream), "--new-keys")...)
				n.listens(t)
				n.ask(t, "GET", "/v1/experiments/coin", "", 200)
				n.end(t)
			}
		})
	}
}

// TestRestoreToStream restores a backup to a stream, also one that another call has begun, and not
// over another log.
func TestRestoreToStream(t *testing.T) {
	t.Chdir(t.TempDir())
	nats := startNATS(t)
	usedService(t, "data", 30*time.Minute)
	usedService(t, "whole", 1000*time.Hour)
	want := digest(t, "--data data")
	cmds.Printed(t, "backup", "--data", "data", "-o", "backup.tar")
	cmds.Printed(t, "backup", "--data", "whole", "-o", "whole.tar")
	stream := fmt.Sprintf("--log %s --stream-replicas 1", nats)
	restore := func(file, to string) []string {
		return append([]string{"restore", file, "--data", to}, strings.Fields(stream)...)
	}
	for _, to := range []string{"first", "second"} { // the second as after a call that broke off
		if got := cmds.Printed(t, restore("backup.tar", to)...); !strings.Contains(got, want.Digest) {
			t.Errorf("%s: %q, want the digest %s", to, got, want.Digest)
		}
		if got := digest(t, "--data "+to+" "+stream); got != want {
			t.Errorf("%s: %+v, want %+v", to, got, want)
		}
		if files, err := os.ReadDir(to); err != nil || len(files) != 2 {
			t.Errorf("%s has %v, %v: want keys.json and stream", to, files, err)
		}
	}
	if status, _, stderr := cmds.Try(t.Context(), restore("whole.tar", "third")...); status != 3 ||
		!strings.Contains(stderr, "other events there") {
		t.Errorf("another log: status %d, %s", status, stderr)
	}
	if files, err := os.ReadDir("third"); err != nil || len(files) != 0 {
		t.Errorf("third has %v, %v", files, err)
	}
	n := startNode(t, "first", strings.Fields(stream)...)
	n.listens(t)
	n.ask(t, "POST", "/v1/experiments/coin/decide", `{"units": ["u"]}`, 200)
}

// TestImportAgain repeats an import that was interrupted, into a directory and into a stream, and
// refuses an export of another log.
func TestImportAgain(t *testing.T) {
	t.Chdir(t.TempDir())
	nats := startNATS(t)
	usedService(t, "data", 30*time.Minute)
	want := digest(t, "--data data")
	logCommand(t, "export --data data -o whole.jsonl --snapshot state")
	whole, err := os.ReadFile("whole.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(string(whole), "\n")
	lines = lines[:len(lines)-1]
	write := func(name string, lines []string) {
		t.Helper()
		if err := os.WriteFile(name, []byte(strings.Join(lines, "")), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("broken.jsonl", append(append([]string{}, lines[:20]...), "{"))
	other := append([]string{}, lines...)
	other[10] = strings.Replace(other[10], `"time":1`, `"time":2`, 1)
	write("other.jsonl", other)
	for _, to := range []string{"--data copy", "--data node --stream-replicas 1 --log " + nats} {
		args := strings.Fields("log import broken.jsonl --snapshot state " + to)
		if status, _, stderr := cmds.Try(t.Context(), args...); status != 3 || !strings.Contains(stderr,
			"broken.jsonl:21: not a line") {
			t.Errorf("%s: status %d, %s", to, status, stderr)
		}
		args[2] = "other.jsonl"
		if status, _, stderr := cmds.Try(t.Context(), args...); status != 3 || !strings.Contains(stderr,
			"the log has other events there") {
			t.Errorf("%s: status %d, %s", to, status, stderr)
		}
		for _, n := range []int{len(lines) - 20, 0} {
			said := fmt.Sprintf("imported %d events, the log ends at %d\n", n, want.Position)
			if got := logCommand(t, "import whole.jsonl --snapshot state %s", to); got != said {
				t.Errorf("%s: %q, want %q", to, got, said)
			}
			if got := digest(t, to); got != want {
				t.Errorf("%s: %+v, want %+v", to, got, want)
			}
		}
	}
}

// TestVerifyStream verifies a stream, also against the directory of a node that has seen another
// one.
func TestVerifyStream(t *testing.T) {
	t.Chdir(t.TempDir())
	nats := startNATS(t)
	usedService(t, "data", 1000*time.Hour)
	logCommand(t, "export --data data -o events.jsonl")
	stream := func(name string) string { return fmt.Sprintf("--log %s --stream-replicas 1 --stream %s", nats, name) }
	logCommand(t, "import events.jsonl --data node %s", stream("a"))
	last := digest(t, "--data data").Position
	for _, args := range []string{"", " --data node"} {
		got := logCommand(t, "verify %s", stream("a")+args)
		if !strings.Contains(got, fmt.Sprintf("1 to %d\n", last)) || !strings.HasSuffix(got,
			"all copies are sound and the same\n") {
			t.Errorf("%q", got)
		}
	}
	if got := logCommand(t, "verify --json %s", stream("a")); !strings.Contains(got, `"findings": []`) {
		t.Errorf("%q", got)
	}
	logCommand(t, "import events.jsonl --data other %s", stream("b"))
	args := strings.Fields("log verify --data node " + stream("b"))
	if status, out, stderr := cmds.Try(t.Context(), args...); status != 3 || !strings.Contains(stderr,
		"it was created at") || !strings.Contains(out, "all copies are sound") {
		t.Errorf("status %d, %s%s", status, out, stderr)
	}
}

// TestForgetNode lists the nodes of a stream and forgets one.
func TestForgetNode(t *testing.T) {
	t.Chdir(t.TempDir())
	stream := "--stream-replicas 1 --log " + startNATS(t)
	usedService(t, "data", 30*time.Minute)
	logCommand(t, "export --data data -o events.jsonl --snapshot state")
	logCommand(t, "import events.jsonl --snapshot state --data node %s", stream)
	b, err := os.ReadFile("node/stream/node")
	if err != nil {
		t.Fatal(err)
	}
	name := strings.TrimSpace(string(b))
	if got := logCommand(t, "nodes --data node %s", stream); !strings.Contains(got, name) ||
		!strings.Contains(got, "--data") {
		t.Errorf("%q", got)
	}
	args := strings.Fields("log forget-node --node other " + stream)
	if status, _, stderr := cmds.Try(t.Context(), args...); status != 3 || !strings.Contains(stderr, name) {
		t.Errorf("status %d, %s", status, stderr)
	}
	logCommand(t, "forget-node --node %s %s", name, stream)
	if got := logCommand(t, "nodes --json %s", stream); got != "{\n  \"nodes\": []\n}\n" {
		t.Errorf("%q", got)
	}
}

// TestStreamRefuses checks the flags of the commands on a stream.
func TestStreamRefuses(t *testing.T) {
	t.Chdir(t.TempDir())
	cmds.Refused(t,
		clitest.Refusal{"log export --log nats://h:1 --server http://h:2", "--log: and --server exclude each other"},
		clitest.Refusal{"log nodes", "--log: is required"},
		clitest.Refusal{"log forget-node --log nats://h:1", "--node: is required"},
		clitest.Refusal{"log verify --nats-creds c", "--log: --nats-creds, --nats-"},
		clitest.Refusal{"log verify --stream shop", "--log: --stream and --stream-replicas"},
		clitest.Refusal{"log import f --log h:1", "--log: an address without nats://"},
		clitest.Refusal{"log replay --log nats://h:1 --stream a.b", "jetstream.Options: Stream is \"a.b\""},
		clitest.Refusal{"log verify --log nats://h:1 --nats-key k", "--nats-cert: a client of NATS needs both"},
	)
	args := strings.Fields("log export --log nats://127.0.0.1:1 --data nowhere")
	if status, _, stderr := cmds.Try(t.Context(), args...); status != 3 || !strings.Contains(stderr, "no log here") {
		t.Errorf("status %d, %s", status, stderr)
	}
	if _, err := os.Stat("nowhere"); err == nil {
		t.Error("it makes the directory")
	}
}
