package oco

import (
	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/linalg"
	"github.com/noregret/noregret/internal/snapshot"
	"github.com/noregret/noregret/internal/vec"
)

// sketch is a frequent-directions sketch (Liberty 2013; Ghashami, Liberty, Phillips and Woodruff
// 2016) of C_t = Σ v_i·v_iᵀ in ℝ^d: a matrix of rank at most 2m, C̃_t ⪯ C_t, written in an
// orthonormal basis. When a vector arrives while 2m directions are in use, the sketch keeps the m
// largest eigenvalues, each less the (m+1)-th, and drops the others. So C̃_t − C̃_{t−1} ⪯ v_t·v_tᵀ,
// and the subtracted eigenvalues sum to at most Σ_{i>k} λ_i(C_T)/(m + 1 − k), for every k ≤ m.
type sketch struct {
	Basis   span
	C       []float64 // C̃ in the basis, Size×Size row by row, 0 beyond the rank
	Size, M int       // min(2m, d), m
	Removed sum       // the subtracted eigenvalues

	rounding float64 // of the last addition, see shrink

	values, vectors, work, block []float64
	tri                          *linalg.Tridiagonal
}

func newSketch(d, m int) *sketch {
	n := min(2*m, d)
	s := &sketch{Basis: span{D: d}, C: make([]float64, n*n), Size: n, M: m}
	s.ready()
	return s
}

// ready allocates the scratch memory.
func (s *sketch) ready() {
	n := s.Size
	s.Basis.work = make([]float64, s.Basis.D)
	s.values, s.vectors, s.work = make([]float64, n), make([]float64, n*n), make([]float64, n)
	s.block, s.tri = make([]float64, n*sketchBlock), linalg.NewTridiagonal(n)
}

// sketchBlock is the number of coordinates whose basis is rotated at once.
const sketchBlock = 256

// add adds v·vᵀ and writes the coordinates of v in the basis to c. It returns the norm of the part
// of v outside the basis, which is due to rounding. An error of code diverged, for eigenvalues that
// cannot be computed, makes the sketch void. O(d·m), and O(d·m² + m³) once in m additions.
func (s *sketch) add(c, v []float64) (left float64, err error) {
	s.rounding = 0
	if left, err = s.include(v); err != nil {
		return 0, err
	}
	s.Basis.coordinates(c, v)
	for i, x := range c {
		if x == 0 {
			continue
		}
		row := s.C[i*s.Size : (i+1)*s.Size]
		for j, y := range c {
			row[j] += float64(x * y)
		}
	}
	return left, nil
}

// include extends the basis by v.
func (s *sketch) include(v []float64) (left float64, err error) {
	if s.Basis.Rank < s.Size || s.Size == s.Basis.D {
		return s.Basis.include(v), nil
	}
	// Does v point outside of the full basis? include would append to it: ask with a copy of the
	// header, whose row is not kept.
	probe := s.Basis
	left = probe.include(v)
	if probe.Rank == s.Basis.Rank {
		return left, nil
	}
	s.Basis.Q = probe.Q[:len(s.Basis.Q)] // the memory that grew
	if err := s.shrink(); err != nil {
		return 0, err
	}
	return s.Basis.include(v), nil
}

// shrinkRounding times the square of the sketch's size bounds the rounding of shrink beside the
// largest eigenvalue: some units in the last place for each of the size² rotations of the
// eigenvectors, and as many for the new basis.
const shrinkRounding = 0x1p-48

// shrink reduces the sketch to m directions. By rounding, C̃ may grow in some direction where it
// should not; the field rounding is an upper bound on that growth.
func (s *sketch) shrink() error {
	n, m, d := s.Size, s.M, s.Basis.D
	s.tri.Factor(s.C, s.work)
	if !s.tri.Eigen(s.values, s.vectors, s.work) {
		return noregret.Errorf(noregret.Diverged, "sketch", "the eigenvalues do not converge")
	}
	s.rounding = float64(shrinkRounding*float64(n)) * float64(n) * max(s.values[0], 0)
	cut := max(s.values[m], 0)
	s.Removed.add(cut)
	clear(s.C)
	for k := range m {
		s.C[k*n+k] = max(s.values[k]-cut, 0)
	}
	// The rows of the basis become those of the eigenvectors, a block of coordinates at a time.
	q := s.Basis.Q
	for from := 0; from < d; from += sketchBlock {
		to := min(from+sketchBlock, d)
		w := to - from
		for k := range n {
			copy(s.block[k*w:(k+1)*w], q[k*d+from:k*d+to])
		}
		for k := range m {
			out := q[k*d+from : k*d+to]
			clear(out)
			for j, f := range s.vectors[k*n : (k+1)*n] {
				for i, v := range s.block[j*w : (j+1)*w] {
					out[i] += float64(f * v)
				}
			}
		}
	}
	s.Basis.Q, s.Basis.Rank = q[:m*d], m
	s.orthonormalize()
	return nil
}

// orthonormalize makes the basis orthonormal again after rounding (Gram and Schmidt).
func (s *sketch) orthonormalize() {
	d := s.Basis.D
	for k := range s.Basis.Rank {
		row := s.Basis.Q[k*d : (k+1)*d]
		for j := range k {
			other := s.Basis.Q[j*d : (j+1)*d]
			vec.AddScaled(row, -vec.Dot(other, row), other)
		}
		vec.Scale(row, 1/vec.Norm2(row))
	}
}

// check returns an error if a restored sketch does not fit dimension d and m directions. It makes
// the scratch memory.
func (s *sketch) check(d, m int) error {
	if s == nil || s.Basis.D != d || s.M != m || s.Size != min(2*m, d) || len(s.C) != s.Size*s.Size ||
		s.Basis.Rank < 0 || s.Basis.Rank > s.Size || !allFinite(s.Basis.Q, s.Basis.Rank*d) ||
		!vec.IsFinite(vec.MaxAbs(s.C)) || !(s.Removed.value() >= 0) {
		return snapshot.Bad("damaged: its sketch does not fit dimension %d and %d directions", d, m)
	}
	s.ready()
	return nil
}
