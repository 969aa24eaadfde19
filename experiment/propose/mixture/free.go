package mixture

import (
	"errors"

	"github.com/noregret/noregret/experiment/compare"
	"github.com/noregret/noregret/experiment/propose"
)

// free reports whether hard guardrails hold in what is deployed only.
func (m *Policy) free() bool { return m.problem.NoControl || m.problem.HoldDeployed }

// caution is the number of standard errors by which the optima hold the hard guardrails that are
// mixed for what is served.
func (m *Policy) caution() float64 {
	if m.free() {
		return m.options.Deployed
	}
	return m.options.Caution
}

// forAllRounds sets the bounds of a hard guardrail that hold in all rounds together: half of its
// share of the probability is for the contrasts, half for the control's level.
func (m *Policy) forAllRounds(g *guard, s *compare.Store, i int) {
	alpha := m.options.Strict / float64(2*m.hard)
	x := &m.problem.Guardrails[i]
	beta := g.chosen.Uniform(alpha)
	for k := range m.work { // the level is the mean of all units, less their contrasts
		m.work[k] = s.Units(x.Metric, k)
	}
	all := 0.0
	for _, n := range m.work {
		all += n
	}
	for k := range m.work {
		m.work[k] /= max(all, 1)
	}
	g.wide = 1
	g.uniform = g.chosen.UniformLevel(alpha) + float64(beta*g.spread(m.work, m.product))
	if x.Relative {
		g.uniform = float64(g.uniform * abs(x.Limit))
	}
	g.beta = beta / m.options.Caution
}

func abs(x float64) float64 { return max(x, -x) }

// errInfeasible says that no mixture holds the cuts.
var errInfeasible = errors.New("no mixture holds the guardrails")

// solveFree is solve without a control: it writes the best mixture that holds the hard guardrails
// by the arms' own bounds, with z standard errors or as many as leave a mixture, or else that of
// the least violation. Without any arm whose values are estimated it is that of all arms alike.
func (m *Policy) solveFree(lift []float64, z float64) error {
	m.arms = m.arms[:0]
	for k, ok := range m.usable {
		if ok && m.problem.Arms[k].Most > 0 {
			m.arms = append(m.arms, k)
		}
	}
	clear(m.optimum)
	if len(m.arms) == 0 {
		m.alike(m.optimum, func(k int) bool { return !m.problem.Arms[k].Retired })
		return nil
	}
	for _, part := range [...]float64{1, 0.5, 0.25, 0} {
		m.inside(float64(z * part))
		err := m.linear(m.optimum, lift)
		if err == nil {
			m.keepPrices()
			return nil
		}
		if !errors.Is(err, errInfeasible) {
			break // the solver fails at cuts that are nearly alike
		}
	}
	clear(m.optimum)
	for a, share := range m.sizes[m.count].solver.LeastViolation() {
		m.optimum[m.arms[a]] = share
	}
	return nil
}

// alike writes the mixture of some arms alike.
func (m *Policy) alike(p []float64, of func(k int) bool) {
	n := 0.0
	for k := range p {
		if of(k) {
			n++
		}
	}
	for k := range p {
		if p[k] = 0; of(k) {
			p[k] = 1 / n
		}
	}
}

// mixFree writes the mixture to serve where hard guardrails hold in what is deployed only:
// m.optimum with what explores. Arms about which something is unknown have what they are of the
// number of arms.
func (m *Policy) mixFree(out *propose.Proposal) error {
	if err := m.exploration(m.explore); err != nil {
		return err
	}
	p, e, floor := m.serving, out.Exploration, m.problem.Floor
	arms, unknown := 0.0, 0.0
	for k := range p {
		if !m.problem.Arms[k].Retired {
			arms++
			if !m.usable[k] {
				unknown++
			}
		}
	}
	for k := range p {
		p[k] = float64((1-e)*m.optimum[k]) + float64(e*m.explore[k])
		p[k] = float64((1 - floor) * p[k])
		if !m.problem.Arms[k].Retired {
			p[k] += floor / arms
		}
		if p[k] = float64((1 - unknown/arms) * p[k]); !m.usable[k] && !m.problem.Arms[k].Retired {
			p[k] += 1 / arms
		}
	}
	m.fill(p)
	m.keepControl(p)
	return nil
}

// fill moves what arms have above their largest shares to the others, in proportion to the room
// that is left.
func (m *Policy) fill(p []float64) {
	most := func(k int) float64 {
		switch {
		case m.problem.Arms[k].Retired:
			return 0
		case k == 0 && !m.problem.NoControl:
			return 1
		}
		return m.problem.Arms[k].Most
	}
	over, room := 0.0, 0.0
	for k := range p {
		if d := p[k] - most(k); d > 0 {
			over += d
			p[k] = most(k)
		} else {
			room -= d
		}
	}
	for k := range p {
		if over > 0 && room > 0 {
			p[k] += float64(over * ((most(k) - p[k]) / room))
		}
	}
}
