package plan

import (
	"context"
	"math"
	"time"

	"github.com/noregret/noregret/experiment/definition"
	"github.com/noregret/noregret/internal/portable"
	"github.com/noregret/noregret/internal/stat"
)

// course is the expected course of a learned experiment, without noise, round by round. The arms
// get as much as the hard guardrails leave room for: all arms the same until the best one is two
// standard errors above the others, and then it alone. At the beginning of a round the units are
// known whose windows have closed.
//
// A ramp leaves them its share of that. It leaves out noise and bounds on shares, and that a policy
// takes less than all the room to explore.
type course struct {
	*closedForm
	rooms   []room
	gap     float64 // in the objective, of the best arm
	spread  float64 // variance of a unit's value of the objective
	step    float64 // days
	goals   []int   // the metrics of the goals
	learned []int   // those that the policy learns from, with the guardrails'
	history []units // by the end of each round, the oldest first
	known   []int   // what closed returned last, by metric
	ramp    rampCourse
	policy  *expected // the default policy, nil for another one
}

// units are numbers of units by a day: of the control, of the best arm, and of each other arm.
type units struct{ day, control, best, other float64 }

// room describes a hard guardrail. Values are in units of the metric and larger ones are better.
type room struct {
	relative bool
	// control is what the control arm is above the limit; of a change, the size of its mean.
	control float64
	// change is the relative change that is allowed, above 0.
	change float64
	// best is what the best arm is above the control arm.
	best     float64
	variance float64 // of a unit
	// worst is the slack of an arm of which nothing is known: the end of the metric's range less
	// the limit; of a change less the control's mean. It is −Inf without a range.
	worst float64
	// early says that a change leaves room before anything is known about the control, as the range
	// begins at 0.
	early bool
	alpha float64 // level of the learner's bounds
}

// Constants of bounds for all rounds together. The test against the simulation fails if they differ
// much from the policy's.
const (
	unboundedShare = 0.01 // share of all arms without data together where a metric has no range
	tightUnits     = 300  // number of units at which bounds are the tightest
	leastAnchor    = 0.1  // part of the control's mean that counts at least
)

// guarded reports whether the policy holds a guardrail in what it serves.
func guarded(d *definition.Definition, g *definition.Guardrail) bool {
	return g.Hard && d.LearnsControl() && !d.HoldsDeployed()
}

// newCourse returns the course of a definition at its beginning.
func newCourse(c *closedForm) *course {
	const day = float64(24 * time.Hour)
	x := &course{
		closedForm: c, step: float64(c.d.Round.Length) / day, history: []units{{}},
		known: make([]int, len(c.d.Metrics)),
	}
	x.learned = c.d.LearnedMetrics()
	if c.d.Objective != nil {
		for _, g := range c.d.Objective.Goals {
			metric := c.d.MetricIndex(g.Metric)
			x.goals = append(x.goals, metric)
			x.gap += float64(g.Weight * float64(c.d.Plan.Improvement*math.Abs(mean(c.d, metric))))
			x.spread += float64(float64(g.Weight*g.Weight) * variance(c.d, metric))
		}
	}
	hard, alpha := 0, 0.05
	for i := range c.d.Guardrails {
		if g := &c.d.Guardrails[i]; guarded(c.d, g) {
			hard, alpha = hard+1, min(alpha, g.Alpha)
		}
	}
	for i := range c.d.Guardrails {
		if g := &c.d.Guardrails[i]; guarded(c.d, g) {
			r := c.room(g)
			r.alpha = alpha / float64((c.arms+1)*hard)
			x.rooms = append(x.rooms, r)
		}
	}
	x.policy, _ = newExpected(c) // without it the course is that of another policy
	for i := range c.d.Guardrails {
		if len(c.d.Ramp) > 0 {
			x.ramp.judges = append(x.ramp.judges, newJudge(x, &c.d.Guardrails[i]))
		}
	}
	return x
}

