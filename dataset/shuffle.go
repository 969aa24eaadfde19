package dataset

import (
	"io"
	"math"
	"strconv"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/random"
)

// Shuffle returns a Reader of the rows in an order that depends only on the rows, the seed and the
// number of the pass, not on the machine or on whether the rows are in memory or in a file.
//
// The stored blocks (up to 4096 rows or 256 KiB each) are put in random order. Then runs of
// consecutive blocks of that order are loaded, each up to Options.WindowBytes (32 MiB; at least one
// block), and all rows of such a window are shuffled by the algorithm of Fisher and Yates. The
// order of a set that fits into one window is thus uniformly random; in a larger set neighbours in
// the file are in the same window, but rarely adjacent. A view shuffles only its own rows.
//
// Cost per pass: every block is read once. Memory: the window, 8 bytes per row in it, and one
// block; if the rows are in memory, the window is not copied, and the Reader is a [RowReader].
func (s *Set) Shuffle(seed uint64, pass int) (Reader, error) {
	if pass < 0 {
		return nil, noregret.Errorf(noregret.Usage, "", "pass %d: it must not be negative", pass)
	}
	r := &shuffleReader{set: s, rng: random.New(seed, "dataset/shuffle/"+strconv.Itoa(pass))}
	for i := range s.st.blocks() {
		if s.has(i) {
			r.order = append(r.order, i)
		}
	}
	r.rng.Shuffle(len(r.order), func(i, j int) { r.order[i], r.order[j] = r.order[j], r.order[i] })
	if _, r.inMemory = s.st.(memoryStore); r.inMemory {
		return memoryShuffle{r}, nil
	}
	return r, nil
}

// memoryShuffle is the shuffleReader of a set in memory, and the only [RowReader]: the blocks of a
// file are read again and again into the same memory, so that their rows must be copied.
type memoryShuffle struct{ *shuffleReader }

// shuffleReader returns the shuffled rows of one window after the other.
type shuffleReader struct {
	set      *Set
	rng      *random.Source
	order    []int // blocks not loaded yet, in random order
	inMemory bool
	window   []*Block // the blocks of the window
	own      []*Block // file: blocks whose memory is reused
	scratch  Block
	perm     []uint64 // block<<32 | row in the window, shuffled
	at       int      // the next of perm
	row      int64
	touched  uint32 // the sum of the values read ahead
	closed   bool
}

// Next implements Reader.
func (r *shuffleReader) Next(b *Block) error {
	b.Reset()
	if r.closed {
		return noregret.Errorf(noregret.Usage, "", "the reader is closed")
	}
	if r.at == len(r.perm) {
		if err := r.fill(); err != nil {
			return err
		}
	}
	used := 0
	for ; r.at < len(r.perm) && b.Len() < blockRows; r.at++ {
		src, i := r.window[r.perm[r.at]>>32], int(uint32(r.perm[r.at]))
		index, value := src.Row(i)
		used += rowCost(len(index))
		if used > blockBytes && b.Len() > 0 {
			break
		}
		b.Append(index, value, src.Class[i], float32(src.RowWeight(i)))
	}
	if b.Len() == 0 {
		return io.EOF
	}
	b.FirstRow = r.row
	r.row += int64(b.Len())
	return nil
}

// Row is a row of a [Block], with its class number and weight.
type Row struct {
	Index  []uint32
	Value  []float32
	Class  uint16
	Weight float32
}

// RowReader is a [Reader] that can also return rows where they are, without a copy.
type RowReader interface {
	Reader
	// NextRows fills rows from the start and returns how many there are, at least one unless rows
	// is empty. Their slices must not be written to and are valid until the set is closed. After
	// the last row it returns 0 and io.EOF. The rows and their order are those of Next.
	NextRows(rows []Row) (int, error)
}

// NextRows implements [RowReader]. The rows lie at random places of the window, which is larger
// than a processor's caches. So it first finds all of them and then reads some value of each part
// that a cache holds together: these reads do not wait for each other, as those of a learner would.
func (r memoryShuffle) NextRows(rows []Row) (int, error) {
	if r.closed {
		return 0, noregret.Errorf(noregret.Usage, "", "the reader is closed")
	}
	if r.at == len(r.perm) {
		if err := r.fill(); err != nil {
			return 0, err
		}
		if len(r.perm) == 0 {
			return 0, io.EOF
		}
	}
	rows = rows[:min(len(rows), len(r.perm)-r.at)]
	for k, at := range r.perm[r.at : r.at+len(rows)] {
		src, i := r.window[at>>32], int(uint32(at))
		index, value := src.Row(i)
		rows[k] = Row{Index: index, Value: value, Class: src.Class[i], Weight: float32(src.RowWeight(i))}
	}
	const together = 16 // numbers of 4 bytes
	for k := range rows {
		index, value := rows[k].Index, rows[k].Value
		for j := 0; j < len(index); j += together {
			r.touched += index[j] + math.Float32bits(value[j])
		}
		if n := len(index); n > 1 {
			r.touched += index[n-1] + math.Float32bits(value[n-1])
		}
	}
	r.at += len(rows)
	r.row += int64(len(rows))
	return len(rows), nil
}

// fill loads the next window and shuffles its rows.
func (r *shuffleReader) fill() error {
	r.perm, r.at = r.perm[:0], 0
	r.window = r.window[:0]
	used := int64(0)
	for len(r.order) > 0 {
		i := r.order[0]
		rows, nnz := r.set.st.extent(i)
		if r.set.keep == nil && used > 0 && used+int64(8*nnz+16*rows) > r.set.window || used >= r.set.window {
			break
		}
		r.order = r.order[1:]
		n, err := r.add(i)
		if err != nil {
			return err
		}
		used += n
	}
	r.rng.Shuffle(len(r.perm), func(i, j int) { r.perm[i], r.perm[j] = r.perm[j], r.perm[i] })
	return nil
}

// add adds the rows of block i that are in the set to the window and returns their cost.
func (r *shuffleReader) add(i int) (used int64, err error) {
	s := r.set
	scratch := &r.scratch
	whole := r.inMemory || s.keep == nil // the block becomes part of the window unchanged
	if whole && !r.inMemory {
		scratch = r.extend()
	}
	b, err := s.st.load(i, scratch)
	if err != nil {
		return 0, err
	}
	if r.inMemory {
		r.window = append(r.window, b)
	}
	for lo := range b.Len() {
		if s.keep != nil && !s.keep.Get(s.start[i]+int64(lo)) {
			continue
		}
		used += int64(rowCost(int(b.Offset[lo+1] - b.Offset[lo])))
		if whole {
			r.perm = append(r.perm, uint64(len(r.window)-1)<<32|uint64(lo))
			continue
		}
		dst := r.last()
		if dst == nil || dst.fitting(b, lo, lo+1) == 0 {
			dst = r.extend()
		}
		r.perm = append(r.perm, uint64(len(r.window)-1)<<32|uint64(dst.Len()))
		dst.appendRows(b, lo, lo+1)
	}
	return used, nil
}

func (r *shuffleReader) last() *Block {
	if len(r.window) == 0 {
		return nil
	}
	return r.window[len(r.window)-1]
}

// extend adds an empty block to the window. It reuses a block of an earlier window if there is one.
func (r *shuffleReader) extend() *Block {
	if len(r.window) == len(r.own) {
		r.own = append(r.own, new(Block))
	}
	b := r.own[len(r.window)]
	b.Reset()
	r.window = append(r.window, b)
	return b
}

// Close implements Reader.
func (r *shuffleReader) Close() error {
	*r = shuffleReader{set: r.set, closed: true}
	return nil
}
