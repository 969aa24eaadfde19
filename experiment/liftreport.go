package experiment

import (
	"math"
	"slices"

	"github.com/noregret/noregret/api"
	"github.com/noregret/noregret/confseq"
	"github.com/noregret/noregret/experiment/compare"
	"github.com/noregret/noregret/internal/vec"
)

// liftAlpha is the probability that any interval of a quantity ever misses.
const liftAlpha = 0.05

// report compares the arms that are kept, by index, nil for all, and the mixtures with the control.
func (x lifter) report(deployed []float64, kept []bool) api.Lift {
	out := api.Lift{Alpha: liftAlpha, Quantities: []api.LiftQuantity{}}
	if x.roster.Control < 0 {
		out.Reason = "there is no control arm to compare the others with"
		return out
	}
	if x.roster.def.Contextual() {
		out.Reason = "the policy " + x.roster.def.Policy.Kind +
			" gives the arms to different units, whose means do not " +
			"compare"
		return out
	}
	if x.Private != nil {
		out.Reason = "the experiment is private: there are no confidence sequences of raw feedback"
		return out
	}
	out.Control = x.roster.Arms[x.roster.Control].Name
	if len(x.lifts.Lifts) == 0 {
		out.Reason = "the definition has no goals and no guardrails"
		return out
	}
	in, now := x.input(), x.joiner.Running().Mixture
	in.kept = kept
	if s := x.roster.controlStats(); s.Units == 0 {
		out.Reason = "the control arm has had no units yet"
	}
	if x.roster.goals != nil {
		out.Quantities = append(out.Quantities, x.objectiveLift(in, now, deployed))
		for _, g := range x.roster.def.Objective.Goals {
			out.Quantities = append(out.Quantities, x.goalLift(in, g.Metric, now, deployed))
		}
	}
	guarded := x.guardInput(false)
	for i := range x.roster.def.Guardrails {
		out.Quantities = append(out.Quantities, x.guardLift(in, guarded, i, now, deployed))
	}
	return out
}

// shown reports whether an arm is listed.
func (x lifter) shown(k int) bool {
	return k != x.roster.Control && (x.roster.Arms[k].Active || x.roster.sums.Arms[k].Units > 0)
}

// fill compares the arms and the mixtures in a quantity.
func (x lifter) fill(in *liftInput, q *api.LiftQuantity, arm func(k int) api.Comparison,
	mixture func(p []float64) api.Comparison, deployed, now []float64, soFar api.Comparison,
) {
	q.Arms = map[string]api.Comparison{}
	for k := range x.roster.Arms {
		if x.shown(k) && (in.kept == nil || in.kept[k]) {
			q.Arms[x.roster.Arms[k].Name] = arm(k)
		}
	}
	q.Served, q.SoFar = mixture(now), soFar
	if deployed != nil {
		c := mixture(deployed)
		q.Deployed = &c
	}
}

func (x lifter) goalLift(in *liftInput, metric string, now, deployed []float64) api.LiftQuantity {
	m := x.roster.def.MetricIndex(metric)
	c := in.compare(&in.Lifts[in.of(m)], liftAlpha).within()
	up := x.roster.def.Metrics[m].Direction != "down"
	q := api.LiftQuantity{Kind: api.LiftGoal, Metric: metric, Direction: direction(up)}
	say := func(d difference) api.Comparison {
		out := c.comparison(&d)
		if out.Verdict = verdict(d.armSlack, up); c.vague(&d) {
			out.Verdict = api.TooFew
		}
		return out
	}
	x.fill(in, &q, func(k int) api.Comparison { return say(c.arm(k)) },
		func(p []float64) api.Comparison { return say(c.mixture(p)) }, deployed, now, say(c.soFar()))
	return q
}

func (x lifter) guardLift(in *liftInput, guarded *guardInput, i int, now, deployed []float64) api.LiftQuantity {
	g := &x.roster.def.Guardrails[i]
	m := x.roster.def.MetricIndex(g.Metric)
	c := in.compare(&in.Lifts[in.of(m)], liftAlpha).within()
	limit, up, relative, _ := g.Limit()
	q := api.LiftQuantity{
		Kind: api.LiftGuardrail, Metric: g.Metric, Direction: direction(up), Guardrail: guardKind(up, relative),
		Limit: &limit,
	}
	say := func(d difference, state api.GuardState) api.Comparison {
		out := c.comparison(&d)
		out.Verdict = state.Verdict()
		return out
	}
	own, served := x.guards.armSlacks(guarded, i)
	x.fill(in, &q, func(k int) api.Comparison { return say(c.arm(k), own(k)) },
		func(p []float64) api.Comparison {
			b := x.guards.slack(guarded, i, p, nil)
			return say(c.mixture(p), b.classify())
		}, deployed, now, say(c.soFar(), served))
	if x.guards.Guards[i].State == api.GuardBreached { // also by early values
		q.Served.Verdict = api.ShownBroken
	}
	return q
}

