package report

import (
	"math"
	"slices"

	"github.com/noregret/noregret/api"
	"github.com/noregret/noregret/confseq"
	"github.com/noregret/noregret/experiment/compare"
	"github.com/noregret/noregret/experiment/guard"
	"github.com/noregret/noregret/internal/vec"
)

// liftAlpha is the probability that any interval of a quantity ever misses.
const liftAlpha = 0.05

// Lift compares the arms that are kept, by index, nil for all, and the mixtures with the control:
// the one that is served, and the one that the policy would deploy, nil for none. All bounds of a
// quantity hold at all times with probability 95 %. It costs O(K·quantities).
func (x *Facts) Lift(deployed []float64, kept []bool) api.Lift {
	d := x.definition()
	out := api.Lift{Alpha: liftAlpha, Quantities: []api.LiftQuantity{}}
	if x.Evidence.Control < 0 {
		out.Reason = "there is no control arm to compare the others with"
		return out
	}
	if d.Contextual() {
		out.Reason = "the policy " + d.Policy.Kind +
			" gives the arms to different units, whose means do not " +
			"compare"
		return out
	}
	if d.Privacy != nil {
		out.Reason = "the experiment is private: there are no confidence sequences of raw feedback"
		return out
	}
	out.Control = x.Arms[x.Evidence.Control].Name
	if len(x.Tight) == 0 {
		out.Reason = "the definition has no goals and no guardrails"
		return out
	}
	if x.control().Units == 0 {
		out.Reason = "the control arm has had no units yet"
	}
	of := lifted{x, deployed, kept}
	if x.Goals != nil {
		out.Quantities = append(out.Quantities, of.objective())
		for _, g := range d.Objective.Goals {
			out.Quantities = append(out.Quantities, of.goal(g.Metric))
		}
	}
	for i := range d.Guardrails {
		out.Quantities = append(out.Quantities, of.guardrail(i))
	}
	return out
}

// lifted are the arms and the mixtures that are compared.
type lifted struct {
	*Facts
	deployed []float64
	kept     []bool
}

// fill compares the arms and the mixtures in a quantity.
func (x *lifted) fill(q *api.LiftQuantity, arm func(k int) api.Comparison, mixture func(p []float64) api.Comparison,
	soFar api.Comparison,
) {
	q.Arms = map[string]api.Comparison{}
	for k := range x.Arms {
		listed := k != x.Evidence.Control && (x.Arms[k].Active || x.Evidence.Stats(k).Units > 0)
		if listed && (x.kept == nil || x.kept[k]) {
			q.Arms[x.Arms[k].Name] = arm(k)
		}
	}
	q.Served, q.SoFar = mixture(x.Mixture), soFar
	if x.deployed != nil {
		c := mixture(x.deployed)
		q.Deployed = &c
	}
}

func (x *lifted) goal(metric string) api.LiftQuantity {
	d := x.definition()
	m := d.MetricIndex(metric)
	c := x.compare(&x.Tight[x.Tight.of(m)], liftAlpha).within()
	up := d.Metrics[m].Direction != "down"
	q := api.LiftQuantity{Kind: api.LiftGoal, Metric: metric, Direction: direction(up)}
	say := func(d difference) api.Comparison {
		out := c.comparison(&d)
		if out.Verdict = verdict(&d.Own, up); c.vague(&d) {
			out.Verdict = api.TooFew
		}
		return out
	}
	x.fill(&q, func(k int) api.Comparison { return say(c.arm(k)) },
		func(p []float64) api.Comparison { return say(c.mixture(p)) }, say(c.soFar()))
	return q
}

func (x *lifted) guardrail(i int) api.LiftQuantity {
	g := &x.definition().Guardrails[i]
	m := x.definition().MetricIndex(g.Metric)
	c := x.compare(&x.Tight[x.Tight.of(m)], liftAlpha).within()
	limit, up, relative, _ := g.Limit()
	q := api.LiftQuantity{
		Kind: api.LiftGuardrail, Metric: g.Metric, Direction: direction(up), Guardrail: guard.Kind(up, relative),
		Limit: &limit,
	}
	say := func(d difference, state api.GuardState) api.Comparison {
		out := c.comparison(&d)
		out.Verdict = state.Verdict()
		return out
	}
	own, served := x.States.Arms(x.Evidence, i)
	x.fill(&q, func(k int) api.Comparison { return say(c.arm(k), own(k)) },
		func(p []float64) api.Comparison {
			b := x.States.Slack(x.Evidence, i, p)
			return say(c.mixture(p), b.State())
		}, say(c.soFar(), served))
	if x.States.Guards[i].State == api.GuardBreached { // also by early values
		q.Served.Verdict = api.ShownBroken
	}
	return q
}

// comparison returns a difference in the metric's units, without its verdict.
func (x *compared) comparison(d *difference) (out api.Comparison) {
	if math.IsNaN(d.Mean) {
		return out
	}
	unit := x.unit(d)
	out.Interval = guard.Interval(unit*d.Mean, unit*d.From, unit*d.To)
	out.Relative = guard.Interval(d.relative())
	return out
}

func direction(up bool) string {
	if up {
		return "up"
	}
	return "down"
}

