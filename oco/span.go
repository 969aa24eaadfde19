package oco

import (
	"math"

	"github.com/noregret/noregret/internal/snapshot"
	"github.com/noregret/noregret/internal/vec"
)

// denseUpTo is the dimension up to which the second-order learners hold their d×d matrices. Above
// it they work in the coordinates of the vectors seen so far, see [span].
const denseUpTo = 1024

// span is an orthonormal basis of the vectors that a learner has seen. A rotation-invariant learner
// (its regularizer is a multiple of ‖x‖², its set a ball around the origin or all of ℝ^d) plays in
// the span of its subgradients, so its matrices may be written in this basis: r×r numbers and r·d
// for the basis, r ≤ min(d, T), in place of d×d.
//
// Matrices have a larger capacity than the number of vectors. In the unused coordinates they are a
// multiple of the identity, as in every direction not yet seen.
type span struct {
	D, Rank int
	Q       []float64 // Rank rows of D values

	work []float64
}

// outside bounds the cost of the parts of vectors that count as rounding: with o_t the omitted part
// of v_t, and ⟨o_t, x_t⟩ = 0, a comparator u sees ⟨v_t, u⟩ change by at most ‖o_t‖·‖u‖, and the
// squares of a learner by that times ‖v_t‖(‖x_t‖ + ‖u‖).
type outside struct {
	Linear    sum // times ‖u‖
	Quadratic sum // times ‖u‖²
}

// cost bounds the effect on comparators of norm u.
func (o *outside) cost(u float64) float64 {
	if u == 0 {
		return 0
	}
	var cost float64
	if v := o.Linear.value(); v > 0 {
		cost += float64(u * v)
	}
	if v := o.Quadratic.value(); v > 0 { // u² may be +Inf
		cost += float64(u * u * v)
	}
	return cost
}

func (o *outside) valid() bool { return o.Linear.value() >= 0 && o.Quadratic.value() >= 0 }

// firstCapacity is the initial capacity of matrices, in coordinates.
const firstCapacity = 16

func newSpan(d int) *span { return &span{D: d, work: make([]float64, d)} }

// capacity is the number of coordinates that matrices for n vectors have.
func (s *span) capacity(n int) int {
	c := min(firstCapacity, s.D)
	for c < n {
		c = min(2*c, s.D)
	}
	return c
}

// insideUpTo is the largest size, relative to a vector, of a part outside the span that counts as
// rounding.
const insideUpTo = 0x1p-48

// include extends the basis by the direction of v outside of it, unless that is rounding (Gram and
// Schmidt, and once more: "twice is enough", Kahan and Parlett), and returns the norm of the
// omitted part. v has finite values of at most 1e150. O(d·Rank).
func (s *span) include(v []float64) (left float64) {
	largest := vec.MaxAbs(v)
	if largest == 0 || s.Rank == s.D {
		return 0
	}
	copy(s.work, v)
	scale := math.Ldexp(1, -max(math.Ilogb(largest), -1000))
	for i := range s.work {
		s.work[i] *= scale
	}
	whole := vec.Norm2(s.work)
	for range 2 {
		for k := range s.Rank {
			q := s.Q[k*s.D : (k+1)*s.D]
			c := vec.Dot(q, s.work)
			for i, x := range q {
				s.work[i] -= float64(c * x)
			}
		}
	}
	n := vec.Norm2(s.work)
	if n <= insideUpTo*whole {
		return n / scale
	}
	for i := range s.work {
		s.work[i] /= n
	}
	s.Q = append(s.Q, s.work...)
	s.Rank++
	return 0
}

// coordinates writes the coordinates of v to dst, with zeros beyond the basis. O(d·Rank).
func (s *span) coordinates(dst, v []float64) {
	for k := range s.Rank {
		dst[k] = vec.Dot(s.Q[k*s.D:(k+1)*s.D], v)
	}
	clear(dst[s.Rank:])
}

// point writes the vector with the coordinates c to dst. O(d·Rank).
func (s *span) point(dst, c []float64) {
	clear(dst)
	for k := range s.Rank {
		x := c[k]
		for i, q := range s.Q[k*s.D : (k+1)*s.D] {
			dst[i] += float64(x * q)
		}
	}
}

// check returns an error if a restored basis does not fit dimension d and c coordinates. It makes
// the scratch memory.
func (s *span) check(d, c int) error {
	if s == nil || s.D != d || s.Rank < 0 || s.Rank > c || c != s.capacity(s.Rank) || !allFinite(s.Q, s.Rank*d) {
		return snapshot.Bad("damaged: its basis does not fit dimension %d", d)
	}
	s.work = make([]float64, d)
	return nil
}

// extended copies the n×n matrix m, row by row, into the corner of diagonal·I of dimension c.
func extended(m []float64, n, c int, diagonal float64) []float64 {
	out := make([]float64, c*c)
	for i := range n {
		copy(out[i*c:], m[i*n:(i+1)*n])
	}
	for i := n; i < c; i++ {
		out[i*c+i] = diagonal
	}
	return out
}

// lengthened is v with zeros up to length c.
func lengthened(v []float64, c int) []float64 {
	out := make([]float64, c)
	copy(out, v)
	return out
}
