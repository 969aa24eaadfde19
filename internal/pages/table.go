package pages

import (
	"slices"
	"sync/atomic"
)

// Table is a growing array of records of one size. Reads and snapshots may run at the same time; a
// change needs the table to itself, but not its snapshots.
type Table struct {
	pool  *Pool
	size  int // of a record
	per   int // records of a page
	n     int
	fixed bool // made by NewZeros
	pages []*page
	owner atomic.Uint64 // pages of others are copied before they are changed
}

var owners atomic.Uint64

// NewTable returns an empty table in a pool, nil for none, for records of 1 to [Size] bytes.
// Another size is a panic.
func NewTable(pool *Pool, size int) *Table {
	if size < 1 || size > Size {
		panic("pages: a record of no size, or larger than a page")
	}
	t := &Table{pool: pool, size: size, per: Size / size}
	t.owner.Store(owners.Add(1))
	return t
}

// NewZeros returns a table of n records of zeros. It does not grow. Pages use no memory before they
// are written to.
func NewZeros(pool *Pool, size, n int) *Table {
	t := NewTable(pool, size)
	t.n, t.fixed = n, true
	t.pages = make([]*page, (n+t.per-1)/t.per)
	return t
}

// Len returns the number of records.
func (t *Table) Len() int { return t.n }

func (t *Table) lock() {
	if t.pool != nil {
		t.pool.mu.Lock()
	}
}

func (t *Table) unlock() {
	if t.pool != nil {
		t.pool.mu.Unlock()
	}
}

// Read copies bytes of record i to to, from the given offset on. A place beyond the record or the
// table is a panic.
func (t *Table) Read(i, offset int, to []byte) {
	t.check(i, offset, len(to))
	t.lock()
	defer t.unlock()
	pg := t.pages[i/t.per]
	if pg == nil {
		clear(to)
		return
	}
	copy(to, t.pool.load(pg)[i%t.per*t.size+offset:])
}

// Write changes bytes of record i, from the given offset on. A place beyond the record or the table
// is a panic.
func (t *Table) Write(i, offset int, from []byte) {
	t.check(i, offset, len(from))
	t.lock()
	defer t.unlock()
	copy(t.writable(i / t.per).data[i%t.per*t.size+offset:], from)
}

func (t *Table) check(i, offset, n int) {
	if i < 0 || i >= t.n || offset < 0 || offset+n > t.size {
		panic("pages: beyond the table")
	}
}

// Append appends records, of which the bytes are given one after another. Bytes that are no whole
// number of records are a panic.
func (t *Table) Append(records []byte) {
	if len(records)%t.size != 0 || t.fixed {
		panic("pages: no whole records, or a table that does not grow")
	}
	t.lock()
	defer t.unlock()
	for len(records) > 0 {
		k, at := t.n/t.per, t.n%t.per*t.size
		part := min(t.per*t.size-at, len(records))
		if k == len(t.pages) {
			t.pages = append(t.pages, t.pool.newPage(t.owner.Load(), make([]byte, 0, t.capacity(0, part))))
		}
		pg := t.writable(k)
		if need := at + part; need > cap(pg.data) {
			t.pool.resize(pg, append(make([]byte, 0, t.capacity(cap(pg.data), need)), pg.data...))
		}
		pg.data = append(pg.data[:at], records[:part]...)
		t.n += part / t.size
		records = records[part:]
	}
}

// capacity returns the bytes for a page that needs some. Only the first page of a table begins
// small.
func (t *Table) capacity(now, need int) int {
	full := t.per * t.size
	if t.n >= t.per {
		return full
	}
	return min(max(2*now, need), full)
}

// writable returns a page to write to, copied if another table may read it, with its data loaded.
// The pool is locked.
func (t *Table) writable(k int) *page {
	pg, owner := t.pages[k], t.owner.Load()
	switch {
	case pg == nil:
		pg = t.pool.newPage(owner, make([]byte, min(t.per, t.n-k*t.per)*t.size))
		t.pages[k] = pg
	case pg.owner != owner:
		data := t.pool.load(pg)
		pg = t.pool.newPage(owner, append(make([]byte, 0, cap(data)), data...))
		t.pages[k] = pg
	default:
		t.pool.load(pg)
	}
	pg.dirty = true
	return pg
}

// Pages returns the number of pages, for [Table.Page].
func (t *Table) Pages() int { return len(t.pages) }

// Page appends the records of page k to to and returns it. The records of the pages, in their
// order, are those of the table.
func (t *Table) Page(to []byte, k int) []byte {
	n := min(t.per, t.n-k*t.per) * t.size
	t.lock()
	defer t.unlock()
	if t.pages[k] == nil {
		return append(to, make([]byte, n)...)
	}
	return append(to, t.pool.load(t.pages[k])[:n]...)
}

// Snapshot returns a copy, which may be read while the table changes, and changed, too. O(pages).
func (t *Table) Snapshot() *Table {
	s := &Table{pool: t.pool, size: t.size, per: t.per, n: t.n, fixed: t.fixed, pages: slices.Clone(t.pages)}
	s.owner.Store(owners.Add(1))
	t.owner.Store(owners.Add(1)) // so that it copies the pages, too
	return s
}

// Release empties the table and gives back at once what its pages use, except those that it shares
// or shared.
func (t *Table) Release() {
	t.lock()
	defer t.unlock()
	if t.pool != nil {
		for _, pg := range t.pages {
			if pg != nil && pg.owner == t.owner.Load() {
				t.pool.giveBack(pg.place)
				pg.data = nil
			}
		}
	}
	t.pages, t.n = nil, 0
}