// room describes a hard guardrail.
func (c *closedForm) room(g *definition.Guardrail) room {
	limit, up, relative, _ := g.Limit()
	metric, sign := c.d.MetricIndex(g.Metric), 1.0
	if !up {
		sign = -1
	}
	y := mean(c.d, metric)
	r := room{relative: relative, variance: variance(c.d, metric), worst: math.Inf(-1)}
	scale, low, high := 1.0, math.Inf(-1), math.Inf(1)
	if i := c.d.RatioIndex(metric); i >= 0 { // numerator − limit·denominator
		scale = mean(c.d, c.d.Ratios()[i].Denominator)
	} else if m := &c.d.Metrics[metric]; m.Range != nil || m.Cap != nil {
		low, high = m.Counted()
	}
	end := low
	if !up {
		end = high
	}
	r.best = float64(sign * float64(scale*(c.improved(metric)-y)))
	if relative {
		r.control, r.change = float64(scale*math.Abs(y)), -float64(sign*limit)
		if r.worst = float64(sign * (end - y)); math.IsNaN(r.worst) {
			r.worst = math.Inf(-1)
		}
		r.early = up && low == 0 && r.worst > math.Inf(-1)
	} else {
		r.control = float64(sign * float64(scale*(y-limit)))
		r.worst = float64(sign * (end - limit))
	}
	return r
}

// improved returns the mean of a metric under the best arm.
func (c *closedForm) improved(metric int) float64 {
	y := mean(c.d, metric)
	if c.d.Objective == nil {
		return y
	}
	for _, g := range c.d.Objective.Goals {
		if c.d.MetricIndex(g.Metric) == metric {
			better := float64(c.d.Plan.Improvement * math.Abs(y))
			if c.d.Metrics[metric].Direction == "down" {
				better = -better
			}
			low, high := c.d.Metrics[metric].Counted()
			return min(max(y+better, low), high)
		}
	}
	return y
}

// radius returns by how much an estimate with this squared error, worth n units, may be off at any
// time: the normal mixture's boundary (Robbins 1970) of the learner.
func (r *room) radius(n, square float64) float64 {
	z := 2 * (1 + tightUnits/n) * portable.Log(math.Sqrt(1+n/tightUnits)/(2*r.alpha)+1)
	return math.Sqrt(float64(z * square))
}

// slacks returns by how much the control, the best arm and another arm surely hold the guardrail
// after so many units.
func (r *room) slacks(u units) (control, best, other float64) {
	worst := r.worst
	if !r.relative {
		if u.control > 0 {
			control = max(r.control-r.radius(u.control, r.variance/u.control), 0)
		}
		return control, r.slack(worst, r.control+r.best, u.best, 0, u), r.slack(worst, r.control, u.other, 0, u)
	}
	if !(u.control > 0) {
		if r.early { // in proportion to the control's mean, whatever that is
			return r.change, r.change - 1, r.change - 1
		}
		return 0, worst, worst
	}
	off := r.radius(u.control, r.variance/u.control)
	control = float64(r.change * max(r.control-off, float64(leastAnchor*r.control)))
	worst += control
	return control, r.slack(worst, control+r.best, u.best, 1, u), r.slack(worst, control, u.other, 1, u)
}

// slack returns the slack of an arm of n units whose mean has the given one; compared is 1 if it is
// compared with the control, and 0 otherwise.
func (r *room) slack(worst, expected, n, compared float64, u units) float64 {
	if !(n > 0) {
		return worst
	}
	square := r.variance/n + float64(compared*(r.variance/u.control))
	return max(worst, expected-r.radius(r.variance/square, square))
}

// most returns the largest share of a mixture whose slack is x beside the control's.
func most(control, x float64) float64 {
	switch {
	case x >= 0:
		return 1
	case !(control > 0):
		return 0
	}
	return control / (control - x)
}

// shares returns the shares of the best arm and of each other arm, given what is known.
func (x *course) shares() (best, other float64) {
	if x.policy != nil {
		if best, other, err := x.policy.shares(x); err == nil {
			known, _ := x.closedAll(x.goals)
			if !x.identified(x.history[known]) { // noise makes any arm the best
				arms := float64(x.arms)
				best = (best + float64((arms-1)*other)) / arms
				other = best
			}
			return best, other
		}
	}
	known, _ := x.closedAll(x.learned)
	return x.planned(x.history[known])
}

// planned returns the shares of another policy than the default one, given what is known.
func (x *course) planned(known units) (best, other float64) {
	left, arms := 1-x.closedForm.shares.Control, float64(x.arms)
	even, alone, unbounded := left, left, false
	for i := range x.rooms {
		control, b, o := x.rooms[i].slacks(known)
		unbounded = unbounded || math.IsInf(o, -1)
		even = min(even, most(control, (b+float64((arms-1)*o))/arms))
		alone = min(alone, most(control, b))
	}
	if unbounded {
		even = min(left, unboundedShare)
	} else if x.d.Policy.Kind != "fixed" && x.identified(known) {
		return alone, 0
	}
	return even / arms, even / arms
}

