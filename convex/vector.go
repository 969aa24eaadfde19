package convex

import (
	"math"

	"github.com/noregret/noregret/internal/portable"
	"github.com/noregret/noregret/internal/vec"
)

// eps is the distance from 1 to the next float64, 2⁻⁵².
const eps = 0x1p-52

// slack is the relative rounding error that a sum of d terms may carry; sums in the definition of a
// set (Σx = 1) hold up to it.
func slack(d int) float64 { return float64(float64(d+4) * eps) }

// LogSumExp is ln Σ e^{θ_i}, with the largest term taken out: no overflow, and exact where one term
// carries the sum. It is -Inf when all θ_i are. O(d).
func LogSumExp(theta []float64) float64 {
	k, m := vec.ArgMax(theta)
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
	_, m := vec.ArgMax(theta)
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
