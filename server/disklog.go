package server

import (
	"context"
	"errors"
	"io"
	"iter"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"

	"github.com/noregret/noregret/eventlog"
)

// diskLog is the log of the service. It outlives failures of the disk: reopen replaces the store
// that has failed by one that is opened on the same directory.
type diskLog struct {
	fs      eventlog.FS
	dir     string
	options eventlog.Options
	store   atomic.Pointer[eventlog.Store]
	logger  *slog.Logger
	// mark is the file that every commit writes, nil if the log is not on the machine's disk.
	mark atomic.Pointer[os.FileInfo]

	mu sync.Mutex
	// passed has the reasons why snapshots were passed over, by the names of their files.
	passed map[string]string
}

// skipped logs that a damaged snapshot is passed over, once.
func (d *diskLog) skipped(file, reason string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.passed[file] == reason {
		return
	}
	if d.passed == nil {
		d.passed = map[string]string{}
	}
	d.passed[file] = reason
	d.logger.Warn("a damaged snapshot is skipped: the state is made of an older one or of the events; "+
		"noregret log verify checks the log, and noregret log repair sets the file aside",
		"file", file, "reason", reason)
}

// damagedSnapshots returns the reasons why snapshots were passed over, by their files.
func (d *diskLog) damagedSnapshots() map[string]string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return maps.Clone(d.passed)
}

// errGone is the reason of an outage that begins when the directory is not there any more: what is
// written to it would be lost.
var errGone = errors.New("the log's directory has been removed, renamed or replaced")

// remember notes which file the mark is.
func (d *diskLog) remember() {
	d.mark.Store(nil)
	if d.fs != nil {
		return
	}
	if info, err := os.Stat(filepath.Join(d.dir, "mark")); err == nil {
		d.mark.Store(&info)
	}
}

// present returns an error if the log's directory is not the one that was opened.
func (d *diskLog) present() error {
	if d == nil {
		return nil
	}
	was := d.mark.Load()
	if was == nil {
		return nil
	}
	if info, err := os.Stat(filepath.Join(d.dir, "mark")); errors.Is(err, os.ErrNotExist) ||
		err == nil && !os.SameFile(info, *was) {
		return errGone
	}
	return nil // other errors say nothing of it
}

var _ eventlog.Log = (*diskLog)(nil)

// openLog opens the log. If the disk is full or read-only and a log is there, it opens it for
// reading and returns the reason as failure.
func openLog(c *Config) (d *diskLog, failure, err error) {
	d = &diskLog{fs: c.FS, dir: LogDir(c.Data), options: c.logOptions(), logger: c.Logger}
	d.options.Skipped = d.skipped
	s, err := eventlog.Open(d.fs, d.dir, d.options)
	if eventlog.IsUnwritable(err) {
		failure = err
		if s, err = eventlog.OpenReadOnly(d.fs, d.dir, d.options); err != nil {
			return nil, nil, errors.Join(failure, err)
		}
	}
	if err != nil {
		return nil, nil, err
	}
	d.store.Store(s)
	d.remember()
	return d, failure, nil
}

// reopen replaces a store that has failed, or one that was opened for reading. Only the writer
// calls it, when the disk works again.
func (d *diskLog) reopen(logger *slog.Logger) error {
	if err := d.store.Load().Close(); err != nil && !errors.Is(err, eventlog.ErrFailed) {
		logger.Warn("the log that has failed could not be closed", "error", err)
	}
	s, err := eventlog.Open(d.fs, d.dir, d.options)
	if err != nil {
		if s, readErr := eventlog.OpenReadOnly(d.fs, d.dir, d.options); readErr == nil {
			d.store.Store(s)
		}
		return err
	}
	d.store.Store(s)
	d.remember()
	return nil
}

// Append implements [eventlog.Appender].
func (d *diskLog) Append(ctx context.Context, events ...eventlog.Event) (first, last uint64, err error) {
	return d.store.Load().Append(ctx, events...)
}

// AppendAt implements [eventlog.Appender].
func (d *diskLog) AppendAt(ctx context.Context, first uint64, events ...eventlog.Event) error {
	return d.store.Load().AppendAt(ctx, first, events...)
}

// Read implements [eventlog.Reader].
func (d *diskLog) Read(ctx context.Context, from uint64) iter.Seq2[eventlog.Record, error] {
	return d.store.Load().Read(ctx, from)
}

// Tail implements [eventlog.Reader]. It ends when the log fails.
func (d *diskLog) Tail(ctx context.Context, from uint64) iter.Seq2[eventlog.Record, error] {
	return d.store.Load().Tail(ctx, from)
}

// SaveSnapshot implements [eventlog.Snapshotter].
func (d *diskLog) SaveSnapshot(ctx context.Context, position uint64, state []byte) error {
	return d.store.Load().SaveSnapshot(ctx, position, state)
}

// WriteSnapshot implements [eventlog.Snapshotter].
func (d *diskLog) WriteSnapshot(ctx context.Context, position uint64, write func(io.Writer) error) error {
	return d.store.Load().WriteSnapshot(ctx, position, write)
}

// ReadSnapshot implements [eventlog.Snapshotter].
func (d *diskLog) ReadSnapshot(ctx context.Context, read func(io.Reader) error) (uint64, error) {
	return d.store.Load().ReadSnapshot(ctx, read)
}

// LatestSnapshot implements [eventlog.Snapshotter].
func (d *diskLog) LatestSnapshot(ctx context.Context) (eventlog.Snapshot, error) {
	return d.store.Load().LatestSnapshot(ctx)
}

// OldestSnapshot implements [eventlog.Snapshotter].
func (d *diskLog) OldestSnapshot(ctx context.Context) (eventlog.Snapshot, error) {
	return d.store.Load().OldestSnapshot(ctx)
}

// OpenSnapshots implements [eventlog.Snapshotter]. They can be read until the log fails.
func (d *diskLog) OpenSnapshots(ctx context.Context) ([]*eventlog.SavedSnapshot, error) {
	return d.store.Load().OpenSnapshots(ctx)
}

// Compact implements [eventlog.Snapshotter].
func (d *diskLog) Compact(ctx context.Context, upTo uint64) error {
	return d.store.Load().Compact(ctx, upTo)
}

// Stats implements [eventlog.Log]. The counters begin at 0 whenever the log is opened again.
func (d *diskLog) Stats() eventlog.Stats { return d.store.Load().Stats() }

// Close implements [eventlog.Log].
func (d *diskLog) Close() error { return d.store.Load().Close() }
