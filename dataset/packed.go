package dataset

import (
	"math"
	"unsafe"
)

// rowPack is a block in memory. Each row lies in one piece, so that a reader of rows at random
// places waits for the memory once a row.
type rowPack struct {
	// words holds, for each row, the number n of its nonzeros, its class, hasWeight set and one
	// more word with the bits of the weight if that is not 1, n indices and the bits of n values.
	words    []uint32
	start    []uint32 // where in words each row begins
	nonZeros int
}

// hasWeight is set in the second word of a row that has a weight.
const hasWeight = 1 << 16

// packRows returns a copy of b.
func packRows(b *Block) *rowPack {
	size := 2*b.Len() + 2*len(b.Index)
	for _, w := range b.Weight {
		if w != 1 {
			size++
		}
	}
	p := &rowPack{
		words: make([]uint32, 0, size), start: make([]uint32, 0, b.Len()), nonZeros: len(b.Index),
	}
	for i, class := range b.Class {
		index, value := b.Row(i)
		p.start = append(p.start, uint32(len(p.words)))
		p.words = append(p.words, uint32(len(index)), uint32(class))
		if b.Weight != nil && b.Weight[i] != 1 {
			p.words[len(p.words)-1] |= hasWeight
			p.words = append(p.words, math.Float32bits(b.Weight[i]))
		}
		p.words = append(p.words, index...)
		p.words = append(p.words, asWords(value)...)
	}
	return p
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
	x.Index, x.Value = w[:n:n], asValues(w[n:2*n:2*n])
}

// bytes is the size of p.
func (p *rowPack) bytes() int64 { return int64(4*len(p.words) + 4*len(p.start)) }

// shift subtracts k from all indices.
func (p *rowPack) shift(k uint32) {
	if k == 0 {
		return
	}
	var x Row
	for _, at := range p.start {
		p.row(at, &x)
		for j := range x.Index {
			x.Index[j] -= k
		}
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
