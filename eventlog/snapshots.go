package eventlog

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/noregret/noregret"
)

// The layout of a snapshot file: magic "NRS1", position uint64, the checksum uint32 of the record
// at the position, the CRC-32C uint32 of all other bytes, the state.
const (
	snapshotMagic  = "NRS1"
	snapshotHeader = 20
	snapshotSuffix = ".snap"
	damagedSuffix  = ".damaged"
)

func snapshotFile(position uint64) string { return fmt.Sprintf("%020d%s", position, snapshotSuffix) }

// writeSnapshotFile writes the file of a snapshot under a temporary name and renames it. If write
// returns an error that is not one of the file, it removes the file and returns the error as
// refused.
func writeSnapshotFile(fs FS, dir string, at mark, write func(io.Writer) error) (refused, err error) {
	path := fs.PathJoin(dir, snapshotFile(at.position))
	f, err := fs.Create(path+tempSuffix, vfs.WriteCategoryUnspecified)
	if err != nil {
		return nil, err
	}
	header := make([]byte, 0, snapshotHeader)
	header = append(header, snapshotMagic...)
	header = binary.LittleEndian.AppendUint64(header, at.position)
	header = binary.LittleEndian.AppendUint32(header, at.sum)
	w := &sumWriter{to: f, sum: crc32.Checksum(header, castagnoli)}
	b := bufio.NewWriterSize(w, 1<<18)
	_, err = f.Write(append(header, 0, 0, 0, 0))
	if err == nil {
		refused = write(b)
		_ = b.Flush() // w has the error
		err = w.err
	}
	if err == nil && refused == nil {
		_, err = f.WriteAt(binary.LittleEndian.AppendUint32(nil, w.sum), int64(len(header)))
	}
	if err == nil {
		err = f.Sync()
	}
	err = errors.Join(err, f.Close())
	switch {
	case err != nil:
		return nil, err
	case refused != nil:
		return refused, fs.Remove(path + tempSuffix)
	}
	if err := fs.Rename(path+tempSuffix, path); err != nil {
		return nil, err
	}
	return nil, syncDir(fs, dir)
}

// sumWriter writes the state of a snapshot and computes the checksum. After an error it writes
// nothing.
type sumWriter struct {
	to  io.Writer
	sum uint32
	n   int64
	err error
}

// Write implements [io.Writer].
func (w *sumWriter) Write(b []byte) (int, error) {
	if w.err != nil {
		return 0, w.err
	}
	if w.n += int64(len(b)); w.n > maxState {
		w.err = noregret.Errorf(noregret.Usage, "snapshot", "the state has more than %d bytes", int64(maxState))
		return 0, w.err
	}
	w.sum = crc32.Update(w.sum, castagnoli, b) // before a file of a test changes b
	n, err := w.to.Write(b)
	w.err = err
	return n, err
}

// listSnapshots returns the positions of the snapshot files, ascending.
func listSnapshots(fs FS, dir string) ([]uint64, error) {
	names, err := fs.List(fs.PathJoin(dir, snapshotName))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var out []uint64
	for _, n := range names {
		digits, ok := strings.CutSuffix(n, snapshotSuffix)
		if position, err := strconv.ParseUint(digits, 10, 64); ok && err == nil && snapshotFile(position) == n {
			out = append(out, position)
		}
	}
	slices.Sort(out)
	return out, nil
}

// readSnapshot reads one snapshot file. problem is "" if it is intact; read, unless it is nil, then
// gets the state.
func readSnapshot(fs FS, dir string, position uint64, read func(io.Reader) error) (at mark, problem string, err error) {
	f, err := fs.Open(fs.PathJoin(dir, snapshotName, snapshotFile(position)))
	if err != nil {
		return at, "", err
	}
	defer func() { _ = f.Close() }()
	var b [snapshotHeader]byte
	switch _, err := io.ReadFull(f, b[:]); {
	case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
		return at, "truncated", nil
	case err != nil:
		return at, "", err
	case string(b[:4]) != snapshotMagic:
		return at, "does not begin with " + snapshotMagic, nil
	}
	sum := &sumWriter{to: io.Discard, sum: crc32.Checksum(b[:16], castagnoli)}
	if _, err := io.CopyBuffer(sum, onlyReader{f}, make([]byte, 1<<18)); err != nil {
		return at, "", err
	}
	if sum.sum != binary.LittleEndian.Uint32(b[16:]) {
		return at, "its checksum is wrong", nil
	}
	at = mark{binary.LittleEndian.Uint64(b[4:]), binary.LittleEndian.Uint32(b[12:])}
	if at.position != position {
		return at, fmt.Sprintf("covers position %d", at.position), nil
	}
	if read != nil {
		err = read(io.NewSectionReader(f, snapshotHeader, sum.n))
	}
	return at, "", err
}

type onlyReader struct{ io.Reader }

