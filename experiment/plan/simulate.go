package plan

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/experiment"
	"github.com/noregret/noregret/experiment/definition"
	"github.com/noregret/noregret/internal/portable"
	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/stat"
	"github.com/noregret/noregret/policy"
)

// mostSteps bounds the number of rounds of a simulated run. If the definition's rounds are too
// short for it, the simulation's rounds are longer.
const mostSteps = 2000

// simulate plays the definition in random worlds and adds the results to r. In one world an arm
// improves the goals; in one more for each guardrail all arms but the control break it.
func simulate(ctx context.Context, d *definition.Definition, a *arms, o Options, r *Result) error {
	r.Runs, r.Horizon = o.Runs, o.Horizon
	worlds := 1 + len(d.Guardrails)
	held, breached := make([][]float64, len(d.Guardrails)), make([][]float64, len(d.Guardrails))
	var curves [][]Point
	for run := range o.Runs {
		for w := range worlds {
			if err := ctx.Err(); err != nil {
				return err
			}
			x, err := newWorld(d, a, o, run, w-1)
			if err != nil {
				return err
			}
			out, err := x.play()
			if err != nil {
				return err
			}
			if w == 0 {
				curves = append(curves, out.curve)
				for i := range held {
					held[i] = append(held[i], out.held[i])
				}
			} else {
				breached[w-1] = append(breached[w-1], out.breached[w-1])
			}
			if o.Progress != nil {
				o.Progress(run*worlds+w+1, o.Runs*worlds)
			}
		}
	}
	for i := range r.Guardrails {
		g := &r.Guardrails[i]
		if math.IsNaN(g.Expected) {
			continue
		}
		g.Held.Simulated, g.Held.Reached = median(held[i])
		g.Breached.Simulated, g.Breached.Reached = median(breached[i])
	}
	if r.Gain != nil {
		r.Gain.Curve = average(curves)
		r.Gain.Days.Simulated = reached(r.Gain.Curve)
	}
	return nil
}

// median returns the median of times, some of which may be +Inf, and the share of the finite ones.
// The median is nil if it is +Inf.
func median(days []float64) (m, share *float64) {
	slices.Sort(days)
	n := 0
	for n < len(days) && !math.IsInf(days[n], 0) {
		n++
	}
	s := float64(n) / float64(len(days))
	if v := days[(len(days)-1)/2]; !math.IsInf(v, 0) {
		m = &v
	}
	return m, &s
}

// average returns the mean curve.
func average(curves [][]Point) []Point {
	out := slices.Clone(curves[0])
	for i := range out {
		sum := 0.0
		for _, c := range curves {
			sum += c[i].Gain
		}
		out[i].Gain = sum / float64(len(curves))
	}
	return out
}

// reached returns the first day on which the curve is at 90 % or more, or nil.
func reached(curve []Point) *float64 {
	for i := range curve {
		if curve[i].Gain >= 0.9 {
			return &curve[i].Day
		}
	}
	return nil
}

// world is a run of the simulation.
type world struct {
	d     *definition.Definition
	a     *arms
	state *experiment.State
	at    uint64 // position of the last event
	means [][]float64
	best  int // the arm that improves the goals, -1 for none
	units float64
	step  int64 // length of a round
	steps int
	r     *random.Source
}

// played is the result of a run.
type played struct {
	curve          []Point
	held, breached []float64 // by guardrail: days, +Inf for never
}

// newWorld makes the world of a run: broken is the guardrail that all arms but the control break,
// -1 for none.
func newWorld(d *definition.Definition, a *arms, o Options, run, broken int) (*world, error) {
	x := &world{
		d: d, a: a, state: experiment.NewState(), best: -1,
		r: random.New(o.Seed, fmt.Sprintf("plan %d %d", run, broken)),
	}
	x.step = int64(d.Round.Length)
	horizon := int64(o.Horizon * float64(24*time.Hour))
	x.step = max(x.step, horizon/mostSteps, 1)
	x.steps = max(int(horizon/x.step), 1)
	x.units = unitsPerDay(d) * (float64(x.step) / float64(24*time.Hour))
	reference := max(a.control, 0)
	if broken < 0 {
		if x.best = x.r.IntN(len(a.list) - 1); x.best >= reference {
			x.best++
		}
	}
	for k := range a.list {
		row := make([]float64, len(d.Metrics))
		for m := range row {
			row[m] = mean(d, m)
		}
		if k == x.best {
			x.improve(row)
		} else if k != reference && broken >= 0 {
			x.spoil(row, &d.Guardrails[broken])
		}
		x.means = append(x.means, row)
	}
	return x, nil
}

