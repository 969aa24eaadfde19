package dataset

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math"
	"slices"
	"sync"
)

// The cache format, version 1. docs/formats/cache.md describes it byte by byte; change both
// together.
const (
	cacheMagic    = "NRDATA\r\n" // the line end reveals a conversion of line ends
	cacheEndMagic = "NRDATEND"
	cacheVersion  = 1

	cacheHeaderSize  = 16 // magic, version, checksum
	cacheTrailerSize = 32 // footer offset, JSON size, blocks, footer checksum, magic, checksum
	blockHeaderSize  = 12 // rows, nonzeros, flags
	blockRefSize     = 20 // in the footer: offset, rows, nonzeros, flags

	flagWeighted = 1
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// size returns the number of bytes of the block in the file.
func (r blockRef) size() int {
	n := blockHeaderSize + 6*int(r.rows) + 8*int(r.nonZeros) + 4
	if r.weighted {
		n += 4 * int(r.rows)
	}
	return n
}

// encodeBlock appends the file form of b to buf: the header, the length of each row, the classes,
// the weights if any, the indices (plus shift), the values, and the CRC-32C of all that.
func encodeBlock(buf []byte, b *Block) []byte {
	start := len(buf)
	le := binary.LittleEndian
	flags := uint32(0)
	if b.Weight != nil {
		flags = flagWeighted
	}
	buf = le.AppendUint32(buf, uint32(b.Len()))
	buf = le.AppendUint32(buf, uint32(len(b.Index)))
	buf = le.AppendUint32(buf, flags)
	for i := range b.Len() {
		buf = le.AppendUint32(buf, b.Offset[i+1]-b.Offset[i])
	}
	for _, c := range b.Class {
		buf = le.AppendUint16(buf, c)
	}
	for _, w := range b.Weight {
		buf = le.AppendUint32(buf, math.Float32bits(w))
	}
	for _, x := range b.Index {
		buf = le.AppendUint32(buf, x)
	}
	for _, v := range b.Value {
		buf = le.AppendUint32(buf, math.Float32bits(v))
	}
	return le.AppendUint32(buf, crc32.Checksum(buf[start:], castagnoli))
}

// decodeBlock is the inverse of encodeBlock for a block of known extent. It fills b, which must be
// empty. The error has no code and no place.
func decodeBlock(buf []byte, ref blockRef, b *Block) error {
	le := binary.LittleEndian
	body := buf[:len(buf)-4]
	if got, want := crc32.Checksum(body, castagnoli), le.Uint32(buf[len(body):]); got != want {
		return fmt.Errorf("checksum %08x, but the file says %08x: the file is corrupt", got, want)
	}
	rows, nnz, flags := le.Uint32(body), le.Uint32(body[4:]), le.Uint32(body[8:])
	if rows != ref.rows || nnz != ref.nonZeros || flags > flagWeighted || flags == flagWeighted != ref.weighted {
		return fmt.Errorf("%d rows, %d nonzeros, flags %d differ from the file's index: the file is corrupt", rows, nnz,
			flags)
	}
	body = body[blockHeaderSize:]
	b.Offset = append(slices.Grow(b.Offset, int(rows)+1), 0)
	sum := uint64(0)
	for range rows {
		sum += uint64(le.Uint32(body))
		if sum > uint64(nnz) {
			return fmt.Errorf("the rows have more than the block's %d nonzeros", nnz)
		}
		b.Offset = append(b.Offset, uint32(sum))
		body = body[4:]
	}
	if sum != uint64(nnz) {
		return fmt.Errorf("the rows have %d of the block's %d nonzeros", sum, nnz)
	}
	b.Class = slices.Grow(b.Class, int(rows))[:rows]
	for i := range b.Class {
		b.Class[i] = le.Uint16(body[2*i:])
	}
	body = body[2*rows:]
	if ref.weighted {
		b.Weight = getFloats(slices.Grow(b.Weight, int(rows))[:rows], body)
		body = body[4*rows:]
	}
	b.Index = slices.Grow(b.Index, int(nnz))[:nnz]
	for i := range b.Index {
		b.Index[i] = le.Uint32(body[4*i:])
	}
	b.Value = getFloats(slices.Grow(b.Value, int(nnz))[:nnz], body[4*nnz:])
	return nil
}

func getFloats(dst []float32, src []byte) []float32 {
	for i := range dst {
		dst[i] = math.Float32frombits(binary.LittleEndian.Uint32(src[4*i:]))
	}
	return dst
}

// bufferPool lends byte slices to readers on several goroutines.
type bufferPool struct{ pool sync.Pool }

func (p *bufferPool) get(n int) *[]byte {
	b, ok := p.pool.Get().(*[]byte)
	if !ok {
		b = new([]byte)
	}
	if cap(*b) < n {
		*b = make([]byte, n)
	}
	*b = (*b)[:n]
	return b
}

func (p *bufferPool) put(b *[]byte) { p.pool.Put(b) }

// blockRules are the rules for the rows of a file that another process wrote, beyond the checksums.
type blockRules struct {
	low, high uint32 // stored indices lie in [low, high)
	labels    int
	noLabel   bool // rows may lack a label
}

// block checks every row. The error has no code and no place.
func (c *blockRules) block(b *Block) error {
	for i := range b.Len() {
		switch class := b.Class[i]; {
		case class == NoClass && !c.noLabel:
			return fmt.Errorf("row %d: no label, but the footer says that all rows have one", i)
		case class != NoClass && int(class) >= c.labels:
			return fmt.Errorf("row %d: class %d of %d labels", i, class, c.labels)
		}
		if w := b.RowWeight(i); !(w >= 0 && w <= math.MaxFloat32) {
			return fmt.Errorf("row %d: weight %v is not finite and 0 or more", i, w)
		}
		index, value := b.Row(i)
		low := c.low
		for k, x := range index {
			if x < low || x >= c.high {
				return fmt.Errorf("row %d: index %d is not in [%d, %d) or does not ascend", i, x, low, c.high)
			}
			low = x + 1
			if v := float64(value[k]); v == 0 || !inFloat32(v) {
				return fmt.Errorf("row %d, index %d: value %v is not finite or is zero", i, x, v)
			}
		}
	}
	return nil
}
