package convex

import (
	"math"

	"github.com/noregret/noregret/internal/vec"
)

// DiagonalQuadratic is ψ(x) = ½Σ a_i x_i² on ℝ^d, all a_i > 0: gradient a_i x_i, inverse θ_i/a_i,
// conjugate ½Σθ_i²/a_i, divergence ½Σa_i(x_i−y_i)², 1-strongly convex in [DiagonalNorm]. Each
// operation is O(d).
type DiagonalQuadratic struct {
	norm *DiagonalNorm
}

// NewDiagonalQuadratic makes ½Σ a_i x_i² for finite a_i > 0 whose inverses are finite; a is copied.
func NewDiagonalQuadratic(a []float64) (*DiagonalQuadratic, error) {
	norm, err := NewDiagonalNorm(a)
	if err != nil {
		return nil, err
	}
	return &DiagonalQuadratic{norm}, nil
}

// Dim implements [MirrorMap].
func (q *DiagonalQuadratic) Dim() int { return len(q.norm.a) }

// Value implements [MirrorMap].
func (q *DiagonalQuadratic) Value(x []float64) float64 {
	sum := 0.0
	for i, v := range x {
		sum += float64(q.norm.a[i] * float64(v*v))
	}
	return 0.5 * sum
}

// Gradient implements [MirrorMap].
func (q *DiagonalQuadratic) Gradient(dst, x []float64) {
	for i, v := range x {
		dst[i] = q.norm.a[i] * v
	}
}

// Inverse implements [MirrorMap].
func (q *DiagonalQuadratic) Inverse(dst, theta []float64) {
	for i, t := range theta {
		dst[i] = t / q.norm.a[i]
	}
}

// Conjugate implements [MirrorMap].
func (q *DiagonalQuadratic) Conjugate(theta []float64) float64 {
	sum := 0.0
	for i, t := range theta {
		sum += float64(t*t) / q.norm.a[i]
	}
	return 0.5 * sum
}

// Divergence implements [MirrorMap].
func (q *DiagonalQuadratic) Divergence(x, y []float64) float64 {
	sum := 0.0
	for i, v := range x {
		v -= y[i]
		sum += float64(q.norm.a[i] * float64(v*v))
	}
	return 0.5 * sum
}

// StrongConvexity is 1 in the map's own norm.
func (q *DiagonalQuadratic) StrongConvexity() (float64, Norm) { return 1, q.norm }

// Interior reports whether x is finite.
func (q *DiagonalQuadratic) Interior(x []float64) bool { return vec.Finite(x) }

// String describes it in one line, all parameters included.
func (q *DiagonalQuadratic) String() string {
	return "diagonal-quadratic(" + formatVector(q.norm.a) + ")"
}

func (q *DiagonalQuadratic) pairs() string {
	return "Space, Box, Simplex, CappedSimplex, Halfspace, Euclidean Ball, Product of these"
}

func (q *DiagonalQuadratic) part(from, to int) restrictable {
	return &DiagonalQuadratic{&DiagonalNorm{q.norm.a[from:to]}}
}

func (q *DiagonalQuadratic) restrict(s Set) (pair, error) {
	out := pair{lambda: 1, norm: q.norm}
	a := q.norm.a
	switch s := s.(type) {
	case *Space:
		out.argmax, out.conjugate = q.Inverse, q.Conjugate
	case *Box:
		out.argmax = func(dst, theta []float64) { boxArgmax(dst, theta, a, s) }
	case *Simplex:
		out.argmax = func(dst, theta []float64) { boundedArgmax(dst, theta, a, s, s.s, s.s) }
	case *CappedSimplex:
		out.argmax = func(dst, theta []float64) { boundedArgmax(dst, theta, a, s, s.sum, s.scale) }
	case *Halfspace:
		square := 0.0 // ‖normal‖² in the dual norm
		for i, v := range s.a {
			square += float64(v*v) / a[i]
		}
		out.argmax = func(dst, theta []float64) { halfspaceArgmax(dst, theta, a, s, square) }
	case *Ball:
		if s.norm.p != 2 {
			return pair{}, errPair
		}
		out.argmax = func(dst, theta []float64) { ballArgmax(dst, theta, a, s) }
	default:
		return pair{}, errPair
	}
	return out, nil
}

// hasDiagonalArgmax reports whether [diagonalArgmax] supports a set.
func hasDiagonalArgmax(s Set) bool {
	switch s := s.(type) {
	case *Box, *Simplex, *CappedSimplex:
		return true
	case *Ball:
		return s.norm.p == 2
	case *Product:
		for _, factor := range s.sets {
			if !hasDiagonalArgmax(factor) {
				return false
			}
		}
		return true
	}
	return false
}

