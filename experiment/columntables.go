package experiment

import (
	"encoding/binary"
	"runtime"
	"sync"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/pages"
)

// columnTables are the columns of a cohort's rows, as a snapshot has them, and then the rows that
// are made of them.
type columnTables struct {
	unit, slot, mask, values *pages.Table

	n       int           // rows
	indexed chan struct{} // closed when there is an index of the column of units
	rows    rows          // the result of assemble
	most    int           // the largest slot of the rows
}

// column returns the column of a name, empty, and the bytes of its elements; nil for another name,
// and an error for a name that there was before.
func (t *columnTables) column(memory *pages.Pool, name string) (c *pages.Table, size int, err error) {
	to := (**pages.Table)(nil)
	switch size = 8; name {
	case "unit":
		to = &t.unit
	case "slot":
		to, size = &t.slot, 4
	case "mask":
		to = &t.mask
	case "values":
		to = &t.values
	default:
		return nil, 0, nil
	}
	if *to != nil {
		return nil, 0, noregret.BadInputf("snapshot", "cannot be read: a version has the column %s twice", name)
	}
	*to = pages.NewTable(memory, size)
	return *to, size, nil
}

func lengthOf(t *pages.Table) int {
	if t == nil {
		return 0
	}
	return t.Len()
}

func (t *columnTables) len() int {
	if t == nil {
		return 0
	}
	return t.n
}

// fit reports whether the columns were rows with a number of metrics.
func (t *columnTables) fit(width int) bool {
	return t == nil || t.rows.table != nil && t.rows.width == width ||
		lengthOf(t.unit)+lengthOf(t.slot)+lengthOf(t.mask)+lengthOf(t.values) == 0
}

// assemble makes the rows of the columns, if these have as many rows, and releases the columns.
func (t *columnTables) assemble(memory *pages.Pool) {
	width := 0
	if t.n > 0 {
		width = lengthOf(t.values) / t.n
	}
	if width == 0 || width > (pages.Size-valuesAt)/8 || lengthOf(t.slot) != t.n || lengthOf(t.mask) != t.n ||
		lengthOf(t.values) != t.n*width {
		return
	}
	x := rows{memory: memory, width: width, index: t.rows.index}
	size := x.size()
	x.table = pages.NewTable(memory, size)
	columns := []struct {
		columnReader
		at, n int
	}{
		{columnReader{table: t.unit}, unitAt, stateAt - unitAt},
		{columnReader{table: t.slot}, stateAt, maskAt - stateAt},
		{columnReader{table: t.mask}, maskAt, valuesAt - maskAt},
		{columnReader{table: t.values}, valuesAt, size - valuesAt},
	}
	records := make([]byte, x.table.PerPage()*size)
	for left := t.n; left > 0; {
		b := records[:min(left*size, len(records))]
		left -= len(b) / size
		for i := range columns {
			c := &columns[i]
			c.spread(b[c.at:], size, c.n)
		}
		for at := stateAt; at < len(b); at += size {
			t.most = max(t.most, int(binary.LittleEndian.Uint32(b[at:])&^seenBit))
		}
		x.table.Append(b)
	}
	for i := range columns {
		columns[i].table.Release()
	}
	t.unit, t.slot, t.mask, t.values, t.rows = nil, nil, nil, nil, x
}

// columnReader reads the bytes of a column one after another and gives back its pages.
type columnReader struct {
	table      *pages.Table
	pages      int // read
	page, rest []byte
}

// spread reads n bytes for each record of size bytes. The first place of to is that of the first
// ones.
func (r *columnReader) spread(to []byte, size, n int) {
	for at := 0; at < len(to); at += size {
		for b := to[at : at+n]; len(b) > 0; {
			if len(r.rest) == 0 {
				r.page = r.table.Take(r.page[:0], r.pages)
				r.rest = r.page
				r.pages++
			}
			k := copy(b, r.rest)
			b, r.rest = b[k:], r.rest[k:]
		}
	}
}

// assembler makes the rows of columns while others are read.
type assembler struct {
	memory  *pages.Pool
	free    chan struct{} // of as many as work at a time
	running sync.WaitGroup
	mu      sync.Mutex
	lost    *pages.ReadError
}

func newAssembler(memory *pages.Pool) *assembler {
	return &assembler{memory: memory, free: make(chan struct{}, runtime.GOMAXPROCS(0))}
}

// index begins to index the units of a cohort, whose column has been read.
func (a *assembler) index(t *columnTables) {
	t.n, t.indexed = t.unit.Len(), make(chan struct{})
	a.work(func() {
		defer close(t.indexed)
		t.rows.index = indexOf(a.memory, t.unit, sortedEntries)
	})
}

// rows begins to make the rows of a cohort, whose columns have been read.
func (a *assembler) rows(t *columnTables) {
	if t.indexed == nil {
		return
	}
	a.running.Go(func() {
		<-t.indexed
		a.work(func() { t.assemble(a.memory) })
	})
}

func (a *assembler) work(f func()) {
	a.running.Go(func() {
		a.free <- struct{}{}
		defer func() {
			<-a.free
			r := recover()
			if r == nil {
				return
			}
			lost, ok := r.(*pages.ReadError)
			if !ok {
				panic(r)
			}
			a.mu.Lock()
			a.lost = lost
			a.mu.Unlock()
		}()
		f()
	})
}

// wait waits until everything is made. If a page of the memory cannot be read back, that is a panic
// here.
func (a *assembler) wait() {
	a.running.Wait()
	if a.lost != nil {
		panic(a.lost)
	}
}
