package nats

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	client "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/noregret/noregret"
)

// startServer starts a server on the loopback interface and returns its address and a stream of it.
func startServer(t *testing.T, messages ...string) (address string, js jetstream.JetStream) {
	t.Helper()
	s, err := server.NewServer(&server.Options{
		Host: "127.0.0.1", Port: server.RANDOM_PORT, JetStream: true, StoreDir: t.TempDir(), NoLog: true, NoSigs: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
	if !s.ReadyForConnections(30 * time.Second) {
		t.Fatal("the server does not start")
	}
	conn, err := client.Connect(s.ClientURL())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	if js, err = jetstream.New(conn); err != nil {
		t.Fatal(err)
	}
	_, err = js.CreateStream(t.Context(), jetstream.StreamConfig{Name: "CLICKS", Subjects: []string{"clicks.>"}})
	if err != nil {
		t.Fatal(err)
	}
	publish(t, js, messages...)
	return s.ClientURL() + "/CLICKS", js
}

func publish(t *testing.T, js jetstream.JetStream, messages ...string) {
	t.Helper()
	for _, m := range messages {
		if _, err := js.Publish(t.Context(), "clicks.a", []byte(m)); err != nil {
			t.Fatal(err)
		}
	}
}

const idle = 50 * time.Millisecond

// Idle ends the copy only when the stream has no other message, however long each takes to come.
func TestCopy(t *testing.T) {
	var lines []string
	for i := range 2500 {
		lines = append(lines, fmt.Sprintf("%d 1:0.5", i))
	}
	address, _ := startServer(t, lines...)
	want := strings.Join(lines, "\n") + "\n"
	var saved []uint64
	for _, c := range []struct {
		from   uint64
		limit  int64
		want   string
		saved  []uint64
		wanted int64
	}{
		{0, 0, want, []uint64{1001, 2001, 2501}, 2500},
		{0, 3, "0 1:0.5\n1 1:0.5\n2 1:0.5\n", []uint64{4}, 3},
		{2499, 0, "2498 1:0.5\n2499 1:0.5\n", []uint64{2501}, 2},
		{2501, 0, "", nil, 0},
	} {
		saved = nil
		var out bytes.Buffer
		opt := Options{From: c.from, Limit: c.limit, Idle: idle, Save: func(next uint64) error {
			if lines := bytes.Count(out.Bytes(), []byte("\n")); uint64(lines)+max(c.from, 1) != next {
				t.Errorf("position %d after %d lines", next, lines)
			}
			saved = append(saved, next)
			return nil
		}}
		n, err := Copy(t.Context(), &out, address, opt)
		if err != nil || n != c.wanted || out.String() != c.want || !slices.Equal(saved, c.saved) {
			t.Errorf("from %d, limit %d: %d messages, %v, %d bytes, saved %d", c.from, c.limit, n, err,
				out.Len(), saved)
		}
	}
}

// A line does not wait for the next message.
func TestLinesComeAtOnce(t *testing.T) {
	address, js := startServer(t, "1 1:1", "0 1:2\n")
	ctx, cancel := context.WithCancel(t.Context())
	var out bytes.Buffer
	var saved uint64
	n, err := Copy(ctx, &out, address, Options{Save: func(next uint64) error {
		if saved = next; next == 3 {
			publish(t, js, "", "1 1:3\r\n")
		}
		if next >= 5 {
			cancel()
		}
		return nil
	}})
	if !errors.Is(err, context.Canceled) || n != 4 || saved != 5 || out.String() != "1 1:1\n0 1:2\n1 1:3\n" {
		t.Errorf("%d messages, %v, position %d, %q", n, err, saved, out.String())
	}
}

func TestDeletedMessages(t *testing.T) {
	address, js := startServer(t, "a", "b", "c", "d", "e")
	stream, err := js.Stream(t.Context(), "CLICKS")
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []uint64{1, 3, 5} {
		if err := stream.DeleteMsg(t.Context(), n); err != nil {
			t.Fatal(err)
		}
	}
	var out bytes.Buffer
	n, err := Copy(t.Context(), &out, address, Options{Idle: idle})
	if err != nil || n != 2 || out.String() != "b\nd\n" {
		t.Errorf("%d messages, %v, %q", n, err, out.String())
	}
	for from, want := range map[uint64]string{
		1: "/CLICKS: the messages 1 to 1 are no longer in the stream",
		9: "/CLICKS: the stream ends with message 5, and the position is 9",
	} {
		_, err := Copy(t.Context(), &out, address, Options{From: from, Idle: idle})
		if noregret.CodeOf(err) != noregret.BadInput || !strings.Contains(err.Error(), want) {
			t.Errorf("from %d: %v", from, err)
		}
	}
}

func TestFaults(t *testing.T) {
	address, js := startServer(t, "a", "b\nc")
	var out bytes.Buffer
	var saved uint64
	n, err := Copy(t.Context(), &out, address, Options{Idle: idle, Save: func(next uint64) error {
		saved = next
		return nil
	}})
	if noregret.CodeOf(err) != noregret.BadInput || n != 1 || saved != 2 || out.String() != "a\n" ||
		!strings.Contains(err.Error(), "/CLICKS, message 2: a message must be one line") {
		t.Errorf("%d messages, %v, position %d, %q", n, err, saved, out.String())
	}
	// What could not be written is not counted as written.
	saved = 0
	_, err = Copy(t.Context(), failing{}, address, Options{Limit: 1, Save: func(next uint64) error {
		saved = next
		return nil
	}})
	if noregret.CodeOf(err) != noregret.Internal || saved != 0 || !strings.Contains(err.Error(), "cannot be written") {
		t.Errorf("%v, position %d", err, saved)
	}
	if err := js.DeleteStream(t.Context(), "CLICKS"); err != nil {
		t.Fatal(err)
	}
	if _, err := Copy(t.Context(), &out, address, Options{}); noregret.CodeOf(err) != noregret.NotFound {
		t.Errorf("no stream: %v", err)
	}
	for _, a := range []string{"nats://h:1", "nats:///S", "http://h/S", "nats://h/a/b", "nats://h/a.b", "://"} {
		if _, err := Copy(t.Context(), &out, a, Options{}); noregret.CodeOf(err) != noregret.Usage {
			t.Errorf("%q: %v", a, err)
		}
	}
	_, err = Copy(t.Context(), &out, "nats://ann:secret@127.0.0.1:1/S", Options{})
	if noregret.CodeOf(err) != noregret.Internal || strings.Contains(err.Error(), "secret") {
		t.Errorf("no server: %v", err)
	}
}

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, errors.New("full") }
