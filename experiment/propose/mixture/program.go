package mixture

import (
	"fmt"
	"math"

	"github.com/noregret/noregret/experiment/propose"
	"github.com/noregret/noregret/pasto"
	"github.com/noregret/noregret/pasto/optimum"
)

// programs is the number of linear programs that approach the cone; eight are no better.
const programs = 4

// rounding is the part of a slack's terms by which a solution may miss it without a further cut.
const rounding = 1e-9

// cut is a linear row of a guardrail: Σ_k p_k·value_k ≥ 0, in units of the guardrail's scale.
type cut struct {
	guard int // −1 for the cap of an arm
	scale float64
	value []float64
}

// program is the workspace of the linear programs.
type program struct {
	base     []pasto.Metric // of goals and soft guardrails
	soft     float64
	sizes    []*size // by number of cuts
	cuts     []cut
	count    int // of cuts in use
	arms     []int
	table    pasto.Table
	theta    []float64
	slope    []float64
	gradient []float64
	product  []float64
	prices   []float64 // of cuts, of the last program
	limit    int       // the most programs
	bound    float64   // no mixture is worth more, by the last program of tangents
}

// size is a solver for a number of cuts.
type size struct {
	goals  *pasto.Goals
	solver optimum.HardSolver
}

// init prepares the program of a problem.
func (l *program) init(p *propose.Problem) {
	for i := range p.Goals {
		g := &p.Goals[i]
		x := pasto.Metric{Name: fmt.Sprintf("goal %d", i), Weight: g.Weight}
		if g.Down {
			x.Direction = pasto.Down
		}
		l.base = append(l.base, x)
	}
	for i := range p.Guardrails {
		if g := &p.Guardrails[i]; !g.Hard {
			l.base = append(l.base, pasto.Metric{
				Name: fmt.Sprintf("guardrail %d", i), Role: pasto.Guardrail, Lambda: g.Price,
			})
		}
	}
	l.soft, l.limit = p.Soft, programs
	l.theta, l.slope = make([]float64, len(l.base)), make([]float64, len(l.base))
	l.gradient = make([]float64, len(l.base))
	l.product = make([]float64, len(p.Arms))
}

// of returns the solver for a number of cuts.
func (l *program) of(cuts int) (*size, error) {
	for len(l.sizes) <= cuts {
		l.sizes = append(l.sizes, nil)
	}
	if l.sizes[cuts] == nil {
		metrics := append([]pasto.Metric(nil), l.base...)
		for i := range cuts {
			metrics = append(metrics, pasto.Metric{
				Name: fmt.Sprintf("cut %d", i), Role: pasto.Guardrail, Hard: true,
			})
		}
		goals, err := pasto.NewGoals(metrics, l.soft)
		if err != nil {
			return nil, err
		}
		l.sizes[cuts] = &size{goals: goals, solver: optimum.HardSolver{FromInside: true}}
	}
	return l.sizes[cuts], nil
}

// next returns a further cut, with its values at zeros.
func (l *program) next(guard, arms int) *cut {
	if l.count == len(l.cuts) {
		l.cuts = append(l.cuts, cut{})
	}
	c := &l.cuts[l.count]
	l.count++
	c.guard, c.value = guard, zeros(c.value, arms)
	return c
}

// values writes the values of goals and soft guardrails of the mixture of arm k alone to dst, goals
// moved by lift[k] standard errors in their good directions. A nil lift moves nothing.
func (m *Policy) values(dst []float64, k int, lift []float64) {
	for i := range m.goals {
		g := &m.goals[i]
		if dst[i] = g.value[k]; lift != nil {
			dst[i] += float64(float64(lift[k]*m.problem.Goals[i].Sign()) * g.err[k])
		}
	}
	at := len(m.goals)
	for i := range m.guards {
		if g := &m.guards[i]; !g.hard {
			dst[at] = (g.own + g.gain[k]) / g.unit
			at++
		}
	}
}

