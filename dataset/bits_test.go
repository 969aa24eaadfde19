package dataset

import (
	"testing"

	"pgregory.net/rapid"
)

func TestBitsAny(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Int64Range(1, 300).Draw(t, "n")
		s := newBits(n)
		i := rapid.Int64Range(0, n-1).Draw(t, "i")
		s.Set(i)
		lo := rapid.Int64Range(0, n).Draw(t, "lo")
		hi := rapid.Int64Range(lo, n).Draw(t, "hi")
		if s.any(lo, hi) != (lo <= i && i < hi) || s.Count() != 1 || !s.Get(i) {
			t.Fatalf("bit %d of %d: any(%d, %d) is %v", i, n, lo, hi, s.any(lo, hi))
		}
		if s.Clear(i); s.Count() != 0 {
			t.Fatal("Clear left the bit")
		}
	})
}
