package jetstream

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/eventlog"
)

// openLog opens a log that the test closes.
func openLog(t testing.TB, o Options) *Log {
	t.Helper()
	l, err := Open(t.Context(), o, eventlog.DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil && !errors.Is(err, eventlog.ErrFailed) {
			t.Error(err)
		}
	})
	return l
}

// group returns the events of a writer's append.
func group(writer string, n int) []eventlog.Event {
	return []eventlog.Event{
		{Kind: "a", Time: int64(n), Payload: fmt.Appendf(nil, "%s %d", writer, n)},
		{Kind: "b", Payload: []byte(writer)},
	}
}

// follow waits until a log has a position.
func follow(t testing.TB, l *Log, position uint64) {
	t.Helper()
	for r, err := range l.Tail(t.Context(), 1) {
		if err != nil {
			t.Fatal(err)
		}
		if r.Position == position {
			return
		}
	}
}

// save saves a snapshot whose state names its position.
func save(t testing.TB, l *Log, at uint64) {
	t.Helper()
	if err := l.SaveSnapshot(t.Context(), at, fmt.Append(nil, "state ", at)); err != nil {
		t.Fatal(err)
	}
}

// TestFollowers checks that other nodes see what one appends, in its order, and that a node that
// begins later does, too.
func TestFollowers(t *testing.T) {
	h := newHost(t)
	writer, early := openLog(t, h.options(t, "log")), openLog(t, h.options(t, "log"))
	const groups = 300
	check := func(l *Log) {
		next := 0
		for r, err := range l.Tail(t.Context(), 1) {
			want := group("w", next/2)[next%2]
			if err != nil || r.Position != uint64(next+1) || !same(r.Event, want) {
				t.Fatalf("position %d is %+v, %v; want %+v", next+1, r, err, want)
			}
			if next++; next == 2*groups {
				return
			}
		}
	}
	fill(t, writer, 0, groups)
	check(early)
	check(openLog(t, h.options(t, "log")))
	check(writer)
}

// TestDeposed checks that a writer that was replaced learns it from its next append, whatever it
// has seen: it has appended nothing, and is told so. An append without a position goes behind those
// of the other.
func TestDeposed(t *testing.T) {
	h := newHost(t)
	o := h.options(t, "log")
	old, successor := openLog(t, o), openLog(t, h.options(t, "log"))
	appendAt := func(l *Log, at uint64, name string) error { return l.AppendAt(t.Context(), at, group(name, 1)...) }
	for n := range uint64(20) {
		at := 6*n + 1
		if err := appendAt(old, at, "old"); err != nil {
			t.Fatal(err)
		}
		if err := appendAt(successor, at+2, "new"); err != nil { // it may not have seen at+1 yet
			t.Fatal(err)
		}
		if err := appendAt(old, at+2, "old"); !errors.Is(err, eventlog.ErrFenced) {
			t.Fatalf("the writer that was replaced: %v", err)
		}
		if err := appendAt(old, at+2, "new"); err != nil { // the same events are in the log
			t.Fatal(err)
		}
		first, last, err := old.Append(t.Context(), group("behind", 1)...)
		if err != nil || first != at+4 || last != at+5 {
			t.Fatalf("positions %d to %d, %v", first, last, err)
		}
	}
	if err := old.Health(); err != nil {
		t.Error(err)
	}
}

