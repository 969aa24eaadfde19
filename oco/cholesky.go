package oco

import (
	"math"

	"github.com/noregret/noregret/internal/portable"
	"github.com/noregret/noregret/internal/snapshot"
)

// cholesky is the lower triangular factor L of a positive definite matrix S = L·Lᵀ that grows by rank one,
// in O(d²) a step and with the same bits on every machine (gonum's vector code rounds differently from
// machine to machine). Updating the factor does not drift as an updated inverse does (Gill, Golub, Murray
// and Saunders 1974, method C1).
type cholesky struct {
	D int
	L []float64 // row by row, d×d; the upper part is 0
}

func newCholesky(d int, diagonal float64) cholesky {
	c := cholesky{D: d, L: make([]float64, d*d)}
	for i := range d {
		c.L[i*d+i] = math.Sqrt(diagonal)
	}
	return c
}

// add makes the factor that of S + v·vᵀ; v is destroyed.
func (c *cholesky) add(v []float64) {
	d := c.D
	for k := range d {
		if v[k] == 0 {
			continue
		}
		old := c.L[k*d+k]
		r := math.Sqrt(float64(old*old) + float64(v[k]*v[k]))
		cos, sin := r/old, v[k]/old
		c.L[k*d+k] = r
		for i := k + 1; i < d; i++ {
			l := (c.L[i*d+k] + float64(sin*v[i])) / cos
			c.L[i*d+k] = l
			v[i] = float64(cos*v[i]) - float64(sin*l)
		}
	}
}

// forward solves L·x = b in place.
func (c *cholesky) forward(b []float64) {
	d := c.D
	for i := range d {
		row := c.L[i*d : i*d+i]
		s := b[i]
		for j, l := range row {
			s -= float64(l * b[j])
		}
		b[i] = s / c.L[i*d+i]
	}
}

// solve solves S·x = b in place.
func (c *cholesky) solve(b []float64) {
	c.forward(b)
	d := c.D
	for i := d - 1; i >= 0; i-- {
		b[i] /= c.L[i*d+i]
		row := c.L[i*d : i*d+i]
		for j, l := range row {
			b[j] -= float64(l * b[i])
		}
	}
}

// inverseSquare is vᵀS⁻¹v; v is destroyed.
func (c *cholesky) inverseSquare(v []float64) float64 {
	c.forward(v)
	var s sum
	for _, x := range v {
		s.add(x * x)
	}
	return s.value()
}

// logDet is ln det S.
func (c *cholesky) logDet() float64 {
	var s sum
	for i := range c.D {
		s.add(2 * portable.Log(c.L[i*c.D+i]))
	}
	return s.value()
}

func (c *cholesky) check(d int) error {
	if c.D != d || !allFinite(c.L, d*d) {
		return snapshot.Bad("it is damaged: its factor has %d values for dimension %d, or is not finite", len(c.L), d)
	}
	for i := range d {
		if !(c.L[i*d+i] > 0) {
			return snapshot.Bad("it is damaged: its factor is not positive at %d", i)
		}
	}
	return nil
}
