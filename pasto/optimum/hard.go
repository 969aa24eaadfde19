package optimum

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/vec"
	"github.com/noregret/noregret/pasto"
	"github.com/noregret/noregret/pasto/internal/check"
)

// MaximizeHard is [Maximize] with every guardrail of g made hard. For a weighted sum this is a
// linear program, whose solution has at most m + 1 arms for m guardrails.
func MaximizeHard(g *pasto.Goals, means *pasto.Table) (*Optimum, error) {
	if err := means.CheckFor(g); err != nil {
		return nil, err
	}
	return Maximize(allHard(g), means, DefaultOptions())
}

// allHard is g with every guardrail hard.
func allHard(g *pasto.Goals) *pasto.Goals {
	return g.Harden(func(*pasto.Metric) bool { return true })
}

// CheckFeasible returns nil if some mixture holds all guardrails of g, hard or not, to within
// their slack. Otherwise it returns an error of code bad_input that is an [*Infeasible] with the
// least total violation, or that says that the table is too ill-conditioned to tell. O(K·m) per
// step of the simplex method.
func CheckFeasible(g *pasto.Goals, means *pasto.Table) error {
	if err := means.CheckFor(g); err != nil {
		return err
	}
	rows := newGuardrails(g, means, func(*pasto.Metric) bool { return true })
	feasible, err := rows.feasible()
	if err != nil || feasible {
		return err
	}
	return noregret.BadInputf("guardrails", "%w", rows.least(g, means))
}

