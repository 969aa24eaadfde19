package service

import (
	"testing"
	"time"

	"github.com/noregret/noregret/internal/cli/clitest"
	"github.com/noregret/noregret/server"
)

// TestServeRefuses checks that bad flags are found before a directory is made or an address is
// opened.
func TestServeRefuses(t *testing.T) {
	cmds.Refused(t,
		clitest.Refusal{"serve --drain -1s", "--drain: -1s is out of range, want a length of time"},
		clitest.Refusal{"serve --tls-cert cert.pem", "--tls-cert: TLS needs both"},
		clitest.Refusal{"serve --tls-key key.pem", "--tls-cert: TLS needs both"},
		clitest.Refusal{"serve --listen 0.0.0.0:0", "listen: 0.0.0.0:0 can be reached by others"},
		clitest.Refusal{"serve --rate -1", "rate: -1: want"},
		clitest.Refusal{"serve --max-items -1", "max items: -1: want at least 1"},
		clitest.Refusal{"serve --max-items 0", "max items: 0: want at least 1"},
		clitest.Refusal{"serve --retain 0s", "retain: 0s: want a length of time above 0"},
		clitest.Refusal{"serve --data=", "data: \"\": want a directory"},
		clitest.Refusal{"serve --log-level loud", "invalid argument \"loud\""},
		clitest.Refusal{"serve --cors-origin *", "origins: \"*\": want an exact origin"},
		clitest.Refusal{"serve --cors-feedback", "cors feedback: true: want an origin, too"},
		clitest.Refusal{"serve --pprof 0.0.0.0:6060", "pprof: 0.0.0.0:6060: want a loopback address"},
		clitest.Refusal{"serve --access-log no/such/directory", "--access-log: the file cannot be written"},
		clitest.Refusal{"serve --traces 127.0.0.1:4318", "--traces: \"127.0.0.1:4318\": want the URL of a collector"},
		clitest.Refusal{"serve now", "serve takes no arguments, got \"now\""},
	)
}

// TestServeRetain checks that a negative --retain keeps all events and that any other value is
// passed on.
func TestServeRetain(t *testing.T) {
	for _, c := range []struct {
		retain, want time.Duration
		all          bool
	}{{-1, 0, true}, {-time.Hour, 0, true}, {time.Hour, time.Hour, false}} {
		o := serveOptions{Config: server.DefaultConfig("data")}
		o.Retain = c.retain
		got := o.config()
		if got.Retain != c.want || got.RetainAll != c.all {
			t.Errorf("--retain %v: %v, all %t", c.retain, got.Retain, got.RetainAll)
		}
		if err := got.Validate(); err != nil {
			t.Errorf("--retain %v: %v", c.retain, err)
		}
	}
}

// TestServeZeros: 0 is the default number of events between snapshots, and a burst of the rate.
func TestServeZeros(t *testing.T) {
	o := serveOptions{Config: server.DefaultConfig("data")}
	o.SnapshotEvery, o.Rate = 0, 7.9
	got := o.config()
	if got.SnapshotEvery != 100_000 || got.Burst != 7 {
		t.Errorf("a snapshot every %d events, a burst of %d", got.SnapshotEvery, got.Burst)
	}
	if err := got.Validate(); err != nil {
		t.Error(err)
	}
}
