package mixture

import (
	"math"

	"github.com/noregret/noregret/experiment/compare"
	"github.com/noregret/noregret/experiment/propose"
)

// guard has the estimates of a guardrail as slacks: at least 0 where the limit holds.
type guard struct {
	hard bool
	// there is no control: contrasts are with the pool of all arms, which may break the limit
	free   bool
	chosen compare.Chosen
	level  bool // the control's level is known
	// estimated is the control's slack: its estimate less 1.5 standard errors of rounds, at least 0
	// for a hard guardrail. own is that less what charge takes off. recentOwn is the estimate in
	// the recent memory, at least 0.
	estimated, own, recentOwn float64
	// raw is the estimate of the control's slack itself, which may be negative.
	raw float64
	// beta is the number of errors of bounds for all rounds, in units of Options.Caution, and
	// uniform by how much the control's slack may be off in any of them; beta is 0 without Strict.
	// wide is what errors are multiplied by now.
	beta, uniform, wide float64
	// units is the standard error of units of an absolute slack, 0 for a relative one.
	units float64
	// gain is what an arm has more than the control, known says where it is estimated.
	known            []bool
	gain, recentGain []float64
	recentKnown      []bool
	// worst is the slack of the worst value of the range, −Inf if there is no range, and 0 where
	// it is not the worst.
	worst float64
	unit  float64 // divides slacks for reports and prices
	price float64
	bind  bool // the recent memory
}

// roundErrors is the number of standard errors of rounds that are taken off the control's slack.
const roundErrors = 1.5

// read reads the guardrail's estimates from the store.
func (g *guard) read(s *compare.Store, p *propose.Problem, i int) {
	x := &p.Guardrails[i]
	m := &p.Metrics[x.Metric]
	sign := x.Sign()
	s.Choose(&g.chosen, x.Metric, 0)
	arms := s.Arms()
	g.hard, g.level, g.price, g.bind = x.Hard, g.chosen.Level.Known, 0, false
	g.beta, g.uniform, g.wide = 0, 0, 1
	recent := g.chosen.Recent
	if recent == nil {
		recent = &none
	}
	g.known, g.recentKnown = g.chosen.Known, recent.Known
	l, r := g.chosen.Level, recent.Level
	size, rounds, c := math.Abs(l.X), l.Rounds, 0.0
	g.unit = 1
	switch {
	case m.Ratio && x.Relative:
		size = 0
		if l.Y != 0 {
			c = beside(l.X/l.Y, x.Limit)
			size, g.unit = math.Abs(l.X/l.Y), math.Abs(l.Y)
		}
		g.own = float64(-sign * float64(x.Limit*math.Abs(l.X)))
		g.recentOwn = float64(-sign * float64(x.Limit*math.Abs(r.X)))
		rounds = float64(rounds * math.Abs(x.Limit))
	case m.Ratio:
		c = x.Limit
		if l.Y != 0 {
			g.unit = math.Abs(l.Y)
		}
	case x.Relative:
		g.own = float64(-sign * float64(x.Limit*math.Abs(l.X)))
		g.recentOwn = float64(-sign * float64(x.Limit*math.Abs(r.X)))
		rounds = float64(rounds * math.Abs(x.Limit))
	default:
		g.own, g.recentOwn = float64(sign*(l.X-x.Limit)), float64(sign*(r.X-x.Limit))
	}
	if m.Ratio {
		g.chosen.Combine(c)
		if !x.Relative {
			l, r = g.chosen.Level, recent.Level
			g.own, g.recentOwn, rounds = float64(sign*l.Mean), float64(sign*r.Mean), l.Rounds
			size = math.Abs(x.Limit)
		}
	}
	if !x.Relative && x.Limit != 0 {
		size = math.Abs(x.Limit)
	}
	g.raw = g.own
	if g.hard && g.free {
		g.own -= float64(roundErrors * rounds)
	} else if g.hard {
		g.own = max(g.own-float64(roundErrors*rounds), 0)
		g.recentOwn = max(g.recentOwn, 0)
	} else if size > 0 && !x.Absolute {
		g.unit = float64(g.unit * size) // of the price
	}
	g.worst, g.units = g.worstOf(x, m), 0
	if !g.level {
		g.guess(x, m)
	} else if g.hard && !x.Relative {
		g.units = g.chosen.Level.Units
	}
	g.estimated = g.own
	g.gain, g.recentGain = zeros(g.gain, arms), zeros(g.recentGain, arms)
	for k := range arms {
		if g.known[k] && (k > 0 || g.free) {
			// A memory that an arm's change has shortened has rounds of before the change too: the
			// arm is taken to be as much worse again as it is worse than in the next longer one.
			g.gain[k] = float64(sign*g.chosen.Delta[k]) + min(float64(sign*g.chosen.Change[k]), 0)
		}
		g.recentGain[k] = g.gain[k]
		if k < len(g.recentKnown) && g.recentKnown[k] {
			g.recentGain[k] = float64(sign * recent.Delta[k])
		}
	}
}

