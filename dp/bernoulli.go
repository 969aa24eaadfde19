package dp

import "math/bits"

// Exact samplers on integers. Every probability is a ratio of integers or its exponential; none is
// rounded to a floating-point number, whose low bits would reveal what was sampled.

// below returns a uniform integer in [0, n), n ≥ 1, exactly (Lemire 2019).
func (s *source) below(n uint64) uint64 {
	high, low := bits.Mul64(s.uint64(), n)
	if low < n {
		for reject := -n % n; low < reject; {
			high, low = bits.Mul64(s.uint64(), n)
		}
	}
	return high
}

// ratio is true with probability a/b, for 0 ≤ a ≤ b and b ≥ 1.
func (s *source) ratio(a, b uint64) bool { return s.below(b) < a }

// oneIn is true with probability 1/k, for k ≥ 1.
func (s *source) oneIn(k uint64) bool {
	switch k {
	case 1:
		return true
	case 2:
		return s.coin()
	case 4:
		if !s.coin() {
			return false
		}
		return s.coin()
	}
	if k > 1<<12 {
		return s.below(k) == 0
	}
	// Lemire's method on 16 bits, which are enough for a small k.
	product := s.short() * uint32(k)
	for product&0xffff < 0x10000%uint32(k) {
		product = s.short() * uint32(k)
	}
	return product>>16 == 0
}

// expMinus is true with probability exp(−a/b), for b ≥ 1 (Canonne, Kamath and Steinke 2020,
// algorithm 1): by von Neumann's series for a ≤ b, and as a product of probabilities otherwise.
func (s *source) expMinus(a, b uint64) bool {
	for ; a > b; a -= b {
		if !s.expMinusOne() {
			return false
		}
	}
	k := uint64(1)
	for s.oneIn(k) && s.ratio(a, b) {
		k++
	}
	return k&1 == 1
}

// expMinusOne is true with probability 1/e.
func (s *source) expMinusOne() bool {
	k := uint64(2)
	for s.oneIn(k) {
		k++
	}
	return k&1 == 1
}

// expMinusHalf is true with probability exp(−½).
func (s *source) expMinusHalf() bool {
	k := uint64(1)
	for s.oneIn(2 * k) {
		k++
	}
	return k&1 == 1
}

// expMinusHalves is true with probability exp(−n/2).
func (s *source) expMinusHalves(n uint64) bool {
	for range n {
		if !s.expMinusHalf() {
			return false
		}
	}
	return true
}

// expMinusTimes is true with probability exp(−n·a/b).
func (s *source) expMinusTimes(n, a, b uint64) bool {
	for range n {
		if !s.expMinus(a, b) {
			return false
		}
	}
	return true
}

// expMinusHalfSquare is true with probability exp(−(a/b)²/2), for 0 ≤ a ≤ b.
func (s *source) expMinusHalfSquare(a, b uint64) bool {
	k := uint64(1)
	for s.oneIn(2*k) && s.ratio(a, b) && s.ratio(a, b) {
		k++
	}
	return k&1 == 1
}
