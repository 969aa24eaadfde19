package experiment

import (
	"encoding/binary"
	"iter"
	"math"
	"math/bits"

	"github.com/noregret/noregret/internal/pages"
)

// rows are the units of a cohort that wait for feedback, in the order in which they began to. They
// are records in pages, so that those which do not fit into the memory are in a file: see
// [NewStateIn].
type rows struct {
	memory *pages.Pool
	width  int          // metrics of a row
	table  *pages.Table // nil before the first row
	index  *unitIndex   // nil in a copy that is only read
	buffer []byte       // for one record
}

// row is one unit.
type row struct {
	unit uint64
	// state is the arm, or the number of arms for a unit held back; with seenBit once exposed.
	state  uint32
	mask   uint64    // of the metrics reported
	values []float64 // those metrics, by their numbers
}

// The places of a row's parts in its record; the values follow.
const (
	unitAt, stateAt, maskAt, valuesAt = 0, 8, 12, 20

	seenBit = 1 << 31
)

func (r *row) seen() bool      { return r.state&seenBit != 0 }
func (r *row) slot() int       { return int(r.state &^ seenBit) }
func (r *row) has(m int) bool  { return r.mask&(1<<m) != 0 }
func (r *row) reported() int64 { return int64(bits.OnesCount64(r.mask)) }

// len returns the number of rows.
func (x *rows) len() int {
	if x.table == nil {
		return 0
	}
	return x.table.Len()
}

// size returns the bytes of a record.
func (x *rows) size() int { return valuesAt + 8*x.width }

// find returns the place of a unit, or -1.
func (x *rows) find(unit uint64) int {
	if x.table == nil {
		return -1
	}
	return x.index.find(x.table, unit)
}

// add appends a unit that is not there and returns its place.
func (x *rows) add(unit uint64, slot int) int {
	if x.table == nil {
		x.table, x.index = pages.NewTable(x.memory, x.size()), newUnitIndex(x.memory)
	}
	if x.buffer == nil {
		x.buffer = make([]byte, x.size())
	}
	i := x.table.Len()
	clear(x.buffer)
	binary.LittleEndian.PutUint64(x.buffer[unitAt:], unit)
	binary.LittleEndian.PutUint32(x.buffer[stateAt:], uint32(slot))
	x.table.Append(x.buffer)
	x.index.add(x.memory, unit, i)
	return i
}

// fewValues is the number of values up to which a record is on the stack.
const fewValues = 8

// read reads a row. It uses the values that r has.
func (x *rows) read(i int, r *row) {
	var space [valuesAt + 8*fewValues]byte
	b := space[:0]
	if x.width > fewValues {
		b = make([]byte, 0, x.size())
	}
	b = b[:x.size()]
	x.table.Read(i, 0, b)
	r.decode(b, x.width)
}

func (r *row) decode(b []byte, width int) {
	r.unit, r.state = binary.LittleEndian.Uint64(b[unitAt:]), binary.LittleEndian.Uint32(b[stateAt:])
	r.mask, r.values = binary.LittleEndian.Uint64(b[maskAt:]), r.values[:0]
	for m := range width {
		r.values = append(r.values, math.Float64frombits(binary.LittleEndian.Uint64(b[valuesAt+8*m:])))
	}
}

// write writes what can change of a row.
func (x *rows) write(i int, r *row) {
	var space [valuesAt + 8*fewValues]byte
	b := space[:0]
	b = binary.LittleEndian.AppendUint32(b, r.state)
	b = binary.LittleEndian.AppendUint64(b, r.mask)
	for _, v := range r.values {
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(v))
	}
	x.table.Write(i, stateAt, b)
}

// all returns the rows in their order. The row is valid until the next one.
func (x *rows) all() iter.Seq2[int, *row] {
	return func(yield func(int, *row) bool) {
		var r row
		i, size := 0, x.size()
		for b := range x.records() {
			for at := 0; at < len(b); at += size {
				r.decode(b[at:], x.width)
				if !yield(i, &r) {
					return
				}
				i++
			}
		}
	}
}

// records returns the bytes of the records, in chunks, which are valid until the next one.
func (x *rows) records() iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		if x.table == nil {
			return
		}
		var b []byte
		for k := range x.table.Pages() {
			if b = x.table.Page(b[:0], k); !yield(b) {
				return
			}
		}
	}
}

// column returns the bytes from one place to another of the records, in chunks, which are valid
// until the next one.
func (x *rows) column(from, to int) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		var out []byte
		size := x.size()
		for b := range x.records() {
			out = out[:0]
			for at := 0; at < len(b); at += size {
				out = append(out, b[at+from:at+to]...)
			}
			if !yield(out) {
				return
			}
		}
	}
}

// copy returns a copy that can be read and extended, but not searched.
func (x *rows) copy() rows {
	y := *x
	y.index, y.buffer = nil, nil
	if x.table != nil {
		y.table = x.table.Snapshot()
	}
	return y
}

// search makes a copy of x searchable.
func (x *rows) search(of *rows) {
	if of.index != nil {
		x.index = &unitIndex{slots: of.index.slots.Snapshot(), used: of.index.used, shift: of.index.shift}
	}
}

// release gives back the memory at once. The rows are then empty.
func (x *rows) release() {
	if x.table != nil {
		x.table.Release()
	}
	if x.index != nil {
		x.index.slots.Release()
	}
	x.table, x.index = nil, nil
}