// charge takes the noise of units off the control's own slack of an absolute limit: the part
// (errors·se/slack)² of it. That is little of a slack of many standard errors, and all of a slack
// that may be noise. That the control holds the limit is a premise; how far it does is an estimate.
//
// Served bounds for all rounds take all that the slack may be off by, and a limit without a control
// is no premise.
func (g *guard) charge(errors float64, served bool) {
	g.own, g.wide = g.estimated, 1
	switch {
	case g.free:
		g.own -= float64(errors * g.units)
		return
	case g.beta > 0 && served:
		g.own, g.wide = max(g.own-g.uniform, 0), g.beta
		return
	}
	if e := float64(errors * g.units); e > 0 && g.own > 0 {
		g.own = max(g.own-float64(e*(e/g.own)), 0)
	}
}

// guess sets what is known of a hard guardrail before the control's level is. A lower limit
// relative to the control, of values of at least 0, takes units of that level; of others the worst
// is assumed, and the control alone is safe.
func (g *guard) guess(x *propose.Guardrail, m *propose.Metric) {
	g.own, g.recentOwn = 0, 0
	switch {
	case math.IsInf(g.worst, -1):
	case x.Relative && !x.Down && m.Lower >= 0:
		g.own, g.worst = max(-x.Limit, 0), min(-1-x.Limit, 0)
	default:
		g.worst = -1
	}
}

// beside is the limit of a relative guardrail beside a control of the given value.
func beside(control, change float64) float64 { return control + float64(change*math.Abs(control)) }

// worstOf returns the slack at the worst value of the range.
func (g *guard) worstOf(x *propose.Guardrail, m *propose.Metric) float64 {
	if m.Ratio || !m.HasRange() {
		return math.Inf(-1)
	}
	worst := m.Lower
	if x.Down {
		worst = m.Upper
	}
	limit := x.Limit
	if x.Relative {
		limit = beside(g.chosen.Level.X, x.Limit)
	}
	return min(float64(x.Sign()*(worst-limit)), 0)
}

// usable reports whether something bounds the slack of arm k from estimates.
func (g *guard) usable(k int) bool { return k == 0 && !g.free || g.level && g.known[k] }

// bound returns the own bound of arm k: its slack less z standard errors, or the worst of the range
// if that is better; −Inf if nothing is known.
func (g *guard) bound(k int, z float64) float64 {
	switch {
	case k == 0 && !g.free:
		return g.own
	case !g.level || !g.known[k]:
		return g.worst
	}
	return max(g.own+g.gain[k]-float64(float64(z*g.wide)*g.chosen.Error[k]), g.worst)
}

// none are the estimates of a memory that is not looked at.
var none compare.Contrasts

// spread returns √(p'Σp) of the known arms and writes Σp to product; both with the factor of
// errors.
func (g *guard) spread(p, product []float64) float64 {
	g.chosen.Product(product, p)
	if g.wide != 1 {
		for k := range product {
			product[k] = float64(float64(product[k]*g.wide) * g.wide)
		}
	}
	return root(p, product)
}

func (g *guard) recentSpread(p, product []float64) float64 {
	g.chosen.Recent.Product(product, p)
	return root(p, product)
}

func root(p, product []float64) float64 {
	v := 0.0
	for k, x := range product {
		v += float64(p[k] * x)
	}
	return math.Sqrt(max(v, 0))
}

