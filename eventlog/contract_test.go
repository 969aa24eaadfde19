package eventlog_test

import (
	"context"
	"fmt"
	"io"
	"path"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/noregret/noregret/eventlog"
	"github.com/noregret/noregret/eventlog/internal/logtest"
	"github.com/noregret/noregret/internal/random"
)

// A log on a disk keeps the contract of all logs.
func TestContract(t *testing.T) {
	logtest.Run(t, func(testing.TB) logtest.Bed { return &bed{mem: vfs.NewCrashableMem()} })
}

// bed is a disk in memory, with the log in the directory "log".
type bed struct {
	mem *vfs.MemFS
	log eventlog.Log
	// left counts the changes before the one that fails, which is the first at 1. 0: none fails.
	left    atomic.Int64
	lasting bool
	met     atomic.Bool
}

// Open implements [logtest.Bed].
func (b *bed) Open(o eventlog.Options) (eventlog.Log, error) {
	log, err := eventlog.OpenDisk(errorfs.Wrap(b.mem, b), "log", o)
	if err != nil {
		return nil, err
	}
	b.log = log
	return log, nil
}

// Crash implements [logtest.Bed]. It is a kill, or a loss of the power that keeps a part of what
// was not flushed.
func (b *bed) Crash(seed uint64) {
	clone := b.mem.CrashClone(vfs.CrashCloneCfg{
		UnsyncedDataPercent: []int{0, 50, 100}[seed%3], RNG: random.New(seed, "crash").Rand,
	})
	_ = b.log.Close() // which changes what is not used any more
	b.mem = clone
}

// Break implements [logtest.Bed].
func (b *bed) Break(n int, lasting bool) {
	b.left.Store(0)
	b.lasting = lasting
	b.met.Store(false)
	b.left.Store(int64(n))
}

// Met implements [logtest.Bed].
func (b *bed) Met() bool { return b.met.Load() }

// MaybeError implements [errorfs.Injector].
func (b *bed) MaybeError(op errorfs.Op) error {
	if op.Kind.ReadOrWrite() != errorfs.OpIsWrite || op.Kind == errorfs.OpRemove || op.Kind == errorfs.OpFileClose ||
		op.Kind == errorfs.OpFilePreallocate || b.left.Load() == 0 || b.left.Add(-1) > 0 {
		return nil
	}
	b.left.Store(0)
	if b.met.Store(true); b.lasting {
		b.left.Store(1) // the next change, too
	}
	return errorfs.ErrInjected
}

// String implements [errorfs.Injector].
func (b *bed) String() string { return "bed" }

// Keep implements [logtest.Bed]. The mark stays as it is: it is the second record of what was
// acknowledged.
func (b *bed) Keep() (back func()) {
	kept := vfs.NewMem()
	b.copy(b.mem, kept, "log")
	return func() {
		now := b.mem
		b.mem = vfs.NewCrashableMem()
		b.copy(kept, b.mem, "log")
		b.copy(now, b.mem, "log/mark")
	}
}

// copy copies a file or a directory from one disk to another.
func (b *bed) copy(from, to vfs.FS, name string) {
	info, err := from.Stat(name)
	if err != nil {
		panic(err)
	}
	if info.IsDir() {
		names, err := from.List(name)
		if err != nil {
			panic(err)
		}
		if err := to.MkdirAll(name, 0o700); err != nil {
			panic(err)
		}
		for _, n := range names {
			b.copy(from, to, path.Join(name, n))
		}
		return
	}
	r, err := from.Open(name)
	if err != nil {
		panic(err)
	}
	w, err := to.Create(name, vfs.WriteCategoryUnspecified)
	if err != nil {
		panic(err)
	}
	if _, err := io.Copy(w, r); err != nil {
		panic(err)
	}
	_, _ = r.Close(), w.Close()
}

// Verify implements [logtest.Bed].
func (b *bed) Verify(ctx context.Context, open bool) error {
	if left := b.temps("log"); len(left) > 0 {
		return fmt.Errorf("temporary files are left: %v", left)
	}
	if open {
		return nil
	}
	r, err := eventlog.Check(ctx, b.mem, "log")
	if err != nil {
		return err
	}
	return r.Err()
}

// temps returns the temporary files below a directory.
func (b *bed) temps(dir string) (found []string) {
	names, err := b.mem.List(dir)
	if err != nil { // a file
		return nil
	}
	for _, n := range names {
		if p := path.Join(dir, n); strings.HasSuffix(p, ".tmp") {
			found = append(found, p)
		} else {
			found = append(found, b.temps(p)...)
		}
	}
	return found
}
