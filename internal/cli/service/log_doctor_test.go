package service

import (
	"fmt"
	"strings"
	"testing"
	"time"

	natsserver "github.com/nats-io/nats-server/v2/server"

	"github.com/noregret/noregret/internal/cli/clitest"
)

// TestLogDoctor asks a server without and with its monitor, which tells that it does not flush what
// it acknowledges, or that it does.
func TestLogDoctor(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, always := range []bool{false, true} {
		s, err := natsserver.NewServer(&natsserver.Options{
			ServerName: "n0", Host: "127.0.0.1", Port: -1, JetStream: true, StoreDir: t.TempDir(), NoSigs: true,
			NoLog: true, MaxPayload: 8 << 20, SyncAlways: always, SyncInterval: time.Hour, HTTPHost: "127.0.0.1",
			HTTPPort: -1,
		})
		if err != nil {
			t.Fatal(err)
		}
		s.Start()
		if !s.ReadyForConnections(time.Minute) {
			t.Fatal("the NATS server does not start")
		}
		t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
		stream := "--stream-replicas 1 --log " + s.ClientURL()
		usedService(t, fmt.Sprint("data", always), 1000*time.Hour)
		logCommand(t, "export --data data%v -o events.jsonl", always)
		logCommand(t, "import events.jsonl --data node%v %s", always, stream)
		doctor := func(flags string) string {
			t.Helper()
			args := strings.Fields("log doctor " + flags)
			status, out, stderr := cmds.Try(t.Context(), args...)
			if status != 3 || !strings.Contains(stderr, "wrong") { // it has one copy
				t.Errorf("%s: status %d, %s%s", flags, status, out, stderr)
			}
			return strings.Join(strings.Fields(out), " ")
		}
		monitor := " --monitor http://" + s.MonitorAddr().String()
		for _, step := range []struct{ flags, want string }{
			{stream, "ok stream 1 replicas, discard new"},
			{stream, "wrong replicas 1: the loss"},
			{stream, "unknown sync_interval n0 a client cannot see it"},
			{stream + monitor, "ok health n0 ok"},
			{stream + monitor, map[bool]string{
				false: "wrong sync_interval n0 it flushes every 1h0m0s", true: "ok sync_interval n0 always",
			}[always]},
			{stream + " --json" + monitor, `"healthy": false`},
			{"--log " + s.ClientURL(), "wrong stream replicas of the stream is 1: want 3"},
			{stream + " --monitor http://127.0.0.1:1", "unknown monitor http://127.0.0.1:1"},
		} {
			if got := doctor(step.flags); !strings.Contains(got, step.want) {
				t.Errorf("%s: %s: want %q", step.flags, got, step.want)
			}
		}
	}
	cmds.Refused(t,
		clitest.Refusal{"log doctor", "--log: is required"},
		clitest.Refusal{"log doctor --log nats://h:1 --monitor h:2", "--monitor: \"h:2\""},
	)
}