// armSlacks returns the state of a guardrail for each arm by itself, and for all that was served.
func (x *guards) armSlacks(in *guardInput, i int) (own func(k int) api.GuardState, served api.GuardState) {
	g := &in.def.Guardrails[i]
	_, up, relative, _ := g.Limit()
	var arm func(k int) armSlack
	var all servedSlack
	if relative {
		arm, all = x.relativeSlack(in, i)
	} else {
		arm, all = in.plainSlack(g, nil)
	}
	state := func(estimate, low, high float64) api.GuardState {
		if !up {
			estimate, low, high = -estimate, -high, -low
		}
		b := slackBounds{
			estimate: estimate, low: low, high: high,
			served: servedSlack{estimate: estimate, low: low, high: high},
		}
		return b.classify()
	}
	return func(k int) api.GuardState {
		a := arm(k)
		return state(a.mean, a.from, a.to)
	}, state(all.estimate, all.low, all.high)
}

// comparison returns a difference in the metric's units, without its verdict.
func (x *compared) comparison(d *difference) (out api.Comparison) {
	if math.IsNaN(d.mean) {
		return out
	}
	unit := x.unit(d)
	out.Interval = interval(unit*d.mean, unit*d.from, unit*d.to)
	out.Relative = interval(d.relative())
	return out
}

func interval(estimate, low, high float64) api.Interval {
	return api.Interval{Estimate: known(estimate), Low: known(low), High: known(high)}
}

func direction(up bool) string {
	if up {
		return "up"
	}
	return "down"
}

// verdict returns the verdict on a goal for a difference from the control.
func verdict(d armSlack, up bool) api.Verdict {
	low, high := d.from, d.to
	if !up {
		low, high = -high, -low
	}
	switch {
	case math.IsNaN(d.mean):
		return api.TooFew
	case low > 0:
		return api.Better
	case high < 0:
		return api.Worse
	case !vec.IsFinite(low) || !vec.IsFinite(high):
		return api.TooFew
	}
	return api.NoDifference
}

// objectiveInput holds the metrics of the objective: its goals and its soft guardrails.
type objectiveInput struct {
	*liftInput
	parts []*compared // by index in Lifts, nil for metrics of hard guardrails only
	one   *compared   // the only metric of a linear objective, nil otherwise
	up    bool        // the good direction of the only metric
}

// objectiveInput compares the metrics of the objective. All bounds hold simultaneously.
func (in *liftInput) objectiveInput() *objectiveInput {
	out := &objectiveInput{liftInput: in, parts: make([]*compared, len(in.Lifts))}
	used := make([]bool, len(in.Lifts))
	for _, g := range in.def.Objective.Goals {
		used[in.of(in.def.MetricIndex(g.Metric))] = true
	}
	n := len(in.def.Objective.Goals)
	linear := n == 1
	for i, m := range in.goals.Metrics() {
		if i >= n && !m.Hard {
			used[in.of(in.def.MetricIndex(in.def.Guardrails[i-n].Metric))] = true
			linear = false
		}
	}
	count := 0
	for _, u := range used {
		if u {
			count++
		}
	}
	for i, u := range used {
		if u {
			out.parts[i] = in.compare(&in.Lifts[i], liftAlpha/float64(count))
		}
	}
	if linear {
		m := in.def.MetricIndex(in.def.Objective.Goals[0].Metric)
		out.one, out.up = out.parts[in.of(m)], in.def.Metrics[m].Direction != "down"
	}
	return out
}

// within returns the input with all bounds within what the metrics' ranges allow.
func (x *objectiveInput) within() *objectiveInput {
	y := *x
	y.parts = slices.Clone(x.parts)
	for i, c := range x.parts {
		if c == nil {
			continue
		}
		if y.parts[i] = c.within(); c == x.one {
			y.one = y.parts[i]
		}
	}
	return &y
}

