package confident

import (
	"math"

	"github.com/noregret/noregret/pasto"
)

// estimates are what the state says about the arms' means. They are a function of the state, and
// are computed anew for each solution.
type estimates struct {
	rows    []float64 // K·M: V̂
	squared []float64 // K·M: squared standard errors, without what all arms have in common
	level   []float64 // M: the squared error that all arms have in common
	apart   []float64 // K·M: of y_k − y_control, where a guardrail is relative to a control arm
	usable  []bool    // arms with a mean and a standard error
	sigma   []float64 // K: of one metric
	work    jointWork
}

// reset makes room for a number of arms and metrics.
func (e *estimates) reset(arms, m int, relative bool) {
	e.rows, e.squared, e.level = make([]float64, arms*m), make([]float64, arms*m), make([]float64, m)
	e.usable, e.sigma = make([]bool, arms), make([]float64, arms)
	if relative {
		e.apart = make([]float64, arms*m)
	}
}

// variance returns the variance of a unit of size of arm k in metric i without the effects of
// rounds, whose variance is tau; +Inf while it is unknown. It is that of units where that is known,
// times the dispersion, and else by scatter: of the adjusted values where effects are surely there.
func (l *Learner) variance(k, i int, tau float64) float64 {
	s := &l.s.Stats
	if s.UnitSize != nil && s.UnitSize[k*len(l.sign)+i] > 0 {
		return float64(l.s.Dispersion[i] * s.unitVariance(k, i, l.width[i]))
	}
	if l.metricShown(i) { // what the adjusted values had of effects before that is small
		return s.Fair.variance(k, i, 0, &l.options)
	}
	return s.Raw.variance(k, i, tau, &l.options)
}

// scatterOf is that of the raw values, or of the adjusted ones where effects of rounds are surely
// there.
func (l *Learner) scatterOf(i int) *scatter {
	if l.metricShown(i) {
		return &l.s.Stats.Fair
	}
	return &l.s.Stats.Raw
}

// metricShown reports whether effects of rounds are surely there in metric i.
func (l *Learner) metricShown(i int) bool {
	s := &l.s.Stats.Fair
	return s.Freedom > 0 && l.s.Noise.shown(i, s.Pool[i]/s.Freedom)
}

// estimate computes the estimates, and reports whether any arm is usable.
func (l *Learner) estimate() bool {
	s, e := &l.s, &l.plan.est
	some := false
	for k := range e.usable {
		e.usable[k] = s.Active[k] && s.Stats.Count[k] > 0
	}
	for i := range e.level {
		l.estimateMetric(i)
	}
	for _, ok := range e.usable {
		some = some || ok
	}
	return some
}

// disperse computes, for metric i, by how many times the scatter between rounds exceeds the known
// variances of units, at least 1 and worth poolWeight groups more.
func (l *Learner) disperse(i int) {
	s, m := &l.s.Stats, l.objective.Dim()
	l.s.Dispersion[i] = 1
	if s.UnitSize == nil {
		return
	}
	tau := l.s.Noise.tau(&s.Raw, i)
	from := l.scatterOf(i)
	if from == &s.Fair {
		tau = 0
	}
	sum, free := float64(poolWeight), float64(poolWeight)
	for k, n := range from.Free {
		if n > 0 && s.UnitSize[k*m+i] > 0 {
			if v := s.unitVariance(k, i, l.width[i]); v > 0 {
				sum += max(from.Squares[k*m+i]-float64(tau*from.spread(k)), 0) / v
				free += n
			}
		}
	}
	l.s.Dispersion[i] = max(sum/free, 1)
}

// estimateMetric computes the estimates of metric i: jointly, where effects of rounds are surely
// there and arms are few enough, and else each arm by itself, with all of τ² in its error.
func (l *Learner) estimateMetric(i int) {
	s, e, m := &l.s.Stats, &l.plan.est, l.objective.Dim()
	tau := l.s.Noise.tau(&s.Raw, i)
	mean, total := 0.0, 0.0
	for k, n := range s.Count {
		if n == 0 {
			e.rows[k*m+i], e.squared[k*m+i] = 0, math.Inf(1)
			continue
		}
		e.sigma[k] = l.variance(k, i, tau)
		if math.IsInf(e.sigma[k], 1) {
			e.usable[k] = false
		} else {
			mean += float64(s.Raw.Weight[k] * e.sigma[k])
			total += s.Raw.Weight[k]
		}
		j := k*m + i
		e.rows[j] = s.Raw.Mean[j]
		e.squared[j] = (e.sigma[k] + float64(tau*(s.Raw.Heavy[k]/s.Raw.Weight[k]))) / s.Raw.Weight[k]
		if e.apart != nil {
			e.apart[j] = e.squared[j]
		}
	}
	e.level[i] = 0
	jointly := total > 0 && len(l.s.Joint.Size) > 0 && l.options.has(noJoint) && l.metricShown(i)
	if jointly {
		jointly = l.estimateJointly(i, mean/total, tau)
	}
	if control := l.options.Control; e.apart != nil && !jointly {
		for k, n := range s.Count {
			if n > 0 && k != control {
				e.apart[k*m+i] += e.squared[control*m+i]
			}
		}
		e.apart[control*m+i] = 0
	}
}

