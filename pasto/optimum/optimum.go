package optimum

import (
	"errors"
	"math"
	"slices"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/linalg"
	"github.com/noregret/noregret/internal/vec"
	"github.com/noregret/noregret/pasto"
	"github.com/noregret/noregret/pasto/internal/check"
)

// Optimum is a mixture with a certificate.
type Optimum struct {
	// Mixture is p, of length K.
	Mixture []float64
	// Value is f(μp).
	Value float64
	// Gap is a certificate: no mixture has a value above Value + Gap. With hard guardrails this
	// holds for the mixtures that hold them, within their slack where [Maximize] uses it. Gap can
	// exceed the tolerance if iterations ran out or because of rounding: a guardrail with price λ,
	// whose means are of size s and differ by r between arms, leaves about 1e-15·λ·s·r, as the
	// gradient 2λ·v is rounded at size s.
	Gap float64
	// Iterations is the number of iterations of the solver.
	Iterations int
	// Prices are the duals ν_j ≥ 0 of hard guardrails, the cost of a unit of the threshold, with 0
	// for other metrics. Prices is nil if no guardrail is hard.
	Prices []float64
	// Violations are the violations of each guardrail by the mixture, in the metric's units, with 0
	// for other metrics. A hard guardrail's is the slack used plus rounding. Violations is nil if
	// the objective is not [pasto.Goals].
	Violations []float64
	// Infeasible holds the least total violation if no mixture holds all guardrails, soft ones
	// included; otherwise it is nil.
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

// BestSingle returns the best single arm, argmax_k f(μe_k), with ties to the lowest index, and its
// value. It returns an error of code bad_input if no arm holds the hard guardrails. O(K·M).
func BestSingle(f pasto.Objective, means *pasto.Table) (arm int, value float64, err error) {
	if err := means.CheckFor(f); err != nil {
		return 0, 0, err
	}
	if err := checkValues(f, means); err != nil {
		return 0, 0, err
	}
	arm, value = bestSingle(f, means)
	if arm < 0 {
		if g, ok := f.(*pasto.Goals); ok && g.HasHard() {
			return 0, 0, noregret.BadInputf("means", "infeasible: none of the %d arms holds the hard guardrails",
				means.Arms())
		}
		return 0, 0, noregret.BadInputf("means", "%s: -Inf at each of the %d arms",
			check.Name(f),
			means.Arms())
	}
	return arm, value, nil
}

// checkValues returns an error if the objective is NaN or +Inf at an arm. −Inf stands for a
// violated hard guardrail.
func checkValues(f pasto.Objective, means *pasto.Table) error {
	if _, ok := f.(*pasto.Goals); ok {
		return nil // finite for the means that a Table may have, or −Inf
	}
	for k := range means.Arms() {
		if v := f.Value(means.Arm(k)); v != v || math.IsInf(v, 1) {
			return noregret.BadInputf("objective",
				"%s: %v at arm %d, θ = %v: want a finite number, or -Inf where θ is forbidden", check.Name(f), v,
				k,
				means.Arm(k))
		}
	}
	return nil
}

func bestSingle(f pasto.Objective, means *pasto.Table) (arm int, value float64) {
	arm, value = -1, math.Inf(-1)
	for k := range means.Arms() {
		if v := f.Value(means.Arm(k)); v > value {
			arm, value = k, v
		}
	}
	return arm, value
}

// Options are the parameters of [Maximize]. Start from [DefaultOptions].
type Options struct {
	// Tolerance > 0 is the largest gap at which the solver stops.
	Tolerance float64
	// Iterations ≥ 1 is the largest number of passes over all arms. Between passes the solver makes
	// up to 500 steps per iteration on the support, 2,000,000 in all, of O(M²) each. The gap
	// reached is returned in any case.
	Iterations int
}

// DefaultOptions returns a tolerance of 1e-9 and 200,000 iterations.
func DefaultOptions() Options { return Options{Tolerance: 1e-9, Iterations: 200_000} }

// Maximize returns the best mixture, argmax_p f(μp), by pairwise Frank–Wolfe steps with exact line
// search. Its Gap = max_k g_k − ⟨g, p⟩ with g = μᵀ∇f(μp) is a certificate, as f is concave. The
// support has at most M + 1 arms. An iteration costs O(M) on the support, and O(K·M) if it adds an
// arm.
//
// Hard guardrails bound the set of mixtures. The rest of the objective, with soft guardrails and
// soft minimum, is maximized over that set by simplicial decomposition. The revised simplex method
// solves its linear programs, in O(K·m + m³) a step for m hard guardrails, and the dual prices
// certify the gap. A mixture may use the [pasto.Metric.Slack] of a guardrail. The slack of a
// guardrail without one is for rounding: it is used only if an arm, or the whole program, misses
// the guardrail by no more than that, so that no arm that holds the guardrails is better than Value
// + Gap. The mixture holds the guardrails in their own units, whatever the sizes of other metrics
// and arms, or Maximize returns an error.
//
// If no mixture holds the hard guardrails, the error is an [*Infeasible] of code bad_input with the
// least total violation. If no mixture holds the soft ones as well, the optimum has Infeasible set.
func Maximize(f pasto.Objective, means *pasto.Table, o Options) (*Optimum, error) {
	if err := means.CheckFor(f); err != nil {
		return nil, err
	}
	if !(o.Tolerance > 0) || o.Iterations < 1 {
		return nil, noregret.BadInputf("solver", "tolerance %v and %d iterations: want both above 0", o.Tolerance,
			o.Iterations)
	}
	g, ok := f.(*pasto.Goals)
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
	theta := make([]float64, means.Metrics())
	means.Mean(theta, opt.Mixture)
	opt.Violations = make([]float64, means.Metrics())
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

func maximizeSoft(f pasto.Objective, means *pasto.Table, o Options) (*Optimum, error) {
	if err := checkValues(f, means); err != nil {
		return nil, err
	}
	k, _ := bestSingle(f, means)
	if k < 0 {
		return nil, noregret.BadInputf("objective", "%s: not finite at any arm", check.Name(f))
	}
	p := make([]float64, means.Arms())
	p[k] = 1
	s := NewSolver(f, means)
	opt := &Optimum{Mixture: p}
	opt.Gap, opt.Iterations = s.Solve(p, o.Tolerance, o.Iterations)
	if g, ok := f.(*pasto.Goals); ok && s.Err == nil && opt.Gap > o.Tolerance {
		opt.fromHard(g, s, o)
	}
	if s.Err != nil {
		return nil, s.Err
	}
	ReduceSupport(means, p)
	theta := make([]float64, means.Metrics())
	means.Mean(theta, p)
	opt.Value = f.Value(theta)
	opt.Gap = max(gapOf(f, means, p), 0)
	return opt, nil
}

// fromHard solves again from the mixture that is best under hard guardrails. In large units a
// penalty is nearly a hard guardrail, and single steps make slow progress along its edge.
func (o *Optimum) fromHard(g *pasto.Goals, s *Solver, options Options) {
	h := allHard(g)
	if !h.HasHard() {
		return
	}
	hard, err := maximizeHard(h, s.means, options.Tolerance, min(options.Iterations, patience))
	if err != nil {
		return // the mixture found so far stays
	}
	p := slices.Clone(hard.Mixture)
	_, used := s.Solve(p, options.Tolerance, options.Iterations)
	o.Iterations += used
	old, theta := make([]float64, s.means.Metrics()), make([]float64, s.means.Metrics())
	s.means.Mean(old, o.Mixture)
	s.means.Mean(theta, p)
	if s.Err == nil && g.Value(theta) > g.Value(old) {
		copy(o.Mixture, p)
	}
}

// Gap returns the certificate of a mixture, max_k g_k − ⟨g, p⟩ with g = μᵀ∇f(μp): no mixture has a
// value above f(μp) + Gap. The objective must have no hard guardrails. O(K·M).
func Gap(f pasto.Objective, means *pasto.Table, p []float64) (float64, error) {
	if err := means.CheckFor(f); err != nil {
		return 0, err
	}
	if err := check.Mixture("mixture", p, means.Arms()); err != nil {
		return 0, err
	}
	if g, ok := f.(*pasto.Goals); ok && g.HasHard() {
		return 0, noregret.BadInputf("objective",
			"a hard guardrail has no gradient: Maximize certifies the gap by dual prices")
	}
	v := gapOf(f, means, p)
	if !vec.IsFinite(v) {
		return 0, noregret.BadInputf("objective", "%s: the gradient at the mixture is not finite", check.Name(f))
	}
	return v, nil
}

func gapOf(f pasto.Objective, means *pasto.Table, p []float64) float64 {
	theta, d := make([]float64, means.Metrics()), make([]float64, means.Metrics())
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

// ReduceSupport changes p, in place, to a mixture of at most M + 1 arms with the same μp
// (Carathéodory). While there are more, it takes a null vector z of [μ; 1] on the support and moves
// along it until a share is 0. O(M³) for each arm removed.
func ReduceSupport(means *pasto.Table, p []float64) {
	var r reducer
	r.reduce(means, p)
}

// reducer is the workspace of [ReduceSupport].
type reducer struct {
	support, order []int
	a, z           []float64
}

func (r *reducer) reduce(means *pasto.Table, p []float64) {
	n := means.Metrics() + 1
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
func (r *reducer) nullVector(means *pasto.Table) bool {
	rows, cols := means.Metrics()+1, len(r.support)
	r.a, r.z, r.order = check.Zeros(r.a, rows*cols), check.Zeros(r.z, cols), check.Zeros(r.order, cols)
	row := func(i int) []float64 { return r.a[i*cols : (i+1)*cols] }
	for c, k := range r.support {
		for m, v := range means.Arm(k) {
			row(m)[c] = v
		}
		row(rows - 1)[c] = 1
	}
	return linalg.NullVector(r.z, r.a, rows, cols, r.order, 1e-13)
}