// reward is f of a mixture, with goals moved by lift standard errors of its arms.
func (m *Policy) reward(p, lift []float64) (float64, error) {
	plain, err := m.of(0)
	if err != nil {
		return 0, err
	}
	m.mean(p, lift)
	return plain.goals.Reward(m.theta), nil
}

// mean writes the mean of the arms' values to m.theta.
func (m *Policy) mean(p, lift []float64) {
	clear(m.theta)
	for k, share := range p {
		if share == 0 {
			continue
		}
		m.values(m.slope, k, lift)
		for i, v := range m.slope {
			m.theta[i] += float64(share * v)
		}
	}
}

// solve writes the best mixture to m.optimum: goals moved by lift standard errors, hard guardrails
// held by z beside a control whose slack is charged with level standard errors. Only arms whose
// values are all estimated have a share.
func (m *Policy) solve(lift []float64, z, level float64) error {
	m.arms = m.arms[:0]
	for k, ok := range m.usable {
		if ok && (k == 0 || m.problem.Arms[k].Most > 0) {
			m.arms = append(m.arms, k)
		}
	}
	clear(m.optimum)
	m.optimum[0] = 1
	for i := range m.guards {
		m.guards[i].price, m.guards[i].bind = 0, false
		m.guards[i].charge(level, level == levelServed)
	}
	if m.problem.NoControl {
		return m.solveFree(lift, z)
	}
	if len(m.arms) == 1 {
		return nil
	}
	m.inside(z)
	value, err := m.reward(m.optimum, lift)
	if err != nil {
		return err
	}
	for round := range m.limit {
		p := m.candidate
		if m.linear(p, lift) != nil {
			break // cuts that are nearly alike: what was found so far holds all guardrails
		}
		copy(m.work, p)
		if m.bound, err = m.reward(p, lift); err != nil {
			return err
		}
		m.toControl(p, z)
		v, err := m.reward(p, lift)
		if err != nil {
			return err
		}
		if v > value {
			value = v
			copy(m.optimum, p)
			m.keepPrices()
		}
		if round == m.limit-1 || !m.tangents(m.work, z, round == 0) {
			break
		}
	}
	return nil
}

// inside makes the cuts those of the arms' own bounds.
func (m *Policy) inside(z float64) {
	m.count = 0
	for i := range m.guards {
		g := &m.guards[i]
		if !g.hard {
			continue
		}
		c := m.next(i, len(m.arms))
		for a, k := range m.arms {
			c.value[a] = g.bound(k, z)
		}
		c.normalize()
	}
}

// normalize divides a cut by its largest modulus.
func (c *cut) normalize() {
	c.scale = 0
	for _, x := range c.value {
		c.scale = max(c.scale, math.Abs(x))
	}
	if c.scale == 0 {
		c.scale = 1
	}
	for i := range c.value {
		c.value[i] /= c.scale
	}
}

// linear solves the program of the present cuts and writes its solution to p. Arms above their
// largest shares get a cut each, and the program is solved again until no arm is.
func (m *Policy) linear(p, lift []float64) error {
	for {
		x, err := m.of(m.count)
		if err != nil {
			return err
		}
		width := len(m.base)
		m.table.Reset(len(m.arms), width+m.count)
		for a, k := range m.arms {
			row := m.table.Arm(a)
			m.values(row[:width], k, lift)
			for i := range m.count {
				row[width+i] = m.cuts[i].value[a]
			}
		}
		clear(p)
		var solution []float64
		if m.count == 0 && width == len(m.goals) && m.soft == 0 {
			p[m.arms[m.single(x.goals)]] = 1
			m.prices = m.prices[:0]
		} else {
			tolerance := float64(1e-9 * x.solver.Spread(x.goals, &m.table))
			feasible, err := x.solver.Maximize(x.goals, &m.table, tolerance, 2000)
			if err != nil {
				return err
			}
			if !feasible { // rounding: the control holds all cuts
				if m.problem.NoControl {
					return errInfeasible
				}
				p[0] = 1
				m.prices = zeros(m.prices, m.count)
				return nil
			}
			solution = x.solver.Best.Mixture
			for a, k := range m.arms {
				p[k] = solution[a]
			}
			m.prices = append(m.prices[:0], x.solver.Best.Prices[width:]...)
		}
		if !m.cap(p) {
			return nil
		}
	}
}