// identified reports whether the best arm is above the others by so many standard errors that it is
// the best one by the estimates with a probability of about 95 %; above the control if there are no
// others.
func (x *course) identified(u units) bool {
	other := u.other
	if x.arms == 1 {
		other = u.control
	}
	z := stat.NormalAbove(0.05 / float64(max(x.arms-1, 1)))
	return u.best > 0 && other > 0 &&
		float64(x.gap*x.gap) >= float64(float64(z*z)*float64(x.spread*(1/u.best+1/other)))
}

// closed returns the index of the last entry of the history of which the window of a metric has
// closed.
func (x *course) closed(metric int) int {
	last, lag := x.history[len(x.history)-1], x.lag(metric)
	known := &x.known[metric]
	for *known+1 < len(x.history) && x.history[*known+1].day <= last.day-lag {
		*known++
	}
	return *known
}

// closedAll returns the first and the last of the entries of which some metrics have closed: those
// of the longest window and of the shortest; 0 and 0 without metrics.
func (x *course) closedAll(metrics []int) (slow, fast int) {
	for i, m := range metrics {
		n := x.closed(m)
		if fast = max(fast, n); i == 0 || n < slow {
			slow = n
		}
	}
	return slow, fast
}

// next plays a round that serves the arms shares, of the best arm and of each other one, before the
// ramp. Late rounds are played several at once.
func (x *course) next(best, other float64) {
	last := x.history[len(x.history)-1]
	share := x.ramp.share(x.d.Ramp, 0)
	best, other = float64(share*best), float64(share*other)
	step := x.step
	if late := last.day / 100; late > step {
		step = late
	}
	n := float64(x.units * step)
	others := float64(other * float64(x.arms-1))
	x.history = append(x.history, units{
		last.day + step, last.control + float64(n*(1-best-others)), last.best + float64(n*best),
		last.other + float64(n*other),
	})
}

// milestones are the days at whose end something is so for the first time, nil beyond ten years.
type milestones struct {
	gain  *float64   // the best arm has 90 % of what the control leaves
	held  []*float64 // what is served is shown to hold a guardrail, by judge
	ramps []*float64 // a stage of the ramp ends
}

// run plays rounds until the milestones are reached: the gain if it is asked for, the guardrails of
// the judges, and the ends of the ramp's stages if they are asked for. If ctx ends it returns the
// error of ctx.
func (x *course) run(ctx context.Context, gain bool, judges []*judge, ramps bool) (m milestones, err error) {
	m.held = make([]*float64, len(judges))
	open := len(judges)
	gain = gain && x.gap > 0
	enough := float64(0.9 * (1 - x.closedForm.shares.Control))
	for open > 0 || gain || ramps && x.ramp.stage < len(x.d.Ramp) {
		day := x.history[len(x.history)-1].day
		if day >= longest {
			break
		}
		if err := ctx.Err(); err != nil {
			return m, err
		}
		best, other := x.shares()
		if len(x.history) > 1 { // what the round before has shown
			share := x.ramp.share(x.d.Ramp, 0)
			for i, j := range judges {
				if m.held[i] != nil {
					continue
				}
				if j.follow(); j.holds(float64(share*best), float64(share*other)) {
					m.held[i] = some(day)
					open--
				}
			}
		}
		x.ramp.step(x, best, other)
		served := float64(x.ramp.share(x.d.Ramp, 0) * best)
		x.next(best, other)
		if gain && served >= enough {
			gain, m.gain = false, some(x.reached(enough))
		}
	}
	for _, day := range x.ramp.ends {
		m.ramps = append(m.ramps, some(day))
	}
	for len(m.ramps) < len(x.d.Ramp) {
		m.ramps = append(m.ramps, nil)
	}
	return m, nil
}

// reached returns the day at whose end the best arm has enough, which the last round was the first
// to serve. If the policy was asked after several rounds, the day is between those of the two
// answers.
func (x *course) reached(enough float64) float64 {
	day := x.history[len(x.history)-1].day
	if p := x.policy; p != nil && p.before < p.added-1 && p.asked == p.added && len(x.d.Ramp) == 0 {
		first, last := x.history[p.before].day, x.history[p.asked].day
		if from, to := p.was, p.serving[1]; from < enough && to >= enough {
			day -= float64((last - first) * ((to - enough) / (to - from)))
		}
	}
	return day
}
