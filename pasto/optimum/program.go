package optimum

import (
	"math"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/vec"
	"github.com/noregret/noregret/pasto"
	"github.com/noregret/noregret/pasto/internal/check"
)

// program is the linear program max gain·p, Σp = 1, level_j·p − s_j + v_j = tight_j. Columns: arms
// 0..K−1, then surplus s_j, then artificial v_j. The level of guardrail j at arm k is sign_j·(y_jk
// − c_j) over scale_j, the largest such number, and gains are scaled likewise, so that one
// tolerance fits every row: a metric in millions does not hide one in millionths. Where an arm far
// outside would hide the others of its own row, that row's scale is what the mixtures looked at
// reach ([program.refine]).
//
// A guardrail that has a Slack of its own may be passed by it: tight_j is below 0. The slack that
// is there for rounding alone is used only where an arm, or every mixture, would be beyond the
// guardrail by no more than it.
type program struct {
	means      *pasto.Table
	gain       []float64 // of the arms, of size at most 1
	unit       float64   // of the gains
	offset     float64   // taken off them; Σp = 1 makes it a constant
	rows       []int     // metric of guardrail j
	sign       []float64 // of its direction
	limit      []float64 // c_j
	scale      []float64
	slack      []float64 // of the guardrails
	room       []float64 // 0, or the slack, where it may be used
	push       []float64 // what is added to the demand
	tight      []float64 // push − room, in units of scale
	units      []float64 // scales of metrics that refine has chosen, 0 for others; they outlast reset
	wild       bool      // an arm's level may be above 1, or tol is sharp
	relaxed    bool      // all slacks may be used; outlasts reset
	tol        float64   // of gains and violations; outlasts reset
	weight     []float64 // of the violations in the first phase
	basis      []int
	x          []float64 // values of the basis
	inBasis    []bool    // of all columns
	dual       []float64 // m guardrails, then Σp
	closed     bool      // artificial columns may not enter
	iterations int
	work       []float64 // of factor
	rhs, col   []float64 // of run
	mix        []float64 // of least
	dir, cost1 []float64
}

// tolerance is that of the scaled program's reduced gains and violations.
const tolerance = 1e-10

// newProgram takes the guardrails that take reports, with zero gains.
func newProgram(g *pasto.Goals, means *pasto.Table, take func(m *pasto.Metric) bool) *program {
	lp := &program{}
	lp.fresh(means.Metrics())
	lp.reset(g, means, take)
	return lp
}

// fresh forgets what earlier programs had needed.
func (lp *program) fresh(metrics int) {
	lp.units, lp.relaxed, lp.tol = check.Zeros(lp.units, metrics), false, tolerance
}

// reset makes lp a new program, in its old memory.
func (lp *program) reset(g *pasto.Goals, means *pasto.Table, take func(m *pasto.Metric) bool) {
	lp.means, lp.gain, lp.unit, lp.offset, lp.iterations = means, check.Zeros(lp.gain, means.Arms()), 1, 0, 0
	lp.wild = lp.tol < tolerance
	lp.rows, lp.sign, lp.limit, lp.scale, lp.weight = lp.rows[:0], lp.sign[:0], lp.limit[:0], lp.scale[:0],
		lp.weight[:0]
	lp.slack, lp.room = lp.slack[:0], lp.room[:0]
	for i := range g.Metrics() {
		m := &g.Metrics()[i]
		if m.Role != pasto.Guardrail || !take(m) {
			continue
		}
		scale, slack, room := 0.0, m.Tolerance(), m.Slack
		for k := range means.Arms() {
			y := means.Arm(k)[i]
			scale = max(scale, math.Abs(y-m.Limit()))
			if v := m.Violation(y); v > 0 && v <= slack {
				room = slack // this arm holds it
			}
		}
		switch {
		case lp.units[i] > 0:
			scale, lp.wild = lp.units[i], true
		case scale == 0:
			scale = 1
		}
		if lp.relaxed {
			room = slack
		}
		lp.rows = append(lp.rows, i)
		lp.sign = append(lp.sign, m.Direction.Sign())
		lp.limit = append(lp.limit, m.Limit())
		lp.scale = append(lp.scale, max(scale, slack))
		lp.slack, lp.room = append(lp.slack, slack), append(lp.room, room)
		lp.weight = append(lp.weight, 1)
	}
	n := len(lp.rows) + 1
	lp.inBasis = check.Zeros(lp.inBasis, means.Arms()+2*len(lp.rows))
	lp.push, lp.tight, lp.dual, lp.x = check.Zeros(lp.push, n-1), check.Zeros(lp.tight, n-1), check.Zeros(lp.dual, n),
		check.Zeros(lp.x, n)
	lp.rhs, lp.col, lp.dir, lp.cost1 = check.Zeros(lp.rhs, n), check.Zeros(lp.col, n), check.Zeros(lp.dir, n),
		check.Zeros(lp.cost1, n)
	lp.work = check.Zeros(lp.work, n*(n+1))
}