// goalsAt returns the objective's goal vector for means that differ from the control's by at(i) in
// the metric with index i. It returns nil if a mean of the control is unknown.
func (x *objectiveInput) goalsAt(at func(i int) float64) []float64 {
	arm, control := compare.NewStats(x.def), compare.NewStats(x.def)
	for i := range x.Lifts {
		y, d, m := 0.0, 0.0, x.Lifts[i].Metric
		if c := x.parts[i]; c != nil {
			y, d = c.level.mean, at(i)
		}
		if math.IsNaN(y) {
			return nil
		}
		if r := x.def.RatioIndex(m); r >= 0 {
			per := x.controlStats().Pairs[r].Y
			arm.Pairs[r] = confseq.Pair{N: 1, X: y + d, Y: per}
			control.Pairs[r] = confseq.Pair{N: 1, X: y, Y: per}
			continue
		}
		arm.Metrics[m] = confseq.Sequence{N: 1, Mean: y + d}
		control.Metrics[m] = confseq.Sequence{N: 1, Mean: y}
	}
	theta := make([]float64, x.goals.Dim())
	if !goalVector(theta, x.def, &arm, &control, x.controlStats()) {
		return nil
	}
	return theta
}

// lift returns the lift of the objective for given differences. Its bounds are those of the
// objective, which is monotone in each coordinate of the goal vector, over the box of the
// differences' bounds at the control's level.
func (x *objectiveInput) lift(of func(c *compared) difference) difference {
	d := make([]difference, len(x.parts))
	for i, c := range x.parts {
		if c != nil {
			d[i] = of(c)
		}
	}
	base := x.goalsAt(func(int) float64 { return 0 })
	mean := x.goalsAt(func(i int) float64 { return d[i].mean })
	from := x.goalsAt(func(i int) float64 { return d[i].from })
	to := x.goalsAt(func(i int) float64 { return d[i].to })
	out := difference{armSlack: armSlack{mean: math.NaN(), from: math.Inf(-1), to: inf()}}
	if base == nil || mean == nil || from == nil || to == nil {
		return out
	}
	for j := range from { // the worse end of each coordinate, and the better one
		if bad := x.goals.Sign(j) * (to[j] - from[j]); bad < 0 {
			from[j], to[j] = to[j], from[j]
		}
	}
	zero := x.goals.Reward(base)
	out.mean = x.goals.Reward(mean) - zero
	if low := x.goals.Reward(from) - zero; !math.IsNaN(low) {
		out.from = low
	}
	if high := x.goals.Reward(to) - zero; !math.IsNaN(high) {
		out.to = high
	}
	return out
}

func (x lifter) objectiveLift(in *liftInput, now, deployed []float64) api.LiftQuantity {
	o := in.objectiveInput().within()
	q := api.LiftQuantity{Kind: api.LiftObjective, Direction: "up"}
	say := func(of func(c *compared) difference) api.Comparison {
		d := o.lift(of)
		out := api.Comparison{Interval: interval(d.mean, d.from, d.to), Verdict: verdict(d.armSlack, true)}
		for _, part := range o.parts {
			if part == nil || out.Verdict != api.NoDifference && o.one == nil {
				continue
			}
			if e := of(part); part.vague(&e) {
				out.Verdict = api.TooFew
			}
		}
		if o.one != nil {
			e := of(o.one)
			r, low, high := e.relative()
			if !o.up {
				r, low, high = -r, -high, -low
			}
			out.Relative = interval(r, low, high)
		}
		return out
	}
	x.fill(in, &q, func(k int) api.Comparison {
		return say(func(c *compared) difference { return c.arm(k) })
	}, func(p []float64) api.Comparison {
		return say(func(c *compared) difference { return c.mixture(p) })
	}, deployed, now, say((*compared).soFar))
	return q
}

// deployed returns the shares that the policy would deploy, by arm, as the log says, or nil if
// there are none.
func (x lifter) deployed() []float64 {
	p := slices.Clone(x.learning.Deployed)
	for len(p) > 0 && len(p) < len(x.roster.Arms) {
		p = append(p, 0)
	}
	return p
}

// shown is what reports show of a version's mixture by the estimates of the time when it began.
// Nothing depends on it, so a digest leaves it out.
type shown struct {
	// Value is the objective of the mixture by comparisons within versions, nil if unknown.
	Value *float64 `json:"value"`
	// Lift is the lift of the objective, within the metrics' ranges; nil without a control arm.
	Lift *api.LiftPoint `json:"lift,omitempty"`
}

// course returns what reports show of a mixture that is served from now on, nil without an
// objective.
func (x lifter) course(s *Serving) *shown {
	if x.roster.goals == nil {
		return nil
	}
	now := s.Shares.Shares()
	out := &shown{Value: valuer(x).known(now)}
	if len(x.lifts.Lifts) == 0 || x.Private != nil {
		return out
	}
	o := x.input().objectiveInput().within()
	at := func(p []float64) api.Interval {
		d := o.lift(func(c *compared) difference { return c.mixture(p) })
		return interval(d.mean, d.from, d.to)
	}
	out.Lift = &api.LiftPoint{Served: at(now)}
	if s.Deployed != nil {
		out.Lift.Deployed = at(s.Deployed)
	}
	return out
}
