package mixed

import (
	"math"
	"slices"

	"github.com/noregret/noregret/pasto/internal/twoway"
)

// Variance returns the variance of a unit of size of arm k in metric i, without what all arms of a
// round have in common; +Inf while it is unknown. The scatter raises known variances of units.
func (e *Model) Variance(k, i int) float64 {
	s := &e.Stats
	if s.unitsKnown(k, i) && e.has(NoDispersion) {
		return float64(s.variance(k, i) * e.Noise.dispersion(i))
	}
	return s.variance(k, i)
}

// EffectsShown reports whether some metric surely has effects of rounds. All metrics are then taken
// to have some: what rounds have in common shows first where the noise is least.
func (e *Model) EffectsShown() bool {
	for i := range e.Metrics {
		if !e.Metrics[i].Ignored && e.Noise.shown(i) {
			return true
		}
	}
	return false
}

// Estimate computes the estimates, and reports whether any of the active arms is usable. Where
// effects of rounds are shown and the arms are few enough, arms are compared within rounds, so that
// what they have in common cancels; else each arm has its mean, with all of τ² in its error.
func (e *Model) Estimate(active []bool) bool {
	s, m := &e.Stats, len(e.Metrics)
	jointly := e.Joint.Any() && e.has(NoJoint) && e.EffectsShown() && !e.Released.any()
	e.inverse.C = 0
	copy(e.Usable, active)
	for i := range m {
		e.level[i] = 0
		if c := e.coefficient(i); jointly && c > 0 && e.inverse.Invert(&e.Joint, c, e.Control) {
			e.estimateJointly(i)
		} else {
			e.estimateApart(i)
			e.reconcile(i)
		}
		for k, rounds := range s.Rounds {
			if rounds == 0 {
				e.rows[k*m+i], e.squared[k*m+i] = 0, math.Inf(1)
			}
			e.Usable[k] = e.Usable[k] && !math.IsInf(e.squared[k*m+i], 1)
		}
	}
	return slices.Contains(e.Usable, true)
}

// reconcile replaces the differences of means from the control in relative guardrail i by those
// within rounds where these are worse by more than two standard errors (Hausman 1978): the shares
// have then followed the level of rounds, which happens before effects of rounds are shown.
func (e *Model) reconcile(i int) {
	m, control := len(e.Metrics), e.Control
	if !e.Metrics[i].Relative || !e.Joint.Any() || e.Stats.Rounds[control] == 0 || !e.has(NoReconcile) ||
		e.Released.any() || !e.inverse.Invert(&e.Joint, twoway.MostShared, control) {
		return
	}
	e.estimateJointly(i)
	e.within = append(append(e.within[:0], e.rows...), e.apart...)
	e.estimateApart(i)
	for k, rounds := range e.Stats.Rounds {
		if rounds == 0 || k == control {
			continue
		}
		d, mean := e.within[k*m+i]-e.within[control*m+i], e.rows[control*m+i]
		square := e.within[len(e.rows)+k*m+i]
		off, own := e.rows[k*m+i]-mean-d, e.apart[k*m+i]
		if float64(e.Metrics[i].Sign*off) > 0 && float64(off*off) > float64(4*max(square-own, 0.5*square)) {
			e.rows[k*m+i], e.apart[k*m+i] = mean+d, square
		}
	}
}

// coefficient returns how much of what a round's arms have in common is taken out of metric i: all
// with a control arm, whose share may follow the level, and else as much as generalized least
// squares does.
func (e *Model) coefficient(i int) float64 {
	if e.Control >= 0 {
		return twoway.MostShared
	}
	return e.Joint.Coefficient(e.Stats.pooled(i), e.Noise.tau(i))
}

// estimateMean estimates arm k by its mean in metric i.
func (e *Model) estimateMean(k, i int) {
	j := k*len(e.Metrics) + i
	e.rows[j], e.squared[j] = e.inRange(e.Stats.Mean[j], i), e.Alone(k, i)
}

