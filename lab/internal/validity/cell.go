package validity

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/noregret/noregret/api"
	"github.com/noregret/noregret/confseq"
	"github.com/noregret/noregret/experiment"
	"github.com/noregret/noregret/experiment/join"
	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/lab/internal/service"
	"github.com/noregret/noregret/lab/world"
	"github.com/noregret/noregret/policy"
)

// cell is an experiment with known true means, a cell of the tables.
type cell struct {
	name   string
	level  func(t int) float64 // of the guarded metric, the same for all arms
	effect float64             // the arms' mean over that of the control
	arms   int                 // beside the control
	share  float64             // of the control
	rounds int
	units  int // per round
	// metric is how the guarded metric is drawn: "coin", "normal", "ratio" (clicks among 1 to 5
	// views of a unit) or "people". People are units that return in every round with a constant
	// part in their values.
	metric string
	rate   float64 // of the coin at level 1
	limit  string  // of the guardrail
	hidden bool    // the coin's range is not declared
	fixed  bool    // the mixture is fixed: the arms share evenly what the control does not have
}

// definition is the experiment's.
func (c *cell) definition() string {
	var b strings.Builder
	b.WriteString("name: aa\narms:\n")
	for k := range c.arms {
		fmt.Fprintf(&b, "  - {name: a%d, value: %d}\n", k, k+1)
	}
	if c.fixed {
		fmt.Fprintf(&b, "  - {name: c, value: 0}\ncontrol: {arm: c}\npolicy: {kind: fixed, split: {c: %v", c.share)
		for k := range c.arms {
			fmt.Fprintf(&b, ", a%d: %v", k, (1-c.share)/float64(c.arms))
		}
		b.WriteString("}}\n")
	} else {
		fmt.Fprintf(&b, "control: {arm: c, value: 0, share: %v}\n", c.share)
	}
	b.WriteString("metrics:\n  - {name: gain}\n")
	guarded := "y"
	switch {
	case c.metric == "coin" && !c.hidden:
		b.WriteString("  - {name: y, kind: count, range: [0, 1]}\n")
	case c.metric == "coin":
		b.WriteString("  - {name: y, kind: count}\n")
	case c.metric == "ratio":
		b.WriteString("  - {name: y, kind: count}\n  - {name: n, kind: count}\n" +
			"  - {name: r, kind: ratio, numerator: y, denominator: n}\n")
		guarded = "r"
	default:
		b.WriteString("  - {name: y}\n")
	}
	fmt.Fprintf(&b, "objective: {goals: [{metric: gain}]}\nguardrails:\n  - {metric: %s, %s, hard: false}\n", guarded,
		c.limit)
	b.WriteString("round: {length: 1h, min_units: 1}\nattribution_window: 1h\n")
	if c.metric == "people" {
		b.WriteString("stickiness: unit\n")
	}
	return b.String()
}

// law is what the units do: the metrics are the gain, which is noise, what the guarded one needs,
// and last the guarded one.
func (c *cell) law(control int) (*world.World, error) {
	normal := world.Outcome{Kind: world.Normal, Deviation: 1}
	outcomes, mean := []world.Outcome{normal, normal}, 1.0
	switch c.metric {
	case "coin":
		outcomes[1], mean = world.Outcome{}, c.rate
	case "people":
		outcomes[1].Own = 0.8
	case "ratio":
		outcomes = []world.Outcome{normal, {Kind: world.Value, Value: views}, {Kind: world.Value, Value: clicks}}
	}
	guarded := slices.Repeat([]float64{mean * c.effect}, c.arms+1)
	guarded[control] = mean
	rows := [][]float64{make([]float64, c.arms+1), guarded, guarded}[:len(outcomes)]
	l, err := world.New(c.rounds, c.units, outcomes, rows...)
	if err == nil {
		l.Levels = world.Levels(c.rounds, len(rows), c.level)
	}
	return l, err
}

// views are 1 to 5 of a unit; their number follows the level.
func views(r *random.SplitMix64, mean float64, _ []float64) float64 {
	return 1 + math.Floor(5*r.Float64()*min(mean, 1))
}

// clicks are those of a unit's views, at a rate that differs from unit to unit.
func clicks(r *random.SplitMix64, mean float64, unit []float64) (n float64) {
	rate := 0.4 * r.Float64() * mean
	for range int(unit[1]) {
		if r.Float64() < rate {
			n++
		}
	}
	return n
}

