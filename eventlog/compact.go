package eventlog

import (
	"context"
	"errors"
	"io"

	"github.com/cockroachdb/pebble/v2"

	"github.com/noregret/noregret"
)

// Compact implements [Snapshotter]. It frees the disk space before it returns, or later if readers
// still use it. Appends wait while the table of the newest events is flushed. Compact reads the
// snapshot that it relies on. If the disk has no room for the events that it rewrites, the error is
// [ErrNoRoom] and nothing has changed. Compact to the snapshot before the latest to be able to go
// back one more.
func (s *Store) Compact(ctx context.Context, upTo uint64) error {
	s.snapMu.Lock()
	defer s.snapMu.Unlock()
	s.mu.Lock()
	err := s.writable()
	s.mu.Unlock()
	if err != nil {
		return err
	}
	snapshot, err := readFirst(ctx, s, newestFirst(s), func(io.Reader) error { return nil })
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
	if err == nil {
		err = roomToCompact(ctx, s, upTo)
	}
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

// roomToCompact returns ErrNoRoom if the disk has too little room to drop the events up to a
// position: for the events in memory, which are flushed, and for the table with the new base, which
// is rewritten. pebble would leave a part of that table, which takes the room of the log.
func roomToCompact(ctx context.Context, s *Store, upTo uint64) error {
	free, known := Free(s.fs, s.dir)
	if !known {
		return nil
	}
	need := new(uint64)
	err := s.reading(ctx, func() error {
		tables, err := s.db.SSTables(pebble.WithKeyRangeFilter(eventKey(upTo), eventKey(upTo+2)))
		if err != nil {
			return readError(s.dir, upTo, err)
		}
		waiting := s.db.Metrics().WAL.Size
		largest := waiting
		for _, level := range tables {
			for _, t := range level {
				largest = max(largest, t.Size)
			}
		}
		*need = waiting + largest
		return nil
	})
	if err != nil {
		return err
	}
	return noRoom(s.dir, free, *need)
}
