package words

import (
	"math/bits"

	"github.com/noregret/noregret/internal/random"
)

// IsByte reports whether c belongs to a word: an ASCII letter or digit, or a byte above 127.
func IsByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c >= 0x80
}

// Each yields the hash of each word in order, until yield returns false. Words are the longest runs
// of bytes of words, with ASCII letters in lower case; the hash is [random.Mix] of 64-bit FNV-1a.
// It takes time linear in the text and does not allocate.
func Each(text []byte, yield func(hash uint64) bool) {
	const offset, prime = 0xcbf29ce484222325, 0x100000001b3 // FNV-1a
	h, inside := uint64(offset), false
	for i := 0; i <= len(text); i++ {
		if i < len(text) && IsByte(text[i]) {
			c := text[i]
			if c >= 'A' && c <= 'Z' {
				c += 'a' - 'A'
			}
			h, inside = (h^uint64(c))*prime, true
			continue
		}
		if inside && !yield(random.Mix(h)) {
			return
		}
		h, inside = offset, false
	}
}

// Pair returns the hash of two neighbouring words with the given hashes. The order matters.
func Pair(first, second uint64) uint64 {
	return random.Mix(bits.RotateLeft64(first, 1) ^ second)
}

// Slot returns the slot of a hash among n, and the sign of what it adds there, 1 or -1. The sign
// makes the inner product of two texts an unbiased estimate (Weinberger, Dasgupta, Langford, Smola
// and Attenberg 2009).
func Slot(hash uint64, n int) (slot int, sign float64) {
	k, _ := bits.Mul64(hash&^1, uint64(n))
	return int(k), 1 - float64(2*float64(hash&1))
}
