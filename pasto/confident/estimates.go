package confident

import (
	"math"

	"github.com/noregret/noregret/pasto"
	"github.com/noregret/noregret/pasto/internal/round"
	"github.com/noregret/noregret/pasto/optimum"
)

// Estimate returns V̂ and the standard errors. An arm never served has 0 and +Inf. Errors are also
// +Inf for arms not served since the last change, and while nothing is known of what they depend
// on: of the noise, or of the effects that groups of a round have in common where an arm had
// several in a round; that takes a second round.
func (l *Learner) Estimate() (means, errors *pasto.Table) {
	m := l.objective.Dim()
	means, errors = round.NewTable(l.Arms(), m), round.NewTable(l.Arms(), m)
	for k := range l.s.Size {
		copy(means.Arm(k), l.s.Mean[k*m:(k+1)*m])
		for i := range m {
			errors.Arm(k)[i] = math.Inf(1)
			if l.s.Rounds[k] > 0 && (l.tauFreedom() > 0 || !l.shares(k)) {
				errors.Arm(k)[i] = l.standardError(k, i)
			}
		}
	}
	return means, errors
}

// Mean returns the estimated means of arm k, or nil if the arm is retired or was never served. Read
// them, do not write to them; the next Observe may change them.
func (l *Learner) Mean(k int) []float64 {
	if !l.s.Active[k] || l.s.Count[k] == 0 {
		return nil
	}
	m := l.objective.Dim()
	return l.s.Mean[k*m : (k+1)*m]
}

// SquaredError returns the squared standard error of the estimated mean of metric i of arm k, which
// must have been served.
func (l *Learner) SquaredError(k, i int) float64 {
	return l.squareError(k, i, l.s.Size[k], l.s.Cluster[k])
}

// Passes is the number of passes over all arms that solutions have taken since an arm was last
// added: a measure of their cost.
func (l *Learner) Passes() int { return l.solver.Passes() }

// Active reports whether arm k is not retired.
func (l *Learner) Active(k int) bool { return l.s.Active[k] }

// ActiveArms is the number of arms that are not retired.
func (l *Learner) ActiveArms() int { return l.s.Live }

// Settled reports whether every active arm has been served since the start or the last change, and
// the noise has an estimate.
func (l *Learner) Settled() bool { return l.s.Unobserved == 0 && l.s.Freedom > 0 }

// InfeasibleServed is [Learner.Infeasible] for arms that are samples of a continuum, such as the
// nodes of package box, which share their noise: it ignores arms that have not been served, and
// uses the pooled degrees of freedom.
func (l *Learner) InfeasibleServed() (least *optimum.Infeasible, sure bool) {
	return l.infeasible(true)
}
