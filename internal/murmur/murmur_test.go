package murmur

import "testing"

// The sums are published vectors of MurmurHash3_x86_32, and hashes of Vowpal Wabbit 9.11.9.
func TestSum32(t *testing.T) {
	for _, c := range []struct {
		key        string
		seed, want uint32
	}{
		{"", 0, 0},
		{"", 1, 0x514e28b7},
		{"", 0xffffffff, 0x81f16f39},
		{"test", 0, 0xba6bd213},
		{"test", 0x9747b28c, 0x704b81dc},
		{"Hello, world!", 0, 0xc0363e43},
		{"Hello, world!", 0x9747b28c, 0x24884cba},
		{"The quick brown fox jumps over the lazy dog", 0x9747b28c, 0x2fa826cd},
		{"aaa", 0x9747b28c, 0x283e0130},
		{"n", 0, 3327252652},
		{"user", 0, 2509520141},
	} {
		if got := Sum32([]byte(c.key), c.seed); got != c.want {
			t.Errorf("%q, %#x: %#x, want %#x", c.key, c.seed, got, c.want)
		}
	}
}
