package linalg

import (
	"math"

	"github.com/noregret/noregret/internal/vec"
)

// Tridiagonal is a symmetric matrix S = QTQᵀ, reduced so that systems with S + νI cost O(n) for
// each ν: T is tridiagonal and Q a product of Householder reflections I − β_k v_k v_kᵀ.
type Tridiagonal struct {
	n         int
	v         []float64 // n×n; row k holds v_k from column k+1 on
	beta      []float64
	diag, off []float64
}

// NewTridiagonal allocates n² + 3n numbers for a matrix of dimension n. Call Factor next.
func NewTridiagonal(n int) *Tridiagonal {
	return &Tridiagonal{n, make([]float64, n*n), make([]float64, n), make([]float64, n), make([]float64, n)}
}

// Factor reduces the symmetric row-major matrix s; work has length n. (4/3)n³ multiplications.
func (t *Tridiagonal) Factor(s, work []float64) {
	n, a := t.n, t.v
	copy(a, s)
	for k := range n {
		row := a[k*n : (k+1)*n]
		t.diag[k], t.beta[k], t.off[k] = row[k], 0, 0
		if k+1 == n {
			break
		}
		v := row[k+1:] // by symmetry the column below the diagonal
		norm := vec.Norm2(v)
		if norm == 0 || vec.IsZero(v[1:]) {
			t.off[k] = v[0]
			continue
		}
		alpha := -math.Copysign(norm, v[0])
		t.off[k] = alpha
		if norm >= 0x1p-1000 { // so that β is of order 1
			vec.Scale(v, 1/norm)
		} else { // 1/norm overflows
			for i := range v {
				v[i] /= norm
			}
		}
		v[0] -= alpha / norm
		beta := 2 / vec.Dot(v, v)
		t.beta[k] = beta
		p := work[k+1:]
		for i := range p {
			p[i] = float64(beta * vec.Dot(a[(k+1+i)*n+k+1:(k+2+i)*n], v))
		}
		vec.AddScaled(p, float64(float64(-0.5*beta)*vec.Dot(p, v)), v)
		for i := range p {
			out := a[(k+1+i)*n+k+1 : (k+2+i)*n]
			vi, pi := v[i], p[i]
			for j := range out {
				out[j] -= float64(vi*p[j]) + float64(pi*v[j])
			}
		}
	}
}

func (t *Tridiagonal) reflect(k int, x []float64) {
	if t.beta[k] == 0 {
		return
	}
	v := t.v[k*t.n+k+1 : (k+1)*t.n]
	vec.AddScaled(x[k+1:], float64(-t.beta[k])*vec.Dot(v, x[k+1:]), v)
}

// MulQT overwrites x with Qᵀx. O(n²).
func (t *Tridiagonal) MulQT(x []float64) {
	for k := range t.n {
		t.reflect(k, x)
	}
}

// MulQ overwrites x with Qx. O(n²).
func (t *Tridiagonal) MulQ(x []float64) {
	for k := t.n - 1; k >= 0; k-- {
		t.reflect(k, x)
	}
}

// SolveShifted overwrites x with (T + νI)⁻¹x, for a positive definite T + νI; pivots has length n
// and is overwritten. O(n).
func (t *Tridiagonal) SolveShifted(x, pivots []float64, nu float64) {
	pivots[0] = t.diag[0] + nu
	for i := 1; i < t.n; i++ {
		l := t.off[i-1] / pivots[i-1]
		pivots[i] = t.diag[i] + nu - float64(l*t.off[i-1])
		x[i] -= float64(l * x[i-1])
	}
	x[t.n-1] /= pivots[t.n-1]
	for i := t.n - 2; i >= 0; i-- {
		x[i] = (x[i] - float64(t.off[i]*x[i+1])) / pivots[i]
	}
}

// MinimizeOnBall overwrites x, which holds θ, with the minimizer of ½xᵀSx − ⟨θ, x⟩ over ‖x‖₂ ≤ r:
// x = (S+νI)⁻¹θ, where ν ≥ 0 is 0 or the root of ‖x‖ = r. Newton's method on 1/r − 1/‖x(ν)‖, which
// is convex and decreasing, rises to the root from ν = 0 (Moré and Sorensen 1983). S is positive
// definite. z, w and pivots have length n and are overwritten. O(n²), and O(n) a step.
func (t *Tridiagonal) MinimizeOnBall(x []float64, r float64, z, w, pivots []float64) {
	t.MulQT(x)
	nu, hi := 0.0, vec.Norm2(x)/r
	for range 100 {
		copy(z, x)
		t.SolveShifted(z, pivots, nu)
		n := vec.Norm2(z)
		if n <= r {
			break
		}
		copy(w, z)
		t.SolveShifted(w, pivots, nu)
		next := nu + float64(float64((n-r)/r*n)*(n/vec.Dot(z, w)))
		if !(next < hi) {
			next = 0.5 * (nu + hi)
		}
		if !(next > nu) {
			break
		}
		nu = next
	}
	copy(x, z)
	t.MulQ(x)
}
