package linalg

import (
	"math"

	"github.com/noregret/noregret/internal/portable"
	"github.com/noregret/noregret/internal/vec"
)

// Factorize overwrites the row-major n×n matrix A with the upper triangular R of A = RᵀR, and 0
// below the diagonal. It reads the upper triangle and reports whether A is positive definite; if
// not, the matrix is void. n³/3 operations.
func Factorize(a []float64, n int) bool { return FactorizeAbove(a, n, 0) }

// FactorizeAbove is [Factorize] for a matrix that must be away from singular: it also fails where a
// pivot is not above share ≥ 0 times the entry of A in its place.
func FactorizeAbove(a []float64, n int, share float64) bool {
	if n == 0 {
		return true
	}
	// The last row below the diagonal is free until its own turn: it keeps the diagonal of A.
	last := a[n*n-1]
	diagonal := a[(n-1)*n : n*n-1]
	for k := range diagonal {
		diagonal[k] = a[k*n+k]
	}
	for k := range n {
		row := a[k*n : (k+1)*n]
		pivot, was := row[k], last
		if k < n-1 {
			was = diagonal[k]
		}
		if !(pivot > float64(share*was)) || math.IsInf(pivot, 1) {
			return false
		}
		root := math.Sqrt(pivot)
		clear(row[:k])
		for j := k; j < n; j++ {
			row[j] /= root
		}
		for i := k + 1; i < n; i++ {
			vec.AddScaled(a[i*n+i:(i+1)*n], -row[i], row[i:])
		}
	}
	return true
}

// SolveRT overwrites x with R⁻ᵀx for an upper triangular n×n matrix R. O(n²).
func SolveRT(r []float64, n int, x []float64) {
	for i := range n {
		row := r[i*n : (i+1)*n]
		x[i] /= row[i]
		vec.AddScaled(x[i+1:], -x[i], row[i+1:])
	}
}

// SolveR overwrites x with R⁻¹x for an upper triangular n×n matrix R. O(n²).
func SolveR(r []float64, n int, x []float64) {
	for i := n - 1; i >= 0; i-- {
		row := r[i*n : (i+1)*n]
		x[i] = (x[i] - vec.Dot(row[i+1:], x[i+1:n])) / row[i]
	}
}

// MulSymmetric writes Sx for a symmetric matrix of as many rows as x has coordinates; dst is not x.
// O(n²).
func MulSymmetric(dst, s, x []float64) {
	n := len(x)
	for i := range dst {
		dst[i] = vec.Dot(s[i*n:(i+1)*n], x)
	}
}

// Cholesky is the upper triangular factor R of a positive definite matrix S = RᵀR that grows by
// rank one. Its fields are exported so that it can be saved; make one with [NewCholesky]. An update
// costs O(d²) and does not drift as an updated inverse does (Gill, Golub, Murray and Saunders 1974,
// method C1).
type Cholesky struct {
	D int
	R []float64 // d×d; the lower part is 0
}

// NewCholesky is the factor of diagonal·I in dimension d, for a diagonal above 0, which callers
// check. It allocates d² numbers.
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
// and reports whether s is positive definite; if not, the factor is void. O(d³).
func (c *Cholesky) Factorize(s []float64) bool {
	copy(c.R, s)
	return Factorize(c.R, c.D)
}

// Solve overwrites x with S⁻¹x. O(d²).
func (c *Cholesky) Solve(x []float64) {
	SolveRT(c.R, c.D, x)
	SolveR(c.R, c.D, x)
}

// InverseSquare is vᵀS⁻¹v; v is destroyed. O(d²).
func (c *Cholesky) InverseSquare(v []float64) float64 {
	SolveRT(c.R, c.D, v)
	return vec.Dot(v, v)
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
// a file. O(d²).
func (c *Cholesky) Valid(d int) bool {
	return c.D == d && ValidFactor(c.R, d)
}

// ValidFactor reports whether r holds d² finite numbers with a positive diagonal. O(d²).
func ValidFactor(r []float64, d int) bool {
	if len(r) != d*d || !vec.Finite(r) {
		return false
	}
	for i := range d {
		if !(r[i*d+i] > 0) {
			return false
		}
	}
	return true
}
