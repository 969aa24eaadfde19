package convex

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/linalg"
	"github.com/noregret/noregret/internal/vec"
)

// MatrixNorm is the Mahalanobis norm ‖x‖_A = √(xᵀAx) of a symmetric positive definite A, for
// vectors of A's dimension only.
type MatrixNorm struct {
	n       int
	f       []float64 // ‖x‖ = ‖Fx‖₂, row-major, F triangular
	inverse []float64 // F⁻ᵀ, triangular the other way
	name    string
}

// NewMatrixNorm makes √(xᵀAx); A is copied. O(d³) once.
func NewMatrixNorm(a *mat.SymDense) (*MatrixNorm, error) {
	s, r, n, err := denseSPD("matrix norm", a)
	if err != nil {
		return nil, err
	}
	return matrixNorm(s, r, n), nil
}

// matrixNorm inverts the factor: column i of R⁻ᵀ solves Rᵀx = e_i.
func matrixNorm(s, r []float64, n int) *MatrixNorm {
	inv := make([]float64, n*n)
	x := make([]float64, n)
	for i := range n {
		clear(x)
		x[i] = 1
		linalg.SolveRT(r, n, x)
		for j, v := range x {
			inv[j*n+i] = v
		}
	}
	return &MatrixNorm{n, r, inv, "mahalanobis(" + formatVector(s) + ")"}
}

// Of is √(xᵀAx) as ‖Rx‖₂ with A = RᵀR. O(d²).
func (m *MatrixNorm) Of(x []float64) float64 {
	top := vec.MaxDistance(x, nil)
	if top == 0 || math.IsInf(top, 1) {
		return top
	}
	sum := 0.0
	for i := range m.n {
		v := 0.0
		for j, f := range m.f[i*m.n : (i+1)*m.n] {
			v += float64(f * (x[j] / top))
		}
		sum += float64(v * v)
	}
	return float64(top * math.Sqrt(sum))
}

// halfSquare is ½‖x−y‖²; a nil y is 0.
func (m *MatrixNorm) halfSquare(x, y []float64) float64 {
	sum := 0.0
	for i := range m.n {
		row, v := m.f[i*m.n:(i+1)*m.n], 0.0
		if y == nil {
			v = vec.Dot(row, x)
		} else {
			for j, f := range row {
				v += float64(f * (x[j] - y[j]))
			}
		}
		sum += float64(v * v)
	}
	return 0.5 * sum
}

// Dual is ‖·‖_{A⁻¹}.
func (m *MatrixNorm) Dual() Norm { return m.dual() }

func (m *MatrixNorm) dual() *MatrixNorm {
	return &MatrixNorm{m.n, m.inverse, m.f, "dual-" + m.name}
}

// Regularity is 1.
func (m *MatrixNorm) Regularity() float64 { return 1 }

// String describes it in one line, all parameters included.
func (m *MatrixNorm) String() string { return m.name }

// DiagonalNorm is √(Σ a_i x_i²) with all a_i > 0, for vectors of that length only.
type DiagonalNorm struct{ a []float64 }

// NewDiagonalNorm makes √(Σ a_i x_i²) for finite a_i > 0 whose inverses are finite; a is copied.
func NewDiagonalNorm(a []float64) (*DiagonalNorm, error) {
	if err := checkDim("diagonal norm", len(a)); err != nil {
		return nil, err
	}
	for i, v := range a {
		if !(v > 0) || math.IsInf(v, 1) || math.IsInf(1/v, 1) {
			return nil, noregret.BadInputf("diagonal norm", "a[%d] is %v, want a finite number above 0",
				i, v)
		}
	}
	return &DiagonalNorm{slices.Clone(a)}, nil
}

// Of implements [Norm]. O(d).
func (n *DiagonalNorm) Of(x []float64) float64 {
	top := vec.MaxDistance(x, nil)
	if top == 0 || math.IsInf(top, 1) {
		return top
	}
	sum := 0.0
	for i, v := range x {
		v /= top
		sum += float64(n.a[i] * float64(v*v))
	}
	return float64(top * math.Sqrt(sum))
}

// Dual is √(Σ θ_i²/a_i).
func (n *DiagonalNorm) Dual() Norm {
	inv := make([]float64, len(n.a))
	for i, v := range n.a {
		inv[i] = 1 / v
	}
	return &DiagonalNorm{inv}
}

// Regularity is 1.
func (n *DiagonalNorm) Regularity() float64 { return 1 }

// String describes it in one line, all parameters included.
func (n *DiagonalNorm) String() string { return "diagonal(" + formatVector(n.a) + ")" }

// GroupNorm is the sum of the Euclidean norms of consecutive blocks (the norm of the group lasso),
// or its dual, the largest of them. It applies only to vectors whose length is the sum of the block
// sizes.
type GroupNorm struct {
	sizes []int
	max   bool
}

// NewGroupNorm makes Σ_k ‖x_k‖₂ over consecutive blocks of the given sizes, each at least 1.
func NewGroupNorm(sizes ...int) (*GroupNorm, error) {
	if len(sizes) == 0 {
		return nil, noregret.BadInputf("group norm", "there are 0 blocks, want at least 1")
	}
	for k, n := range sizes {
		if n < 1 {
			return nil, noregret.BadInputf("group norm", "sizes[%d] is %d, want at least 1", k, n)
		}
	}
	return &GroupNorm{sizes: slices.Clone(sizes)}, nil
}

// Dim is the sum of the block sizes.
func (g *GroupNorm) Dim() int {
	d := 0
	for _, n := range g.sizes {
		d += n
	}
	return d
}

// Of implements [Norm]. O(d).
func (g *GroupNorm) Of(x []float64) float64 {
	sum, top := 0.0, 0.0
	for _, n := range g.sizes {
		v := vec.Norm2(x[:n])
		sum, top, x = sum+v, max(top, v), x[n:]
	}
	if g.max {
		return top
	}
	return sum
}

// Dual of the sum is the largest block norm, and the dual of the largest is the sum.
func (g *GroupNorm) Dual() Norm { return &GroupNorm{g.sizes, !g.max} }

// Regularity is 1 if there is one block and 0 otherwise.
func (g *GroupNorm) Regularity() float64 {
	if len(g.sizes) == 1 {
		return 1
	}
	return 0
}

// String describes it in one line, all parameters included.
func (g *GroupNorm) String() string {
	if g.max {
		return fmt.Sprintf("group-max%v", g.sizes)
	}
	return fmt.Sprintf("group%v", g.sizes)
}
