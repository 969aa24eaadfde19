package eventlog

import (
	"context"
	"errors"
	"iter"

	"github.com/noregret/noregret"
)

// Limits of a chunk. A reader reads one chunk at a time and holds nothing of the store between
// chunks, so that a slow or waiting reader pins no memory and no files of pebble.
const (
	chunkEvents = 512
	chunkBytes  = 1 << 20
)

// Read implements [Reader]. It fails if from lies before the first event or after the position of
// the next one.
func (s *Store) Read(ctx context.Context, from uint64) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		s.mu.Lock()
		to := s.last.position
		s.mu.Unlock()
		if err := s.checkFrom(from, to); err != nil {
			yield(Record{}, err)
			return
		}
		c := s.cursor(from)
		for c.last.position < to {
			if !c.read(ctx, to, yield) {
				return
			}
		}
	}
}

// Tail implements [Reader].
func (s *Store) Tail(ctx context.Context, from uint64) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		s.mu.Lock()
		to, grown := s.last.position, s.grown
		s.mu.Unlock()
		if err := s.checkFrom(from, to); err != nil {
			yield(Record{}, err)
			return
		}
		c := s.cursor(from)
		for {
			for c.last.position < to {
				if !c.read(ctx, to, yield) {
					return
				}
			}
			err := ctx.Err()
			if err == nil {
				select {
				case <-grown:
				case <-s.closed:
				case <-s.failed:
				case <-ctx.Done():
					err = ctx.Err()
				}
			}
			s.mu.Lock()
			to, grown = s.last.position, s.grown
			if err == nil && c.last.position == to {
				err = s.usable()
			}
			s.mu.Unlock()
			if err != nil {
				yield(Record{}, err)
				return
			}
		}
	}
}

// checkFrom returns an error if reading cannot begin at a position.
func (s *Store) checkFrom(from, last uint64) error {
	if from == 0 || from > last+1 {
		return noregret.Errorf(noregret.Usage, s.dir, "cannot read from position %d: it must be 1 to %d", from, last+1)
	}
	return nil
}

// cursor is the position of a reader.
type cursor struct {
	chain
	store *Store
}

func (s *Store) cursor(from uint64) *cursor {
	return &cursor{chain{dir: s.dir, last: mark{position: from - 1}, unknown: from > 1}, s}
}

// read yields a chunk of the events up to to and reports whether to continue.
func (c *cursor) read(ctx context.Context, to uint64, yield func(Record, error) bool) bool {
	// readChunk writes here, perhaps even after the log has failed.
	out := &struct {
		chain
		chunk []Record
	}{chain: c.chain}
	chunk := []Record(nil)
	err := c.store.reading(ctx, func() (err error) {
		out.chunk, err = c.store.readChunk(&out.chain, to)
		return err
	})
	if err == nil || !errors.Is(err, ErrFailed) {
		c.chain, chunk = out.chain, out.chunk
	}
	for _, r := range chunk {
		if !yield(r, nil) {
			return false
		}
	}
	if err != nil {
		yield(Record{}, err)
	}
	return err == nil
}

// readChunk reads the next events and verifies the chain. With an error it returns the intact
// events before it. It reads the base from the same snapshot of the store as the events, because a
// running Compact makes its deletion visible before it updates the Store.
func (s *Store) readChunk(c *chain, to uint64) (chunk []Record, err error) {
	from := c.last.position + 1
	view := s.db.NewSnapshot()
	defer func() { err = errors.Join(err, view.Close()) }()
	base, err := readBase(view, s.dir)
	if err != nil {
		return nil, err
	}
	if from <= base.position {
		return nil, noregret.Errorf(noregret.NotFound, s.dir, "%w: %d, the first is %d", ErrCompacted, from,
			base.position+1)
	}
	if c.unknown && c.last.position == base.position {
		c.last, c.unknown = base, false
	}
	start := from
	if c.unknown { // begin with the event before, for its checksum
		start--
	}
	it, err := events(view, start, to)
	if err != nil {
		return nil, readError(s.dir, from, err)
	}
	defer func() { err = errors.Join(err, it.Close()) }()
	bytes := 0
	for ok := it.First(); ok; ok = it.Next() {
		if c.unknown {
			_, l, err := record(it, s.dir)
			if err != nil {
				return nil, err
			}
			if l.position != c.last.position {
				return nil, damaged(s.dir, nil, "%s missing", positionsAre(c.last.position, l.position-1))
			}
			c.last.sum, c.unknown = l.sum, false
			continue
		}
		r, err := c.next(it)
		if err != nil {
			return chunk, err
		}
		chunk = append(chunk, r)
		if bytes += recordSize(r.Event); len(chunk) == chunkEvents || bytes >= chunkBytes {
			return chunk, nil
		}
	}
	if err := it.Error(); err != nil {
		return chunk, readError(s.dir, c.last.position+1, err)
	}
	if c.last.position < to {
		return chunk, damaged(s.dir, nil, "%s missing", positionsAre(c.last.position+1, to))
	}
	return chunk, nil
}
