package mixture

import (
	"math"

	"github.com/noregret/noregret/experiment/propose"
	"github.com/noregret/noregret/internal/random"
)

const (
	// hope is the number of standard errors by which an arm may be better than estimated.
	hope = 1.5
	// rest is the weight of arms that could hardly be better, beside 1 for those that could. It
	// falls with what an arm is worse by.
	rest = 0.1
	// growth is the factor by which an arm's share may exceed the share that it has had of the
	// units of some 24 rounds, and start what an arm may have whatever it has had.
	growth, start = 10, 0.1
	// draws is the number of optima whose mean is served, and keep that of the rounds for which an
	// arm keeps its place in them.
	draws, keep = 8, 8
	// controlShare is the share of the control in what explores.
	controlShare = 1.0 / 3
	// watched is the control's least share while recent rounds do not show that a hard guardrail
	// holds: beside a control of few units no change is seen.
	watched = 0.1
)

// quantiles are those of a standard normal distribution in the middles of as many equal parts.
var quantiles = [draws]float64{
	-1.5341205443525463, -0.88714655901887607, -0.48877641111466949, -0.15731068461017067,
	0.15731068461017067, 0.48877641111466949, 0.88714655901887607, 1.5341205443525463,
}

// sample writes the mean of the draws' optima to m.optimum, and the mean of their prices to the
// guardrails: Thompson sampling, whose mixture is served as it is expected. The goals of an arm are
// moved by each of the quantiles once, in an order of the arm that is kept for some rounds.
func (m *Policy) sample(rounds int) error {
	r := random.New(uint64(rounds/keep), "propose/mixture")
	for k := range m.lift {
		order := quantiles
		r.Shuffle(draws, func(i, j int) { order[i], order[j] = order[j], order[i] })
		for d := range order {
			m.draws[d][k] = order[d]
		}
	}
	clear(m.average)
	clear(m.guardPrices)
	bind := m.bind[:0]
	for range m.guards {
		bind = append(bind, false)
	}
	for d := range m.draws {
		if err := m.solve(m.draws[d], m.caution(), levelServed); err != nil {
			return err
		}
		for k, share := range m.optimum {
			m.average[k] += float64(share / draws)
		}
		for i := range m.guards {
			m.guardPrices[i] += float64(m.guards[i].price / draws)
			bind[i] = bind[i] || m.guards[i].bind
		}
	}
	copy(m.optimum, m.average)
	for i := range m.guards {
		m.guards[i].price, m.guards[i].bind = m.guardPrices[i], bind[i]
	}
	m.bind = bind
	return nil
}

// slow takes from arms what is more than they may grow to in a round and gives it to the control.
func (m *Policy) slow(p []float64) {
	all := 0.0
	for _, n := range m.units {
		all += n
	}
	least := max(start, m.problem.Floor/float64(len(p)))
	for k := 1; k < len(p) && all > 0; k++ {
		if over := p[k] - max(float64(growth*(m.units[k]/all)), least); over > 0 {
			p[k] -= over
			p[0] += over
		}
	}
}

// watch gives the control its least share while recent rounds do not show that p holds the hard
// guardrails.
func (m *Policy) watch(p []float64) {
	if p[0] >= watched {
		return
	}
	for i := range m.guards {
		if g := &m.guards[i]; g.hard && g.level && !g.shown(p, m.product, m.options.Caution) {
			leave(p, watched)
			return
		}
	}
}

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
	m.slow(p)
	m.watch(p)
	m.probe(p)
	rho, by, recent := m.stepOf(p, m.options.Caution)
	move(p, rho)
	m.keepControl(p)
	out.Step, out.StepBy = 1-rho, by
	if by >= 0 && recent {
		m.guards[by].bind = true
	}
	return nil
}

// probe bounds the share of all arms together about which nothing is known in a hard guardrail
// without a range, and gives the rest to the control.
func (m *Policy) probe(p []float64) {
	share := 0.0
	for k := 1; k < len(p); k++ {
		if m.unbounded(k) {
			share += p[k]
		}
	}
	if share <= m.options.Probe {
		return
	}
	for k := 1; k < len(p); k++ {
		if m.unbounded(k) {
			left := float64(p[k] * (m.options.Probe / share))
			p[0] += p[k] - left
			p[k] = left
		}
	}
}

// unbounded reports whether nothing is known of arm k in a hard guardrail without a range.
func (m *Policy) unbounded(k int) bool {
	for i := range m.guards {
		if g := &m.guards[i]; g.hard && math.IsInf(g.bound(k, 0), -1) {
			return true
		}
	}
	return false
}

// exploration writes the mixture that explores.
func (m *Policy) exploration(q []float64) error {
	plain, err := m.of(0)
	if err != nil {
		return err
	}
	m.mean(m.optimum, nil)
	plain.goals.Gradient(m.gradient, m.theta)
	best := 0.0
	for k, share := range m.optimum {
		if share > 0 {
			v, _ := m.worth(k)
			best += float64(share * v)
		}
	}
	sum, first := 0.0, 1
	if m.problem.NoControl {
		first = 0
	}
	clear(q)
	for k := first; k < len(q); k++ {
		if m.problem.Arms[k].Retired || m.problem.Arms[k].Most == 0 {
			continue
		}
		weight := 1.0
		if !m.usable[k] && m.free() {
			continue // they have a share of their own
		}
		if m.usable[k] {
			if v, err := m.worth(k); v+float64(hope*err) < best {
				weight = rest * (float64(hope*err) / (best - v))
			}
		}
		q[k] = weight / (1 + m.cost(k))
		sum += q[k]
	}
	if !(sum > 0) {
		q[0] = 1
		return nil
	}
	own := controlShare
	if m.problem.NoControl {
		own = 0
	}
	for k := range q {
		q[k] = float64((1 - own) * (q[k] / sum))
	}
	q[0] += own
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
			if k > 0 || m.problem.NoControl {
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
		if !g.hard || m.free() {
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
