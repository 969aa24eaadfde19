package confident

import (
	"fmt"
	"math"

	"github.com/noregret/noregret/pasto"
	"github.com/noregret/noregret/pasto/internal/round"
)

// Promise says what is known to hold of the serving mixtures.
type Promise struct {
	// Holds reports whether every served mixture holds every hard guardrail, in all rounds together
	// with probability at least 1 − Alpha.
	Holds bool
	Alpha float64
	// Reason says why nothing is promised, "" where Holds is true.
	Reason string
}

// Promise says whether the hard guardrails are promised for what is served, and why not.
//
// The promise is this. Let every metric's errors be sub-Gaussian with the variances that the
// learner uses, or asymptotically so, and let means not change, but for what the arms of a round
// have in common. Let the control arm hold the guardrails. Each arm has for each hard guardrail a
// bound that is valid in all rounds together with probability 1 − Alpha/(K·J), for K arms and J
// hard guardrails: the one-sided normal-mixture boundary (Robbins 1970; Howard, Ramdas, McAuliffe
// and Sekhon 2021, equation 14). An arm without data has the worst value of its range. Then with
// probability at least 1 − Alpha no served mixture p breaks a guardrail, as Σ_k p_k·(bound of k) is
// at least its limit in each round: the optimistic-pessimistic linear program of Pacchiano,
// Ghavamzadeh, Bartlett and Jiang (2021), in which the control arm is the safe start.
func (l *Learner) Promise() Promise {
	none := func(format string, args ...any) Promise { return Promise{Reason: fmt.Sprintf(format, args...)} }
	switch {
	case len(l.guards) == 0:
		return none("no guardrail is hard")
	case l.options.Control < 0:
		return none("no control arm is named, so that no mixture is safe to begin with")
	case l.options.Hold == Deployed:
		return none("guardrails are held by what is deployed only")
	}
	l.model.Estimate(l.s.Active)
	for _, i := range l.guards {
		x := &l.goals.Metrics()[i]
		if l.guard.controlBreaks(i) {
			return none("the control arm itself does not hold %q", x.Name)
		}
		for k, active := range l.s.Active {
			if active && l.model.Rounds(k) == 0 && !x.HasRange() {
				return none("%q has no range, and arm %d has no data: such arms get at most %v of all units", x.Name, k,
					unboundedShare)
			}
		}
	}
	return Promise{Holds: true, Alpha: l.options.Alpha}
}

// controlBreaks reports whether the control arm's estimate is beyond hard guardrail i by more than
// its error.
func (g *guard) controlBreaks(i int) bool {
	x, control := &g.goals.Metrics()[i], g.options.Control
	if g.metrics[i].Relative {
		return float64(g.metrics[i].Sign*x.Threshold) > 0
	}
	if !g.model.Usable[control] {
		return false
	}
	y, square := g.seen(control, i)
	return float64(g.metrics[i].Sign*(y-x.Threshold))+g.radius(control, i, square)+x.Slack < 0
}

// Estimate returns V̂, of the raw values where the learner has a control arm, and its standard
// errors. An arm not served since the start or its last change has 0 and +Inf, and errors are +Inf
// while nothing is known of the noise or of the effects of rounds: that takes a second round.
func (l *Learner) Estimate() (means, errors *pasto.Table) {
	e, m := l.model, len(l.metrics)
	e.Estimate(l.s.Active)
	means, errors = round.NewTable(l.Arms(), m), round.NewTable(l.Arms(), m)
	for k := range l.s.Active {
		copy(means.Arm(k), e.Means(k))
		for i := range m {
			if errors.Arm(k)[i] = math.Sqrt(e.Square(k, i) + e.Level(i)); e.EffectsUnknown() {
				errors.Arm(k)[i] = math.Inf(1)
			}
		}
	}
	return means, errors
}

// Changes is the number of changes of an arm found so far.
func (l *Learner) Changes() int { return l.s.Found }

// Passes is the number of passes over all arms that solutions have taken since an arm was last
// added: a measure of their cost.
func (l *Learner) Passes() int { return l.plan.program.Passes() }

// SolutionError is the error of the last solution, nil if there was none: the mixtures are then
// those of the solution before it.
func (l *Learner) SolutionError() error { return l.plan.program.Err }
