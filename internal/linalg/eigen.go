package linalg

import "math"

// Eigen writes the eigenvalues of the factored S to values, in descending order, and the
// eigenvectors, which are orthonormal, to the rows of the n×n matrix vectors. It reports false if
// the iteration does not converge, which does not happen for finite matrices of moderate size. Off
// is scratch of length n. Implicit QL steps with Wilkinson's shifts (Bowdler, Martin, Reinsch and
// Wilkinson 1968), some 3n³ operations, and 2n³ for the vectors of S. The same bits on every
// machine.
func (t *Tridiagonal) Eigen(values, vectors, off []float64) bool {
	n := t.n
	copy(values, t.diag)
	copy(off, t.off)
	off[n-1] = 0
	clear(vectors[:n*n])
	for i := range n {
		vectors[i*n+i] = 1
	}
	var norm float64
	for i, v := range values {
		norm = max(norm, math.Abs(v)+math.Abs(off[i]))
	}
	negligible := func(k int) bool {
		e := math.Abs(off[k])
		return e <= 0x1p-53*(math.Abs(values[k])+math.Abs(values[k+1])) || e <= 0x1p-60*norm
	}
	for l := range n {
		for iteration := 0; ; iteration++ {
			m := l
			for m+1 < n && !negligible(m) {
				m++
			}
			if m == l {
				break
			}
			if iteration == 100 {
				return false
			}
			stepQL(values, off, vectors, n, l, m)
		}
	}
	for k := range n {
		t.MulQ(vectors[k*n : (k+1)*n])
	}
	sortEigen(values, vectors, n)
	return true
}

// stepQL is an implicit QL step on the block from l to m.
func stepQL(d, e, z []float64, n, l, m int) {
	g := (d[l+1] - d[l]) / (2 * e[l])
	r := hypotenuse(g, 1)
	g = d[m] - d[l] + e[l]/(g+math.Copysign(r, g))
	s, c, p := 1.0, 1.0, 0.0
	for i := m - 1; i >= l; i-- {
		f, b := float64(s*e[i]), float64(c*e[i])
		r = hypotenuse(f, g)
		e[i+1] = r
		if r == 0 { // the block splits
			d[i+1] -= p
			e[m] = 0
			return
		}
		s, c = f/r, g/r
		g = d[i+1] - p
		r = float64((d[i]-g)*s) + float64(2*c*b)
		p = float64(s * r)
		d[i+1] = g + p
		g = float64(c*r) - b
		x, y := z[i*n:(i+1)*n], z[(i+1)*n:(i+2)*n]
		for k, v := range x {
			w := y[k]
			y[k] = float64(s*v) + float64(c*w)
			x[k] = float64(c*v) - float64(s*w)
		}
	}
	d[l] -= p
	e[l] = g
	e[m] = 0
}

// hypotenuse is √(a² + b²) without overflow on the way.
func hypotenuse(a, b float64) float64 {
	a, b = math.Abs(a), math.Abs(b)
	if a < b {
		a, b = b, a
	}
	if a == 0 {
		return 0
	}
	q := b / a
	return float64(a * math.Sqrt(1+float64(q*q)))
}

// sortEigen sorts by insertion, which keeps the order of equal values.
func sortEigen(values, vectors []float64, n int) {
	for i := 1; i < n; i++ {
		for k := i; k > 0 && values[k] > values[k-1]; k-- {
			values[k], values[k-1] = values[k-1], values[k]
			x, y := vectors[(k-1)*n:k*n], vectors[k*n:(k+1)*n]
			for j, v := range x {
				x[j], y[j] = y[j], v
			}
		}
	}
}
