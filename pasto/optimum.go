package pasto

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/noregret/noregret"

	"github.com/noregret/noregret/internal/vec"
)

// Optimum is a mixture with a certificate.
type Optimum struct {
	// Mixture is p, of length K.
	Mixture []float64
	// Value is f(μp).
	Value float64
	// Gap is certified: no mixture has a value above Value + Gap (with hard guardrails none that
	// holds them, by their slack where [Maximize] uses it). It is above the tolerance where
	// iterations ran out, and where rounding hides the rest: of a guardrail with the price λ whose
	// means are of size s and differ by r between arms about 1e-15·λ·s·r stays, as the gradient
	// 2λ·v is no finer than s.
	Gap float64
	// Iterations of the solver.
	Iterations int
	// Prices are the duals ν_j ≥ 0 of hard guardrails (one for each metric, 0 for others): what a
	// unit of the threshold costs. Nil where no guardrail is hard.
	Prices []float64
	// Violations are by how much the mixture passes each guardrail, in the metric's units (0 for
	// other metrics): for hard ones the slack used and what rounding left, more than the metric's
	// slack only where the mixture is no more exact. Nil for objectives that are not [Goals].
	Violations []float64
	// Infeasible is not nil when no mixture holds all guardrails, soft ones included, and has the
	// least total violation.
	Infeasible *Infeasible
}

// Support lists the arms of positive share, ascending.
func (o *Optimum) Support() []int {
	var s []int
	for k, v := range o.Mixture {
		if v > 0 {
			s = append(s, k)
		}
	}
	return s
}

// checkGradient refuses a gradient d at θ that is not finite.
func checkGradient(f Objective, theta, d []float64) error {
	for i, v := range d {
		if !finite(v) {
			return noregret.BadInputf("objective",
				"%s: its gradient at θ = %v has component %d = %v: want finite numbers", nameOf(f),
				theta, i, v)
		}
	}
	return nil
}

// nameOf is what messages call an objective.
func nameOf(f Objective) string {
	if u, ok := f.(*Utility); ok && u.Name != "" {
		return fmt.Sprintf("utility %q", u.Name)
	}
	return fmt.Sprintf("%T", f)
}

// BestSingle is the deterministic solution argmax_k f(μe_k), ties to the lowest index (spec 2.1).
// With hard guardrails that no arm holds it is an error of code bad_input, which says so. O(K·M).
func BestSingle(f Objective, means *Table) (arm int, value float64, err error) {
	if err := means.check(f); err != nil {
		return 0, 0, err
	}
	if err := checkValues(f, means); err != nil {
		return 0, 0, err
	}
	arm, value = bestSingle(f, means)
	if arm < 0 {
		if g, ok := f.(*Goals); ok && g.HasHard() {
			return 0, 0, noregret.BadInputf("means", "infeasible: none of the %d arms holds the hard guardrails",
				means.arms)
		}
		return 0, 0, noregret.BadInputf("means", "%s: it is -Inf, which is forbidden, at each of the %d arms",
			nameOf(f), means.arms)
	}
	return arm, value, nil
}

// checkValues refuses an objective that is NaN or +Inf at an arm; −Inf is that of a broken
// guardrail.
func checkValues(f Objective, means *Table) error {
	if _, ok := f.(*Goals); ok {
		return nil // finite for the means that a Table may have, or −Inf
	}
	for k := range means.arms {
		if v := f.Value(means.Arm(k)); v != v || math.IsInf(v, 1) {
			return noregret.BadInputf("objective",
				"%s: it is %v at arm %d, θ = %v: want a finite number, or -Inf where θ is forbidden", nameOf(f), v, k,
				means.Arm(k))
		}
	}
	return nil
}

func bestSingle(f Objective, means *Table) (arm int, value float64) {
	arm, value = -1, math.Inf(-1)
	for k := range means.arms {
		if v := f.Value(means.Arm(k)); v > value {
			arm, value = k, v
		}
	}
	return arm, value
}

// SolverOptions are those of [Maximize]; the zero value is usual.
type SolverOptions struct {
	// Tolerance is that of the gap; 0 means 1e-9.
	Tolerance float64
	// Iterations is the most passes over all arms there may be; 0 means 200,000. Between them there
	// are at most 500 times as many steps, and 2,000,000, each O(M²) on the support. The gap
	// reached is returned in any case.
	Iterations int
}

