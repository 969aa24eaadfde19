package experiment

import (
	"math"
	"slices"

	"github.com/noregret/noregret/experiment/definition"
	"github.com/noregret/noregret/internal/linalg"
)

// joint compares all arms with each other by the units of the same versions, for what reports say
// of values and regret, with or without a control arm. It holds the sums of the versions whose
// window has closed, for each metric of a goal or of a guardrail. Nothing but reports depends on
// it, so a digest leaves it out.
type joint struct {
	Metrics []pairing `json:"metrics"`
	// Concluded is the value of the mixture that a concluded experiment ended with, nil if unknown.
	Concluded *float64 `json:"concluded,omitempty"`
}

func (x *joint) copy() *joint {
	if x == nil {
		return nil
	}
	y := joint{slices.Clone(x.Metrics), x.Concluded}
	for i := range y.Metrics {
		y.Metrics[i] = y.Metrics[i].copy()
	}
	return &y
}

// watch adds sums for each metric of a goal or of a guardrail if there is an objective, and
// keeps those that exist. New sums begin with the versions that are kept to train a learner; the
// first of these may be several versions in one, and is left out. Those of a private experiment
// begin with the last release.
func (x valuer) watch() {
	d := x.roster.def
	if d.Objective == nil || d.Contextual() {
		x.Joint = nil
		return
	}
	var rounds [][]armStats
	for i := range x.learning.Recent {
		if i > 0 || len(x.learning.Recent) < keepRecent {
			rounds = append(rounds, x.learning.Recent[i].Stats)
		}
	}
	if x.Private != nil && x.Private.Step > 0 {
		rounds = append(rounds, x.roster.armStats())
	}
	out := joint{Metrics: []pairing{}}
	if x.Joint != nil {
		out.Concluded = x.Joint.Concluded
	}
	for _, m := range d.JudgedMetrics() {
		p := pairing{Metric: m}
		if i := x.Joint.of(m); i >= 0 {
			p = x.Joint.Metrics[i]
		} else {
			for _, stats := range rounds {
				p.add(d, stats)
			}
		}
		out.Metrics = append(out.Metrics, p)
	}
	x.Joint = &out
}

// armStats returns the whole-life statistics of the arms.
func (x *roster) armStats() (out []armStats) {
	for k := range x.Arms {
		out = append(out, x.Arms[k].Stats)
	}
	return out
}

// of returns the index of a metric's sums, or -1.
func (x *joint) of(metric int) int {
	if x == nil {
		return -1
	}
	return slices.IndexFunc(x.Metrics, func(p pairing) bool { return p.Metric == metric })
}

// closeVersion adds the statistics of the arms in a version whose window has closed.
func (x *joint) closeVersion(d *definition.Definition, stats []armStats) {
	if x == nil {
		return
	}
	for i := range x.Metrics {
		x.Metrics[i].add(d, stats)
	}
}

// fits reports whether the sums may be those of a definition's metrics and a number of arms.
func (x *joint) fits(d *definition.Definition, arms int) bool {
	if none := d.Objective == nil || d.Contextual(); none || x == nil {
		return none && x == nil
	}
	if !slices.EqualFunc(x.Metrics, d.JudgedMetrics(), func(p pairing, m int) bool { return p.Metric == m }) {
		return false
	}
	for i := range x.Metrics {
		p := &x.Metrics[i]
		n, cross := len(p.Size), 0
		if n > arms {
			return false
		}
		if n <= mostCrossed {
			cross = n * (n - 1) / 2
		}
		parts := p.parts(d)
		if len(p.Beside) != n || len(p.Cross) != cross || len(p.Own) != parts*n || len(p.Sum) != parts*n {
			return false
		}
	}
	return true
}

// mostCrossed is the number of arms up to which every pair has a sum. Tests lower it.
var mostCrossed = 256

// pairing has the sums of a metric for least squares of arms and versions:
//
//	û_kt = μ_k + v_t + e_kt,   Var e_kt = σ²/n_kt,
//
// where û_kt is the mean of the n_kt units of arm k in version t, and v_t is what all arms of the
// version have in common, such as a season or growth. With N_t = Σ_k n_kt and the version's mean
// ū_t = Σ_k n_kt·û_kt/N_t the normal equations are
//
//	Σ_{l≠k} W_kl·(μ_k − μ_l) = q_k,   W_kl = Σ_t n_kt·n_lt/N_t,   q_k = Σ_t n_kt·(û_kt − ū_t).
//
// So differences do not depend on v_t, nor on when an arm was served more. All are by arm. A ratio
// has two parts, its numerator and its denominator.
type pairing struct {
	Metric int  `json:"metric"`
	Size   f64s `json:"size"`            // Σ_t n_kt
	Beside f64s `json:"beside"`          // Σ_{l≠k} W_kl
	Cross  f64s `json:"cross,omitempty"` // W_kl for l < k at k(k−1)/2 + l; none above mostCrossed arms
	Own    f64s `json:"own"`             // q, at k·parts + part
	Sum    f64s `json:"sum"`             // Σ_t n_kt·û_kt, likewise
}

func (p *pairing) copy() pairing {
	return pairing{
		p.Metric, slices.Clone(p.Size), slices.Clone(p.Beside), slices.Clone(p.Cross), slices.Clone(p.Own),
		slices.Clone(p.Sum),
	}
}

// parts returns the number of means of an arm.
func (p *pairing) parts(d *definition.Definition) int {
	if d.RatioIndex(p.Metric) >= 0 {
		return 2
	}
	return 1
}

// values returns the number of units of an arm with a value of the metric, and its means.
func (p *pairing) values(d *definition.Definition, a *armStats) (n float64, means [2]float64) {
	if r := d.RatioIndex(p.Metric); r >= 0 {
		q := &a.Pairs[r]
		return float64(q.N), [2]float64{q.X, q.Y}
	}
	s := &a.Metrics[p.Metric]
	return float64(s.N), [2]float64{s.Mean, 0}
}

