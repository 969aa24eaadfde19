package pasto

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
)

// MaximizeHard is [Maximize] with every guardrail of g hard, whatever its own kind (spec 2.4): for a weighted
// sum a linear program, whose support has at most m + 1 arms for m guardrails.
func MaximizeHard(g *Goals, means *Table) (*Optimum, error) {
	if err := means.check(g); err != nil {
		return nil, err
	}
	return Maximize(g.allHard(), means, SolverOptions{})
}

// allHard is g with every guardrail hard.
func (g *Goals) allHard() *Goals {
	h := &Goals{append([]Metric(nil), g.metrics...), g.soft}
	for i := range h.metrics {
		h.metrics[i].Hard = h.metrics[i].Role == Guardrail
	}
	return h
}

// CheckFeasible reports whether some mixture holds all guardrails of g, hard or not: nil, or an error of code
// bad_input that is an [*Infeasible] with the least total violation. O(K·m) a step of the simplex method.
func CheckFeasible(g *Goals, means *Table) error {
	if err := means.check(g); err != nil {
		return err
	}
	lp := newProgram(g, means, func(*Metric) bool { return true })
	feasible, err := lp.least()
	if err != nil || feasible {
		return err
	}
	return bad("guardrails", "%w", lp.infeasible(g))
}

// Infeasible tells of guardrails that no mixture can hold. It is the cause of the error where they are hard,
// and a part of the [Optimum] where they are not.
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

// infeasibleOf is the report that an error carries, or nil.
func infeasibleOf(err error) *Infeasible {
	e, _ := errors.AsType[*Infeasible](err)
	return e
}

func (lp *program) infeasible(g *Goals) *Infeasible {
	e := &Infeasible{Mixture: lp.mixture()}
	theta := make([]float64, lp.means.metrics)
	lp.means.Mean(theta, e.Mixture)
	for _, i := range lp.rows {
		m := &g.metrics[i]
		if v := m.violation(theta[i]); v > 0 {
			e.Violation += v
			e.Metrics = append(e.Metrics, m.Name)
			e.By = append(e.By, v)
		}
	}
	return e
}

// reward is an objective without its hard guardrails.
type reward struct{ *Goals }

// Value implements [Objective].
func (r reward) Value(theta []float64) float64 { return r.Reward(theta) }

// maximizeHard maximizes the reward of g over the mixtures that hold its hard guardrails. The answer is moved
// into them by as much as rounding had left it outside, where that is more than the metrics' slack.
func maximizeHard(g *Goals, means *Table, tol float64, iterations int) (*Optimum, error) {
	opt, err := decompose(g, means, nil, tol, iterations)
	for push := 2.0; err == nil && push < 1e7; push *= 100 {
		opt.Violations = make([]float64, means.metrics)
		theta := make([]float64, means.metrics)
		means.Mean(theta, opt.Mixture)
		tight, broken := make([]float64, means.metrics), false
		for i := range g.metrics {
			if m := &g.metrics[i]; m.Hard {
				opt.Violations[i] = m.violation(theta[i])
				tight[i] = float64(push * opt.Violations[i])
				broken = broken || opt.Violations[i] > m.slack()
			}
		}
		if !broken {
			break
		}
		more, err := decompose(g, means, tight, tol, iterations)
		if err != nil {
			break // there is no room: what there is stays, and says its violation
		}
		opt = more
	}
	return opt, err
}

// decompose is simplicial decomposition: the best mixture of the vertices known so far, by the solver of soft
// objectives, and then the vertex that its gradient likes best, by the linear program. Tight is what is added
// to each metric's demand, nil for nothing. For a linear reward the first vertex is the answer. The gap is
// certified by the dual prices: no mixture that holds the guardrails has a reward above Value + Gap.
func decompose(g *Goals, means *Table, tight []float64, tol float64, iterations int) (*Optimum, error) {
	lp := newProgram(g, means, func(m *Metric) bool { return m.Hard })
	for j, m := range lp.rows {
		if tight != nil {
			lp.tight[j] = tight[m] / lp.scale[j]
		}
	}
	f := reward{g}
	theta, d := make([]float64, means.metrics), make([]float64, means.metrics)
	if k, _ := bestSingle(f, means); k >= 0 {
		copy(theta, means.Arm(k))
	}
	f.Gradient(d, theta)
	lp.aim(d)
	feasible, err := lp.least()
	if err != nil {
		return nil, err
	}
	if !feasible {
		return nil, bad("guardrails", "%w", lp.infeasible(g))
	}
	atoms := &Table{metrics: means.metrics}
	var vertices [][]float64
	var share []float64
	opt := &Optimum{Gap: math.Inf(1), Prices: make([]float64, means.metrics)}
	prices := make([]float64, means.metrics)
	for round := 0; ; round++ {
		if err := lp.run(false); err != nil {
			return nil, err
		}
		if round > 0 {
			gap := max(lp.prices(prices)-dot(theta, d), 0)
			if gap < opt.Gap || opt.Mixture == nil { // a gap that is NaN, by overflow, certifies nothing
				opt.Gap = gap
				copy(opt.Prices, prices)
				opt.Mixture = combine(means.arms, vertices, share)
			}
			if gap <= tol || opt.Iterations >= iterations || round > 10*(means.metrics+len(lp.rows))+200 {
				break
			}
		}
		v := lp.mixture()
		if slices.ContainsFunc(vertices, func(w []float64) bool { return slices.Equal(v, w) }) {
			break // the gap is as small as rounding lets it be
		}
		vertices = append(vertices, v)
		atoms.data = append(atoms.data, make([]float64, means.metrics)...)
		atoms.arms++
		means.Mean(atoms.Arm(atoms.arms-1), v)
		share = append(share, 0)
		if round == 0 {
			share[0] = 1
		}
		_, used := newSolver(f, atoms).solve(share, float64(0.1*tol), 1000)
		opt.Iterations += used + 1
		atoms.Mean(theta, share)
		f.Gradient(d, theta)
		lp.aim(d)
	}
	opt.Iterations += lp.iterations
	ReduceSupport(means, opt.Mixture)
	return opt, nil
}

// combine is the mixture of mixtures.
func combine(arms int, vertices [][]float64, share []float64) []float64 {
	p := make([]float64, arms)
	for i, w := range share {
		if w == 0 {
			continue
		}
		for k, v := range vertices[i] {
			if v != 0 {
				p[k] += float64(w * v)
			}
		}
	}
	return p
}