// improve improves the goals by the plan's improvement, as far as the metrics' ranges allow.
func (x *world) improve(row []float64) {
	if x.d.Objective == nil {
		return
	}
	for _, g := range x.d.Objective.Goals {
		m := x.d.MetricIndex(g.Metric)
		sign := 1.0
		if x.d.Metrics[m].Direction == "down" {
			sign = -1
		}
		x.set(row, m, row[m]+float64(float64(sign*x.d.Plan.Improvement)*math.Abs(row[m])))
	}
}

// spoil changes the guardrail's metric so that the mixture with the expected shares has the broken
// value.
func (x *world) spoil(row []float64, g *definition.Guardrail) {
	_, _, _, broken := limitOf(x.d, g)
	m := x.d.MetricIndex(g.Metric)
	if _, _, relative, _ := g.Limit(); relative {
		broken = row[m] + float64(broken*math.Abs(row[m]))
	}
	x.set(row, m, row[m]+(broken-row[m])/(1-x.a.shares.Control))
}

// set sets the mean of a metric. It sets a ratio through its numerator.
func (x *world) set(row []float64, m int, v float64) {
	if r := x.d.RatioIndex(m); r >= 0 {
		parts := x.d.Ratios()[r]
		row[m], v, m = v, float64(v*row[parts.Denominator]), parts.Numerator
	}
	low, high := x.d.Metrics[m].Counted()
	row[m] = min(max(v, low), high)
}

// apply applies an event.
func (x *world) apply(e experiment.Event) (experiment.Outcome, error) {
	x.at++
	o, err := x.state.Apply(x.at, e)
	if err == nil {
		err = o.Err
	}
	return o, err
}

// origin is the time at which simulated experiments begin.
var origin = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).UnixNano()