// Maximize is the probabilistic solution argmax_p f(μp) by pairwise Frank–Wolfe steps with exact
// line search (spec 2.3). Its Gap = max_k g_k − ⟨g, p⟩ with g = μᵀ∇f(μp) certifies it, as f is
// concave. The support has at most M + 1 arms. An iteration is O(M) on the support, and O(K·M) when
// it takes in another arm.
//
// Each guardrail keeps its own kind. Hard ones bound the set of mixtures, over which the rest of
// the objective, soft guardrails and soft minimum included, is maximized by simplicial
// decomposition: its linear programs are solved by the revised simplex method (O(K·m + m³) a step
// for m hard guardrails), whose dual prices certify the gap. A guardrail's own [Metric.Slack] is
// room for the mixture; the slack that it has without is for rounding, and is used only where an
// arm, or the whole program, would otherwise miss the guardrail by no more than it: no arm that
// holds the guardrails is better than Value + Gap. Arms far outside do not hide what others break:
// a mixture holds the guardrails in their own units, or there is an error. When no mixture holds
// the hard ones the error of code bad_input is an [*Infeasible] with the least total violation;
// when no mixture holds the soft ones too, the optimum says so.
func Maximize(f Objective, means *Table, o SolverOptions) (*Optimum, error) {
	if err := means.check(f); err != nil {
		return nil, err
	}
	if o.Tolerance == 0 {
		o.Tolerance = 1e-9
	}
	if o.Iterations == 0 {
		o.Iterations = 200_000
	}
	if !(o.Tolerance > 0) || o.Iterations < 1 {
		return nil, noregret.BadInputf("solver", "tolerance %v and %d iterations: want both above 0", o.Tolerance,
			o.Iterations)
	}
	g, ok := f.(*Goals)
	if !ok {
		return maximizeSoft(f, means, o)
	}
	var opt *Optimum
	var err error
	if g.HasHard() {
		opt, err = maximizeHard(g, means, o.Tolerance, o.Iterations)
	} else {
		opt, err = maximizeSoft(f, means, o)
	}
	if err != nil {
		return nil, err
	}
	theta := make([]float64, means.metrics)
	means.Mean(theta, opt.Mixture)
	opt.Violations = make([]float64, means.metrics)
	g.Violations(opt.Violations, theta)
	opt.Value = g.Reward(theta)
	if !g.Holds(theta) {
		if err := CheckFeasible(g, means); err != nil {
			if opt.Infeasible, ok = errors.AsType[*Infeasible](err); !ok {
				return nil, err
			}
		}
	}
	return opt, nil
}

func maximizeSoft(f Objective, means *Table, o SolverOptions) (*Optimum, error) {
	if err := checkValues(f, means); err != nil {
		return nil, err
	}
	k, _ := bestSingle(f, means)
	if k < 0 {
		return nil, noregret.BadInputf("objective", "%s: it has no finite value at any arm", nameOf(f))
	}
	p := make([]float64, means.arms)
	p[k] = 1
	s := newSolver(f, means)
	opt := &Optimum{Mixture: p}
	opt.Gap, opt.Iterations = s.solve(p, o.Tolerance, o.Iterations)
	if g, ok := f.(*Goals); ok && s.err == nil && opt.Gap > o.Tolerance {
		opt.fromHard(g, s, o)
	}
	if s.err != nil {
		return nil, s.err
	}
	ReduceSupport(means, p)
	theta := make([]float64, means.metrics)
	means.Mean(theta, p)
	opt.Value = f.Value(theta)
	opt.Gap = max(gapOf(f, means, p), 0)
	return opt, nil
}

// fromHard looks for a better mixture from that which holds the guardrails as if they were hard: in
// large units a penalty is nearly that, and single steps crawl along its edge.
func (o *Optimum) fromHard(g *Goals, s *solver, options SolverOptions) {
	h := g.allHard()
	if !h.HasHard() {
		return
	}
	hard, err := maximizeHard(h, s.means, options.Tolerance, min(options.Iterations, patience))
	if err != nil {
		return // what there is stays
	}
	p := slices.Clone(hard.Mixture)
	_, used := s.solve(p, options.Tolerance, options.Iterations)
	o.Iterations += used
	old, theta := make([]float64, s.means.metrics), make([]float64, s.means.metrics)
	s.means.Mean(old, o.Mixture)
	s.means.Mean(theta, p)
	if s.err == nil && g.Value(theta) > g.Value(old) {
		copy(o.Mixture, p)
	}
}