// run is one run of a cell.
type run struct {
	*service.Service
	cell    *cell
	sampler *world.Sampler
}

// play plays a run and returns the round in which the guardrail was first called breached, 0 for
// never.
func (c *cell) play(seed uint64) (breached int, err error) {
	x := &run{cell: c}
	if x.Service, err = service.New("aa.yaml", []byte(c.definition())); err != nil {
		return 0, err
	}
	law, err := c.law(x.State.Policy("aa").Control)
	if err != nil {
		return 0, err
	}
	x.sampler = world.NewSampler(law, random.New(seed, "validity/"+c.name).Uint64())
	for t := range c.rounds {
		if c.metric == "people" {
			err = x.people(t)
		} else {
			err = x.sums(t)
		}
		if err != nil {
			return 0, err
		}
		v, err := x.State.Vitals("aa")
		if err != nil {
			return 0, err
		}
		if v.Guardrails[0].State == api.GuardBreached {
			return t + 1, nil
		}
		if err := x.Pass(time.Hour); err != nil {
			return 0, err
		}
	}
	return 0, nil
}

// sums reports a round as sums by arm.
func (x *run) sums(t int) error {
	p := x.State.Policy("aa")
	a := api.Aggregate{Experiment: "aa", Source: "s", Sequence: uint64(t + 1)}
	counts := make([]int, len(p.Arms))
	x.sampler.Allocate(t, p.Mixture(), counts)
	for k, n := range counts {
		if n == 0 {
			continue
		}
		item := api.AggregateItem{Version: p.Version, Arm: p.Arms[k].Name, Units: int64(n)}
		if x.cell.metric == "ratio" {
			x.ratio(t, k, n, &item)
		} else {
			g := world.NewGroup(k, n, 2)
			x.sampler.Draw(t, &g)
			y := sumsOf(&g, 1)
			if x.cell.metric == "coin" {
				y.Sum = math.Round(y.Sum)
				y.Squares = y.Sum
			}
			item.Metrics = map[string]api.Sums{"gain": sumsOf(&g, 0), "y": y}
		}
		a.Items = append(a.Items, item)
	}
	return x.Report(experiment.KindAggregate, a)
}

// ratio adds the sums of n units with views and clicks.
func (x *run) ratio(t, k, n int, item *api.AggregateItem) {
	var gain api.Sums
	var q api.PairSums
	for i := range n {
		var v [3]float64
		x.sampler.Unit(t, k, uint64(i), v[:])
		gain.Add(v[0])
		q.Add(v[2], v[1])
	}
	item.Pairs = map[string]api.PairSums{"r": q}
	item.Metrics = map[string]api.Sums{
		"gain": gain, "y": {N: q.N, Sum: q.X, Squares: q.XX}, "n": {N: q.N, Sum: q.Y, Squares: q.YY},
	}
}

// sumsOf returns the sums of a metric of a group.
func sumsOf(g *world.Group, m int) api.Sums {
	s := sequence(g, m)
	n := float64(s.N)
	return api.Sums{N: s.N, Sum: s.Mean * n, Squares: s.M2 + s.Mean*s.Mean*n, Low: &s.Low, High: &s.High}
}

// sequence returns a metric of a group as observations.
func sequence(g *world.Group, m int) confseq.Sequence {
	s := confseq.Sequence{N: int64(g.Units), Mean: g.Means[m], Low: g.Low[m], High: g.High[m]}
	if g.Units > 1 {
		s.M2 = g.Variances[m] * float64(g.Units-1)
	}
	return s
}

// people reports a round of units that all return in every round.
func (x *run) people(t int) error {
	p := x.State.Policy("aa")
	seen, told := join.Units{Experiment: "aa"}, join.Units{Experiment: "aa"}
	for i := range x.cell.units {
		d := p.Decide(fmt.Sprint("unit-", i))
		token := policy.Token{
			Experiment: "aa", Version: d.Version, Arm: d.Arm, Propensity: d.Propensity, Unit: d.Unit,
			Time: time.Unix(0, x.Now),
		}
		var v [2]float64
		x.sampler.Unit(t, d.Arm, uint64(i), v[:])
		seen.Items = append(seen.Items, join.UnitOf(token, nil))
		told.Items = append(told.Items, join.UnitOf(token, map[string]float64{"gain": v[0], "y": v[1]}))
	}
	if err := x.Report(experiment.KindExposures, seen); err != nil {
		return err
	}
	return x.Report(experiment.KindFeedback, told)
}
