package regret

import (
	"fmt"

	"github.com/noregret/noregret/internal/memory"
	"github.com/noregret/noregret/internal/vec"
)

// basis is an orthonormal basis of the span of vectors in ℝ^d, which grows with them.
type basis struct {
	d    int
	rows [][]float64 // one of length d for each coordinate
	// outside is Σ‖o‖² over the parts o of the vectors that were omitted as rounding.
	outside total
	work    []float64
}

// basisPrecision is the relative norm up to which a vector's part outside the span is treated as
// rounding.
const basisPrecision = 0x1p-48

func newBasis(d int) *basis { return &basis{d: d, work: make([]float64, d)} }

// include extends the basis by the direction of v outside of the span, unless that is rounding:
// Gram and Schmidt's method, applied twice. It returns an error, and changes nothing, if the basis
// and the matrices in its coordinates would take too much memory. O(d·rank).
func (b *basis) include(v []float64) error {
	copy(b.work, v)
	whole := vec.Norm2(v)
	for range 2 {
		for _, q := range b.rows {
			vec.AddScaled(b.work, -vec.Dot(q, b.work), q)
		}
	}
	left := vec.Norm2(b.work)
	if left <= float64(basisPrecision*whole) {
		b.outside.addProduct(left, left)
		return nil
	}
	if err := checkRank(b.d, len(b.rows)+1); err != nil {
		return err
	}
	q := make([]float64, b.d)
	for i, x := range b.work {
		q[i] = x / left
	}
	b.rows = append(b.rows, q)
	return nil
}

// checkRank returns an error if a summary of squared losses whose features span rank dimensions of
// d would take too much memory: the basis, and 8·rank² numbers to find the best point.
func checkRank(d, rank int) error {
	n := float64(rank)
	return memory.Check("features", fmt.Sprintf("a span of %d dimensions in dimension %d", rank, d),
		float64(n*float64(d))+float64(8*n*n))
}

// coordinates writes the coordinates of v to dst, one for each row. O(d·rank).
func (b *basis) coordinates(dst, v []float64) {
	for k, q := range b.rows {
		dst[k] = vec.Dot(q, v)
	}
}

// point writes the vector with the given coordinates to dst. O(d·rank).
func (b *basis) point(dst, coordinates []float64) {
	clear(dst)
	for k, q := range b.rows {
		vec.AddScaled(dst, coordinates[k], q)
	}
}

func (b *basis) reset() { b.rows, b.outside = nil, total{} }
