package join

import (
	"encoding/binary"
	"iter"
	"math"
	"math/bits"

	"github.com/noregret/noregret/internal/pages"
)

// rows are the units of a version that wait for feedback, in the order in which they began to. They
// are records in pages, so that those which do not fit into the memory of the pool are in a file.
type rows struct {
	memory *pages.Pool
	width  int          // metrics of a row
	table  *pages.Table // nil before the first row
	index  *unitIndex   // nil in a copy that is only read
	buffer []byte       // for one record
}

// Row is a unit that waits for feedback.
type Row struct {
	// Unit is the unit's hash.
	Unit uint64
	// Values are those of the metrics, by their numbers; only those that it [Row.Has] count.
	Values []float64

	state uint32 // the slot, with seenBit once exposed
	mask  uint64 // of the metrics reported, with countedBit
}

// The places of a row's parts in its record; the values follow.
const (
	unitAt, stateAt, maskAt, valuesAt = 0, 8, 12, 20

	seenBit = 1 << 31
	// countedBit marks, in the mask, a decision of a private experiment whose feedback counts.
	countedBit = 1 << 63
)

// Seen reports whether the unit was exposed.
func (r *Row) Seen() bool { return r.state&seenBit != 0 }

// Slot returns the index of the unit's arm, or the number of arms for a unit held back.
func (r *Row) Slot() int { return int(r.state &^ seenBit) }

// Has reports whether a metric was reported.
func (r *Row) Has(metric int) bool { return r.mask&(1<<metric) != 0 }

// Counted reports whether the feedback of a unit of a private experiment counts.
func (r *Row) Counted() bool { return r.mask&countedBit != 0 }

// reported returns the number of metrics that were reported.
func (r *Row) reported() int64 { return int64(bits.OnesCount64(r.mask &^ countedBit)) }

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
func (x *rows) read(i int, r *Row) {
	var space [valuesAt + 8*fewValues]byte
	b := space[:0]
	if x.width > fewValues {
		b = make([]byte, 0, x.size())
	}
	b = b[:x.size()]
	x.table.Read(i, 0, b)
	r.decode(b, x.width)
}

func (r *Row) decode(b []byte, width int) {
	r.Unit, r.state = binary.LittleEndian.Uint64(b[unitAt:]), binary.LittleEndian.Uint32(b[stateAt:])
	r.mask, r.Values = binary.LittleEndian.Uint64(b[maskAt:]), r.Values[:0]
	for m := range width {
		r.Values = append(r.Values, math.Float64frombits(binary.LittleEndian.Uint64(b[valuesAt+8*m:])))
	}
}

// write writes what can change of a row.
func (x *rows) write(i int, r *Row) {
	var space [valuesAt + 8*fewValues]byte
	b := space[:0]
	b = binary.LittleEndian.AppendUint32(b, r.state)
	b = binary.LittleEndian.AppendUint64(b, r.mask)
	for _, v := range r.Values {
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(v))
	}
	x.table.Write(i, stateAt, b)
}

// all returns the rows in their order. The row is valid until the next one.
func (x *rows) all() iter.Seq2[int, *Row] {
	return func(yield func(int, *Row) bool) {
		var r Row
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
