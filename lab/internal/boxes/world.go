// Package boxes plays learners on boxes of parameters whose effects are smooth and small, as in
// online services: a primary rate and a guardrail rate of 1 to 5 % and thousands of units a round.
package boxes

import (
	"math"

	"github.com/noregret/noregret/internal/portable"
	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/stat"
	"github.com/noregret/noregret/pasto"
	"github.com/noregret/noregret/pasto/optimum"
)

// World is a random problem on the unit cube. Its metrics are the rates "gain", to raise, and
// "harm", which is to stay below a limit by a hard guardrail that the middle of the cube holds.
type World struct {
	Dimension int
	Goals     *pasto.Goals
	gain      surface
	harm      surface
	// Control is the gain at the middle, Optimum that of the best mixture of a fine grid that holds
	// the guardrail; Limit is the guardrail's and Margin what it leaves above the harm at the
	// middle.
	Control, Optimum, Limit, Margin float64
}

// surface is a rate whose logarithm is smooth: a random quadratic function, Gaussian bumps or
// waves.
type surface struct {
	kind   int
	base   float64
	linear []float64
	square []float64
	center [][]float64
	height []float64
	width  []float64
}

// Kinds are the families of surfaces.
var Kinds = []string{"quadratic", "bumps", "waves"}

func newSurface(kind, d int, r *random.Source) surface {
	s := surface{kind: kind, base: .01 + float64(.04*r.Float64())}
	vector := func(scale float64) []float64 {
		v := make([]float64, d)
		for i := range v {
			v[i] = scale * stat.Normal(r)
		}
		return v
	}
	s.linear, s.square = vector(.25/math.Sqrt(float64(d))), vector(.3/math.Sqrt(float64(d)))
	for range 3 {
		at := make([]float64, d)
		for i := range at {
			at[i] = r.Float64()
		}
		s.center, s.height = append(s.center, at), append(s.height, .4*stat.Normal(r))
		s.width = append(s.width, .25+float64(.35*r.Float64()))
	}
	return s
}

// at is the rate at x.
func (s *surface) at(x []float64) float64 {
	v, inner := 0.0, 0.0
	for i, u := range x {
		inner += float64(s.linear[i] * (2*u - 1))
	}
	v = inner
	switch s.kind {
	case 0:
		for i, u := range x {
			w := 2*u - 1 - float64(.8*(2*s.center[0][i]-1))
			v -= float64(math.Abs(s.square[i]) * float64(w*w))
		}
	case 1:
		for b, at := range s.center {
			q := 0.0
			for i, u := range x {
				q += float64((u - at[i]) * (u - at[i]))
			}
			v += float64(s.height[b] * portable.Exp(-q/float64(2*s.width[b]*s.width[b])))
		}
	default:
		for b, h := range s.height {
			phase := s.center[b][0]
			for i, u := range x {
				phase += float64(float64(.5*u) * s.center[b][i])
			}
			cos, _ := portable.Turn(phase - math.Floor(phase))
			v += float64(.5 * h * cos)
		}
	}
	return float64(s.base * portable.Exp(v))
}

// New draws a world whose best mixture is better than the middle by at least 5 %.
func New(kind, d int, seed uint64) (*World, error) {
	r := random.New(seed, "box world")
	for {
		w := &World{Dimension: d, gain: newSurface(kind, d, r), harm: newSurface(kind, d, r)}
		middle := make([]float64, d)
		for i := range middle {
			middle[i] = .5
		}
		w.Control, w.Margin = w.gain.at(middle), (.02+float64(.08*r.Float64()))*w.harm.at(middle)
		w.Limit = w.harm.at(middle) + w.Margin
		var err error
		w.Goals, err = pasto.NewGoals([]pasto.Metric{
			{Name: "gain", Lower: 0, Upper: 1},
			{
				Name: "harm", Direction: pasto.Down, Role: pasto.Guardrail, Threshold: w.Limit, Hard: true, Lower: 0,
				Upper: 1,
			},
		}, 0)
		if err != nil {
			return nil, err
		}
		best, err := optimum.Maximize(w.Goals, w.grid(), optimum.DefaultOptions())
		if err != nil {
			return nil, err
		}
		if w.Optimum = best.Value; w.Optimum > 1.05*w.Control {
			return w, nil
		}
	}
}

// Rates writes the rates at x.
func (w *World) Rates(dst, x []float64) { dst[0], dst[1] = w.gain.at(x), w.harm.at(x) }

// grid is the table of the rates on a grid.
func (w *World) grid() *pasto.Table {
	side := []int{0, 401, 51, 19}[w.Dimension]
	n := 1
	for range w.Dimension {
		n *= side
	}
	t := new(pasto.Table)
	t.Reset(n, 2)
	x := make([]float64, w.Dimension)
	for k := range n {
		rest := k
		for i := range x {
			x[i] = float64(rest%side) / float64(side-1)
			rest /= side
		}
		w.Rates(t.Arm(k), x)
	}
	return t
}

// Learner is a learner on a box.
type Learner interface {
	Serving() []float64
	Deployed() []float64
	Point(k int) []float64
	Observe(obs []pasto.Observation) error
}

// Score is how a learner did in a world. Gains are parts of the way from the control to the
// optimum.
type Score struct {
	// Deployed and Served are the gain of the mixture to deploy in the end, and of what was served
	// on average over the rounds.
	Deployed, Served float64
	// Broken is the part of the margin by which the deployed mixture breaks the guardrail, 0 if it
	// holds; BrokenRounds is the share of rounds in which the served one breaks it.
	Broken, BrokenRounds float64
	Points               int
}

// Play plays rounds of the given number of units; the rates of a point's units have normal noise of
// a binomial's variance.
func (w *World) Play(l Learner, rounds, units int, r *random.Source) (Score, error) {
	var s Score
	rates, theta := make([]float64, 2), make([]float64, 2)
	for range rounds {
		var obs []pasto.Observation
		clear(theta)
		for k, p := range l.Serving() {
			n := math.Round(p * float64(units))
			if n == 0 {
				continue
			}
			w.Rates(rates, l.Point(k))
			seen := make([]float64, 2)
			for i, v := range rates {
				theta[i] += float64(n * v)
				seen[i] = min(max(v+float64(math.Sqrt(v*(1-v)/n)*stat.Normal(r)), 0), 1)
			}
			obs = append(obs, pasto.Observation{Arm: k, Metrics: seen, Size: n})
		}
		total := 0.0
		for i := range obs {
			total += obs[i].Size
		}
		s.Served += float64((theta[0]/total - w.Control) / (w.Optimum - w.Control) / float64(rounds))
		if theta[1]/total > w.Limit {
			s.BrokenRounds += 1 / float64(rounds)
		}
		if err := l.Observe(obs); err != nil {
			return s, err
		}
	}
	clear(theta)
	for k, p := range l.Deployed() {
		if p > 0 {
			w.Rates(rates, l.Point(k))
			for i, v := range rates {
				theta[i] += float64(p * v)
			}
			s.Points++
		}
	}
	s.Deployed = (theta[0] - w.Control) / (w.Optimum - w.Control)
	s.Broken = max(theta[1]-w.Limit, 0) / w.Margin
	return s, nil
}
