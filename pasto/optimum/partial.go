package optimum

import (
	"errors"
	"math"

	"github.com/noregret/noregret/pasto"
	"github.com/noregret/noregret/pasto/internal/round"
)

// Partial maximizes an objective over the usable arms of a table, again and again, each time from
// the mixture of the time before: what a learner does whose estimates move. It keeps its buffers
// from call to call, and is not safe for concurrent use.
type Partial struct {
	// Table has the means, of all arms. Those of arms that are not usable are never read.
	Table pasto.Table
	// Usable are the arms that a mixture may have. The caller may replace the list.
	Usable []bool
	// Value is that of the last mixture, without hard guardrails, and Err the first error of the
	// objective that a solution had since it was set to nil.
	Value   float64
	Err     error
	f       pasto.Objective
	hard    *pasto.Goals // f, if it has hard guardrails
	solver  *Solver
	program HardSolver
	arms    []int // the usable ones
	part    pasto.Table
	theta   []float64
}

const (
	// A solution takes at most solverSteps passes over all arms, and of large problems so many that
	// mostNumbers are looked at, or fewestSteps; the next goes on from what it found.
	solverSteps = 400
	mostNumbers = 3_000_000_000
	fewestSteps = 30
)

// Reset makes w one for f and a number of arms, whose means are 0. None of them is usable.
func (w *Partial) Reset(f pasto.Objective, arms int) {
	w.f, w.hard = f, nil
	if g, ok := f.(*pasto.Goals); ok && g.HasHard() {
		w.hard = g
	}
	w.Table.Reset(arms, f.Dim())
	w.Usable, w.solver, w.theta = make([]bool, arms), NewSolver(f, &w.Table), make([]float64, f.Dim())
}

// Passes is the number of passes over all arms that solutions without hard guardrails have taken
// since Reset.
func (w *Partial) Passes() int { return w.solver.Passes() }

// Reward is the objective without its hard guardrails.
func (w *Partial) Reward(theta []float64) float64 {
	if w.hard != nil {
		return w.hard.Reward(theta)
	}
	return w.f.Value(theta)
}

// Range returns the range of the usable arms' rewards, +Inf if they are all the same.
func (w *Partial) Range() float64 {
	low, high := math.Inf(1), math.Inf(-1)
	for k, ok := range w.Usable {
		if ok {
			v := w.Reward(w.Table.Arm(k))
			low, high = min(low, v), max(high, v)
		}
	}
	if v := high - low; v > 0 {
		return v
	}
	return math.Inf(1)
}

// Maximize improves p on the usable arms to a gap of a millionth of the range of the arms' scores,
// as far as some hundred passes over the arms do. Under hard guardrails it sets p to the optimum,
// or to the mixture of least violation if none holds them, and reports which; where they are too
// ill-conditioned to tell p stays. It leaves the value in w, and an error of the objective.
func (w *Partial) Maximize(p []float64) (feasible bool) {
	for k, ok := range w.Usable {
		if !ok {
			p[k] = 0
		}
	}
	round.Normalize(p, w.Usable)
	feasible = true
	if w.hard != nil {
		feasible = w.maximizeHard(p)
	} else {
		w.solver.Err, w.solver.Usable = nil, w.Usable
		w.solver.SolveToTolerance(p, 1e-6, steps(len(p), w.Table.Metrics()))
		if w.Err == nil {
			w.Err = w.solver.Err
		}
	}
	w.Table.Mean(w.theta, p)
	w.Value = w.Reward(w.theta)
	return feasible
}

// steps returns the largest number of passes over all arms of a solution with so many arms and
// metrics.
func steps(arms, metrics int) int {
	return int(min(max(int64(mostNumbers)/(int64(arms)*int64(metrics)), fewestSteps), solverSteps))
}

// maximizeHard is Maximize under hard guardrails.
func (w *Partial) maximizeHard(p []float64) (feasible bool) {
	part := w.usable()
	feasible, err := w.program.Maximize(w.hard, part, float64(1e-9*w.program.Spread(w.hard, part)), 10_000)
	switch {
	case err != nil:
		return true // too ill-conditioned: the mixture stays
	case feasible:
		w.expand(p, w.program.Best.Mixture)
	default:
		w.expand(p, w.program.LeastViolation())
	}
	return feasible
}

// usable returns the part of the table that is of usable arms.
func (w *Partial) usable() *pasto.Table {
	w.arms = w.arms[:0]
	w.part.Reset(0, w.Table.Metrics())
	for k, ok := range w.Usable {
		if ok {
			w.arms = append(w.arms, k)
			w.part.Append(w.Table.Arm(k))
		}
	}
	return &w.part
}

// expand makes p the mixture q of the usable arms.
func (w *Partial) expand(p, q []float64) {
	clear(p)
	for i, v := range q {
		p[w.arms[i]] = v
	}
}

// Infeasible returns nil if some mixture of the usable arms holds all guardrails of g, hard or not,
// and else the least violation there is. It is that of single arms, and exact is false, where the
// linear program is too ill-conditioned for more.
func (w *Partial) Infeasible(g *pasto.Goals) (least *Infeasible, exact bool) {
	part := w.usable()
	err := CheckFeasible(g, part)
	if err == nil {
		return nil, true
	}
	if least, exact = errors.AsType[*Infeasible](err); !exact {
		least = leastSingle(g, part)
	}
	if least != nil {
		q := least.Mixture
		least.Mixture = make([]float64, len(w.Usable))
		w.expand(least.Mixture, q)
	}
	return least, exact
}

// leastSingle is the arm of least violation of all guardrails as a report, nil if one holds them.
func leastSingle(g *pasto.Goals, means *pasto.Table) *Infeasible {
	least := &Infeasible{Violation: math.Inf(1)}
	for k := range means.Arms() {
		if g.Holds(means.Arm(k)) {
			return nil
		}
		if e := violation(g, means.Arm(k)); e.Violation < least.Violation {
			e.Mixture = make([]float64, means.Arms())
			e.Mixture[k] = 1
			least = e
		}
	}
	return least
}

// violation reports by how much θ violates the guardrails of g.
func violation(g *pasto.Goals, theta []float64) *Infeasible {
	e := &Infeasible{}
	for i := range g.Metrics() {
		m := &g.Metrics()[i]
		if v := m.Violation(theta[i]); m.Role == pasto.Guardrail && v > 0 {
			e.Violation += v
			e.Metrics = append(e.Metrics, m.Name)
			e.By = append(e.By, v)
		}
	}
	return e
}
