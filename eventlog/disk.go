package eventlog

import (
	"context"
	"errors"
	"io"
	"iter"
	"os"
	"path/filepath"
	"sync/atomic"

	"github.com/noregret/noregret"
)

// Disk is the [Log] in a directory for a service that goes on through failures of the disk: Reopen
// replaces the [Store] that has failed by one that is opened on the same directory. The counters of
// Stats then begin at 0.
type Disk struct {
	fs    FS
	dir   string
	opts  Options
	store atomic.Pointer[opened]
}

// opened is a store with what goes with it.
type opened struct {
	*Store
	// mark is the file that every commit writes, nil if the log is not on the machine's disk.
	mark os.FileInfo
	// unwritable is why the store is open for reading only, nil if it takes events.
	unwritable error
}

var _ Log = (*Disk)(nil)

// OpenDisk opens the log in dir as [Open] does. If the disk takes no writes and a log is there, it
// opens it for reading, as [OpenReadOnly] does, and Health says why.
func OpenDisk(fs FS, dir string, o Options) (*Disk, error) {
	d := &Disk{fs: fs, dir: dir, opts: o}
	s, err := Open(fs, dir, o)
	if err == nil {
		d.set(s, nil)
		return d, nil
	}
	if !IsUnwritable(err) {
		return nil, err
	}
	s, readErr := OpenReadOnly(fs, dir, o)
	if readErr != nil {
		return nil, errors.Join(err, readErr)
	}
	d.set(s, err)
	return d, nil
}

// set begins to use a store.
func (d *Disk) set(s *Store, unwritable error) {
	next := &opened{Store: s, unwritable: unwritable}
	if d.fs == nil {
		if info, err := os.Stat(filepath.Join(d.dir, markFileName)); err == nil {
			next.mark = info
		}
	}
	d.store.Store(next)
}

// now returns the store in use.
func (d *Disk) now() *opened { return d.store.Load() }

// present returns ErrGone if the log's directory is not the one that was opened: what is written to
// it would be lost.
func (s *opened) present() error {
	if s.mark == nil {
		return nil
	}
	info, err := os.Stat(filepath.Join(s.dir, markFileName))
	if errors.Is(err, os.ErrNotExist) || err == nil && !os.SameFile(info, s.mark) {
		return noregret.Errorf(noregret.Internal, s.dir, "%w", ErrGone)
	}
	return nil // other errors say nothing of it
}

// Health implements [Log].
func (d *Disk) Health() error {
	s := d.now()
	if err := s.present(); err != nil {
		return err
	}
	err := s.Store.Health()
	if s.unwritable != nil && errors.Is(err, ErrReadOnly) {
		return d.because(ErrReadOnly, s.unwritable)
	}
	return err
}

// Reopen implements [Log]. The error is [ErrNotReady] if the disk takes no writes: see [Probe]. If
// the log can be read but not written, it is open for reading afterwards.
func (d *Disk) Reopen(context.Context) error {
	s := d.now()
	switch err := d.Health(); {
	case err == nil:
		return nil
	case errors.Is(err, ErrClosed):
		return err
	}
	if err := Probe(d.fs, d.dir); err != nil {
		return d.because(ErrNotReady, err)
	}
	_ = s.Close() // it has failed, so that its error is known
	again, err := Open(d.fs, d.dir, d.opts)
	if err == nil {
		d.set(again, nil)
		return nil
	}
	if again, readErr := OpenReadOnly(d.fs, d.dir, d.opts); readErr == nil {
		d.set(again, err)
	}
	return err
}

// Append implements [Appender].
func (d *Disk) Append(ctx context.Context, events ...Event) (first, last uint64, err error) {
	s := d.now()
	first, last, err = s.Append(ctx, events...)
	if err == nil {
		err = s.present()
	}
	if err != nil {
		return 0, 0, err
	}
	return first, last, nil
}

// AppendAt implements [Appender].
func (d *Disk) AppendAt(ctx context.Context, first uint64, events ...Event) error {
	s := d.now()
	if err := s.AppendAt(ctx, first, events...); err != nil {
		return err
	}
	return s.present()
}

// Read implements [Reader].
func (d *Disk) Read(ctx context.Context, from uint64) iter.Seq2[Record, error] {
	return d.now().Read(ctx, from)
}

// Tail implements [Reader]. It ends when the log fails.
func (d *Disk) Tail(ctx context.Context, from uint64) iter.Seq2[Record, error] {
	return d.now().Tail(ctx, from)
}

// SaveSnapshot implements [Snapshotter]: see [Store.SaveSnapshot].
func (d *Disk) SaveSnapshot(ctx context.Context, position uint64, state []byte) error {
	return d.now().SaveSnapshot(ctx, position, state)
}

// WriteSnapshot implements [Snapshotter]: see [Store.SaveSnapshot].
func (d *Disk) WriteSnapshot(ctx context.Context, position uint64, write func(io.Writer) error) error {
	return d.now().WriteSnapshot(ctx, position, write)
}

// ReadSnapshot implements [Snapshotter].
func (d *Disk) ReadSnapshot(ctx context.Context, read func(io.Reader) error) (uint64, error) {
	return d.now().ReadSnapshot(ctx, read)
}

// LatestSnapshot implements [Snapshotter].
func (d *Disk) LatestSnapshot(ctx context.Context) (Snapshot, error) {
	return d.now().LatestSnapshot(ctx)
}

// OldestSnapshot implements [Snapshotter].
func (d *Disk) OldestSnapshot(ctx context.Context) (Snapshot, error) {
	return d.now().OldestSnapshot(ctx)
}

// OpenSnapshots implements [Snapshotter]. They can be read until the log fails.
func (d *Disk) OpenSnapshots(ctx context.Context) ([]*SavedSnapshot, error) {
	return d.now().OpenSnapshots(ctx)
}

// Compact implements [Snapshotter]: see [Store.Compact].
func (d *Disk) Compact(ctx context.Context, upTo uint64) error { return d.now().Compact(ctx, upTo) }

// Stats implements [Log].
func (d *Disk) Stats() Stats { return d.now().Stats() }

// Usage implements [Log]. It costs a look at each of the log's files.
func (d *Disk) Usage() (Usage, error) { return Measure(d.fs, d.dir) }

// Close implements [Log].
func (d *Disk) Close() error { return d.now().Close() }

// because returns an error of a kind with its cause.
func (d *Disk) because(kind, cause error) error {
	return &noregret.Error{
		Code: noregret.Internal, Place: d.dir, Message: kind.Error() + ": " + cause.Error(),
		Err: errors.Join(kind, cause),
	}
}
