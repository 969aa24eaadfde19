package dataset

import (
	"io"
	"sync"

	"github.com/noregret/noregret"
)

// Set holds examples for several passes: in memory, in a temporary file, or in a cache file. Its
// methods except Close are safe for concurrent use. A view (see Select) shares the storage of its
// parent. It is valid until the parent is closed and need not be closed itself.
type Set struct {
	info   Info
	st     store
	window int64
	start  []int64 // number of the first row of each block in the storage, and the total
	keep   *Bits   // rows of the storage that belong to the set; nil: all
	view   bool
	once   *sync.Once
}

// newSet makes the set of all rows of st.
func newSet(info Info, st store, window int64) *Set {
	start := make([]int64, st.blocks()+1)
	for i := range st.blocks() {
		rows, _ := st.extent(i)
		start[i+1] = start[i] + int64(rows)
	}
	return &Set{info: info, st: st, window: window, start: start, once: new(sync.Once)}
}

// Info summarizes the set. A view has its own counts of rows, nonzeros and weights; its labels (and
// so the class numbers), schema, inputs and digest are those of its parent.
func (s *Set) Info() Info { return s.info.clone() }

// Read returns a Reader of the rows in stored order, one stored block at a time; a [RowReader] if
// the rows are in memory.
func (s *Set) Read() (Reader, error) {
	if m, ok := s.st.(memoryStore); ok {
		return &memoryReader{set: s, memory: m}, nil
	}
	return &setReader{set: s}, nil
}

// Close frees the storage and removes the temporary file. Readers and views of the set must not be
// used afterwards. Closing a view or closing twice has no effect.
func (s *Set) Close() error {
	if s.view {
		return nil
	}
	var err error
	s.once.Do(func() { err = s.st.close() })
	return err
}

// has reports whether block i of the storage contains a row of the set.
func (s *Set) has(i int) bool {
	return s.keep == nil || s.keep.any(s.start[i], s.start[i+1])
}

// appendSelected appends to dst those rows of b, which is block i of the storage, that are in the
// set, from row lo on until dst is full. It returns the first row that it did not examine.
func (s *Set) appendSelected(dst, b *Block, i, lo int) int {
	if s.keep == nil {
		n := dst.fitting(b, lo, b.Len())
		dst.appendRows(b, lo, lo+n)
		return lo + n
	}
	base := s.start[i]
	for lo < b.Len() {
		if !s.keep.Get(base + int64(lo)) {
			lo++
			continue
		}
		hi := lo + 1
		for hi < b.Len() && s.keep.Get(base+int64(hi)) {
			hi++
		}
		n := dst.fitting(b, lo, hi)
		dst.appendRows(b, lo, lo+n)
		if lo += n; lo < hi {
			break
		}
	}
	return lo
}

// setReader reads a set in stored order.
type setReader struct {
	set     *Set
	i       int // the block to read next
	row     int64
	scratch Block
	closed  bool
}

// Next implements Reader.
func (r *setReader) Next(b *Block) error {
	b.Reset()
	if r.closed {
		return noregret.Errorf(noregret.Usage, "", "the reader is closed")
	}
	s := r.set
	for ; r.i < s.st.blocks() && b.Len() == 0; r.i++ {
		if !s.has(r.i) {
			continue
		}
		if s.keep == nil {
			if err := s.st.load(r.i, b); err != nil {
				b.Reset()
				return err
			}
			continue
		}
		if err := s.st.load(r.i, &r.scratch); err != nil {
			return err
		}
		s.appendSelected(b, &r.scratch, r.i, 0)
	}
	if b.Len() == 0 {
		return io.EOF
	}
	b.FirstRow = r.row
	r.row += int64(b.Len())
	return nil
}

// Close implements Reader.
func (r *setReader) Close() error {
	r.closed = true
	r.scratch = Block{}
	return nil
}

// memoryReader reads a set in memory in stored order.
type memoryReader struct {
	set    *Set
	memory memoryStore
	i, at  int // the block and the row in it to read next
	row    int64
	closed bool
}

// Next implements Reader.
func (r *memoryReader) Next(b *Block) error {
	b.Reset()
	if r.closed {
		return noregret.Errorf(noregret.Usage, "", "the reader is closed")
	}
	b.FirstRow = r.row
	var rows [64]Row
	for i := r.i; r.i < len(r.memory) && (r.i == i || b.Len() == 0); {
		for _, x := range rows[:r.take(rows[:])] {
			b.Append(x.Index, x.Value, x.Class, x.Weight)
		}
	}
	if b.Len() == 0 {
		return io.EOF
	}
	return nil
}

// NextRows implements [RowReader].
func (r *memoryReader) NextRows(rows []Row) (int, error) {
	if r.closed {
		return 0, noregret.Errorf(noregret.Usage, "", "the reader is closed")
	}
	n := 0
	for n < len(rows) && r.i < len(r.memory) {
		n += r.take(rows[n:])
	}
	if n == 0 && len(rows) > 0 {
		return 0, io.EOF
	}
	return n, nil
}

// take fills rows with rows of the block at hand, of which there is one, and returns their number.
func (r *memoryReader) take(rows []Row) int {
	p, keep, n := r.memory[r.i], r.set.keep, 0
	for ; r.at < len(p.start) && n < len(rows); r.at++ {
		if keep == nil || keep.Get(r.set.start[r.i]+int64(r.at)) {
			p.row(p.start[r.at], &rows[n])
			n++
		}
	}
	if r.at == len(p.start) {
		r.i, r.at = r.i+1, 0
	}
	r.row += int64(n)
	return n
}

// Close implements Reader.
func (r *memoryReader) Close() error {
	r.closed = true
	return nil
}
