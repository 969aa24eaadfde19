package experiment

import (
	"math"

	"github.com/noregret/noregret/confseq"
	"github.com/noregret/noregret/experiment/definition"
	"github.com/noregret/noregret/policy"
)

// guards holds the states of the guardrails.
type guards struct {
	Guards []guardState `json:"guards"`
	bounds [][]armBound // by guardrail and arm, as far as they are known
}

// guardState is the state of one guardrail.
type guardState struct {
	State     policy.GuardState `json:"state"`
	Shrinking bool              `json:"shrinking"` // the mixture is being shrunk for it
	Since     int64             `json:"since"`
}

func newGuards(n int, now int64) []guardState {
	g := make([]guardState, n)
	for i := range g {
		g[i] = guardState{State: policy.GuardUnknown, Since: now}
	}
	return g
}

// slackBounds is the slack of a mixture in a guardrail, with its bounds.
type slackBounds struct {
	// estimate is computed from the observed arms; NaN without any.
	estimate float64
	// low and high are the confidence sequence.
	low, high float64
	// open lists the arms with a share, except the control, whose own sequence is still unbounded.
	open []int
}

// armAlpha returns arm k's part of a guardrail's alpha. The initial arms share half of it equally;
// the i-th later arm gets 1/(i(i+1)) of the other half. The sum never exceeds alpha, however many
// arms are added.
func (x *roster) armAlpha(g *definition.Guardrail, k int) float64 {
	alpha := earlyView{x}.sequenceAlpha(g)
	if k < x.InitialArms {
		return alpha / float64(2*x.InitialArms)
	}
	i := float64(k - x.InitialArms + 1)
	return alpha / float64(2*float64(i*(i+1)))
}

// armBound is an arm's cached confidence sequence; it is valid while the statistics it was computed
// from are unchanged.
type armBound struct {
	of       confseq.Sequence
	alpha    float64
	from, to float64
}

// ofControl is what a limit relative to the control's mean y is compared with: y + change·|y|.
func ofControl(y, change float64) float64 { return y + float64(change*math.Abs(y)) }

// slack returns the slack of a mixture in a guardrail: y − c for a lower limit, c − y for an upper
// one, with the control's bound in place of c for a change. Each arm's sequence has its own part of
// alpha, so all hold at all times at once with probability 1 − alpha, for any mixture. An
// unobserved arm counts with its metric's range. The cached bounds are those of the last call with
// the same guardrail; a caller that may run concurrently passes nil.
func (x *roster) slack(g *definition.Guardrail, p []float64, kept []armBound) slackBounds {
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
			from, to = overControl(weight, limit, from, to)
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

// bound returns a sequence's interval, from the cache if the sequence is unchanged.
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
func overControl(weight, change, from, to float64) (low, high float64) {
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

// classifyGuard returns the state of a guardrail, given the estimate and the upper bound of its
// slack.
func classifyGuard(estimate, high float64) policy.GuardState {
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

// evaluate updates the states of the guardrails for the served mixture. It returns the action of a
// new breach: "rollback", with the metric, takes precedence over "shrink"; "" means none.
func (x *guards) evaluate(r *roster, p []float64, now int64, note func(t int64, format string, args ...any),
) (act, why string) {
	for i := range x.Guards {
		g, s := &r.def.Guardrails[i], &x.Guards[i]
		b := r.slack(g, p, x.cachedBounds(r, i))
		state := classifyGuard(b.estimate, b.high)
		if (earlyView{r}).breachedEarly(g, p) {
			state = policy.GuardBreached
		}
		if state == s.State {
			continue
		}
		s.State, s.Since = state, now
		note(now, "guardrail %s: %s", g.Metric, state)
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
	return act, why
}

// evaluateGuardrails evaluates all guardrails and carries out the action of a new breach. The
// states stay as they are while the experiment is rolled back: after resume, a breach acts again
// only if it has ended meanwhile.
func (x *experimentState) evaluateGuardrails(now int64) {
	if len(x.Guards) == 0 || x.Status == policy.RolledBack {
		return
	}
	if x.Status == policy.Concluded { // nothing is served instead
		_, _ = x.guards.evaluate(&x.roster, x.running().Mixture, now, x.note)
		for i := range x.Guards {
			x.Guards[i].Shrinking = false
		}
		return
	}
	stopper{x}.stopArms(now)
	act, why := x.guards.evaluate(&x.roster, x.running().Mixture, now, x.note)
	switch act {
	case "rollback":
		_ = x.rollback(now, "rolled back by a guardrail", why) // it has a control arm and is not rolled back
	case "shrink":
		x.note(now, "the mixture is shrunk towards the control arm")
		if x.Status == policy.Paused { // what is served, not what has been learned since
			_ = x.renewPaused(now, "shrunk", x.served(len(x.Arms)).Shares())
		} else {
			_ = x.renew(now, "shrunk")
		}
	}
}

// cachedBounds returns the cached bounds of the arms in a guardrail. Only code that applies events
// may call it.
func (x *guards) cachedBounds(r *roster, i int) []armBound {
	if len(x.bounds) != len(x.Guards) {
		x.bounds = make([][]armBound, len(x.Guards))
	}
	for len(x.bounds[i]) < len(r.Arms) {
		x.bounds[i] = append(x.bounds[i], armBound{})
	}
	return x.bounds[i]
}

func (x *guards) report(r *roster, p []float64, i int) policy.GuardrailReport {
	g, s := &r.def.Guardrails[i], &x.Guards[i]
	limit, up, relative, _ := g.Limit()
	out := policy.GuardrailReport{
		Metric: g.Metric, Limit: limit, State: s.State, Since: stamp(s.Since), Alpha: g.Alpha,
		Action: g.Action,
	}
	out.Kind = map[bool]string{true: "min", false: "max"}[up] + map[bool]string{true: "_change"}[relative]
	b := r.slack(g, p, nil)
	estimate, low, high := b.estimate, b.low, b.high
	if math.IsNaN(estimate) {
		return out
	}
	if !up {
		estimate, low, high = -estimate, -high, -low
	}
	// From the slack to the value: y = slack + limit; a change is slack/|control| + limit; a ratio
	// of means slack/denominator + limit.
	scale := 1.0
	if relative {
		scale = math.Abs(r.controlStats().Metrics[r.def.MetricIndex(g.Metric)].Mean)
	} else if j := r.def.RatioIndex(r.def.MetricIndex(g.Metric)); j >= 0 {
		scale = r.denominator(j, p)
	}
	if !(scale > 0) {
		return out
	}
	out.Estimate, out.Low, out.High = known(estimate/scale+limit), known(low/scale+limit), known(high/scale+limit)
	return out
}
