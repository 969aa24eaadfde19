// Package logtest tests implementations of [eventlog.Log] against their contract. Each test takes a
// function that makes a [Bed], where logs of the implementation live:
//
//	func TestLog(t *testing.T) { logtest.Run(t, func(t testing.TB) logtest.Bed { return newBed() }) }
//
// What only one implementation promises, such as the repair of its files, it tests itself.
package logtest

import (
	"bytes"
	"context"
	"fmt"
	"runtime"
	"testing"

	"github.com/noregret/noregret/eventlog"
)

// Bed is what a log is stored in, and the ways in which that can fail. One log at a time is open in
// it.
type Bed interface {
	// Open opens the log in the bed, or begins one.
	Open(o eventlog.Options) (eventlog.Log, error)
	// Crash ends the process that has the log open, without closing it, and perhaps the power: a
	// part of what is not durable is lost, which the seed chooses.
	Crash(seed uint64)
	// Break makes the n-th change from now on fail, 1 for the next one, and with it all later ones
	// if lasting is set. 0 ends that.
	Break(n int, lasting bool)
	// Met reports whether a change has failed since the latest call of Break.
	Met() bool
	// Keep notes what is stored. Back restores it, without what the implementation keeps elsewhere
	// to notice such a loss. The log is closed in both calls.
	Keep() (back func())
	// Verify returns what is wrong with the stored log, which may be open or closed.
	Verify(ctx context.Context, open bool) error
}

// Run runs all tests.
func Run(t *testing.T, bed func(t testing.TB) Bed) {
	for _, c := range []struct {
		name string
		test func(*testing.T, func(testing.TB) Bed)
	}{
		{"Histories", Histories},
		{"Linearizable", Linearizable},
		{"Fencing", Fencing},
		{"Rivals", Rivals},
		{"UnknownOutcome", UnknownOutcome},
		{"Outages", Outages},
		{"LostEnd", LostEnd},
		{"Refusals", Refusals},
		{"Closed", Closed},
		{"Tail", Tail},
		{"ReadersDuringCompact", ReadersDuringCompact},
		{"Snapshots", Snapshots},
		{"SnapshotsInPieces", SnapshotsInPieces},
		{"OpenSnapshots", OpenSnapshots},
		{"ExportAndImport", ExportAndImport},
	} {
		t.Run(c.name, func(t *testing.T) { c.test(t, bed) })
	}
}

// options bound events and groups so that tests reach the bounds.
func options() eventlog.Options {
	return eventlog.Options{
		MaxEventBytes: 50_000, GroupEvents: 4096, GroupBytes: 64_000, QueueBytes: 256_000, FlushBytes: 256_000,
		KeepSnapshots: 2,
	}
}

// open opens the log of a bed.
func open(t testing.TB, b Bed) eventlog.Log {
	t.Helper()
	log, err := b.Open(options())
	if err != nil {
		t.Fatal(err)
	}
	return log
}

// end closes a log and verifies what is stored.
func end(t testing.TB, b Bed, log eventlog.Log) {
	t.Helper()
	must(t, log.Close())
	must(t, b.Verify(t.Context(), false))
}

// must ends the test if there is an error.
func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// event is the event that the tests append at a position.
func event(position uint64) eventlog.Event {
	return eventlog.Event{
		Kind: "test", Time: int64(position * 10), Payload: fmt.Appendf(nil, `{"event":%d}`, position),
	}
}

// events are those from a position on.
func events(first uint64, n int) (out []eventlog.Event) {
	for i := range n {
		out = append(out, event(first+uint64(i)))
	}
	return out
}

// extend appends events.
func extend(t testing.TB, log eventlog.Log, n int) {
	t.Helper()
	first := log.Stats().Last + 1
	must(t, log.AppendAt(t.Context(), first, events(first, n)...))
}

// same reports whether two events are the same.
func same(a, b eventlog.Event) bool {
	return a.Kind == b.Kind && a.Time == b.Time && bytes.Equal(a.Payload, b.Payload)
}

// read returns the records from a position on, and the error that ended the reading.
func read(log eventlog.Log, from uint64) (out []eventlog.Record, err error) {
	for r, err := range log.Read(context.Background(), from) {
		if err != nil {
			return out, err
		}
		out = append(out, r)
	}
	return out, nil
}

// holds checks that a log consists of the events of the tests at the positions first to last.
func holds(t testing.TB, log eventlog.Log, first, last uint64) {
	t.Helper()
	if s := log.Stats(); s.First != first || s.Last != last {
		t.Fatalf("it has the positions %d to %d, want %d to %d", s.First, s.Last, first, last)
	}
	records, err := read(log, first)
	must(t, err)
	if len(records) != int(last-first+1) {
		t.Fatalf("%d events from position %d, want %d", len(records), first, last-first+1)
	}
	for i, r := range records {
		if r.Position != first+uint64(i) || !same(r.Event, event(r.Position)) {
			t.Fatalf("event %d from position %d is %+v", i, first, r)
		}
	}
}

// rest lets other goroutines run. Tests wait on conditions with it, never for a time.
func rest() { runtime.Gosched() }
