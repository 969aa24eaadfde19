package simplex

import (
	"errors"
	"fmt"
	"math"
	"slices"
)

// Row is the constraint Sign·(Σ_k p_k·a_k − Limit) ≥ 0, where a_k is the value of the row at point
// k.
type Row struct {
	// Sign is +1 for a lower limit and −1 for an upper one.
	Sign float64
	// Limit is in the units of the values.
	Limit float64
	// Slack > 0 is the violation up to which the constraint counts as satisfied.
	Slack float64
	// Margin is the violation that a solution may use on purpose: 0 or Slack. A slack without
	// margin is for rounding: it is used only if a point, or the whole program, would otherwise
	// violate the constraint by at most the slack.
	Margin float64
}

// violation returns by how much the value y violates the row, at least 0.
func (r *Row) violation(y float64) float64 {
	return max(0, float64(r.Sign*(r.Limit-y)))
}

// Problem is a set of distributions: those on n points that satisfy all rows.
type Problem struct {
	// Points is n, at least 1.
	Points int
	// Rows are the constraints, m in number; there may be none.
	Rows []Row
	// Values has length m·n: row j has the value Values[j·n + k] at point k.
	Values []float64
}

// Errors of programs that are too ill-conditioned to solve in float64.
var (
	ErrSteps     = errors.New("the simplex method does not end")
	ErrSingular  = errors.New("its basis is singular")
	ErrUnbounded = errors.New("the program is unbounded")
	ErrProof     = errors.New("nothing proves that it is infeasible")
	ErrNotFinite = errors.New("its solution is not finite")
)

// tolerance is that of the scaled program's reduced gains and violations.
const tolerance = 1e-10

// Program is the linear program max gain·p, Σp = 1, level_j·p − s_j + v_j = demand_j. Columns are
// the points 0 to n−1, then the surplus s_j, then the artificial v_j. The level of row j at point k
// is sign_j·(a_jk − limit_j)/scale_j, where scale_j is the largest such difference; gains are
// scaled likewise. The zero value is ready for [Program.Init]. A second program of the same size
// allocates nothing. A Program is not safe for concurrent use.
type Program struct {
	// FromInside makes the first phase begin at the point of the largest gain among those that
	// satisfy all rows, if there is one: it is over then. That is faster, but where one gain or
	// level is far outside, the tolerance hides more than from the point of the largest gain of
	// all.
	FromInside bool

	problem *Problem
	gain    []float64 // of the points, scaled to [0, 1]
	unit    float64   // of the gains
	offset  float64   // taken off the gains; Σp = 1 makes it a constant
	scale   []float64 // of the rows
	levels  []float64 // of the points by row: a point's levels are next to each other
	margin  []float64 // of the rows: 0, or the slack where it may be used
	push    []float64 // added to the demand
	demand  []float64 // push − margin, in units of scale
	// refined are the scales that Refine has chosen, 0 for others; they outlast Reset, as relaxed
	// and tol do.
	refined    []float64
	relaxed    bool    // all slacks may be used
	tol        float64 // of gains and violations
	hasOutlier bool    // the level of a point may be above 1, or tol is fine
	weight     []float64
	basis      []int
	x          []float64 // values of the basis
	inBasis    []bool    // of all columns
	dual       []float64 // of the rows, then of Σp
	closed     bool      // artificial columns may not enter
	iterations int
	work       []float64 // of solve
	rhs, col   []float64 // of run
	best       []float64 // of Feasible
	dir, cost1 []float64
}

// zeros returns a slice of n zeros. It reuses the memory of v if its capacity suffices.
func zeros[T any](v []T, n int) []T {
	v = slices.Grow(v[:0], n)[:n]
	clear(v)
	return v
}

// Init discards what Refine and Relax have set for earlier problems and prepares for the given
// number of rows.
func (lp *Program) Init(rows int) {
	lp.refined, lp.relaxed, lp.tol = zeros(lp.refined, rows), false, tolerance
}

// Reset makes lp a program on the problem p, with gains of 0. It keeps p, which must not change
// before the next Reset. Init comes before the first Reset.
func (lp *Program) Reset(p *Problem) {
	n, m := p.Points, len(p.Rows)
	lp.problem, lp.gain, lp.unit, lp.offset, lp.iterations = p, zeros(lp.gain, n), 1, 0, 0
	lp.hasOutlier = lp.tol < tolerance
	lp.scale, lp.levels = zeros(lp.scale, m), zeros(lp.levels, n*m)
	lp.weight, lp.margin = lp.weight[:0], lp.margin[:0]
	for j := range p.Rows {
		r := &p.Rows[j]
		scale, margin := 0.0, r.Margin
		for _, y := range p.Values[j*n : (j+1)*n] {
			scale = max(scale, math.Abs(y-r.Limit))
			if v := r.violation(y); v > 0 && v <= r.Slack {
				margin = r.Slack // this point satisfies the row
			}
		}
		switch {
		case lp.refined[j] > 0:
			scale, lp.hasOutlier = lp.refined[j], true
		case scale == 0:
			scale = 1
		}
		if lp.relaxed {
			margin = r.Slack
		}
		lp.margin = append(lp.margin, margin)
		lp.weight = append(lp.weight, 1)
		lp.scaleBy(j, max(scale, r.Slack))
	}
	lp.inBasis = zeros(lp.inBasis, n+2*m)
	lp.push, lp.demand, lp.dual, lp.x = zeros(lp.push, m), zeros(lp.demand, m), zeros(lp.dual, m+1), zeros(lp.x, m+1)
	lp.rhs, lp.col, lp.dir, lp.cost1 = zeros(lp.rhs, m+1), zeros(lp.col, m+1), zeros(lp.dir, m+1), zeros(lp.cost1, m+1)
	lp.work = zeros(lp.work, (m+1)*(m+2))
}

