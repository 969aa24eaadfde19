package pasto

import (
	"math"
)

// Optimum is a mixture with a certificate.
type Optimum struct {
	// Mixture is p, of length K.
	Mixture []float64
	// Value is f(μp).
	Value float64
	// Gap is certified: no mixture has a value above Value + Gap.
	Gap float64
	// Iterations of the solver.
	Iterations int
	// Prices are the duals ν_j ≥ 0 of hard guardrails (one for each metric, 0 for others): what a unit of
	// the threshold costs. Nil for soft ones.
	Prices []float64
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

// BestSingle is the deterministic solution argmax_k f(μe_k), ties to the lowest index (spec 2.1). With
// hard guardrails that no arm holds it is an error of code bad_input, which says so. O(K·M).
func BestSingle(f Objective, means *Table) (arm int, value float64, err error) {
	if err := means.check(f); err != nil {
		return 0, 0, err
	}
	arm, value = bestSingle(f, means)
	if arm < 0 {
		return 0, 0, bad("means", "infeasible: none of the %d arms holds the hard guardrails", means.arms)
	}
	return arm, value, nil
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
	// Iterations is the most passes over all arms there may be; 0 means 200,000. The gap reached is returned
	// in any case.
	Iterations int
}

// Maximize is the probabilistic solution argmax_p f(μp) by pairwise Frank–Wolfe steps with exact line
// search (spec 2.3). Its Gap = max_k g_k − ⟨g, p⟩ with g = μᵀ∇f(μp) certifies it, as f is
// concave. The support has at most M + 1 arms. Objectives with hard guardrails go to [MaximizeHard]. An
// iteration is O(M) on the support, and O(K·M) when it takes in another arm.
func Maximize(f Objective, means *Table, o SolverOptions) (*Optimum, error) {
	if err := means.check(f); err != nil {
		return nil, err
	}
	if g, ok := f.(*Goals); ok && g.HasHard() {
		return MaximizeHard(g, means)
	}
	if o.Tolerance == 0 {
		o.Tolerance = 1e-9
	}
	if o.Iterations == 0 {
		o.Iterations = 200_000
	}
	if !(o.Tolerance > 0) || o.Iterations < 1 {
		return nil, bad("solver", "tolerance %v and %d iterations: want both above 0", o.Tolerance, o.Iterations)
	}
	k, _ := bestSingle(f, means)
	if k < 0 {
		return nil, bad("objective", "it has no finite value at any arm")
	}
	p := make([]float64, means.arms)
	p[k] = 1
	s := newSolver(f, means)
	opt := &Optimum{Mixture: p}
	opt.Gap, opt.Iterations = s.solve(p, o.Tolerance, o.Iterations)
	ReduceSupport(means, p)
	theta := make([]float64, means.metrics)
	means.Mean(theta, p)
	opt.Value = f.Value(theta)
	opt.Gap = max(Gap(f, means, p), 0)
	return opt, nil
}

// Gap is the certificate of a mixture, max_k g_k − ⟨g, p⟩ with g = μᵀ∇f(μp): no mixture's value
// is above f(μp) + Gap. O(K·M).
func Gap(f Objective, means *Table, p []float64) float64 {
	theta, d := make([]float64, means.metrics), make([]float64, means.metrics)
	means.Mean(theta, p)
	f.Gradient(d, theta)
	top, mean := math.Inf(-1), 0.0
	for k, w := range p {
		g := dot(means.Arm(k), d)
		top = max(top, g)
		mean += float64(w * g)
	}
	return top - mean
}

func dot(a, b []float64) float64 {
	s := 0.0
	for i, v := range a {
		s += float64(v * b[i])
	}
	return s
}

// solver holds the workspace of pairwise Frank–Wolfe.
type solver struct {
	f              Objective
	means          *Table
	usable         []bool // nil: all arms
	theta, d       []float64
	delta, at, tmp []float64
	support        []int
	base           []float64 // the support's shares when the present cycle of corrections began
	moved          []int
}

func newSolver(f Objective, means *Table) *solver {
	m := means.metrics
	return &solver{
		f: f, means: means, theta: make([]float64, m), d: make([]float64, m),
		delta: make([]float64, m), at: make([]float64, m), tmp: make([]float64, m), support: make([]int, 0, m+64),
	}
}

// gradient computes θ and d = ∇f(θ) from the support.
func (s *solver) gradient(p []float64) {
	clear(s.theta)
	for _, k := range s.support {
		for m, v := range s.means.Arm(k) {
			s.theta[m] += float64(p[k] * v)
		}
	}
	s.f.Gradient(s.d, s.theta)
}

// score is g_k.
func (s *solver) score(k int) float64 {
	return dot(s.means.Arm(k), s.d)
}

// solve improves p until the gap is at most tol or the iterations are spent, and returns the gap.
func (s *solver) solve(p []float64, tol float64, iterations int) (gap float64, used int) {
	s.support = s.support[:0]
	for k, w := range p {
		if w > 0 {
			s.support = append(s.support, k)
		}
	}
	for {
		s.gradient(p)
		_, worst, mean := s.extremes(p)
		best, top := -1, math.Inf(-1)
		for k := range p {
			if s.usable != nil && !s.usable[k] {
				continue
			}
			if g := s.score(k); g > top {
				best, top = k, g
			}
		}
		gap = top - mean
		if gap <= tol || used >= iterations || best == worst || best < 0 {
			return gap, used
		}
		if p[best] == 0 {
			s.support = append(s.support, best)
		}
		s.shift(p, best, worst)
		used++
		// Corrections on the support are cheap, O(M²): as many as cost about a pass over many arms.
		s.mark(p)
		for n := range 500 + len(p)/8 {
			if cycle := 2 * len(s.support); n%cycle == cycle-1 {
				s.leap(p)
				s.mark(p)
			}
			s.gradient(p)
			a, b, _ := s.extremes(p)
			if a == b || s.score(a)-s.score(b) <= max(float64(0.1*tol), float64(0.05*gap)) {
				break
			}
			s.shift(p, a, b)
		}
	}
}

// extremes returns the support's arms of highest and lowest score, and the mean score.
func (s *solver) extremes(p []float64) (best, worst int, mean float64) {
	best, worst = -1, -1
	high, low := math.Inf(-1), math.Inf(1)
	for _, k := range s.support {
		g := s.score(k)
		mean += float64(p[k] * g)
		if g > high {
			best, high = k, g
		}
		if g < low && p[k] > 0 {
			worst, low = k, g
		}
	}
	return best, worst, mean
}

// shift moves the best share from arm b to arm a, to the root of the decreasing slope s ↦
// ⟨∇f(θ+sδ), δ⟩.
func (s *solver) shift(p []float64, a, b int) {
	from, to := s.means.Arm(b), s.means.Arm(a)
	for m := range s.delta {
		s.delta[m] = to[m] - from[m]
	}
	if s.slope(p[b]) >= 0 {
		p[a] += p[b]
		p[b] = 0
		for i, k := range s.support {
			if k == b {
				s.support = append(s.support[:i], s.support[i+1:]...)
				break
			}
		}
		return
	}
	lo := s.root(p[b])
	p[a] += lo
	p[b] -= lo
}

// root is the largest step found in [0, most] at which the slope is not negative, where it is so at 0
// and not at most: regula falsi with the Illinois weights, exact in a step or two where the slope is
// piecewise linear, and bisection where that is slow.
func (s *solver) root(most float64) float64 {
	lo, hi := 0.0, most
	low, high := s.slope(0), s.slope(most)
	small := float64(1e-15 * (math.Abs(low) + math.Abs(high)))
	side := 0
	for round := range 100 {
		mid := lo + float64((hi-lo)*(low/(low-high)))
		if round%4 == 3 || !(mid > lo && mid < hi) {
			mid = (lo + hi) / 2
		}
		if mid == lo || mid == hi {
			break
		}
		v := s.slope(mid)
		if math.Abs(v) <= small {
			return mid
		}
		if v > 0 {
			lo, low = mid, v
			if side == 1 {
				high /= 2
			}
			side = 1
		} else {
			hi, high = mid, v
			if side == -1 {
				low /= 2
			}
			side = -1
		}
	}
	return lo
}

// mark remembers the shares of the support, the start of a cycle of corrections.
func (s *solver) mark(p []float64) {
	s.moved = append(s.moved[:0], s.support...)
	s.base = s.base[:0]
	for _, k := range s.moved {
		s.base = append(s.base, p[k])
	}
}

// leap goes on in the direction of the cycle as far as that is good: pairwise steps alone zigzag where the
// support's arms are nearly alike.
func (s *solver) leap(p []float64) {
	clear(s.delta)
	most := math.Inf(1)
	for i, k := range s.moved {
		d := p[k] - s.base[i]
		if d < 0 {
			most = min(most, -p[k]/d)
		}
		for m, v := range s.means.Arm(k) {
			s.delta[m] += float64(d * v)
		}
	}
	if !finite(most) || most == 0 {
		return
	}
	s.gradient(p)
	step := most
	if s.slope(most) < 0 {
		step = s.root(most)
	}
	kept := s.support[:0]
	for i, k := range s.moved {
		d := p[k] - s.base[i]
		p[k] = max(p[k]+float64(step*d), 0)
	}
	for _, k := range s.support {
		if p[k] > 0 {
			kept = append(kept, k)
		}
	}
	s.support = kept
}

func (s *solver) slope(step float64) float64 {
	for m, v := range s.theta {
		s.at[m] = v + float64(step*s.delta[m])
	}
	s.f.Gradient(s.tmp, s.at)
	return dot(s.tmp, s.delta)
}

// ReduceSupport moves p, in place, to one of at most M + 1 atoms with the same μp (Carathéodory; spec
// 2.2, 2.3): while there are more, it takes a null vector z of [μ; 1] on the support and moves along it
// until an atom is 0. O(M³) for each atom removed.
func ReduceSupport(means *Table, p []float64) {
	n := means.metrics + 1
	for {
		support := make([]int, 0, n+1)
		for k, w := range p {
			if w > 0 {
				if support = append(support, k); len(support) > n {
					break
				}
			}
		}
		if len(support) <= n {
			return
		}
		z := nullVector(means, support)
		if z == nil {
			return
		}
		// The largest step that keeps p ≥ 0, in the direction that has a negative entry.
		step, hit := math.Inf(1), -1
		for i, k := range support {
			if z[i] < 0 && -p[k]/z[i] < step {
				step, hit = -p[k]/z[i], i
			}
		}
		if hit < 0 {
			return
		}
		for i, k := range support {
			p[k] = max(p[k]+float64(step*z[i]), 0)
		}
		p[support[hit]] = 0
		sum := 0.0
		for _, w := range p {
			sum += w
		}
		for k := range p {
			p[k] /= sum
		}
	}
}

// nullVector solves [μ; 1]·z = 0 on n+1 columns by elimination with full pivoting.
func nullVector(means *Table, support []int) []float64 {
	rows, cols := means.metrics+1, len(support)
	a := make([][]float64, rows)
	for r := range a {
		a[r] = make([]float64, cols)
		for c, k := range support {
			a[r][c] = 1
			if r < means.metrics {
				a[r][c] = means.Arm(k)[r]
			}
		}
	}
	order := make([]int, cols)
	for c := range order {
		order[c] = c
	}
	rank := 0
	for rank < rows {
		pr, pc, top := -1, -1, 1e-13
		for r := rank; r < rows; r++ {
			for c := rank; c < cols; c++ {
				if v := math.Abs(a[r][order[c]]); v > top {
					pr, pc, top = r, c, v
				}
			}
		}
		if pr < 0 {
			break
		}
		a[rank], a[pr] = a[pr], a[rank]
		order[rank], order[pc] = order[pc], order[rank]
		for r := range a {
			if r == rank {
				continue
			}
			q := a[r][order[rank]] / a[rank][order[rank]]
			for c := rank; c < cols; c++ {
				a[r][order[c]] -= float64(q * a[rank][order[c]])
			}
		}
		rank++
	}
	if rank >= cols {
		return nil
	}
	z := make([]float64, cols)
	z[order[rank]] = 1
	for r := range rank {
		z[order[r]] = -a[r][order[rank]] / a[r][order[r]]
	}
	return z
}