// diagonalArgmax writes the maximizer of ⟨θ, x⟩ − ½Σa_i x_i² over a set, for weights a that change
// from call to call.
func diagonalArgmax(dst, theta, a []float64, s Set) {
	switch s := s.(type) {
	case *Box:
		boxArgmax(dst, theta, a, s)
	case *Simplex:
		boundedArgmax(dst, theta, a, s, s.s, s.s)
	case *CappedSimplex:
		boundedArgmax(dst, theta, a, s, s.sum, s.scale)
	case *Ball:
		ballArgmax(dst, theta, a, s)
	case *Product:
		for k, factor := range s.sets {
			i, j := s.starts[k], s.starts[k+1]
			diagonalArgmax(dst[i:j], theta[i:j], a[i:j], factor)
		}
	}
}

func boxArgmax(dst, theta, a []float64, s *Box) {
	for i, t := range theta {
		dst[i] = clip(t/a[i], s.lower[i], s.upper[i])
	}
}

// halfspaceArgmax goes from the free maximizer to the boundary along the normal; square is
// ‖normal‖² in the dual norm.
func halfspaceArgmax(dst, theta, a []float64, s *Halfspace, square float64) {
	for i, t := range theta {
		dst[i] = t / a[i]
	}
	for pass := range 3 { // the later passes correct rounding, as in Halfspace.Project
		e, scale := s.excess(dst)
		if e <= float64(slack(len(dst))*scale) && (pass == 0 || -e <= float64(slack(len(dst))*scale)) {
			return
		}
		t := e / square
		for i, v := range s.a {
			dst[i] -= float64(t*v) / a[i]
		}
	}
}

// sided is a set with a lower and an upper side for each coordinate.
type sided interface {
	Bounds(i int) (lower, upper float64)
}

// boundedArgmax writes clip((θ_i−τ)/a_i, l_i, u_i) with the τ for which it sums to s: Newton's
// method with a bracket as in [CappedSimplex.Project].
func boundedArgmax(dst, theta, a []float64, b sided, s, scale float64) {
	lo, hi := math.Inf(1), math.Inf(-1)
	for i, t := range theta {
		l, u := b.Bounds(i)
		lo = min(lo, t-float64(a[i]*u))
		hi = max(hi, t-float64(a[i]*l))
	}
	small := float64(slack(len(theta)) * scale * 0.125)
	base, tau := refined(lo, hi, lo+float64(0.5*(hi-lo)), small, func(base, tau float64) (float64, float64) {
		return diagonalExcess(theta, a, b, s, base, tau)
	})
	for i, t := range theta {
		l, u := b.Bounds(i)
		dst[i] = clip(((t-base)-tau)/a[i], l, u)
	}
}

// diagonalExcess is Σclip((θ_i−base−τ)/a_i, l_i, u_i) − s and minus its slope in τ.
func diagonalExcess(theta, a []float64, b sided, s, base, tau float64) (f, slope float64) {
	for i, t := range theta {
		l, u := b.Bounds(i)
		x := ((t - base) - tau) / a[i]
		switch {
		case x <= l:
			f += l
		case x >= u:
			f += u
		default:
			f += x
			slope += 1 / a[i]
		}
	}
	return f - s, slope
}

// ballArgmax writes x0 + y with y_i = (θ_i − a_i x0_i)/(a_i + ν), where ν ≥ 0 is 0 or the root of
// ‖y‖ = r: Newton's method on 1/r − 1/‖y(ν)‖, convex and decreasing, rises to the root from ν = 0.
// Some 5 to 10 passes.
func ballArgmax(dst, theta, a []float64, s *Ball) {
	top := 0.0 // overflow guard: y in units of its largest numerator
	for i, t := range theta {
		top = max(top, math.Abs(t-float64(a[i]*s.at(i))))
	}
	if top == 0 {
		for i := range dst {
			dst[i] = s.at(i)
		}
		return
	}
	r := s.radius / top
	nu := 0.0
	for range 100 {
		square, cube := 0.0, 0.0
		for i, t := range theta {
			y := (t - float64(a[i]*s.at(i))) / top / (a[i] + nu)
			y2 := float64(y * y)
			square += y2
			cube += y2 / (a[i] + nu)
		}
		n := math.Sqrt(square)
		if n <= r {
			break
		}
		next := nu + float64(float64((n-r)/r)*(square/cube))
		if !(next > nu) {
			break
		}
		nu = next
	}
	for i, t := range theta {
		c := s.at(i)
		dst[i] = c + (t-float64(a[i]*c))/(a[i]+nu)
	}
	s.shrink(dst)
}
