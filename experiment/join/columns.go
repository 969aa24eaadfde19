package join

import (
	"encoding/binary"
	"runtime"
	"sync"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/pages"
)

// Columns are the columns of a version's rows, as a state in JSON has them, and then the rows
// that are made of them.
type Columns struct {
	unit, slot, mask, values *pages.Table

	rows     rows   // the result
	most     int    // the largest slot of the rows
	reported uint64 // the metrics that any row has
}

// Column returns the column of a name, empty, and the bytes of its elements; nil for another name,
// and an error for a name that there was before.
func (t *Columns) Column(memory *pages.Pool, name string) (c *pages.Table, size int, err error) {
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

// len returns the number of rows.
func (t *Columns) len() int {
	if t == nil {
		return 0
	}
	return t.rows.len()
}

// fit reports whether the columns were rows with a number of metrics.
func (t *Columns) fit(width int) bool {
	return t == nil || t.rows.table != nil && t.rows.width == width && t.reported>>width == 0 ||
		lengthOf(t.unit)+lengthOf(t.slot)+lengthOf(t.mask)+lengthOf(t.values) == 0
}

// assemble makes the rows of the columns, if these have as many rows, and releases the columns.
func (t *Columns) assemble(a *Assembler) {
	n, width := lengthOf(t.unit), 0
	if n > 0 {
		width = lengthOf(t.values) / n
	}
	if width == 0 || width > MostWidth || lengthOf(t.slot) != n || lengthOf(t.mask) != n ||
		lengthOf(t.values) != n*width {
		return
	}
	size := valuesAt + 8*width
	columns := []struct {
		columnReader
		at, n int
	}{
		{columnReader{table: t.unit}, unitAt, stateAt - unitAt},
		{columnReader{table: t.slot}, stateAt, maskAt - stateAt},
		{columnReader{table: t.mask}, maskAt, valuesAt - maskAt},
		{columnReader{table: t.values}, valuesAt, size - valuesAt},
	}
	_ = t.Fill(a, n, width, func(b []byte) error { // it has no errors
		for i := range columns {
			c := &columns[i]
			c.spread(b[c.at:], size, c.n)
		}
		return nil
	})
	for i := range columns {
		columns[i].table.Release()
	}
	t.unit, t.slot, t.mask, t.values = nil, nil, nil, nil
}

// MostWidth is the number of metrics of which a page can hold a record.
const MostWidth = (pages.Size - valuesAt) / 8

// Fill makes n rows and their index. The records of the next rows are what read writes.
func (t *Columns) Fill(a *Assembler, n, width int, read func(records []byte) error) error {
	x := &t.rows
	*x = rows{memory: a.memory, width: width}
	size := x.size()
	x.table = pages.NewTable(a.memory, size)
	index := newIndexBuilder(a, n)
	x.index = index.index
	defer index.putting.Wait() // also if a page is lost
	per := x.table.PerPage()
	records := make([]byte, per*size)
	for left := n; left > 0; left -= per {
		b := records[:min(left, per)*size]
		if err := read(b); err != nil {
			return err
		}
		for at := 0; at < len(b); at += size {
			t.most = max(t.most, int(binary.LittleEndian.Uint32(b[at+stateAt:])&^seenBit))
			t.reported |= binary.LittleEndian.Uint64(b[at+maskAt:])
		}
		index.add(b, size)
		x.table.Append(b)
	}
	index.end()
	return nil
}

// Release gives back the memory of everything.
func (t *Columns) Release() {
	for _, c := range []*pages.Table{t.unit, t.slot, t.mask, t.values} {
		if c != nil {
			c.Release()
		}
	}
	t.rows.release()
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

// Assembler makes rows of what is read from a snapshot. Where there is a pool, which makes tables
// safe for that, goroutines put them into their index.
type Assembler struct {
	memory  *pages.Pool
	sorted  int           // entries of an index that are sorted together
	free    chan struct{} // of as many versions as are made at a time
	putting chan struct{} // of as many batches as are put into indices at a time
	running sync.WaitGroup

	mu      sync.Mutex
	lost    *pages.ReadError
	batches [][]uint64
}

// NewAssembler returns an assembler of rows that use a pool, nil for memory without a bound.
func NewAssembler(memory *pages.Pool) *Assembler {
	n := runtime.GOMAXPROCS(0)
	return &Assembler{memory: memory, sorted: 1 << 18, free: make(chan struct{}, n), putting: make(chan struct{}, n)}
}

// Assemble begins to make the rows of a version, whose columns have been read.
func (a *Assembler) Assemble(t *Columns) {
	a.running.Go(func() {
		a.free <- struct{}{}
		defer func() { <-a.free }()
		a.guard(func() { t.assemble(a) })
	})
}

// alongside runs f in a goroutine of a group, when few others run, or at once without a pool.
func (a *Assembler) alongside(group *sync.WaitGroup, f func()) {
	if a.memory == nil {
		f()
		return
	}
	a.putting <- struct{}{}
	group.Go(func() {
		defer func() { <-a.putting }()
		a.guard(f)
	})
}

// guard runs f and notes that a page could not be read back.
func (a *Assembler) guard(f func()) {
	defer func() {
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
}

// batch returns room for n entries.
func (a *Assembler) batch(n int) []uint64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	for len(a.batches) > 0 {
		last := len(a.batches) - 1
		b := a.batches[last]
		if a.batches = a.batches[:last]; cap(b) >= n {
			return b[:0]
		}
	}
	return make([]uint64, 0, n)
}

// keep keeps batches for the next ones.
func (a *Assembler) keep(batches ...[]uint64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.batches = append(a.batches, batches...)
}

// Wait waits until everything is made. If a page of the memory cannot be read back, that is a panic
// here.
func (a *Assembler) Wait() {
	a.running.Wait()
	if a.lost != nil {
		panic(a.lost)
	}
}
