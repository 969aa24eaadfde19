package portable

import "math"

// LambertW0 is the principal branch of Lambert's function for x ≥ 0: the w ≥ 0 with w·e^w = x. It
// solves w + ln w = ln x by Newton's method from ln(1 + x), in at most five steps, with a relative
// error below 1e-15 (Orabona 2019, appendix A.1; Corless, Gonnet, Hare, Jeffrey and Knuth 1996). It
// is NaN for NaN and below 0, and +Inf at +Inf.
func LambertW0(x float64) float64 {
	switch {
	case !(x >= 0):
		return math.NaN()
	case math.IsInf(x, 1):
		return x
	case x < 1e-8:
		return x * (1 - x)
	}
	w := Log1p(x)
	for range 20 {
		next := float64(w * ((1 + Log(x/w)) / (1 + w)))
		done := math.Abs(next-w) <= float64(1e-15*next)
		if w = next; done {
			break
		}
	}
	return w
}

// LambertW0Exp is LambertW0(e^y), without overflow: the w > 0 with w + ln w = y. It is 0 at −Inf,
// +Inf at +Inf, and NaN for NaN.
func LambertW0Exp(y float64) float64 {
	switch {
	case math.IsInf(y, 1) || y != y:
		return y
	case y < 1:
		return LambertW0(Exp(y))
	}
	w := max(y-Log(y), 0.5)
	for range 20 {
		next := float64(w * ((1 + (y - Log(w))) / (1 + w)))
		done := math.Abs(next-w) <= float64(1e-15*next)
		if w = next; done {
			break
		}
	}
	return w
}

// Tanh is the hyperbolic tangent, accurate for small x.
func Tanh(x float64) float64 {
	a := math.Abs(x)
	if a > 20 {
		return math.Copysign(1, x)
	}
	e := Expm1(2 * a)
	return math.Copysign(e/(e+2), x)
}
