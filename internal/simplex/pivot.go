package simplex

import (
	"math"

	"github.com/noregret/noregret/internal/linalg"
)

// columnScale divides the column and the cost of variable c and multiplies its value. It is above 1
// only for points far outside, of a level above 1.
func (lp *Program) columnScale(c int) float64 {
	v := 1.0
	if c < lp.problem.Points && lp.hasOutlier {
		for _, level := range lp.levelsOf(c) {
			v = max(v, math.Abs(level))
		}
	}
	return v
}

// column writes the constraint column of variable c.
func (lp *Program) column(dst []float64, c int) {
	m, n := len(lp.scale), lp.problem.Points
	clear(dst)
	switch {
	case c < n:
		unit := lp.columnScale(c)
		for j, level := range lp.levelsOf(c) {
			dst[j] = level / unit
		}
		dst[m] = 1 / unit
	case c < n+m:
		dst[c-n] = -1
	default:
		dst[c-n-m] = 1
	}
}

// cost is the gain of variable c, or in the first phase minus its violation.
func (lp *Program) cost(c int, first bool) float64 {
	switch n := lp.problem.Points; {
	case first && c >= n+len(lp.scale):
		return -lp.weight[c-n-len(lp.scale)]
	case !first && c < n:
		return lp.gain[c]
	}
	return 0
}

// solve solves B·x = rhs, or Bᵀ·x = rhs, for the basis B, and writes x to dst, which may be rhs. It
// reports false if B is singular.
func (lp *Program) solve(dst, rhs []float64, transpose bool) bool {
	n := len(lp.basis)
	row := func(i int) []float64 { return lp.work[i*(n+1) : (i+1)*(n+1)] }
	unit := math.Inf(1) // of the last row, Σp: its largest entry becomes 1
	for _, c := range lp.basis {
		if c < lp.problem.Points {
			unit = min(unit, lp.columnScale(c))
		}
	}
	for i, v := range rhs {
		row(i)[n] = v
	}
	if !transpose {
		row(n - 1)[n] *= unit
	}
	for i, c := range lp.basis {
		lp.column(dst, c)
		dst[n-1] *= unit
		for r, v := range dst {
			if transpose {
				row(i)[r] = v
			} else {
				row(r)[i] = v
			}
		}
	}
	if !linalg.SolveAugmented(dst, lp.work, n, 1e-14) {
		return false
	}
	if transpose {
		dst[n-1] *= unit
	}
	return true
}

// multipliers computes the dual variables of the basis.
func (lp *Program) multipliers(first bool) bool {
	for i, b := range lp.basis {
		lp.cost1[i] = lp.cost(b, first) / lp.columnScale(b)
	}
	ok := lp.solve(lp.col, lp.cost1, true)
	if ok {
		copy(lp.dual, lp.col)
	}
	return ok
}

// run is the simplex method: it enters the column of the largest reduced gain at first, and then by
// Bland's rule.
func (lp *Program) run(first bool) error {
	m, n := len(lp.scale), lp.problem.Points
	copy(lp.rhs, lp.demand)
	lp.rhs[m] = 1
	most := 100*(n+m) + 10_000
	if lp.hasOutlier {
		most = 10*(n+m) + 1000 // rounding may make it cycle
	}
	for round := 0; ; round++ {
		if round > most {
			return ErrSteps
		}
		if !lp.solve(lp.x, lp.rhs, false) || !lp.multipliers(first) {
			return ErrSingular
		}
		enter := lp.entering(first, round > 20*(m+2)+n)
		if enter < 0 {
			return nil
		}
		lp.column(lp.col, enter)
		if !lp.solve(lp.dir, lp.col, false) {
			return ErrSingular
		}
		leave := lp.leaving()
		if leave < 0 {
			return ErrUnbounded
		}
		lp.inBasis[lp.basis[leave]] = false
		lp.basis[leave] = enter
		lp.inBasis[enter] = true
		lp.iterations++
	}
}

// entering returns the column of the largest reduced gain above the tolerance, or the first such
// column by Bland's rule; −1 if there is none.
func (lp *Program) entering(first, bland bool) int {
	enter, best := -1, lp.tol
	columns := lp.problem.Points + 2*len(lp.scale)
	if lp.closed {
		columns -= len(lp.scale)
	}
	for c := range columns {
		if lp.inBasis[c] {
			continue
		}
		if r := lp.reduced(c, first); r > best {
			if enter, best = c, r; bland {
				break
			}
		}
	}
	return enter
}

// leaving returns the position in the basis of the variable that first becomes 0 along dir; −1 if
// there is none.
func (lp *Program) leaving() int {
	leave, step := -1, math.Inf(1)
	for i, d := range lp.dir {
		switch {
		case d > 1e-12:
			if q := max(lp.x[i], 0) / d; q < step || q == step && lp.basis[i] < lp.basis[leave] {
				leave, step = i, q
			}
		case d < -1e-12 && lp.closed && lp.basis[i] >= lp.problem.Points+len(lp.scale):
			// an artificial variable may not grow
			if leave < 0 || step > 0 {
				leave, step = i, 0
			}
		}
	}
	return leave
}

// reduced is the gain of a unit of variable c.
func (lp *Program) reduced(c int, first bool) float64 {
	m, n := len(lp.scale), lp.problem.Points
	switch {
	case c < n:
		r := lp.cost(c, first) - lp.dual[m]
		for j, level := range lp.levelsOf(c) {
			r -= float64(lp.dual[j] * level)
		}
		if lp.hasOutlier {
			r -= lp.roundingError(c)
		}
		return r
	case c < n+m:
		return lp.dual[c-n]
	}
	return lp.cost(c, first) - lp.dual[c-n-m]
}

// roundingError bounds what rounding may add to the reduced gain of point c.
func (lp *Program) roundingError(c int) float64 {
	size := math.Abs(lp.dual[len(lp.scale)])
	for j, level := range lp.levelsOf(c) {
		size += math.Abs(float64(lp.dual[j] * level))
	}
	return float64(4e-16 * size)
}
