package eventlog

import (
	"errors"
	"io"
	"os"
	"sync"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// errAbandoned is what writes answer once the log has been given up by Close.
var errAbandoned = errors.New("the log was closed after a failure")

// fence is the file system that the log writes through. The first change of the disk that fails
// closes the fence: from then on every change fails with that first cause, whoever asks for it. So
// nothing that comes after a lost write can become durable.
//
// There are two views of one fence. The log's own code gets the errors. pebble does not: where its
// write-ahead log or its manifest cannot be written it panics, ends the process, or tries again for
// ever, each with locks held. So in its view a goroutine whose change fails stands still for good,
// and the log goes on without it (see [Store.guard]).
//
// The fence also knows the files that are open, so that a log whose pebble cannot be closed any
// more still gives its descriptors and its lock back.
type fence struct {
	*fenceState
	freeze bool
}

type fenceState struct {
	vfs.FS
	onFail func(error) // called once, outside the lock

	mu    sync.Mutex
	cause error
	fault error // the first error of reading, which says nothing of the bytes
	open  map[*fencedFile]struct{}
	locks map[*fencedLock]struct{}
}

func newFence(fs vfs.FS, onFail func(error)) *fence {
	return &fence{fenceState: &fenceState{
		FS: fs, onFail: onFail, open: map[*fencedFile]struct{}{}, locks: map[*fencedLock]struct{}{},
	}}
}

// forPebble is the view in which failures do not return.
func (f *fence) forPebble() *fence { return &fence{f.fenceState, true} }

// or freezes the goroutine when err is an error and this is pebble's view. The caller holds no
// lock.
func (f *fence) or(err error) error {
	if err != nil && f.freeze {
		freeze()
	}
	return err
}

// freeze is where goroutines of a failed pebble stand.
func freeze() { select {} }

// check returns the cause when the fence is closed.
func (f *fence) check() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.cause
}

// fail closes the fence if err is an error and the first one, and returns err.
func (f *fence) fail(err error) error {
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

// reading notes an error of reading. The end of a file and a file that is not there are answers,
// not errors.
func (f *fence) reading(err error) error {
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, os.ErrNotExist) && !errors.Is(err, os.ErrClosed) {
		f.mu.Lock()
		if f.fault == nil {
			f.fault = err
		}
		f.mu.Unlock()
	}
	return err
}

// readFault is the first error of reading: with it, what looks like damage may be none.
func (f *fence) readFault() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.fault
}

// do runs a change of the disk, or refuses it.
func (f *fence) do(change func() error) error { return f.or(f.try(change)) }

// try is do for a caller that holds a lock: it must call or, without the lock.
func (f *fence) try(change func() error) error {
	if err := f.check(); err != nil {
		return err
	}
	return f.fail(change())
}

