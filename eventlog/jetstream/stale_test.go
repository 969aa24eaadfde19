package jetstream

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
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
	late := func() nodeKeys {
		return nodeKeys{&behindKeys{l.keys.KeyValue, 3}, l.place, o.Timeout}
	}
	behind := &Log{
		o: o, place: l.place, wire: l.wire, keys: late(), life: ctx,
	}
	if err := behind.purged(ctx, 2); !errors.Is(err, eventlog.ErrCompacted) {
		t.Errorf("%v, want %v", err, eventlog.ErrCompacted)
	}
	// A node that begins meanwhile gets the snapshot all the same.
	behind.o.Dir, behind.created, behind.last = t.TempDir(), l.created, point{position: 4}
	behind.keys = late()
	if err := os.Mkdir(filepath.Join(behind.o.Dir, snapshotDir), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := behind.findSnapshots(ctx); err != nil || !slices.Equal(behind.snapshots, []uint64{3}) {
		t.Errorf("snapshots of %d, %v", behind.snapshots, err)
	}
}

// TestNobodyLeads looks at a stream that no server leads, and of which a replica says what it has:
// less than was acknowledged. That is no loss, as it is if the leader says so.
func TestNobodyLeads(t *testing.T) {
	ctx, o := t.Context(), DefaultOptions()
	o.Stream = "nobody"
	w := answered(t, &o)
	o.Patience = 100 * time.Millisecond
	created := time.Unix(1, 0).UTC()
	l := &Log{o: o, place: place(o.Stream), wire: w, life: ctx, last: point{sequence: 7, position: 14}}
	l.created = created.UnixNano()
	var led atomic.Bool
	if _, err := w.conn.Subscribe(api+"STREAM.INFO."+o.Stream, func(m *nats.Msg) {
		cluster := `"name": "c"`
		if led.Load() {
			cluster += `, "leader": "n1"`
		}
		_ = m.Respond(fmt.Appendf(nil, `{"created": %q, "state": {"last_seq": 5}, "cluster": {%s}}`,
			created.Format(time.RFC3339), cluster))
	}); err != nil {
		t.Fatal(err)
	}
	if err := l.inspect(ctx); !errors.Is(err, errNoLeader) || l.serious(err) {
		t.Errorf("without a leader: %v, want %v", err, errNoLeader)
	}
	led.Store(true)
	if err := l.inspect(ctx); !errors.Is(err, eventlog.ErrGone) {
		t.Errorf("with one: %v, want %v", err, eventlog.ErrGone)
	}
}
