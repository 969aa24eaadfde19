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
// returns an error that is not one of the file, it returns that as refused. room is asked before
// each piece. After an error nothing is left, so that a disk without room for a snapshot keeps what
// it has for the log.
func writeSnapshotFile(fs FS, dir string, at mark, room func(bytes int64) error, write func(io.Writer) error,
) (refused, err error) {
	path := fs.PathJoin(dir, snapshotFile(at.position))
	parent, err := fs.OpenDir(dir) // before the rename, after which nothing but the flush can fail
	if err != nil {
		return nil, err
	}
	defer func() { _ = parent.Close() }()
	refused, err = fillSnapshotFile(fs, path+tempSuffix, at, room, write)
	if err == nil && refused == nil {
		err = fs.Rename(path+tempSuffix, path)
	}
	if err != nil || refused != nil {
		_ = fs.Remove(path + tempSuffix) // Open and Probe try again
		return refused, err
	}
	return nil, parent.Sync()
}

// fillSnapshotFile makes the file of a snapshot and flushes it.
func fillSnapshotFile(fs FS, name string, at mark, room func(bytes int64) error, write func(io.Writer) error,
) (refused, err error) {
	f, err := fs.Create(name, vfs.WriteCategoryUnspecified)
	if err != nil {
		return nil, err
	}
	header := make([]byte, 0, snapshotHeader)
	header = append(header, snapshotMagic...)
	header = binary.LittleEndian.AppendUint64(header, at.position)
	header = binary.LittleEndian.AppendUint32(header, at.sum)
	w := &sumWriter{to: f, room: room, sum: crc32.Checksum(header, castagnoli)}
	b := bufio.NewWriterSize(w, 1<<18)
	_, err = f.Write(append(header, 0, 0, 0, 0))
	if err == nil {
		refused = write(b)
		_ = b.Flush() // w has the error
		err = w.err
	}
	if err != nil || refused != nil {
		return refused, errors.Join(err, f.Close())
	}
	_, err = f.WriteAt(binary.LittleEndian.AppendUint32(nil, w.sum), int64(len(header)))
	if err == nil {
		err = f.Sync()
	}
	return nil, errors.Join(err, f.Close())
}

// sumWriter writes the state of a snapshot and computes the checksum. After an error it writes
// nothing.
type sumWriter struct {
	to   io.Writer
	room func(bytes int64) error // asked before each piece, unless nil
	sum  uint32
	n    int64
	err  error
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
	if w.room != nil {
		if w.err = w.room(int64(len(b))); w.err != nil {
			return 0, w.err
		}
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

// readSnapshot opens one snapshot file and reads it. problem is "" if it is intact; the caller then
// closes saved.
func readSnapshot(fs FS, dir string, position uint64) (saved *SavedSnapshot, at mark, problem string, err error) {
	f, err := fs.Open(fs.PathJoin(dir, snapshotName, snapshotFile(position)))
	if err != nil {
		return nil, at, "", err
	}
	defer func() {
		if saved == nil {
			_ = f.Close()
		}
	}()
	var b [snapshotHeader]byte
	switch _, err := io.ReadFull(f, b[:]); {
	case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
		return nil, at, "truncated", nil
	case err != nil:
		return nil, at, "", err
	case string(b[:4]) != snapshotMagic:
		return nil, at, "does not begin with " + snapshotMagic, nil
	}
	sum := &sumWriter{to: io.Discard, sum: crc32.Checksum(b[:16], castagnoli)}
	if _, err := io.CopyBuffer(sum, onlyReader{f}, make([]byte, 1<<18)); err != nil {
		return nil, at, "", err
	}
	if sum.sum != binary.LittleEndian.Uint32(b[16:]) {
		return nil, at, "its checksum is wrong", nil
	}
	at = mark{binary.LittleEndian.Uint64(b[4:]), binary.LittleEndian.Uint32(b[12:])}
	if at.position != position {
		return nil, at, fmt.Sprintf("covers position %d", at.position), nil
	}
	state := io.NewSectionReader(f, snapshotHeader, sum.n)
	return NewSavedSnapshot(position, sum.n, state, f.Close), at, "", nil
}

type onlyReader struct{ io.Reader }

// openSnapshots finds the snapshots.
func openSnapshots(s *Store) error {
	if err := makeDirs(s.fs, s.path(snapshotName)); err != nil {
		return s.ioError("making the directory of snapshots", err)
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
// Options.KeepSnapshots. The state has at most 1 TiB. If the snapshot cannot be saved, nothing of
// it is left on the disk and the log goes on. The last [Reserve] bytes of the disk stay free: the
// error is [ErrNoRoom] if the snapshot needs them.
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
		at, room := mark{position, sum}, roomFor(s.fs, s.dir)
		r, err := writeSnapshotFile(s.fs.forSnapshots(), s.path(snapshotName), at, room, write)
		refused <- r
		return err
	})
	if err != nil {
		s.mu.Lock()
		known := slices.Contains(s.snapshots, position)
		s.mu.Unlock()
		// A file whose directory could not be flushed may be gone after a failure of the power.
		if !known {
			_ = s.fs.Remove(s.fs.PathJoin(s.path(snapshotName), snapshotFile(position)))
		}
		return s.ioError("saving a snapshot", err)
	}
	if err := <-refused; err != nil {
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
	b := &bytes.Buffer{}
	position, err := readFirst(ctx, s, newestFirst(s), readTo(b))
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