// moves are what a mixture p, moved to (1 − ρ)·control + ρ·p, has as slacks: own + ρ·(…).
type moves struct {
	own, recentOwn float64
	change, recent float64 // of the estimates
	err, recentErr float64
	bounds         float64 // of the arms' own bounds, less own
	worst          float64 // of unknown arms, less own
	anyKnown       bool
	noRecent       bool // no recent memory is looked at
}

// move returns the moves of p. It uses product as a workspace.
func (g *guard) move(p, product []float64, z float64) moves {
	v := moves{own: g.own, recentOwn: g.recentOwn}
	for k := range p {
		if p[k] == 0 || k == 0 && !g.free {
			continue
		}
		b := g.bound(k, z) - g.own
		if math.IsInf(b, -1) {
			continue // the shares of such arms are bounded by themselves
		}
		v.bounds += float64(p[k] * b)
		if !g.usable(k) {
			v.worst += float64(p[k] * b)
			continue
		}
		v.anyKnown = true
		v.change += float64(p[k] * g.gain[k])
		v.recent += float64(p[k] * g.recentGain[k])
	}
	v.noRecent = g.chosen.Recent == nil
	if v.anyKnown {
		v.err = g.spread(p, product)
		if !v.noRecent {
			v.recentErr = g.recentSpread(p, product)
		}
	}
	return v
}

// chosen is the slack at ρ in the chosen memories: the better of the bound of the mixture and the
// mixture of bounds.
func (v *moves) chosen(rho, z float64) float64 {
	if rho == 0 {
		return v.own
	}
	return v.own + float64(rho*max(v.change-float64(z*v.err)+v.worst, v.bounds))
}

// agreement is the a of the recent memory at ρ.
func (v *moves) agreement(rho float64) float64 {
	difference := (v.own - v.recentOwn) + float64(rho*(v.change-v.recent))
	a, b := float64(rho*v.recentErr), float64(rho*v.err)
	variance := max(float64(a*a)-float64(b*b), float64(leastDifference*float64(a*a)))
	if !(variance > 0) {
		return 0
	}
	return min(max(float64(0.5*(1+difference/math.Sqrt(variance))), 0), 1)
}

// leastDifference is the least variance of the difference of slacks, as a share of that of the
// recent one.
const leastDifference = 0.2

// recentSlack is the slack at ρ in the recent memory.
func (v *moves) recentSlack(rho, z float64) float64 {
	if v.noRecent {
		return math.Inf(1)
	}
	if rho == 0 {
		return v.recentOwn
	}
	a := v.agreement(rho)
	return v.recentOwn + float64(rho*(v.recent-float64(float64(a*z)*v.recentErr)+v.worst))
}

// shown reports whether the recent memory shows by all z standard errors that the guardrail holds
// in mixture p. Without a recent memory nothing is asked of one: the step towards the control has
// all z errors of the memory that there is.
func (g *guard) shown(p, product []float64, z float64) bool {
	v := g.move(p, product, z)
	return v.noRecent || v.recentOwn+v.recent+v.worst-float64(z*v.recentErr) >= 0
}

// step returns the largest ρ in [0, 1], to rounding, at which the guardrail holds, and whether the
// recent memory asked for it.
func (g *guard) step(p, product []float64, z float64) (rho float64, recent bool) {
	v := g.move(p, product, z)
	rho = 1
	if s := v.chosen(1, z); s < 0 {
		rho = min(max(v.own/(v.own-s), 0), 1) // the slack is linear in ρ
	}
	if rho == 0 || !v.anyKnown || v.recentSlack(rho, z) >= 0 {
		return rho, false
	}
	low, high := 0.0, rho
	for range 40 {
		mid := low + float64(0.5*(high-low))
		if v.recentSlack(mid, z) >= 0 {
			low = mid
		} else {
			high = mid
		}
	}
	return low, true
}

// state reports where the guardrail stands in mixture p.
func (g *guard) state(p, product []float64, z float64) propose.State {
	if !g.level {
		return propose.State{}
	}
	v := g.move(p, product, z)
	unit := g.unit
	return propose.State{
		Known: true, Control: g.raw / unit, Slack: (g.own + v.change) / unit, Error: v.err / g.wide / unit,
		Price: float64(g.price * unit), Recent: g.bind,
	}
}