// single returns the position of the arm of the largest reward.
func (m *Policy) single(goals *pasto.Goals) int {
	best, value := 0, math.Inf(-1)
	for a := range m.arms {
		if v := goals.Reward(m.table.Arm(a)); v > value {
			best, value = a, v
		}
	}
	return best
}

// cap adds cuts for the arms that are above their largest shares, and reports whether there are
// any.
func (m *Policy) cap(p []float64) (more bool) {
	for _, k := range m.arms {
		most := m.problem.Arms[k].Most
		if k == 0 && !m.problem.NoControl || p[k] <= most+1e-9 {
			continue
		}
		more = true
		c := m.next(-1, len(m.arms))
		for b, j := range m.arms {
			c.value[b] = most
			if j == k {
				c.value[b] = most - 1
			}
		}
	}
	return more
}

// toControl moves p towards the control until all hard guardrails hold.
func (m *Policy) toControl(p []float64, z float64) {
	rho, _, _ := m.stepOf(p, z)
	move(p, rho)
}

// stepOf returns the largest step at which all hard guardrails hold, the guardrail that asked for
// it, −1 for none, and whether it was for the recent memory.
func (m *Policy) stepOf(p []float64, z float64) (rho float64, by int, recent bool) {
	rho, by = 1, -1
	for i := range m.guards {
		g := &m.guards[i]
		if !g.hard {
			continue
		}
		if s, r := g.step(p, m.product, z); s < rho {
			rho, by, recent = s, i, r
		}
	}
	return rho, by, recent
}

// move replaces p by (1 − ρ)·control + ρ·p.
func move(p []float64, rho float64) {
	if rho == 1 {
		return
	}
	for k := range p {
		p[k] = float64(p[k] * rho)
	}
	p[0] += 1 - rho
}

// tangents adds tangents at p, and reports whether any is new. The first replace the cuts inside.
func (m *Policy) tangents(p []float64, z float64, first bool) (more bool) {
	if first {
		caps := 0
		for i := range m.count {
			if m.cuts[i].guard < 0 {
				m.cuts[caps], m.cuts[i] = m.cuts[i], m.cuts[caps]
				caps++
			}
		}
		m.count = caps
	}
	for i := range m.guards {
		g := &m.guards[i]
		if !g.hard {
			continue
		}
		v := g.move(p, m.product, z)
		slack := v.own + v.change - float64(z*v.err)
		beyond := -float64(rounding * (math.Abs(v.own) + float64(z*v.err)))
		if first || slack < beyond {
			m.tangent(g, i, p, z, false, v.err)
			more = true
		}
		if s := v.recentSlack(1, z); s < beyond {
			m.tangent(g, i, p, float64(v.agreement(1)*z), true, v.recentErr)
			g.bind, more = true, true
		}
	}
	return more
}

// tangent adds the tangent of a guardrail at p.
func (m *Policy) tangent(g *guard, i int, p []float64, z float64, recent bool, err float64) {
	own, gain := g.own, g.gain
	if recent {
		own, gain = g.recentOwn, g.recentGain
		g.chosen.Recent.Product(m.product, p)
	} else {
		g.spread(p, m.product)
	}
	c := m.next(i, len(m.arms))
	for a, k := range m.arms {
		c.value[a] = own + gain[k]
		if err > 0 {
			c.value[a] -= float64(z * (m.product[k] / err))
		} else if k > 0 {
			c.value[a] = g.bound(k, z) // p is the control: no tangent
		}
	}
	c.normalize()
}

// keepPrices sets the guardrails' prices to those of the last program.
func (m *Policy) keepPrices() {
	for i := range m.guards {
		m.guards[i].price = 0
	}
	for i, price := range m.prices {
		if c := &m.cuts[i]; c.guard >= 0 {
			m.guards[c.guard].price += price / c.scale
		}
	}
}
