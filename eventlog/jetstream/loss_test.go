package jetstream

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/eventlog"
)

// reachable starts a server that clients find again after it was stopped and started.
func reachable(t testing.TB) (h *host, options func() Options) {
	t.Helper()
	h = &host{dir: t.TempDir(), port: freePorts(t, 1)[0]}
	h.start(t)
	t.Cleanup(func() { h.stop() })
	return h, func() Options {
		o := h.options(t, "log")
		o.Servers, o.Connect = []string{fmt.Sprint("nats://127.0.0.1:", h.port)}, []nats.Option{}
		o.Timeout, o.Patience = time.Second, 3*time.Second
		return o
	}
}

// fill appends groups of a writer.
func fill(t testing.TB, l *Log, from, to int) {
	t.Helper()
	for n := from; n < to; n++ {
		if err := l.AppendAt(t.Context(), uint64(2*n+1), group("w", n)...); err != nil {
			t.Fatal(err)
		}
	}
}

// checkGroups checks that a log has the events of fill from a position on, and ends with the last
// of so many groups.
func checkGroups(t testing.TB, l *Log, from uint64, groups int) {
	t.Helper()
	next := from
	for r, err := range l.Read(t.Context(), from) {
		if err != nil || r.Position != next || !same(r.Event, group("w", int(next-1)/2)[(next-1)%2]) {
			t.Fatalf("position %d is %+v, %v", next, r, err)
		}
		next++
	}
	if want := uint64(2*groups + 1); next != want {
		t.Errorf("it ends before position %d, want %d", next, want)
	}
}

// failed waits until a log has failed by itself, and checks that it says what was lost.
func failed(t testing.TB, l *Log, want string) {
	t.Helper()
	var err error
	for _, err = range l.Tail(t.Context(), l.Stats().Last+1) {
		if err != nil {
			break
		}
	}
	for _, is := range []error{eventlog.ErrFailed, eventlog.ErrDamaged, eventlog.ErrGone} {
		if !errors.Is(err, is) || !strings.Contains(err.Error(), want) {
			t.Fatalf("it ends with %v, want %v, %q", err, is, want)
		}
	}
	if err := l.Reopen(t.Context()); !errors.Is(err, eventlog.ErrGone) {
		t.Errorf("opening it again: %v", err)
	}
}

// TestShorterWhileOpen lets the server lose its last messages, as a loss of the power does, while a
// node has the log open: the node stops, by itself and for good.
func TestShorterWhileOpen(t *testing.T) {
	h, options := reachable(t)
	l := openLog(t, options())
	fill(t, l, 0, 5)
	kept := t.TempDir()
	h.stop()
	copyFiles(t, h.files("log"), kept)
	h.start(t)
	fill(t, l, 5, 8)
	h.stop()
	copyFiles(t, kept, h.files("log"))
	h.start(t)
	failed(t, l, "it ends with message 5, but message 8, with position 16, was acknowledged")
}

// TestRewritten lets the server lose its last messages and take others in their place, more than
// there were: nodes that have seen the first ones stop, open or not.
func TestRewritten(t *testing.T) {
	h, options := reachable(t)
	open, closed := options(), options()
	l := openLog(t, open)
	fill(t, l, 0, 5)
	kept := t.TempDir()
	h.stop()
	copyFiles(t, h.files("log"), kept)
	h.start(t)
	fill(t, l, 5, 8)
	early := openLog(t, closed)
	if s := early.Stats(); s.Last != 16 {
		t.Fatalf("%+v", s)
	}
	if err := early.Close(); err != nil {
		t.Fatal(err)
	}
	l.mu.Lock() // what the first node does waits until the messages are there
	h.stop()
	copyFiles(t, kept, h.files("log"))
	h.start(t)
	other := openLog(t, options())
	for n := range 5 {
		if _, _, err := other.Append(t.Context(), group("other", n)...); err != nil {
			t.Fatal(err)
		}
	}
	l.mu.Unlock()
	failed(t, l, "message 9, which begins at position 17")
	_, err := Open(t.Context(), closed, eventlog.DefaultOptions())
	if !errors.Is(err, eventlog.ErrDamaged) || !errors.Is(err, eventlog.ErrGone) ||
		!strings.Contains(err.Error(), "message 8 ends at position 16") {
		t.Errorf("opening it: %v", err)
	}
}

// TestMadeAgain deletes the stream and lets another node make it again: nodes that have seen the
// first one stop.
func TestMadeAgain(t *testing.T) {
	_, options := reachable(t)
	open, closed := options(), options()
	l := openLog(t, open)
	fill(t, l, 0, 3)
	early := openLog(t, closed)
	if err := early.Close(); err != nil {
		t.Fatal(err)
	}
	if err := l.wire.js.DeleteStream(t.Context(), "log"); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), closed, eventlog.DefaultOptions()); !errors.Is(err, eventlog.ErrGone) ||
		!strings.Contains(err.Error(), "no such stream") {
		t.Errorf("opening a stream that is gone: %v", err)
	}
	fill(t, openLog(t, options()), 0, 5)
	failed(t, l, "it was created at")
	if _, err := Open(t.Context(), closed, eventlog.DefaultOptions()); !errors.Is(err, eventlog.ErrGone) ||
		!strings.Contains(err.Error(), "it was created at") {
		t.Errorf("opening a stream that was made again: %v", err)
	}
}