// verdict returns the verdict on a goal for a difference from the control.
func verdict(d *guard.Own, up bool) api.Verdict {
	low, high := d.From, d.To
	if !up {
		low, high = -high, -low
	}
	switch {
	case math.IsNaN(d.Mean):
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

// objective holds the metrics of the objective: its goals and its soft guardrails.
type objective struct {
	*Facts
	parts []*compared // by index in Tight, nil for metrics of hard guardrails only
	one   *compared   // the only metric of a linear objective, nil otherwise
	up    bool        // the good direction of the only metric
}

// objective compares the metrics of the objective. All bounds hold simultaneously.
func (x *Facts) objective() *objective {
	d := x.definition()
	out := &objective{Facts: x, parts: make([]*compared, len(x.Tight))}
	used := make([]bool, len(x.Tight))
	for _, g := range d.Objective.Goals {
		used[x.Tight.of(d.MetricIndex(g.Metric))] = true
	}
	n := len(d.Objective.Goals)
	linear := n == 1
	for i, m := range x.Goals.Metrics() {
		if i >= n && !m.Hard {
			used[x.Tight.of(d.MetricIndex(d.Guardrails[i-n].Metric))] = true
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
			out.parts[i] = x.compare(&x.Tight[i], liftAlpha/float64(count))
		}
	}
	if linear {
		m := d.MetricIndex(d.Objective.Goals[0].Metric)
		out.one, out.up = out.parts[x.Tight.of(m)], d.Metrics[m].Direction != "down"
	}
	return out
}

// within returns the input with all bounds within what the metrics' ranges allow.
func (x *objective) within() *objective {
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
func (x *objective) goalsAt(at func(i int) float64) []float64 {
	q := x.definition()
	arm, control := compare.NewStats(q), compare.NewStats(q)
	for i := range x.Tight {
		y, d, m := 0.0, 0.0, x.Tight[i].Metric
		if c := x.parts[i]; c != nil {
			y, d = c.level.mean, at(i)
		}
		if math.IsNaN(y) {
			return nil
		}
		if r := q.RatioIndex(m); r >= 0 {
			per := x.control().Pairs[r].Y
			arm.Pairs[r] = confseq.Pair{N: 1, X: y + d, Y: per}
			control.Pairs[r] = confseq.Pair{N: 1, X: y, Y: per}
			continue
		}
		arm.Metrics[m] = confseq.Sequence{N: 1, Mean: y + d}
		control.Metrics[m] = confseq.Sequence{N: 1, Mean: y}
	}
	theta := make([]float64, x.Goals.Dim())
	if !GoalVector(theta, q, &arm, &control, x.control()) {
		return nil
	}
	return theta
}

// lift returns the lift of the objective for given differences. Its bounds are those of the
// objective, which is monotone in each coordinate of the goal vector, over the box of the
// differences' bounds at the control's level.
func (x *objective) lift(of func(c *compared) difference) difference {
	d := make([]difference, len(x.parts))
	for i, c := range x.parts {
		if c != nil {
			d[i] = of(c)
		}
	}
	base := x.goalsAt(func(int) float64 { return 0 })
	mean := x.goalsAt(func(i int) float64 { return d[i].Mean })
	from := x.goalsAt(func(i int) float64 { return d[i].From })
	to := x.goalsAt(func(i int) float64 { return d[i].To })
	out := difference{Own: guard.Own{Mean: math.NaN(), From: math.Inf(-1), To: math.Inf(1)}}
	if base == nil || mean == nil || from == nil || to == nil {
		return out
	}
	for j := range from { // the worse end of each coordinate, and the better one
		if bad := x.Goals.Sign(j) * (to[j] - from[j]); bad < 0 {
			from[j], to[j] = to[j], from[j]
		}
	}
	zero := x.Goals.Reward(base)
	out.Mean = x.Goals.Reward(mean) - zero
	if low := x.Goals.Reward(from) - zero; !math.IsNaN(low) {
		out.From = low
	}
	if high := x.Goals.Reward(to) - zero; !math.IsNaN(high) {
		out.To = high
	}
	return out
}

func (x *lifted) objective() api.LiftQuantity {
	o := x.Facts.objective().within()
	q := api.LiftQuantity{Kind: api.LiftObjective, Direction: "up"}
	say := func(of func(c *compared) difference) api.Comparison {
		d := o.lift(of)
		out := api.Comparison{Interval: guard.Interval(d.Mean, d.From, d.To), Verdict: verdict(&d.Own, true)}
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
			out.Relative = guard.Interval(r, low, high)
		}
		return out
	}
	x.fill(&q, func(k int) api.Comparison {
		return say(func(c *compared) difference { return c.arm(k) })
	}, func(p []float64) api.Comparison {
		return say(func(c *compared) difference { return c.mixture(p) })
	}, say((*compared).soFar))
	return q
}

// LiftPoint returns the lift of the objective of a mixture that is served, and of one that would be
// deployed, nil for none, within the metrics' ranges. It returns nil where nothing is compared.
func (x *Facts) LiftPoint(served, deployed []float64) *api.LiftPoint {
	if x.Goals == nil || len(x.Tight) == 0 || x.definition().Privacy != nil {
		return nil
	}
	o := x.objective().within()
	at := func(p []float64) api.Interval {
		d := o.lift(func(c *compared) difference { return c.mixture(p) })
		return guard.Interval(d.Mean, d.From, d.To)
	}
	out := &api.LiftPoint{Served: at(served)}
	if deployed != nil {
		out.Deployed = at(deployed)
	}
	return out
}
