package mixture

import (
	"math"

	"github.com/noregret/noregret/experiment/propose"
)

const (
	// hope is the number of standard errors by which an arm may be better than estimated.
	hope = 1.5
	// rest is the weight of arms that could not be better, beside 1 for those that could.
	rest = 0.1
	// controlShare is the share of the control in what explores.
	controlShare = 1.0 / 3
)

// mix writes the mixture to serve: m.optimum with what explores, moved towards the control until
// the hard guardrails hold.
func (m *Policy) mix(out *propose.Proposal) error {
	if err := m.exploration(m.explore); err != nil {
		return err
	}
	p, e := m.serving, out.Exploration
	floor := m.problem.Floor
	arms := 0.0
	for k := range p {
		if !m.problem.Arms[k].Retired {
			arms++
		}
	}
	for k := range p {
		p[k] = float64((1-e)*m.optimum[k]) + float64(e*m.explore[k])
		if p[k] = float64((1 - floor) * p[k]); !m.problem.Arms[k].Retired {
			p[k] += floor / arms
		}
		if over := p[k] - m.problem.Arms[k].Most; k > 0 && over > 0 {
			p[k] -= over
			p[0] += over
		}
	}
	rho, by, recent := m.stepOf(p, m.options.Caution)
	if unbounded := m.unbounded(p); unbounded > m.options.Probe && m.options.Probe/unbounded < rho {
		rho, by = m.options.Probe/unbounded, -1
	}
	move(p, rho)
	m.keepControl(p)
	out.Step, out.StepBy = 1-rho, by
	if by >= 0 && recent {
		m.guards[by].bind = true
	}
	return nil
}

// unbounded is the share of the arms about which nothing is known in a hard guardrail without a
// range.
func (m *Policy) unbounded(p []float64) (share float64) {
	for k := 1; k < len(p); k++ {
		for i := range m.guards {
			if g := &m.guards[i]; g.hard && math.IsInf(g.bound(k, 0), -1) {
				share += p[k]
				break
			}
		}
	}
	return share
}

// exploration writes the mixture that explores.
func (m *Policy) exploration(q []float64) error {
	plain, err := m.of(0)
	if err != nil {
		return err
	}
	m.mean(m.optimum, 0)
	plain.goals.Gradient(m.gradient, m.theta)
	best := 0.0
	for k, share := range m.optimum {
		if share > 0 {
			v, _ := m.worth(k)
			best += float64(share * v)
		}
	}
	sum := 0.0
	clear(q)
	for k := 1; k < len(q); k++ {
		if m.problem.Arms[k].Retired || m.problem.Arms[k].Most == 0 {
			continue
		}
		weight := 1.0
		if m.usable[k] {
			if v, err := m.worth(k); v+float64(hope*err) <= best {
				weight = rest
			}
		}
		q[k] = weight / (1 + m.cost(k))
		sum += q[k]
	}
	if !(sum > 0) {
		q[0] = 1
		return nil
	}
	for k := range q {
		q[k] = float64((1 - controlShare) * (q[k] / sum))
	}
	q[0] = controlShare
	return nil
}

// worth returns what arm k is worth at the prices of the program, by its estimates, and the
// standard error of that.
func (m *Policy) worth(k int) (value, err float64) {
	variance := 0.0
	for i := range m.goals {
		g := &m.goals[i]
		value += float64(m.gradient[i] * g.value[k])
		e := float64(m.gradient[i] * g.err[k])
		variance += float64(e * e)
	}
	at := len(m.goals)
	for i := range m.guards {
		g := &m.guards[i]
		price := g.price
		if !g.hard {
			price = m.gradient[at] / g.unit
			at++
		}
		if price > 0 && g.usable(k) {
			value += float64(price * (g.own + g.gain[k]))
			e := 0.0
			if k > 0 {
				e = float64(price * g.chosen.Error[k])
			}
			variance += float64(e * e)
		}
	}
	return value, math.Sqrt(variance)
}

// cost is how much of the control's slack a unit of arm k takes, at most: the largest over the hard
// guardrails, 0 where it takes none.
func (m *Policy) cost(k int) float64 {
	most := 0.0
	for i := range m.guards {
		g := &m.guards[i]
		if !g.hard {
			continue
		}
		if b := g.bound(k, m.options.Caution); b < 0 && !math.IsInf(b, -1) {
			if g.own == 0 {
				return math.Inf(1)
			}
			most = max(most, -b/g.own)
		}
	}
	return most
}
