package convex

import (
	"math"

	"github.com/noregret/noregret/internal/portable"
)

// eps is the distance from 1 to the next float64, 2⁻⁵².
const eps = 0x1p-52

// slack is the relative rounding error that a sum of d terms may carry; sums in the definition of a
// set (Σx = 1) hold up to it.
func slack(d int) float64 { return float64(float64(d+4) * eps) }

// Dot is ⟨x, y⟩, summed in a fixed order (four interleaved partial sums), the same on every
// machine. y is at least as long as x.
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

// Norm2 is ‖x‖₂ without overflow or underflow on the way, summed in a fixed order. It is +Inf where
// an x_i is infinite. O(d).
func Norm2(x []float64) float64 {
	if s := Dot(x, x); s > 1e-280 && s < 1e300 {
		return math.Sqrt(s)
	}
	return distance2(x, nil)
}

// distance2 is ‖x−y‖₂ without overflow or underflow on the way; a nil y is the origin.
func distance2(x, y []float64) float64 {
	if y == nil {
		if s := Dot(x, x); s > 1e-280 && s < 1e300 {
			return math.Sqrt(s)
		}
	} else {
		s := 0.0
		for i, v := range x {
			v -= y[i]
			s += float64(v * v)
		}
		if s > 1e-280 && s < 1e300 {
			return math.Sqrt(s)
		}
	}
	m := maxDistance(x, y)
	if m == 0 || math.IsInf(m, 0) {
		return m
	}
	_, e := math.Frexp(m)
	up, down := math.Ldexp(1, -e/2), math.Ldexp(1, -(e-e/2)) // two factors: 2^-e itself may overflow
	s := 0.0
	for i, v := range x {
		if y != nil {
			v -= y[i]
		}
		v = float64(float64(v*up) * down)
		s += float64(v * v)
	}
	return math.Ldexp(math.Sqrt(s), e)
}

// maxDistance is ‖x−y‖∞; a nil y is the origin.
func maxDistance(x, y []float64) float64 {
	m := 0.0
	if y == nil {
		for _, v := range x {
			m = max(m, math.Abs(v))
		}
		return m
	}
	for i, v := range x {
		m = max(m, math.Abs(v-y[i]))
	}
	return m
}

// LogSumExp is ln Σ e^{θ_i}, with the largest term taken out: no overflow, and exact where one term
// carries the sum. It is -Inf when all θ_i are. O(d).
func LogSumExp(theta []float64) float64 {
	k, m := argmax(theta)
	if math.IsInf(m, 0) {
		return m
	}
	rest := 0.0
	for i, t := range theta {
		if i != k {
			rest += portable.Exp(t - m)
		}
	}
	return m + portable.Log1p(rest)
}

// Softmax writes e^{θ_i}/Σe^{θ_j} to dst, which may be theta. At least one θ_i is finite and none
// is +Inf. O(d).
func Softmax(dst, theta []float64) { softmax(dst, theta, 1) }

// softmax writes s·softmax(θ).
func softmax(dst, theta []float64, s float64) {
	_, m := argmax(theta)
	sum := 0.0
	for i, t := range theta {
		e := portable.Exp(t - m)
		dst[i] = e
		sum += e
	}
	if s == 1 {
		for i := range dst {
			dst[i] /= sum
		}
		return
	}
	for i := range dst {
		dst[i] = float64(dst[i]/sum) * s
	}
}

// argmax returns the lowest index of the largest x_i, and that x_i.
func argmax(x []float64) (int, float64) {
	k, m := 0, x[0]
	for i, v := range x {
		if v > m {
			k, m = i, v
		}
	}
	return k, m
}

// argmin returns the lowest index of the smallest x_i, and that x_i.
func argmin(x []float64) (int, float64) {
	k, m := 0, x[0]
	for i, v := range x {
		if v < m {
			k, m = i, v
		}
	}
	return k, m
}

// pow is x^y for x ≥ 0, the same on every machine, with a relative error of about (1 + |y·ln
// x|)·1e-16.
func pow(x, y float64) float64 {
	switch {
	case y == 0 || x == 1:
		return 1
	case y == 1:
		return x
	case y == 2:
		return float64(x * x)
	case y == 0.5:
		return math.Sqrt(x)
	case y == -1:
		return 1 / x
	case x == 0:
		if y < 0 {
			return math.Inf(1)
		}
		return 0
	case math.IsInf(x, 1):
		if y < 0 {
			return 0
		}
		return x
	}
	return portable.Exp(float64(y * portable.Log(x)))
}

// logOf is ln x for x ≥ 0, with ln 0 = -Inf and ln Inf = Inf.
func logOf(x float64) float64 {
	if x == 0 {
		return math.Inf(-1)
	}
	if math.IsInf(x, 1) {
		return x
	}
	return portable.Log(x)
}

// expm1 is e^x − 1, accurate for small x.
func expm1(x float64) float64 {
	if math.Abs(x) > 0.35 {
		return portable.Exp(x) - 1
	}
	sum := 1.0
	for n := 16; n >= 2; n-- { // x·(1 + x/2·(1 + x/3·(...)))
		sum = 1 + float64(x*sum)/float64(n)
	}
	return float64(x * sum)
}

// xlogx is x·ln x with 0·ln 0 = 0, for x ≥ 0.
func xlogx(x float64) float64 {
	if x == 0 || math.IsInf(x, 1) {
		return x
	}
	return float64(x * portable.Log(x))
}

// allFinite reports whether x has no infinity and no NaN.
func allFinite(x []float64) bool {
	for _, v := range x {
		if v-v != 0 {
			return false
		}
	}
	return true
}
