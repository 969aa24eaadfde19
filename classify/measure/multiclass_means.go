package measure

import (
	"math"

	"github.com/noregret/noregret/internal/portable"
)

// MulticlassHMean is the harmonic mean C/Σ(1/R_k) of the recalls, 0 when one is 0. Dual region
// {Σ√α_k ≥ √C} ∩ ball(0, C) in the orthant, Ψ* = 0; the ball is the two-class one of radius 2 for C
// = 2. It never cuts the surface Σ√α_k = √C, whose points of largest norm are its corners C·e_k,
// and the ball's surface lies inside the curved constraint, so that a projection lies on one of the
// two, never on their intersection.
type MulticlassHMean struct{}

// Name implements [MulticlassConcave].
func (MulticlassHMean) Name() string { return "hmean" }

// Of implements [MulticlassConcave].
func (MulticlassHMean) Of(recalls []float64) float64 {
	var sum float64
	zero := false
	for _, r := range recalls {
		if r == 0 {
			zero = true
			continue
		}
		sum += 1 / r
	}
	if zero && sum == sum {
		return 0
	}
	return float64(len(recalls)) / sum
}

// Extended implements [MulticlassConcave]: Of while all u ≥ 0, else -C·‖u₋‖ with u₋ the negative
// parts.
func (m MulticlassHMean) Extended(rewards []float64, _ float64) float64 {
	var sum float64
	for _, u := range rewards {
		if u < 0 {
			sum += float64(u * u)
		}
	}
	if sum == 0 {
		return m.Of(rewards)
	}
	return -float64(len(rewards)) * math.Sqrt(sum)
}

// Conjugate implements [MulticlassConcave].
func (MulticlassHMean) Conjugate([]float64) float64 { return 0 }

// ConjugateGradient implements [MulticlassConcave].
func (MulticlassHMean) ConjugateGradient() float64 { return 0 }

// Project implements [MulticlassConcave]. A point beyond the ball goes to its surface. One below
// the curved constraint goes to α_k = s_k² with s_k ≥ 0 the root of s³ - a_k·s - μ = 0 (with a
// unclipped) and the μ ≥ 0 for which Σs_k = √C. Each s_k, and so the sum, is concave and increasing
// in μ; μ is found by Newton's method, safeguarded by bisection.
func (MulticlassHMean) Project(dst, a []float64, _ float64) {
	c := float64(len(a))
	if clipToBall(dst, a, c) {
		return
	}
	want := math.Sqrt(c)
	var sum, slope float64
	for _, v := range dst {
		sum += math.Sqrt(v)
		slope += 1 / (2 * v)
	}
	if sum >= want {
		return
	}
	// At hi every s_k is at least 1/√C, or one alone is √C: the smaller is enough.
	top, low := a[0], a[0]
	for _, v := range a {
		top, low = max(top, v), min(low, v)
	}
	lo, hi := 0.0, min(float64(want*(c-top)), float64((1/c-low)/want))
	mu := hi
	if start := (want - sum) / slope; start > 0 {
		mu = min(start, hi) // Newton's step from μ = 0
	}
	for range 200 {
		sum, slope = harmonicRoots(dst, a, mu)
		gap := sum - want
		if gap < 0 {
			lo = mu
		} else {
			hi = mu
		}
		if math.Abs(gap) <= 2e-16*want || hi-lo <= 2e-16*hi {
			break
		}
		next := mu - gap/slope
		if !(next > lo && next < hi) {
			next = lo + float64((hi-lo)/2)
			if lo == 0 {
				next = hi / 64
			}
		}
		if math.Abs(next-mu) <= 2e-16*mu {
			break
		}
		mu = next
	}
	for k, s := range dst {
		dst[k] = float64(s * s)
	}
}

// harmonicRoots writes the roots s_k to dst and returns their sum and its derivative in μ.
func harmonicRoots(dst, a []float64, mu float64) (sum, slope float64) {
	for k, v := range a {
		s := cubicRoot(v, mu)
		dst[k] = s
		sum += s
		slope += 1 / (float64(3*s*s) - v)
	}
	return sum, slope
}

// cubicRoot is the one root s > 0 of s³ - a·s - μ = 0 for μ > 0. The cubic is convex on s > 0, so
// that Newton's method from above the root falls to it monotonically.
func cubicRoot(a, mu float64) float64 {
	s := cubeRootAbove(mu)
	if a > 0 {
		// s³ = a·s + μ ≤ 2·max(a·s, μ); and s is concave in μ, so that its tangent at μ = 0 is
		// above it.
		s = min(max(math.Sqrt(2*a), cubeRootAbove(2*mu)), math.Sqrt(a)+mu/(2*a))
	} else if a < 0 {
		s = min(s, mu/-a)
	}
	for range 100 {
		s2 := float64(s * s)
		f := float64(s*(s2-a)) - mu
		next := s - f/(float64(3*s2)-a)
		if !(next < s) {
			break
		}
		s = next
	}
	return s
}

// OptimalDual implements [MulticlassConcave]: H²/(C·u_k²).
func (MulticlassHMean) OptimalDual(dst, u []float64) {
	var sum float64
	for _, v := range u {
		sum += 1 / v
	}
	for k, v := range u {
		s := float64(v * sum)
		dst[k] = float64(len(u)) / float64(s*s)
	}
}

// InitialDual implements [MulticlassConcave].
func (MulticlassHMean) InitialDual(dst []float64) { uniform(dst) }

// DualRadius implements [MulticlassConcave].
func (MulticlassHMean) DualRadius(classes int) float64 { return float64(classes) }