// TestForget forgets a node that has ended: events are dropped that it has not seen. When it starts
// again it begins with a snapshot of the bucket, and nothing is dropped that it needs from then on.
func TestForget(t *testing.T) {
	h := newHost(t)
	gone, events := h.options(t, "log"), eventlog.DefaultOptions()
	b, err := Open(t.Context(), gone, events)
	if err != nil {
		t.Fatal(err)
	}
	fill(t, b, 0, 5)
	save(t, b, 5)
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	a := openLog(t, h.options(t, "log"))
	fill(t, a, 5, 20)
	save(t, a, 35)
	compact := func(want uint64) {
		t.Helper()
		if err := a.Compact(t.Context(), 35); err != nil {
			t.Fatal(err)
		}
		if s := a.Stats(); s.First != want+1 {
			t.Errorf("events are dropped up to %d, want %d", s.First-1, want)
		}
	}
	compact(5)
	nodes, err := Nodes(t.Context(), gone)
	if err != nil || len(nodes) != 2 {
		t.Fatalf("%+v, %v", nodes, err)
	}
	i := slices.IndexFunc(nodes, func(n Node) bool { return n.Here })
	if i < 0 || nodes[i].Position != 5 || nodes[1-i].Position != 35 || nodes[i].Told.After(nodes[1-i].Told) {
		t.Fatalf("%+v", nodes)
	}
	if err := Forget(t.Context(), gone, "unknown"); noregret.CodeOf(err) != noregret.NotFound {
		t.Errorf("another name: %v", err)
	}
	if err := Forget(t.Context(), gone, nodes[i].Name); err != nil {
		t.Fatal(err)
	}
	if nodes, err := Nodes(t.Context(), gone); err != nil || len(nodes) != 1 {
		t.Errorf("%+v, %v", nodes, err)
	}
	compact(35)
	b = openLog(t, gone)
	if s, err := b.LatestSnapshot(t.Context()); err != nil || s.Position != 35 || string(s.State) != "state 35" {
		t.Errorf("the node that came back has the snapshot of %d, %q: %v", s.Position, s.State, err)
	}
	checkGroups(t, b, 36, 20)
	save(t, b, 37)
	if nodes, err := Nodes(t.Context(), gone); err != nil || len(nodes) != 2 {
		t.Errorf("once it has a snapshot again: %+v, %v", nodes, err)
	}
}

// TestSlowestNode checks that Compact drops only what all nodes have snapshots of, and that a node
// that begins later gets a snapshot from the bucket.
func TestSlowestNode(t *testing.T) {
	h := newHost(t)
	a, b := openLog(t, h.options(t, "log")), openLog(t, h.options(t, "log"))
	fill(t, a, 0, 10)
	follow(t, b, 20)
	compact := func(upTo, first uint64) {
		t.Helper()
		if err := a.Compact(t.Context(), upTo); err != nil {
			t.Fatal(err)
		}
		if s := a.Stats(); s.First != first {
			t.Errorf("up to %d: it begins at %d, want %d", upTo, s.First, first)
		}
	}
	save(t, b, 5)
	save(t, a, 15)
	compact(12, 6)
	save(t, b, 20)
	compact(12, 13)
	if err := b.inspect(t.Context()); err != nil { // what b does from time to time
		t.Fatal(err)
	}
	if s := b.Stats(); s.First != 13 {
		t.Errorf("the other node: %+v", s)
	}
	late := openLog(t, h.options(t, "log"))
	if s, err := late.LatestSnapshot(t.Context()); err != nil || s.Position != 15 || string(s.State) != "state 15" {
		t.Errorf("a node that begins later has the snapshot of %d, %q: %v", s.Position, s.State, err)
	}
	checkGroups(t, late, 13, 10)
}

// TestLargeSnapshot checks that a node gets a snapshot from the bucket that takes several requests,
// beside another one there.
func TestLargeSnapshot(t *testing.T) {
	h := newHost(t)
	a := openLog(t, h.options(t, "log"))
	fill(t, a, 0, 20)
	state := make([]byte, 2*fetchSize+fetchSize/3)
	for i := range state {
		state[i] = byte(i ^ i>>9 ^ i>>17)
	}
	for _, at := range []uint64{10, 20} {
		if err := a.SaveSnapshot(t.Context(), at, state[at:]); err != nil {
			t.Fatal(err)
		}
	}
	late := openLog(t, h.options(t, "log"))
	if s, err := late.LatestSnapshot(t.Context()); err != nil || s.Position != 20 || !bytes.Equal(s.State, state[20:]) {
		t.Errorf("the snapshot of %d has %d bytes: %v", s.Position, len(s.State), err)
	}
}

