package plan

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/api"
	"github.com/noregret/noregret/experiment"
	"github.com/noregret/noregret/experiment/definition"
	"github.com/noregret/noregret/internal/random"
)

// mostSteps bounds the number of rounds of a simulated run. If the definition's rounds are too
// short for it, the simulation's rounds are longer.
const mostSteps = 2000

// Simulate plays the definition in random worlds and adds the results to r, that of [Closed]. In
// one world an arm improves the goals; in one more for each guardrail all arms but the control
// break it. If a run fails or ctx ends, r has the results of the runs before, as r.Runs says, and
// the error is returned. A run takes about as long as the service takes for its rounds, a
// millisecond or less each.
func Simulate(ctx context.Context, d *definition.Definition, o Options, r *Result) error {
	if err := o.check(); err != nil {
		return err
	}
	a, err := newArms(d)
	if err != nil {
		return err
	}
	s := &simulation{
		d: d, arms: a, o: o,
		held: make([][]float64, len(d.Guardrails)), breached: make([][]float64, len(d.Guardrails)),
	}
	for run := 0; run < o.Runs && err == nil; run++ {
		err = s.run(ctx, run)
	}
	r.Runs, r.RunsAsked, r.Horizon = s.runs, o.Runs, o.Horizon
	s.write(r)
	return err
}

// simulation has the results of the runs so far.
type simulation struct {
	d              *definition.Definition
	arms           *arms
	o              Options
	runs           int
	curves         [][]Point
	held, breached [][]float64 // by guardrail and run
}

// run plays the worlds of a run. It adds nothing if one of them fails.
func (s *simulation) run(ctx context.Context, run int) error {
	var all []*played
	worlds := 1 + len(s.d.Guardrails)
	for w := range worlds {
		x, err := newWorld(s.d, s.arms, s.o, run, w-1)
		if err != nil {
			return err
		}
		out, err := x.play(ctx)
		if err != nil {
			return err
		}
		all = append(all, out)
		if s.o.Progress != nil {
			s.o.Progress(run*worlds+w+1, s.o.Runs*worlds)
		}
	}
	s.runs++
	s.curves = append(s.curves, all[0].curve)
	for i := range s.d.Guardrails {
		s.held[i] = append(s.held[i], all[0].held[i])
		s.breached[i] = append(s.breached[i], all[i+1].breached[i])
	}
	return nil
}

// write adds the results to r.
func (s *simulation) write(r *Result) {
	if s.runs == 0 {
		return
	}
	for i := range r.Guardrails {
		g := &r.Guardrails[i]
		if math.IsNaN(g.Expected) {
			continue
		}
		g.Held.Simulated, g.Held.Reached = median(s.held[i])
		g.Breached.Simulated, g.Breached.Reached = median(s.breached[i])
	}
	if r.Gain != nil {
		r.Gain.Curve = average(s.curves)
		r.Gain.Days.Simulated = reached(r.Gain.Curve)
	}
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
	means [][]float64
	best  int // the arm that improves the goals, -1 for none
	// broken is the guardrail that all arms but the control break, -1 for none. Nothing else is
	// asked of such a world but when that is seen: it ends then.
	broken int
	units  float64
	step   int64 // length of a round
	steps  int
	r      *random.Source
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
		d: d, a: a, state: experiment.NewState(), best: -1, broken: broken,
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
	_, o, err := x.state.Step(e)
	if err == nil {
		err = o.Err
	}
	return o, err
}

// origin is the time at which simulated experiments begin.
var origin = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).UnixNano()

// play plays the rounds of a run. It stops with ctx's error when ctx ends.
func (x *world) play(ctx context.Context) (*played, error) {
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
		if err := ctx.Err(); err != nil {
			return nil, err
		}
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
		if x.broken >= 0 && !math.IsInf(out.breached[x.broken], 1) {
			break
		}
	}
	return out, nil
}

// look records which guardrails are decided: as held, or in a world that breaks one, as breached.
func (x *world) look(out *played, now int64) error {
	if x.broken < 0 && !slices.Contains(out.held, math.Inf(1)) {
		return nil
	}
	guardrails, err := x.state.Guardrails(x.d.Name)
	if err != nil {
		return err
	}
	day := float64(now-origin) / float64(24*time.Hour)
	for i := range guardrails {
		switch guardrails[i].State {
		case api.GuardHeld:
			out.held[i] = min(out.held[i], day)
		case api.GuardBreached, api.GuardRolledBack:
			out.breached[i] = min(out.breached[i], day)
		}
	}
	return nil
}

// sums draws the sums of a round.
func (x *world) sums(version, sequence uint64, shares []float64) api.Aggregate {
	out := api.Aggregate{Experiment: x.d.Name, Source: "plan", Sequence: sequence}
	carry := x.r.Float64()
	for k, p := range shares {
		total := float64(p*x.units) + carry
		n := int64(total)
		carry = total - float64(n)
		for n > 0 {
			part := min(n, mostUnits)
			out.Items = append(out.Items, x.item(version, k, part))
			n -= part
		}
	}
	return out
}

// mostUnits is the largest number of units of one item of sums.
const mostUnits = 1_000_000_000

// item draws the sums of n units of an arm.
func (x *world) item(version uint64, arm int, n int64) api.AggregateItem {
	item := api.AggregateItem{
		Version: version, Arm: x.a.list[arm].Name, Units: n, Metrics: map[string]api.Sums{},
	}
	for m := range x.d.Metrics {
		if metric := &x.d.Metrics[m]; metric.Kind != "ratio" {
			e := x.d.Plan.Expect[metric.Name]
			item.Metrics[metric.Name] = draw(x.r, metric, &e, x.means[arm][m], n)
		}
	}
	for _, r := range x.d.Ratios() {
		if item.Pairs == nil {
			item.Pairs = map[string]api.PairSums{}
		}
		a, b := item.Metrics[x.d.Metrics[r.Numerator].Name], item.Metrics[x.d.Metrics[r.Denominator].Name]
		item.Pairs[x.d.Metrics[r.Metric].Name] = api.PairSums{
			N: n, X: a.Sum, Y: b.Sum, XX: a.Squares, YY: b.Squares, XY: a.Sum * (b.Sum / float64(n)),
		}
	}
	return item
}
