// Package boxes plays learners on boxes of parameters whose effects are smooth and small, as in
// online services: a primary rate and a guardrail rate of 1 to 5 % and thousands of units a round.
package boxes

import (
	"math"
	"slices"

	"github.com/noregret/noregret/internal/portable"
	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/stat"
	"github.com/noregret/noregret/internal/vec"
	"github.com/noregret/noregret/lab/world"
	"github.com/noregret/noregret/pasto"
)

// World is a random problem on the unit cube. Its metrics are the rates "gain", to raise, and
// "harm", which is to stay below a limit by a hard guardrail that the middle of the cube holds. Its
// arms are the middle, which is the control, and the points of a fine grid.
type World struct {
	*world.World
	gain, harm surface
	optimum    float64 // the gain of the best mixture of the arms
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
	r, points := random.New(seed, "box world"), points(d)
	for {
		w := &World{gain: newSurface(kind, d, r), harm: newSurface(kind, d, r)}
		var gain, harm []float64
		for _, x := range points {
			gain, harm = append(gain, w.gain.at(x)), append(harm, w.harm.at(x))
		}
		var err error
		if w.World, err = world.New(0, 0, make([]world.Outcome, 2), gain, harm); err != nil {
			return nil, err
		}
		w.Margins = []float64{0, (.02 + float64(.08*r.Float64())) * harm[0]}
		w.Goals, err = pasto.NewGoals([]pasto.Metric{
			{Name: "gain", Upper: 1},
			{
				Name: "harm", Direction: pasto.Down, Role: pasto.Guardrail, Threshold: harm[0] + w.Margins[1],
				Hard: true, Upper: 1,
			},
		}, 0)
		if err != nil {
			return nil, err
		}
		if err := w.Solve(); err != nil {
			return nil, err
		}
		if w.optimum = vec.Dot(w.Truth(0).Best, gain); w.optimum > 1.05*gain[0] {
			return w, nil
		}
	}
}

// points are the middle of the cube and a grid.
func points(d int) [][]float64 {
	side := []int{0, 401, 51, 19}[d]
	list, n := [][]float64{slices.Repeat([]float64{.5}, d)}, 1
	for range d {
		n *= side
	}
	for k := range n {
		x := make([]float64, d)
		for i := range x {
			x[i] = float64(k%side) / float64(side-1)
			k /= side
		}
		list = append(list, x)
	}
	return list
}

// rates are the rates at x: the law of a point that a learner has made.
func (w *World) rates(x []float64) []float64 { return []float64{w.gain.at(x), w.harm.at(x)} }

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

// Play plays rounds of the given number of units.
func (w *World) Play(l Learner, rounds, units int, seed uint64) (Score, error) {
	var s Score
	w.Units = slices.Repeat([]int{units}, rounds)
	sampler := world.NewSampler(w.World, seed)
	sampler.Law = func(_, k int) []float64 { return w.rates(l.Point(k)) }
	for t := range rounds {
		gain, served := w.score(l, l.Serving())
		s.Served += gain / float64(rounds)
		if served.Broken {
			s.BrokenRounds += 1 / float64(rounds)
		}
		var obs []pasto.Observation
		for _, g := range sampler.Round(t, l.Serving()) {
			obs = append(obs, pasto.Observation{Arm: g.Arm, Metrics: g.Means, Size: float64(g.Units)})
		}
		if err := l.Observe(obs); err != nil {
			return s, err
		}
	}
	gain, deployed := w.score(l, l.Deployed())
	s.Deployed, s.Broken = gain, deployed.Violation
	for _, p := range l.Deployed() {
		if p > 0 {
			s.Points++
		}
	}
	return s, nil
}

// score returns the gain of a mixture of a learner's points, as a part of the way to the optimum,
// and its score.
func (w *World) score(l Learner, p []float64) (gain float64, s world.Score) {
	theta := make([]float64, 2)
	for k, share := range p {
		if share > 0 {
			vec.AddScaled(theta, share, w.rates(l.Point(k)))
		}
	}
	control := w.Phases[0].Means.Arm(0)[0]
	return (theta[0] - control) / (w.optimum - control), w.RateMeans(0, theta)
}
