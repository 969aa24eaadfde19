package pasto

import (
	"fmt"
	"math"
	"strings"
)

// MaximizeHard is the probabilistic solution under hard guardrails, max ⟨w, x⟩·p with y_j·p ≥ c_j
// for every guardrail of the objective, hard or not (spec 2.4): a linear program, solved by the revised
// simplex method with a basis of m + 1 columns for m guardrails. Gap comes from the dual prices ν, F ≤
// max_k [x_k + Σν_j·(y_jk − c_j)], and certifies the value. The support has at most m + 1 arms. When
// no mixture holds the guardrails, the error of code bad_input is an [*Infeasible] with the least total
// violation. The objective must not be soft (softness 0). An iteration is O(K·m + m³).
func MaximizeHard(g *Goals, means *Table) (*Optimum, error) {
	if err := means.check(g); err != nil {
		return nil, err
	}
	if g.soft != 0 {
		return nil, bad("soft", "%v: hard guardrails need a linear objective, softness 0", g.soft)
	}
	lp := newProgram(g, means)
	if err := lp.run(true); err != nil {
		return nil, err
	}
	if v := lp.shortfall(); v > lp.tolerance() {
		return nil, lp.infeasible()
	}
	lp.dropArtificial()
	if err := lp.run(false); err != nil {
		return nil, err
	}
	opt := &Optimum{Mixture: lp.mixture(), Iterations: lp.iterations, Prices: make([]float64, means.metrics)}
	lp.multipliers(false)
	bound := math.Inf(-1)
	for j, m := range lp.rows {
		opt.Prices[m] = max(-lp.dual[j], 0)
	}
	for k := range means.arms {
		v := lp.gain[k]
		for j, m := range lp.rows {
			v += float64(opt.Prices[m] * (lp.level(k, j) - lp.limit[j]))
		}
		bound = max(bound, v)
	}
	for k, w := range opt.Mixture {
		opt.Value += float64(w * lp.gain[k])
	}
	opt.Gap = max(bound-opt.Value, 0)
	return opt, nil
}

// CheckFeasible reports whether some mixture holds all guardrails of g, hard or not: nil, or the error of
// [MaximizeHard].
func CheckFeasible(g *Goals, means *Table) error {
	linear := *g
	linear.soft = 0
	_, err := MaximizeHard(&linear, means)
	return err
}

// Infeasible is the cause of the error for guardrails that no mixture can hold.
type Infeasible struct {
	// Violation is the least total violation Σ_j (c_j − y_j)₊ of any mixture, in the metrics' units.
	Violation float64
	// Metrics are the names of those it falls short of, By the amounts.
	Metrics []string
	By      []float64
	// Mixture has that violation.
	Mixture []float64
}

// Error implements error.
func (e *Infeasible) Error() string {
	parts := make([]string, len(e.Metrics))
	for i, n := range e.Metrics {
		parts[i] = fmt.Sprintf("%q by %.6g", n, e.By[i])
	}
	return fmt.Sprintf("infeasible: no mixture holds the guardrails; the least total violation is %.6g (%s)", e.Violation, strings.Join(parts, ", "))
}

// program is max gain·p, Σp = 1, sign_j·y_j·p − s_j + v_j = limit_j. Columns: arms 0..K−1, then
// surplus s_j, then artificial v_j.
type program struct {
	g          *Goals
	means      *Table
	gain       []float64
	rows       []int     // metric of guardrail j
	sign       []float64 // of its direction
	limit      []float64 // c_j, oriented
	basis      []int
	x          []float64 // values of the basis
	inBasis    map[int]bool
	dual       []float64 // m guardrails, then Σp
	closed     bool      // artificial columns may not enter
	scale      float64
	iterations int
}

func newProgram(g *Goals, means *Table) *program {
	lp := &program{g: g, means: means, gain: make([]float64, means.arms), scale: 1, inBasis: map[int]bool{}}
	for i := range g.metrics {
		m := &g.metrics[i]
		switch m.Role {
		case Primary:
			for k := range lp.gain {
				lp.gain[k] += float64(float64(m.weight()*m.Direction.sign()) * means.Arm(k)[i])
			}
		case Guardrail:
			lp.rows = append(lp.rows, i)
			lp.sign = append(lp.sign, m.Direction.sign())
			lp.limit = append(lp.limit, float64(m.Direction.sign()*m.limit()))
			lp.scale = max(lp.scale, math.Abs(m.limit()))
		}
	}
	for _, v := range means.data {
		lp.scale = max(lp.scale, math.Abs(v))
	}
	lp.dual = make([]float64, len(lp.rows)+1)
	lp.x = make([]float64, len(lp.rows)+1)
	first := 0
	for k, v := range lp.gain {
		if v > lp.gain[first] {
			first = k
		}
	}
	for j := range lp.rows {
		c := means.arms + j
		if lp.level(first, j) < lp.limit[j] {
			c += len(lp.rows)
		}
		lp.basis = append(lp.basis, c)
	}
	lp.basis = append(lp.basis, first)
	for _, c := range lp.basis {
		lp.inBasis[c] = true
	}
	return lp
}

// level is the oriented value of guardrail j at arm k.
func (lp *program) level(k, j int) float64 {
	return float64(lp.sign[j] * lp.means.Arm(k)[lp.rows[j]])
}