// TestDamagedMessage flips a bit of a message of the only replica: the reader gets everything
// before it, then the name of the damage, and nothing behind.
func TestDamagedMessage(t *testing.T) {
	h, options := reachable(t)
	l := openLog(t, options())
	fill(t, l, 0, 20)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	h.stop()
	flip(t, h.files("log")+"/msgs", "w 7")
	h.start(t)
	l = openLog(t, options())
	next := uint64(1)
	for r, err := range l.Read(t.Context(), 1) {
		if err != nil {
			if !errors.Is(err, eventlog.ErrDamaged) || !strings.Contains(err.Error(), "message 8 cannot be read") {
				t.Errorf("%v", err)
			}
			break
		}
		if r.Position != next {
			t.Fatalf("position %d in the place of %d", r.Position, next)
		}
		next++
	}
	if next != 15 {
		t.Errorf("it ends before position %d, want 15", next)
	}
}

// TestCutBefore drops messages that nobody has compacted: a stream that begins later is damaged.
func TestCutBefore(t *testing.T) {
	h := newHost(t)
	l := openLog(t, h.options(t, "log"))
	fill(t, l, 0, 5)
	if err := l.wire.purge(t.Context(), 3, new(struct{})); err != nil {
		t.Fatal(err)
	}
	_, err := Open(t.Context(), h.options(t, "log"), eventlog.DefaultOptions())
	if !errors.Is(err, eventlog.ErrDamaged) ||
		!strings.Contains(err.Error(), "it begins with position 5") {
		t.Errorf("opening it: %v", err)
	}
}

// TestLostAnswers loses the answer to every third attempt to append, and every third attempt: each
// group is in the log once, in its place.
func TestLostAnswers(t *testing.T) {
	h := newHost(t)
	o := h.options(t, "log")
	o.Patience = time.Minute
	l := openLog(t, o)
	var attempts atomic.Int64
	l.wire.change = func(apply func() error) error {
		n := attempts.Add(1)
		if n%3 == 1 {
			return errors.New("not sent")
		}
		err := apply()
		if n%3 == 2 {
			return errors.New("no answer")
		}
		return err
	}
	fill(t, l, 0, 30)
	checkGroups(t, openLog(t, h.options(t, "log")), 1, 30)
}

// TestStalledWriters stalls a writer just before it publishes, four times, while another one takes
// its place: nothing of the stalled one is in the log behind the other.
func TestStalledWriters(t *testing.T) {
	h := newHost(t)
	at := uint64(1)
	writer := openLog(t, h.options(t, "log"))
	for stall := range 4 {
		stalled, release := make(chan struct{}), make(chan struct{})
		writer.wire.change = func(apply func() error) error {
			close(stalled)
			<-release
			return apply()
		}
		outcome := make(chan error, 1)
		go func(l *Log, at uint64) {
			outcome <- l.AppendAt(context.Background(), at, group("old", stall)...)
		}(writer, at)
		<-stalled
		successor := openLog(t, h.options(t, "log"))
		for n := range 3 {
			if err := successor.AppendAt(t.Context(), at, group("new", n)...); err != nil {
				t.Fatal(err)
			}
			at += 2
		}
		close(release)
		if err := <-outcome; !errors.Is(err, eventlog.ErrFenced) {
			t.Errorf("stall %d: %v", stall, err)
		}
		writer = successor
	}
	for r, err := range openLog(t, h.options(t, "log")).Read(t.Context(), 1) {
		if err != nil || strings.HasPrefix(string(r.Payload), "old") {
			t.Errorf("position %d: %q, %v", r.Position, r.Payload, err)
		}
	}
}

// TestSilentBucket checks that a snapshot is saved in the node's directory, and the call ends,
// though nobody answers about the bucket of snapshots.
func TestSilentBucket(t *testing.T) {
	silent := &server.Permissions{Publish: &server.SubjectPermission{
		Allow: []string{">"}, Deny: []string{"$JS.API.STREAM.INFO.OBJ_log-snapshots"},
	}}
	h := &host{dir: t.TempDir(), users: []*server.User{{Username: "u", Password: "p", Permissions: silent}}}
	h.start(t)
	t.Cleanup(h.stop)
	o := h.options(t, "log")
	o.Connect = append(o.Connect, nats.UserInfo("u", "p"))
	o.Timeout, o.Patience = 200*time.Millisecond, time.Minute
	l := openLog(t, o)
	fill(t, l, 0, 5)
	if err := l.SaveSnapshot(t.Context(), 10, []byte("state")); err != nil {
		t.Fatal(err)
	}
	if s, err := l.LatestSnapshot(t.Context()); err != nil || s.Position != 10 || string(s.State) != "state" {
		t.Errorf("%+v, %v", s, err)
	}
}

// TestSilentLeader asks for a message that no replica gives while the leader does not answer: it
// may have the message, so that nothing is known to be damaged.
func TestSilentLeader(t *testing.T) {
	silent := &server.Permissions{Publish: &server.SubjectPermission{
		Allow: []string{">"}, Deny: []string{"$JS.API.STREAM.MSG.GET.log"},
	}}
	h := &host{dir: t.TempDir(), users: []*server.User{{Username: "u", Password: "p", Permissions: silent}}}
	h.start(t)
	t.Cleanup(h.stop)
	o := h.options(t, "log")
	o.Connect = append(o.Connect, nats.UserInfo("u", "p"))
	l := openLog(t, o)
	impatient := *l.wire
	impatient.timeout = 20 * time.Millisecond
	for try := range 8 { // the leader is asked in some of the tries
		o.Patience = time.Duration(20+40*try) * time.Millisecond
		asks := &Log{o: o, place: l.place, wire: &impatient, life: t.Context()}
		if _, err := asks.messages(t.Context(), 1, 1); noregret.CodeOf(err) != noregret.Internal {
			t.Errorf("patience of %v: %v", o.Patience, err)
		}
	}
}
