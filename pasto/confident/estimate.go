package confident

import (
	"math"
	"slices"
)

// estimates are what the state says about the arms' means. They are a function of the state, and
// are computed anew for each solution.
type estimates struct {
	*problem
	s       *state
	rows    []float64 // K·M: V̂
	squared []float64 // K·M: squared standard errors, without what all arms have in common
	level   []float64 // M: the squared error that all arms have in common
	apart   []float64 // K·M: of y_k − y_control, where a guardrail is relative to a control arm
	usable  []bool    // arms with a mean and a standard error
	within  []float64 // K·2: differences from the control within rounds, with squared errors
	work    jointWork
}

// reset makes room for a number of arms and metrics.
func (e *estimates) reset() {
	arms, m := len(e.s.Active), len(e.sign)
	e.rows, e.squared, e.level = make([]float64, arms*m), make([]float64, arms*m), make([]float64, m)
	e.usable = make([]bool, arms)
	if slices.Contains(e.relative, true) {
		e.apart = make([]float64, arms*m)
	}
}

// variance returns the variance of a unit of size of arm k in metric i, without what all arms of a
// round have in common; +Inf while it is unknown. The scatter raises known variances of units.
func (e *estimates) variance(k, i int) float64 {
	s := &e.s.Stats
	if s.unitsKnown(k, i) && e.options.has(noDispersion) {
		return float64(s.variance(k, i) * e.s.Noise.dispersion(i))
	}
	return s.variance(k, i)
}

// effectsShown reports whether some metric surely has effects of rounds. All metrics are then taken
// to have some: what rounds have in common shows first where the noise is least.
func (e *estimates) effectsShown() bool {
	for i, ignored := range e.ignored {
		if !ignored && e.s.Noise.shown(i) {
			return true
		}
	}
	return false
}

// estimate computes the estimates, and reports whether any arm is usable. Where effects of rounds
// are shown and the arms are few enough, arms are compared within rounds, so that what they have in
// common cancels; else each arm has its mean, with all of τ² in its error.
func (e *estimates) estimate() bool {
	s, m := &e.s.Stats, len(e.sign)
	some := false
	jointly := len(e.s.Joint.Size) > 0 && e.options.has(noJoint) && e.effectsShown()
	e.work.c = 0
	for k, rounds := range s.Rounds {
		e.usable[k] = e.s.Active[k] && rounds > 0
	}
	for i := range m {
		e.level[i] = 0
		if c := e.coefficient(i); jointly && c > 0 &&
			(c == e.work.c || e.s.Joint.prepare(c, e.options.Control, &e.work)) {
			e.estimateJointly(i)
		} else {
			e.estimateApart(i)
			e.reconcile(i)
		}
		for k, rounds := range s.Rounds {
			if rounds == 0 {
				e.rows[k*m+i], e.squared[k*m+i] = 0, math.Inf(1)
			}
			e.usable[k] = e.usable[k] && !math.IsInf(e.squared[k*m+i], 1)
		}
	}
	for _, ok := range e.usable {
		some = some || ok
	}
	return some
}

// reconcile replaces the differences of means from the control in relative guardrail i by those
// within rounds where these are worse by more than two standard errors (Hausman 1978): the shares
// have then followed the level of rounds, which happens before effects of rounds are shown.
func (e *estimates) reconcile(i int) {
	j, m, control := &e.s.Joint, len(e.sign), e.options.Control
	if e.apart == nil || len(j.Size) == 0 || !e.relative[i] || e.s.Stats.Rounds[control] == 0 ||
		!e.options.has(noReconcile) || e.work.c == 0 && !j.prepare(mostShared, control, &e.work) {
		return
	}
	e.within = slices.Grow(e.within[:0], 2*len(j.Size))[:2*len(j.Size)]
	e.estimateJointly(i)
	for k := range j.Size {
		e.within[2*k], e.within[2*k+1] = e.rows[k*m+i]-e.rows[control*m+i], e.apart[k*m+i]
	}
	e.estimateApart(i)
	for k, rounds := range e.s.Stats.Rounds {
		if rounds == 0 || k == control {
			continue
		}
		d, square, mean := e.within[2*k], e.within[2*k+1], e.rows[control*m+i]
		off, own := e.rows[k*m+i]-mean-d, e.apart[k*m+i]
		if float64(e.sign[i]*off) > 0 && float64(off*off) > float64(4*max(square-own, 0.5*square)) {
			e.rows[k*m+i], e.apart[k*m+i] = mean+d, square
		}
	}
}

// coefficient returns how much of what a round's arms have in common is taken out of metric i: all
// with a control arm, whose share may follow the level, and else as much as generalized least
// squares does.
func (e *estimates) coefficient(i int) float64 {
	if e.options.Control >= 0 {
		return mostShared
	}
	return e.s.Joint.coefficient(e.s.Stats.pooled(i), e.s.Noise.tau(i))
}

