package confident

import (
	"math"
	"slices"

	"github.com/noregret/noregret/internal/portable"
	"github.com/noregret/noregret/internal/stat"
)

// resolve computes p⁺ and p⁻. Both stay uniform until an arm has been served twice, as the noise
// is then unknown. With hard guardrails both also stay as they are while the effects of rounds
// are unknown. On error both are as before.
func (l *Learner) resolve() error {
	s := &l.s
	if s.Freedom <= 0 {
		return nil
	}
	some := false
	for k := range l.usable {
		l.usable[k] = s.Active[k] && s.Count[k] > 0
		some = some || l.usable[k]
	}
	if !some || l.hard != nil && l.commonNoiseUnknown() { // only new arms are left, or none can be said to be safe
		return nil
	}
	l.down, l.up = append(l.down[:0], s.Down...), append(l.up[:0], s.Up...)
	l.solver.Usable = l.usable
	l.computeStandardErrors()
	err := l.cautious(s.Down)
	if err == nil {
		l.applyConfidenceBounds(false, 1)
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

// bisectionSteps is the number of bisections that look for the largest feasible share of the
// caution of hard guardrails.
const bisectionSteps = 6

// cautious computes p⁻. If no mixture holds the hard guardrails with all their caution, it takes
// the largest feasible share of it, and if none holds them by the estimates, the mixture of
// least violation.
//
// After a change p⁻ stays until every arm has been served a few times again and a mixture holds
// the guardrails with all caution, as long as p⁻ may hold them itself. Once every arm has been
// served, and no mixture holds the guardrails with all caution, it stays until the feasible
// mixture is surely better.
func (l *Learner) cautious(p []float64) error {
	s := &l.s
	solve := func(room float64) (feasible bool, err error) {
		l.applyConfidenceBounds(true, room)
		l.risk()
		feasible, err = l.optimize(p)
		l.solver.Ridge = nil
		return feasible, err
	}
	feasible, err := solve(1)
	if err != nil {
		return err
	}
	kept := s.HoldsPrevious && l.hard != nil && l.mayHold(l.down)
	switch {
	case kept && s.Unobserved+s.Underobserved > 0:
		copy(p, l.down)
		return nil
	case feasible:
		s.HoldsPrevious = false
		return nil
	}
	feasible, err = l.maxFeasibleCaution(solve)
	if err != nil {
		return err
	}
	if s.HoldsPrevious = kept && !(feasible && l.surelyBetter(p, l.down)); s.HoldsPrevious {
		copy(p, l.down)
	}
	return nil
}

// maxFeasibleCaution solves with the largest feasible share of the caution of hard guardrails.
// It reports false if the problem is infeasible even without caution.
func (l *Learner) maxFeasibleCaution(solve func(room float64) (feasible bool, err error)) (feasible bool, err error) {
	if feasible, err := solve(0); err != nil || !feasible {
		return false, err
	}
	low, high, at := 0.0, 1.0, 0.0
	for range bisectionSteps {
		mid := (low + high) / 2
		feasible, err := solve(mid)
		if err != nil {
			return false, err
		}
		if at = mid; feasible {
			low = mid
		} else {
			high = mid
		}
	}
	if at != low {
		_, err := solve(low)
		return true, err
	}
	return true, nil
}

// mayHold reports whether the estimates of mixture p violate no hard guardrail by more than its
// caution of standard errors.
func (l *Learner) mayHold(p []float64) bool {
	for i := range l.hard.Metrics() {
		if x := &l.hard.Metrics()[i]; x.Hard && x.Violation(l.off(p, i, l.caution[i])) > x.Tolerance() {
			return false
		}
	}
	return true
}

// surelyBetter reports whether the objective of p without hard guardrails, with every metric z
// standard errors worse than estimated, is above that of q with every metric z standard errors
// better.
func (l *Learner) surelyBetter(p, q []float64) bool {
	z := l.optimism()
	for i := range l.worse {
		l.worse[i], l.better[i] = l.off(p, i, -z), l.off(q, i, z)
	}
	return l.hard.Reward(l.worse) > l.hard.Reward(l.better)
}

// off returns the estimate of metric i of mixture p, moved by z standard errors in the good
// direction and clipped to the metric's range.
func (l *Learner) off(p []float64, i int, z float64) float64 {
	m, mean, square := len(l.sign), 0.0, 0.0
	for k, w := range p {
		if w > 0 {
			mean += float64(w * l.s.Mean[k*m+i])
			square += float64(float64(w*w) * l.squared[k*m+i])
		}
	}
	return min(max(mean+float64(l.sign[i]*float64(z*math.Sqrt(square))), l.low[i]), l.high[i])
}

// applyConfidenceBounds writes V̂ + z·se with the optimism z, or V̂ − c·se with the caution c of
// each metric, in the good direction. Hard guardrails take the share room of their caution.
// Where effects common to the groups of a round contribute to an arm's errors, they replace c by
// the quantile of Student's t with the degrees of freedom of the estimate of these effects'
// variance.
func (l *Learner) applyConfidenceBounds(cautious bool, room float64) {
	s, m, optimism := &l.s, l.objective.Dim(), l.optimism()
	for k, ok := range l.usable {
		if !ok {
			continue
		}
		for i := range m {
			z := optimism
			if cautious {
				if z = -l.caution[i]; l.hard != nil && l.hard.Metrics()[i].Hard {
					if z != 0 && l.shares(k) {
						z = -stat.Student(-z, l.tauFreedom())
					}
					z = float64(max(z, -mostCaution) * room)
				}
			}
			off := float64(z * math.Sqrt(l.squared[k*m+i]))
			if !cautious {
				off = max(off, l.ownError(k, i, z))
			}
			l.moved.Arm(k)[i] = min(max(s.Mean[k*m+i]+float64(l.sign[i]*off), l.low[i]), l.high[i])
		}
	}
}

// noisier is how many times the pooled variance an arm's own variance must be to be used alone.
const noisier = 4

// ownError returns z standard errors of arm k's mean in metric i by its own scatter alone, if
// that is far above the pooled one, and 0 otherwise. It uses the quantile of Student's t, as a
// few groups estimate the scatter poorly.
func (l *Learner) ownError(k, i int, z float64) float64 {
	s := &l.s
	free, own := s.Count[k]-1, s.Squares[k*l.objective.Dim()+i]
	if !(free > 0) || own <= float64(noisier*float64(free*(s.Pool[i]/s.Freedom))) {
		return 0
	}
	return float64(min(stat.Student(z, free), mostCaution) * math.Sqrt(own/free/s.Size[k]))
}

// computeStandardErrors computes the squared standard errors of the usable arms' means.
func (l *Learner) computeStandardErrors() {
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

// optimism returns z. It grows with the logarithm of the rounds since the start or the last
// change, by a sixteenth of itself in each power of ten above 100, so that no arm is excluded
// for good because of its first groups.
func (l *Learner) optimism() float64 {
	z := l.options.Exploration.Optimism
	if t := float64(l.s.Clock); t > 100 {
		z += float64(z * (portable.Log(t/100) / (16 * math.Ln10)))
	}
	return z
}

// mostCaution bounds the quantiles that replace a caution, which grow without bound as the
// degrees of freedom go to 0.
const mostCaution = 100

// commonNoiseUnknown reports whether the errors of some usable arm depend on effects that the
// groups of a round have in common, while nothing is known about these effects.
func (l *Learner) commonNoiseUnknown() bool {
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
func (l *Learner) risk() {
	if l.options.Shrink == 0 || !slices.ContainsFunc(l.curve, func(c float64) bool { return c > 0 }) {
		return
	}
	most := l.objectiveRange()
	for k, ok := range l.usable {
		if !ok {
			continue
		}
		r := 0.0
		for i, v := range l.squared[k*len(l.curve) : (k+1)*len(l.curve)] {
			r += float64(l.curve[i] * v)
		}
		l.ridge[k] = min(float64(l.options.Shrink*r), most)
	}
	l.solver.Ridge = l.ridge
}

// objectiveRange returns the range of the objective over the usable arms' estimates.
func (l *Learner) objectiveRange() float64 {
	value := l.objective.Value
	if l.hard != nil {
		value = l.hard.Reward
	}
	low, high := math.Inf(1), math.Inf(-1)
	for k, ok := range l.usable {
		if ok {
			v := value(l.s.Mean[k*len(l.curve) : (k+1)*len(l.curve)])
			low, high = min(low, v), max(high, v)
		}
	}
	if v := high - low; v > 0 {
		return v
	}
	return math.Inf(1)
}

// optimize improves p on the usable arms to a gap of a millionth of the range of the arms'
// scores.
func (l *Learner) optimize(p []float64) (feasible bool, err error) {
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
	l.solver.Err = nil
	l.solver.SolveToTolerance(p, 1e-6, steps(len(p), len(l.sign)))
	return true, l.solver.Err
}

// steps returns the largest number of passes over all arms of a solution with so many arms and
// metrics.
func steps(arms, metrics int) int {
	return int(min(max(int64(mostNumbers)/(int64(arms)*int64(metrics)), fewestSteps), solverSteps))
}

// program sets p to the optimum under hard guardrails on the usable arms, or to the mixture of
// least violation if none holds them, and reports which.
func (l *Learner) program(p []float64) (feasible bool) {
	w := &l.work
	w.arms = w.arms[:0]
	w.part.Reset(0, l.moved.Metrics())
	for k, ok := range l.usable {
		if ok {
			w.arms = append(w.arms, k)
			w.part.Append(l.moved.Arm(k))
		}
	}
	feasible, err := w.HardSolver.Maximize(l.hard, &w.part, float64(1e-9*w.Spread(l.hard, &w.part)), 10_000)
	if err != nil {
		return true // too ill-conditioned: the mixture stays
	}
	q := w.Best.Mixture
	if !feasible {
		q = w.LeastViolation()
	}
	clear(p)
	for i, k := range w.arms {
		p[k] = q[i]
	}
	return feasible
}

// mix computes Serving from p⁺, p⁻ and the arms not yet observed.
func (l *Learner) mix() {
	s := &l.s
	t := float64(s.Mixed + 1)
	alpha := min(l.options.Exploration.Share, float64(l.options.Exploration.Decay*portable.Exp(-portable.Log(t)/3)))
	eps := min(max(0.1/math.Sqrt(t+10), l.options.Floor), 1)
	// the share of arms not served since the start or the last change: all at first, later by their
	// number
	unseen := 0.0
	if s.Unobserved > 0 {
		unseen = 1
		if s.AllObserved {
			unseen = float64(s.Unobserved) / float64(s.Live)
		}
	}
	rest := 1 - unseen
	// the share of arms of which little is known
	few := float64(rest * float64(0.5*(float64(s.Underobserved)/float64(s.Live))))
	rest -= few
	each := float64(rest*eps) / float64(s.Live)
	for k := range l.p {
		l.p[k] = 0
		if !s.Active[k] {
			continue
		}
		l.p[k] = float64(float64(rest*(1-eps))*(float64(alpha*s.Up[k])+float64((1-alpha)*s.Down[k]))) + each
		if s.Rounds[k] == 0 {
			l.p[k] += unseen / float64(s.Unobserved)
		} else if s.Count[k] < fewGroups {
			l.p[k] += few / float64(s.Underobserved)
		}
	}
	l.sampler.Reset()
}
