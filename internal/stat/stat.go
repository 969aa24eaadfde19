// Package stat holds the quantiles of Student's t and the draws from the normal distribution that
// several packages need. All results are the same on every machine.
package stat

import (
	"math"

	"github.com/noregret/noregret/internal/portable"
)

// Student returns the quantile of Student's t with n degrees of freedom that has the same
// probability above it as z has above it in the normal distribution, by Wallace's approximation
// ("Bounds on normal approximations to Student's and the chi-square distributions", Annals of
// Mathematical Statistics 30, 1959). For z from 2 to 3 it is within a tenth of the quantile for n ≥
// 3, and above it for smaller n. It is +Inf for n ≤ 0.
func Student(z, n float64) float64 {
	if !(n > 0) {
		return math.Inf(1)
	}
	c := (float64(8*n) + 3) / (float64(8*n) + 1)
	e := float64(float64(float64(z*z)*float64(c*c)) / n)
	switch {
	case e > 200:
		return math.Inf(1)
	case e < 1e-8:
		return z
	}
	return math.Sqrt(float64(n * (portable.Exp(e) - 1)))
}

// Normal returns a draw from the standard normal distribution by the polar method. It takes two
// uniform numbers or more from r.
func Normal(r interface{ Float64() float64 }) float64 {
	for {
		a, b := float64(2*r.Float64())-1, float64(2*r.Float64())-1
		q := float64(a*a) + float64(b*b)
		if q > 0 && q < 1 {
			return float64(a * math.Sqrt(float64(-2*portable.Log(q))/q))
		}
	}
}

// Normals fills dst with standard normal numbers, two for each pair of the polar method (see
// [Normal]).
func Normals(dst []float64, r interface{ Float64() float64 }) {
	for i := 0; i < len(dst); {
		a, b := float64(2*float64(r.Float64()))-1, float64(2*float64(r.Float64()))-1
		q := float64(a*a) + float64(b*b)
		if q <= 0 || q >= 1 {
			continue
		}
		f := math.Sqrt(float64(-2*portable.Log(q)) / q)
		dst[i] = float64(a * f)
		if i++; i < len(dst) {
			dst[i] = float64(b * f)
			i++
		}
	}
}

// Gamma returns a draw from the Gamma distribution of the given shape, above 0, and scale 1
// (Marsaglia and Tsang 2000). It takes three uniform numbers or more from r.
func Gamma(r interface{ Float64() float64 }, shape float64) float64 {
	if shape < 1 {
		return float64(Gamma(r, shape+1) * portable.Pow(1-float64(r.Float64()), 1/shape))
	}
	d := shape - 1.0/3
	c := 1 / math.Sqrt(9*d)
	for {
		x := Normal(r)
		v := 1 + float64(c*x)
		if v <= 0 {
			continue
		}
		v = float64(v * v * v)
		if portable.Log(1-float64(r.Float64())) < float64(float64(x*x)/2)+float64(d*(1-v+portable.Log(v))) {
			return float64(d * v)
		}
	}
}

// Quantile interpolates linearly between sorted values (type 7 of Hyndman and Fan 1996); NaN for
// none.
func Quantile(sorted []float64, q float64) float64 {
	if len(sorted) == 0 {
		return math.NaN()
	}
	x := float64(q * float64(len(sorted)-1))
	i := int(x)
	if i+1 >= len(sorted) {
		return sorted[len(sorted)-1]
	}
	return float64(sorted[i] + float64((x-float64(i))*(sorted[i+1]-sorted[i])))
}
