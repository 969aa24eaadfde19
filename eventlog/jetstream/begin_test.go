package jetstream

import (
	"errors"
	"os"
	"testing"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/eventlog"
)

// TestCreate checks that a log can begin after a position, in a new stream or one of such a log
// only, and that a node without files begins with the snapshot that was saved in it.
func TestCreate(t *testing.T) {
	h := newHost(t)
	o, events := h.options(t, "begun"), eventlog.DefaultOptions()
	create := func(after uint64) (*Log, error) { return Create(t.Context(), o, after, events) }
	log, err := create(7)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := log.LatestSnapshot(t.Context()); !errors.Is(err, eventlog.ErrDamaged) {
		t.Errorf("without a snapshot: %v", err)
	}
	close := func(log *Log) {
		t.Helper()
		if err := log.Close(); err != nil {
			t.Error(err)
		}
	}
	close(log)
	if log, err := create(6); err == nil {
		close(log)
		t.Error("a log was made over another one")
	}
	if log, err = create(7); err != nil {
		t.Fatal(err)
	}
	event := eventlog.Event{Kind: "k", Time: 1, Payload: []byte("p")}
	if first, last, err := log.Append(t.Context(), event, event); err != nil || first != 8 || last != 9 {
		t.Fatalf("%d to %d, %v", first, last, err)
	}
	close(log)
	if log, err = create(7); err != nil || log.Stats().Last != 9 {
		t.Fatalf("the same call again: %v", err)
	}
	if err := log.SaveSnapshot(t.Context(), 7, []byte("state")); err != nil {
		t.Fatal(err)
	}
	close(log)
	o.Dir = t.TempDir()
	if log, err = Open(t.Context(), o, events); err != nil {
		t.Fatal(err)
	}
	defer close(log)
	if s, err := log.LatestSnapshot(t.Context()); err != nil || s.Position != 7 || string(s.State) != "state" {
		t.Errorf("another node: %+v, %v", s, err)
	}
	n := uint64(0)
	for r, err := range log.Read(t.Context(), 8) {
		if n++; err != nil || r.Position != 7+n {
			t.Errorf("%+v, %v", r, err)
		}
	}
	if n != 2 {
		t.Errorf("%d events", n)
	}
}

// TestReadOnly checks that a reader makes and changes nothing, and leaves nothing.
func TestReadOnly(t *testing.T) {
	h := newHost(t)
	t.Setenv("TMPDIR", t.TempDir())
	o, events := h.options(t, "read"), eventlog.DefaultOptions()
	reader := o
	reader.Dir = ""
	if log, err := OpenReadOnly(t.Context(), reader, events); noregret.CodeOf(err) != noregret.NotFound {
		t.Errorf("without a stream: %v, %v", log, err)
	}
	log, err := Open(t.Context(), o, events)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := log.Append(t.Context(), eventlog.Event{Kind: "k"}); err != nil {
		t.Fatal(err)
	}
	r, err := OpenReadOnly(t.Context(), reader, events)
	if err != nil {
		t.Fatal(err)
	}
	if s := r.Stats(); s.First != 1 || s.Last != 1 {
		t.Errorf("%+v", s)
	}
	_, _, err = r.Append(t.Context(), eventlog.Event{Kind: "k"})
	for _, err := range []error{
		err, r.AppendAt(t.Context(), 2, eventlog.Event{Kind: "k"}), r.SaveSnapshot(t.Context(), 1, nil),
		r.Compact(t.Context(), 0),
	} {
		if !errors.Is(err, eventlog.ErrReadOnly) {
			t.Errorf("a change: %v", err)
		}
	}
	if err := errors.Join(r.Close(), log.Close()); err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir(os.TempDir()); err != nil || len(left) > 0 {
		t.Errorf("it leaves %v, %v", left, err)
	}
}
