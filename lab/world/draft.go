package world

import (
	"math"
	"slices"

	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/stat"
	"github.com/noregret/noregret/law"
	"github.com/noregret/noregret/pasto"
)

// draft is a world in the making. Lifts are relative to the control, whose own are 0.
type draft struct {
	r        *random.Source
	arms     int
	metrics  []pasto.Metric
	outcomes []Outcome
	margins  []float64
	rows     [][]float64 // means by metric
	units    []int
	levels   []float64 // by round, for all metrics; nil for ones
}

func newDraft(r *random.Source, arms, units, rounds int) *draft {
	d := &draft{r: r, arms: arms, units: make([]int, rounds)}
	for t := range d.units {
		d.units[t] = units
	}
	return d
}

// normals returns lifts of a normal distribution.
func (d *draft) normals(mean, deviation float64) []float64 {
	return d.lifts(func() float64 { return mean + float64(deviation*stat.Normal(d.r)) })
}

// uniforms returns lifts of a uniform distribution.
func (d *draft) uniforms(low, high float64) []float64 {
	return d.lifts(func() float64 { return low + float64((high-low)*d.r.Float64()) })
}

func (d *draft) lifts(draw func() float64) []float64 {
	g := make([]float64, d.arms)
	for k := 1; k < d.arms; k++ {
		g[k] = max(draw(), -0.9)
	}
	return g
}

// against returns slope·lifts + N(0, deviation).
func (d *draft) against(lifts []float64, slope, deviation float64) []float64 {
	g := d.normals(0, deviation)
	for k := 1; k < d.arms; k++ {
		g[k] = max(g[k]+float64(slope*lifts[k]), -0.9)
	}
	return g
}

// add adds a metric with the control's mean and the arms' lifts.
func (d *draft) add(m pasto.Metric, o Outcome, margin, mean float64, lifts []float64) {
	row := make([]float64, d.arms)
	for k, g := range lifts {
		row[k] = float64(mean * (1 + g))
	}
	if o.Kind == Bernoulli {
		m.Upper = 1
	}
	d.metrics, d.outcomes = append(d.metrics, m), append(d.outcomes, o)
	d.margins, d.rows = append(d.margins, margin), append(d.rows, row)
}

// goal adds a rate to increase.
func (d *draft) goal(name string, rate float64, lifts []float64) {
	d.add(pasto.Metric{Name: name}, Outcome{}, 0, rate, lifts)
}

// guard adds a rate that must not fall below the control's by more than margin, relative to it.
func (d *draft) guard(name string, rate, margin float64, lifts []float64) {
	d.add(pasto.Metric{Name: name, Role: pasto.Guardrail, Hard: true, Relative: true, Threshold: -margin}, Outcome{},
		float64(margin*rate), rate, lifts)
}

// limit adds a metric that must not exceed an absolute limit, which is margin above the control's
// mean, relative to it.
func (d *draft) limit(name string, o Outcome, mean, margin float64, lifts []float64) {
	d.add(pasto.Metric{
		Name: name, Role: pasto.Guardrail, Hard: true, Direction: pasto.Down, Threshold: float64(mean * (1 + margin)),
	}, o, float64(margin*mean), mean, lifts)
}

// price makes the last metric a soft guardrail with the given cost of a violation by its margin.
func (d *draft) price(cost float64) {
	i := len(d.metrics) - 1
	d.metrics[i].Hard = false
	d.metrics[i].Lambda = cost / float64(d.margins[i]*d.margins[i])
}

// scaleUnits multiplies the traffic of each round by f(t).
func (d *draft) scaleUnits(f func(t int) float64) {
	for t := range d.units {
		d.units[t] = int(math.Round(float64(float64(d.units[t]) * f(t))))
	}
}

// scaleLevels multiplies the level of each round by f(t).
func (d *draft) scaleLevels(f func(t int) float64) {
	if d.levels == nil {
		d.levels = make([]float64, len(d.units))
		for t := range d.levels {
			d.levels[t] = 1
		}
	}
	for t := range d.levels {
		d.levels[t] = float64(d.levels[t] * f(t))
	}
}

// Season is a wave of the given amplitude around one, for [Levels].
func Season(period int, amplitude float64) func(t int) float64 {
	s := law.Season{Period: float64(period), Size: amplitude}
	return func(t int) float64 { return 1 + s.At(t%period) }
}

// shocks are lognormal factors of mean one, independent from round to round.
func (d *draft) shocks(deviation float64) func(int) float64 {
	return func(int) float64 { return law.Lognormal(d.r, deviation) }
}

// line is a straight line over the run.
func (d *draft) line(from, to float64) func(t int) float64 {
	return func(t int) float64 { return from + float64((to-from)*(float64(t)/float64(len(d.units)-1))) }
}

// best returns the arm of the largest mean in metric 0 that holds the relative guardrail in metric
// 1, the control if no other does.
func (d *draft) best(margin float64) int {
	best := 0
	for k := range d.arms {
		if d.rows[1][k] >= float64(d.rows[1][0]*(1-margin)) && d.rows[0][k] > d.rows[0][best] {
			best = k
		}
	}
	return best
}

// world returns the finished world. Later phases may be appended to it.
func (d *draft) world() (*World, error) {
	w, err := New(0, 0, d.outcomes, d.rows...)
	if err != nil {
		return nil, err
	}
	w.Margins, w.Units = d.margins, d.units
	if d.levels != nil {
		w.Levels = Levels(len(d.levels), len(d.metrics), func(t int) float64 { return d.levels[t] })
	}
	w.Goals, err = pasto.NewGoals(d.metrics, 0)
	return w, err
}

// Levels returns the [World.Levels] of metrics that move alike, by level(t).
func Levels(rounds, metrics int, level func(t int) float64) [][]float64 {
	list := make([][]float64, rounds)
	for t := range list {
		list[t] = slices.Repeat([]float64{level(t)}, metrics)
	}
	return list
}