func (lp *program) tolerance() float64 { return float64(1e-10 * lp.scale) }

// column writes the constraint column of variable c.
func (lp *program) column(dst []float64, c int) {
	m, k := len(lp.rows), lp.means.arms
	clear(dst)
	switch {
	case c < k:
		for j := range m {
			dst[j] = lp.level(c, j)
		}
		dst[m] = 1
	case c < k+m:
		dst[c-k] = -1
	default:
		dst[c-k-m] = 1
	}
}

// cost is what variable c earns: in the first phase minus the artificial ones.
func (lp *program) cost(c int, first bool) float64 {
	switch k := lp.means.arms; {
	case first && c >= k+len(lp.rows):
		return -1
	case !first && c < k:
		return lp.gain[c]
	}
	return 0
}

// factor solves B·x = rhs, or Bᵀ·x = rhs, by elimination with partial pivoting.
func (lp *program) factor(rhs []float64, transpose bool) ([]float64, bool) {
	n := len(lp.basis)
	a := make([][]float64, n)
	for i := range a {
		a[i] = make([]float64, n+1)
		a[i][n] = rhs[i]
	}
	col := make([]float64, n)
	for i, c := range lp.basis {
		lp.column(col, c)
		for r, v := range col {
			if transpose {
				a[i][r] = v
			} else {
				a[r][i] = v
			}
		}
	}
	for i := range n {
		p := i
		for r := i + 1; r < n; r++ {
			if math.Abs(a[r][i]) > math.Abs(a[p][i]) {
				p = r
			}
		}
		if math.Abs(a[p][i]) < 1e-14 {
			return nil, false
		}
		a[i], a[p] = a[p], a[i]
		for r := range n {
			if r == i {
				continue
			}
			q := a[r][i] / a[i][i]
			for c := i; c <= n; c++ {
				a[r][c] -= float64(q * a[i][c])
			}
		}
	}
	x := make([]float64, n)
	for i := range x {
		x[i] = a[i][n] / a[i][i]
	}
	return x, true
}

func (lp *program) multipliers(first bool) bool {
	c := make([]float64, len(lp.basis))
	for i, b := range lp.basis {
		c[i] = lp.cost(b, first)
	}
	y, ok := lp.factor(c, true)
	if ok {
		copy(lp.dual, y)
	}
	return ok
}

// run is the simplex method: largest reduced gain at first, then Bland's rule, which cannot cycle.
func (lp *program) run(first bool) error {
	m, k := len(lp.rows), lp.means.arms
	rhs := append(append([]float64{}, lp.limit...), 1)
	col := make([]float64, m+1)
	for round := 0; ; round++ {
		if round > 100*(k+m)+10_000 {
			return bad("means", "the linear program did not end in %d steps: it is too ill-conditioned", round)
		}
		x, ok := lp.factor(rhs, false)
		if !ok || !lp.multipliers(first) {
			return bad("means", "the linear program's basis is singular: it is too ill-conditioned")
		}
		copy(lp.x, x)
		enter, best := -1, lp.tolerance()
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
		lp.column(col, enter)
		dir, ok := lp.factor(col, false)
		if !ok {
			return bad("means", "the linear program's basis is singular: it is too ill-conditioned")
		}
		leave, step := -1, math.Inf(1)
		for i, d := range dir {
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
			return bad("means", "the linear program is unbounded: it is too ill-conditioned")
		}
		delete(lp.inBasis, lp.basis[leave])
		lp.basis[leave] = enter
		lp.inBasis[enter] = true
		lp.iterations++
	}
}

// reduced is the gain of letting variable c in.
func (lp *program) reduced(c int, first bool) float64 {
	m, k := len(lp.rows), lp.means.arms
	switch {
	case c < k:
		r := lp.cost(c, first) - lp.dual[m]
		for j := range m {
			r -= float64(lp.dual[j] * lp.level(c, j))
		}
		return r
	case c < k+m:
		return lp.dual[c-k]
	}
	return lp.cost(c, first) - lp.dual[c-k-m]
}

func (lp *program) shortfall() float64 {
	v := 0.0
	for i, c := range lp.basis {
		if c >= lp.means.arms+len(lp.rows) {
			v += max(lp.x[i], 0)
		}
	}
	return v
}

// dropArtificial keeps the artificial variables from entering again.
func (lp *program) dropArtificial() { lp.closed = true }

func (lp *program) mixture() []float64 {
	p := make([]float64, lp.means.arms)
	sum := 0.0
	for i, c := range lp.basis {
		if c < len(p) {
			p[c] = max(lp.x[i], 0)
			sum += p[c]
		}
	}
	for k := range p {
		p[k] /= sum
	}
	return p
}

func (lp *program) infeasible() error {
	e := &Infeasible{Mixture: lp.mixture()}
	theta := make([]float64, lp.means.metrics)
	lp.means.Mean(theta, e.Mixture)
	for _, i := range lp.rows {
		m := &lp.g.metrics[i]
		if v := m.violation(theta[i]); v > 0 {
			e.Violation += v
			e.Metrics = append(e.Metrics, m.Name)
			e.By = append(e.By, v)
		}
	}
	return bad("guardrails", "%w", e)
}