// compare writes the joint estimates to the rows, whether effects of rounds are shown or not.
func (e *estimates) compare() {
	if j := &e.s.Joint; len(j.Size) > 0 && j.prepare(mostShared, e.options.Control, &e.work) {
		for i := range e.sign {
			j.estimate(i, e.rows, &e.work)
		}
	}
}

// estimateMean estimates arm k by its mean in metric i.
func (e *estimates) estimateMean(k, i int) {
	s := &e.s.Stats
	j, n := k*len(e.sign)+i, s.Weight[k]
	e.rows[j] = s.Mean[j]
	e.squared[j] = (e.variance(k, i) + float64(e.s.Noise.tau(i)*(s.Heavy[k]/n))) / n
}

// estimateApart estimates each arm by its mean in metric i.
func (e *estimates) estimateApart(i int) {
	s, m := &e.s.Stats, len(e.sign)
	for k, rounds := range s.Rounds {
		if rounds > 0 {
			e.estimateMean(k, i)
		}
	}
	if e.apart == nil {
		return
	}
	for k, rounds := range s.Rounds {
		if e.apart[k*m+i] = 0; rounds > 0 && k != e.options.Control {
			e.apart[k*m+i] = e.squared[k*m+i] + e.squared[e.options.Control*m+i]
		}
	}
}

// estimateJointly is least squares of all arms at once. The variance of an arm's estimate
// is its own σ²/n, and the pooled variance for what the arms that it is compared with add to that.
// An arm of which comparisons tell less than a hundredth of what its own values do has its mean.
func (e *estimates) estimateJointly(i int) {
	j, m, control := &e.s.Joint, len(e.sign), e.options.Control
	j.estimate(i, e.rows, &e.work)
	e.level[i] = j.level(e.s.Noise.tau(i))
	sum := 0.0
	for _, n := range j.Size {
		sum += n
	}
	c := min(e.work.c, mostExact)
	common := c / (1 - c) / sum // the part of the inverse that all arms have in common
	pooled := e.s.Stats.pooled(i)
	for k, n := range j.Size {
		if n <= 0 {
			continue
		}
		own := e.variance(k, i) / n
		v := e.work.variance[k] - common
		e.squared[k*m+i] = float64(own*max(min(float64(v*n), 1), 0.5)) + float64(pooled*max(v-1/n, 0))
		if float64(v*n) > 100 {
			e.estimateMean(k, i)
			e.squared[k*m+i] += e.level[i]
		}
		if e.apart == nil {
			continue
		}
		e.apart[k*m+i] = 0
		if size := j.Size[max(control, 0)]; k != control && size > 0 {
			v += e.work.variance[control] - float64(2*e.work.control[k]) + common
			e.apart[k*m+i] = own + e.variance(control, i)/size + float64(pooled*max(v-1/n-1/size, 0))
		}
	}
}

// contrast returns what a relative guardrail compares, y_k − y_0 − δ·|y_0| for the control's y_0
// and the threshold δ, with its squared error.
func (e *estimates) contrast(k, i int) (value, square float64) {
	m, control := len(e.sign), e.options.Control
	y, threshold := e.rows[control*m+i], e.goals.Metrics()[i].Threshold
	own := e.squared[control*m+i]
	if e.s.Stats.Weight[control] > 0 {
		own = min(own, (e.variance(control, i)+
			float64(e.s.Noise.tau(i)*(e.s.Stats.Heavy[control]/e.s.Stats.Weight[control])))/e.s.Stats.Weight[control])
	}
	return e.rows[k*m+i] - y - float64(threshold*math.Abs(y)),
		e.apart[k*m+i] + float64(float64(threshold*threshold)*own)
}

// seen returns the estimate of metric i of arm k as the objective sees it, with its squared error.
func (e *estimates) seen(k, i int) (value, square float64) {
	if e.relative[i] {
		return e.contrast(k, i)
	}
	j := k*len(e.sign) + i
	if square = e.squared[j]; e.isAbsolute(i) {
		square += e.level[i]
	}
	return e.rows[j], square
}

// effectsUnknown reports whether the errors may leave out effects of rounds: several arms have
// been served, hardly any two of them together for the second time, and variances of units are
// unknown.
func (e *estimates) effectsUnknown() bool { return !(e.freedom() >= fewestPairs) && e.s.Noise.Compared }

// freedom returns the degrees of freedom of the errors: +Inf where variances of units are known.
func (e *estimates) freedom() float64 {
	switch {
	case e.s.Stats.UnitSize != nil:
		return math.Inf(1)
	case e.s.Noise.Compared:
		return min(e.s.Stats.Freedom, e.s.Noise.Pairs)
	}
	return e.s.Stats.Freedom
}

// noiseKnown reports whether the variance of a group or of a unit is known of any arm.
func (e *estimates) noiseKnown() bool { return e.s.Stats.Freedom > 0 || e.s.Stats.UnitSize != nil }
