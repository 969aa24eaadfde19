package pasto

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/noregret/noregret"

	"github.com/noregret/noregret/internal/vec"
)

// MaximizeHard is [Maximize] with every guardrail of g hard, whatever its own kind (spec 2.4): for
// a weighted sum a linear program, whose support has at most m + 1 arms for m guardrails.
func MaximizeHard(g *Goals, means *Table) (*Optimum, error) {
	if err := means.check(g); err != nil {
		return nil, err
	}
	return Maximize(g.allHard(), means, SolverOptions{})
}

// allHard is g with every guardrail hard.
func (g *Goals) allHard() *Goals {
	return g.hardened(func(*Metric) bool { return true })
}

// hardened is g with those guardrails hard that take reports, and no others.
func (g *Goals) hardened(take func(*Metric) bool) *Goals {
	metrics := slices.Clone(g.metrics)
	for i := range metrics {
		metrics[i].Hard = metrics[i].Role == Guardrail && take(&g.metrics[i])
	}
	return newGoals(metrics, g.soft)
}

// CheckFeasible reports whether some mixture holds all guardrails of g, hard or not, to within
// their slack: nil, or an error of code bad_input that is an [*Infeasible] with the least total
// violation, or says that the table is too ill-conditioned to tell. O(K·m) a step of the simplex
// method.
func CheckFeasible(g *Goals, means *Table) error {
	if err := means.check(g); err != nil {
		return err
	}
	lp := newProgram(g, means, func(*Metric) bool { return true })
	feasible, err := lp.least()
	if err != nil || feasible {
		return err
	}
	return noregret.BadInputf("guardrails", "%w", lp.infeasible(g))
}