// abandon closes the fence and all files and locks that are still open behind it.
func (f *fence) abandon() error {
	f.mu.Lock()
	if f.cause == nil {
		f.cause = errAbandoned
	}
	files, locks := f.open, f.locks
	f.open, f.locks = map[*fencedFile]struct{}{}, map[*fencedLock]struct{}{}
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

func (f *fence) wrap(file vfs.File, err error) (vfs.File, error) {
	if err != nil {
		return nil, err
	}
	out := &fencedFile{File: file, fence: f}
	f.mu.Lock()
	f.open[out] = struct{}{}
	f.mu.Unlock()
	return out, nil
}

// Unwrap implements vfs.FS.
func (f *fence) Unwrap() vfs.FS { return f.FS }

// Create implements vfs.FS.
func (f *fence) Create(name string, c vfs.DiskWriteCategory) (file vfs.File, err error) {
	err = f.do(func() (err error) { file, err = f.FS.Create(name, c); return err })
	return f.wrap(file, err)
}

// Open implements vfs.FS. Reading is not fenced.
func (f *fence) Open(name string, opts ...vfs.OpenOption) (vfs.File, error) {
	file, err := f.FS.Open(name, opts...)
	return f.wrap(file, f.reading(err))
}

// OpenReadWrite implements vfs.FS.
func (f *fence) OpenReadWrite(name string, c vfs.DiskWriteCategory, opts ...vfs.OpenOption) (file vfs.File, err error) {
	err = f.do(func() (err error) { file, err = f.FS.OpenReadWrite(name, c, opts...); return err })
	return f.wrap(file, err)
}

// OpenDir implements vfs.FS.
func (f *fence) OpenDir(name string) (vfs.File, error) { return f.wrap(f.FS.OpenDir(name)) }

// Link implements vfs.FS.
func (f *fence) Link(oldname, newname string) error {
	return f.do(func() error { return f.FS.Link(oldname, newname) })
}

// Rename implements vfs.FS.
func (f *fence) Rename(oldname, newname string) error {
	return f.do(func() error { return f.FS.Rename(oldname, newname) })
}

// ReuseForWrite implements vfs.FS.
func (f *fence) ReuseForWrite(oldname, newname string, c vfs.DiskWriteCategory) (file vfs.File, err error) {
	err = f.do(func() (err error) { file, err = f.FS.ReuseForWrite(oldname, newname, c); return err })
	return f.wrap(file, err)
}

// MkdirAll implements vfs.FS.
func (f *fence) MkdirAll(dir string, perm os.FileMode) error {
	return f.do(func() error { return f.FS.MkdirAll(dir, perm) })
}

// Remove implements vfs.FS. That a file cannot be removed loses nothing; it does not close the
// fence.
func (f *fence) Remove(name string) error {
	if err := f.or(f.check()); err != nil {
		return err
	}
	return f.FS.Remove(name)
}

// RemoveAll implements vfs.FS, as Remove.
func (f *fence) RemoveAll(name string) error {
	if err := f.or(f.check()); err != nil {
		return err
	}
	return f.FS.RemoveAll(name)
}

// List implements vfs.FS.
func (f *fence) List(dir string) ([]string, error) {
	names, err := f.FS.List(dir)
	return names, f.reading(err)
}

// Stat implements vfs.FS.
func (f *fence) Stat(name string) (vfs.FileInfo, error) {
	info, err := f.FS.Stat(name)
	return info, f.reading(err)
}

// Lock implements vfs.FS.
func (f *fence) Lock(name string) (io.Closer, error) {
	c, err := f.FS.Lock(name)
	if err != nil {
		return nil, err
	}
	l := &fencedLock{closer: c, fence: f}
	f.mu.Lock()
	f.locks[l] = struct{}{}
	f.mu.Unlock()
	return l, nil
}

// fencedLock is a lock that is given back once.
type fencedLock struct {
	closer io.Closer
	fence  *fence
	once   sync.Once
}

func (l *fencedLock) Close() (err error) {
	l.once.Do(func() {
		l.fence.mu.Lock()
		delete(l.fence.locks, l)
		l.fence.mu.Unlock()
		err = l.closer.Close()
	})
	return err
}

// fencedFile is a file behind the fence. The read lock is held during a call, so that abandon does
// not close a file under a running one.
type fencedFile struct {
	vfs.File
	fence *fence

	mu     sync.RWMutex
	closed bool
}

func (f *fencedFile) do(change func() error) error { return f.fence.or(f.try(change)) }

func (f *fencedFile) try(change func() error) error {
	f.mu.RLock()
	defer f.mu.RUnlock()
	if f.closed {
		return os.ErrClosed
	}
	return f.fence.try(change)
}

func (f *fencedFile) read(read func() error) error {
	f.mu.RLock()
	defer f.mu.RUnlock()
	if f.closed {
		return os.ErrClosed
	}
	return f.fence.reading(read())
}

// Close implements vfs.File. A second Close does nothing: the first may have been abandon's.
func (f *fencedFile) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return nil
	}
	f.closed = true
	f.fence.mu.Lock()
	delete(f.fence.open, f)
	f.fence.mu.Unlock()
	return f.File.Close()
}

// Read implements io.Reader.
func (f *fencedFile) Read(p []byte) (n int, err error) {
	err = f.read(func() (err error) { n, err = f.File.Read(p); return err })
	return n, err
}

// ReadAt implements io.ReaderAt.
func (f *fencedFile) ReadAt(p []byte, off int64) (n int, err error) {
	err = f.read(func() (err error) { n, err = f.File.ReadAt(p, off); return err })
	return n, err
}

// Stat implements vfs.File.
func (f *fencedFile) Stat() (info vfs.FileInfo, err error) {
	err = f.read(func() (err error) { info, err = f.File.Stat(); return err })
	return info, err
}

// Prefetch implements vfs.File. It is a hint: its errors mean nothing (on Linux, "errno 0" may be
// one).
func (f *fencedFile) Prefetch(offset, length int64) error {
	return f.read(func() error {
		_ = f.File.Prefetch(offset, length)
		return nil
	})
}

// Write implements io.Writer.
func (f *fencedFile) Write(p []byte) (n int, err error) {
	err = f.do(func() (err error) { n, err = f.File.Write(p); return err })
	return n, err
}

// WriteAt implements io.WriterAt.
func (f *fencedFile) WriteAt(p []byte, off int64) (n int, err error) {
	err = f.do(func() (err error) { n, err = f.File.WriteAt(p, off); return err })
	return n, err
}

// Preallocate implements vfs.File. It is a hint that some file systems refuse: that does not close
// the fence.
func (f *fencedFile) Preallocate(offset, length int64) error {
	f.mu.RLock()
	defer f.mu.RUnlock()
	if f.closed {
		return os.ErrClosed
	}
	if err := f.fence.check(); err != nil {
		return err
	}
	return f.File.Preallocate(offset, length)
}

// Sync implements vfs.File.
func (f *fencedFile) Sync() error { return f.do(f.File.Sync) }

// SyncData implements vfs.File.
func (f *fencedFile) SyncData() error { return f.do(f.File.SyncData) }

// SyncTo implements vfs.File.
func (f *fencedFile) SyncTo(length int64) (full bool, err error) {
	err = f.do(func() (err error) { full, err = f.File.SyncTo(length); return err })
	return full, err
}
