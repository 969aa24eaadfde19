package confident

import (
	"errors"
	"math"

	"github.com/noregret/noregret/internal/stat"
	"github.com/noregret/noregret/pasto"
	"github.com/noregret/noregret/pasto/internal/round"
	"github.com/noregret/noregret/pasto/optimum"
)

// Infeasible tells whether the guardrails, hard or not, can be held at all, by what is known so
// far: nil when some mixture of the arms served so far holds them by the estimates V̂, else the
// least violation there is by them (of single arms, where the linear program is too ill-conditioned
// for more). Sure reports that not even estimates moved in the good direction by three standard
// errors could hold them, or more than three while the errors rest on little: the quantile of
// Student's t that leaves out as much as three do of the normal distribution, with the degrees of
// freedom of the arm's own groups, and of effects common to the groups of a round where these have
// a part in the arm's errors. It is never sure while an active arm has not been served since the
// start or its last change, or a guardrail has shown no scatter at all and an event that nobody has
// seen yet could make up for what it lacks. It solves two linear programs, and changes nothing. For
// objectives that are not [pasto.Goals], and before two groups of an arm have been seen, it is nil.
func (l *Learner) Infeasible() (least *optimum.Infeasible, sure bool) { return l.infeasible(false) }

// InfeasibleServed is [Learner.Infeasible] for arms that are samples of a continuum, such as the
// nodes of package box, which share their noise: it ignores arms that have not been served, and
// uses the pooled degrees of freedom.
func (l *Learner) InfeasibleServed() (least *optimum.Infeasible, sure bool) {
	return l.infeasible(true)
}

func (l *Learner) infeasible(nodes bool) (least *optimum.Infeasible, sure bool) {
	g, m := l.goals, l.objective.Dim()
	if g == nil || !l.noiseKnown() || !l.estimate() {
		return nil, false
	}
	if control := l.options.Control; control >= 0 && !l.plan.est.usable[control] {
		return nil, false
	}
	part, best := round.NewTable(0, m), round.NewTable(0, m)
	row, moved := make([]float64, m), make([]float64, m)
	var arms []int
	bounded := true
	for k, ok := range l.plan.est.usable {
		bounded = bounded && (!l.s.Active[k] || nodes || l.s.Stats.Rounds[k] > 0)
		if !ok {
			continue
		}
		arms = append(arms, k)
		for i := range g.Metrics() {
			v, more := l.plan.est.rows[k*m+i], 0.0
			square := l.plan.est.squared[k*m+i] + l.plan.est.level[i]
			if l.relative[i] {
				v, square = l.contrast(k, i)
			}
			if g.Metrics()[i].Role == pasto.Guardrail {
				more = l.allowance(k, i, square, nodes)
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

const (
	// unseen is −ln of what three standard errors leave out: a rate of unseen/n shows in n groups,
	// nearly surely.
	unseen = 6.6
	// manyGroups without any scatter are taken to have none.
	manyGroups = 1000
)

// allowance is by how much the mean of arm k in guardrail i, of this squared error, may be off,
// where three standard errors would do if they were known and the mean normal. +Inf where that is
// not known.
func (l *Learner) allowance(k, i int, square float64, nodes bool) float64 {
	s, x := &l.s.Stats.Raw, &l.goals.Metrics()[i]
	free := s.Free[k]
	switch {
	case nodes:
		free = s.Freedom
	case l.s.Stats.UnitSize != nil:
		free = s.Weight[k] - 1
	}
	if !(free > 0) {
		return math.Inf(1)
	}
	if l.s.Stats.UnitSize == nil && s.Pool[i] == 0 {
		switch {
		case x.Upper > x.Lower && !x.Relative:
			return unseen / l.s.Stats.Count[k] * (x.Upper - x.Lower)
		case l.s.Stats.Count[k] < manyGroups:
			return math.Inf(1)
		}
	}
	// Of an arm noisier than the pool the own variance alone is right.
	if from := l.scatterOf(i); from.Free[k] > 0 && !nodes {
		own := from.Squares[k*l.objective.Dim()+i] / from.Free[k]
		square += max(own-from.variance(k, i, 0, &l.options), 0) / s.Weight[k]
	}
	if l.effectsCount(k) {
		free = min(free, l.s.Noise.freedom(s))
	}
	skew := 0.0
	if from := l.scatterOf(i); from.Pool[i] > 0 {
		skew = float64((surely*surely - 1.) / 6 * (from.Bulge[i] / from.Pool[i]))
	}
	return float64(stat.Student(surely, free)*math.Sqrt(square)) + skew/s.Weight[k]
}
