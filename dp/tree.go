package dp

import (
	"math"
	"math/bits"
)

// tree is the binary counter. At time t the noise of the prefix is the sum of one slot for every
// set bit of t: the slot of level ℓ is the noise of the node of 2^ℓ steps that the binary
// decomposition of [1, t] contains. A step draws one vector, for the lowest set bit. A slot stays
// unchanged while its bit stays set; drawing it again would let an observer average the noise away.
type tree struct {
	sum    []int64
	slots  [][]int64 // nil or all zeros where the bit is not set
	prefix []int64   // the noisy prefix sum, once release has run
	scale  uint64
	random *source
}

func newTree(dim int, slots int, sigma uint64, random *source) *tree {
	return &tree{
		sum: make([]int64, dim), slots: make([][]int64, slots), prefix: make([]int64, dim), scale: sigma,
		random: random,
	}
}

func (m *tree) step(t int64, g []int64, out []float64) {
	m.add(t, g)
	copy(m.prefix, m.sum)
	m.release(t, out)
}

// add adds an increment and draws the slot of step t.
func (m *tree) add(t int64, g []int64) {
	for j, k := range g {
		m.sum[j] += k
	}
	m.advance(t)
}

// release adds the noise of t steps to the prefix and writes it to out.
func (m *tree) release(t int64, out []float64) {
	for rest := uint64(t); rest > 0; rest &= rest - 1 {
		for j, noise := range m.slots[bits.TrailingZeros64(rest)] {
			m.prefix[j] += noise
		}
	}
	for j, v := range m.prefix {
		out[j] = float64(v)
	}
}

// advance draws the slot of step t and erases those below it.
func (m *tree) advance(t int64) {
	level := bits.TrailingZeros64(uint64(t))
	if level > 0 { // the vector of the level below is free now
		m.slots[level], m.slots[level-1] = m.slots[level-1], m.slots[level]
		for _, slot := range m.slots[:level] {
			clear(slot)
		}
	}
	if m.slots[level] == nil {
		m.slots[level] = make([]int64, len(m.sum))
	}
	for j := range m.slots[level] {
		m.slots[level][j] = m.random.gaussian(m.scale)
	}
}

func (m *tree) deviation(t int64) float64 {
	return float64(m.scale) * math.Sqrt(float64(bits.OnesCount64(uint64(t))))
}

func (m *tree) sumOfSquares(n int64) float64 {
	sum := 0.0
	for level := range levels(n) {
		sum += setBits(n, level)
	}
	return sum * float64(m.scale) * float64(m.scale)
}

func (m *tree) secrets() *secrets { return &secrets{Sum: m.sum, Slots: m.slots} }

func (m *tree) restore(t int64, s *secrets) bool {
	if len(s.Sum) != len(m.sum) || len(s.Slots) != len(m.slots) || !slotsFit(t, s.Slots, len(m.sum)) {
		return false
	}
	m.sum, m.slots = s.Sum, s.Slots
	return true
}

// slotsFit reports whether every slot has the dimension, or none where the bit of t is not set.
func slotsFit(t int64, slots [][]int64, dim int) bool {
	if bits.Len64(uint64(t)) > len(slots) {
		return false
	}
	for level, slot := range slots {
		set := t>>level&1 == 1
		if len(slot) != dim && (set || len(slot) != 0) {
			return false
		}
	}
	return true
}
