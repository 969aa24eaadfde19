package eventlog

import (
	"errors"
	"fmt"
	"strings"

	"github.com/cockroachdb/pebble/v2"

	"github.com/noregret/noregret"
)

// damaged returns the error for bytes that differ from those written. cause may be nil.
func damaged(dir string, cause error, format string, args ...any) error {
	return &noregret.Error{
		Code: noregret.BadInput, Place: dir,
		Message: ErrDamaged.Error() + ": " + fmt.Sprintf(format, args...),
		Err:     errors.Join(ErrDamaged, cause),
	}
}

// ends holds the base, which is the last position that was compacted away, and the last position in
// the log.
type ends struct{ base, last mark }

// events returns an iterator over the events at the positions from to to.
func events(db pebble.Reader, from, to uint64) (*pebble.Iterator, error) {
	o := &pebble.IterOptions{LowerBound: eventKey(from), UpperBound: []byte{eventPrefix + 1}}
	if to+1 != 0 {
		o.UpperBound = eventKey(to + 1)
	}
	return db.NewIter(o)
}

const noEnd = ^uint64(0)

// record decodes the event at the iterator.
func record(it *pebble.Iterator, dir string) (Record, link, error) {
	position, ok := keyPosition(it.Key())
	if !ok {
		return Record{}, link{}, damaged(dir, nil, "the store has the key %x, which is not that of a position",
			it.Key())
	}
	value, err := it.ValueAndErr()
	if err != nil {
		return Record{}, link{}, readError(dir, position, err)
	}
	r, l, problem := decodeRecord(value)
	if problem == "" && r.Position != position {
		problem = fmt.Sprintf("it holds the record of position %d", r.Position)
	}
	if problem != "" {
		return Record{}, link{}, damaged(dir, nil, "position %d: %s", position, problem)
	}
	return r, l, nil
}

// readError returns the error for a failure of pebble at a position.
func readError(dir string, position uint64, err error) error {
	if pebble.IsCorruptionError(err) {
		return damaged(dir, err, "position %d cannot be read: %s", position, firstLine(err))
	}
	return noregret.Errorf(noregret.Internal, dir, "reading position %d: %w", position, err)
}

// positionsAre returns the subject and verb of a sentence about positions.
func positionsAre(first, last uint64) string {
	if first == last {
		return fmt.Sprintf("position %d is", first)
	}
	return fmt.Sprintf("the positions %d to %d are", first, last)
}

// firstLine returns the text of a pebble error without its details.
func firstLine(err error) string {
	text, _, _ := strings.Cut(err.Error(), "\n")
	return text
}

// readBase returns the base recorded in the store.
func readBase(db pebble.Reader, dir string) (mark, error) {
	value, closer, err := db.Get(baseKey)
	if errors.Is(err, pebble.ErrNotFound) {
		return mark{}, nil
	}
	if pebble.IsCorruptionError(err) {
		return mark{}, damaged(dir, err, "the record of the compacted position cannot be read: %s", firstLine(err))
	}
	if err != nil {
		return mark{}, noregret.Errorf(noregret.Internal, dir, "reading the record of the compacted position: %w", err)
	}
	m, ok := decodeMark(baseMagic, value)
	if err := closer.Close(); err != nil {
		return mark{}, err
	}
	if !ok {
		return mark{}, damaged(dir, nil, "the record of the compacted position is malformed")
	}
	return m, nil
}

// readEnds reads and verifies the first and the last event.
func readEnds(db *pebble.DB, dir string) (e ends, err error) {
	if e.base, err = readBase(db, dir); err != nil {
		return e, err
	}
	e.last = e.base
	it, err := events(db, 0, noEnd)
	if err != nil {
		return e, readError(dir, e.base.position+1, err)
	}
	defer func() { err = errors.Join(err, it.Close()) }()
	if !it.First() {
		if err := it.Error(); err != nil {
			return e, readError(dir, e.base.position+1, err)
		}
		return e, nil
	}
	c := chain{dir: dir, last: e.base}
	if _, err := c.next(it); err != nil {
		return e, err
	}
	if !it.Last() {
		return e, readError(dir, c.last.position, it.Error())
	}
	_, l, err := record(it, dir)
	if err != nil {
		return e, err
	}
	e.last = mark{l.position, l.sum}
	return e, nil
}

// verifyAgainst compares the ends with the mark: the acknowledged record must be in the log, and
// all records after it must be intact.
func (e ends) verifyAgainst(db *pebble.DB, dir string, m mark) (err error) {
	switch {
	case e.last.position < m.position:
		return damaged(dir, nil, "it ends at position %d, but %d was acknowledged: %s missing",
			e.last.position, m.position, positionsAre(e.last.position+1, m.position))
	case m.position < e.base.position:
		return nil // the mark is older than a compaction
	case m.position == e.base.position:
		if m.sum != e.base.sum {
			return damaged(dir, nil, "position %d: its checksum is %08x, but %08x was acknowledged", m.position,
				e.base.sum, m.sum)
		}
		return nil
	}
	it, err := events(db, m.position, noEnd)
	if err != nil {
		return readError(dir, m.position, err)
	}
	defer func() { err = errors.Join(err, it.Close()) }()
	if !it.First() {
		return damaged(dir, it.Error(), "position %d cannot be read", m.position)
	}
	_, l, err := record(it, dir)
	if err != nil {
		return err
	}
	if l.position != m.position || l.sum != m.sum {
		return damaged(dir, nil, "position %d: its checksum is %08x, but %08x was acknowledged", l.position, l.sum,
			m.sum)
	}
	c := chain{dir: dir, last: m}
	for it.Next() {
		if _, err := c.next(it); err != nil {
			return err
		}
	}
	if err := it.Error(); err != nil {
		return readError(dir, c.last.position+1, err)
	}
	return nil
}

// chain verifies that records follow each other: positions increase by one, and each record holds
// the checksum of the previous one.
type chain struct {
	dir     string
	last    mark
	unknown bool // the checksum of last is unknown
}

// next decodes the record at the iterator and checks that it follows the previous one.
func (c *chain) next(it *pebble.Iterator) (Record, error) {
	r, l, err := record(it, c.dir)
	if err != nil {
		return r, err
	}
	return r, c.add(l)
}

func (c *chain) add(l link) error {
	switch want := c.last.position + 1; {
	case l.position > want:
		return damaged(c.dir, nil, "%s missing", positionsAre(want, l.position-1))
	case l.position < want:
		return damaged(c.dir, nil, "position %d is repeated after %d", l.position, c.last.position)
	case !c.unknown && l.previous != c.last.sum:
		return damaged(c.dir, nil, "position %d follows a record with the checksum %08x, but that of position %d is "+
			"%08x",
			l.position, l.previous, c.last.position, c.last.sum)
	}
	c.last, c.unknown = mark{l.position, l.sum}, false
	return nil
}