// play plays the rounds of a run.
func (x *world) play() (*played, error) {
	text, err := json.Marshal(x.d)
	if err != nil {
		return nil, err
	}
	name := x.d.Name
	e, err := experiment.NewEvent(experiment.KindDefinition, origin,
		experiment.DefinitionEvent{Experiment: name, Definition: text})
	if err != nil {
		return nil, err
	}
	if _, err := x.apply(e); err != nil {
		return nil, err
	}
	out := &played{held: make([]float64, len(x.d.Guardrails)), breached: make([]float64, len(x.d.Guardrails))}
	for i := range out.held {
		out.held[i], out.breached[i] = math.Inf(1), math.Inf(1)
	}
	for t := range x.steps {
		now := origin + int64(t+1)*x.step
		p := x.state.Policy(name)
		shares := p.Links[len(p.Links)-1].Split.Shares()
		if x.best >= 0 {
			day := float64(now-origin) / float64(24*time.Hour)
			out.curve = append(out.curve, Point{day, shares[x.best] / (1 - x.d.ControlShare())})
		}
		sums := x.sums(p.Version, uint64(t+1), shares)
		e, err := experiment.NewEvent(experiment.KindAggregate, now-1, sums)
		if err != nil {
			return nil, err
		}
		o, err := x.apply(e)
		if err != nil {
			return nil, err
		}
		for _, item := range o.Items {
			if item.Error != "" {
				return nil, noregret.Errorf(noregret.Internal, "simulation", "sums were refused: %s", item.Error)
			}
		}
		for due := x.state.Due(now); len(due) > 0; due = x.state.Due(now) {
			for _, e := range due {
				if _, err := x.apply(e); err != nil {
					return nil, err
				}
			}
		}
		if err := x.look(out, now); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// look records which guardrails are decided.
func (x *world) look(out *played, now int64) error {
	if len(out.held) == 0 {
		return nil
	}
	r, err := x.state.Report(x.d.Name)
	if err != nil {
		return err
	}
	day := float64(now-origin) / float64(24*time.Hour)
	for i := range r.Guardrails {
		switch r.Guardrails[i].State {
		case policy.GuardHeld:
			out.held[i] = min(out.held[i], day)
		case policy.GuardBreached, policy.GuardRolledBack:
			out.breached[i] = min(out.breached[i], day)
		}
	}
	return nil
}

// sums draws the sums of a round.
func (x *world) sums(version, sequence uint64, shares []float64) policy.Aggregate {
	out := policy.Aggregate{Experiment: x.d.Name, Source: "plan", Sequence: sequence}
	carry := x.r.Float64()
	for k, p := range shares {
		total := float64(p*x.units) + carry
		n := int64(total)
		carry = total - float64(n)
		if n == 0 {
			continue
		}
		item := policy.AggregateItem{
			Version: version, Arm: x.a.list[k].Name, Units: n, Metrics: map[string]policy.Sums{},
		}
		for m := range x.d.Metrics {
			if metric := &x.d.Metrics[m]; metric.Kind != "ratio" {
				e := x.d.Plan.Expect[metric.Name]
				item.Metrics[metric.Name] = draw(x.r, metric, &e, x.means[k][m], n)
			}
		}
		for _, r := range x.d.Ratios() {
			if item.Pairs == nil {
				item.Pairs = map[string]policy.PairSums{}
			}
			a, b := item.Metrics[x.d.Metrics[r.Numerator].Name], item.Metrics[x.d.Metrics[r.Denominator].Name]
			item.Pairs[x.d.Metrics[r.Metric].Name] = policy.PairSums{
				N: n, X: a.Sum, Y: b.Sum, XX: a.Squares, YY: b.Squares, XY: a.Sum * (b.Sum / float64(n)),
			}
		}
		out.Items = append(out.Items, item)
	}
	return out
}

// draw draws the sums of n units of a metric with the given mean. The spread is in proportion to
// the mean. Of log-normal values their number is, so that a cap stays in its place.
func draw(r *random.Source, m *definition.Metric, e *definition.Expectation, mean float64, n int64) policy.Sums {
	units := float64(n)
	switch {
	case e.Rate != nil:
		var s policy.Sums
		_, most := m.Counted()
		first, _ := lognormal(e, m)
		some := int64(stat.Binomial(r, n, min(mean/first, 1)))
		size := e.Mean / *e.Rate
		for range some {
			s.Add(
				min(float64(size*portable.Exp(float64(*e.Sigma*stat.Normal(r))-float64(float64(*e.Sigma**e.Sigma)/2))),
					most))
		}
		if rest := n - some; rest > 0 {
			low, high := 0.0, 0.0
			if some > 0 {
				high = *s.High
			}
			s.N, s.Low, s.High = n, &low, &high
		}
		return s
	case e.SD == nil && len(m.Range) == 2 && m.Range[1] == 1:
		v := stat.Binomial(r, n, mean)
		return policy.Sums{N: n, Sum: v, Squares: v}
	case e.SD == nil: // a count
		v := stat.Poisson(r, float64(units*mean))
		return policy.Sums{N: n, Sum: v, Squares: v + math.Round(v*(max(v-1, 0)/units))}
	}
	sd := *e.SD
	sum := float64(units*mean) + float64(sd*float64(math.Sqrt(units)*stat.Normal(r)))
	low, high := m.Counted()
	sum = min(max(sum, float64(units*low)), float64(units*high))
	spread := float64(sd*sd) * max(units+float64(math.Sqrt(2*units)*stat.Normal(r)), 0)
	at := sum / units
	if most := float64(float64(units*(high-at)) * (at - low)); spread > most {
		spread = most
	}
	s := policy.Sums{N: n, Sum: sum, Squares: spread + float64(at*sum)}
	if m.Kind == "count" {
		s.Sum = math.Round(s.Sum)
		s.Squares = max(math.Round(s.Squares), s.Sum, math.Ceil(s.Sum*(s.Sum/units)))
	}
	return s
}
