package jetstream

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	js "github.com/nats-io/nats.go/jetstream"

	"github.com/noregret/noregret/eventlog"
)

// behindKeys is the bucket of the nodes as a replica has it that is behind for some looks.
type behindKeys struct {
	js.KeyValue
	looks int
}

// Get implements [js.KeyValue].
func (k *behindKeys) Get(ctx context.Context, key string) (js.KeyValueEntry, error) {
	if k.looks--; k.looks >= 0 {
		return nil, js.ErrKeyNotFound
	}
	return k.KeyValue.Get(ctx, key)
}

// TestDroppedSeenLate asks for events that were dropped on purpose, while a replica does not know
// yet that they were: the log is not damaged.
func TestDroppedSeenLate(t *testing.T) {
	h, ctx := newHost(t), t.Context()
	o := h.options(t, "stale")
	o.Patience = time.Minute
	l, err := Open(ctx, o, eventlog.DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	for i := range uint64(4) {
		if err := l.AppendAt(ctx, i+1, eventlog.Event{Kind: "test"}); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.SaveSnapshot(ctx, 3, []byte("state")); err != nil {
		t.Fatal(err)
	}
	if err := l.Compact(ctx, 3); err != nil {
		t.Fatal(err)
	}
	behind := &Log{
		o: o, place: l.place, wire: l.wire, keys: &behindKeys{l.keys, 3}, life: ctx,
	}
	if err := behind.purged(ctx, 2); !errors.Is(err, eventlog.ErrCompacted) {
		t.Errorf("%v, want %v", err, eventlog.ErrCompacted)
	}
	// A node that begins meanwhile gets the snapshot all the same.
	behind.o.Dir, behind.created, behind.last = t.TempDir(), l.created, point{position: 4}
	behind.keys = &behindKeys{l.keys, 3}
	if err := os.Mkdir(filepath.Join(behind.o.Dir, snapshotDir), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := behind.findSnapshots(ctx); err != nil || !slices.Equal(behind.snapshots, []uint64{3}) {
		t.Errorf("snapshots of %d, %v", behind.snapshots, err)
	}
}
