package bandit

import (
	"math"

	"github.com/noregret/noregret/internal/portable"
)

// The normal density above 0 is covered by layers of equal area: all but the lowest are rectangles,
// and beyond zigguratEnd the lowest is the tail (Marsaglia and Tsang 2000).
const (
	layers       = 256
	zigguratEnd  = 3.6541528853610087716
	zigguratArea = 0.0049286732339746553474
)

// ziggurat holds the right ends of the layers and the share of each that is below the one above it.
var ziggurat = func() (z struct{ end, inside [layers + 1]float64 }) {
	z.end[0], z.end[1] = zigguratArea/portable.Exp(-float64(zigguratEnd*zigguratEnd)/2), zigguratEnd
	for i := 2; i < layers; i++ {
		x := z.end[i-1]
		z.end[i] = math.Sqrt(-2 * portable.Log(zigguratArea/x+portable.Exp(-float64(x*x)/2)))
	}
	for i := range layers {
		z.inside[i] = z.end[i+1] / z.end[i]
	}
	return z
}()

// normal draws from the standard normal distribution by the ziggurat method. It takes one number
// from r in 98.8 % of the calls: 8 of its 53 bits choose the layer, the others the place in it.
func normal(r Rand) float64 {
	for {
		word := uint64(r.Float64() * (1 << 53))
		i := word & (layers - 1)
		u := float64(int64(word>>8)*2+1-1<<45) / (1 << 45)
		x := float64(u * ziggurat.end[i])
		switch {
		case math.Abs(u) < ziggurat.inside[i]:
			return x
		case i == 0:
			return math.Copysign(tail(r, zigguratEnd), u)
		}
		low, high := ziggurat.end[i], ziggurat.end[i+1]
		f := portable.Exp(-float64(low*low) / 2)
		g := portable.Exp(-float64(high*high) / 2)
		if f+float64(r.Float64()*(g-f)) < portable.Exp(-float64(x*x)/2) {
			return x
		}
	}
}

// tail draws from the normal distribution beyond c > 0 (Marsaglia 1964).
func tail(r Rand, c float64) float64 {
	for {
		x := exponential(r) / c
		if 2*exponential(r) >= float64(x*x) {
			return c + x
		}
	}
}

// exponential draws from the exponential distribution of mean 1.
func exponential(r Rand) float64 { return -portable.Log(1 - r.Float64()) }

// gamma draws from the Gamma distribution of shape a ≥ 1, by the method of Marsaglia and Tsang
// (2000): d·v with v = (1 + z/√(9d))³, d = a − 1/3 and z normal is accepted with the probability
// that makes it exact, 0.95 or more.
func gamma(r Rand, a float64) float64 {
	d := a - 1.0/3
	c := 1 / math.Sqrt(9*d)
	for {
		z := normal(r)
		v := 1 + float64(c*z)
		if v <= 0 {
			continue
		}
		v = float64(v * float64(v*v))
		u, square := r.Float64(), float64(z*z)
		if u < 1-float64(0.0331*float64(square*square)) {
			return float64(d * v)
		}
		if u == 0 || portable.Log(u) < float64(0.5*square)+float64(d*(1-v+portable.Log(v))) {
			return float64(d * v)
		}
	}
}

// beta draws from the Beta distribution with a, b ≥ 1.
func beta(r Rand, a, b float64) float64 {
	x := gamma(r, a)
	return x / (x + gamma(r, b))
}