// Gap is the certificate of a mixture, max_k g_k − ⟨g, p⟩ with g = μᵀ∇f(μp): no mixture's value
// is above f(μp) + Gap. It needs an objective without hard guardrails. O(K·M).
func Gap(f Objective, means *Table, p []float64) (float64, error) {
	if err := means.check(f); err != nil {
		return 0, err
	}
	if err := checkMixture("mixture", p, means.arms); err != nil {
		return 0, err
	}
	if g, ok := f.(*Goals); ok && g.HasHard() {
		return 0, noregret.BadInputf("objective",
			"it has a hard guardrail, which has no gradient: Maximize certifies such by dual "+
				"prices")
	}
	v := gapOf(f, means, p)
	if !finite(v) {
		return 0, noregret.BadInputf("objective", "%s: its gradient at the mixture is not finite", nameOf(f))
	}
	return v, nil
}

func gapOf(f Objective, means *Table, p []float64) float64 {
	theta, d := make([]float64, means.metrics), make([]float64, means.metrics)
	means.Mean(theta, p)
	f.Gradient(d, theta)
	top, mean := math.Inf(-1), 0.0
	for k, w := range p {
		g := vec.Dot(means.Arm(k), d)
		top = max(top, g)
		mean += float64(w * g)
	}
	return top - mean
}

// ReduceSupport moves p, in place, to one of at most M + 1 atoms with the same μp (Carathéodory;
// spec 2.2, 2.3): while there are more, it takes a null vector z of [μ; 1] on the support and moves
// along it until an atom is 0. O(M³) for each atom removed.
func ReduceSupport(means *Table, p []float64) {
	var r reducer
	r.reduce(means, p)
}

// reducer is the workspace of [ReduceSupport].
type reducer struct {
	support, order []int
	a, z           []float64
}

func (r *reducer) reduce(means *Table, p []float64) {
	n := means.metrics + 1
	for {
		r.support = r.support[:0]
		for k, w := range p {
			if w > 0 {
				if r.support = append(r.support, k); len(r.support) > n {
					break
				}
			}
		}
		if len(r.support) <= n || !r.nullVector(means) {
			return
		}
		// The largest step that keeps p ≥ 0, in the direction that has a negative entry.
		step, hit := math.Inf(1), -1
		for i, k := range r.support {
			if r.z[i] < 0 && -p[k]/r.z[i] < step {
				step, hit = -p[k]/r.z[i], i
			}
		}
		if hit < 0 {
			return
		}
		for i, k := range r.support {
			p[k] = max(p[k]+float64(step*r.z[i]), 0)
		}
		p[r.support[hit]] = 0
		sum := 0.0
		for _, w := range p {
			sum += w
		}
		for k := range p {
			p[k] /= sum
		}
	}
}

// nullVector solves [μ; 1]·z = 0 on the support's n+1 columns by elimination with full pivoting.
func (r *reducer) nullVector(means *Table) bool {
	rows, cols := means.metrics+1, len(r.support)
	r.a, r.z, r.order = zeros(r.a, rows*cols), zeros(r.z, cols), zeros(r.order, cols)
	row := func(i int) []float64 { return r.a[i*cols : (i+1)*cols] }
	for c, k := range r.support {
		for m, v := range means.Arm(k) {
			row(m)[c] = v
		}
		row(rows - 1)[c] = 1
		r.order[c] = c
	}
	rank := 0
	for rank < rows {
		pr, pc, top := -1, -1, 1e-13
		for i := rank; i < rows; i++ {
			for c := rank; c < cols; c++ {
				if v := math.Abs(row(i)[r.order[c]]); v > top {
					pr, pc, top = i, c, v
				}
			}
		}
		if pr < 0 {
			break
		}
		if pr != rank {
			for c, v := range row(pr) {
				row(pr)[c], row(rank)[c] = row(rank)[c], v
			}
		}
		r.order[rank], r.order[pc] = r.order[pc], r.order[rank]
		pivot := row(rank)
		for i := range rows {
			if i == rank {
				continue
			}
			q := row(i)[r.order[rank]] / pivot[r.order[rank]]
			for c := rank; c < cols; c++ {
				row(i)[r.order[c]] -= float64(q * pivot[r.order[c]])
			}
		}
		rank++
	}
	if rank >= cols {
		return false
	}
	r.z[r.order[rank]] = 1
	for i := range rank {
		r.z[r.order[i]] = -row(i)[r.order[rank]] / row(i)[r.order[i]]
	}
	return true
}
