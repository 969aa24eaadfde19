package convex

import (
	"gonum.org/v1/gonum/mat"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/linalg"
)

// denseSPD copies a symmetric positive definite matrix and its factor, row-major.
func denseSPD(what string, a *mat.SymDense) (s, r []float64, n int, err error) {
	if a == nil || a.IsEmpty() {
		return nil, nil, 0, noregret.BadInputf(what,
			"the matrix is empty, want a symmetric positive definite one")
	}
	n = a.SymmetricDim()
	s = make([]float64, n*n)
	for i := range n {
		for j := range n {
			v := a.At(i, j)
			if v-v != 0 {
				return nil, nil, 0, noregret.BadInputf(what,
					"entry [%d][%d] is %v, want a finite number", i, j, v)
			}
			s[i*n+j] = v
		}
	}
	r = append([]float64(nil), s...)
	if !linalg.Factorize(r, n) {
		return nil, nil, 0, noregret.BadInputf(what,
			"the matrix of dimension %d is not positive definite", n)
	}
	return s, r, n, nil
}