// Infeasible tells of guardrails that no mixture can hold, not even to within their slack. It is
// the cause of the error where they are hard, and a part of the [Optimum] where they are not.
type Infeasible struct {
	// Violation is the least total violation Σ_j (c_j − y_j)₊ of any mixture, in the metrics'
	// units.
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
	return fmt.Sprintf("infeasible: no mixture holds the guardrails; the least total violation is %.6g (%s)",
		e.Violation, strings.Join(parts, ", "))
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

// maximizeHard maximizes the reward of g over the mixtures that hold its hard guardrails.
func maximizeHard(g *Goals, means *Table, tol float64, iterations int) (*Optimum, error) {
	w := &decomposition{}
	if feasible, err := w.maximize(g, means, tol, iterations); err != nil {
		return nil, err
	} else if !feasible {
		return nil, noregret.BadInputf("guardrails", "%w", w.lp.infeasible(g))
	}
	return &w.opt, nil
}

// decomposition is the workspace of simplicial decomposition: a second run on as many arms and
// metrics allocates nothing.
type decomposition struct {
	lp               program
	solver           *solver
	atoms            Table
	theta, d, prices []float64
	tight            []float64
	vertices         [][]float64
	share            []float64
	reducer          reducer
	opt              Optimum
	kept             []float64 // mixture and prices of opt, while a better one is looked for
}

// maximize leaves the best mixture in w.opt. Where no mixture holds the hard guardrails it reports
// so, and lp has the least violation.
func (w *decomposition) maximize(g *Goals, means *Table, tol float64, iterations int) (feasible bool, err error) {
	w.lp.fresh(means.metrics)
	for relaxed := false; ; {
		if feasible, err = w.inside(g, means, tol, iterations); err != nil || !feasible {
			return feasible, err
		}
		again, err := w.lp.refine(w.opt.Mixture, true)
		if err != nil {
			return false, err
		}
		if again {
			continue
		}
		if relaxed || !w.broken(g, means) {
			return true, nil
		}
		relaxed, w.lp.relaxed = true, true // it is for rounding: the other slacks may make room
	}
}

// broken measures the violations of the mixture found, and reports whether one is more than its
// slack.
func (w *decomposition) broken(g *Goals, means *Table) bool {
	w.opt.Violations = zeros(w.opt.Violations, means.metrics)
	means.Mean(w.theta, w.opt.Mixture)
	broken := false
	for i := range g.metrics {
		if m := &g.metrics[i]; m.Hard {
			v := m.violation(w.theta[i])
			w.opt.Violations[i] = v
			broken = broken || v > m.slack()
		}
	}
	return broken
}

// inside is maximize by the scales of the program that there are: the best mixture is moved into
// the hard guardrails by as much as rounding had left it outside, where that is more than the
// metrics' slack.
func (w *decomposition) inside(g *Goals, means *Table, tol float64, iterations int) (feasible bool, err error) {
	if feasible, err = w.run(g, means, nil, tol, iterations); err != nil || !feasible {
		return feasible, err
	}
	w.tight = zeros(w.tight, means.metrics)
	for push := 2.0; w.broken(g, means) && push < 1e7; push *= 100 {
		most := 0.0
		for j, i := range w.lp.rows {
			w.tight[i] = max(w.opt.Violations[i]-w.lp.room[j], 0)
			most = max(most, w.tight[i]/w.lp.scale[j])
		}
		for j, i := range w.lp.rows {
			if w.lp.room[j] > 0 { // all of it may be used up: the next rounding may be to the other side
				w.tight[i] = float64(most * w.lp.scale[j])
			}
			w.tight[i] = float64(push * w.tight[i])
		}
		old := w.opt
		w.kept = append(append(w.kept[:0], w.opt.Mixture...), w.opt.Prices...)
		if more, err := w.run(g, means, w.tight, tol, iterations); err != nil || !more {
			w.opt = old // there is no room: what there is stays
			copy(w.opt.Prices, w.kept[copy(w.opt.Mixture, w.kept):])
			break
		}
	}
	return true, nil
}

// spread is the range of the arms' rewards, to first order at their mean; 1 where they are all the
// same.
func (w *decomposition) spread(g *Goals, means *Table) float64 {
	w.theta, w.d = zeros(w.theta, means.metrics), zeros(w.d, means.metrics)
	for k := range means.arms {
		for i, v := range means.Arm(k) {
			w.theta[i] += v / float64(means.arms)
		}
	}
	reward{g}.Gradient(w.d, w.theta)
	low, high := math.Inf(1), math.Inf(-1)
	for k := range means.arms {
		v := vec.Dot(means.Arm(k), w.d)
		low, high = min(low, v), max(high, v)
	}
	if v := high - low; v > 0 && !math.IsInf(v, 1) {
		return v
	}
	return 1
}

// run is simplicial decomposition: the best mixture of the vertices known so far, by the solver of
// soft objectives, and then the vertex that its gradient likes best, by the linear program. Tight
// is what is added to each metric's demand, nil for nothing. For a linear reward the first vertex
// is the answer. The gap is certified by the dual prices: no mixture that holds the guardrails has
// a reward above Value + Gap.
func (w *decomposition) run(g *Goals, means *Table, tight []float64, tol float64, iterations int) (feasible bool,
	err error,
) {
	m, lp, f := means.metrics, &w.lp, reward{g}
	lp.reset(g, means, func(m *Metric) bool { return m.Hard })
	for j, i := range lp.rows {
		if tight != nil {
			lp.push[j] = tight[i]
		}
	}
	w.theta, w.d, w.prices, w.share = zeros(w.theta, m), zeros(w.d, m), zeros(w.prices, m), w.share[:0]
	w.atoms.arms, w.atoms.metrics, w.atoms.data = 0, m, w.atoms.data[:0]
	w.opt = Optimum{
		Gap: math.Inf(1), Prices: zeros(w.opt.Prices, m), Mixture: w.opt.Mixture[:0],
		Violations: w.opt.Violations,
	}
	if w.solver == nil || len(w.solver.theta) != m {
		w.solver = newSolver(f, &w.atoms)
	}
	w.solver.f, w.solver.err = f, nil
	if k, _ := bestSingle(f, means); k >= 0 {
		copy(w.theta, means.Arm(k))
	}
	f.Gradient(w.d, w.theta)
	lp.aim(w.d)
	if feasible, err := lp.least(); err != nil || !feasible {
		return feasible, err
	}
	for round := 0; ; round++ {
		if err := lp.run(false); err != nil {
			return false, err
		}
		if round > 0 {
			gap := max(lp.prices(w.prices)-vec.Dot(w.theta, w.d), 0)
			if gap < w.opt.Gap || len(w.opt.Mixture) == 0 { // a gap that is NaN, by overflow, certifies nothing
				w.opt.Gap = gap
				copy(w.opt.Prices, w.prices)
				w.combine(means.arms)
			}
			if gap <= tol || w.opt.Iterations >= iterations || round > 10*(m+len(lp.rows))+200 {
				break
			}
		}
		if !w.vertex(means) {
			break // the gap is as small as rounding lets it be
		}
		_, used := w.solver.solve(w.share, float64(0.1*tol), 1000)
		w.opt.Iterations += used + 1
		w.atoms.Mean(w.theta, w.share)
		f.Gradient(w.d, w.theta)
		lp.aim(w.d)
	}
	w.opt.Iterations += lp.iterations
	w.reducer.reduce(means, w.opt.Mixture)
	return true, nil
}

// vertex adds the vertex that the program has found, and reports whether it is a new one.
func (w *decomposition) vertex(means *Table) bool {
	n := len(w.share)
	if n == len(w.vertices) {
		w.vertices = append(w.vertices, nil)
	}
	v := w.lp.mixtureTo(w.vertices[n])
	w.vertices[n] = v
	for _, u := range w.vertices[:n] {
		if slices.Equal(u, v) {
			return false
		}
	}
	w.atoms.data = slices.Grow(w.atoms.data, means.metrics)[:(n+1)*means.metrics]
	w.atoms.arms++
	means.Mean(w.atoms.Arm(n), v)
	w.share = append(w.share, 0)
	if n == 0 {
		w.share[0] = 1
	}
	return true
}

// combine writes the mixture of the vertices.
func (w *decomposition) combine(arms int) {
	p := zeros(w.opt.Mixture, arms)
	for i, share := range w.share {
		if share == 0 {
			continue
		}
		for k, v := range w.vertices[i] {
			if v != 0 {
				p[k] += float64(share * v)
			}
		}
	}
	w.opt.Mixture = p
}
