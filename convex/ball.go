package convex

import (
	"fmt"
	"math"
	"slices"

	"github.com/noregret/noregret/internal/portable"
	"github.com/noregret/noregret/internal/vec"
)

// Ball is the ball {x : ‖x − x0‖_p ≤ r} of an lp norm.
type Ball struct {
	d      int
	center []float64 // nil for the origin
	norm   *Lp
	radius float64
}

// NewBall makes the Euclidean ball of finite radius r > 0 around the center, which is copied.
func NewBall(center []float64, r float64) (*Ball, error) { return NewLpBall(center, 2, r) }

// NewCenteredBall makes the Euclidean ball of radius r > 0 around the origin of ℝ^d.
func NewCenteredBall(d int, r float64) (*Ball, error) { return NewCenteredLpBall(d, 2, r) }

// NewCenteredLpBall makes the ball of radius r > 0 around the origin of ℝ^d in the norm of exponent
// p in [1, +Inf].
func NewCenteredLpBall(d int, p, r float64) (*Ball, error) {
	if err := checkDim("ball", d); err != nil {
		return nil, err
	}
	norm, err := NewLp(p)
	if err != nil {
		return nil, err
	}
	if err := checkPositive("ball", "the radius", r); err != nil {
		return nil, err
	}
	return &Ball{d: d, norm: norm, radius: r}, nil
}

// NewLpBall makes the ball of radius r > 0 around the center, which is copied, in the norm of
// exponent p in [1, +Inf].
func NewLpBall(center []float64, p, r float64) (*Ball, error) {
	b, err := NewCenteredLpBall(len(center), p, r)
	if err != nil {
		return nil, err
	}
	if err := checkFinite("ball", "center", center); err != nil {
		return nil, err
	}
	if !vec.IsZero(center) {
		b.center = slices.Clone(center)
	}
	return b, nil
}

// NewL1Ball makes the ball {x : ‖x‖₁ ≤ r} of ℝ^d, r > 0.
func NewL1Ball(d int, r float64) (*Ball, error) { return NewCenteredLpBall(d, 1, r) }

// Dim implements [Set].
func (b *Ball) Dim() int { return b.d }

// Radius is r.
func (b *Ball) Radius() float64 { return b.radius }

// Center returns a copy of x0.
func (b *Ball) Center() []float64 {
	c := make([]float64, b.d)
	copy(c, b.center)
	return c
}

// Norm is the norm of the ball.
func (b *Ball) Norm() *Lp { return b.norm }

// at is x0_i.
func (b *Ball) at(i int) float64 {
	if b.center == nil {
		return 0
	}
	return b.center[i]
}

// Project implements [Set]. p = 2: x0 + (v−x0)·r/‖v−x0‖; p = ∞: clipping; p = 1: soft thresholding
// at the level found as for [Simplex]; any other p: the multiplier λ of x_i + λ·sgn(x_i)|x_i|^{p−1}
// = v_i by a safeguarded Newton method to full precision, with an inner one for each coordinate.
// The result is shrunk until its norm, as [Lp.Of] computes it, is at most r. O(d) per pass: 2
// passes for p = 2 and ∞, at most 66 for p = 1, up to a few hundred for other p.
func (b *Ball) Project(dst, v []float64) {
	n := b.norm.distance(v, b.center)
	if n <= b.radius {
		copy(dst, v)
		return
	}
	switch {
	case b.norm.p == 2:
		s := b.radius / n
		if b.center == nil {
			for i, x := range v {
				dst[i] = x * s
			}
			break
		}
		for i, x := range v {
			c := b.at(i)
			dst[i] = c + float64((x-c)*s)
		}
	case math.IsInf(b.norm.p, 1):
		for i, x := range v {
			c := b.at(i)
			dst[i] = c + clip(x-c, -b.radius, b.radius)
		}
	case b.norm.p == 1:
		b.projectL1(dst, v)
	default:
		b.projectLp(dst, v)
	}
	b.shrink(dst)
}

func (b *Ball) projectL1(dst, v []float64) {
	if b.center != nil { // the rest needs v relative to the center only
		for i, x := range v {
			dst[i] = x - b.center[i]
		}
		v = dst
	}
	top, tau := simplexThreshold(v, b.radius, true)
	for i, x := range v {
		dst[i] = b.at(i) + math.Copysign(max((math.Abs(x)-top)-tau, 0), x)
	}
}

// shrink moves dst towards the center until its computed distance is at most r: by 2⁻⁵² of itself,
// then twice that, and so on.
func (b *Ball) shrink(dst []float64) {
	for by := eps / 2; by < 2; by *= 2 {
		if b.norm.distance(dst, b.center) <= b.radius {
			return
		}
		keep := max(1-by, 0)
		if b.center == nil {
			vec.Scale(dst, keep)
			continue
		}
		for i, x := range dst {
			c := b.at(i)
			dst[i] = c + float64((x-c)*keep)
		}
	}
}