// TestReadBehindRecent checks that a reader goes on from a message that was in memory when it began
// with it, and was dropped from there meanwhile.
func TestReadBehindRecent(t *testing.T) {
	l := openLog(t, newHost(t).options(t, "log"))
	event := func(n uint64) eventlog.Event { return eventlog.Event{Kind: "a", Payload: make([]byte, 1<<19+n)} }
	var last uint64
	grow := func() {
		t.Helper()
		if _, n, err := l.Append(t.Context(), event(last+1), event(last+2)); err != nil || n != last+2 {
			t.Fatalf("position %d: %v", n, err)
		}
		last += 2
	}
	for range recentBytes>>20 + 2 {
		grow()
	}
	l.mu.Lock()
	c := &cursor{next: l.recent[0].first}
	l.mu.Unlock()
	if _, err := l.at(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	grow()
	for c.next++; c.next <= last; c.next++ {
		if m, err := l.at(t.Context(), c); err != nil || m.first > c.next || m.last() < c.next {
			t.Fatalf("position %d is in %+v: %v", c.next, m, err)
		} else if !same(m.events[c.next-m.first], event(c.next)) {
			t.Fatalf("position %d has %d bytes", c.next, len(m.events[c.next-m.first].Payload))
		}
	}
}

// TestShorterAtFirst checks that a node that begins waits where the stream seems to end before a
// snapshot of it in the bucket: the server that said so was behind.
func TestShorterAtFirst(t *testing.T) {
	h := newHost(t)
	a := openLog(t, h.options(t, "log"))
	fill(t, a, 0, 5)
	a.mu.Lock()
	next := encode(a.last, group("w", 5))
	a.mu.Unlock()
	state := func(w io.Writer) error { _, err := io.WriteString(w, "state"); return err }
	if err := a.writeSnapshot(next.end(), state); err != nil {
		t.Fatal(err)
	}
	if err := a.upload(t.Context(), 12); err != nil {
		t.Fatal(err)
	}
	o := h.options(t, "log")
	o.Patience = time.Minute
	opened := make(chan error, 1)
	go func() {
		late, err := Open(t.Context(), o, eventlog.DefaultOptions())
		if err == nil {
			var s eventlog.Snapshot
			s, err = late.LatestSnapshot(t.Context())
			if err == nil && (s.Position != 12 || string(s.State) != "state") {
				err = fmt.Errorf("the snapshot is %+v", s)
			}
			err = errors.Join(err, late.Close())
		}
		opened <- err
	}()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for {
		if _, err := os.Stat(filepath.Join(o.Dir, markName)); err == nil {
			break
		}
		select {
		case <-tick.C:
		case err := <-opened:
			t.Fatal(err)
		}
	}
	// It has seen where the stream ends.
	if err := a.AppendAt(t.Context(), 11, group("w", 5)...); err != nil {
		t.Fatal(err)
	}
	if err := <-opened; err != nil {
		t.Error(err)
	}
}

// TestInsist asks again what got no answer, and nothing that got one.
func TestInsist(t *testing.T) {
	h := newHost(t)
	o := h.options(t, "log")
	openLog(t, o)
	o.Patience = time.Minute
	for code, want := range map[noregret.Code]int{noregret.Internal: 2, noregret.NotFound: 1} {
		asked := 0
		err := insist(t.Context(), o, func(l *Log) error {
			if asked++; asked == 1 {
				return l.errorf(code, "no answer")
			}
			return nil
		})
		if asked != want || (err == nil) != (want > 1) {
			t.Errorf("%v: asked %d times, want %d: %v", code, asked, want, err)
		}
	}
}
