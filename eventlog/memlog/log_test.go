package memlog_test

import (
	"context"
	"errors"
	"testing"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/eventlog"
	"github.com/noregret/noregret/eventlog/internal/logtest"
	"github.com/noregret/noregret/eventlog/memlog"
)

// bed is a storage.
type bed struct{ *memlog.Storage }

// Open implements [logtest.Bed].
func (b bed) Open(o eventlog.Options) (eventlog.Log, error) {
	log, err := b.Storage.Open(o)
	if err != nil {
		return nil, err
	}
	return log, nil
}

// Crash implements [logtest.Bed].
func (b bed) Crash(uint64) { b.Storage.Crash() }

// Verify implements [logtest.Bed].
func (b bed) Verify(context.Context, bool) error { return b.Check() }

// A log in memory keeps the contract of all logs.
func TestContract(t *testing.T) {
	logtest.Run(t, func(testing.TB) logtest.Bed { return bed{memlog.NewStorage()} })
}

// TestOneLog checks that a storage has one open log at a time, and that a crash ends it.
func TestOneLog(t *testing.T) {
	s := memlog.NewStorage()
	log, err := s.Open(eventlog.DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Open(eventlog.DefaultOptions()); noregret.CodeOf(err) != noregret.Usage {
		t.Errorf("a second log: %v", err)
	}
	if _, err := s.Open(eventlog.Options{}); noregret.CodeOf(err) != noregret.Usage {
		t.Errorf("no options: %v", err)
	}
	s.Crash()
	if _, _, err := log.Append(t.Context(), eventlog.Event{Kind: "a"}); !errors.Is(err, eventlog.ErrClosed) {
		t.Errorf("an append after the crash: %v", err)
	}
	if log, err = s.Open(eventlog.DefaultOptions()); err != nil {
		t.Fatal(err)
	}
	if err := log.Close(); err != nil {
		t.Error(err)
	}
}

// ended returns a context that has ended.
func ended(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx
}

// TestSeveral lets two logs share a storage: each reads what the other appends, one of two appends
// at a position is fenced, and an append without an answer arrives, or another event has its place.
func TestSeveral(t *testing.T) {
	s := memlog.NewStorage()
	open := func() *memlog.Log {
		l, err := s.Join(eventlog.DefaultOptions())
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	a, b := open(), open()
	at := func(l *memlog.Log, first uint64, kind string, want error) {
		t.Helper()
		if err := l.AppendAt(t.Context(), first, eventlog.Event{Kind: kind}); !errors.Is(err, want) {
			t.Errorf("%s at %d: %v, want %v", kind, first, err, want)
		}
	}
	at(a, 1, "a", nil)
	at(b, 1, "b", eventlog.ErrFenced)
	at(b, 2, "b", nil)
	at(a, 1, "a", nil) // again
	a.Cut(true)
	at(a, 3, "late", eventlog.ErrFailed)
	if err := b.Health(); err != nil {
		t.Errorf("the other log: %v", err)
	}
	if err := a.Reopen(t.Context()); !errors.Is(err, eventlog.ErrNotReady) {
		t.Errorf("without a connection: %v", err)
	}
	if n := b.Stats().Last; n != 2 {
		t.Errorf("%d events before the append has arrived", n)
	}
	a.Cut(false)
	if n := b.Stats().Last; n != 3 || a.Stats().Last != 2 {
		t.Errorf("%d events after the append has arrived, and %d in the log that has failed", n, a.Stats().Last)
	}
	if err := a.Reopen(t.Context()); err != nil || a.Stats().Last != 3 {
		t.Errorf("%v, %d events", err, a.Stats().Last)
	}
	a.Cut(true)
	at(b, 4, "b", nil)
	at(a, 4, "lost", eventlog.ErrFailed)
	a.Cut(false)
	if err := a.Reopen(t.Context()); err != nil {
		t.Error(err)
	}
	kinds := ""
	for r, err := range a.Read(t.Context(), 1) {
		if err != nil {
			t.Fatal(err)
		}
		kinds += r.Kind + " "
	}
	if kinds != "a b late b " {
		t.Errorf("the log has %s", kinds)
	}
	tail := make(chan eventlog.Record)
	go func() {
		defer close(tail)
		for r, err := range a.Tail(t.Context(), 5) {
			if err == nil {
				tail <- r
			}
		}
	}()
	at(b, 5, "seen", nil)
	if r := <-tail; r.Kind != "seen" || r.Position != 5 {
		t.Errorf("the tail of the other log: %+v", r)
	}
	if err := a.Close(); err != nil {
		t.Error(err)
	}
	<-tail
	at(b, 6, "b", nil)
	s.Crash()
	at(b, 7, "b", eventlog.ErrClosed)
}
