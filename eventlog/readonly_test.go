package eventlog

import (
	"errors"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/noregret/noregret"
)

// unwritable fails every change of the disk with an error, while it is set.
type unwritable struct{ err atomic.Pointer[error] }

func (u *unwritable) String() string { return "unwritable" }

func (u *unwritable) set(err error) {
	if u.err.Store(&err); err == nil {
		u.err.Store(nil)
	}
}

func (u *unwritable) MaybeError(op errorfs.Op) error {
	if err := u.err.Load(); err != nil && op.Kind.ReadOrWrite() == errorfs.OpIsWrite && op.Kind != errorfs.OpFileClose {
		return *err
	}
	return nil
}

// TestReadOnly checks that a log on a full or read-only disk can be read, that it takes no changes,
// and that it can be written again once the disk can.
func TestReadOnly(t *testing.T) {
	for _, cause := range []error{syscall.ENOSPC, syscall.EROFS, syscall.EDQUOT} {
		files, first, last := smallLog(t)
		u := &unwritable{}
		mem := files.fs(t)
		fs := errorfs.Wrap(mem, u)
		u.set(cause)
		if _, err := Open(fs, "log", DefaultOptions()); !IsUnwritable(err) {
			t.Errorf("%v: a log was opened for writing: %v", cause, err)
		}
		if err := Probe(fs, "log"); !errors.Is(err, cause) {
			t.Errorf("%v: the probe says %v", cause, err)
		}
		s, err := OpenReadOnly(fs, "log", DefaultOptions())
		if err != nil {
			t.Fatal(err)
		}
		got, err := readAll(s)
		if stats := s.Stats(); err != nil || uint64(len(got)) != last-first+1 || stats.Last != last ||
			stats.Snapshot != 20 {
			t.Errorf("%v: %d events, %+v, %v", cause, len(got), stats, err)
		}
		for _, r := range got {
			if !sameEvent(r) {
				t.Errorf("%+v", r)
			}
		}
		if snapshot, err := s.LatestSnapshot(t.Context()); err != nil || string(snapshot.State) != "state 20" {
			t.Errorf("%v: %q, %v", cause, snapshot.State, err)
		}
		_, _, appended := s.Append(t.Context(), event(25))
		for what, err := range map[string]error{
			"append": appended, "snapshot": s.SaveSnapshot(t.Context(), last, nil),
			"compact": s.Compact(t.Context(), 7),
		} {
			if !errors.Is(err, ErrReadOnly) {
				t.Errorf("%v: %s: %v", cause, what, err)
			}
		}
		closeLog(t, s)
		if after := readTree(t, mem, "log"); len(after) < len(files) {
			t.Errorf("%v: files are gone: %v", cause, after.names())
		} else {
			for name, data := range files {
				if string(after[name]) != string(data) {
					t.Errorf("%v: %s has changed", cause, name)
				}
			}
		}
		u.set(nil)
		if err := Probe(fs, "log"); err != nil {
			t.Errorf("%v: the probe of a disk that works again: %v", cause, err)
		}
		s = open(t, fs)
		appendN(t, s, 1)
		closeLog(t, s)
	}
}

// TestReadOnlyRefuses: no log, and a log that a writer has open.
func TestReadOnlyRefuses(t *testing.T) {
	mem := vfs.NewMem()
	if _, err := OpenReadOnly(mem, "log", DefaultOptions()); err == nil {
		t.Error("a log that does not exist was opened")
	}
	if err := mem.MkdirAll("log", 0o777); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenReadOnly(mem, "log", DefaultOptions()); noregret.CodeOf(err) != noregret.NotFound {
		t.Errorf("an empty directory: %v", err)
	}
	s := open(t, mem)
	if _, err := OpenReadOnly(mem, "log", DefaultOptions()); err == nil {
		t.Error("a log was opened that is open for writing")
	}
	closeLog(t, s)
}

// TestReopenAfterFailure: a log that has failed can be closed and opened again in the same process.
// What was acknowledged is there, and Probe says when the time has come.
func TestReopenAfterFailure(t *testing.T) {
	u, mem := &unwritable{}, vfs.NewMem()
	fs := errorfs.Wrap(mem, u)
	s := open(t, fs)
	appendN(t, s, 3)
	u.set(syscall.ENOSPC)
	if _, _, err := s.Append(t.Context(), event(4)); !errors.Is(err, ErrFailed) || !IsUnwritable(err) {
		t.Errorf("append to a full disk: %v", err)
	}
	if err := Probe(fs, "log"); err == nil {
		t.Error("the probe of a full disk succeeds")
	}
	u.set(nil)
	if err := Probe(fs, "log"); err != nil {
		t.Error(err)
	}
	if err := s.Close(); !errors.Is(err, ErrFailed) {
		t.Errorf("close: %v", err)
	}
	s = open(t, fs)
	if last := s.Stats().Last; last != 3 && last != 4 {
		t.Errorf("the log ends at %d", last)
	}
	appendN(t, s, 2)
	closeLog(t, s)
}

// TestProbeFindsMissingDescriptors: Probe fails while files cannot be opened.
func TestProbeFindsMissingDescriptors(t *testing.T) {
	mem := vfs.NewMem()
	s := open(t, mem)
	defer closeLog(t, s)
	left := 8
	fs := errorfs.Wrap(mem, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if op.Kind == errorfs.OpOpen || op.Kind == errorfs.OpCreate {
			if left--; left < 0 {
				return syscall.EMFILE
			}
		}
		return nil
	}))
	if err := Probe(fs, "log"); !errors.Is(err, syscall.EMFILE) {
		t.Errorf("the probe says %v", err)
	}
	left = 100
	if err := Probe(fs, "log"); err != nil {
		t.Error(err)
	}
}
