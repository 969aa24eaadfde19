package confident

import (
	"math"
	"slices"

	"github.com/noregret/noregret/internal/stat"
	"github.com/noregret/noregret/pasto"
	"github.com/noregret/noregret/pasto/optimum"
)

// planner is the workspace of solutions.
type planner struct {
	est        estimates
	moved      *pasto.Table // V̂ moved by its errors, as the objective sees it
	solver     *optimum.Solver
	hard       optimum.HardSolver
	arms       []int
	part       pasto.Table
	up, down   []float64
	safe       []float64
	slack      []float64 // K·J: see serve.go
	theta, row []float64
	value      float64 // of the last solution, without hard guardrails, in the moved table
	err        error
}

const (
	epochRatio  = 1.05
	poolWeight  = 8
	fewGroups   = 3   // below that an arm's scatter says little
	keptFreedom = 100 // of the noise after a change
	// A solution takes at most solverSteps passes over all arms, and of large problems so many that
	// mostNumbers are looked at, or fewestSteps; the next goes on from what it found.
	solverSteps = 400
	mostNumbers = 3_000_000_000
	fewestSteps = 30
)

// solve computes p⁺, p⁻ and, where hard guardrails are promised, the safe mixture. They stay as
// they are until the noise is known, and with hard guardrails until the effects of rounds are, and
// where a solution fails.
func (l *Learner) solve() {
	s, p := &l.s, &l.plan
	p.err = nil
	if l.noiseKnown() {
		for i := range s.Dispersion {
			l.disperse(i)
		}
	}
	ready := l.estimate() && l.noiseKnown()
	if control := l.options.Control; control >= 0 && !p.est.usable[control] {
		ready = false
	}
	if l.promised() {
		l.computeSlack(ready)
	}
	if !ready || l.hard != nil && l.anyEffectsUnknown() {
		return
	}
	p.up, p.down = append(p.up[:0], s.Up...), append(p.down[:0], s.Down...)
	p.safe = append(p.safe[:0], s.Safe...)
	p.solver.Usable = p.est.usable
	low := l.deploy(p.down)
	if l.promised() {
		l.moveEstimates(-1, 1, true)
		l.solveSafely(p.safe)
		low = p.value
	}
	l.moveEstimates(1, 0, l.promised())
	if l.promised() {
		l.solveSafely(p.up)
	} else {
		l.optimize(p.up)
	}
	if p.err != nil {
		return
	}
	s.Width = 1
	if r := l.objectiveRange(); p.value-low < r {
		s.Width = max(p.value-low, 0) / r
	}
	copy(s.Up, p.up)
	copy(s.Down, p.down)
	copy(s.Safe, p.safe)
	l.cap(s.Down)
	copy(s.Solved, s.Stats.Count)
}

// bisectionSteps is the number of bisections that look for the largest feasible share of the
// caution of hard guardrails.
const bisectionSteps = 6

// deploy computes p⁻ and returns its cautious value. Where no mixture holds the hard guardrails
// with all their caution, it is the control arm, or without one that of the largest feasible share
// of the caution, and where none holds them by the estimates, the mixture of least violation.
func (l *Learner) deploy(p []float64) float64 {
	try := func(room float64) bool {
		l.moveEstimates(-1, room, false)
		return l.optimize(p)
	}
	if try(1) {
		return l.plan.value
	}
	if control := l.options.Control; control >= 0 {
		return l.only(p, control)
	}
	if !try(0) || !l.options.has(noBisection) {
		return l.plan.value
	}
	low, high, at := 0.0, 1.0, 0.0
	for range bisectionSteps {
		if at = (low + high) / 2; try(at) {
			low = at
		} else {
			high = at
		}
	}
	if at != low {
		try(low)
	}
	return l.plan.value
}

// only makes p arm k alone, and returns its value in the moved table.
func (l *Learner) only(p []float64, k int) float64 {
	clear(p)
	p[k] = 1
	l.plan.value = l.reward(l.plan.moved.Arm(k))
	return l.plan.value
}

// solveSafely optimizes p under the bounds of hard guardrails that are promised; where nothing
// holds them it is the control arm.
func (l *Learner) solveSafely(p []float64) {
	if !l.optimize(p) {
		l.only(p, l.options.Control)
	}
}

