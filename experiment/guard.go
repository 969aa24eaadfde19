package experiment

import "math"

// GuardState is how a guardrail stands.
type GuardState string

// The states: nothing is known; the estimate holds the limit; it does not, but the confidence sequence
// still allows that it does; it does not, with confidence.
const (
	Unknown  GuardState = "unknown"
	Ok       GuardState = "ok"
	Watch    GuardState = "watch"
	Breached GuardState = "breached"
)

// slackBounds is by how much a mixture holds a guardrail, with a confidence sequence: each arm's interval
// has the level alpha divided by the number of arms, so that all hold at all times at once with probability
// 1 − alpha, for whatever mixture. Estimate is NaN where nothing is known.
func (x *live) slackBounds(g *Guardrail, p []float64) (estimate, low, high float64) {
	limit, up, relative, _ := g.limit()
	metric := x.def.metricIndex(g.Metric)
	alpha := g.Alpha / float64(len(x.Arms))
	sign := 1.0
	if !up {
		sign = -1
	}
	constant := -float64(sign * limit)
	if relative {
		constant = 0
	}
	estimate, low, high = constant, constant, constant
	known := 0.0
	for k := range x.Arms {
		weight := 0.0
		if k < len(p) {
			weight = p[k]
		}
		share := weight
		if relative && k == x.Control {
			weight -= 1 + limit
		}
		if weight == 0 {
			continue
		}
		s := x.sequence(metric, limit, &x.Arms[k].Stats)
		from, to := s.Interval(alpha, x.lowest(metric), x.highest(metric))
		if weight *= sign; weight < 0 {
			from, to = to, from
		}
		low += float64(weight * from)
		high += float64(weight * to)
		if s.N > 0 {
			estimate += float64(weight * s.Mean)
			known += share
		} else if relative && k == x.Control {
			return math.NaN(), math.Inf(-1), inf()
		}
	}
	if known == 0 {
		return math.NaN(), math.Inf(-1), inf()
	}
	if known < 1-1e-9 {
		return estimate, math.Inf(-1), inf() // some arm has no observation: the estimate leaves it out
	}
	return estimate, low, high
}

// sequence is what a guardrail's slack is made of: the metric itself, or the contrast of a ratio, whose
// limit is in it already.
func (x *live) sequence(metric int, limit float64, a *armStats) Sequence {
	if r := x.def.ratioIndex(metric); r >= 0 {
		s := a.Pairs[r].Contrast(limit)
		s.Mean += limit // slackBounds takes it off again
		return s
	}
	return a.Metrics[metric]
}

func (x *live) lowest(metric int) float64 {
	if m := &x.def.Metrics[metric]; m.Range != nil {
		return m.Range[0]
	} else if m.Kind == "count" {
		return 0
	}
	return math.Inf(-1)
}

func (x *live) highest(metric int) float64 {
	if m := &x.def.Metrics[metric]; m.Range != nil {
		return m.Range[1]
	}
	return inf()
}

// judge is the state of bounds.
func judge(estimate, high float64) GuardState {
	switch {
	case math.IsNaN(estimate):
		return Unknown
	case high < 0:
		return Breached
	case estimate < 0:
		return Watch
	}
	return Ok
}

// watch looks at all guardrails and does what a new breach asks for. While the experiment is rolled back
// they stay as they were, so that a breach that was answered acts again, after resume, only once it was over.
func (x *live) watch(now int64) {
	if len(x.Guards) == 0 || x.Status == RolledBack {
		return
	}
	p := x.cohorts[len(x.cohorts)-1].Mixture
	act, why := "", ""
	for i := range x.Guards {
		g, s := &x.def.Guardrails[i], &x.Guards[i]
		estimate, _, high := x.slackBounds(g, p)
		state := judge(estimate, high)
		if state == s.State {
			continue
		}
		s.State, s.Since = state, now
		x.note(now, "guardrail %s: %s", g.Metric, state)
		if state != Breached {
			continue
		}
		switch g.Action {
		case "rollback":
			act, why = g.Action, g.Metric
		case "shrink":
			s.Shrinking = true
			if act == "" {
				act = g.Action
			}
		}
	}
	switch act {
	case "rollback":
		_ = x.rollback(now, "rolled back by a guardrail", why) // it has a control arm and is not rolled back
	case "shrink":
		x.note(now, "the mixture is shrunk towards the control arm")
		_ = x.renew(now, "shrunk")
	}
}

// shrink moves p towards the control arm so far that the lower bounds of the guardrails that are being
// shrunk for hold: p ← (1−ρ)·e + ρ·p with ρ = min(1, y/(y − LCB(p))) for the control's slack y
// (specification 10.8), the least ρ of all; 0 where the control does not hold the limit itself.
func (x *live) shrink(p []float64) {
	rho := 1.0
	for i := range x.Guards {
		if !x.Guards[i].Shrinking {
			continue
		}
		g := &x.def.Guardrails[i]
		estimate, low, _ := x.slackBounds(g, p)
		if math.IsNaN(estimate) {
			continue
		}
		if low >= 0 {
			x.Guards[i].Shrinking = false
			continue
		}
		e := make([]float64, len(p))
		e[x.Control] = 1
		safe, _, _ := x.slackBounds(g, e)
		if !(safe > 0) {
			rho = 0
			continue
		}
		rho = min(rho, safe/(safe-low))
	}
	if rho < 1 {
		for k := range p {
			p[k] *= rho
		}
		p[x.Control] += 1 - rho
	}
}
