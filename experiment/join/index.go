package join

import (
	"encoding/binary"
	"hash/maphash"
	"math/bits"
	"slices"
	"sync"

	"github.com/noregret/noregret/internal/pages"
)

// unitIndex finds rows by their units: a hash table with open addressing. A slot has 32 bits of the
// unit's hash, in whose order the units are, and the number of the row plus 1, or is 0.
type unitIndex struct {
	slots *pages.Table
	used  int
	shift int // 32 less the binary logarithm of the number of slots
}

// The hash of the index depends on the process, so that nobody can choose units that collide. What
// the index finds does not.
var indexSeed = maphash.MakeSeed()

func indexHash(unit uint64) uint32 { return uint32(maphash.Comparable(indexSeed, unit)) }

const leastSlots = 16

func newUnitIndex(memory *pages.Pool) *unitIndex { return newUnitIndexOf(memory, leastSlots) }

// newUnitIndexOf returns an index with room for some units at least.
func newUnitIndexOf(memory *pages.Pool, units int) *unitIndex {
	n := leastSlots
	for n/4*3 <= units {
		n *= 2
	}
	return &unitIndex{slots: pages.NewZeros(memory, 8, n), shift: 32 - bits.TrailingZeros(uint(n))}
}

// first returns the slot at which the search for a unit begins.
func (x *unitIndex) first(unit uint64) int { return int(indexHash(unit) >> x.shift) }

// probe returns the place and the content of the first slot from i on that is empty or has the
// hash.
func (x *unitIndex) probe(i int, hash uint32) (at int, s uint64) {
	per := x.slots.PerPage()
	for {
		at = -1
		x.slots.View(i/per, func(b []byte) {
			if b == nil {
				at, s = i, 0
				return
			}
			first := i / per * per
			for k := (i - first) * 8; k < len(b); k += 8 {
				s = binary.LittleEndian.Uint64(b[k:])
				if s == 0 || uint32(s>>32) == hash {
					at = first + k/8
					return
				}
			}
		})
		if at >= 0 {
			return at, s
		}
		i = (i/per + 1) * per & (x.slots.Len() - 1)
	}
}

func (x *unitIndex) find(table *pages.Table, unit uint64) int {
	h, mask := indexHash(unit), x.slots.Len()-1
	for i := int(h >> x.shift); ; i = (i + 1) & mask {
		at, s := x.probe(i, h)
		if s == 0 {
			return -1
		}
		i = at
		var b [8]byte
		row := int(uint32(s)) - 1
		if table.Read(row, unitAt, b[:]); binary.LittleEndian.Uint64(b[:]) == unit {
			return row
		}
	}
}

func (x *unitIndex) add(memory *pages.Pool, unit uint64, at int) {
	if x.used >= x.slots.Len()/4*3 {
		x.grow(memory)
	}
	one := [1]uint64{indexEntry(unit, at)}
	x.put(one[:])
	x.used++
}

// indexEntry returns the content of the slot of a unit.
func indexEntry(unit uint64, at int) uint64 { return uint64(indexHash(unit))<<32 | uint64(at+1) }

// put adds entries, which it does not count. If they are in the order of their hashes, it changes
// the pages one after another. With a pool several puts may run at the same time.
func (x *unitIndex) put(entries []uint64) {
	per, mask := x.slots.PerPage(), x.slots.Len()-1
	for len(entries) > 0 {
		i := int(uint32(entries[0]>>32) >> x.shift)
		first := i / per * per
		x.slots.Update(first/per, func(b []byte) {
			entries = putInPage(b, entries, first, x.shift)
		})
		if len(entries) > 0 && int(uint32(entries[0]>>32)>>x.shift)/per*per == first {
			x.putAfter((first+per)&mask, entries[0])
			entries = entries[1:]
		}
	}
}