// Infeasible describes guardrails that no mixture can hold, not even to within their slack. It
// is the cause of the error if they are hard, and a part of the [Optimum] if they are not.
type Infeasible struct {
	// Violation is the least total violation Σ_j (c_j − y_j)₊ of any mixture, in the metrics'
	// units.
	Violation float64
	// Metrics are the names of the violated metrics, By the violations.
	Metrics []string
	By      []float64
	// Mixture is a mixture with the least violation.
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

// isHard reports whether a metric is a hard guardrail.
func isHard(m *pasto.Metric) bool { return m.Hard }

// reward is an objective without its hard guardrails.
type reward struct{ *pasto.Goals }

// Value implements [pasto.Objective].
func (r reward) Value(theta []float64) float64 { return r.Reward(theta) }

// maximizeHard maximizes the reward of g over the mixtures that hold its hard guardrails.
func maximizeHard(g *pasto.Goals, means *pasto.Table, tol float64, iterations int) (*Optimum, error) {
	w := &HardSolver{}
	if feasible, err := w.Maximize(g, means, tol, iterations); err != nil {
		return nil, err
	} else if !feasible {
		return nil, noregret.BadInputf("guardrails", "%w", w.rows.least(g, means))
	}
	return &w.Best, nil
}

// HardSolver is the workspace of simplicial decomposition: a second run on as many arms and
// metrics allocates nothing.
type HardSolver struct {
	// FromInside makes the linear programs begin at the arm of the largest reward among those that
	// hold all hard guardrails alone, if there is one, instead of at the best arm of all. That is
	// about twice as fast where the arms' values have about the same sizes.
	FromInside bool

	rows             guardrails
	solver           *Solver
	atoms            pasto.Table
	theta, d, prices []float64
	tight            []float64
	vertices         [][]float64
	share            []float64
	reducer          reducer
	Best             Optimum
	bestSoFar        []float64 // mixture and prices of opt, while a better one is looked for
}

// Maximize leaves the best mixture in w.Best. If no mixture holds the hard guardrails it reports
// false, and LeastViolation has the mixture of least violation.
func (w *HardSolver) Maximize(g *pasto.Goals, means *pasto.Table, tol float64, iterations int) (feasible bool,
	err error,
) {
	w.rows.lp.FromInside = w.FromInside
	w.rows.init(g, isHard)
	for relaxed := false; ; {
		if feasible, err = w.inside(g, means, tol, iterations); err != nil || !feasible {
			return feasible, err
		}
		again, err := w.rows.lp.Refine(w.Best.Mixture, true)
		if err != nil {
			return false, ill(err)
		}
		if again {
			continue
		}
		if relaxed || !w.broken(g, means) {
			return true, nil
		}
		relaxed = true
		w.rows.lp.Relax() // rounding is left: the slack of the other rows may make up for it
	}
}

// LeastViolation is the mixture of least total violation, after [HardSolver.Maximize] has reported
// that no mixture holds the guardrails. It is valid until the next call of a method.
func (w *HardSolver) LeastViolation() []float64 {
	w.bestSoFar = w.rows.lp.Solution(w.bestSoFar)
	return w.bestSoFar
}

// broken measures the violations of the mixture found, and reports whether one exceeds its
// slack.
func (w *HardSolver) broken(g *pasto.Goals, means *pasto.Table) bool {
	w.Best.Violations = check.Zeros(w.Best.Violations, means.Metrics())
	means.Mean(w.theta, w.Best.Mixture)
	broken := false
	for i := range g.Metrics() {
		if m := &g.Metrics()[i]; m.Hard {
			v := m.Violation(w.theta[i])
			w.Best.Violations[i] = v
			broken = broken || v > m.Tolerance()
		}
	}
	return broken
}

// inside is Maximize with the current scales of the program. It moves the best mixture into the
// hard guardrails by as much as rounding left it outside, where that exceeds the metrics' slack.
func (w *HardSolver) inside(g *pasto.Goals, means *pasto.Table, tol float64, iterations int) (feasible bool,
	err error,
) {
	if feasible, err = w.run(g, means, nil, tol, iterations); err != nil || !feasible {
		return feasible, err
	}
	w.tight = check.Zeros(w.tight, means.Metrics())
	for push := 2.0; w.broken(g, means) && push < 1e7; push *= 100 {
		most := 0.0
		for j, i := range w.rows.metrics {
			w.tight[i] = max(w.Best.Violations[i]-w.rows.lp.Margin(j), 0)
			most = max(most, w.tight[i]/w.rows.lp.Scale(j))
		}
		for j, i := range w.rows.metrics {
			// Rounding may go either way, and all of the margin may be used up.
			if w.rows.lp.Margin(j) > 0 {
				w.tight[i] = float64(most * w.rows.lp.Scale(j))
			}
			w.tight[i] = float64(push * w.tight[i])
		}
		old := w.Best
		w.bestSoFar = append(append(w.bestSoFar[:0], w.Best.Mixture...), w.Best.Prices...)
		if more, err := w.run(g, means, w.tight, tol, iterations); err != nil || !more {
			w.Best = old // no slack is left: the mixture stays
			copy(w.Best.Prices, w.bestSoFar[copy(w.Best.Mixture, w.bestSoFar):])
			break
		}
	}
	return true, nil
}

// Spread returns the range of the arms' rewards, to first order at their mean; 1 if they are all
// the same.
func (w *HardSolver) Spread(g *pasto.Goals, means *pasto.Table) float64 {
	w.theta, w.d = check.Zeros(w.theta, means.Metrics()), check.Zeros(w.d, means.Metrics())
	for k := range means.Arms() {
		for i, v := range means.Arm(k) {
			w.theta[i] += v / float64(means.Arms())
		}
	}
	reward{g}.Gradient(w.d, w.theta)
	low, high := math.Inf(1), math.Inf(-1)
	for k := range means.Arms() {
		v := vec.Dot(means.Arm(k), w.d)
		low, high = min(low, v), max(high, v)
	}
	if v := high - low; v > 0 && !math.IsInf(v, 1) {
		return v
	}
	return 1
}

// run is simplicial decomposition: in turn the best mixture of the known vertices, by the solver
// of soft objectives, and the best vertex for its gradient, by the linear program. Tight is
// added to each metric's demand; nil adds nothing. For a linear reward the first vertex is the
// answer. The dual prices certify the gap: no mixture that holds the guardrails has a reward
// above Value + Gap.
func (w *HardSolver) run(g *pasto.Goals, means *pasto.Table, tight []float64, tol float64,
	iterations int) (feasible bool,
	err error,
) {
	m, lp, f := means.Metrics(), &w.rows.lp, reward{g}
	w.rows.reset(g, means, isHard)
	for j, i := range w.rows.metrics {
		if tight != nil {
			lp.Push(j, tight[i])
		}
	}
	w.theta, w.d, w.prices, w.share = check.Zeros(w.theta, m), check.Zeros(w.d, m), check.Zeros(w.prices, m),
		w.share[:0]
	w.atoms.Reset(0, m)
	w.Best = Optimum{
		Gap: math.Inf(1), Prices: check.Zeros(w.Best.Prices, m), Mixture: w.Best.Mixture[:0],
		Violations: w.Best.Violations,
	}
	if w.solver == nil || len(w.solver.theta) != m {
		w.solver = NewSolver(f, &w.atoms)
	}
	w.solver.f, w.solver.Err = f, nil
	if k, _ := bestSingle(f, means); k >= 0 {
		copy(w.theta, means.Arm(k))
	}
	f.Gradient(w.d, w.theta)
	w.rows.setObjective(means, w.d)
	if feasible, err := w.rows.feasible(); err != nil || !feasible {
		return feasible, err
	}
	for round := 0; ; round++ {
		if err := lp.Maximize(); err != nil {
			return false, ill(err)
		}
		if round > 0 {
			gap := max(w.rows.metricPrices(w.prices)-vec.Dot(w.theta, w.d), 0)
			// A gap that is NaN, by overflow, certifies nothing.
			if gap < w.Best.Gap || len(w.Best.Mixture) == 0 {
				w.Best.Gap = gap
				copy(w.Best.Prices, w.prices)
				w.combine(means.Arms())
			}
			if gap <= tol || w.Best.Iterations >= iterations || round > 10*(m+len(w.rows.metrics))+200 {
				break
			}
		}
		if !w.vertex(means) {
			break // the gap is as small as rounding lets it be
		}
		_, used := w.solver.Solve(w.share, float64(0.1*tol), 1000)
		w.Best.Iterations += used + 1
		w.atoms.Mean(w.theta, w.share)
		f.Gradient(w.d, w.theta)
		w.rows.setObjective(means, w.d)
	}
	w.Best.Iterations += lp.Iterations()
	w.reducer.reduce(means, w.Best.Mixture)
	return true, nil
}

// vertex adds the vertex that the program found, and reports whether it is new.
func (w *HardSolver) vertex(means *pasto.Table) bool {
	n := len(w.share)
	if n == len(w.vertices) {
		w.vertices = append(w.vertices, nil)
	}
	v := w.rows.lp.Solution(w.vertices[n])
	w.vertices[n] = v
	for _, u := range w.vertices[:n] {
		if slices.Equal(u, v) {
			return false
		}
	}
	w.atoms.Append(w.theta) // Mean writes the row
	means.Mean(w.atoms.Arm(n), v)
	w.share = append(w.share, 0)
	if n == 0 {
		w.share[0] = 1
	}
	return true
}

// combine writes the mixture of the vertices.
func (w *HardSolver) combine(arms int) {
	p := check.Zeros(w.Best.Mixture, arms)
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
	w.Best.Mixture = p
}
