package eventlog

import (
	"errors"
	"io"
	"os"
	"sync"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// errAbandoned is the error of writes after Close has abandoned a failed log.
var errAbandoned = errors.New("the log was closed after a failure")

// failStop is the file system that the log writes through. The first change of the disk that fails
// stops it: from then on every change by any caller fails with that first cause. So nothing
// that comes after a lost write can become durable.
//
// It has three views. The log's own code gets the errors. pebble does not: where pebble cannot
// write its write-ahead log or its manifest it panics, ends the process, or tries again for ever,
// each with locks held. So in its view a goroutine whose change fails blocks for ever, and the log
// goes on without it (see [Store.guard]).
//
// The third view is that of snapshots. A log needs none of them, so a change of theirs that fails
// does not stop it.
//
// failStop also knows the open files, so that a log whose pebble can no longer be closed still
// releases its descriptors and its lock.
type failStop struct {
	*failStopState
	blocks bool // the view of pebble
	spares bool // the view of snapshots
}

type failStopState struct {
	vfs.FS
	onFail func(error) // called once, outside the lock
	// readOnly: a lock that a full or read-only disk refuses is not needed.
	readOnly bool

	// changing is held for reading during a change, so that none happens after abandon.
	changing sync.RWMutex

	mu        sync.Mutex
	cause     error
	abandoned bool
	fault     error // the first error of reading, which says nothing of the bytes
	open      map[*failStopFile]struct{}
	locks     map[*failStopLock]struct{}
}

func newFailStop(fs vfs.FS, onFail func(error)) *failStop {
	return &failStop{failStopState: &failStopState{
		FS: fs, onFail: onFail, open: map[*failStopFile]struct{}{}, locks: map[*failStopLock]struct{}{},
	}}
}

// forPebble returns the view in which failures do not return.
func (f *failStop) forPebble() *failStop {
	return &failStop{failStopState: f.failStopState, blocks: true}
}

// forSnapshots returns the view in which failures do not stop the log.
func (f *failStop) forSnapshots() *failStop {
	return &failStop{failStopState: f.failStopState, spares: true}
}

// blockOnError returns err, but blocks for ever in pebble's view if it is an error. The caller must
// not hold a lock.
func (f *failStop) blockOnError(err error) error {
	if err != nil && f.blocks {
		blockForever()
	}
	return err
}

// blockForever ends the use of a goroutine of a failed pebble.
func blockForever() { select {} }

// check returns the first failure, or nil.
func (f *failStop) check() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.cause
}

// fail records err if it is the first error, and returns it.
func (f *failStop) fail(err error) error {
	if err == nil {
		return nil
	}
	f.mu.Lock()
	first := f.cause == nil
	if first {
		f.cause = err
	}
	f.mu.Unlock()
	if first && f.onFail != nil {
		f.onFail(err)
	}
	return err
}

// reading records an error of reading. The end of a file and a missing file are answers, not
// errors.
func (f *failStop) reading(err error) error {
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, os.ErrNotExist) && !errors.Is(err, os.ErrClosed) {
		f.mu.Lock()
		if f.fault == nil {
			f.fault = err
		}
		f.mu.Unlock()
	}
	return err
}

// readFault returns the first error of reading. With one, what looks like damage may be none.
func (f *failStop) readFault() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.fault
}

// run makes a change of the disk, or refuses it after a failure.
func (f *failStop) run(change func() error) error { return f.blockOnError(f.runGuarded(change)) }

// runGuarded is run for a caller that holds a lock: it does not block. The caller must pass the
// error to blockOnError once it has released the lock.
func (f *failStop) runGuarded(change func() error) error {
	return f.tryGuarded(func() error {
		err := change()
		if f.spares {
			return err
		}
		return f.fail(err)
	})
}

// tryGuarded is runGuarded for a change whose failure does not stop the log.
func (f *failStop) tryGuarded(change func() error) error {
	f.changing.RLock()
	defer f.changing.RUnlock()
	if err := f.check(); err != nil {
		return err
	}
	return change()
}

