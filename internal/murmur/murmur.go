package murmur

import (
	"encoding/binary"
	"math/bits"
)

// Sum32 is MurmurHash3_x86_32 (Austin Appleby) of a key under a seed. O(len(key)).
func Sum32(key []byte, seed uint32) uint32 {
	const c1, c2 = 0xcc9e2d51, 0x1b873593
	h, n := seed, len(key)
	for ; len(key) >= 4; key = key[4:] {
		h ^= bits.RotateLeft32(binary.LittleEndian.Uint32(key)*c1, 15) * c2
		h = bits.RotateLeft32(h, 13)*5 + 0xe6546b64
	}
	if len(key) > 0 {
		var tail uint32
		for i, b := range key {
			tail |= uint32(b) << (8 * i)
		}
		h ^= bits.RotateLeft32(tail*c1, 15) * c2
	}
	h ^= uint32(n)
	h ^= h >> 16
	h *= 0x85ebca6b
	h ^= h >> 13
	h *= 0xc2b2ae35
	return h ^ h>>16
}
