package server

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/noregret/noregret/eventlog"
	"github.com/noregret/noregret/experiment"
)

// TestReadAhead reads some events ahead, all or a part of them, and stops at errors.
func TestReadAhead(t *testing.T) {
	log, err := eventlog.Open(vfs.NewMem(), "log", eventlog.DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	const n = 5 * aheadEvents * aheadParts
	var all []eventlog.Event
	for i := range n {
		all = append(all, eventlog.Event{Kind: "clock", Time: int64(i), Payload: fmt.Appendf(nil, `{"n":%d}`, i)})
	}
	if _, _, err := log.Append(t.Context(), all...); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ from, to, stop uint64 }{
		{1, n, n}, {2, 2, 2}, {n, n, n}, {1, n, 1}, {7, n, 3 * aheadEvents}, {1, aheadEvents, aheadEvents}, {7, 9, 9},
	} {
		next := c.from
		for e, err := range readAhead(t.Context(), log, c.from, c.to) {
			want := experiment.Event{Kind: "clock", Time: int64(next) - 1, Payload: fmt.Appendf(nil, `{"n":%d}`, next-1)}
			if err != nil || e.position != next || e.Time != want.Time || string(e.Payload) != string(want.Payload) {
				t.Fatalf("%+v: event %+v, %v: want position %d", c, e, err, next)
			}
			if next++; e.position == c.stop {
				break
			}
		}
		if next != c.stop+1 {
			t.Errorf("%+v: %d events", c, next-c.from)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	cancelled := error(nil)
	for e, err := range readAhead(ctx, log, 1, n) {
		if cancelled = err; err == nil && e.position == 1 {
			cancel()
		}
	}
	if !errors.Is(cancelled, context.Canceled) {
		t.Errorf("a reader that was cancelled ends with %v", cancelled)
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	closed := error(nil)
	for _, err := range readAhead(t.Context(), log, 1, n) {
		closed = err
	}
	if closed == nil {
		t.Error("a closed log can be read")
	}
}
