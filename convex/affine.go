package convex

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/vec"
)

// Affine is the affine subspace {x : Ax = b}, kept as Qx = b' with orthonormal rows Q. An equation
// holds up to its rounding, (d+4)·2⁻⁵² of |b'_k| + ‖x‖₂.
type Affine struct {
	d     int
	rows  [][]float64 // of Q
	right []float64   // b'
	point []float64   // Qᵀb', the point nearest to 0
}

// NewAffine makes {x : Ax = b}. The rows are orthonormalised once, by Gram–Schmidt with a second
// pass, at O(k²d) for k rows. A row that depends on the ones before it to 1e-10 of its norm is
// dropped when its equation follows from theirs, and refused when it contradicts them. With no row
// left (A = 0, b = 0) the set is ℝ^d.
func NewAffine(a mat.Matrix, b []float64) (*Affine, error) {
	const what = "affine set"
	if a == nil {
		return nil, noregret.BadInputf(what, "the matrix is nil")
	}
	k, d := a.Dims()
	if err := checkDim(what, d); err != nil {
		return nil, err
	}
	if err := checkLen(what, "b", len(b), k); err != nil {
		return nil, err
	}
	if err := checkFinite(what, "b", b); err != nil {
		return nil, err
	}
	s := &Affine{d: d, point: make([]float64, d)}
	for i := range k {
		row := make([]float64, d)
		for j := range row {
			row[j] = a.At(i, j)
			if v := row[j]; v-v != 0 {
				return nil, noregret.BadInputf(what, "A[%d][%d] is %v, want a finite number", i, j, v)
			}
		}
		norm := vec.Norm2(row)
		right := b[i]
		scale := math.Abs(right)
		if norm > 0 {
			vec.Scale(row, 1/norm)
			right /= norm
			scale = math.Abs(right)
			for range 2 {
				for r, q := range s.rows {
					t := vec.Dot(q, row)
					vec.AddScaled(row, -t, q)
					right -= float64(t * s.right[r])
					scale = max(scale, math.Abs(s.right[r]))
				}
			}
		}
		left := vec.Norm2(row)
		if left <= 1e-10 {
			if math.Abs(right) > float64(1e-9*scale) {
				return nil, noregret.BadInputf(what,
					"row %d contradicts the rows before it: its equation reduces to 0 = %v", i, right)
			}
			continue
		}
		vec.Scale(row, 1/left)
		s.rows = append(s.rows, row)
		s.right = append(s.right, right/left)
	}
	for r, q := range s.rows {
		vec.AddScaled(s.point, s.right[r], q)
	}
	return s, nil
}

// Dim implements [Set].
func (s *Affine) Dim() int { return s.d }

// Rank is the number of independent equations.
func (s *Affine) Rank() int { return len(s.rows) }

// Project writes v − Qᵀ(Qv − b'), row by row, and repeats it to correct the rounding for a distant
// v. O(kd).
func (s *Affine) Project(dst, v []float64) {
	copy(dst, v)
	for range 3 {
		if s.Contains(dst, 0) {
			return
		}
		for r, q := range s.rows {
			vec.AddScaled(dst, s.right[r]-vec.Dot(q, dst), q)
		}
	}
}

// Minimize has a minimum only where c is in the span of the rows (to 1e-12 of its norm): ⟨c, x⟩ is
// then constant and the point is the one nearest to 0. O(kd).
func (s *Affine) Minimize(dst, c []float64) (float64, error) {
	if !s.Attains(c) {
		return 0, ErrUnbounded
	}
	v := vec.Dot(c, s.point)
	copy(dst, s.point)
	return v, nil
}

// Attains implements [Attainer]. The part of c outside the span is formed in blocks of 128
// coordinates: O(kd·⌈d/128⌉).
func (s *Affine) Attains(c []float64) bool {
	tol := float64(1e-12 * vec.Norm2(c))
	var block [128]float64
	for from := 0; from < s.d; from += len(block) {
		to := min(from+len(block), s.d)
		rest := block[:copy(block[:], c[from:to])]
		for _, q := range s.rows {
			vec.AddScaled(rest, -vec.Dot(q, c), q[from:to])
		}
		if vec.Norm2(rest) > tol {
			return false
		}
	}
	return true
}

// Contains implements [Set]; the scale of an equation is |b'_k| + ‖x‖₂. O(kd).
func (s *Affine) Contains(x []float64, tol float64) bool {
	if !vec.Finite(x) {
		return false
	}
	n := vec.Norm2(x)
	for r, q := range s.rows {
		b := s.right[r]
		if math.Abs(vec.Dot(q, x)-b) > float64((tol+slack(s.d))*(math.Abs(b)+n)) {
			return false
		}
	}
	return true
}

// Diameter is +Inf, or 0 for a single point (d independent equations).
func (s *Affine) Diameter() float64 {
	if len(s.rows) == s.d {
		return 0
	}
	return math.Inf(1)
}

// Moved implements [Mover]: Qy = c·b' + Qx0.
func (s *Affine) Moved(c float64, x0 []float64) (Set, error) {
	out := &Affine{d: s.d, rows: s.rows, right: make([]float64, len(s.right)), point: make([]float64, s.d)}
	for r, q := range s.rows {
		out.right[r] = float64(c * s.right[r])
		if x0 != nil {
			out.right[r] += vec.Dot(q, x0)
		}
		vec.AddScaled(out.point, out.right[r], q)
	}
	return out, nil
}

// String describes it in one line, all parameters included.
func (s *Affine) String() string {
	all := make([]float64, 0, len(s.rows)*s.d)
	for _, q := range s.rows {
		all = append(all, q...)
	}
	if len(all) == 0 {
		return fmt.Sprintf("affine(%d)", s.d)
	}
	return fmt.Sprintf("affine(%d, %s, %s)", s.d, formatVector(all), formatVector(s.right))
}
