package jetstream

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/noregret/noregret/eventlog"
)

// TestMarkFails lets nodes fail to write their marks: neither the one that appends nor the one that
// follows shows an event that its mark does not have, and both go on when the mark can be written.
func TestMarkFails(t *testing.T) {
	h := newHost(t)
	writer, follower := openLog(t, h.options(t, "log")), openLog(t, h.options(t, "log"))
	fill(t, writer, 0, 3)
	follow(t, follower, 6)
	// file replaces the mark's file by one that is open for reading only, or not.
	file := func(l *Log, flag int) {
		t.Helper()
		f, err := os.OpenFile(filepath.Join(l.o.Dir, markName), flag, 0)
		if err != nil {
			t.Fatal(err)
		}
		l.mu.Lock()
		defer l.mu.Unlock()
		f, l.marks.file = l.marks.file, f
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}
	both := []*Log{writer, follower}
	for _, l := range both {
		file(l, os.O_RDONLY)
	}
	if err := writer.AppendAt(t.Context(), 7, group("w", 3)...); !errors.Is(err, eventlog.ErrFailed) ||
		!strings.Contains(err.Error(), "writing the mark") {
		t.Errorf("the writer: %v", err)
	}
	// The servers have the events all the same, and the follower finds them.
	for r, err := range follower.Tail(t.Context(), 7) {
		if !errors.Is(err, eventlog.ErrFailed) || !strings.Contains(err.Error(), "writing the mark") {
			t.Errorf("the follower: %+v, %v", r, err)
		}
		break
	}
	if err := writer.Reopen(t.Context()); !errors.Is(err, eventlog.ErrNotReady) {
		t.Errorf("opened again too early: %v", err)
	}
	for _, l := range both {
		file(l, os.O_RDWR)
		if err := l.Reopen(t.Context()); err != nil {
			t.Error(err)
		}
	}
	fill(t, writer, 3, 5)
	for _, l := range both {
		follow(t, l, 10)
		checkGroups(t, l, 1, 5)
	}
}
