package experiment

import (
	"math"
	"slices"

	"github.com/noregret/noregret/confseq"
	"github.com/noregret/noregret/experiment/definition"
	"github.com/noregret/noregret/policy"
)

// slackBounds is by how much a mixture holds a guardrail.
type slackBounds struct {
	// estimate is that of the arms that are known, NaN where nothing is.
	estimate float64
	// low and high are the confidence sequence.
	low, high float64
	// open are the arms of some share, the control not among them, whose own sequence has no end
	// yet.
	open []int
}

// armAlpha is arm k's part of a guardrail's alpha. The arms that the experiment began with have
// equal parts of half of it, the i-th one that came later 1/(i(i+1)) of the other half: the sum
// never exceeds alpha, however many come.
func (x *live) armAlpha(g *definition.Guardrail, k int) float64 {
	if k < x.Founders {
		return g.Alpha / float64(2*x.Founders)
	}
	i := float64(k - x.Founders + 1)
	return g.Alpha / float64(2*float64(i*(i+1)))
}

// armBound is an arm's confidence sequence, kept for as long as what it is of stays.
type armBound struct {
	of       confseq.Sequence
	alpha    float64
	from, to float64
}

// ofControl is what a limit relative to the control's mean y is compared with: y + change·|y|.
func ofControl(y, change float64) float64 { return y + float64(change*math.Abs(y)) }

// slack is by how much a mixture holds a guardrail: y − c for a lower limit, c − y for an upper
// one, with the control's bound in place of c for a change. Each arm's sequence has a part of alpha
// of its own, so that all hold at all times at once with probability 1 − alpha, for whatever
// mixture. An arm that nothing is known of counts with its metric's range. Kept are the arms'
// bounds of the last call with the same guardrail; nil for a caller that is not the only one.
func (x *live) slack(g *definition.Guardrail, p []float64, kept []armBound) slackBounds {
	limit, up, relative, _ := g.Limit()
	metric := x.def.MetricIndex(g.Metric)
	least, most := x.span(metric, limit)
	var b slackBounds
	share, mean := 0.0, 0.0
	for k := range x.Arms {
		weight := 0.0
		if k < len(p) {
			weight = p[k]
		}
		control := relative && k == x.Control
		if weight == 0 && !control {
			continue
		}
		s := x.sequence(metric, limit, &x.Arms[k].Stats)
		if s.N > 0 {
			share += weight
			mean += float64(weight * s.Mean)
		} else if control {
			return slackBounds{math.NaN(), math.Inf(-1), inf(), nil}
		}
		var keep *armBound
		if k < len(kept) {
			keep = &kept[k]
		}
		from, to := bound(&s, x.armAlpha(g, k), least, most, keep)
		switch {
		case control:
			from, to = x.overControl(weight, limit, from, to)
		default:
			if math.IsInf(from, 0) || math.IsInf(to, 0) {
				if k != x.Control {
					b.open = append(b.open, k)
				}
			}
			from, to = float64(weight*from), float64(weight*to)
		}
		b.low += from
		b.high += to
	}
	switch {
	case !(share > 0):
		return slackBounds{math.NaN(), math.Inf(-1), inf(), b.open}
	case relative:
		b.estimate = mean/share - ofControl(x.controlStats().Metrics[metric].Mean, limit)
	case x.def.RatioIndex(metric) >= 0: // the limit is in the contrast
		b.estimate = mean / share
	default:
		b.estimate, b.low, b.high = mean/share-limit, b.low-limit, b.high-limit
	}
	if !up {
		b.estimate, b.low, b.high = -b.estimate, -b.high, -b.low
	}
	return b
}

// bound is a sequence's interval, the one that is kept if it is of the same.
func bound(s *confseq.Sequence, alpha, least, most float64, keep *armBound) (from, to float64) {
	if keep != nil && keep.of == *s && keep.alpha == alpha {
		return keep.from, keep.to
	}
	from, to = s.Interval(alpha, least, most)
	if keep != nil {
		*keep = armBound{*s, alpha, from, to}
	}
	return from, to
}

// overControl bounds weight·y − (y + change·|y|) for the control's mean y in [from, to].
func (x *live) overControl(weight, change, from, to float64) (low, high float64) {
	if math.IsInf(from, 0) || math.IsInf(to, 0) {
		return math.Inf(-1), inf()
	}
	at := func(y float64) float64 { return float64(weight*y) - ofControl(y, change) }
	low, high = min(at(from), at(to)), max(at(from), at(to))
	if from < 0 && to > 0 { // the bend
		low, high = min(low, 0), max(high, 0)
	}
	return low, high
}

// sequence is what a guardrail's slack is made of: the metric itself, or the contrast x − c·y of a
// ratio.
func (x *live) sequence(metric int, limit float64, a *armStats) confseq.Sequence {
	if r := x.def.RatioIndex(metric); r >= 0 {
		return a.Pairs[r].Contrast(limit)
	}
	return a.Metrics[metric]
}

