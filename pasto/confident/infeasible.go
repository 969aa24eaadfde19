package confident

import (
	"errors"
	"math"

	"github.com/noregret/noregret/pasto"
	"github.com/noregret/noregret/pasto/internal/round"
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
	g, m := l.goals, len(l.sign)
	if g == nil || !l.model.NoiseKnown() || !l.model.Estimate(l.s.Active) {
		return nil, false
	}
	if control := l.options.Control; control >= 0 && !l.model.Usable[control] {
		return nil, false
	}
	part, best := round.NewTable(0, m), round.NewTable(0, m)
	row, moved := make([]float64, m), make([]float64, m)
	var arms []int
	bounded := l.s.Unobserved == 0 && !l.model.EffectsUnknown()
	for k, ok := range l.model.Usable {
		if !ok {
			continue
		}
		arms = append(arms, k)
		for i := range row {
			v, square := l.seen(k, i)
			more := 0.0
			if x := &g.Metrics()[i]; x.Role == pasto.Guardrail {
				width := 0.0
				if x.HasRange() && !x.Relative {
					width = x.Upper - x.Lower
				}
				more = l.model.Allowance(k, i, square, width)
			}
			if math.IsInf(more, 1) {
				bounded, more = false, 0
			}
			row[i], moved[i] = v, v+float64(l.sign[i]*more)
		}
		part.Append(row)
		best.Append(moved)
	}
	err := optimum.CheckFeasible(g, part)
	if err == nil {
		return nil, false
	}
	if least = infeasibleOf(err); least == nil {
		return leastSingle(g, part, arms, l.Arms()), false
	}
	q := least.Mixture
	least.Mixture = make([]float64, l.Arms())
	for i, k := range arms {
		least.Mixture[k] = q[i]
	}
	return least, bounded && infeasibleOf(optimum.CheckFeasible(g, best)) != nil
}

// infeasibleOf is the report that an error carries, or nil.
func infeasibleOf(err error) *optimum.Infeasible {
	e, _ := errors.AsType[*optimum.Infeasible](err)
	return e
}

// leastSingle is the arm of least violation of all guardrails as a report on n arms, nil if one
// holds them.
func leastSingle(g *pasto.Goals, means *pasto.Table, arms []int, n int) *optimum.Infeasible {
	least := &optimum.Infeasible{Violation: math.Inf(1)}
	for i, k := range arms {
		if g.Holds(means.Arm(i)) {
			return nil
		}
		e := &optimum.Infeasible{}
		for j, v := range means.Arm(i) {
			if m := &g.Metrics()[j]; m.Role == pasto.Guardrail && m.Violation(v) > 0 {
				e.Violation += m.Violation(v)
				e.Metrics = append(e.Metrics, m.Name)
				e.By = append(e.By, m.Violation(v))
			}
		}
		if e.Violation < least.Violation {
			e.Mixture = make([]float64, n)
			e.Mixture[k] = 1
			least = e
		}
	}
	return least
}
