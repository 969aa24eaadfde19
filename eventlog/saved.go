package eventlog

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
)

// SavedSnapshot is a snapshot of a log that is open. What it reads stays, on systems that remove
// open files, although newer snapshots replace it. Methods are not safe for concurrent use.
type SavedSnapshot struct {
	// Position is that of the last event in the state.
	Position uint64
	// Size is that of the state, in bytes.
	Size int64

	from  io.ReaderAt
	close func() error
}

// NewSavedSnapshot returns a snapshot whose state is read from an implementation of [Log]; Close
// calls close.
func NewSavedSnapshot(position uint64, size int64, state io.ReaderAt, close func() error) *SavedSnapshot {
	return &SavedSnapshot{Position: position, Size: size, from: state, close: close}
}

// State returns a reader of the whole state. It fails once the snapshot or the log is closed.
func (s *SavedSnapshot) State() io.Reader { return io.NewSectionReader(s.from, 0, s.Size) }

// Close releases what the snapshot holds.
func (s *SavedSnapshot) Close() error { return s.close() }

// OpenSnapshots implements [Snapshotter]. It reads each snapshot as a whole once, to check it. It
// takes no room on the disk, but the room of a snapshot that has been replaced is free only when it
// is closed.
func (s *Store) OpenSnapshots(ctx context.Context) (out []*SavedSnapshot, err error) {
	s.snapMu.Lock()
	defer s.snapMu.Unlock()
	oldest, err := firstWhole(ctx, s, oldestFirst(s))
	if err != nil {
		return nil, err
	}
	newest, err := firstWhole(ctx, s, newestFirst(s))
	if err != nil {
		return nil, errors.Join(err, oldest.end())
	}
	if oldest != nil && newest != nil && oldest.Position == newest.Position {
		if err := oldest.end(); err != nil {
			return nil, errors.Join(err, newest.end())
		}
		oldest = nil
	}
	for _, s := range []*SavedSnapshot{oldest, newest} {
		if s != nil {
			out = append(out, s)
		}
	}
	return out, nil
}

// end closes a snapshot, if there is one.
func (s *SavedSnapshot) end() error {
	if s == nil {
		return nil
	}
	return s.Close()
}

// ReadSnapshot implements [Snapshotter]. No other snapshot is saved meanwhile.
func (s *Store) ReadSnapshot(ctx context.Context, read func(state io.Reader) error) (position uint64, err error) {
	s.snapMu.Lock()
	defer s.snapMu.Unlock()
	return readFirst(ctx, s, newestFirst(s), read)
}

// OldestSnapshot implements [Snapshotter]. It skips damaged snapshots.
func (s *Store) OldestSnapshot(ctx context.Context) (Snapshot, error) {
	s.snapMu.Lock()
	defer s.snapMu.Unlock()
	b := &bytes.Buffer{}
	position, err := readFirst(ctx, s, oldestFirst(s), readTo(b))
	return Snapshot{position, b.Bytes()}, err
}

// newestFirst returns the positions of the snapshots, the latest one first.
func newestFirst(s *Store) []uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	positions := slices.Clone(s.snapshots)
	slices.Reverse(positions)
	return positions
}

// oldestFirst returns the positions of the snapshots in their order, none if the log has all
// events.
func oldestFirst(s *Store) []uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.base.position == 0 {
		return nil
	}
	return slices.Clone(s.snapshots)
}

// readFirst passes the state of the first of the snapshots that is whole to read and returns its
// position, 0 if there is none. The caller holds snapMu.
func readFirst(ctx context.Context, s *Store, positions []uint64, read func(io.Reader) error) (uint64, error) {
	saved, err := firstWhole(ctx, s, positions)
	if err != nil || saved == nil {
		return 0, err
	}
	defer func() { _ = saved.Close() }() // it was only read
	from := &faultReader{from: saved.State()}
	err = read(from)
	if err != nil && from.fault != nil {
		err = s.ioError("reading a snapshot", err)
	}
	return saved.Position, err
}

// faultReader notes an error of reading.
type faultReader struct {
	from  io.Reader
	fault error
}

// Read implements [io.Reader].
func (r *faultReader) Read(b []byte) (int, error) {
	n, err := r.from.Read(b)
	if err != nil && !errors.Is(err, io.EOF) {
		r.fault = err
	}
	return n, err
}

// firstWhole opens the first of the snapshots that is intact and whose following events are in the
// log. If the log has all events, no snapshot is needed, and it may be nil.
func firstWhole(ctx context.Context, s *Store, positions []uint64) (*SavedSnapshot, error) {
	s.mu.Lock()
	err, base := s.usable(), s.base.position
	s.mu.Unlock()
	if err != nil {
		return nil, err
	}
	problems := ""
	for _, p := range positions {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if p < base {
			continue
		}
		saved, at, problem, err := readSnapshot(s.fs, s.dir, p)
		if err != nil {
			return nil, s.ioError("reading a snapshot", err)
		}
		if problem == "" {
			sum, err := s.sumAt(ctx, p)
			if err == nil && sum == at.sum {
				return saved, nil
			}
			if err = errors.Join(err, saved.Close()); err != nil {
				return nil, err
			}
			problem = "it belongs to another log"
		}
		problems += fmt.Sprintf("; snapshot %d: %s", p, problem)
		if s.opts.Skipped != nil {
			s.opts.Skipped(s.fs.PathJoin(s.path(snapshotName), snapshotFile(p)), problem)
		}
	}
	if base > 0 {
		return nil, damaged(s.dir, nil, "the events 1 to %d were compacted away and no whole snapshot covers "+
			"them%s", base, problems)
	}
	return nil, nil
}
