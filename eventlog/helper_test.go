package eventlog

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"path"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
	"go.uber.org/goleak"

	"github.com/noregret/noregret/internal/random"
)

// tree maps the paths of a directory's files to their contents. It makes file systems that hold a
// log in an exact state.
type tree map[string][]byte

func readTree(t testing.TB, fs FS, dir string) tree {
	t.Helper()
	out := tree{}
	names, err := fs.List(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range names {
		p := path.Join(dir, n)
		st, err := fs.Stat(p)
		if err != nil {
			t.Fatal(err)
		}
		if st.IsDir() {
			maps.Copy(out, readTree(t, fs, p))
			continue
		}
		f, err := fs.Open(p)
		if err != nil {
			t.Fatal(err)
		}
		if out[p], err = io.ReadAll(f); err != nil {
			t.Fatal(err)
		}
		_ = f.Close()
	}
	return out
}

func (tr tree) fs(t testing.TB) *vfs.MemFS {
	t.Helper()
	fs := vfs.NewMem()
	for name, data := range tr {
		if err := fs.MkdirAll(path.Dir(name), 0o777); err != nil {
			t.Fatal(err)
		}
		f, err := fs.Create(name, vfs.WriteCategoryUnspecified)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.Write(slices.Clone(data)); err != nil {
			t.Fatal(err)
		}
		_ = f.Close()
	}
	return fs
}

// with returns the tree with one file changed, or removed if data is nil.
func (tr tree) with(name string, data []byte) tree {
	out := maps.Clone(tr)
	if out[name] = data; data == nil {
		delete(out, name)
	}
	return out
}

func (tr tree) names() []string { return slices.Sorted(maps.Keys(tr)) }

// temps returns the temporary files of a log.
func temps(t testing.TB, fs FS, dir string) (names []string) {
	t.Helper()
	list, err := fs.List(dir)
	if err != nil { // a file, or one that the open log has removed meanwhile
		return nil
	}
	for _, name := range list {
		path := fs.PathJoin(dir, name)
		if strings.HasSuffix(name, tempSuffix) {
			names = append(names, path)
		} else if info, err := fs.Stat(path); err == nil && info.IsDir() {
			names = append(names, temps(t, fs, path)...)
		}
	}
	return names
}

// event returns the event that the tests append at a position.
func event(i uint64) Event {
	return Event{Kind: "test", Time: int64(i * 10), Payload: fmt.Appendf(nil, `{"event":%d}`, i)}
}

func sameEvent(r Record) bool {
	want := event(r.Position)
	return r.Kind == want.Kind && r.Time == want.Time && bytes.Equal(r.Payload, want.Payload)
}

func open(t testing.TB, fs FS) *Store {
	t.Helper()
	s, err := Open(fs, "log", DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func closeLog(t testing.TB, s *Store) {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

func appendN(t testing.TB, s *Store, n int) {
	t.Helper()
	for range n {
		if _, _, err := s.Append(context.Background(), event(s.Stats().Last+1)); err != nil {
			t.Fatal(err)
		}
	}
}

// readAll returns all records from the first on, and the error that ended the reading.
func readAll(s *Store) (out []Record, err error) {
	for r, err := range s.Read(context.Background(), s.Stats().First) {
		if err != nil {
			return out, err
		}
		out = append(out, r)
	}
	return out, nil
}

// smallLog returns the files of a log of 24 events in two tables and a write-ahead log, compacted
// to 5, with snapshots at 5 and 20.
func smallLog(t testing.TB) (files tree, first, last uint64) {
	t.Helper()
	ctx := context.Background()
	fs := vfs.NewMem()
	s := open(t, fs)
	appendN(t, s, 10)
	if err := s.SaveSnapshot(ctx, 5, []byte("state 5")); err != nil {
		t.Fatal(err)
	}
	if err := s.Compact(ctx, 5); err != nil {
		t.Fatal(err)
	}
	appendN(t, s, 8)
	closeLog(t, s)
	s = open(t, fs) // opening writes the write-ahead log to a table
	appendN(t, s, 6)
	if err := s.SaveSnapshot(ctx, 20, []byte("state 20")); err != nil {
		t.Fatal(err)
	}
	closeLog(t, s)
	return readTree(t, fs, "log"), 6, 24
}

// full reports whether NOREGRET_FULL asks for the long form of the tests.
func full() bool { return os.Getenv("NOREGRET_FULL") == "1" }

// noLeaks checks at the end of a test that it has ended its goroutines. Tests that inject failures
// of the disk do not call it: a failed pebble cannot be ended, see failStop.
func noLeaks(t *testing.T) {
	t.Helper()
	running := goleak.IgnoreCurrent()
	t.Cleanup(func() { goleak.VerifyNone(t, running) })
}

// yieldCPU lets other goroutines run. Tests wait on conditions with it, never for a time.
func yieldCPU() { runtime.Gosched() }

// smallOptions make pebble replace its files often.
func smallOptions() Options {
	return Options{
		MaxEventBytes: 50_000, GroupEvents: 4096, GroupBytes: 64_000, QueueBytes: 256_000, FlushBytes: 256_000,
		KeepSnapshots: 2,
	}
}

// faults fails the n-th change of the disk after it is armed: only that one or, like a dead disk,
// all later ones as well.
type faults struct {
	left   atomic.Int64 // 0: not armed
	forced bool
}

func (f *faults) MaybeError(op errorfs.Op) error {
	if op.Kind.ReadOrWrite() != errorfs.OpIsWrite || op.Kind == errorfs.OpRemove || op.Kind == errorfs.OpFileClose ||
		op.Kind == errorfs.OpFilePreallocate {
		return nil
	}
	if f.left.Load() == 0 {
		return nil
	}
	switch n := f.left.Add(-1); {
	case n == 0:
		if f.forced {
			f.left.Store(1) // the next change, too
		}
		return errorfs.ErrInjected
	}
	return nil
}

func (f *faults) String() string { return "faults" }

func mustOpen(t testing.TB, fs FS) *Store {
	t.Helper()
	s, err := Open(fs, "log", smallOptions())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func closeOrAbandon(s *Store) { _ = s.Close() }

func seeded(seed uint64) *rand.Rand { return rand.New(random.New(seed, "eventlog")) }
