// Package portable holds elementary functions that give the same bits on every architecture.
//
// Those of package math do not: some machines have them in assembly, and a compiler may fuse x*y +
// z into one rounding (on arm64, ppc64 and s390x it does). An explicit conversion float64(x*y)
// forbids the fusion. Each product that is added here carries one, as does the code of learners
// that promise the same model everywhere. math.Sqrt, Frexp and Ldexp are exact or correctly rounded
// on every machine. The results are within a few units in the last place of math's; the tests check
// this.
package portable

import "math"

const ln2Hi, ln2Lo = 6.93147180369123816490e-01, 1.90821492927058770002e-10

// artanh holds 1/3, 1/5, ..., 1/23.
var artanh = func() (c [11]float64) {
	for i := range c {
		c[i] = 1 / float64(2*i+3)
	}
	return c
}()

// Log is ln x: x = 2^k·m with m in [√½, √2) and ln m = 2·artanh((m-1)/(m+1)) by its series. It is
// -Inf at 0, +Inf at +Inf, and NaN for NaN and below 0.
func Log(x float64) float64 {
	if !(x > 0 && x <= math.MaxFloat64) {
		return logOutside(x)
	}
	m, k := math.Frexp(x)
	if m < math.Sqrt2/2 {
		m *= 2 // exact
		k--
	}
	s := (m - 1) / (m + 1) // |s| < 0.1716, so s^24/25 < 1e-20
	z := float64(s * s)
	sum := 0.0
	for i := len(artanh) - 1; i >= 0; i-- {
		sum = float64(z * (artanh[i] + sum))
	}
	rest := float64(2*s) + float64(float64(2*s)*sum)
	return float64(float64(k)*ln2Hi) + (rest + float64(float64(k)*ln2Lo))
}

// logOutside is ln x where x is not a finite number above 0.
func logOutside(x float64) float64 {
	switch {
	case x == 0:
		return math.Inf(-1)
	case x > 0:
		return x
	}
	return math.NaN()
}

// Log1p is ln(1 + x), accurate for small x: with u = 1 + x rounded, it is ln(u)·x/(u-1) (Kahan). It
// is -Inf at -1, +Inf at +Inf, and NaN for NaN and below -1.
func Log1p(x float64) float64 {
	u := 1 + x
	switch {
	case u == 1:
		return x
	case u > 1e300: // the product would overflow
		return Log(u)
	}
	return float64(Log(u)*x) / (u - 1)
}

// taylor holds 1/n! for n = 0..14.
var taylor = func() (c [15]float64) {
	f := 1.0
	for n := range c {
		if n > 0 {
			f *= float64(n)
		}
		c[n] = 1 / f
	}
	return c
}()

// Exp is e^x: x = k·ln 2 + r with |r| ≤ ln 2/2 and the Taylor series of e^r. It is
// 0 below -745 and +Inf above 709.7, and NaN for NaN.
func Exp(x float64) float64 {
	switch {
	case x < -745.2:
		return 0
	case x > 709.8:
		return math.Inf(1)
	case x != x:
		return x
	}
	k := math.Floor(float64(x*math.Log2E) + 0.5)
	r := (x - float64(k*ln2Hi)) - float64(k*ln2Lo)
	c := &taylor
	sum := c[14] // 0.3466^15/15! < 1e-19; unrolled for speed
	sum = c[13] + float64(r*sum)
	sum = c[12] + float64(r*sum)
	sum = c[11] + float64(r*sum)
	sum = c[10] + float64(r*sum)
	sum = c[9] + float64(r*sum)
	sum = c[8] + float64(r*sum)
	sum = c[7] + float64(r*sum)
	sum = c[6] + float64(r*sum)
	sum = c[5] + float64(r*sum)
	sum = c[4] + float64(r*sum)
	sum = c[3] + float64(r*sum)
	sum = c[2] + float64(r*sum)
	sum = c[1] + float64(r*sum)
	sum = c[0] + float64(r*sum)
	if n := int(k); n > -1022 && n < 1023 {
		return sum * math.Float64frombits(uint64(n+1023)<<52) // exact
	}
	return math.Ldexp(sum, int(k))
}

// Pow is x^y for x ≥ 0, with a relative error of about (1 + |y·ln x|)·1e-16.
func Pow(x, y float64) float64 {
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
	return Exp(float64(y * Log(x)))
}

// Expm1 is e^x − 1, accurate for small x.
func Expm1(x float64) float64 {
	if math.Abs(x) > 0.35 {
		return Exp(x) - 1
	}
	sum := 1.0
	for n := 16; n >= 2; n-- { // x·(1 + x/2·(1 + x/3·(...)))
		sum = 1 + float64(x*sum)/float64(n)
	}
	return float64(x * sum)
}

// XLogX is x·ln x with 0·ln 0 = 0, for x ≥ 0.
func XLogX(x float64) float64 {
	if x == 0 || math.IsInf(x, 1) {
		return x
	}
	return float64(x * Log(x))
}

// Turn returns the cosine and the sine of 2π·u for u in [0, 1). The reduction to an
// eighth of a turn is exact because it is done before the multiplication by 2π.
func Turn(u float64) (cos, sin float64) {
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
