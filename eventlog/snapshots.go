package eventlog

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/cockroachdb/pebble/v2"

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

func encodeSnapshot(at mark, state []byte) []byte {
	b := make([]byte, 0, snapshotHeader+len(state))
	b = append(b, snapshotMagic...)
	b = binary.LittleEndian.AppendUint64(b, at.position)
	b = binary.LittleEndian.AppendUint32(b, at.sum)
	b = append(b, 0, 0, 0, 0)
	b = append(b, state...)
	binary.LittleEndian.PutUint32(b[16:], snapshotSum(b))
	return b
}

func snapshotSum(b []byte) uint32 {
	return crc32.Update(crc32.Checksum(b[:16], castagnoli), castagnoli, b[snapshotHeader:])
}

// decodeSnapshot decodes the file of the snapshot at a position. problem is "" if it is intact.
func decodeSnapshot(b []byte, position uint64) (at mark, state []byte, problem string) {
	switch {
	case len(b) < snapshotHeader:
		return at, nil, "truncated"
	case string(b[:4]) != snapshotMagic:
		return at, nil, "does not begin with " + snapshotMagic
	case snapshotSum(b) != binary.LittleEndian.Uint32(b[16:]):
		return at, nil, "its checksum is wrong"
	}
	at = mark{binary.LittleEndian.Uint64(b[4:]), binary.LittleEndian.Uint32(b[12:])}
	if at.position != position {
		return at, nil, fmt.Sprintf("covers position %d", at.position)
	}
	return at, b[snapshotHeader:], ""
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

// readSnapshot reads one snapshot file.
func readSnapshot(fs FS, dir string, position uint64) (at mark, state []byte, problem string, err error) {
	data, err := readFile(fs, fs.PathJoin(dir, snapshotName, snapshotFile(position)), maxState+snapshotHeader)
	if err != nil {
		return at, nil, "", err
	}
	at, state, problem = decodeSnapshot(data, position)
	return at, state, problem, nil
}

// openSnapshots finds the snapshots and removes those that a crash left incomplete.
func (s *Store) openSnapshots() error {
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
// Options.KeepSnapshots. The state has at most 1 GiB.
func (s *Store) SaveSnapshot(ctx context.Context, position uint64, state []byte) error {
	s.snapMu.Lock()
	defer s.snapMu.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	err, last, latest := s.usable(), s.last.position, uint64(1)
	if n := len(s.snapshots); n > 0 {
		latest = s.snapshots[n-1]
	}
	latest = max(latest, s.base.position)
	s.mu.Unlock()
	switch {
	case err != nil:
		return err
	case len(state) > maxState:
		return noregret.Errorf(noregret.Usage, "snapshot", "the state has %d bytes: at most %d are allowed", len(state),
			maxState)
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
	err = s.guard(func() error {
		return writeFile(s.fs, s.path(snapshotName), snapshotFile(position),
			encodeSnapshot(mark{position, sum}, state))
	})
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
	return s.latest(ctx)
}

func (s *Store) latest(ctx context.Context) (Snapshot, error) {
	s.mu.Lock()
	positions := slices.Clone(s.snapshots)
	s.mu.Unlock()
	slices.Reverse(positions)
	return s.firstWhole(ctx, positions)
}

// OldestSnapshot implements [Snapshotter]. It skips damaged snapshots.
func (s *Store) OldestSnapshot(ctx context.Context) (Snapshot, error) {
	s.snapMu.Lock()
	defer s.snapMu.Unlock()
	s.mu.Lock()
	base, positions := s.base.position, slices.Clone(s.snapshots)
	s.mu.Unlock()
	if base == 0 {
		positions = nil
	}
	return s.firstWhole(ctx, positions)
}

// firstWhole returns the first of the snapshots that is intact and whose following events are in
// the log. If the log has all events, no snapshot is needed.
func (s *Store) firstWhole(ctx context.Context, positions []uint64) (Snapshot, error) {
	s.mu.Lock()
	err, base := s.usable(), s.base.position
	s.mu.Unlock()
	if err != nil {
		return Snapshot{}, err
	}
	problems := ""
	for _, p := range positions {
		if err := ctx.Err(); err != nil {
			return Snapshot{}, err
		}
		if p < base {
			continue
		}
		at, state, problem, err := readSnapshot(s.fs, s.dir, p)
		if err != nil {
			return Snapshot{}, s.ioError("reading a snapshot", err)
		}
		if problem == "" {
			sum, err := s.sumAt(ctx, p)
			if err != nil {
				return Snapshot{}, err
			}
			if sum == at.sum {
				return Snapshot{Position: p, State: state}, nil
			}
			problem = "it belongs to another log"
		}
		problems += fmt.Sprintf("; snapshot %d: %s", p, problem)
	}
	if base > 0 {
		return Snapshot{}, damaged(s.dir, nil, "the events 1 to %d were compacted away and no whole snapshot covers "+
			"them%s", base, problems)
	}
	return Snapshot{}, nil
}

// Compact implements [Snapshotter]. It frees the disk space before it returns, or later if readers
// still use it. Appends wait while the table of the newest events is flushed. Compact reads the
// snapshot that it relies on. Compact to the snapshot before the latest to be able to go back one
// more.
func (s *Store) Compact(ctx context.Context, upTo uint64) error {
	s.snapMu.Lock()
	defer s.snapMu.Unlock()
	snapshot, err := s.latest(ctx)
	if err != nil {
		return err
	}
	if upTo > snapshot.Position {
		return noregret.Errorf(noregret.Usage, "compact",
			"position %d: it must be at most %d, that of the latest intact snapshot; later events would be lost",
			upTo, snapshot.Position)
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
