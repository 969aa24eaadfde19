package optimum

import (
	"math"

	"github.com/noregret/noregret/internal/vec"
	"github.com/noregret/noregret/pasto"
	"github.com/noregret/noregret/pasto/internal/check"
)

// Solver is the workspace of pairwise Frank–Wolfe. It starts from a given mixture and keeps its
// buffers from call to call. It is not safe for concurrent use.
type Solver struct {
	f              pasto.Objective
	means          *pasto.Table
	Usable         []bool // nil: all arms
	theta, d       []float64
	delta, at, tmp []float64
	support        []int
	// ridge r, nil for none, takes Σ r_k·p_k² off the objective; line is its part −(a + b·s) in the
	// slope.
	Ridge []float64
	line  [2]float64
	Err   error     // a gradient or a value that is not finite
	base  []float64 // the support's shares when the present cycle of corrections began
	moved []int
	// passes counts those over all arms, corrections the steps on the support between them.
	passes, corrections int
}

// mostCorrections returns the largest number of corrections that a solution with so many iterations
// may take: many times the number for any problem whose metrics differ by more than rounding.
func mostCorrections(iterations int) int {
	return min(500*iterations, 2_000_000)
}

// patience is the number of iterations without a gap lower by one percent after which the rest
// of the gap is taken to be rounding. Learners stop earlier.
const patience = 500

// NewSolver returns a solver of max f(μp) over mixtures p of the arms of means, which it reads anew
// in each call.
func NewSolver(f pasto.Objective, means *pasto.Table) *Solver {
	m := means.Metrics()
	return &Solver{
		f: f, means: means, theta: make([]float64, m), d: make([]float64, m),
		delta: make([]float64, m), at: make([]float64, m), tmp: make([]float64, m), support: make([]int, 0, m+64),
	}
}

// gradient computes θ and d = ∇f(θ) from the support.
func (s *Solver) gradient(p []float64) {
	clear(s.theta)
	for _, k := range s.support {
		for m, v := range s.means.Arm(k) {
			s.theta[m] += float64(p[k] * v)
		}
	}
	s.f.Gradient(s.d, s.theta)
	if s.Err == nil {
		s.Err = check.Gradient(s.f, s.theta, s.d)
	}
}

// score is g_k.
func (s *Solver) score(p []float64, k int) float64 {
	g := vec.Dot(s.means.Arm(k), s.d)
	if s.Ridge != nil {
		g -= float64(2 * s.Ridge[k] * p[k])
	}
	return g
}

// Passes is the number of passes over all arms so far.
func (s *Solver) Passes() int { return s.passes }

// Solve improves p until the gap is at most tol, the iterations or corrections are spent, no
// step moves a metric by more than rounding, or the gap has not fallen for long. It returns the
// final gap and the iterations used.
func (s *Solver) Solve(p []float64, tol float64, iterations int) (gap float64, used int) {
	s.support = s.support[:0]
	for k, w := range p {
		if w > 0 {
			s.support = append(s.support, k)
		}
	}
	most := s.corrections + mostCorrections(iterations)
	least, since := math.Inf(1), 0
	for {
		s.gradient(p)
		_, worst, mean, _ := s.extremes(p)
		best, top := -1, math.Inf(-1)
		s.passes++
		for k := range p {
			if s.Usable != nil && !s.Usable[k] {
				continue
			}
			if g := s.score(p, k); g > top {
				best, top = k, g
			}
		}
		gap = top - mean
		if gap < float64(0.99*least) {
			least, since = gap, used
		}
		if gap <= tol || used >= iterations || used-since > patience || best == worst || best < 0 || worst < 0 ||
			s.Err != nil {
			return gap, used
		}
		if p[best] == 0 {
			s.support = append(s.support, best)
		}
		moved := s.shift(p, best, worst)
		used++
		if s.correct(p, max(float64(0.1*tol), float64(0.05*gap)), most) {
			moved = true
		}
		if !moved || s.corrections >= most {
			s.gradient(p)
			return s.certificate(p), used
		}
	}
}

// certificate returns max_k g_k − ⟨g, p⟩ over the usable arms for the current gradient.
func (s *Solver) certificate(p []float64) float64 {
	_, _, mean, _ := s.extremes(p)
	top := math.Inf(-1)
	for k := range p {
		if s.Usable == nil || s.Usable[k] {
			top = max(top, s.score(p, k))
		}
	}
	return top - mean
}

// correct balances the shares on the support until the scores of no two arms differ by more than
// near, and reports whether a metric moved by more than rounding. Corrections cost O(M²) each:
// there may be as many as cost about a pass over many arms, and no more than most in all.
func (s *Solver) correct(p []float64, near float64, most int) (moved bool) {
	s.mark(p)
	for n := range 500 + len(p)/8 {
		if cycle := 2 * len(s.support); n%cycle == cycle-1 {
			s.extrapolate(p)
			s.mark(p)
		}
		s.gradient(p)
		a, b, _, apart := s.extremes(p)
		if a == b || a < 0 || b < 0 || s.Err != nil || apart <= near || s.corrections >= most {
			return moved
		}
		s.corrections++
		if !s.shift(p, a, b) {
			return moved
		}
		moved = true
	}
	return moved
}

