package dataset

import (
	"math/bits"

	"github.com/noregret/noregret"
)

// Bits is a set of row numbers 0..Len()-1 with one bit per row. Concurrent reads are safe; a write
// must not run concurrently with any other use.
type Bits struct {
	word []uint64
	n    int64
}

// NewBits returns the empty set for n rows. A negative n is a [noregret.Usage] error.
func NewBits(n int64) (*Bits, error) {
	if n < 0 {
		return nil, noregret.Errorf(noregret.Usage, "", "a set of %d rows: the number of rows must not be negative", n)
	}
	return newBits(n), nil
}

func newBits(n int64) *Bits { return &Bits{word: make([]uint64, (n+63)/64), n: n} }

// Len returns the number of rows that the set ranges over, whether they are in it or not.
func (s *Bits) Len() int64 { return s.n }

// Set adds row i to the set. Like an index of a slice, i must lie in [0, Len()).
func (s *Bits) Set(i int64) { s.word[i>>6] |= 1 << (i & 63) }

// Clear removes row i, which must lie in [0, Len()), from the set.
func (s *Bits) Clear(i int64) { s.word[i>>6] &^= 1 << (i & 63) }

// Get reports whether row i, which must lie in [0, Len()), is in the set.
func (s *Bits) Get(i int64) bool { return s.word[i>>6]>>(i&63)&1 != 0 }

// Count returns the number of rows in the set, in time Len()/64.
func (s *Bits) Count() int64 {
	var n int64
	for _, w := range s.word {
		n += int64(bits.OnesCount64(w))
	}
	return n
}

// any reports whether a row in [lo, hi) is in the set.
func (s *Bits) any(lo, hi int64) bool {
	for lo < hi {
		w := s.word[lo>>6] >> (lo & 63)
		step := 64 - lo&63
		if hi-lo < step {
			w &= 1<<(hi-lo) - 1
		}
		if w != 0 {
			return true
		}
		lo += step
	}
	return false
}
