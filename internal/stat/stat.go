// Package stat holds the quantiles, distribution functions and draws of the normal distribution and
// of Student's t that several packages need. All results are the same on every machine.
package stat

import (
	"math"

	"github.com/noregret/noregret/internal/portable"
)

// Student is the quantile of Student's t with n degrees of freedom that leaves out what z does of
// the normal distribution, by Wallace's approximation: within a tenth from n = 3, and more than the
// quantile below.
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

// Normal is a standard normal number by the polar method, the same on every machine; it uses two
// uniform ones or more.
func Normal(r interface{ Float64() float64 }) float64 {
	for {
		a, b := float64(2*r.Float64())-1, float64(2*r.Float64())-1
		q := float64(a*a) + float64(b*b)
		if q > 0 && q < 1 {
			return float64(a * math.Sqrt(float64(-2*portable.Log(q))/q))
		}
	}
}
