package convex

import (
	"math"

	"github.com/noregret/noregret/internal/portable"
)

// Cholesky is the upper triangular factor R of a positive definite matrix S = RᵀR that grows by
// rank one, row by row. Its fields are exported so that it can be saved; make one with
// [NewCholesky]. An update costs O(d²) and does not drift as an updated inverse does (Gill, Golub,
// Murray and Saunders 1974, method C1). Sums are in a fixed order, so that the bits are the same on
// every machine. Not safe for concurrent use; no method allocates.
type Cholesky struct {
	D int
	R []float64 // d×d; the lower part is 0
}

// NewCholesky is the factor of diagonal·I in dimension d, for a diagonal above 0, which callers
// check.
func NewCholesky(d int, diagonal float64) Cholesky {
	c := Cholesky{D: d, R: make([]float64, d*d)}
	for i := range d {
		c.R[i*d+i] = math.Sqrt(diagonal)
	}
	return c
}

// Add makes the factor that of S + v·vᵀ; v is destroyed. O(d²), less for a v that begins with
// zeros.
func (c *Cholesky) Add(v []float64) {
	d := c.D
	for k := range d {
		if v[k] == 0 {
			continue
		}
		row := c.R[k*d+k+1 : (k+1)*d]
		old := c.R[k*d+k]
		r := math.Sqrt(float64(old*old) + float64(v[k]*v[k]))
		cos, sin := r/old, v[k]/old
		c.R[k*d+k] = r
		rest := v[k+1:][:len(row)]
		for i, l := range row {
			l = (l + float64(sin*rest[i])) / cos
			row[i] = l
			rest[i] = float64(cos*rest[i]) - float64(sin*l)
		}
	}
}

// Factorize makes the factor that of the positive definite matrix s, given row by row (d² numbers),
// and reports whether it is one; if not, the factor is void. O(d³).
func (c *Cholesky) Factorize(s []float64) bool {
	copy(c.R, s)
	return cholesky(c.R, c.D)
}

// Solve overwrites x with S⁻¹x. O(d²).
func (c *Cholesky) Solve(x []float64) {
	solveRT(c.R, c.D, x)
	solveR(c.R, c.D, x)
}

// InverseSquare is vᵀS⁻¹v; v is destroyed. O(d²).
func (c *Cholesky) InverseSquare(v []float64) float64 {
	solveRT(c.R, c.D, v)
	return Dot(v, v)
}

// LogDet is ln det S. O(d).
func (c *Cholesky) LogDet() float64 {
	var s float64
	for i := range c.D {
		s += float64(2 * portable.Log(c.R[i*c.D+i]))
	}
	return s
}

// Valid reports whether the fields are those of a factor of dimension d, for one that was read from
// somewhere.
func (c *Cholesky) Valid(d int) bool {
	if c.D != d || len(c.R) != d*d || !allFinite(c.R) {
		return false
	}
	for i := range d {
		if !(c.R[i*d+i] > 0) {
			return false
		}
	}
	return true
}
