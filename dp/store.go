package dp

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/atomicfile"
)

// A Store keeps one document durably, under a number that grows with every change, the epoch. It
// must be safe for concurrent use, also by several processes if several share it.
type Store interface {
	// Load returns the newest document and its epoch; both are empty before the first change.
	Load() (document []byte, epoch uint64, err error)
	// CompareAndSwap replaces the document of the given epoch by a new one of the next epoch. When
	// it returns nil the document survives a crash. If the store has another epoch the error is
	// ErrEpoch and nothing changes. After another error the document may be the old one or the new
	// one.
	CompareAndSwap(epoch uint64, document []byte) error
}

// MemoryStore is a [Store] in memory, for tests: it survives nothing.
type MemoryStore struct {
	mu       sync.Mutex
	document []byte
	epoch    uint64
}

// Load implements [Store].
func (m *MemoryStore) Load() ([]byte, uint64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]byte(nil), m.document...), m.epoch, nil
}

// CompareAndSwap implements [Store].
func (m *MemoryStore) CompareAndSwap(epoch uint64, document []byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if epoch != m.epoch {
		return epochError(epoch, m.epoch)
	}
	m.document, m.epoch = append([]byte(nil), document...), epoch+1
	return nil
}

func epochError(have, want uint64) error {
	return noregret.Errorf(noregret.Internal, "store", "epoch %d, the store has %d: %w", have, want, ErrEpoch)
}

// FileStore is a [Store] in a directory of its own. Every epoch is one file, which is written and
// flushed under a temporary name and then linked to its own name, so that of two writers exactly
// one succeeds, and a crash leaves the old epoch or the new one. The last 16 epochs are kept. The
// file system must have hard links. Do not restore an older copy of the directory: it forgets what
// was spent.
type FileStore struct{ dir string }

const (
	storePrefix = "epoch-"
	storeKept   = 16
)

// OpenFileStore returns the store in the directory, which is created if it does not exist, for its
// owner only. What it creates is durable: without that a failure of the power could take a new
// directory away, with the reservations in it.
func OpenFileStore(dir string) (*FileStore, error) {
	f := &FileStore{dir: dir}
	var parents []string // of the directories that do not exist
	for d := filepath.Clean(dir); ; d = filepath.Dir(d) {
		if _, err := os.Stat(d); err == nil || d == filepath.Dir(d) {
			break
		}
		parents = append(parents, filepath.Dir(d))
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	for _, d := range parents {
		if err := atomicfile.SyncDir(d); err != nil {
			return nil, err
		}
	}
	return f, nil
}

func (f *FileStore) path(epoch uint64) string {
	return filepath.Join(f.dir, fmt.Sprintf("%s%020d", storePrefix, epoch))
}

// newest returns the largest epoch in the directory, and all its epochs.
func (f *FileStore) newest() (top uint64, all []uint64, err error) {
	entries, err := os.ReadDir(f.dir)
	if err != nil {
		return 0, nil, err
	}
	for _, e := range entries {
		digits, ok := strings.CutPrefix(e.Name(), storePrefix)
		var epoch uint64
		if _, err := fmt.Sscanf(digits, "%d", &epoch); !ok || err != nil || len(digits) != 20 {
			continue // a temporary file
		}
		all = append(all, epoch)
		top = max(top, epoch)
	}
	return top, all, nil
}

// Load implements [Store].
func (f *FileStore) Load() ([]byte, uint64, error) {
	for {
		top, _, err := f.newest()
		if err != nil || top == 0 {
			return nil, 0, err
		}
		document, err := os.ReadFile(f.path(top))
		if errors.Is(err, fs.ErrNotExist) {
			continue // other writers have made so many changes meanwhile that it was removed
		}
		return document, top, err
	}
}

// CompareAndSwap implements [Store].
func (f *FileStore) CompareAndSwap(epoch uint64, document []byte) error {
	top, all, err := f.newest()
	if err != nil {
		return err
	}
	if top != epoch {
		return epochError(epoch, top)
	}
	next := f.path(epoch + 1)
	temporary, err := atomicfile.Create(next)
	if err != nil {
		if _, missing := os.Lstat(next); missing == nil {
			return epochError(epoch, epoch+1)
		}
		return err
	}
	defer temporary.Abort() // removes the temporary name only
	if err := temporary.Chmod(0o600); err != nil {
		return err
	}
	if _, err := temporary.Write(document); err != nil {
		return err
	}
	if err := temporary.Sync(); err != nil {
		return err
	}
	if err := os.Link(temporary.Name(), next); err != nil {
		if errors.Is(err, fs.ErrExist) {
			return epochError(epoch, epoch+1)
		}
		return err
	}
	// The name was free. Either no writer has had this epoch, or the store went on meanwhile and
	// has removed it already, which it does 16 epochs later.
	if top, _, err = f.newest(); err != nil || top > epoch+storeKept {
		return errors.Join(err, os.Remove(next), epochError(epoch, top))
	}
	if err := atomicfile.SyncDir(f.dir); err != nil {
		return err
	}
	for _, old := range all {
		if old+storeKept <= epoch+1 {
			_ = os.Remove(f.path(old)) // if it remains, it is removed with the next change
		}
	}
	return nil
}

// Erase removes all epochs of the store and, if it is then empty, its directory: for a [Journal] of
// a run that is over, whose checkpoints are secret. The newest epoch is removed last, so that after
// a crash in between Load still returns it and never an older one. File systems and disks may keep
// copies of what was removed. Do not erase a ledger.
func (f *FileStore) Erase() error {
	_, all, err := f.newest()
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	}
	slices.Sort(all)
	for i, epoch := range all {
		if i == len(all)-1 && i > 0 {
			if err := atomicfile.SyncDir(f.dir); err != nil {
				return err
			}
		}
		if err := os.Remove(f.path(epoch)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	_ = os.Remove(f.dir) // it may hold other files
	return nil
}