// moveEstimates writes the estimates moved in the metrics' good direction: by the optimism where
// sign is 1, and by the caution of each metric where it is −1. Hard guardrails take the share room
// of their caution, or where promised is set, the bounds that what is served must hold.
func (l *Learner) moveEstimates(sign, room float64, promised bool) {
	for k, ok := range l.plan.est.usable {
		if !ok {
			continue
		}
		row := l.plan.moved.Arm(k)
		for i := range row {
			z := float64(sign * l.options.Exploration.Optimism)
			if sign < 0 {
				z = -l.caution[i]
				if l.isHard(i) {
					if z != 0 && l.options.has(noStudent) && l.effectsCount(k) {
						z = -min(stat.Student(-z, l.s.Noise.freedom(&l.s.Stats.Raw)), mostCaution)
					}
					z = float64(z * room)
				}
			}
			row[i] = l.movedBy(k, i, z, sign > 0)
		}
		if promised {
			for j, i := range l.guards {
				row[i] = l.limit(i) + float64(l.sign[i]*l.plan.slack[k*len(l.guards)+j])
			}
		}
	}
}

// mostCaution bounds the quantiles of Student's t, which grow without bound as the degrees of
// freedom go to 0.
const mostCaution = 100

// movedBy returns the estimate of metric i of arm k as the objective sees it, moved by z standard
// errors in the good direction, within the metric's range.
func (l *Learner) movedBy(k, i int, z float64, optimistic bool) float64 {
	e, j := &l.plan.est, k*len(l.sign)+i
	if l.relative[i] {
		base, square := l.contrast(k, i)
		low, high := l.contrastRange(i)
		return min(max(base+float64(l.sign[i]*float64(z*math.Sqrt(square))), low), high)
	}
	square := e.squared[j]
	if l.isAbsolute(i) {
		square += e.level[i]
	}
	off := float64(z * math.Sqrt(square))
	if optimistic && l.options.has(noUneven) {
		off = max(off, l.ownError(k, i, z))
	}
	return min(max(e.rows[j]+float64(l.sign[i]*off), l.low[i]), l.high[i])
}

// contrast returns what a relative guardrail compares, y_k − y_0 − δ·|y_0| for the control's y_0
// and the threshold δ, with its squared error.
func (l *Learner) contrast(k, i int) (value, square float64) {
	e, m, control := &l.plan.est, len(l.sign), l.options.Control
	y, threshold := e.rows[control*m+i], l.goals.Metrics()[i].Threshold
	own := e.squared[control*m+i] + e.level[i]
	return e.rows[k*m+i] - y - float64(threshold*math.Abs(y)),
		e.apart[k*m+i] + float64(float64(threshold*threshold)*own)
}

// contrastRange returns the range of what relative guardrail i compares.
func (l *Learner) contrastRange(i int) (low, high float64) {
	x := &l.goals.Metrics()[i]
	if x.Upper <= x.Lower {
		return math.Inf(-1), math.Inf(1)
	}
	y := l.plan.est.rows[l.options.Control*len(l.sign)+i]
	off := y + float64(x.Threshold*math.Abs(y))
	return x.Lower - off, x.Upper - off
}

// limit is the threshold of metric i as the objective sees it.
func (l *Learner) limit(i int) float64 { return l.goals.Metrics()[i].Limit() }

// isHard reports whether metric i is a hard guardrail.
func (l *Learner) isHard(i int) bool { return l.hard != nil && l.hard.Metrics()[i].Hard }

// noisier is how many times the pooled variance an arm's own variance must be to be used alone.
const noisier = 4

// ownError returns z standard errors of arm k's mean in metric i by its own scatter alone, if
// that is far above the pooled one, and 0 otherwise.
func (l *Learner) ownError(k, i int, z float64) float64 {
	s := l.scatterOf(i)
	free, own := s.Free[k], s.Squares[k*len(l.sign)+i]
	if !(free > 0) || l.s.Stats.UnitSize != nil || own <= float64(noisier*float64(free*(s.Pool[i]/s.Freedom))) {
		return 0
	}
	return float64(z * math.Sqrt(own/free/l.s.Stats.Raw.Weight[k]))
}

// anyEffectsUnknown reports whether the errors of some usable arm depend on effects of rounds,
// while nothing is known about these.
func (l *Learner) anyEffectsUnknown() bool {
	if l.s.Noise.freedom(&l.s.Stats.Raw) > 0 {
		return false
	}
	for k, ok := range l.plan.est.usable {
		if ok && l.effectsUnknown(k) {
			return true
		}
	}
	return false
}

// reward is the objective without its hard guardrails.
func (l *Learner) reward(theta []float64) float64 {
	if l.hard != nil {
		return l.hard.Reward(theta)
	}
	return l.objective.Value(theta)
}

// objectiveRange returns the range of the objective over the usable arms' estimates, +Inf if they
// are all the same.
func (l *Learner) objectiveRange() float64 {
	p, m := &l.plan, len(l.sign)
	low, high := math.Inf(1), math.Inf(-1)
	for k, ok := range p.est.usable {
		if !ok {
			continue
		}
		copy(p.row, p.est.rows[k*m:(k+1)*m])
		for i, relative := range l.relative {
			if relative {
				p.row[i], _ = l.contrast(k, i)
			}
		}
		v := l.reward(p.row)
		low, high = min(low, v), max(high, v)
	}
	if v := high - low; v > 0 {
		return v
	}
	return math.Inf(1)
}