// abandon refuses further changes, waits for those that run, and closes all open files and locks.
// What is opened afterwards is closed at once.
func (f *failStop) abandon() error {
	f.changing.Lock()
	f.mu.Lock()
	if f.cause == nil {
		f.cause = errAbandoned
	}
	f.abandoned = true
	f.changing.Unlock()
	files, locks := f.open, f.locks
	f.open, f.locks = map[*failStopFile]struct{}{}, map[*failStopLock]struct{}{}
	f.mu.Unlock()
	var errs []error
	for file := range files {
		errs = append(errs, file.Close())
	}
	for l := range locks {
		errs = append(errs, l.Close())
	}
	return errors.Join(errs...)
}

func (f *failStop) wrap(file vfs.File, err error) (vfs.File, error) {
	if err != nil {
		return nil, err
	}
	out := &failStopFile{File: file, fs: f}
	f.mu.Lock()
	abandoned := f.abandoned
	if !abandoned {
		f.open[out] = struct{}{}
	}
	f.mu.Unlock()
	if abandoned {
		return nil, f.blockOnError(errors.Join(errAbandoned, file.Close()))
	}
	return out, nil
}

// Unwrap implements vfs.FS.
func (f *failStop) Unwrap() vfs.FS { return f.FS }

// Create implements vfs.FS.
func (f *failStop) Create(name string, c vfs.DiskWriteCategory) (file vfs.File, err error) {
	err = f.run(func() (err error) { file, err = f.FS.Create(name, c); return err })
	return f.wrap(file, err)
}

// Open implements vfs.FS. It changes nothing.
func (f *failStop) Open(name string, opts ...vfs.OpenOption) (vfs.File, error) {
	file, err := f.FS.Open(name, opts...)
	return f.wrap(file, f.reading(err))
}

// OpenReadWrite implements vfs.FS.
func (f *failStop) OpenReadWrite(name string, c vfs.DiskWriteCategory, opts ...vfs.OpenOption) (file vfs.File,
	err error,
) {
	err = f.run(func() (err error) { file, err = f.FS.OpenReadWrite(name, c, opts...); return err })
	return f.wrap(file, err)
}

// OpenDir implements vfs.FS.
func (f *failStop) OpenDir(name string) (vfs.File, error) { return f.wrap(f.FS.OpenDir(name)) }

// Link implements vfs.FS.
func (f *failStop) Link(oldname, newname string) error {
	return f.run(func() error { return f.FS.Link(oldname, newname) })
}

// Rename implements vfs.FS.
func (f *failStop) Rename(oldname, newname string) error {
	return f.run(func() error { return f.FS.Rename(oldname, newname) })
}

// ReuseForWrite implements vfs.FS.
func (f *failStop) ReuseForWrite(oldname, newname string, c vfs.DiskWriteCategory) (file vfs.File, err error) {
	err = f.run(func() (err error) { file, err = f.FS.ReuseForWrite(oldname, newname, c); return err })
	return f.wrap(file, err)
}

// MkdirAll implements vfs.FS.
func (f *failStop) MkdirAll(dir string, perm os.FileMode) error {
	return f.run(func() error { return f.FS.MkdirAll(dir, perm) })
}

// Remove implements vfs.FS. A file that cannot be removed loses nothing, so this failure
// does not stop the log.
func (f *failStop) Remove(name string) error {
	return f.remove(func() error { return f.FS.Remove(name) })
}

// RemoveAll implements vfs.FS, as Remove.
func (f *failStop) RemoveAll(name string) error {
	return f.remove(func() error { return f.FS.RemoveAll(name) })
}

// remove removes files, or blocks in pebble's view if nothing may change any more.
func (f *failStop) remove(change func() error) (err error) {
	stopped := f.tryGuarded(func() error {
		err = change()
		return nil
	})
	if stopped != nil {
		return f.blockOnError(stopped)
	}
	return err
}

// List implements vfs.FS.
func (f *failStop) List(dir string) ([]string, error) {
	names, err := f.FS.List(dir)
	return names, f.reading(err)
}

// Stat implements vfs.FS.
func (f *failStop) Stat(name string) (vfs.FileInfo, error) {
	info, err := f.FS.Stat(name)
	return info, f.reading(err)
}

