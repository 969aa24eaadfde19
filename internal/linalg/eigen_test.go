package linalg

import (
	"math"
	"testing"

	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/vec"
)

// TestEigen checks Sv = λv, orthonormality and order, on full, singular, diagonal and graded
// matrices.
func TestEigen(t *testing.T) {
	r := random.New(1, "eigen")
	for _, n := range []int{1, 2, 3, 7, 40, 50} {
		kinds := map[string][]float64{
			"definite": definite(r, n), "zero": make([]float64, n*n), "graded": make([]float64, n*n),
			"rank one": make([]float64, n*n), "rank two": make([]float64, n*n), "identity": make([]float64, n*n),
		}
		x, y := normals(r, n), make([]float64, n)
		for i := range y {
			y[i] = 1 - 2*float64(i%2)
		}
		for i := range n {
			kinds["identity"][i*n+i] = 3
			for j := range n {
				kinds["rank one"][i*n+j] = x[i] * x[j]
				kinds["rank two"][i*n+j] = x[i]*x[j] + y[i]*y[j]
				kinds["graded"][i*n+j] = kinds["definite"][i*n+j] * math.Pow(10, -float64(i+j)/3)
			}
		}
		for name, s := range kinds {
			tri := NewTridiagonal(n)
			tri.Factor(s, make([]float64, n))
			values, vectors := make([]float64, n), make([]float64, n*n)
			if !tri.Eigen(values, vectors, make([]float64, n)) {
				t.Fatalf("%s(%d): no convergence", name, n)
			}
			image, scale := make([]float64, n), math.Abs(values[0])
			for k, lambda := range values {
				if k > 0 && lambda > values[k-1] {
					t.Errorf("%s(%d): the eigenvalues %v are out of order", name, n, values)
				}
				v := vectors[k*n : (k+1)*n]
				MulSymmetric(image, s, v)
				for i := range v {
					if math.Abs(image[i]-lambda*v[i]) > 1e-13*float64(n)*scale {
						t.Fatalf("%s(%d): Sv = %v at %d, want %v", name, n, image[i], i, lambda*v[i])
					}
				}
				for j := range k + 1 {
					want := 0.0
					if j == k {
						want = 1
					}
					if got := vec.Dot(vectors[j*n:(j+1)*n], v); math.Abs(got-want) > 1e-13*float64(n) {
						t.Fatalf("%s(%d): ⟨v_%d, v_%d⟩ = %v", name, n, j, k, got)
					}
				}
			}
		}
	}
}