// estimateJointly is generalized least squares, for the mean variance sigma and τ². The covariance
// of arms of different variances σ_k² takes σ_k·σ_l in place of σ².
func (l *Learner) estimateJointly(i int, sigma, tau float64) bool {
	e, j, m, control := &l.plan.est, &l.s.Joint, l.objective.Dim(), l.options.Control
	c := j.coefficient(sigma, tau)
	if !j.solve(i, c, e.rows, control, &e.work) {
		return false
	}
	e.level[i] = j.level(tau)
	sum := 0.0
	for _, n := range j.Size {
		sum += n
	}
	c = min(c, mostExact)
	common := c / (1 - c) / sum // the part of the matrix that all arms have in common
	for k, n := range j.Size {
		if n <= 0 {
			continue
		}
		at := k*m + i
		e.squared[at] = float64(e.sigma[k] * max(e.work.variance[k]-common, 0.5/n))
		if e.apart == nil {
			continue
		}
		e.apart[at] = 0
		if k != control {
			e.apart[at] = max(float64(e.sigma[k]*e.work.variance[k])+float64(e.sigma[control]*e.work.variance[control])-
				float64(2*float64(math.Sqrt(float64(e.sigma[k]*e.sigma[control]))*e.work.control[k])),
				float64(0.5*e.sigma[k]/n))
		}
	}
	return true
}

// isAbsolute reports whether the level of metric i matters to the objective, so that the error that
// all arms have in common counts: not for primary metrics of a weighted sum, and not for contrasts.
func (l *Learner) isAbsolute(i int) bool {
	g, ok := l.objective.(*pasto.Goals)
	return !ok || g.Metrics()[i].Role == pasto.Guardrail && !l.relative[i]
}

// standardError is that of arm k's mean in metric i.
func (l *Learner) standardError(k, i int) float64 {
	return math.Sqrt(l.plan.est.squared[k*l.objective.Dim()+i] + l.plan.est.level[i])
}

// errorKnown reports whether the standard errors of arm k rest on data: it has been served since
// its last change, and if it had several groups in a round, the effects of rounds are known.
func (l *Learner) errorKnown(k int) bool {
	return l.s.Stats.Rounds[k] > 0 && !l.effectsUnknown(k)
}

// effectsUnknown reports whether arm k's errors depend on effects of rounds while nothing is known
// about these.
func (l *Learner) effectsUnknown(k int) bool {
	return l.s.Noise.freedom(&l.s.Stats.Raw) <= 0 && l.effectsCount(k)
}

// effectsCount reports whether effects of rounds may be more than a fifth of the squared errors of
// arm k's means while its estimated variance does not contain them.
func (l *Learner) effectsCount(k int) bool {
	s, pool := &l.s.Stats.Raw, 0.0
	if s.Freedom > 0 {
		pool = float64(poolWeight * s.Spread / s.Freedom)
	}
	inside := (s.spread(k) + pool) / (s.Free[k] + poolWeight)
	return s.Heavy[k]/s.Weight[k]-inside > float64(0.25*inside)
}

// Estimate returns V̂, of the raw values where the learner has a control arm, and its standard
// errors. An arm never served has 0 and +Inf. Errors are also +Inf for arms not served since their
// last change, and while nothing is known of what they depend on: of the noise, or of the effects
// that groups of a round have in common where an arm had several in a round; that takes a second
// round.
func (l *Learner) Estimate() (means, errors *pasto.Table) {
	l.estimate()
	m := l.objective.Dim()
	means, errors = new(pasto.Table), new(pasto.Table)
	means.Reset(l.Arms(), m)
	errors.Reset(l.Arms(), m)
	for k := range l.s.Active {
		copy(means.Arm(k), l.plan.est.rows[k*m:(k+1)*m])
		for i := range m {
			errors.Arm(k)[i] = math.Inf(1)
			if l.errorKnown(k) {
				errors.Arm(k)[i] = l.standardError(k, i)
			}
		}
	}
	return means, errors
}

// Mean returns the means of arm k's values, or nil if the arm is retired or was never served. Read
// them, do not write to them; the next Observe may change them.
func (l *Learner) Mean(k int) []float64 {
	if !l.s.Active[k] || l.s.Stats.Count[k] == 0 {
		return nil
	}
	m := l.objective.Dim()
	return l.s.Stats.Raw.Mean[k*m : (k+1)*m]
}

// SquaredError returns the squared standard error of the mean of metric i of arm k, which must have
// been served.
func (l *Learner) SquaredError(k, i int) float64 {
	s := &l.s.Stats
	tau := l.s.Noise.tau(&s.Raw, i)
	return (l.variance(k, i, tau) + float64(tau*(s.Raw.Heavy[k]/s.Raw.Weight[k]))) / s.Raw.Weight[k]
}

// Passes is the number of passes over all arms that solutions have taken since an arm was last
// added: a measure of their cost.
func (l *Learner) Passes() int { return l.plan.solver.Passes() }

// Active reports whether arm k is not retired.
func (l *Learner) Active(k int) bool { return l.s.Active[k] }

// ActiveArms is the number of arms that are not retired.
func (l *Learner) ActiveArms() int { return l.s.Live }

// Changes is the number of changes of an arm found so far.
func (l *Learner) Changes() int { return l.s.Found }

// Settled reports whether every active arm has been served since the start or its last change, and
// the noise has an estimate.
func (l *Learner) Settled() bool { return l.s.Unobserved == 0 && l.noiseKnown() }

// noiseKnown reports whether the variance of a group or of a unit is known of any arm.
func (l *Learner) noiseKnown() bool { return l.s.Stats.Raw.Freedom > 0 || l.s.Stats.UnitSize != nil }