// cubeRootAbove is a power of 2 between x^(1/3) and 2.6 times that.
func cubeRootAbove(x float64) float64 {
	_, e := math.Frexp(x)
	return math.Ldexp(1, int(math.Ceil(float64(e)/3)))
}

// MulticlassGMean is the geometric mean Π R_k^(1/C) of the recalls. It is not Lipschitz: its dual
// region {Πα_k ≥ C^(-C), α > 0} is unbounded, so a learner caps it. Ψ* = 0.
type MulticlassGMean struct{}

// Name implements [MulticlassConcave].
func (MulticlassGMean) Name() string { return "gmean" }

// Of implements [MulticlassConcave].
func (MulticlassGMean) Of(recalls []float64) float64 {
	zero, sum := false, 0.0
	for _, r := range recalls {
		switch {
		case r == 0:
			zero = true
		case r > 0:
			sum += portable.Log(r)
		default:
			return math.NaN()
		}
	}
	if zero {
		return 0
	}
	return portable.Exp(sum / float64(len(recalls)))
}

// Extended implements [MulticlassConcave] for the region capped at limit = M > 1/C: the optimal
// dual is M where u_k ≤ ν/M and ν/u_k elsewhere, with ν such that Πα_k = C^(-C). O(C²) at most.
func (MulticlassGMean) Extended(rewards []float64, limit float64) float64 {
	c, lnM := float64(len(rewards)), portable.Log(limit)
	nu, threshold, capped := 0.0, 0.0, -1
	for {
		sum, n := -c*portable.Log(c), 0
		for _, u := range rewards {
			if u > threshold {
				sum += portable.Log(u)
			} else {
				sum -= lnM
				n++
			}
		}
		if n == len(rewards) || n == capped {
			capped = n
			break
		}
		capped = n
		nu = portable.Exp(sum / (c - float64(n)))
		threshold = max(threshold, nu/limit)
	}
	var value float64
	for _, u := range rewards {
		if u > threshold {
			value += nu
		} else {
			value += float64(limit * u)
		}
	}
	return value
}

// Conjugate implements [MulticlassConcave].
func (MulticlassGMean) Conjugate([]float64) float64 { return 0 }

// ConjugateGradient implements [MulticlassConcave].
func (MulticlassGMean) ConjugateGradient() float64 { return 0 }

// Project implements [MulticlassConcave] on A ∩ [0, M]^C with M = limit > 1/C. A point that
// clipping at M does not bring into A goes to α_k = min(M, (a_k + √(a_k² + 4λ))/2), with the λ ≥ 0
// for which Πα_k = C^(-C): with a multiplier for the product, both constraints separate over the
// coordinates, so that the clamp is exact. λ is found by Newton's method on the logarithm of the
// product, as a function of ln λ, safeguarded by bisection.
func (MulticlassGMean) Project(dst, a []float64, limit float64) {
	inside, low := true, a[0]
	for k, v := range a {
		dst[k] = min(v, limit)
		inside = inside && v > 0
		low = min(low, v)
	}
	if inside && logProduct(dst) >= 0 {
		return
	}
	c := float64(len(a))
	lo, hi := 0.0, float64((1/c-low)/c) // at hi no coordinate is below 1/C
	lambda := hi
	for range 200 {
		slope := geometricRoots(dst, a, lambda, limit)
		gap := logProduct(dst)
		if gap < 0 {
			lo = lambda
		} else {
			hi = lambda
		}
		if math.Abs(gap) <= 2e-16 || hi-lo <= 2e-16*hi {
			break
		}
		y := -gap / slope
		next := -1.0
		if math.Abs(y) < 1.5 {
			next = float64(lambda * ((2 + y) / (2 - y))) // for λ·exp(y)
		}
		if !(next > lo && next < hi) {
			next = math.Sqrt(lo) * math.Sqrt(hi)
			if lo == 0 {
				next = hi / 1024
			}
		}
		if math.Abs(next-lambda) <= 2e-16*lambda {
			break
		}
		lambda = next
	}
}

// geometricRoots writes α_k(λ) to dst and returns the derivative of Σ ln α_k in ln λ.
func geometricRoots(dst, a []float64, lambda, limit float64) (slope float64) {
	for k, v := range a {
		root := math.Sqrt(float64(v*v) + float64(4*lambda))
		al := (v + root) / 2
		if v < 0 {
			al = 2 * lambda / (root - v)
		}
		if al >= limit {
			dst[k] = limit
			continue
		}
		dst[k] = al
		slope += lambda / float64(al*root)
	}
	return slope
}

// logProduct is ln Π(C·x_k) for x > 0, with one logarithm: the product is kept in range by powers
// of 2.
func logProduct(x []float64) float64 {
	c := float64(len(x))
	product, exponent := 1.0, 0
	for _, v := range x {
		f, e := math.Frexp(c * v)
		product *= f
		exponent += e
		if product < 0x1p-500 {
			product *= 0x1p500
			exponent -= 500
		}
	}
	f, e := math.Frexp(product)
	if f < math.Sqrt2/2 {
		f, e = 2*f, e-1
	}
	return float64(float64(exponent+e)*math.Ln2) + portable.Log(f)
}

// OptimalDual implements [MulticlassConcave] for u > 0: G/(C·u_k).
func (m MulticlassGMean) OptimalDual(dst, u []float64) {
	g := m.Of(u) / float64(len(u))
	for k, v := range u {
		dst[k] = g / v
	}
}

// InitialDual implements [MulticlassConcave].
func (MulticlassGMean) InitialDual(dst []float64) { uniform(dst) }

// DualRadius implements [MulticlassConcave].
func (MulticlassGMean) DualRadius(int) float64 { return math.Inf(1) }
