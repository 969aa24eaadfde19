package convex

import (
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/noregret/noregret"
)

// The factorizations are written out because those of gonum sum in an order that depends on the
// machine.

// cholesky overwrites the row-major n×n matrix with R in its upper triangle, A = RᵀR, and 0 below.
// It reads the upper triangle and reports whether A is positive definite.
func cholesky(a []float64, n int) bool {
	for k := range n {
		row := a[k*n : (k+1)*n]
		pivot := row[k]
		if !(pivot > 0) || math.IsInf(pivot, 1) {
			return false
		}
		root := math.Sqrt(pivot)
		clear(row[:k])
		for j := k; j < n; j++ {
			row[j] /= root
		}
		for i := k + 1; i < n; i++ {
			addScaled(a[i*n+i:(i+1)*n], -row[i], row[i:])
		}
	}
	return true
}

// solveRT overwrites x with R⁻ᵀx.
func solveRT(r []float64, n int, x []float64) {
	for i := range n {
		row := r[i*n : (i+1)*n]
		x[i] /= row[i]
		addScaled(x[i+1:], -x[i], row[i+1:])
	}
}

// solveR overwrites x with R⁻¹x.
func solveR(r []float64, n int, x []float64) {
	for i := n - 1; i >= 0; i-- {
		row := r[i*n : (i+1)*n]
		x[i] = (x[i] - Dot(row[i+1:], x[i+1:n])) / row[i]
	}
}

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
	if !cholesky(r, n) {
		return nil, nil, 0, noregret.BadInputf(what,
			"the matrix of dimension %d is not positive definite", n)
	}
	return s, r, n, nil
}

// symmetricMul writes Sx for a row-major matrix; dst is not x.
func symmetricMul(dst, s, x []float64) {
	n := len(x)
	for i := range dst {
		dst[i] = Dot(s[i*n:(i+1)*n], x)
	}
}

// tridiagonal is S = QTQᵀ with T tridiagonal and Q a product of Householder reflections I − β_k v_k
// v_kᵀ.
type tridiagonal struct {
	n         int
	v         []float64 // n×n; row k holds v_k from column k+1 on
	beta      []float64
	diag, off []float64
}

func newTridiagonal(n int) *tridiagonal {
	return &tridiagonal{n, make([]float64, n*n), make([]float64, n), make([]float64, n), make([]float64, n)}
}

// factor takes the symmetric row-major matrix s; work has length n. (4/3)n³ multiplications.
func (t *tridiagonal) factor(s, work []float64) {
	n, a := t.n, t.v
	copy(a, s)
	for k := range n {
		row := a[k*n : (k+1)*n]
		t.diag[k], t.beta[k], t.off[k] = row[k], 0, 0
		if k+1 == n {
			break
		}
		v := row[k+1:] // by symmetry the column below the diagonal
		norm := Norm2(v)
		if norm == 0 || isZero(v[1:]) {
			t.off[k] = v[0]
			continue
		}
		alpha := -math.Copysign(norm, v[0])
		t.off[k] = alpha
		if norm >= 0x1p-1000 { // so that β is of order 1
			scaleBy(v, 1/norm)
		} else { // 1/norm overflows
			for i := range v {
				v[i] /= norm
			}
		}
		v[0] -= alpha / norm
		beta := 2 / Dot(v, v)
		t.beta[k] = beta
		p := work[k+1:]
		for i := range p {
			p[i] = float64(beta * Dot(a[(k+1+i)*n+k+1:(k+2+i)*n], v))
		}
		addScaled(p, float64(float64(-0.5*beta)*Dot(p, v)), v)
		for i := range p {
			out := a[(k+1+i)*n+k+1 : (k+2+i)*n]
			vi, pi := v[i], p[i]
			for j := range out {
				out[j] -= float64(vi*p[j]) + float64(pi*v[j])
			}
		}
	}
}

func (t *tridiagonal) reflect(k int, x []float64) {
	if t.beta[k] == 0 {
		return
	}
	v := t.v[k*t.n+k+1 : (k+1)*t.n]
	addScaled(x[k+1:], float64(-t.beta[k])*Dot(v, x[k+1:]), v)
}

// mulQT overwrites x with Qᵀx.
func (t *tridiagonal) mulQT(x []float64) {
	for k := range t.n {
		t.reflect(k, x)
	}
}

// mulQ overwrites x with Qx.
func (t *tridiagonal) mulQ(x []float64) {
	for k := t.n - 1; k >= 0; k-- {
		t.reflect(k, x)
	}
}

// solve overwrites x with (T + νI)⁻¹x; pivots has length n and is overwritten.
func (t *tridiagonal) solve(x, pivots []float64, nu float64) {
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

// onBall overwrites x, which holds θ, with the minimizer of ½xᵀSx − ⟨θ,x⟩ over ‖x‖₂ ≤ r: x =
// (S+νI)⁻¹θ, where ν ≥ 0 is 0 or the root of ‖x‖ = r. Newton's method on 1/r − 1/‖x(ν)‖, convex and
// decreasing, rises to the root from ν = 0. z, w and pivots have length n.
func (t *tridiagonal) onBall(x []float64, r float64, z, w, pivots []float64) {
	t.mulQT(x)
	nu, hi := 0.0, Norm2(x)/r
	for range 100 {
		copy(z, x)
		t.solve(z, pivots, nu)
		n := Norm2(z)
		if n <= r {
			break
		}
		copy(w, z)
		t.solve(w, pivots, nu)
		next := nu + float64(float64((n-r)/r*n)*(n/Dot(z, w)))
		if !(next < hi) {
			next = 0.5 * (nu + hi)
		}
		if !(next > nu) {
			break
		}
		nu = next
	}
	copy(x, z)
	t.mulQ(x)
}
