package dp

import (
	"math"
	"math/bits"
)

// doubling is a sequence of trees for an unknown horizon: segment k covers the steps 2^k to 2^(k+1)
// − 1 with a tree of k + 1 levels and the full budget. Segments hold disjoint records, so that
// their costs do not add up (parallel composition). A prefix is the sum of the noisy totals of
// finished segments, each one node, and of the current segment's prefix.
type doubling struct {
	current  *tree   // its sum is over all segments
	finished []int64 // the noise of the finished segments' totals
	base     func(level int) uint64
}

func newDoubling(dim int, base func(level int) uint64, random *source) *doubling {
	return &doubling{
		current: newTree(dim, 0, base(0), random), finished: make([]int64, dim), base: base,
	}
}

func (m *doubling) step(t int64, g []int64, out []float64) {
	level := bits.Len64(uint64(t)) - 1
	local := t - int64(1)<<level + 1
	if local == 1 {
		m.begin(level)
	}
	m.current.add(local, g)
	for j, noise := range m.finished {
		m.current.prefix[j] = m.current.sum[j] + noise
	}
	m.current.release(local, out)
}

// begin starts segment number level; the noise of the last total is kept.
func (m *doubling) begin(level int) {
	if level > 0 {
		for j, noise := range m.current.slots[level-1] {
			m.finished[j] += noise
		}
	}
	for _, slot := range m.current.slots {
		clear(slot)
	}
	m.current.slots = append(m.current.slots, nil)
	m.current.scale = m.base(level)
}

func (m *doubling) deviation(t int64) float64 {
	level := bits.Len64(uint64(t)) - 1
	sum := 0.0
	for k := range level {
		s := float64(m.base(k))
		sum += float64(s * s)
	}
	s := float64(m.base(level))
	sum += float64(s * s * float64(bits.OnesCount64(uint64(t-int64(1)<<level+1))))
	return math.Sqrt(sum)
}

func (m *doubling) sumOfSquares(n int64) float64 {
	sum, finished := 0.0, 0.0
	for level := range levels(n) {
		steps := min(int64(1)<<level, n-int64(1)<<level+1) // of n that lie in the segment
		bits := 0.0
		for k := range level + 1 {
			bits += setBits(steps, k)
		}
		square := float64(float64(m.base(level)) * float64(m.base(level)))
		sum += float64(finished*float64(steps)) + float64(square*bits)
		finished += square
	}
	return sum
}

func (m *doubling) secrets() *secrets {
	return &secrets{Sum: m.current.sum, Slots: m.current.slots, Finished: m.finished}
}

func (m *doubling) restore(t int64, s *secrets) bool {
	level := bits.Len64(uint64(t)) - 1
	if t == 0 {
		level = 0
	}
	if len(s.Finished) != len(m.finished) || len(s.Sum) != len(m.finished) || t > 0 && (len(s.Slots) != level+1 ||
		!slotsFit(t-int64(1)<<level+1, s.Slots, len(m.finished))) || t == 0 && len(s.Slots) > 0 {
		return false
	}
	m.current.sum, m.current.slots, m.finished = s.Sum, s.Slots, s.Finished
	m.current.scale = m.base(level)
	return true
}
