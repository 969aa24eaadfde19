package dataset

import (
	"io"
	"slices"
	"strconv"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/random"
)

// Shuffle returns a Reader of the rows in an order that depends only on the rows, the seed and the
// number of the pass, not on the machine or on whether the rows are in memory or in a file.
//
// The stored blocks (up to 4096 rows or 256 KiB each) are put in random order. Then runs of
// consecutive blocks of that order are loaded, each up to Options.WindowBytes (32 MiB; at least one
// block). If the rows of such a window are at most 1 MiB, they are shuffled by the algorithm of
// Fisher and Yates. The rows of a larger one are dealt to parts of about 1 MiB, which stay in a
// processor's cache while their rows are shuffled and read: the groups of rows that are neighbours
// in the file, 2 KiB each, are taken in the order of the file, and of each run of as many groups as
// there are parts, every part gets one, by lot.
//
// The order of a set of at most 1 MiB is thus uniformly random. In a larger one that fits into one
// window, every part is a sample from the whole file that is more even than a random one, however
// the file is sorted; only rows of one group, 17 of ijcnn1 for example, come into the same part
// more often than by chance. A view shuffles only its own rows.
//
// Cost per pass: every block is read once. Memory: the window, 8 bytes per row in it and 24 per
// group, one part's rows, and one block; if the rows are in memory, the window is not copied, and
// the Reader is a [RowReader].
func (s *Set) Shuffle(seed uint64, pass int) (Reader, error) {
	if pass < 0 {
		return nil, noregret.Errorf(noregret.Usage, "", "pass %d: it must not be negative", pass)
	}
	r := &shuffleReader{set: s, rng: random.New(seed, "dataset/shuffle/"+strconv.Itoa(pass))}
	r.memory, _ = s.st.(memoryStore)
	for i := range s.st.blocks() {
		if s.has(i) {
			r.order = append(r.order, i)
		}
	}
	r.rng.Shuffle(len(r.order), func(i, j int) { r.order[i], r.order[j] = r.order[j], r.order[i] })
	if r.memory != nil {
		return memoryShuffle{r}, nil
	}
	return r, nil
}

// memoryShuffle is the shuffleReader of a set in memory, and a [RowReader]: the blocks of a file
// are read again and again into the same memory, so that their rows must be copied.
type memoryShuffle struct{ *shuffleReader }

// The rows of a window of more than partBytes are dealt to parts of about that size, in groups of
// neighbours of about groupBytes, as rowCost counts.
const (
	partBytes  = 1 << 20
	groupBytes = 2 << 10
)

// shuffleReader returns the shuffled rows of one window after the other, part by part.
type shuffleReader struct {
	set     *Set
	rng     *random.Source
	order   []int       // blocks not loaded yet, in random order
	memory  memoryStore // nil for a file
	packed  []*rowPack  // the blocks of the window, in memory
	window  []*Block    // and of a file
	own     []*Block    // file: blocks whose memory is reused
	scratch Block
	rows    []uint64     // of the window: block<<32 | row in the block, in memory where it begins
	groups  []rowGroup   // of them
	blocks  []rowGroup   // for each block of the window its groups
	parts   [][]rowGroup // those not read yet
	perm    []uint64     // the rows of the part, shuffled
	at      int          // the next of perm
	row     int64
	touched uint32 // the sum of the values read ahead
	closed  bool
}

// rowGroup is a range of the rows of a window, which are neighbours in a block of the set.
type rowGroup struct{ block, from, to int }

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
	var x Row
	for ; r.at < len(r.perm) && b.Len() < blockRows; r.at++ {
		block, at := r.perm[r.at]>>32, uint32(r.perm[r.at])
		if r.memory != nil {
			r.packed[block].row(at, &x)
		} else {
			r.window[block].row(int(at), &x)
		}
		used += rowCost(len(x.Index))
		if used > blockBytes && b.Len() > 0 {
			break
		}
		b.Append(x.Index, x.Value, x.Class, x.Weight)
	}
	if b.Len() == 0 {
		return io.EOF
	}
	b.FirstRow = r.row
	r.row += int64(b.Len())
	return nil
}

// NextRows implements [RowReader].
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
		r.packed[at>>32].row(uint32(at), &rows[k])
	}
	r.at += len(rows)
	r.row += int64(len(rows))
	return len(rows), nil
}

// fill shuffles the rows of the next part, of the next window if there is none left.
func (r *shuffleReader) fill() error {
	r.perm, r.at = r.perm[:0], 0
	if len(r.parts) == 0 {
		if err := r.load(); err != nil {
			return err
		}
	}
	if len(r.parts) == 0 {
		return nil
	}
	for _, g := range r.parts[0] {
		rows := r.rows[g.from:g.to]
		r.perm = append(r.perm, rows...)
		if r.memory != nil {
			r.touch(r.memory[g.block], uint32(rows[0]), uint32(rows[len(rows)-1]))
		}
	}
	r.parts = r.parts[1:]
	random.Permute(r.rng, r.perm)
	return nil
}