// tighten sets what the guardrails demand.
func (lp *program) tighten() {
	for j, s := range lp.scale {
		lp.tight[j] = (lp.push[j] - lp.room[j]) / s
	}
}

// aim sets the gains to ⟨d, μ_k⟩.
func (lp *program) aim(d []float64) {
	low, high := math.Inf(1), math.Inf(-1)
	for k := range lp.gain {
		v := vec.Dot(lp.means.Arm(k), d)
		lp.gain[k] = v
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

// begin makes the basis of the arm of the largest gain, with surplus where it holds a guardrail and
// artificial variables where it does not.
func (lp *program) begin() {
	first := 0
	for k, v := range lp.gain {
		if v > lp.gain[first] {
			first = k
		}
	}
	lp.basis, lp.closed = lp.basis[:0], false
	for j := range lp.rows {
		c := lp.means.Arms() + j
		if lp.level(first, j) < lp.tight[j] {
			c += len(lp.rows)
		}
		lp.basis = append(lp.basis, c)
	}
	lp.basis = append(lp.basis, first)
	clear(lp.inBasis)
	for _, c := range lp.basis {
		lp.inBasis[c] = true
	}
}

// level is the scaled value of guardrail j at arm k, 0 at the threshold.
func (lp *program) level(k, j int) float64 {
	return float64(lp.sign[j] * ((lp.means.Arm(k)[lp.rows[j]] - lp.limit[j]) / lp.scale[j]))
}

// large is what the column, the cost and the value of variable c are divided, divided and
// multiplied by: above 1 only for arms far outside, of a level above 1.
func (lp *program) large(c int) float64 {
	v := 1.0
	if c < lp.means.Arms() && lp.wild {
		for j := range lp.rows {
			v = max(v, math.Abs(lp.level(c, j)))
		}
	}
	return v
}

// column writes the constraint column of variable c.
func (lp *program) column(dst []float64, c int) {
	m, k := len(lp.rows), lp.means.Arms()
	clear(dst)
	switch {
	case c < k:
		unit := lp.large(c)
		for j := range m {
			dst[j] = lp.level(c, j) / unit
		}
		dst[m] = 1 / unit
	case c < k+m:
		dst[c-k] = -1
	default:
		dst[c-k-m] = 1
	}
}

// cost is what variable c earns: in the first phase minus the artificial ones.
func (lp *program) cost(c int, first bool) float64 {
	switch k := lp.means.Arms(); {
	case first && c >= k+len(lp.rows):
		return -lp.weight[c-k-len(lp.rows)]
	case !first && c < k:
		return lp.gain[c]
	}
	return 0
}

// factor solves B·x = rhs, or Bᵀ·x = rhs, by elimination with partial pivoting, and writes x to
// dst, which may be rhs.
func (lp *program) factor(dst, rhs []float64, transpose bool) bool {
	n := len(lp.basis)
	row := func(i int) []float64 { return lp.work[i*(n+1) : (i+1)*(n+1)] }
	unit := math.Inf(1) // of the last row, Σp: its largest entry becomes 1
	for _, c := range lp.basis {
		if c < lp.means.Arms() {
			unit = min(unit, lp.large(c))
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
	for i := range n {
		p := i
		for r := i + 1; r < n; r++ {
			if math.Abs(row(r)[i]) > math.Abs(row(p)[i]) {
				p = r
			}
		}
		if math.Abs(row(p)[i]) < 1e-14 {
			return false
		}
		pivot := row(i)
		if p != i {
			for c, v := range row(p) {
				row(p)[c], pivot[c] = pivot[c], v
			}
		}
		for r := range n {
			if r == i {
				continue
			}
			other := row(r)
			q := other[i] / pivot[i]
			for c := i; c <= n; c++ {
				other[c] -= float64(q * pivot[c])
			}
		}
	}
	for i := range dst {
		dst[i] = row(i)[n] / row(i)[i]
	}
	if transpose {
		dst[n-1] *= unit
	}
	return true
}

func (lp *program) multipliers(first bool) bool {
	for i, b := range lp.basis {
		lp.cost1[i] = lp.cost(b, first) / lp.large(b)
	}
	ok := lp.factor(lp.col, lp.cost1, true)
	if ok {
		copy(lp.dual, lp.col)
	}
	return ok
}

// run is the simplex method: largest reduced gain at first, then Bland's rule, which cannot cycle.
func (lp *program) run(first bool) error {
	m, k := len(lp.rows), lp.means.Arms()
	copy(lp.rhs, lp.tight)
	lp.rhs[m] = 1
	most := 100*(k+m) + 10_000
	if lp.wild {
		most = 10*(k+m) + 1000 // it may go round and round by rounding
	}
	for round := 0; ; round++ {
		if round > most {
			return noregret.BadInputf("means", "the linear program did not end in %d steps: it is too ill-conditioned",
				round)
		}
		if !lp.factor(lp.x, lp.rhs, false) || !lp.multipliers(first) {
			return noregret.BadInputf("means", "the linear program's basis is singular: it is too ill-conditioned")
		}
		enter, best := -1, lp.tol
		columns := k + 2*m
		if lp.closed {
			columns = k + m
		}
		for c := range columns {
			if lp.inBasis[c] {
				continue
			}
			if r := lp.reduced(c, first); r > best {
				if enter, best = c, r; round > 20*(m+2)+k {
					break // Bland: the first
				}
			}
		}
		if enter < 0 {
			return nil
		}
		lp.column(lp.col, enter)
		if !lp.factor(lp.dir, lp.col, false) {
			return noregret.BadInputf("means", "the linear program's basis is singular: it is too ill-conditioned")
		}
		leave, step := -1, math.Inf(1)
		for i, d := range lp.dir {
			switch {
			case d > 1e-12:
				if q := max(lp.x[i], 0) / d; q < step || q == step && lp.basis[i] < lp.basis[leave] {
					leave, step = i, q
				}
			case d < -1e-12 && lp.closed && lp.basis[i] >= k+m: // an artificial variable may not grow
				if leave < 0 || step > 0 {
					leave, step = i, 0
				}
			}
		}
		if leave < 0 {
			return noregret.BadInputf("means", "the linear program is unbounded: it is too ill-conditioned")
		}
		lp.inBasis[lp.basis[leave]] = false
		lp.basis[leave] = enter
		lp.inBasis[enter] = true
		lp.iterations++
	}
}

// reduced is the gain of letting variable c in.
func (lp *program) reduced(c int, first bool) float64 {
	m, k := len(lp.rows), lp.means.Arms()
	switch {
	case c < k:
		r := lp.cost(c, first) - lp.dual[m]
		for j := range m {
			r -= float64(lp.dual[j] * lp.level(c, j))
		}
		if lp.wild {
			r -= lp.blur(c)
		}
		return r
	case c < k+m:
		return lp.dual[c-k]
	}
	return lp.cost(c, first) - lp.dual[c-k-m]
}

// blur is how much of the reduced gain of arm c may be rounding.
func (lp *program) blur(c int) float64 {
	size := math.Abs(lp.dual[len(lp.rows)])
	for j, d := range lp.dual[:len(lp.rows)] {
		size += math.Abs(float64(d * lp.level(c, j)))
	}
	return float64(4e-16 * size)
}

func (lp *program) shortfall() float64 {
	v := 0.0
	for i, c := range lp.basis {
		if c >= lp.means.Arms()+len(lp.rows) {
			v += max(lp.x[i], 0)
		}
	}
	return v
}

// prices are the duals ν_j ≥ 0 of the guardrails in the metrics' units, after run(false), and the
// bound max_k [g_k + Σν_j·(y_jk − c_j + room_j)] on ⟨g, p⟩ of any mixture that holds them.
func (lp *program) prices(dst []float64) (bound float64) {
	clear(dst)
	lp.multipliers(false)
	bound = math.Inf(-1)
	for k := range lp.means.Arms() {
		v := lp.gain[k]
		for j := range lp.rows {
			v += float64(max(-lp.dual[j], 0) * (lp.level(k, j) + lp.room[j]/lp.scale[j]))
		}
		bound = max(bound, v)
	}
	for j, m := range lp.rows {
		dst[m] = float64(max(-lp.dual[j], 0)*lp.unit) / lp.scale[j]
	}
	return float64(bound*lp.unit) + lp.offset
}

// firstPrices are the prices in [0, 1] of the least violation, after least has reported false: how
// much less it would be for a unit less of each threshold.
func (lp *program) firstPrices(dst []float64) {
	clear(dst)
	lp.multipliers(true)
	for j, m := range lp.rows {
		if lp.weight[j] > 0 {
			dst[m] = min(max(-lp.dual[j], 0)/lp.weight[j], 1)
		}
	}
}

func (lp *program) mixture() []float64 { return lp.mixtureTo(nil) }

// mixtureTo is mixture in the memory of p, where there is enough.
func (lp *program) mixtureTo(p []float64) []float64 {
	p = check.Zeros(p, lp.means.Arms())
	sum := 0.0
	for i, c := range lp.basis {
		if c < len(p) {
			p[c] = max(lp.x[i], 0) / lp.large(c)
			sum += p[c]
		}
	}
	for k := range p {
		p[k] /= sum
	}
	return p
}