// Lock implements vfs.FS.
func (f *failStop) Lock(name string) (io.Closer, error) {
	c, err := f.FS.Lock(name)
	if f.readOnly && IsUnwritable(err) {
		return noLock{}, nil
	}
	if err != nil {
		return nil, err
	}
	l := &failStopLock{closer: c, fs: f}
	f.mu.Lock()
	f.locks[l] = struct{}{}
	f.mu.Unlock()
	return l, nil
}

// failStopLock is a lock that is released once.
type failStopLock struct {
	closer io.Closer
	fs     *failStop
	once   sync.Once
}

func (l *failStopLock) Close() (err error) {
	l.once.Do(func() {
		l.fs.mu.Lock()
		delete(l.fs.locks, l)
		l.fs.mu.Unlock()
		err = l.closer.Close()
	})
	return err
}

// failStopFile is an open file. The read lock is held during a call, so that abandon does not close
// the file under it.
type failStopFile struct {
	vfs.File
	fs *failStop

	mu     sync.RWMutex
	closed bool
}

func (f *failStopFile) run(change func() error) error {
	return f.fs.blockOnError(f.runGuarded(change))
}

func (f *failStopFile) runGuarded(change func() error) error {
	f.mu.RLock()
	defer f.mu.RUnlock()
	if f.closed {
		return os.ErrClosed
	}
	return f.fs.runGuarded(change)
}

func (f *failStopFile) read(read func() error) error {
	f.mu.RLock()
	defer f.mu.RUnlock()
	if f.closed {
		return os.ErrClosed
	}
	return f.fs.reading(read())
}

// Close implements vfs.File. A second Close does nothing: the first may have been abandon's.
func (f *failStopFile) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return nil
	}
	f.closed = true
	f.fs.mu.Lock()
	delete(f.fs.open, f)
	f.fs.mu.Unlock()
	return f.File.Close()
}

// Read implements io.Reader.
func (f *failStopFile) Read(p []byte) (n int, err error) {
	err = f.read(func() (err error) { n, err = f.File.Read(p); return err })
	return n, err
}

// ReadAt implements io.ReaderAt.
func (f *failStopFile) ReadAt(p []byte, off int64) (n int, err error) {
	err = f.read(func() (err error) { n, err = f.File.ReadAt(p, off); return err })
	return n, err
}

// Stat implements vfs.File.
func (f *failStopFile) Stat() (info vfs.FileInfo, err error) {
	err = f.read(func() (err error) { info, err = f.File.Stat(); return err })
	return info, err
}

// Prefetch implements vfs.File. It is a hint: its errors mean nothing (on Linux, "errno 0" may be
// one).
func (f *failStopFile) Prefetch(offset, length int64) error {
	return f.read(func() error {
		_ = f.File.Prefetch(offset, length)
		return nil
	})
}

// Write implements io.Writer.
func (f *failStopFile) Write(p []byte) (n int, err error) {
	err = f.run(func() (err error) { n, err = f.File.Write(p); return err })
	return n, err
}

// WriteAt implements io.WriterAt.
func (f *failStopFile) WriteAt(p []byte, off int64) (n int, err error) {
	err = f.run(func() (err error) { n, err = f.File.WriteAt(p, off); return err })
	return n, err
}

// Preallocate implements vfs.File. It is a hint that some file systems refuse, so its
// failure does not stop the log.
func (f *failStopFile) Preallocate(offset, length int64) error {
	f.mu.RLock()
	defer f.mu.RUnlock()
	if f.closed {
		return os.ErrClosed
	}
	return f.fs.tryGuarded(func() error { return f.File.Preallocate(offset, length) })
}

// Sync implements vfs.File.
func (f *failStopFile) Sync() error { return f.run(f.File.Sync) }

// SyncData implements vfs.File.
func (f *failStopFile) SyncData() error { return f.run(f.File.SyncData) }

// SyncTo implements vfs.File.
func (f *failStopFile) SyncTo(length int64) (full bool, err error) {
	err = f.run(func() (err error) { full, err = f.File.SyncTo(length); return err })
	return full, err
}
