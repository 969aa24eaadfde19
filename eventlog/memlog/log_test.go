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