// span is where an observation of what a guardrail looks at lies: the metric's range, or for a
// ratio that of x − c·y. Infinite ends are of metrics without a range.
func (x *live) span(metric int, limit float64) (least, most float64) {
	r := x.def.RatioIndex(metric)
	if r < 0 {
		return x.lowest(metric), x.highest(metric)
	}
	parts := x.def.Ratios()[r]
	ys := [2]float64{-float64(limit * x.lowest(parts.Denominator)), -float64(limit * x.highest(parts.Denominator))}
	least, most = x.lowest(parts.Numerator)+min(ys[0], ys[1]), x.highest(parts.Numerator)+max(ys[0], ys[1])
	if math.IsNaN(least) || math.IsNaN(most) { // 0·∞: a limit of 0
		return x.lowest(parts.Numerator), x.highest(parts.Numerator)
	}
	return least, most
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
func judge(estimate, high float64) policy.GuardState {
	switch {
	case math.IsNaN(estimate):
		return policy.GuardUnknown
	case high < 0:
		return policy.GuardBreached
	case estimate < 0:
		return policy.GuardWatch
	}
	return policy.GuardOk
}

// watch looks at all guardrails and does what a new breach asks for. While the experiment is rolled
// back they stay as they were, so that a breach that was answered acts again, after resume, only
// once it was over.
func (x *live) watch(now int64) {
	if len(x.Guards) == 0 || x.Status == policy.RolledBack {
		return
	}
	p := x.cohorts[len(x.cohorts)-1].Mixture
	act, why := "", ""
	for i := range x.Guards {
		g, s := &x.def.Guardrails[i], &x.Guards[i]
		b := x.slack(g, p, x.kept(i))
		state := judge(b.estimate, b.high)
		if state == s.State {
			continue
		}
		s.State, s.Since = state, now
		x.note(now, "guardrail %s: %s", g.Metric, state)
		if state != policy.GuardBreached {
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
		if x.Status == policy.Paused { // what is served, not what has been learned since
			_ = x.renewPaused(now, "shrunk", x.served().Shares())
		} else {
			_ = x.renew(now, "shrunk")
		}
	}
}

// kept are the arms' bounds of a guardrail from the last look. Only what applies events may ask for
// them.
func (x *live) kept(i int) []armBound {
	if len(x.bounds) != len(x.Guards) {
		x.bounds = make([][]armBound, len(x.Guards))
	}
	for len(x.bounds[i]) < len(x.Arms) {
		x.bounds[i] = append(x.bounds[i], armBound{})
	}
	return x.bounds[i]
}

// shrinkAllowance is the share that arms without any bound keep together while the mixture is
// shrunk: with none they would never get one.
const shrinkAllowance = 0.02

// shrink moves p towards the control arm so far that the lower bounds of the guardrails that are
// being shrunk for hold: p ← (1−ρ)·e + ρ·p with ρ = min(1, y/(y − LCB(p))) for the control's slack
// y (specification 10.8), the least ρ of all; 0 where the control does not hold the limit itself.
// Arms whose metric has no range, and which are too new for a bound, are left out of that and get
// at most a 50th of the units, until they have one.
func (x *live) shrink(p []float64) {
	open := x.openArms(p)
	rest, aside := p, 0.0
	if len(open) > 0 {
		rest = slices.Clone(p)
		for _, k := range open {
			aside += rest[k]
			rest[k] = 0
		}
		for k := range rest {
			if rest[k] /= 1 - aside; !(aside < 1) {
				rest[k] = 0
			}
		}
		if !(aside < 1) {
			rest[x.Control] = 1
		}
	}
	rho := x.shrinkage(rest, len(open) > 0)
	if rho == 1 && len(open) == 0 {
		return
	}
	keep := min(aside, shrinkAllowance)
	for k := range p {
		q := float64(rho * rest[k])
		if k == x.Control {
			q += 1 - rho
		}
		q = float64(q * (1 - keep))
		if aside > 0 && slices.Contains(open, k) {
			q += float64(p[k] * (keep / aside))
		}
		rest[k] = q
	}
	copy(p, rest)
}

// openArms are the arms of some share that have no bound yet in a guardrail that is being shrunk
// for.
func (x *live) openArms(p []float64) (open []int) {
	for i := range x.Guards {
		if x.Guards[i].Shrinking {
			for _, k := range x.slack(&x.def.Guardrails[i], p, nil).open {
				if !slices.Contains(open, k) {
					open = append(open, k)
				}
			}
		}
	}
	return open
}

// shrinkage is ρ for a mixture. A guardrail whose bound holds by itself is shrunk for no more,
// unless some arms were left out of the mixture.
func (x *live) shrinkage(p []float64, partly bool) float64 {
	rho := 1.0
	for i := range x.Guards {
		if !x.Guards[i].Shrinking {
			continue
		}
		g := &x.def.Guardrails[i]
		b := x.slack(g, p, x.kept(i))
		if math.IsNaN(b.estimate) {
			continue
		}
		if b.low >= 0 {
			x.Guards[i].Shrinking = partly
			continue
		}
		e := make([]float64, len(p))
		e[x.Control] = 1
		safe := x.slack(g, e, x.kept(i)).estimate
		if !(safe > 0) {
			rho = 0
			continue
		}
		rho = min(rho, safe/(safe-b.low))
	}
	return rho
}