// putInPage puts entries into the page of their slots, which begins with the slot first, and
// returns the rest: from the first entry on that belongs to another page, or for which the page has
// no slot that is free.
func putInPage(b []byte, entries []uint64, first, shift int) []uint64 {
	for n, e := range entries {
		k := (int(uint32(e>>32)>>shift) - first) * 8
		if k < 0 || k >= len(b) {
			return entries[n:]
		}
		for k < len(b) && binary.LittleEndian.Uint64(b[k:]) != 0 {
			k += 8
		}
		if k == len(b) {
			return entries[n:]
		}
		binary.LittleEndian.PutUint64(b[k:], e)
	}
	return nil
}

// putAfter puts an entry into the first free slot from i on.
func (x *unitIndex) putAfter(i int, e uint64) {
	per, mask := x.slots.PerPage(), x.slots.Len()-1
	for done := false; !done; i = (i + per) & mask {
		x.slots.Update(i/per, func(b []byte) {
			for k := 0; k < len(b) && !done; k += 8 {
				if binary.LittleEndian.Uint64(b[k:]) == 0 {
					binary.LittleEndian.PutUint64(b[k:], e)
					done = true
				}
			}
		})
	}
}

// grow doubles the slots. As they are in the order of the hashes, it reads and writes the pages one
// after another.
func (x *unitIndex) grow(memory *pages.Pool) {
	old, used := x.slots, x.used
	*x = *newUnitIndexOf(memory, old.Len())
	x.used = used
	var b []byte
	var entries []uint64
	for k := range old.Pages() {
		b, entries = old.Take(b[:0], k), entries[:0]
		for at := 0; at < len(b); at += 8 {
			if s := binary.LittleEndian.Uint64(b[at:]); s != 0 {
				entries = append(entries, s)
			}
		}
		x.put(entries)
	}
	old.Release()
}

// indexBuilder makes the index of rows that are read one after another. It sorts the entries of
// many of them before it puts them into the index, so that its pages are changed one after another
// and not by chance. Where there is a pool it does so in goroutines, while more rows are read.
type indexBuilder struct {
	index   *unitIndex
	make    *Assembler
	atOnce  int // entries of a batch
	entries []uint64
	rows    int
	putting sync.WaitGroup
}

// newIndexBuilder returns a builder of the index of n rows.
func newIndexBuilder(a *Assembler, n int) *indexBuilder {
	return &indexBuilder{index: newUnitIndexOf(a.memory, n), make: a, atOnce: max(1, min(n, a.sorted))}
}

// add adds the records of the next rows.
func (x *indexBuilder) add(records []byte, size int) {
	for at := 0; at < len(records); at += size {
		if len(x.entries) == x.atOnce {
			x.flush()
		}
		if x.entries == nil {
			x.entries = x.make.batch(x.atOnce)
		}
		x.entries = append(x.entries, indexEntry(binary.LittleEndian.Uint64(records[at+unitAt:]), x.rows))
		x.rows++
	}
}

// flush puts the entries into the index.
func (x *indexBuilder) flush() {
	entries := x.entries
	x.entries = nil
	x.make.alongside(&x.putting, func() {
		space := x.make.batch(len(entries))
		x.index.put(sortByHash(entries, space))
		x.make.keep(entries, space)
	})
}

// end completes the index of the rows that were added, and returns it.
func (x *indexBuilder) end() *unitIndex {
	x.flush()
	x.putting.Wait()
	x.index.used = x.rows
	return x.index
}

// sortByHash sorts entries by the upper 22 bits of their hashes, which is enough to change the
// pages one after another, and those that have these in common by their rows. It returns entries or
// space.
func sortByHash(entries, space []uint64) []uint64 {
	const digit = 11
	if len(entries) < 1<<digit {
		slices.Sort(entries)
		return entries
	}
	space = space[:len(entries)]
	for shift := 64 - 2*digit; shift < 64; shift += digit {
		var begin [1<<digit + 1]int
		for _, e := range entries {
			begin[e>>shift&(1<<digit-1)+1]++
		}
		for k := range 1 << digit {
			begin[k+1] += begin[k]
		}
		for _, e := range entries {
			d := e >> shift & (1<<digit - 1)
			space[begin[d]] = e
			begin[d]++
		}
		entries, space = space, entries
	}
	return entries
}
