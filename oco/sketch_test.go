package oco

import (
	"math"
	"testing"

	"github.com/noregret/noregret/internal/linalg"
	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/vec"
)

// TestSketchIsFrequentDirections compares a sketch with the matrix that it approximates. The sketch
// is below the matrix by at most the subtracted eigenvalues, whose sum is within its guarantee.
func TestSketchIsFrequentDirections(t *testing.T) {
	const d, m, rounds = 12, 3, 200
	r := random.New(1, "sketch")
	s, exact, c := newSketch(d, m), make([]float64, d*d), make([]float64, 2*m)
	for k := range rounds {
		v := gradient(r, "gaussian", k, make([]float64, d), false)
		for i := range v {
			v[i] *= math.Pow(.6, float64(i))
		}
		if _, err := s.add(c, v); err != nil {
			t.Fatal(err)
		}
		for i := range d {
			for j := range d {
				exact[i*d+j] += v[i] * v[j]
			}
		}
		for j := range s.Basis.Rank {
			for i := range j + 1 {
				want := 0.0
				if i == j {
					want = 1
				}
				if got := vec.Dot(s.Basis.Q[i*d:(i+1)*d], s.Basis.Q[j*d:(j+1)*d]); math.Abs(got-want) > 1e-13 {
					t.Fatalf("round %d: the basis is not orthonormal: %v", k, got)
				}
			}
		}
	}
	eigen := func(a []float64) []float64 {
		tri, values := linalg.NewTridiagonal(d), make([]float64, d)
		tri.Factor(a, make([]float64, d))
		if !tri.Eigen(values, make([]float64, d*d), make([]float64, d)) {
			t.Fatal("no convergence")
		}
		return values
	}
	diff := append([]float64(nil), exact...)
	for i := range s.Size {
		for j := range s.Size {
			for x, p := range s.Basis.Q[i*d : (i+1)*d] {
				for y, q := range s.Basis.Q[j*d : (j+1)*d] {
					diff[x*d+y] -= s.C[i*s.Size+j] * p * q
				}
			}
		}
	}
	values, removed := eigen(diff), s.Removed.value()
	if values[0] > removed*(1+1e-9) || values[d-1] < -1e-9*removed {
		t.Errorf("C − C̃ has eigenvalues from %v to %v, subtracted were %v", values[d-1], values[0], removed)
	}
	tail := 0.0
	all := eigen(exact)
	for k := d - 1; k >= 0; k-- {
		tail += all[k]
		if k <= m && removed > tail/float64(m+1-k)*(1+1e-9) {
			t.Errorf("%v were subtracted, above the guarantee %v for k = %d", removed, tail/float64(m+1-k), k)
		}
	}
	if removed == 0 {
		t.Error("nothing was subtracted")
	}
}

// TestShrinkRounds: if the sketch subtracts almost nothing from large eigenvalues, the matrix grows
// by rounding, but by no more than is added to the bound.
func TestShrinkRounds(t *testing.T) {
	const d, m = 300, 8
	n := 2 * m
	r := random.New(5, "rounding")
	grew := 0.0
	for range 20 {
		s, c := newSketch(d, m), make([]float64, n)
		for k := range n {
			v := gradient(r, "gaussian", k, make([]float64, d), false)
			if k >= m {
				vec.Scale(v, 1e-9)
			}
			if _, err := s.add(c, v); err != nil || s.rounding != 0 {
				t.Fatalf("rounding %v, %v", s.rounding, err)
			}
		}
		basis, before := append([]float64(nil), s.Basis.Q...), append([]float64(nil), s.C...)
		if err := s.shrink(); err != nil {
			t.Fatal(err)
		}
		// The difference in the coordinates of the old basis.
		diff := before
		for i := range diff {
			diff[i] = -diff[i]
		}
		for k := range m {
			for i := range n {
				p := vec.Dot(basis[i*d:(i+1)*d], s.Basis.Q[k*d:(k+1)*d])
				for j := range n {
					diff[i*n+j] += s.C[k*n+k] * p * vec.Dot(basis[j*d:(j+1)*d], s.Basis.Q[k*d:(k+1)*d])
				}
			}
		}
		tri, values := linalg.NewTridiagonal(n), make([]float64, n)
		tri.Factor(diff, make([]float64, n))
		if !tri.Eigen(values, make([]float64, n*n), make([]float64, n)) {
			t.Fatal("no convergence")
		}
		if values[0] > s.rounding {
			t.Errorf("the matrix grew by %v, but %v was added to the bound", values[0], s.rounding)
		}
		if s.rounding > 1e-11*s.values[0] {
			t.Errorf("%v is added to the bound for an eigenvalue of %v", s.rounding, s.values[0])
		}
		grew = max(grew, values[0])
	}
	if grew <= 0 {
		t.Error("nothing was rounded: the test cannot fail")
	}
}
