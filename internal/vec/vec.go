package vec

import "math"

// Dot is ⟨x, y⟩ in four interleaved partial sums. y is at least as long as x. See [DotInOrder] for
// one sum.
func Dot(x, y []float64) float64 {
	y = y[:len(x)]
	var s0, s1, s2, s3 float64
	i := 0
	for ; i+4 <= len(x); i += 4 {
		s0 += float64(x[i] * y[i])
		s1 += float64(x[i+1] * y[i+1])
		s2 += float64(x[i+2] * y[i+2])
		s3 += float64(x[i+3] * y[i+3])
	}
	for ; i < len(x); i++ {
		s0 += float64(x[i] * y[i])
	}
	return (s0 + s1) + (s2 + s3)
}

// DotInOrder is ⟨x, y⟩ summed from the first term to the last. It is slower than [Dot], but terms
// that are 0 change no bit, so that a sparse x gives the same result from its nonzeros alone.
func DotInOrder(x, y []float64) float64 {
	y = y[:len(x)]
	s := 0.0
	for i, v := range x {
		s += float64(v * y[i])
	}
	return s
}

// Sum is Σx_i in the order of [Dot].
func Sum(x []float64) float64 {
	var s0, s1, s2, s3 float64
	i := 0
	for ; i+4 <= len(x); i += 4 {
		s0 += x[i]
		s1 += x[i+1]
		s2 += x[i+2]
		s3 += x[i+3]
	}
	for ; i < len(x); i++ {
		s0 += x[i]
	}
	return (s0 + s1) + (s2 + s3)
}

// Scale multiplies every coordinate of x by f.
func Scale(x []float64, f float64) {
	for i := range x {
		x[i] *= f
	}
}

// AddScaled adds f·y to x, for a y no longer than x.
func AddScaled(x []float64, f float64, y []float64) {
	x = x[:len(y)]
	i := 0
	for ; i+4 <= len(y); i += 4 {
		x[i] += float64(f * y[i])
		x[i+1] += float64(f * y[i+1])
		x[i+2] += float64(f * y[i+2])
		x[i+3] += float64(f * y[i+3])
	}
	for ; i < len(y); i++ {
		x[i] += float64(f * y[i])
	}
}

// ArgMax returns the lowest index of the largest coordinate, and that coordinate. x is not empty.
func ArgMax(x []float64) (int, float64) {
	k, m := 0, x[0]
	for i, v := range x {
		if v > m {
			k, m = i, v
		}
	}
	return k, m
}

// ArgMin returns the lowest index of the smallest coordinate, and that coordinate. x is not empty.
func ArgMin(x []float64) (int, float64) {
	k, m := 0, x[0]
	for i, v := range x {
		if v < m {
			k, m = i, v
		}
	}
	return k, m
}

// Finite reports whether x has neither an infinity nor a NaN.
func Finite(x []float64) bool {
	var s0, s1, s2, s3 float64 // sums of 0 for finite values and of NaN for others
	n := len(x) &^ 3
	for i := 0; i < n; i += 4 {
		w := x[i : i+4 : i+4]
		s0 += w[0] - w[0]
		s1 += w[1] - w[1]
		s2 += w[2] - w[2]
		s3 += w[3] - w[3]
	}
	for _, v := range x[n:] {
		s0 += v - v
	}
	return (s0+s1)+(s2+s3) == 0
}

// IsZero reports whether x has no coordinate but 0. A nil x is zero.
func IsZero(x []float64) bool {
	for _, v := range x {
		if v != 0 {
			return false
		}
	}
	return true
}

// IsFinite reports whether v is neither an infinity nor a NaN. It does not subtract, as the
// compiler could fuse a difference with a product in v.
func IsFinite(v float64) bool { return math.Abs(v) <= math.MaxFloat64 }

// MaxAbs is ‖x‖∞, and NaN if a coordinate is NaN.
func MaxAbs(x []float64) float64 {
	// A maximum of bit patterns without their signs: integers order like the absolute values do,
	// with Inf above the finite numbers and NaN above Inf.
	const sign = 1 << 63
	var m0, m1, m2, m3 uint64
	n := len(x) &^ 3
	for i := 0; i < n; i += 4 {
		w := x[i : i+4 : i+4]
		m0 = max(m0, math.Float64bits(w[0])&^sign)
		m1 = max(m1, math.Float64bits(w[1])&^sign)
		m2 = max(m2, math.Float64bits(w[2])&^sign)
		m3 = max(m3, math.Float64bits(w[3])&^sign)
	}
	for _, v := range x[n:] {
		m0 = max(m0, math.Float64bits(v)&^sign)
	}
	return math.Float64frombits(max(m0, m1, m2, m3))
}

// MaxDistance is ‖x−y‖∞; a nil y is the origin.
func MaxDistance(x, y []float64) float64 {
	if y == nil {
		return MaxAbs(x)
	}
	m := 0.0
	for i, v := range x {
		m = max(m, math.Abs(v-y[i]))
	}
	return m
}