// optimize improves p on the usable arms to a gap of a millionth of the range of the arms' scores
// in the moved table, and reports whether the hard guardrails can be held there. It leaves the
// value in the planner, and an error of the objective.
func (l *Learner) optimize(p []float64) (feasible bool) {
	l.project(p)
	feasible = true
	if l.hard != nil {
		feasible = l.program(p)
	} else {
		l.plan.solver.Err = nil
		l.plan.solver.SolveToTolerance(p, 1e-6, steps(len(p), len(l.sign)))
		if l.plan.err == nil {
			l.plan.err = l.plan.solver.Err
		}
	}
	l.plan.moved.Mean(l.plan.theta, p)
	l.plan.value = l.reward(l.plan.theta)
	return feasible
}

// project makes p a mixture of the usable arms.
func (l *Learner) project(p []float64) {
	sum, n := 0.0, 0
	for k, ok := range l.plan.est.usable {
		if !ok {
			p[k] = 0
		} else {
			n++
			sum += p[k]
		}
	}
	for k, ok := range l.plan.est.usable {
		switch {
		case !ok:
		case sum > 0:
			p[k] /= sum
		default:
			p[k] = 1 / float64(n)
		}
	}
}

// steps returns the largest number of passes over all arms of a solution with so many arms and
// metrics.
func steps(arms, metrics int) int {
	return int(min(max(int64(mostNumbers)/(int64(arms)*int64(metrics)), fewestSteps), solverSteps))
}

// program sets p to the optimum under hard guardrails on the usable arms, or to the mixture of
// least violation if none holds them, and reports which.
func (l *Learner) program(p []float64) (feasible bool) {
	w := &l.plan
	w.arms = w.arms[:0]
	w.part.Reset(0, w.moved.Metrics())
	for k, ok := range w.est.usable {
		if ok {
			w.arms = append(w.arms, k)
			w.part.Append(w.moved.Arm(k))
		}
	}
	feasible, err := w.hard.Maximize(l.hard, &w.part, float64(1e-9*w.hard.Spread(l.hard, &w.part)), 10_000)
	if err != nil {
		return true // too ill-conditioned: the mixture stays
	}
	q := w.hard.Best.Mixture
	if !feasible {
		q = w.hard.LeastViolation()
	}
	clear(p)
	for i, k := range w.arms {
		p[k] = q[i]
	}
	return feasible
}

// cap cuts off what is above the caps of the arms. It goes to the control arm, or without one to
// the arms of the best estimates that have room.
func (l *Learner) cap(p []float64) {
	caps, control := l.options.Caps, l.options.Control
	if caps == nil {
		return
	}
	excess := 0.0
	for k := range p {
		if most := l.most(k); p[k] > most {
			excess += p[k] - most
			p[k] = most
		}
	}
	if control >= 0 {
		p[control] += excess
		return
	}
	m := len(l.sign)
	for excess > 1e-15 {
		best, top := -1, math.Inf(-1)
		for k, v := range p {
			if v < l.most(k) {
				if w := l.reward(l.plan.est.rows[k*m : (k+1)*m]); best < 0 || w > top {
					best, top = k, w
				}
			}
		}
		if best < 0 { // caps of arms that are left leave less than all
			l.scale(p)
			return
		}
		more := min(excess, l.most(best)-p[best])
		p[best] += more
		excess -= more
	}
}

// most is the largest share that arm k may have.
func (l *Learner) most(k int) float64 {
	switch {
	case !l.s.Active[k]:
		return 0
	case k >= len(l.options.Caps) || k == l.options.Control:
		return 1
	}
	return l.options.Caps[k]
}

// scale makes p sum to 1.
func (l *Learner) scale(p []float64) {
	sum := 0.0
	for _, v := range p {
		sum += v
	}
	for k := range p {
		if sum > 0 {
			p[k] /= sum
		} else if l.s.Active[k] {
			p[k] = 1 / float64(l.s.Live)
		}
	}
}

// reset makes room for a number of arms.
func (p *planner) reset(f pasto.Objective, arms int, relative bool) {
	m := f.Dim()
	p.est.reset(arms, m, relative)
	p.moved = new(pasto.Table)
	p.moved.Reset(arms, m)
	p.solver = optimum.NewSolver(f, p.moved)
	p.theta, p.row = make([]float64, m), make([]float64, m)
	p.up, p.down, p.safe = slices.Grow(p.up, arms), slices.Grow(p.down, arms), slices.Grow(p.safe, arms)
}
