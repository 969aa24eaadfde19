package confident

import (
	"math"

	"github.com/noregret/noregret/pasto"
	"github.com/noregret/noregret/pasto/optimum"
)

// Infeasible tells whether the guardrails, hard or not, can be held at all, by what is known so
// far: nil when some mixture of the arms served so far holds them by the estimates V̂, else the
// least violation there is by them (of single arms, where the linear program is too ill-conditioned
// for more). Sure reports that not even estimates moved in the good direction by three standard
// errors could hold them, or more than three while the errors rest on little: the quantile of
// Student's t that leaves out as much as three do of the normal distribution. It is never sure
// while an active arm has not been served since the start or its last change, or a guardrail has
// shown no scatter at all and an event that nobody has seen yet could make up for what it lacks. It
// solves two linear programs, and changes nothing. For objectives that are not [pasto.Goals], and
// before two groups of an arm have been seen, it is nil.
func (l *Learner) Infeasible() (least *optimum.Infeasible, sure bool) {
	if l.goals == nil || !l.model.NoiseKnown() || !l.plan.ready() {
		return nil, false
	}
	l.plan.move(stay)
	least, sure = l.plan.program.Infeasible(l.goals)
	if least == nil || !sure {
		return least, false
	}
	sure = l.s.Unobserved == 0 && !l.model.EffectsUnknown()
	l.plan.move(func(k, i int, v, square float64) float64 {
		x, width := &l.goals.Metrics()[i], l.metrics[i].Width
		if x.Role != pasto.Guardrail {
			return v
		} else if x.Relative {
			width = 0 // contrasts have none
		}
		more := l.model.Allowance(k, i, square, width)
		sure = sure && !math.IsInf(more, 1)
		return v + float64(l.metrics[i].Sign*more)
	})
	if sure {
		best, exact := l.plan.program.Infeasible(l.goals)
		sure = best != nil && exact
	}
	return least, sure
}
