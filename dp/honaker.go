package dp

import (
	"math"
	"math/bits"
)

// honaker is the binary counter in which every node, left or right child, gets noise when it is
// complete, and each block is estimated from all noisy nodes inside it (Honaker 2015, estimation
// from below). With the noisy sum y of a block of level ℓ the estimate is
//
//	e_0 = y,  e_ℓ = w_ℓ·y + (1 − w_ℓ)·(e_left + e_right),  w_ℓ = 2^ℓ/(2^(ℓ+1) − 1)
//
// whose variance is w_ℓ·σ². A record still touches one node per level. The noisy sums are integers;
// combining them in floating point is post-processing.
type honaker struct {
	sums      [][]int64   // exact sums of the blocks of the set bits of t
	estimates [][]float64 // estimates of these blocks
	block     []int64
	estimate  []float64
	scale     uint64
	random    *source
}

func newHonaker(dim int, steps int64, sigma uint64, random *source) *honaker {
	m := levels(steps)
	return &honaker{
		sums: make([][]int64, m), estimates: make([][]float64, m), block: make([]int64, dim),
		estimate: make([]float64, dim), scale: sigma, random: random,
	}
}

// weight is w_ℓ.
func (m *honaker) weight(level int) float64 { return 1 / (2 - math.Ldexp(1, -level)) }

func (m *honaker) step(t int64, g []int64, out []float64) {
	copy(m.block, g)
	last := bits.TrailingZeros64(uint64(t))
	for level := 0; ; level++ {
		w := m.weight(level)
		for j, k := range m.block {
			noisy := float64(k + m.random.gaussian(m.scale))
			m.estimate[j] = float64(w*noisy) + float64((1-w)*m.estimate[j])
		}
		if level == last {
			break
		}
		for j, k := range m.sums[level] { // the left neighbour of the block
			m.block[j] += k
			m.estimate[j] += m.estimates[level][j]
		}
		clear(m.sums[level])
	}
	if m.sums[last] == nil {
		m.sums[last], m.estimates[last] = make([]int64, len(g)), make([]float64, len(g))
	}
	copy(m.sums[last], m.block)
	copy(m.estimates[last], m.estimate)
	clear(m.block)
	clear(m.estimate)
	clear(out)
	for rest := uint64(t); rest > 0; rest &= rest - 1 {
		for j, v := range m.estimates[bits.TrailingZeros64(rest)] {
			out[j] += v
		}
	}
}

func (m *honaker) deviation(t int64) float64 {
	sum := 0.0
	for rest := uint64(t); rest > 0; rest &= rest - 1 {
		sum += m.weight(bits.TrailingZeros64(rest))
	}
	return float64(m.scale) * math.Sqrt(sum)
}

func (m *honaker) sumOfSquares(n int64) float64 {
	sum := 0.0
	for level := range levels(n) {
		sum += float64(m.weight(level) * setBits(n, level))
	}
	return sum * float64(m.scale) * float64(m.scale)
}

func (m *honaker) secrets() *secrets { return &secrets{Slots: m.sums, Estimates: m.estimates} }

func (m *honaker) restore(t int64, s *secrets) bool {
	if len(s.Slots) != len(m.sums) || len(s.Estimates) != len(m.estimates) || !slotsFit(t, s.Slots, len(m.block)) {
		return false
	}
	for level := range s.Slots {
		if len(s.Estimates[level]) != len(s.Slots[level]) {
			return false
		}
	}
	m.sums, m.estimates = s.Slots, s.Estimates
	return true
}
