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

// Touch reads something of each of some records that are in memory. As these reads do not wait for
// each other, a following Read or Write of the records finds them in the processor's cache and is
// faster.
func (t *Table) Touch(records []int) (sum byte) {
	t.lock()
	defer t.unlock()
	for _, i := range records {
		if pg := t.pages[i/t.per]; pg != nil && pg.data != nil {
			sum += pg.data[i%t.per*t.size]
		}
	}
	return sum
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
			data, block := t.pool.allocate(t.capacity(0, part))
			t.pages = append(t.pages, t.pool.newPage(t.owner.Load(), data[:0], block))
		}
		pg := t.writable(k)
		if need := at + part; need > cap(pg.data) {
			t.pool.resize(pg, t.capacity(cap(pg.data), need))
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
		data, block := t.pool.allocate(t.bytes(k))
		clear(data)
		pg = t.pool.newPage(owner, data, block)
		t.pages[k] = pg
	case pg.owner != owner:
		shared := t.pool.load(pg)
		data, block := t.pool.allocate(cap(shared))
		pg = t.pool.newPage(owner, data[:copy(data, shared)], block)
		t.pages[k] = pg
	default:
		t.pool.load(pg)
	}
	pg.dirty = true
	return pg
}

// bytes returns the size of page k.
func (t *Table) bytes(k int) int { return min(t.per, t.n-k*t.per) * t.size }

// Pages returns the number of pages, for [Table.Page].
func (t *Table) Pages() int { return len(t.pages) }

// PerPage returns the number of records of a page. The last page may have fewer.
func (t *Table) PerPage() int { return t.per }

// Page appends the records of page k to to and returns it. The records of the pages, in their
// order, are those of the table.
func (t *Table) Page(to []byte, k int) []byte {
	t.lock()
	defer t.unlock()
	if t.pages[k] == nil {
		return append(to, make([]byte, t.bytes(k))...)
	}
	return append(to, t.pool.load(t.pages[k])[:t.bytes(k)]...)
}

// View calls f with the records of page k, or with nil if nothing was written to the page of a
// table of zeros. f must neither change nor keep them, nor use a table.
func (t *Table) View(k int, f func(records []byte)) {
	t.lock()
	defer t.unlock()
	if t.pages[k] == nil {
		f(nil)
		return
	}
	f(t.pool.load(t.pages[k])[:t.bytes(k)])
}

// Update calls f with the records of page k, which f may change. f must not keep them, nor use a
// table. In a pool, several updates of a table may run at the same time.
func (t *Table) Update(k int, f func(records []byte)) {
	t.lock()
	defer t.unlock()
	f(t.writable(k).data[:t.bytes(k)])
}

// Take is [Table.Page], and gives back at once what the page uses, unless it is or was shared. The
// page must not be used afterwards.
func (t *Table) Take(to []byte, k int) []byte {
	to = t.Page(to, k)
	t.lock()
	defer t.unlock()
	t.giveBack(t.pages[k])
	t.pages[k] = nil
	return to
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
	for _, pg := range t.pages {
		t.giveBack(pg)
	}
	t.pages, t.n = nil, 0
}

// giveBack gives back what a page uses, unless it is or was shared. The pool is locked.
func (t *Table) giveBack(pg *page) {
	if t.pool != nil && pg != nil && pg.owner == t.owner.Load() {
		t.pool.giveBack(pg.place)
		pg.data = nil
	}
}
