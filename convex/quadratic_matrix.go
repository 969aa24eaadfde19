package convex

import (
	"math"
	"sync"

	"github.com/noregret/noregret/internal/linalg"
	"github.com/noregret/noregret/internal/vec"
	"gonum.org/v1/gonum/mat"
)

// MatrixQuadratic is ψ(x) = ½xᵀSx on ℝ^d for a symmetric positive definite S: gradient
// Sx, inverse S⁻¹θ, conjugate ½θᵀS⁻¹θ, divergence ½(x−y)ᵀS(x−y), 1-strongly convex in the norm
// ‖·‖_S. Each operation is O(d²), by the Cholesky factor made at construction.
type MatrixQuadratic struct {
	n    int
	s, r []float64
	norm *MatrixNorm
	dual *MatrixNorm
}

// NewMatrixQuadratic makes ½xᵀSx; S is copied and factored, O(d³).
func NewMatrixQuadratic(s *mat.SymDense) (*MatrixQuadratic, error) {
	full, r, n, err := denseSPD("matrix quadratic", s)
	if err != nil {
		return nil, err
	}
	norm := matrixNorm(full, r, n)
	return &MatrixQuadratic{n, full, r, norm, norm.dual()}, nil
}

// Dim implements [MirrorMap].
func (q *MatrixQuadratic) Dim() int { return q.n }

// Value implements [MirrorMap].
func (q *MatrixQuadratic) Value(x []float64) float64 { return q.norm.halfSquare(x, nil) }

// Gradient writes Rᵀ(Rx) for S = RᵀR, in place.
func (q *MatrixQuadratic) Gradient(dst, x []float64) {
	copy(dst, x)
	n := q.n
	for i := range n { // Rx needs x from i on only
		dst[i] = vec.Dot(q.r[i*n+i:(i+1)*n], dst[i:])
	}
	for i := n - 1; i >= 0; i-- { // Rᵀy needs y up to i only
		sum := 0.0
		for k := range i + 1 {
			sum += float64(q.r[k*n+i] * dst[k])
		}
		dst[i] = sum
	}
}

// Inverse writes S⁻¹θ by two triangular solves, in place.
func (q *MatrixQuadratic) Inverse(dst, theta []float64) {
	copy(dst, theta)
	linalg.SolveRT(q.r, q.n, dst)
	linalg.SolveR(q.r, q.n, dst)
}

// Conjugate implements [MirrorMap].
func (q *MatrixQuadratic) Conjugate(theta []float64) float64 { return q.dual.halfSquare(theta, nil) }

// Divergence implements [MirrorMap].
func (q *MatrixQuadratic) Divergence(x, y []float64) float64 { return q.norm.halfSquare(x, y) }

// StrongConvexity is 1 in ‖·‖_S.
func (q *MatrixQuadratic) StrongConvexity() (float64, Norm) { return 1, q.norm }

// Interior reports whether x is finite.
func (q *MatrixQuadratic) Interior(x []float64) bool { return vec.Finite(x) }

// String describes it in one line, all parameters included.
func (q *MatrixQuadratic) String() string { return "matrix-quadratic(" + formatVector(q.s) + ")" }

func (q *MatrixQuadratic) pairs() string {
	return "Space, Euclidean Ball, Box, Simplex, CappedSimplex, Halfspace, Affine, any bounded set"
}

// restrict keeps a pool of workspaces that share the factorizations made here.
func (q *MatrixQuadratic) restrict(s Set) (pair, error) {
	out := pair{lambda: 1, norm: q.norm}
	var tri *linalg.Tridiagonal
	switch s := s.(type) {
	case *Space:
		out.argmax, out.conjugate = q.Inverse, q.Conjugate
		return out, nil
	case *Ball:
		if s.norm.p == 2 {
			tri = linalg.NewTridiagonal(q.n)
			tri.Factor(q.s, make([]float64, q.n))
		}
	case *Box, *Simplex, *CappedSimplex, *Halfspace, *Affine:
	default:
		if math.IsInf(s.Diameter(), 1) {
			return pair{}, errPair
		}
	}
	pool := &sync.Pool{New: func() any {
		w := newMahalanobis(q.n)
		w.s, w.r, w.tri = q.s, q.r, tri
		return w
	}}
	out.argmax = func(dst, theta []float64) {
		w := pool.Get().(*Mahalanobis)
		// The certificate can fail to reach 1e-12 only by rounding; the point is the best found
		// either way.
		_, _ = w.solve(dst, theta, s, 1e-12)
		pool.Put(w)
	}
	return out, nil
}
