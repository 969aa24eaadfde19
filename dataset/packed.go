package dataset

import (
	"math"
	"slices"
	"unsafe"
)

// rowPack is a block in memory. Each row lies in one piece, so that a reader of rows at random
// places waits for the memory once a row. Where many rows have nonzeros in the same columns, as
// those of most tables do, the columns are kept apart, once, and a row is its values.
type rowPack struct {
	// words holds, for each row, the number n of its nonzeros, its class with the bits hasWeight
	// and hasList, the bits of the weight if that is not 1, then n indices, or where they begin in
	// the list of them, and the bits of n values.
	words    []uint32
	start    []uint32 // where in words each row begins
	lists    *indexLists
	nonZeros int
}

// Bits in the second word of a row.
const (
	hasWeight = 1 << 16
	hasList   = 1 << 17
)

// packer packs the blocks of a set. The zero packer is ready.
type packer struct {
	lists *indexLists
	at    []uint32 // of the rows of the block, in lists; 0 for none
}

// pack returns a copy of b.
func (k *packer) pack(b *Block) *rowPack {
	if k.lists == nil {
		k.lists = new(indexLists)
	}
	k.at = k.at[:0]
	size := 2*b.Len() + 2*len(b.Index)
	for i := range b.Len() {
		index, _ := b.Row(i)
		at := k.lists.find(index)
		if k.at = append(k.at, at); at != 0 {
			size += 1 - len(index)
		}
		if b.Weight != nil && b.Weight[i] != 1 {
			size++
		}
	}
	p := &rowPack{
		words: make([]uint32, 0, size), start: make([]uint32, 0, b.Len()), lists: k.lists, nonZeros: len(b.Index),
	}
	for i, class := range b.Class {
		index, value := b.Row(i)
		p.start = append(p.start, uint32(len(p.words)))
		p.words = append(p.words, uint32(len(index)), uint32(class))
		head := &p.words[len(p.words)-1]
		if b.Weight != nil && b.Weight[i] != 1 {
			*head |= hasWeight
			p.words = append(p.words, math.Float32bits(b.Weight[i]))
		}
		if at := k.at[i]; at != 0 {
			*head |= hasList
			p.words = append(p.words, at)
		} else {
			p.words = append(p.words, index...)
		}
		p.words = append(p.words, asWords(value)...)
	}
	return p
}

// indexLists holds lists of indices that rows have in common.
type indexLists struct {
	words []uint32 // the lists, one after the other; the first word belongs to none
	slot  []listAt // by the hash of a list
	last  listAt   // the one found last
	rows  int      // that were asked for
	hits  int      // of them those that had the list of an earlier row
}

// listAt is where in words a list begins, 0 for none, and its length.
type listAt struct{ at, n uint32 }

// The lists are few enough to stay in a processor's cache, and listTrial rows tell whether half of
// them have the list of another.
const (
	listWords    = 1 << 15
	listSlotBits = 12
	listTrial    = 1 << 10
)

// find returns where in words the list is. It is added if it is new and has a place, otherwise
// there is none, and find returns 0.
func (l *indexLists) find(index []uint32) uint32 {
	if len(index) < 2 || l.rows >= listTrial && 2*l.hits < l.rows {
		return 0
	}
	l.rows++
	if l.is(l.last, index) {
		l.hits++
		return l.last.at
	}
	if l.slot == nil {
		l.slot, l.words = make([]listAt, 1<<listSlotBits), make([]uint32, 1, listTrial)
	}
	hash := uint32(len(index)) // multiplied by the golden ratio: Knuth, volume 3, 6.4
	for _, i := range index {
		hash = (hash ^ i) * 0x9e3779b1
	}
	s := &l.slot[hash>>(32-listSlotBits)]
	switch {
	case s.at == 0 && len(l.words)+len(index) <= listWords:
		*s = listAt{uint32(len(l.words)), uint32(len(index))}
		l.words = append(l.words, index...)
	case l.is(*s, index):
		l.hits++
	default:
		return 0
	}
	l.last = *s
	return s.at
}

// is reports whether index is the list s.
func (l *indexLists) is(s listAt, index []uint32) bool {
	return int(s.n) == len(index) && slices.Equal(index, l.words[s.at:s.at+s.n])
}

// unpack appends the rows of p to b.
func (p *rowPack) unpack(b *Block) {
	var x Row
	for _, at := range p.start {
		p.row(at, &x)
		b.Append(x.Index, x.Value, x.Class, x.Weight)
	}
}

// row sets x to the row that begins at at, without a copy.
func (p *rowPack) row(at uint32, x *Row) {
	w := p.words[at:]
	n, class := int(w[0]), w[1]
	w = w[2:]
	x.Class, x.Weight = uint16(class), 1
	if class&hasWeight != 0 {
		x.Weight = math.Float32frombits(w[0])
		w = w[1:]
	}
	if class&hasList != 0 {
		at := int(w[0])
		x.Index, x.Value = p.lists.words[at:at+n:at+n], asValues(w[1:n+1:n+1])
		return
	}
	x.Index, x.Value = w[:n:n], asValues(w[n:2*n:2*n])
}

// bytes is the size of p.
func (p *rowPack) bytes() int64 { return int64(4*len(p.words) + 4*len(p.start)) }

// shift subtracts k from all indices but those of lists.
func (p *rowPack) shift(k uint32) {
	if k == 0 {
		return
	}
	var x Row
	for _, at := range p.start {
		if p.words[at+1]&hasList != 0 {
			continue
		}
		p.row(at, &x)
		for j := range x.Index {
			x.Index[j] -= k
		}
	}
}

// shift subtracts k from all indices.
func (l *indexLists) shift(k uint32) {
	for i := range l.words {
		l.words[i] -= k
	}
}

// asValues returns the numbers that words hold the bits of, in the same memory.
func asValues(words []uint32) []float32 {
	return unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(words))), len(words))
}

// asWords is the inverse of asValues.
func asWords(values []float32) []uint32 {
	return unsafe.Slice((*uint32)(unsafe.Pointer(unsafe.SliceData(values))), len(values))
}
