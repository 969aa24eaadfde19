package dp

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"

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
type FileStore struct {
	dir      string
	readOnly bool
}

const (
	storePrefix = "epoch-"
	storeKept   = 16
)

// OpenFileStore returns the store in the directory, which is created if it does not exist, for its
// owner only. What it creates is durable: without that a failure of the power could take a new
// directory away, with the reservations in it.
//
// It removes the temporary files of writers that were killed, which have what they were to write,
// and takes the permissions of other users away, which is an error if it may not. Whoever only
// reads uses [OpenFileStoreReadOnly]. A directory with other files is refused, as a copy
// of a secret state would outlive [FileStore.Erase].
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
	err := f.own()
	if errors.Is(err, syscall.EROFS) { // of a copy that is only read
		err = nil
	}
	if err != nil {
		return nil, err
	}
	return f, nil
}

// OpenFileStoreReadOnly returns the store in a directory that exists, for reading. It changes
// nothing: it creates and removes no file and leaves the permissions as they are. So it is for
// whoever may read the directory, also if it belongs to somebody else, and files of others in it do
// not matter. Changes and [FileStore.Erase] are errors.
func OpenFileStoreReadOnly(dir string) (*FileStore, error) {
	f := &FileStore{dir: dir, readOnly: true}
	if _, _, err := f.newest(); err != nil {
		return nil, err
	}
	return f, nil
}

// writable returns an error for a store that was opened for reading.
func (f *FileStore) writable() error {
	if f.readOnly {
		return noregret.Errorf(noregret.Usage, f.dir, "the store was opened for reading only")
	}
	return nil
}

// own refuses a directory with files of others, and makes it one for its owner only, without files
// of dead writers.
func (f *FileStore) own() error {
	if err := f.foreign(); err != nil {
		return err
	}
	if err := narrow(f.dir, 0o700); err != nil {
		return err
	}
	if err := atomicfile.CleanDir(f.dir); err != nil {
		return err
	}
	_, all, err := f.newest()
	if err != nil {
		return err
	}
	for _, epoch := range all {
		if err := narrow(f.path(epoch), 0o600); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// narrow takes the permissions away that a file or directory must not have.
func narrow(path string, most fs.FileMode) error {
	st, err := os.Stat(path)
	if err != nil || runtime.GOOS == "windows" { // whose modes say nothing
		return err
	}
	if mode := st.Mode().Perm(); mode&^most != 0 {
		return os.Chmod(path, mode&most)
	}
	return nil
}

// foreign returns an error that names a file of the directory which is not the store's.
func (f *FileStore) foreign() error {
	entries, err := os.ReadDir(f.dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		name := e.Name()
		if target := atomicfile.TargetOf(name); target != "" {
			name = target
		}
		// A file system has lost+found in its root.
		if _, ok := epochOf(name); (!ok || !e.Type().IsRegular()) && (e.Name() != "lost+found" || !e.IsDir()) {
			return noregret.Errorf(noregret.Usage, f.dir, "%q is in it, which is no file of a ledger or a private "+
				"state: move it away, or name another directory", e.Name())
		}
	}
	return nil
}

func (f *FileStore) path(epoch uint64) string {
	return filepath.Join(f.dir, fmt.Sprintf("%s%020d", storePrefix, epoch))
}

// epochOf returns the epoch whose file has the given name.
func epochOf(name string) (epoch uint64, ok bool) {
	digits, ok := strings.CutPrefix(name, storePrefix)
	epoch, err := strconv.ParseUint(digits, 10, 64)
	return epoch, ok && err == nil && len(digits) == 20
}

// newest returns the largest epoch in the directory, and all its epochs.
func (f *FileStore) newest() (top uint64, all []uint64, err error) {
	entries, err := os.ReadDir(f.dir)
	if err != nil {
		return 0, nil, err
	}
	for _, e := range entries {
		epoch, ok := epochOf(e.Name())
		if !ok || f.readOnly && !e.Type().IsRegular() { // a writer has refused what is not regular
			continue // a temporary file of another writer, or a file of others
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
	if err := f.writable(); err != nil {
		return err
	}
	top, all, err := f.newest()
	if err != nil {
		return err
	}
	if top != epoch {
		return epochError(epoch, top)
	}
	next := f.path(epoch + 1)
	temporary, err := atomicfile.CreatePrivate(next)
	if err != nil {
		if _, missing := os.Lstat(next); missing == nil {
			return epochError(epoch, epoch+1)
		}
		return err
	}
	defer temporary.Abort()
	if _, err := temporary.Write(document); err != nil {
		return err
	}
	if err := temporary.Link(); err != nil {
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
			atomicfile.Step("remove", f.path(old))
			_ = os.Remove(f.path(old)) // if it remains, it is removed with the next change
		}
	}
	return nil
}

// Erase removes all epochs of the store, what dead writers have left, and its directory: for a
// [Journal] of a run that is over, whose checkpoints are secret. The newest epoch is removed last,
// so that after a crash in between Load still returns it and never an older one. If files of others
// are in the directory, they remain, and the error names one. File systems and disks may keep
// copies of what was removed. Do not erase a ledger.
func (f *FileStore) Erase() error {
	if err := f.writable(); err != nil {
		return err
	}
	_, all, err := f.newest()
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	}
	if err := atomicfile.CleanDir(f.dir); err != nil {
		return err
	}
	slices.Sort(all)
	for i, epoch := range all {
		if i == len(all)-1 && i > 0 {
			if err := atomicfile.SyncDir(f.dir); err != nil {
				return err
			}
		}
		atomicfile.Step("remove", f.path(epoch))
		if err := os.Remove(f.path(epoch)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	atomicfile.Step("remove", f.dir)
	return f.removeDir()
}

// removeDir removes the directory if it can be removed, such as one in which nothing is left.
func (f *FileStore) removeDir() error {
	if os.Remove(f.dir) == nil {
		return nil
	}
	entries, err := os.ReadDir(f.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, e := range entries {
		if e.Name() != "lost+found" {
			return noregret.Errorf(noregret.Usage, f.dir, "%q is in it: all else is removed", e.Name())
		}
	}
	return err
}