// Alone returns the squared error of the mean of metric i of arm k, which has been served, with
// what all arms of a round have in common.
func (e *Model) Alone(k, i int) float64 {
	s, n := &e.Stats, e.Stats.Weight[k]
	return (e.Variance(k, i)+float64(e.effect(i)*(s.Heavy[k]/n)))/n + e.Released.ofMean(s, k, i)
}

// Sampling returns the squared error of the mean of metric i of arm k, which has been served,
// without what all arms of a round have in common.
func (e *Model) Sampling(k, i int) float64 {
	return e.Variance(k, i)/e.Stats.Weight[k] + e.Released.ofMean(&e.Stats, k, i)
}

// estimateApart estimates each arm by its mean in metric i.
func (e *Model) estimateApart(i int) {
	m := len(e.Metrics)
	for k, rounds := range e.Stats.Rounds {
		if rounds > 0 {
			e.estimateMean(k, i)
		}
	}
	for k := range len(e.apart) / m {
		if e.apart[k*m+i] = 0; e.Stats.Rounds[k] > 0 && k != e.Control {
			e.apart[k*m+i] = e.squared[k*m+i] + e.squared[e.Control*m+i]
		}
	}
}

// estimateJointly is least squares of all arms at once: see package twoway.
func (e *Model) estimateJointly(i int) {
	e.inverse.Estimate(i, e.rows)
	e.level[i] = e.Joint.Common(e.Noise.tau(i))
	pooled := e.Stats.pooled(i)
	for k, n := range e.Joint.Size {
		if n <= 0 {
			continue
		}
		j, variance := k*len(e.Metrics)+i, e.Variance(k, i)
		e.squared[j] = e.inverse.Square(k, variance, pooled)
		if e.apart != nil {
			e.apart[j] = e.inverse.Difference(k, variance, e.Variance(e.Control, i), pooled)
		}
	}
}

// Mean returns the estimate of metric i of arm k: 0 for an arm without data.
func (e *Model) Mean(k, i int) float64 { return e.rows[k*len(e.Metrics)+i] }

// Means returns the estimates of arm k.
func (e *Model) Means(k int) []float64 { return e.rows[k*len(e.Metrics) : (k+1)*len(e.Metrics)] }

// Square returns the squared standard error of Mean, without what all arms have in common, whose
// squared error is Level: +Inf for an arm without data.
func (e *Model) Square(k, i int) float64 { return e.squared[k*len(e.Metrics)+i] }

// Level returns the squared error that the means of metric i have in common.
func (e *Model) Level(i int) float64 { return e.level[i] }

// Contrast returns y_k − y_0 − δ·|y_0| for the control's y_0 and the threshold δ, in a relative
// metric, with its squared error.
func (e *Model) Contrast(k, i int, threshold float64) (value, square float64) {
	m, control := len(e.Metrics), e.Control
	y, own := e.rows[control*m+i], e.squared[control*m+i]
	if e.Stats.Weight[control] > 0 {
		own = min(own, e.Alone(control, i))
	}
	return e.rows[k*m+i] - y - float64(threshold*math.Abs(y)),
		e.apart[k*m+i] + float64(float64(threshold*threshold)*own)
}

// EffectsUnknown reports whether the errors may leave out effects of rounds: several arms have
// been served, hardly any two of them together for the second time, and variances of units are
// unknown.
func (e *Model) EffectsUnknown() bool {
	return e.Noise.Compared && e.Stats.UnitSize == nil && e.has(NoUnknown) &&
		!(min(e.Stats.Freedom, e.Noise.Pairs) >= fewestPairs)
}

// NoiseKnown reports whether the variance of a group or of a unit is known of any arm.
func (e *Model) NoiseKnown() bool { return e.Stats.Freedom > 0 || e.Stats.UnitSize != nil }
