package linalg

import "math"

// SolveAugmented solves Ax = b for the row-major n×(n+1) matrix [A b], by Gauss–Jordan elimination
// with partial pivoting, and writes x to dst. The matrix is overwritten. It reports whether every
// pivot had a modulus of at least tiny; if not, dst is unchanged. n³ operations.
func SolveAugmented(dst, a []float64, n int, tiny float64) bool {
	w := n + 1
	for i := range n {
		p := i
		for r := i + 1; r < n; r++ {
			if math.Abs(a[r*w+i]) > math.Abs(a[p*w+i]) {
				p = r
			}
		}
		if !(math.Abs(a[p*w+i]) >= tiny) {
			return false
		}
		pivot := a[i*w : (i+1)*w]
		if p != i {
			swap(a[p*w:(p+1)*w], pivot)
		}
		for r := range n {
			if r == i {
				continue
			}
			row := a[r*w : (r+1)*w]
			q := row[i] / pivot[i]
			for c := i; c < w; c++ {
				row[c] -= float64(q * pivot[c])
			}
		}
	}
	for i := range n {
		dst[i] = a[i*w+n] / a[i*w+i]
	}
	return true
}

// NullVector writes a z ≠ 0 with Az = 0 to dst for a row-major matrix of the given size, by
// Gauss–Jordan elimination with full pivoting. An entry of modulus tiny or less counts as 0. The
// matrix and order, of length cols, are overwritten. It reports whether there is such a z, which is
// certain where cols > rows; if not, dst is 0. O(rows²·cols) operations.
func NullVector(dst, a []float64, rows, cols int, order []int, tiny float64) bool {
	row := func(i int) []float64 { return a[i*cols : (i+1)*cols] }
	for c := range order {
		order[c] = c
	}
	clear(dst)
	rank := 0
	for rank < min(rows, cols) {
		pr, pc, top := -1, -1, tiny
		for i := rank; i < rows; i++ {
			for c := rank; c < cols; c++ {
				if v := math.Abs(row(i)[order[c]]); v > top {
					pr, pc, top = i, c, v
				}
			}
		}
		if pr < 0 {
			break
		}
		if pr != rank {
			swap(row(pr), row(rank))
		}
		order[rank], order[pc] = order[pc], order[rank]
		pivot, col := row(rank), order[rank]
		for i := range rows {
			if i == rank {
				continue
			}
			q := row(i)[col] / pivot[col]
			for c := rank; c < cols; c++ {
				row(i)[order[c]] -= float64(q * pivot[order[c]])
			}
		}
		rank++
	}
	if rank >= cols {
		return false
	}
	free := order[rank]
	dst[free] = 1
	for i := range rank {
		dst[order[i]] = -row(i)[free] / row(i)[order[i]]
	}
	return true
}

// SolveDefinite overwrites v with A⁻¹v for a row-major n×n matrix A that is symmetric and positive
// definite, by elimination without pivoting. A is overwritten. (2/3)n³ operations; Use [Factorize]
// to solve more than one system.
func SolveDefinite(a, v []float64, n int) {
	for i := range n {
		for r := i + 1; r < n; r++ {
			q := a[r*n+i] / a[i*n+i]
			for c := i; c < n; c++ {
				a[r*n+c] -= float64(q * a[i*n+c])
			}
			v[r] -= float64(q * v[i])
		}
	}
	for i := n - 1; i >= 0; i-- {
		for c := i + 1; c < n; c++ {
			v[i] -= float64(a[i*n+c] * v[c])
		}
		v[i] /= a[i*n+i]
	}
}

func swap(x, y []float64) {
	for i, v := range x {
		x[i], y[i] = y[i], v
	}
}
