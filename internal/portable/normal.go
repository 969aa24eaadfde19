package portable

import "math"

// The coefficients of Hart et al., Computer Approximations (1968), function 5666, from the highest
// power down: Φ(−z) = exp(−z²/2)·P(z)/Q(z) for 0 ≤ z < 5√2.
var (
	normalP = [7]float64{
		3.52624965998911e-02, 0.700383064443688, 6.37396220353165, 33.912866078383, 112.079291497871,
		221.213596169931, 220.206867912376,
	}
	normalQ = [8]float64{
		8.83883476483184e-02, 1.75566716318264, 16.064177579207, 86.7807322029461, 296.564248779674,
		637.333633378831, 793.826512519948, 440.413735824752,
	}
)

// Normal returns the density φ(z) and the distribution function Φ(z) of the standard normal
// distribution. Their absolute errors are below 1e-15, their relative ones below 1e-7 for z ≥ −36.
// At a NaN both are NaN.
func Normal(z float64) (density, below float64) {
	a := math.Abs(z)
	e := Exp(-float64(z*z) / 2)
	density = float64(e * (1 / math.Sqrt(2*math.Pi)))
	if a < 5*math.Sqrt2 {
		p, q := normalP[0], normalQ[0]
		for _, c := range normalP[1:] {
			p = float64(p*a) + c
		}
		for _, c := range normalQ[1:] {
			q = float64(q*a) + c
		}
		below = float64(e*p) / q
	} else { // the continued fraction of Laplace
		below = density / (a + 1/(a+2/(a+3/(a+4/(a+0.65)))))
	}
	if z > 0 {
		below = 1 - below
	}
	return density, below
}