// grow makes room for more arms.
func (p *pairing) grow(arms, parts int) {
	more := arms - len(p.Size)
	if more <= 0 {
		return
	}
	p.Size, p.Beside = append(p.Size, make(f64s, more)...), append(p.Beside, make(f64s, more)...)
	p.Own, p.Sum = append(p.Own, make(f64s, parts*more)...), append(p.Sum, make(f64s, parts*more)...)
	if arms > mostCrossed {
		p.Cross = nil
		return
	}
	p.Cross = append(p.Cross, make(f64s, arms*(arms-1)/2-len(p.Cross))...)
}

// largestPart is the largest size of a version's sums that is accepted, so that their sums stay
// within float64.
const largestPart = 1e200

// add adds the statistics of the arms in a version. It leaves out a version whose values are too
// large.
func (p *pairing) add(d *definition.Definition, stats []armStats) {
	parts, total, sum := p.parts(d), 0.0, [2]float64{}
	type observed struct {
		arm   int
		n     float64
		means [2]float64
	}
	var arms []observed
	for k := range stats {
		n, means := p.values(d, &stats[k])
		if n == 0 {
			continue
		}
		for i, v := range means {
			sum[i] += float64(n * v)
			if !(math.Abs(float64(n*v)) <= largestPart) {
				return
			}
		}
		total += n
		arms = append(arms, observed{k, n, means})
	}
	p.grow(len(stats), parts)
	for i, a := range arms {
		p.Size[a.arm] += a.n
		p.Beside[a.arm] += float64(a.n * ((total - a.n) / total))
		for j := range parts {
			p.Own[a.arm*parts+j] += float64(a.n * (a.means[j] - sum[j]/total))
			p.Sum[a.arm*parts+j] += float64(a.n * a.means[j])
		}
		if len(p.Size) > mostCrossed {
			continue
		}
		row := p.Cross[a.arm*(a.arm-1)/2:]
		for _, b := range arms[:i] {
			row[b.arm] += float64(a.n * (b.n / total))
		}
	}
}

// cross returns W_kl for k ≠ l.
func (p *pairing) cross(k, l int) float64 {
	k, l = max(k, l), min(k, l)
	return p.Cross[k*(k-1)/2+l]
}

// estimate returns the means of the arms, parts for each, and which are known: those that versions
// connect with the largest part of the served mixture. The level is that of all units of these
// arms, so that with a single version it returns the arms' own means. O(K³).
func (p *pairing) estimate(parts int, served []float64) (means []float64, known []bool) {
	means, known = make([]float64, len(p.Own)), make([]bool, len(p.Size))
	arms := p.connected(served)
	if len(arms) == 0 {
		return means, known
	}
	for j := range parts {
		if !p.solve(means, arms, parts, j) {
			return means, known
		}
		size, gap := 0.0, 0.0
		for _, k := range arms {
			size += p.Size[k]
			gap += p.Sum[k*parts+j] - float64(p.Size[k]*means[k*parts+j])
		}
		for _, k := range arms {
			means[k*parts+j] += gap / size
		}
	}
	for _, k := range arms {
		known[k] = true
	}
	return means, known
}

// solve writes part j of the arms' means, up to a number that they have in common. It reports false
// if too little connects them. Above mostCrossed arms an arm's mean is its difference from the
// other units of its versions.
func (p *pairing) solve(means []float64, arms []int, parts, j int) bool {
	if len(p.Size) > mostCrossed {
		for _, k := range arms {
			means[k*parts+j] = p.Own[k*parts+j] / p.Beside[k]
		}
		return true
	}
	last := len(arms) - 1 // its mean is 0
	matrix, x := make([]float64, last*last), make([]float64, last)
	for a, k := range arms[:last] {
		x[a] = p.Own[k*parts+j]
		for b, l := range arms {
			if b == a {
				continue
			}
			w := p.cross(k, l)
			matrix[a*last+a] += w
			if b < last {
				matrix[a*last+b] = -w
			}
		}
	}
	if !linalg.Factorize(matrix, last) {
		return false
	}
	linalg.SolveRT(matrix, last, x)
	linalg.SolveR(matrix, last, x)
	for a, k := range arms[:last] {
		means[k*parts+j] = x[a]
	}
	means[arms[last]*parts+j] = 0
	return true
}

// connected returns the arms that versions connect with each other: the group with the largest part
// of the served mixture or, if none of them is served, with the most units.
func (p *pairing) connected(served []float64) (best []int) {
	share, size := -1.0, 0.0
	for _, arms := range p.groups() {
		s, n := 0.0, 0.0
		for _, k := range arms {
			if n += p.Size[k]; k < len(served) {
				s += served[k]
			}
		}
		if s > share || s == share && n > size {
			best, share, size = arms, s, n
		}
	}
	return best
}

// groups returns the groups of arms that versions connect, without arms that have no units.
func (p *pairing) groups() (groups [][]int) {
	if len(p.Size) > mostCrossed {
		var all []int
		for k, w := range p.Beside {
			if w > 0 {
				all = append(all, k)
			}
		}
		return [][]int{all}
	}
	seen := make([]bool, len(p.Size))
	for first, n := range p.Size {
		if seen[first] || n == 0 {
			continue
		}
		seen[first] = true
		group := []int{first}
		for i := 0; i < len(group); i++ {
			for l := range p.Size {
				if !seen[l] && l != group[i] && p.cross(group[i], l) > 0 {
					seen[l] = true
					group = append(group, l)
				}
			}
		}
		slices.Sort(group)
		groups = append(groups, group)
	}
	return groups
}
