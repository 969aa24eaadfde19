package dp

import (
	"math"
	"slices"
)

const (
	// maxToeplitz is the largest number of steps of the square-root mechanism, whose memory grows
	// with it.
	maxToeplitz = 1 << 20
	// toeplitzBits is the number of binary digits of its coefficients after the point.
	toeplitzBits = 20
)

// squareRoot is the square-root Toeplitz mechanism on the lattice. The lower-triangular matrix K
// has the entries c_(t−i), c_0 = 1, c_k = c_(k−1)·(2k−1)/(2k), rounded to multiples of 2^−20;
// without rounding K·K is the matrix of prefix sums. The mechanism publishes y = K·g + z in
// integers, solves K·ĝ = y in floating point and releases the prefix sums of ĝ: both are
// post-processing of y. It keeps all increments g, which are secret, and all ĝ.
type squareRoot struct {
	reversed []uint32    // the coefficients times 2^20, the last one first
	floats   []float64   // the same
	history  [][]int64   // g of all steps, by coordinate
	solution [][]float64 // ĝ of all steps, by coordinate
	total    []float64   // the prefix sum of ĝ
	scale    uint64      // in units of 2^−20 of the lattice
	random   *source
	squares  []float64 // prefix sums of c_k²
}

// toeplitz returns the coefficients c_0, …, c_(n−1) times 2^20, rounded to the nearest integer.
func toeplitz(n int) []uint32 {
	c := make([]uint32, n)
	exact := 1.0
	for k := range c {
		if k > 0 {
			exact *= float64(2*k-1) / float64(2*k)
		}
		c[k] = uint32(math.Round(exact * (1 << toeplitzBits)))
	}
	return c
}

// columnNorm is the squared norm of the first column, the longest one.
func columnNorm(c []uint32) float64 {
	sum := uint64(0) // below 2^20·2^40
	for _, v := range c {
		sum += uint64(v) * uint64(v)
	}
	return math.Ldexp(float64(sum), -2*toeplitzBits)
}

// absoluteSum is the sum of the coefficients, times 2^20.
func absoluteSum(c []uint32) float64 {
	sum := uint64(0)
	for _, v := range c {
		sum += uint64(v)
	}
	return float64(sum)
}

func newToeplitz(dim int, sigma uint64, c []uint32, random *source) *squareRoot {
	m := &squareRoot{
		reversed: slices.Clone(c), history: make([][]int64, dim), solution: make([][]float64, dim),
		total: make([]float64, dim), scale: sigma, random: random, squares: make([]float64, len(c)),
	}
	slices.Reverse(m.reversed)
	for _, v := range m.reversed {
		m.floats = append(m.floats, float64(v))
	}
	sum := 0.0
	for k, v := range c {
		x := math.Ldexp(float64(v), -toeplitzBits)
		sum += float64(x * x)
		m.squares[k] = sum
	}
	return m
}

func (m *squareRoot) step(t int64, g []int64, out []float64) {
	row := m.reversed[len(m.reversed)-int(t):] // c_(t−1), …, c_0
	floats := m.floats[len(m.floats)-int(t):]
	for j, k := range g {
		m.history[j] = push(m.history[j], k)
		y := float64(dotInts(row, m.history[j]) + m.random.gaussian(m.scale))
		v := math.Ldexp(y-dotFloats(floats, m.solution[j]), -toeplitzBits)
		m.solution[j] = push(m.solution[j], v)
		m.total[j] += v
		out[j] = m.total[j]
	}
}

// push appends v. If the slice must move, it erases the old copy.
func push[T int64 | float64](s []T, v T) []T {
	if len(s) < cap(s) {
		return append(s, v)
	}
	grown := append(make([]T, 0, max(16, 2*len(s))), s...)
	clear(s)
	return append(grown, v)
}

// dotInts is Σ c_i·k_i, exactly, in four sums.
func dotInts(c []uint32, k []int64) int64 {
	var s0, s1, s2, s3 int64
	for len(k) >= 4 && len(c) >= 4 {
		s0 += int64(c[0]) * k[0]
		s1 += int64(c[1]) * k[1]
		s2 += int64(c[2]) * k[2]
		s3 += int64(c[3]) * k[3]
		c, k = c[4:], k[4:]
	}
	for i, v := range k {
		s0 += int64(c[i]) * v
	}
	return s0 + s1 + s2 + s3
}

// dotFloats is Σ c_i·v_i, in four sums in a fixed order.
func dotFloats(c, v []float64) float64 {
	var s0, s1, s2, s3 float64
	for len(v) >= 4 && len(c) >= 4 {
		s0 += float64(c[0] * v[0])
		s1 += float64(c[1] * v[1])
		s2 += float64(c[2] * v[2])
		s3 += float64(c[3] * v[3])
		c, v = c[4:], v[4:]
	}
	for i, x := range v {
		s0 += float64(c[i] * x)
	}
	return (s0 + s1) + (s2 + s3)
}

// deviation neglects the rounding of the coefficients: the noise of the prefix is K·z.
func (m *squareRoot) deviation(t int64) float64 {
	return math.Ldexp(float64(m.scale), -toeplitzBits) * math.Sqrt(m.squares[min(int(t), len(m.squares))-1])
}

func (m *squareRoot) sumOfSquares(n int64) float64 {
	sum := 0.0
	for t := range n {
		d := m.deviation(t + 1)
		sum += float64(d * d)
	}
	return sum
}

func (m *squareRoot) secrets() *secrets {
	return &secrets{Slots: m.history, Estimates: append(slices.Clone(m.solution), m.total)}
}

func (m *squareRoot) restore(t int64, s *secrets) bool {
	dim := len(m.total)
	if len(s.Slots) != dim || len(s.Estimates) != dim+1 || len(s.Estimates[dim]) != dim {
		return false
	}
	for j := range dim {
		if int64(len(s.Slots[j])) != t || int64(len(s.Estimates[j])) != t {
			return false
		}
	}
	m.history, m.solution, m.total = s.Slots, s.Estimates[:dim:dim], s.Estimates[dim]
	return true
}