// openSnapshots finds the snapshots and removes those that a crash left incomplete.
func openSnapshots(s *Store) error {
	dir := s.path(snapshotName)
	if err := makeDirs(s.fs, dir); err != nil {
		return s.ioError("making the directory of snapshots", err)
	}
	names, err := s.fs.List(dir)
	if err != nil {
		return s.ioError("listing the snapshots", err)
	}
	for _, n := range names {
		if strings.HasSuffix(n, tempSuffix) {
			_ = s.fs.Remove(s.fs.PathJoin(dir, n)) // the next open tries again
		}
	}
	return s.findSnapshots()
}

// findSnapshots lists the snapshots.
func (s *Store) findSnapshots() (err error) {
	if s.snapshots, err = listSnapshots(s.fs, s.dir); err != nil {
		return s.ioError("listing the snapshots", err)
	}
	if n := len(s.snapshots); n > 0 && s.snapshots[n-1] > s.last.position {
		return damaged(s.dir, nil, "it ends at position %d, but the snapshot %s covers %d",
			s.last.position, snapshotFile(s.snapshots[n-1]), s.snapshots[n-1])
	}
	return nil
}

// SaveSnapshot implements [Snapshotter]. It removes the oldest snapshots beyond
// Options.KeepSnapshots. The state has at most 1 TiB.
func (s *Store) SaveSnapshot(ctx context.Context, position uint64, state []byte) error {
	return s.WriteSnapshot(ctx, position, func(w io.Writer) error {
		_, err := w.Write(state)
		return err
	})
}

// WriteSnapshot implements [Snapshotter]: see [Store.SaveSnapshot].
func (s *Store) WriteSnapshot(ctx context.Context, position uint64, write func(io.Writer) error) error {
	s.snapMu.Lock()
	defer s.snapMu.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	err, last, latest := s.writable(), s.last.position, uint64(1)
	if n := len(s.snapshots); n > 0 {
		latest = s.snapshots[n-1]
	}
	latest = max(latest, s.base.position)
	s.mu.Unlock()
	switch {
	case err != nil:
		return err
	case position < latest || position > last:
		return noregret.Errorf(noregret.Usage, "snapshot",
			"position %d: it must lie between %d (the latest snapshot or the first event) and %d (the last event)",
			position,
			latest, last)
	}
	sum, err := s.sumAt(ctx, position)
	if err != nil {
		return err
	}
	refused := make(chan error, 1)
	err = s.guard(func() error {
		r, err := writeSnapshotFile(s.fs, s.path(snapshotName), mark{position, sum}, write)
		refused <- r
		return err
	})
	if err == nil {
		if err := <-refused; err != nil {
			return err
		}
	}
	if err != nil {
		err = s.ioError("saving a snapshot", err)
		s.fail(err)
		return err
	}
	s.mu.Lock()
	if n := len(s.snapshots); n == 0 || s.snapshots[n-1] != position {
		s.snapshots = append(s.snapshots, position)
	}
	drop := max(0, len(s.snapshots)-s.opts.KeepSnapshots)
	old := slices.Clone(s.snapshots[:drop])
	s.snapshots = slices.Delete(s.snapshots, 0, drop)
	s.mu.Unlock()
	for _, p := range old {
		// An extra snapshot is harmless.
		_ = s.fs.Remove(s.fs.PathJoin(s.path(snapshotName), snapshotFile(p)))
	}
	return nil
}

// sumAt returns the checksum of the record at a position.
func (s *Store) sumAt(ctx context.Context, position uint64) (uint32, error) {
	s.mu.Lock()
	base, last := s.base, s.last
	s.mu.Unlock()
	for _, m := range []mark{base, last} {
		if m.position == position {
			return m.sum, nil
		}
	}
	out := new(uint32)
	err := s.reading(ctx, func() (err error) {
		it, err := events(s.db, position, position)
		if err != nil {
			return readError(s.dir, position, err)
		}
		defer func() { err = errors.Join(err, it.Close()) }()
		if !it.First() {
			if err := it.Error(); err != nil {
				return readError(s.dir, position, err)
			}
			return damaged(s.dir, nil, "position %d is missing", position)
		}
		_, l, err := record(it, s.dir)
		*out = l.sum
		return err
	})
	if err != nil {
		return 0, err
	}
	return *out, nil
}

// LatestSnapshot implements [Snapshotter]. It skips a damaged snapshot in favour of the previous
// one, provided that the events since then are still in the log; Check reports the damaged one.
func (s *Store) LatestSnapshot(ctx context.Context) (Snapshot, error) {
	s.snapMu.Lock()
	defer s.snapMu.Unlock()
	var b bytes.Buffer
	position, err := latest(ctx, s, readTo(&b))
	return Snapshot{position, b.Bytes()}, err
}

// readTo returns a function that reads a state to memory.
func readTo(b *bytes.Buffer) func(r io.Reader) error {
	return func(r io.Reader) error {
		b.Reset()
		_, err := b.ReadFrom(r)
		return err
	}
}

// ReadSnapshot implements [Snapshotter]. No other snapshot is saved meanwhile.
func (s *Store) ReadSnapshot(ctx context.Context, read func(state io.Reader) error) (position uint64, err error) {
	s.snapMu.Lock()
	defer s.snapMu.Unlock()
	return latest(ctx, s, read)
}