// scaleBy sets the scale of row j.
func (lp *Program) scaleBy(j int, scale float64) {
	lp.scale[j] = scale
	r, n, m := &lp.problem.Rows[j], lp.problem.Points, len(lp.scale)
	for k, y := range lp.problem.Values[j*n : (j+1)*n] {
		lp.levels[k*m+j] = float64(r.Sign * ((y - r.Limit) / scale))
	}
}

// Push asks for more of row j: its limit moves inwards by v, in the units of its values.
func (lp *Program) Push(j int, v float64) { lp.push[j] = v }

// Scale is the size by which row j is divided.
func (lp *Program) Scale(j int) float64 { return lp.scale[j] }

// Margin is the violation of row j that solutions may use on purpose.
func (lp *Program) Margin(j int) float64 { return lp.margin[j] }

// Relax lets solutions use the slack of all rows, from the next Reset on.
func (lp *Program) Relax() { lp.relaxed = true }

// Iterations is the number of steps since Reset.
func (lp *Program) Iterations() int { return lp.iterations }

// SetObjective sets the gains of the points, which it copies.
func (lp *Program) SetObjective(gain []float64) {
	copy(lp.gain, gain)
	low, high := math.Inf(1), math.Inf(-1)
	for _, v := range lp.gain {
		low, high = min(low, v), max(high, v)
	}
	lp.offset = low
	if lp.unit = high - low; !(lp.unit > 0) {
		lp.unit = 1
	}
	for k := range lp.gain {
		lp.gain[k] = (lp.gain[k] - lp.offset) / lp.unit
	}
}

// level is the scaled value of row j at point k, 0 at the limit.
func (lp *Program) level(k, j int) float64 { return lp.levels[k*len(lp.scale)+j] }

// levelsOf are the levels of point k, by row.
func (lp *Program) levelsOf(k int) []float64 {
	m := len(lp.scale)
	return lp.levels[k*m : (k+1)*m]
}

// Maximize maximizes the gain from the feasible basis at hand, which [Program.Feasible] has found
// or an earlier Maximize has left.
func (lp *Program) Maximize() error { return lp.run(false) }

// Solution writes the distribution at hand to dst, which may be nil, and returns it.
func (lp *Program) Solution(dst []float64) []float64 {
	dst = zeros(dst, lp.problem.Points)
	sum := 0.0
	for i, c := range lp.basis {
		if c < len(dst) {
			dst[c] = max(lp.x[i], 0) / lp.columnScale(c)
			sum += dst[c]
		}
	}
	for k := range dst {
		dst[k] /= sum
	}
	return dst
}

// Prices writes the dual prices ν_j ≥ 0 of the rows to dst after Maximize: the loss of gain per
// unit of the limit. It returns the bound max_k [g_k + Σν_j·(sign_j·(a_jk − limit_j) + margin_j)]
// on the gain of any distribution that satisfies the rows.
func (lp *Program) Prices(dst []float64) (bound float64) {
	lp.multipliers(false)
	bound = math.Inf(-1)
	for k := range lp.problem.Points {
		v := lp.gain[k]
		for j, level := range lp.levelsOf(k) {
			v += float64(max(-lp.dual[j], 0) * (level + lp.margin[j]/lp.scale[j]))
		}
		bound = max(bound, v)
	}
	for j, s := range lp.scale {
		dst[j] = float64(max(-lp.dual[j], 0)*lp.unit) / s
	}
	return float64(bound*lp.unit) + lp.offset
}

const (
	// hidden is the part of a row's scale below which the tolerance may hide what a solution
	// reaches.
	hidden = 1e-3
	// rounded is the part of its terms to which a sum is exact.
	rounded = 1e-13
	// fineTolerance replaces tolerance where that is too coarse.
	fineTolerance = 1e-14
)

// Refine checks the distribution p in the rows' own units; feasible says that p was found to
// satisfy them. If p violates a row whose scale comes from a point far outside and is far above the
// values that p reaches, the scale is reduced to these. If p violates a row although it was found
// feasible, the tolerance becomes finer. Refine reports whether the program must be reset and
// solved again. It returns an error if neither helps and rounding does not explain the violation.
func (lp *Program) Refine(p []float64, feasible bool) (again bool, err error) {
	for j := range lp.problem.Rows {
		r := &lp.problem.Rows[j]
		y, reached, size := 0.0, 0.0, math.Abs(r.Limit)
		for k, w := range p {
			if w == 0 {
				continue
			}
			v := lp.problem.Values[j*lp.problem.Points+k]
			y += float64(w * v)
			reached += float64(w * math.Abs(v-r.Limit))
			size += float64(w * math.Abs(v))
		}
		switch v := float64(r.Sign * (r.Limit - y)); {
		case v-v != 0:
			return false, ErrNotFinite
		case v <= r.Slack+float64(rounded*size):
		case reached < float64(hidden*lp.scale[j]):
			lp.scaleBy(j, max(reached, r.Slack))
			lp.refined[j] = lp.scale[j]
			lp.hasOutlier, again = true, true
		case v <= float64(1.1*r.Slack)+float64(rounded*lp.scale[j]):
		case feasible && lp.tol > fineTolerance:
			lp.tol, lp.hasOutlier, again = fineTolerance, true, true
		case feasible && !again:
			return false, fmt.Errorf("its solution misses the limit %v by %v", r.Limit, v)
		}
	}
	return again, nil
}
