package eventlog

import (
	"context"
	"errors"
	"io"
	"os"
	"syscall"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/noregret/noregret"
)

// IsUnwritable reports whether an error says that the disk takes no writes, although what is on it
// can be read: it is full, a quota is exhausted, or it is mounted read-only.
func IsUnwritable(err error) bool {
	return vfs.IsNoSpaceError(err) || errors.Is(err, syscall.EROFS) || errors.Is(err, syscall.EDQUOT)
}

// OpenReadOnly opens the log in dir for reading, on a disk that may be full or mounted read-only.
// It changes nothing. It verifies both ends of the log as [Open] does. Append, SaveSnapshot and
// Compact return [ErrReadOnly]. It fails if another process has the log open for writing, or if
// there is no log.
func OpenReadOnly(fs FS, dir string, o Options) (*Store, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	s := newStore(fs, dir, o)
	s.readOnly, s.fs.readOnly = true, true
	s.queue.Stop(s.writable())
	if err := s.openToRead(); err != nil {
		s.fail(err)
		_ = s.fs.abandon() // the first error is the one to return
		return nil, err
	}
	return s, nil
}

func (s *Store) openToRead() error {
	lock, err := s.fs.Lock(s.path(lockName))
	if err != nil {
		return lockError(s.dir, err)
	}
	s.lock = lock
	found, err := readLayout(s.fs, s.dir)
	switch {
	case err != nil:
		return err
	case !found.store:
		return noregret.Errorf(noregret.NotFound, s.dir, "no log here, and none can be made on a disk that takes no "+
			"writes")
	}
	if s.db, err = s.verify(&found); err != nil {
		return err
	}
	if !found.hasMark && s.last.position > 0 {
		return damaged(s.dir, nil, "%s; a repair writes a new one", lostMark)
	}
	return s.findSnapshots()
}

// probeBytes and probeFiles are what Probe writes and opens: somewhat more than Open needs.
const (
	probeBytes = 1 << 20
	probeFiles = 16
)

// Probe returns nil if the disk of the log in dir takes writes and the process can open files: it
// writes a file of 1 MiB, flushes it, opens it several times and removes it. On a disk without room
// it removes what an interrupted snapshot has left, and tries again. Call it before a log that has
// failed is opened again, as a failed attempt costs memory (see [Store]).
func Probe(fs FS, dir string) error {
	fs = disk(fs)
	err := probe(fs, dir)
	if IsUnwritable(err) && removeTemps(fs, dir) > 0 {
		err = probe(fs, dir)
	}
	if err != nil {
		return noregret.Errorf(noregret.Internal, dir, "the disk takes no writes: %w", err)
	}
	return nil
}

func probe(fs FS, dir string) (err error) {
	path := fs.PathJoin(dir, snapshotName, "probe"+tempSuffix) // Open removes it
	f, err := fs.Create(path, vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	open := []io.Closer{f}
	defer func() {
		for _, f := range open {
			err = errors.Join(err, f.Close())
		}
		if removed := fs.Remove(path); !errors.Is(removed, os.ErrNotExist) {
			err = errors.Join(err, removed)
		}
	}()
	if _, err := f.Write(make([]byte, probeBytes)); err != nil {
		return err
	}
	for range probeFiles {
		g, err := fs.Open(path)
		if err != nil {
			return err
		}
		open = append(open, g)
	}
	return f.Sync()
}

// noLock is the lock of a log on a disk on which no lock can be made, and so none is held by a
// writer.
type noLock struct{}

func (noLock) Close() error { return nil }

// Health implements [Log].
func (s *Store) Health() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.writable()
}

// Reopen implements [Log]. It returns the error of Health: a Store that has failed stays so, and
// another one is opened in its place, as [Disk] does.
func (s *Store) Reopen(context.Context) error { return s.Health() }