// extremes returns the support's arms of highest and lowest score, the mean score, and the
// difference between the two extremes.
func (s *Solver) extremes(p []float64) (best, worst int, mean, apart float64) {
	best, worst = -1, -1
	high, low := math.Inf(-1), math.Inf(1)
	for _, k := range s.support {
		g := s.score(p, k)
		mean += float64(p[k] * g)
		if g > high {
			best, high = k, g
		}
		if g < low && p[k] > 0 {
			worst, low = k, g
		}
	}
	return best, worst, mean, high - low
}

// shift moves share from arm b to arm a, up to the root of the decreasing slope s ↦ ⟨∇f(θ+sδ),
// δ⟩. It reports whether that emptied b, or moved a metric by more than rounding.
func (s *Solver) shift(p []float64, a, b int) (moved bool) {
	from, to := s.means.Arm(b), s.means.Arm(a)
	for m := range s.delta {
		s.delta[m] = to[m] - from[m]
	}
	s.line = [2]float64{}
	if s.Ridge != nil {
		s.line[0] = float64(2*s.Ridge[a]*p[a]) - float64(2*s.Ridge[b]*p[b])
		s.line[1] = float64(2 * (s.Ridge[a] + s.Ridge[b]))
	}
	high := s.slope(p[b])
	if high >= 0 {
		p[a] += p[b]
		p[b] = 0
		for i, k := range s.support {
			if k == b {
				s.support = append(s.support[:i], s.support[i+1:]...)
				break
			}
		}
		return true
	}
	lo := s.root(p[b], high)
	p[a] += lo
	p[b] -= lo
	for m, d := range s.delta { // θ is a sum of products that are rounded to 1e-16 of their size
		size := math.Abs(s.theta[m]) + math.Abs(from[m]) + math.Abs(to[m])
		if math.Abs(float64(lo*d)) > float64(2e-16*size) {
			return true
		}
	}
	return false
}

// root returns the largest step found in [0, most] with a slope that is not negative, given that
// the slope is not negative at 0 and is high < 0 at most. It uses regula falsi with the Illinois
// weights, exact in a step or two where the slope is piecewise linear, and bisection where that
// is slow.
func (s *Solver) root(most, high float64) float64 {
	lo, hi, low := 0.0, most, s.slope(0)
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

// mark saves the shares of the support at the start of a cycle of corrections.
func (s *Solver) mark(p []float64) {
	s.moved = append(s.moved[:0], s.support...)
	s.base = s.base[:0]
	for _, k := range s.moved {
		s.base = append(s.base, p[k])
	}
}

// extrapolate continues in the direction of the cycle as far as that improves the objective:
// pairwise steps alone zigzag where the support's arms are nearly alike.
func (s *Solver) extrapolate(p []float64) {
	clear(s.delta)
	s.line = [2]float64{}
	most := math.Inf(1)
	for i, k := range s.moved {
		d := p[k] - s.base[i]
		if s.Ridge != nil {
			s.line[0] += float64(2 * s.Ridge[k] * float64(p[k]*d))
			s.line[1] += float64(2 * s.Ridge[k] * float64(d*d))
		}
		if d < 0 {
			most = min(most, -p[k]/d)
		}
		for m, v := range s.means.Arm(k) {
			s.delta[m] += float64(d * v)
		}
	}
	if !vec.IsFinite(most) || most == 0 {
		return
	}
	s.gradient(p)
	step := most
	if high := s.slope(most); high < 0 {
		step = s.root(most, high)
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
	sum := 0.0
	for _, k := range s.support {
		sum += p[k]
	}
	if math.Abs(sum-1) > 1e-12 { // a long step along shares that had hardly moved
		for _, k := range s.support {
			p[k] /= sum
		}
	}
}

func (s *Solver) slope(step float64) float64 {
	for m, v := range s.theta {
		s.at[m] = v + float64(step*s.delta[m])
	}
	s.f.Gradient(s.tmp, s.at)
	v := vec.Dot(s.tmp, s.delta)
	if v-v != 0 && s.Err == nil {
		s.Err = check.Gradient(s.f, s.at, s.tmp)
	}
	return v - s.line[0] - float64(s.line[1]*step)
}

// SolveToTolerance is Solve with a tolerance relative to the spread Σ_m |d_m|·(max − min of
// metric m) that the arms' scores can have with the gradient d at p. A p of many arms starts
// again from the best of them.
func (s *Solver) SolveToTolerance(p []float64, relative float64, iterations int) {
	s.support = s.support[:0]
	for k, w := range p {
		if w > 0 {
			s.support = append(s.support, k)
		}
	}
	if len(s.support) > 4*(s.means.Metrics()+1) {
		best, top := -1, math.Inf(-1)
		for _, k := range s.support {
			if v := s.f.Value(s.means.Arm(k)); v > top {
				best, top = k, v
			}
		}
		if best < 0 {
			return
		}
		clear(p)
		p[best] = 1
		s.support = append(s.support[:0], best)
	}
	s.gradient(p)
	spread := 0.0
	for m, d := range s.d {
		low, high := math.Inf(1), math.Inf(-1)
		for k := range p {
			if s.Usable == nil || s.Usable[k] {
				v := s.means.Arm(k)[m]
				low, high = min(low, v), max(high, v)
			}
		}
		spread += float64(math.Abs(d) * (high - low))
	}
	s.Solve(p, float64(relative*spread), iterations)
}