func latest(ctx context.Context, s *Store, read func(io.Reader) error) (uint64, error) {
	s.mu.Lock()
	positions := slices.Clone(s.snapshots)
	s.mu.Unlock()
	slices.Reverse(positions)
	return firstWhole(ctx, s, positions, read)
}

// OldestSnapshot implements [Snapshotter]. It skips damaged snapshots.
func (s *Store) OldestSnapshot(ctx context.Context) (Snapshot, error) {
	var b bytes.Buffer
	position, err := s.ReadOldestSnapshot(ctx, readTo(&b))
	return Snapshot{position, b.Bytes()}, err
}

// ReadOldestSnapshot implements [Snapshotter]. No other snapshot is saved meanwhile.
func (s *Store) ReadOldestSnapshot(ctx context.Context, read func(state io.Reader) error) (position uint64, err error) {
	s.snapMu.Lock()
	defer s.snapMu.Unlock()
	s.mu.Lock()
	base, positions := s.base.position, slices.Clone(s.snapshots)
	s.mu.Unlock()
	if base == 0 {
		positions = nil
	}
	return firstWhole(ctx, s, positions, read)
}

// firstWhole returns the position of the first of the snapshots that is intact and whose following
// events are in the log, and passes its state to read unless that is nil. If the log has all
// events, no snapshot is needed.
func firstWhole(ctx context.Context, s *Store, positions []uint64, read func(io.Reader) error) (uint64, error) {
	s.mu.Lock()
	err, base := s.usable(), s.base.position
	s.mu.Unlock()
	if err != nil {
		return 0, err
	}
	problems := ""
	for _, p := range positions {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		if p < base {
			continue
		}
		at, problem, err := readSnapshot(s.fs, s.dir, p, nil)
		if err != nil {
			return 0, s.ioError("reading a snapshot", err)
		}
		if problem == "" {
			sum, err := s.sumAt(ctx, p)
			if err != nil {
				return 0, err
			}
			if sum == at.sum && read != nil {
				var refused error
				_, _, err = readSnapshot(s.fs, s.dir, p, func(r io.Reader) error {
					refused = read(r)
					return refused
				})
				if err != nil && refused == nil {
					err = s.ioError("reading a snapshot", err)
				}
			}
			if sum == at.sum {
				return p, err
			}
			problem = "it belongs to another log"
		}
		problems += fmt.Sprintf("; snapshot %d: %s", p, problem)
	}
	if base > 0 {
		return 0, damaged(s.dir, nil, "the events 1 to %d were compacted away and no whole snapshot covers "+
			"them%s", base, problems)
	}
	return 0, nil
}

// Compact implements [Snapshotter]. It frees the disk space before it returns, or later if readers
// still use it. Appends wait while the table of the newest events is flushed. Compact reads the
// snapshot that it relies on. Compact to the snapshot before the latest to be able to go back one
// more.
func (s *Store) Compact(ctx context.Context, upTo uint64) error {
	s.snapMu.Lock()
	defer s.snapMu.Unlock()
	s.mu.Lock()
	err := s.writable()
	s.mu.Unlock()
	if err != nil {
		return err
	}
	snapshot, err := latest(ctx, s, nil)
	if err != nil {
		return err
	}
	if upTo > snapshot {
		return noregret.Errorf(noregret.Usage, "compact",
			"position %d: it must be at most %d, that of the latest intact snapshot; later events would be lost",
			upTo, snapshot)
	}
	s.mu.Lock()
	base := s.base.position
	s.mu.Unlock()
	if upTo <= base {
		return nil
	}
	sum, err := s.sumAt(ctx, upTo)
	if err != nil {
		return err
	}
	if err := s.drop(base, mark{upTo, sum}); err != nil {
		s.fail(err)
		return s.failure()
	}
	err = s.reading(ctx, func() error { return s.db.Compact(ctx, baseKey, eventKey(upTo), false) })
	if err != nil && ctx.Err() == nil && !errors.Is(err, ErrFailed) {
		err = s.ioError("freeing the space", err)
	}
	return err
}

// drop moves the base. The tombstone has a table of its own: in a table with the newest events it
// would make that table overlap all others, and freeing the space would rewrite the whole log.
func (s *Store) drop(base uint64, to mark) error {
	s.commitMu.Lock()
	defer s.commitMu.Unlock()
	err := s.guard(func() error {
		if err := s.db.Flush(); err != nil {
			return err
		}
		b := s.db.NewBatch()
		err := errors.Join(
			b.Set(baseKey, encodeMark(baseMagic, to), nil),
			b.DeleteRange(eventKey(base+1), eventKey(to.position+1), nil))
		if err != nil {
			return err
		}
		if err := s.db.Apply(b, pebble.Sync); err != nil {
			return err
		}
		return errors.Join(b.Close(), s.db.Flush())
	})
	if err != nil {
		return err
	}
	s.mu.Lock()
	s.base = to
	s.mu.Unlock()
	return nil
}
