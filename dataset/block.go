package dataset

// NoClass is the class number of a row whose label is missing.
const NoClass = 0xffff

// maxLabels is the largest number of different labels that class numbers can distinguish.
const maxLabels = NoClass

// A block ends before the row that would exceed one of these limits. A row that alone is larger
// than blockBytes has a block of its own.
const (
	blockRows  = 4096
	blockBytes = 256 << 10
)

// rowCost is the number of bytes that a row with the given number of nonzeros counts towards the
// limits of blocks and windows. It does not depend on how the row is stored, so that blocks and
// shuffles are the same in memory and in a file.
func rowCost(nonZeros int) int { return 8*nonZeros + 16 }

// Block is a run of consecutive rows in compressed sparse row (CSR) form: the nonzeros of row
// i are Index[Offset[i]:Offset[i+1]] with the values at the same places of Value.
// Index is 0-based, ascending and unique within a row; values are finite and not
// zero. The zero Block is empty and ready to use. A Block is not safe for concurrent use.
type Block struct {
	// Number of the first row in the stream that the block came from, counted from 0.
	FirstRow int64
	Offset   []uint32  // Len()+1 offsets, Offset[0] = 0; nil when the block is empty
	Index    []uint32  // feature numbers
	Value    []float32 // the feature values, one per Index
	Class    []uint16  // class number per row: an index into Info.Labels, or NoClass
	Weight   []float32 // weight per row, finite and not negative; nil when all are 1
}

// Len returns the number of rows.
func (b *Block) Len() int { return len(b.Class) }

// Row returns the feature numbers and the values of row i, which must lie in [0, Len()). The
// slices are parts of the block: they must not be written to and are valid until the block is
// overwritten.
func (b *Block) Row(i int) (index []uint32, value []float32) {
	lo, hi := b.Offset[i], b.Offset[i+1]
	return b.Index[lo:hi:hi], b.Value[lo:hi:hi]
}

// row sets x to row i, without a copy.
func (b *Block) row(i int, x *Row) {
	x.Index, x.Value = b.Row(i)
	x.Class, x.Weight = b.Class[i], float32(b.RowWeight(i))
}

// RowWeight returns the weight of row i, 1 when the block has no weights.
func (b *Block) RowWeight(i int) float64 {
	if b.Weight == nil {
		return 1
	}
	return float64(b.Weight[i])
}

// Reset empties the block and keeps its memory for reuse.
func (b *Block) Reset() {
	b.FirstRow = 0
	b.Offset = b.Offset[:0]
	b.Index = b.Index[:0]
	b.Value = b.Value[:0]
	b.Class = b.Class[:0]
	b.Weight = b.Weight[:0]
	if len(b.Weight) == 0 {
		b.Weight = nil
	}
}

// Append adds a copy of a row. It does not check the row: index and value must have the same length
// and obey the rules of [Block]. Use a [Builder] for rows that must be checked.
func (b *Block) Append(index []uint32, value []float32, class uint16, weight float32) {
	if len(b.Offset) == 0 {
		b.Offset = append(b.Offset, 0)
	}
	b.Index = append(b.Index, index...)
	b.Value = append(b.Value, value...)
	b.endRow(class, weight)
}

// endRow closes the row whose nonzeros have been appended to Index and Value.
func (b *Block) endRow(class uint16, weight float32) {
	if len(b.Offset) == 0 {
		b.Offset = append(b.Offset, 0)
	}
	if weight != 1 && b.Weight == nil {
		b.Weight = appendOnes(b.Weight, len(b.Class))
	}
	b.Offset = append(b.Offset, uint32(len(b.Index)))
	b.Class = append(b.Class, class)
	if b.Weight != nil {
		b.Weight = append(b.Weight, weight)
	}
}

// appendRows adds copies of the rows lo..hi-1 of src.
func (b *Block) appendRows(src *Block, lo, hi int) {
	if lo >= hi {
		return
	}
	if len(b.Offset) == 0 {
		b.Offset = append(b.Offset, 0)
	}
	from, to := src.Offset[lo], src.Offset[hi]
	shift := uint32(len(b.Index)) - from // wraps around and back
	b.Index = append(b.Index, src.Index[from:to]...)
	b.Value = append(b.Value, src.Value[from:to]...)
	for _, o := range src.Offset[lo+1 : hi+1] {
		b.Offset = append(b.Offset, o+shift)
	}
	switch {
	case src.Weight != nil:
		if b.Weight == nil {
			b.Weight = appendOnes(make([]float32, 0, len(b.Class)+hi-lo), len(b.Class))
		}
		b.Weight = append(b.Weight, src.Weight[lo:hi]...)
	case b.Weight != nil:
		b.Weight = appendOnes(b.Weight, hi-lo)
	}
	b.Class = append(b.Class, src.Class[lo:hi]...)
}

// fitting returns how many of the rows lo..hi-1 of src fit into b within the limits of a block.
func (b *Block) fitting(src *Block, lo, hi int) int {
	free := blockRows - b.Len()
	if hi-lo > free {
		hi = lo + free
	}
	used := 8*len(b.Index) + 16*b.Len()
	for i := lo; i < hi; i++ {
		used += rowCost(int(src.Offset[i+1] - src.Offset[i]))
		if used > blockBytes && (b.Len() > 0 || i > lo) {
			return i - lo
		}
	}
	return hi - lo
}

// appendOnes appends n ones; the result is never nil.
func appendOnes(w []float32, n int) []float32 {
	if w == nil {
		w = make([]float32, 0, max(n, 1))
	}
	for range n {
		w = append(w, 1)
	}
	return w
}

// Reader reads rows in blocks. It is not safe for concurrent use, but different Readers of one
// [Set] may be used concurrently.
type Reader interface {
	// Next overwrites b with the next block, which has at least one row, and reuses
	// b's memory. It returns io.EOF after the last block; b is empty then.
	Next(b *Block) error
	// Close releases the Reader's resources. Closing twice is allowed.
	Close() error
}

// Row is a row of a [Block], with its class number and weight.
type Row struct {
	Index  []uint32
	Value  []float32
	Class  uint16
	Weight float32
}

// RowReader is a [Reader] that can also return rows where they are, without a copy. The Readers of
// a [Set] in memory are.
type RowReader interface {
	Reader
	// NextRows fills rows from the start and returns how many there are, at least one unless rows
	// is empty. Their slices must not be written to and are valid until the set is closed. After
	// the last row it returns 0 and io.EOF. The rows and their order are those of Next.
	NextRows(rows []Row) (int, error)
}