// projectLp solves for exponents other than 1, 2 and ∞ in units of r: x + λx^{p−1} = a for each a =
// |v_i − x0_i|/r, Σx^p = 1.
func (b *Ball) projectLp(dst, v []float64) {
	p, q := b.norm.p, b.norm.q
	m := vec.MaxDistance(v, b.center)
	sum := 0.0
	for i, x := range v {
		sum += portable.Pow(math.Abs(x-b.at(i))/m, q)
	}
	// x ≤ (a/λ)^{1/(p−1)}, so Σx^p ≤ Σ(a/λ)^q, which is 1 at λ = ‖a‖_q.
	lo, hi := 0.0, m/b.radius*portable.Pow(sum, 1/q)*(1+1e-12)
	lambda := hi / 2
	for range 200 {
		f, slope := -1.0, 0.0
		for i, x := range v {
			a := math.Abs(x-b.at(i)) / b.radius
			if a == 0 {
				continue
			}
			y := lpRoot(a, lambda, p)
			yp := portable.Pow(y, p)
			f += yp
			// dy/dλ = −y^{p−1}/(1 + λ(p−1)y^{p−2}), times p·y^{p−1}, both multiplied by y²
			slope -= float64(p*float64(yp*yp)) / (float64(y*y) + float64(float64(lambda*(p-1))*yp))
		}
		if f > 0 {
			lo = lambda
		} else {
			hi = lambda
		}
		next := lambda - f/slope
		if !(next > lo && next < hi) {
			next = 0.5 * (lo + hi)
		}
		if math.Abs(next-lambda) <= float64(eps*lambda) || hi-lo <= float64(eps*hi) {
			lambda = next
			break
		}
		lambda = next
	}
	for i, x := range v {
		c := b.at(i)
		y := 0.0
		if x != c {
			y = float64(b.radius * lpRoot(math.Abs(x-c)/b.radius, lambda, p))
		}
		dst[i] = c + math.Copysign(y, x-c)
	}
}

// lpRoot is the x > 0 with x + λx^{p−1} = a, for a > 0 and λ ≥ 0. In x for p > 2 and in z = x^{p−1}
// for p < 2 the left side is convex, so Newton's method comes down on the root from the right.
func lpRoot(a, lambda, p float64) float64 {
	if lambda == 0 {
		return a
	}
	// u·z + w·z^e = a with e > 1
	e, u, w := p-1, 1.0, lambda
	if p < 2 {
		e, u, w = 1/(p-1), lambda, 1
	}
	z := min(a/u, portable.Pow(a/w, 1/e))
	for range 100 {
		t := float64(w * portable.Pow(z, e-1))
		next := float64(z*(a+float64(float64((e-1)*t)*z))) / (float64(u*z) + float64(float64(e*t)*z))
		if !(next < z) {
			break
		}
		z = next
	}
	if p < 2 {
		return portable.Pow(z, e)
	}
	return z
}

// Minimize returns x0 − r·∇‖c‖*: for p = 2 that is x0 − r·c/‖c‖, for p = 1 one vertex, that of the
// lowest index among the largest |c_i|, for p = ∞ the corner x0 − r·sgn(c), with -r where c_i = 0.
// At c = 0 it is the center, or for p = ∞ the lowest corner. O(d).
func (b *Ball) Minimize(dst, c []float64) (float64, error) {
	n := b.norm
	sum, m := 0.0, vec.MaxDistance(c, nil)
	if b.center != nil {
		sum = vec.Dot(c, b.center)
	}
	switch {
	case math.IsInf(n.p, 1):
		for i, ci := range c {
			r := b.radius
			if ci < 0 {
				r = -r
			}
			dst[i] = b.at(i) - r
			sum -= float64(ci * r)
		}
	case m == 0:
		for i := range dst {
			dst[i] = b.at(i)
		}
		return sum, nil
	case n.p == 1:
		k := 0
		for math.Abs(c[k]) < m {
			k++
		}
		r := math.Copysign(b.radius, c[k])
		for i := range dst {
			dst[i] = b.at(i)
		}
		dst[k] -= r
		sum -= float64(m * b.radius)
	default:
		// r_i = |c_i|/m, direction sgn(c_i)·r_i^{q−1}/(Σr^q)^{1/p}
		total := 0.0
		for _, ci := range c {
			total += portable.Pow(math.Abs(ci)/m, n.q)
		}
		scale := b.radius / portable.Pow(total, 1/n.p)
		sum -= float64(b.radius * float64(m*portable.Pow(total, 1/n.q)))
		for i, ci := range c {
			dst[i] = b.at(i) - math.Copysign(float64(scale*portable.Pow(math.Abs(ci)/m, n.q-1)), ci)
		}
	}
	b.shrink(dst)
	return sum, nil
}

// Contains implements [Set]; the size is r. O(d).
func (b *Ball) Contains(x []float64, tol float64) bool {
	n := b.norm.distance(x, b.center)
	return n <= b.radius || n <= b.radius+allowance(tol, b.radius, vec.MaxAbs(b.center))
}

// Diameter is 2r for p ≤ 2 and 2r·d^{1/2−1/p} for p > 2, exact.
func (b *Ball) Diameter() float64 {
	r := 2 * b.radius
	if b.norm.p > 2 {
		r = float64(r * portable.Pow(float64(b.d), 0.5-1/b.norm.p))
	}
	return r
}

// Moved implements [Mover]: the moved ball.
func (b *Ball) Moved(c float64, x0 []float64) (Set, error) {
	return NewLpBall(image(b.Center(), c, x0), b.norm.p, float64(c*b.radius))
}

// String describes it in one line, all parameters included.
func (b *Ball) String() string {
	center := "0"
	if b.center != nil {
		center = formatVector(b.center)
	}
	return fmt.Sprintf("%s-ball(%d, %s, %s)", b.norm, b.d, center, formatFloat(b.radius))
}