// touch reads a word of every line of a cache from one row to another. These reads do not wait for
// each other, as those of a learner would, and a processor reads on by itself. Few instructions lie
// between two reads: those that fit into a processor's window are under way together.
func (r *shuffleReader) touch(p *rowPack, from, to uint32) {
	const line = 16 // words
	w, sum := p.words[from:to+1], r.touched
	for ; len(w) >= 4*line; w = w[4*line:] {
		sum += w[0] + w[line] + w[2*line] + w[3*line]
	}
	for i := 0; i < len(w); i += line {
		sum += w[i]
	}
	r.touched = sum
}

// load loads the next window and deals its rows to parts.
func (r *shuffleReader) load() error {
	r.rows, r.groups, r.blocks = r.rows[:0], r.groups[:0], r.blocks[:0]
	r.window, r.packed = r.window[:0], r.packed[:0]
	used := int64(0)
	for len(r.order) > 0 {
		i := r.order[0]
		rows, nnz := r.set.st.extent(i)
		cost := int64(8*nnz + 16*rows)
		if r.set.keep == nil && used > 0 && used+cost > r.set.window || used >= r.set.window {
			break
		}
		r.order = r.order[1:]
		from := len(r.groups)
		n, err := r.add(i, max(1, int(groupBytes*int64(rows)/cost)))
		if err != nil {
			return err
		}
		r.blocks = append(r.blocks, rowGroup{i, from, len(r.groups)})
		used += n
	}
	r.deal(int((used + partBytes - 1) / partBytes))
	return nil
}

// deal deals the rows of the window to n parts.
func (r *shuffleReader) deal(n int) {
	r.parts = make([][]rowGroup, n)
	if n < 2 {
		copy(r.parts, [][]rowGroup{r.groups})
		return
	}
	slices.SortFunc(r.blocks, func(a, b rowGroup) int { return a.block - b.block })
	to := make([]int, n)
	for i := range to {
		to[i] = i
		r.parts[i] = make([]rowGroup, 0, len(r.groups)/n+1)
	}
	k := 0
	for _, b := range r.blocks {
		for _, g := range r.groups[b.from:b.to] {
			if k == 0 {
				random.Permute(r.rng, to)
			}
			r.parts[to[k]] = append(r.parts[to[k]], g)
			if k++; k == n {
				k = 0
			}
		}
	}
	r.parts = slices.DeleteFunc(r.parts, func(part []rowGroup) bool { return len(part) == 0 })
}

// add adds the rows of block i that are in the set to the window, in groups that end after every
// each rows of the block, and returns their cost.
func (r *shuffleReader) add(i, each int) (used int64, err error) {
	if r.memory != nil {
		return r.addPacked(i, each), nil
	}
	s := r.set
	b := &r.scratch
	if s.keep == nil { // the block becomes part of the window unchanged
		b = r.extend()
	}
	if err := s.st.load(i, b); err != nil {
		return 0, err
	}
	from := len(r.rows)
	for lo := range b.Len() {
		if lo%each == 0 {
			from = r.endGroup(i, from)
		}
		if s.keep != nil && !s.keep.Get(s.start[i]+int64(lo)) {
			continue
		}
		used += int64(rowCost(int(b.Offset[lo+1] - b.Offset[lo])))
		if s.keep == nil {
			r.rows = append(r.rows, uint64(len(r.window)-1)<<32|uint64(lo))
			continue
		}
		dst := r.last()
		if dst == nil || dst.fitting(b, lo, lo+1) == 0 {
			dst = r.extend()
		}
		r.rows = append(r.rows, uint64(len(r.window)-1)<<32|uint64(dst.Len()))
		dst.appendRows(b, lo, lo+1)
	}
	r.endGroup(i, from)
	return used, nil
}

// addPacked is add for a set in memory.
func (r *shuffleReader) addPacked(i, each int) (used int64) {
	s, p := r.set, r.memory[i]
	block := uint64(len(r.packed)) << 32
	r.packed = append(r.packed, p)
	from := len(r.rows)
	for lo := 0; lo < len(p.start); lo += each {
		for k, at := range p.start[lo:min(lo+each, len(p.start))] {
			if s.keep == nil {
				r.rows = append(r.rows, block|uint64(at))
			} else if s.keep.Get(s.start[i] + int64(lo+k)) {
				r.rows = append(r.rows, block|uint64(at))
				used += int64(rowCost(int(p.words[at])))
			}
		}
		from = r.endGroup(i, from)
	}
	if s.keep == nil {
		used = int64(8*p.nonZeros + 16*len(p.start))
	}
	return used
}

// endGroup makes the rows added since from, if any, a group of block i, and returns where the next
// one begins.
func (r *shuffleReader) endGroup(i, from int) int {
	if to := len(r.rows); to > from {
		r.groups = append(r.groups, rowGroup{i, from, to})
	}
	return len(r.rows)
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
