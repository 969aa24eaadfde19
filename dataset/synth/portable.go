package synth

import "math"

// The elementary functions below give the same bits on every architecture. Those of
// package math do not: they are assembly on some and, in Go, an x*y + z may be
// fused into one rounding (it is on arm64, ppc64 and s390x). An explicit conversion
// float64(x*y) forbids the fusion, so each product here carries one. math.Sqrt, Frexp
// and Ldexp are exact or correctly rounded everywhere. Accuracy is within a few units
// in the last place of math's, checked by the tests.

// logarithm is ln x for finite x > 0: x = 2^k·m with m in [√½, √2) and
// ln m = 2·artanh((m−1)/(m+1)) by its series.
func logarithm(x float64) float64 {
	m, k := math.Frexp(x)
	if m < math.Sqrt2/2 {
		m *= 2 // exact
		k--
	}
	s := (m - 1) / (m + 1) // |s| < 0.1716, so s^24/25 < 1e-20
	z := float64(s * s)
	sum := 0.0
	for n := 23; n >= 3; n -= 2 {
		sum = float64(z * (1/float64(n) + sum))
	}
	const ln2Hi, ln2Lo = 6.93147180369123816490e-01, 1.90821492927058770002e-10
	rest := float64(2*s) + float64(float64(2*s)*sum)
	return float64(float64(k)*ln2Hi) + (rest + float64(float64(k)*ln2Lo))
}

// exponential is e^x for |x| <= 700: x = k·ln 2 + r with |r| <= ln 2/2 and the Taylor
// series of e^r.
func exponential(x float64) float64 {
	const ln2Hi, ln2Lo = 6.93147180369123816490e-01, 1.90821492927058770002e-10
	k := math.Floor(float64(x/math.Ln2) + 0.5)
	r := (x - float64(k*ln2Hi)) - float64(k*ln2Lo)
	sum := 1.0
	for n := 17; n >= 1; n-- { // 0.3466^18/18! < 1e-24
		sum = 1 + float64(r*sum)/float64(n)
	}
	return math.Ldexp(sum, int(k))
}

// turn returns the cosine and the sine of 2π·u for u in [0, 1). The reduction to an
// eighth of a turn is exact because it is done before the multiplication by 2π.
func turn(u float64) (cos, sin float64) {
	quarter := math.Floor(float64(4*u) + 0.5) // the nearest quarter turn, 0..4
	a := float64(2 * math.Pi * (u - float64(quarter*0.25)))
	z := float64(a * a) // |a| <= π/4
	c, s := 1.0, 1.0
	for n := 20; n >= 2; n -= 2 { // (π/4)^22/22! < 1e-23
		c = 1 - float64(z*c)/float64(n*(n-1))
		s = 1 - float64(z*s)/float64(n*(n+1))
	}
	s = float64(a * s)
	switch int(quarter) % 4 {
	case 1:
		return -s, c
	case 2:
		return -c, -s
	case 3:
		return s, -c
	default:
		return c, s
	}
}
