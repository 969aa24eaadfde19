package jetstream

import (
	"strings"
	"testing"

	"github.com/noregret/noregret/eventlog"
)

// TestLargest appends an event as large as the log says that one may be, which the servers bound
// rather than the options, and a larger one.
func TestLargest(t *testing.T) {
	h := newHost(t)
	events := eventlog.DefaultOptions()
	events.MaxEventBytes, events.GroupBytes, events.QueueBytes = 16<<20, 22<<20, 64<<20
	events.FlushBytes = 4 * events.GroupBytes
	l, err := Open(t.Context(), h.options(t, "largest"), events)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	n := l.Stats().Largest
	if n >= events.MaxEventBytes || n < 5<<20 {
		t.Errorf("events of %d bytes fit", n)
	}
	kind := strings.Repeat("k", 64)
	if err := l.AppendAt(t.Context(), 1, eventlog.Event{Kind: kind, Payload: make([]byte, n)}); err != nil {
		t.Error(err)
	}
	if err := l.AppendAt(t.Context(), 2, eventlog.Event{Kind: kind, Payload: make([]byte, n+1<<11)}); err == nil ||
		l.Health() != nil {
		t.Errorf("a larger one: %v, %v", err, l.Health())
	}
}
