package convex

import (
	"fmt"
	"math"

	"github.com/noregret/noregret/internal/vec"
)

// Simplex is the simplex {x ≥ 0 : Σx = s}, the probability simplex for s = 1. The sum
// holds up to the rounding of d additions, (d+4)·2⁻⁵² of s.
type Simplex struct {
	d int
	s float64
}

// NewSimplex makes the probability simplex of ℝ^d.
func NewSimplex(d int) (*Simplex, error) { return NewScaledSimplex(d, 1) }

// NewScaledSimplex makes the simplex {x ≥ 0 : Σx = s} for a finite s > 0.
func NewScaledSimplex(d int, s float64) (*Simplex, error) {
	if err := checkDim("simplex", d); err != nil {
		return nil, err
	}
	if err := checkPositive("simplex", "the sum", s); err != nil {
		return nil, err
	}
	return &Simplex{d, s}, nil
}

// Dim implements [Set].
func (s *Simplex) Dim() int { return s.d }

// Sum is s, the sum of the coordinates.
func (s *Simplex) Sum() float64 { return s.s }

// Bounds returns the sides 0 and s of every coordinate.
func (s *Simplex) Bounds(int) (lower, upper float64) { return 0, s.s }

// Project writes max(v − τ, 0) with the τ for which it sums to s. τ is found without sorting and
// without scratch, by Newton's method on the convex, piecewise linear Σmax(v − τ, 0), which ends at
// the exact active set; a bracket keeps it to at most 64 passes over v (5 to 10 are usual),
// whatever the input. O(d).
func (s *Simplex) Project(dst, v []float64) {
	if s.Contains(v, 0) {
		copy(dst, v)
		return
	}
	ProjectOnSimplex(dst, v, s.s)
}

// ProjectOnSimplex writes the projection of v on {x ≥ 0 : Σx = sum}, sum > 0, to dst, for callers
// that have no [Simplex]. A point of the simplex may change in its last bits. dst
// may be v.
func ProjectOnSimplex(dst, v []float64, sum float64) {
	top, tau := simplexThreshold(v, sum, false)
	for i, x := range v {
		dst[i] = max((x-top)-tau, 0)
	}
}

// simplexThreshold returns top = max v_i and the tau ≤ 0 with Σ max((v_i − top) − tau, 0) = s; with
// abs it does so for |v|. The shift by the maximum keeps full accuracy where v is large beside s.
func simplexThreshold(v []float64, s float64, abs bool) (top, tau float64) {
	top = math.Inf(-1)
	for _, x := range v {
		if abs {
			x = math.Abs(x)
		}
		top = max(top, x)
	}
	sum := 0.0 // of v − top: relative to the largest, so that a large common part costs no digits
	for _, x := range v {
		if abs {
			x = math.Abs(x)
		}
		sum += x - top
	}
	// The function is at least s at lo and at most s at hi: the largest term alone gives s at -s,
	// and d equal ones at -s/d.
	lo, hi := -s, -s/float64(len(v))
	if t := (sum - s) / float64(len(v)); t > lo && t < hi {
		lo = t // the root when no term is cut off
	}
	tau = lo
	width := hi - lo
	for pass := range 64 {
		f, n := 0.0, 0
		for _, x := range v {
			if abs {
				x = math.Abs(x)
			}
			if r := (x - top) - tau; r > 0 {
				f += r
				n++
			}
		}
		f -= s
		next := tau
		if n > 0 {
			next += f / float64(n)
		}
		// At the end f is no more than its rounding.
		if next == tau || math.Abs(f) <= float64(float64(float64(n+4)*(eps/4))*s) {
			return top, next
		}
		if f > 0 {
			lo = max(lo, tau)
		} else {
			hi = min(hi, tau)
		}
		// Newton's step from the left never passes the root; where the bracket did not halve in
		// four passes, bisect.
		if pass%4 == 3 {
			if hi-lo > 0.5*width {
				if mid := 0.5 * (lo + hi); mid > next {
					next = mid
				}
			}
			width = hi - lo
		}
		tau = min(max(next, lo), hi)
	}
	return top, tau
}

// Minimize puts all of s on the smallest c_i, the lowest index of them. O(d).
func (s *Simplex) Minimize(dst, c []float64) (float64, error) {
	k, m := vec.ArgMin(c)
	clear(dst)
	dst[k] = s.s
	return float64(m * s.s), nil
}

// Contains implements [Set]; the scale is s. O(d).
func (s *Simplex) Contains(x []float64, tol float64) bool {
	t := float64(tol * s.s)
	sum := 0.0
	for _, v := range x {
		if !(v >= -t) {
			return false
		}
		sum += v
	}
	return math.Abs(sum-s.s) <= t+float64(slack(s.d)*s.s)
}

// Diameter is √2·s, and 0 for d = 1.
func (s *Simplex) Diameter() float64 {
	if s.d == 1 {
		return 0
	}
	return float64(math.Sqrt2 * s.s)
}

// Moved implements [Mover]: a simplex, or with a shift a [CappedSimplex].
func (s *Simplex) Moved(c float64, x0 []float64) (Set, error) {
	if vec.IsZero(x0) {
		return NewScaledSimplex(s.d, float64(c*s.s))
	}
	lower, upper := make([]float64, s.d), make([]float64, s.d)
	sum := float64(c * s.s)
	for i, v := range x0 {
		lower[i], upper[i] = v, math.Inf(1)
		sum += v
	}
	return NewBoundedSimplex(lower, upper, sum)
}

// String describes it in one line, all parameters included.
func (s *Simplex) String() string {
	if s.s == 1 {
		return fmt.Sprintf("simplex(%d)", s.d)
	}
	return fmt.Sprintf("simplex(%d, %s)", s.d, formatFloat(s.s))
}
