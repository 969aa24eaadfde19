package pasto

import (
	"math"
	"slices"

	"github.com/noregret/noregret/internal/portable"
)

// resolve computes p⁺ and p⁻. Until an arm has been served twice nothing is known of the noise, and
// both stay uniform; with hard guardrails both stay as they are too while effects of rounds are unknown. On error
// both are as before.
func (l *Confident) resolve() error {
	s := &l.s
	if s.Freedom <= 0 {
		return nil
	}
	some := false
	for k := range l.usable {
		l.usable[k] = s.Active[k] && s.Count[k] > 0
		some = some || l.usable[k]
	}
	if !some || l.hard != nil && l.blind() { // only new arms are left, or none can be said to be safe
		return nil
	}
	l.down, l.up = append(l.down[:0], s.Down...), append(l.up[:0], s.Up...)
	l.solver.usable = l.usable
	l.miss()
	err := l.cautious(s.Down)
	if err == nil {
		l.shift(false, 1)
		_, err = l.optimize(s.Up)
	}
	if err != nil {
		copy(s.Down, l.down)
		copy(s.Up, l.up)
		return err
	}
	copy(s.Solved, s.Count)
	return nil
}

// roomSteps is the number of times that the range is halved in which the share of the caution of hard guardrails
// lies that there is room for.
const roomSteps = 6

// cautious computes p⁻. Where no mixture holds the hard guardrails with all their caution, it takes as much
// of it as there is room for, and where none holds them by the estimates the least violation by these.
func (l *Confident) cautious(p []float64) error {
	solve := func(room float64) (feasible bool, err error) {
		l.shift(true, room)
		l.risk()
		feasible, err = l.optimize(p)
		l.solver.ridge = nil
		return feasible, err
	}
	for _, room := range [2]float64{1, 0} {
		if feasible, err := solve(room); err != nil || feasible == (room == 1) {
			return err
		}
	}
	low, high, at := 0.0, 1.0, 0.0
	for range roomSteps {
		mid := (low + high) / 2
		feasible, err := solve(mid)
		if err != nil {
			return err
		}
		if at = mid; feasible {
			low = mid
		} else {
			high = mid
		}
	}
	if at != low {
		_, err := solve(low)
		return err
	}
	return nil
}

// shift writes V̂ + z·se with the optimism z, or V̂ − c·se with the metric's caution c, of which hard
// guardrails take the share room, in the good direction. Where effects common to the groups of a round have a part
// in an arm's errors, hard guardrails take the quantile of Student's t for c, with as many degrees of freedom as
// the effects' variance is known with.
func (l *Confident) shift(cautious bool, room float64) {
	s, m := &l.s, l.objective.Dim()
	for k, ok := range l.usable {
		if !ok {
			continue
		}
		for i := range m {
			z := max(l.options.Optimism, 0)
			if cautious {
				if z = -l.caution[i]; l.hard != nil && l.hard.metrics[i].Hard {
					if z != 0 && l.shares(k) {
						z = -student(-z, l.tauFreedom())
					}
					z = float64(max(z, -mostCaution) * room)
				}
			}
			se := math.Sqrt(l.squared[k*m+i])
			l.moved.data[k*m+i] = s.Mean[k*m+i] + float64(float64(z*l.sign[i])*se)
		}
	}
}

// miss computes the squared standard errors of the usable arms' means, for shift and risk.
func (l *Confident) miss() {
	m := l.objective.Dim()
	for i := range l.taus {
		l.taus[i] = l.tau(i)
	}
	for k, ok := range l.usable {
		if !ok {
			continue
		}
		for i, tau := range l.taus {
			l.squared[k*m+i] = l.squareErrorWith(k, i, l.s.Size[k], l.s.Cluster[k], tau)
		}
	}
}

// mostCaution bounds the quantiles that stand for a caution: they grow without bound as less is known.
const mostCaution = 100

// blind reports whether nothing is known of effects that groups of a round have in common and that the means of
// some usable arm depend on: what is known of its noise says little of what it misses its mean by.
func (l *Confident) blind() bool {
	if l.tauFreedom() > 0 {
		return false
	}
	for k, ok := range l.usable {
		if ok && l.shares(k) {
			return true
		}
	}
	return false
}

// risk sets the solver's ridge, r_k = Shrink·Σ_i λ_i·se_ki².
func (l *Confident) risk() {
	if l.options.Shrink < 0 || !slices.ContainsFunc(l.curve, func(c float64) bool { return c > 0 }) {
		return
	}
	for k, ok := range l.usable {
		if !ok {
			continue
		}
		r := 0.0
		for i, v := range l.squared[k*len(l.curve) : (k+1)*len(l.curve)] {
			r += float64(l.curve[i] * v)
		}
		l.ridge[k] = float64(l.options.Shrink * r)
	}
	l.solver.ridge = l.ridge
}

// optimize improves p from where it is, on the usable arms, to a millionth of the spread that scores can
// have.
func (l *Confident) optimize(p []float64) (feasible bool, err error) {
	sum, n := 0.0, 0
	for k, w := range p {
		if !l.usable[k] {
			p[k] = 0
		} else {
			n++
			sum += w
		}
	}
	for k := range p {
		switch {
		case !l.usable[k]:
		case sum > 0:
			p[k] /= sum
		default:
			p[k] = 1 / float64(n)
		}
	}
	if l.hard != nil {
		return l.program(p), nil
	}
	l.solver.err = nil
	l.solver.settle(p, 1e-6, solverSteps)
	return true, l.solver.err
}

// program sets p to the linear program's solution on the usable arms, or to the mixture of least violation
// where there is none, and reports which.
func (l *Confident) program(p []float64) (feasible bool) {
	w := &l.work
	w.arms, w.part.data = w.arms[:0], w.part.data[:0]
	for k, ok := range l.usable {
		if ok {
			w.arms = append(w.arms, k)
			w.part.data = append(w.part.data, l.moved.Arm(k)...)
		}
	}
	w.part.arms, w.part.metrics = len(w.arms), l.moved.metrics
	feasible, err := w.decomposition.maximize(l.hard, &w.part, float64(1e-9*w.spread(l.hard, &w.part)), 10_000)
	if err != nil {
		return true // too ill-conditioned: the mixture stays
	}
	q := w.opt.Mixture
	if !feasible {
		w.kept = w.lp.mixtureTo(w.kept)
		q = w.kept
	}
	clear(p)
	for i, k := range w.arms {
		p[k] = q[i]
	}
	return feasible
}

// mix computes what is served from p⁺, p⁻ and the arms not yet seen.
func (l *Confident) mix() {
	s := &l.s
	t := float64(s.Mixed + 1)
	alpha := min(0.5, float64(max(l.options.Explore, 0)*portable.Exp(-portable.Log(t)/3)))
	eps := min(max(0.1/math.Sqrt(t+10), l.options.Floor), 1)
	unseen := 0.0 // the share of arms not served since the start or the last change: all at first, later by their number
	if s.Fresh > 0 {
		unseen = 1
		if s.Warm {
			unseen = float64(s.Fresh) / float64(s.Live)
		}
	}
	rest := 1 - unseen
	each := float64(rest*eps) / float64(s.Live)
	for k := range l.p {
		l.p[k] = 0
		if !s.Active[k] {
			continue
		}
		l.p[k] = float64(float64(rest*(1-eps))*(float64(alpha*s.Up[k])+float64((1-alpha)*s.Down[k]))) + each
		if s.Rounds[k] == 0 {
			l.p[k] += unseen / float64(s.Fresh)
		}
	}
	l.sampler.ready = false
}
