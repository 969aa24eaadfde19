package dataset

import (
	"bytes"
	"slices"

	"github.com/noregret/noregret/internal/random"
)

// names numbers byte strings in order of first appearance. It reuses its memory, so that a worker
// does not allocate in its steady state, and it can remove the newest names.
type names struct {
	arena []byte
	end   []uint32 // end of name i in the arena
	slot  []uint32 // open addressing: number + 1, or 0
}

func (d *names) len() int { return len(d.end) }

// at returns name i. The bytes are valid until the next reset.
func (d *names) at(i int) []byte {
	lo := uint32(0)
	if i > 0 {
		lo = d.end[i-1]
	}
	return d.arena[lo:d.end[i]]
}

// id returns the number of the name and whether it is new.
func (d *names) id(name []byte) (id uint32, isNew bool) {
	if 4*(len(d.end)+1) > 3*len(d.slot) {
		d.grow()
	}
	mask := uint64(len(d.slot) - 1)
	for h := hashBytes(name); ; h++ {
		s := &d.slot[h&mask]
		if *s == 0 {
			d.arena = append(d.arena, name...)
			d.end = append(d.end, uint32(len(d.arena)))
			*s = uint32(len(d.end))
			return *s - 1, true
		}
		if bytes.Equal(d.at(int(*s-1)), name) {
			return *s - 1, false
		}
	}
}

// truncate removes all names after the first n. Removal in reverse order of insertion restores
// every probe sequence.
func (d *names) truncate(n int) {
	mask := uint64(len(d.slot) - 1)
	for i := len(d.end) - 1; i >= n; i-- {
		name := d.at(i)
		for h := hashBytes(name); ; h++ {
			if s := &d.slot[h&mask]; *s == uint32(i+1) {
				*s = 0
				break
			}
		}
		d.arena = d.arena[:len(d.arena)-len(name)]
		d.end = d.end[:i]
	}
}

func (d *names) reset() {
	if len(d.end) > 0 {
		clear(d.slot)
	}
	d.arena, d.end = d.arena[:0], d.end[:0]
}

func (d *names) grow() {
	d.slot = make([]uint32, max(64, 2*len(d.slot)))
	mask := uint64(len(d.slot) - 1)
	for i := range d.end {
		h := hashBytes(d.at(i))
		for d.slot[h&mask] != 0 {
			h++
		}
		d.slot[h&mask] = uint32(i + 1)
	}
}

// hashBytes is 64-bit FNV-1a followed by SplitMix64's output function.
func hashBytes(b []byte) uint64 {
	h := uint64(14695981039346656037)
	for _, c := range b {
		h = (h ^ uint64(c)) * 1099511628211
	}
	return random.Mix(h)
}

// hashName returns the slot of a feature name among 2^bits: the top bits of hashBytes.
func hashName(name []byte, bits int) uint32 { return uint32(hashBytes(name) >> (64 - bits)) }

// hashIndex returns the slot of a feature that a svmlight file gives by number, as written.
func hashIndex(index uint64, bits int) uint32 {
	return uint32(random.Mix(index+0x9E3779B97F4A7C15) >> (64 - bits))
}

// rowSorter orders the nonzeros of one row by feature number. It reuses its scratch memory.
type rowSorter struct {
	key []uint64
	val []float32
}

// sort orders index, and value with it, by index; equal indices keep their order.
func (s *rowSorter) sort(index []uint32, value []float32) {
	if slices.IsSorted(index) {
		return
	}
	s.key, s.val = s.key[:0], append(s.val[:0], value...)
	for i, x := range index {
		s.key = append(s.key, uint64(x)<<32|uint64(i))
	}
	slices.Sort(s.key)
	for i, k := range s.key {
		index[i], value[i] = uint32(k>>32), s.val[uint32(k)]
	}
}

// sumEqual adds the values of equal neighbouring indices of a sorted row and drops zeros. It
// returns the number of remaining entries, or -1 if a sum leaves the range of float32.
func sumEqual(index []uint32, value []float32) int {
	n := 0
	for i := 0; i < len(index); {
		j, sum := i, 0.0
		for ; j < len(index) && index[j] == index[i]; j++ {
			sum += float64(value[j])
		}
		if !inFloat32(sum) {
			return -1
		}
		if v := float32(sum); v != 0 {
			index[n], value[n] = index[i], v
			n++
		}
		i = j
	}
	return n
}
