package box

import (
	"math"
	"testing"

	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/stat"
	"github.com/noregret/noregret/internal/testsize"
	"github.com/noregret/noregret/internal/vec"
	"github.com/noregret/noregret/pasto"
	"github.com/noregret/noregret/pasto/internal/pastotest"
	"github.com/noregret/noregret/pasto/internal/round"
	"github.com/noregret/noregret/pasto/optimum"
)

// hardBox is a world on a box with a hard guardrail on its second metric.
type hardBox struct {
	name         string
	lower, upper []float64
	world        func(x []float64) (gain, guard float64)
	options      Options
}

// brute returns the best mixture over a fine grid of the box that satisfies the hard guardrail, or
// an error if none does.
func (b *hardBox) brute(f *pasto.Goals) (*optimum.Optimum, error) {
	const side = 200
	n := 1
	for range b.lower {
		n *= side + 1
	}
	fine := round.NewTable(n, 2)
	x := make([]float64, len(b.lower))
	for k := range n {
		rest := k
		for i := range x {
			x[i] = b.lower[i] + (b.upper[i]-b.lower[i])*float64(rest%(side+1))/side
			rest /= side + 1
		}
		fine.Arm(k)[0], fine.Arm(k)[1] = b.world(x)
	}
	return optimum.Maximize(f, fine, optimum.Options{Tolerance: 1e-6, Iterations: 200_000})
}

// few returns options with the given number of initial nodes, and at most ten times as many.
func few(nodes, every int) Options {
	o := DefaultOptions(1)
	o.Nodes, o.MaxNodes, o.Every = nodes, 10*nodes, every
	return o
}

func hardBoxes() []hardBox {
	bump := func(x, at, width float64) float64 { return math.Exp(-(x - at) * (x - at) / (width * width)) }
	return []hardBox{
		{
			"gain and guardrail in different corners of a line",
			[]float64{0},
			[]float64{1},
			func(x []float64) (float64, float64) {
				return 2 * bump(x[0], .12, .2), 2*bump(x[0], .83, .2) - .7
			},
			few(5, 100),
		},
		{
			"satisfied on a narrow peak far from the initial nodes",
			[]float64{0},
			[]float64{1},
			func(x []float64) (float64, float64) {
				return x[0], 1.5*bump(x[0], .315, .06) - .5
			},
			few(4, 100),
		},
		{"a peak in the plane", []float64{0, -1}, []float64{2, 1}, func(x []float64) (float64, float64) {
			return x[0] - x[1], 1.5*bump(x[0], .6, .35)*bump(x[1], .6, .35) - .5
		}, few(6, 100)},
	}
}

// boxGoals returns the gain and the guardrail.
func boxGoals(t *testing.T) *pasto.Goals {
	t.Helper()
	f, err := pasto.NewGoals([]pasto.Metric{{Name: "gain"}, {Name: "guard", Role: pasto.Guardrail, Hard: true}}, 0)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func playBox(t *testing.T, c *Learner, world func(x []float64) (float64, float64), rounds int, r *random.Source) {
	t.Helper()
	arms, obs := make([]int, 4), make([]pasto.Observation, 4)
	for range rounds {
		c.Draw(r, arms)
		for q, k := range arms {
			a, b := world(c.Point(k))
			obs[q] = pasto.Observation{Arm: k, Metrics: []float64{a + .2*r.NormFloat64(), b + .2*r.NormFloat64()}}
		}
		if err := c.Observe(obs); err != nil {
			t.Fatal(err)
		}
	}
}

// With a hard guardrail the search follows the dual prices. It finds points that satisfy the
// guardrail where no node does. The mixture comes close to the best of a fine grid and satisfies
// the guardrail in the true means.
func TestContinuousHard(t *testing.T) {
	testsize.NoRace(t)
	for _, b := range hardBoxes() {
		t.Run(b.name, func(t *testing.T) {
			f := boxGoals(t)
			best, err := b.brute(f)
			if err != nil {
				t.Fatal(err)
			}
			broken := 0
			for seed := range uint64(5) {
				c, err := New(f, b.lower, b.upper, b.options)
				if err != nil {
					t.Fatal(err)
				}
				playBox(t, c, b.world, 5000*len(b.lower), random.New(seed, "box"))
				gain, guard := 0.0, 0.0
				for k, w := range c.Deployed() {
					x, y := b.world(c.Point(k))
					gain += w * x
					guard += w * y
				}
				t.Logf("seed %d: optimum %.4f, found %.4f, guardrail %+.4f, %d nodes, gap %.4f", seed, best.Value, gain,
					guard, c.Arms(), c.Gap())
				if guard < -1e-9 {
					broken++
				}
				if gain < best.Value-.1 || guard < -.02 {
					t.Errorf("seed %d: found %v with %v, the optimum is %v", seed, gain, guard, best.Value)
				}
				if least, sure := c.Infeasible(); least != nil || sure {
					t.Errorf("seed %d: infeasible %v, sure %v", seed, least, sure)
				}
			}
			if broken > 1 {
				t.Errorf("the guardrail is broken in %d of 5 runs", broken)
			}
		})
	}
}

// A guardrail that no mixture of the nodes satisfies is not surely infeasible while a point between
// the nodes might satisfy it. One that no point of the box satisfies is surely infeasible after
// enough rounds, with nearly the least violation of a fine grid.
func TestContinuousInfeasible(t *testing.T) {
	f := boxGoals(t)
	peak := hardBoxes()[1]
	o := few(4, 100)
	o.MaxNodes = o.Nodes // no search
	c, err := New(f, peak.lower, peak.upper, o)
	if err != nil {
		t.Fatal(err)
	}
	playBox(t, c, peak.world, 2000, random.New(1, "box"))
	if least, sure := c.Infeasible(); least == nil || sure {
		t.Errorf("%v, sure %v: want a violation for the nodes, and not sure", least, sure)
	}
	never := func(x []float64) (float64, float64) { return x[0], -.3 - .4*(x[0]-.6)*(x[0]-.6) }
	c, err = New(f, peak.lower, peak.upper, peak.options)
	if err != nil {
		t.Fatal(err)
	}
	playBox(t, c, never, 3000, random.New(1, "box"))
	least, sure := c.Infeasible()
	if least == nil || !sure || math.Abs(least.Violation-.3) > .03 {
		t.Errorf("%v, sure %v: want a violation of 0.3, and sure", least, sure)
	}
}

// A point between the nodes need only compensate the part of their violation that exceeds the
// guardrail's slack.
func TestContinuousSlack(t *testing.T) {
	// The nodes end at .75, and the guardrail holds from .96.
	slope := func(x []float64) (float64, float64) { return -x[0], .5*x[0] - .8 }
	for _, c := range []struct {
		slack float64
		sure  bool
	}{{.32, false}, {.01, true}} {
		f := pastotest.One(t, pasto.Metric{Name: "gain"},
			pasto.Metric{Name: "guard", Role: pasto.Guardrail, Hard: true, Slack: c.slack})
		o := few(4, 100)
		if !c.sure {
			o.MaxNodes = o.Nodes // no search
		}
		b, err := New(f, []float64{0}, []float64{1}, o)
		if err != nil {
			t.Fatal(err)
		}
		playBox(t, b, slope, 3000, random.New(1, "slack"))
		if least, sure := b.Infeasible(); least == nil || sure != c.sure {
			t.Errorf("slack %v: %v, sure %v", c.slack, least, sure)
		}
		if c.slack > .05 {
			searched(t, f, slope)
		}
	}
}

// searched checks that the search finds a mixture that is feasible only because of the slack.
func searched(t *testing.T, f *pasto.Goals, world func(x []float64) (float64, float64)) {
	t.Helper()
	c, err := New(f, []float64{0}, []float64{1}, few(4, 100))
	if err != nil {
		t.Fatal(err)
	}
	playBox(t, c, world, 3000, random.New(1, "slack"))
	guard := 0.0
	for k, w := range c.Deployed() {
		_, y := world(c.Point(k))
		guard += w * y
	}
	if least, sure := c.Infeasible(); least != nil || sure || guard < -.33 {
		t.Errorf("infeasible %v, sure %v, guardrail at %v", least, sure, guard)
	}
}

// The search works for values of any size that a learner accepts: in units of u it is the same.
func TestContinuousEnormous(t *testing.T) {
	for _, hard := range []bool{false, true} {
		offset := -.1 // soft: no point satisfies it
		if hard {
			offset = .1
		}
		for _, u := range []float64{1e50, 1e60, 1e78, 1e90, 1e98} {
			f := pastotest.One(t, pasto.Metric{Name: "x"}, pasto.Metric{Name: "y", Role: pasto.Guardrail, Hard: hard})
			c, err := New(f, []float64{0}, []float64{1}, few(4, 20))
			if err != nil {
				t.Fatal(err)
			}
			r, arms := random.New(1, "enormous"), make([]int, 2)
			for n := range 200 {
				c.Draw(r, arms)
				var obs []pasto.Observation
				for _, k := range arms {
					x := c.Point(k)[0]
					obs = append(obs, pasto.Observation{
						Arm:     k,
						Metrics: []float64{u * (x + .1*stat.Normal(r)), u * (offset - x + .1*stat.Normal(r))},
					})
				}
				if err := c.Observe(obs); err != nil {
					t.Fatalf("u = %v, round %d: %v", u, n, err)
				}
			}
			c.Infeasible()
			if !vec.IsFinite(c.Gap()) || c.Arms() < 6 {
				t.Errorf("u = %v, hard %v: %d nodes, a gap of %v: want a search", u, hard, c.Arms(), c.Gap())
			}
		}
	}
}

// The tolerance concerns the objective. While no mixture of the nodes satisfies the hard
// guardrails, the search continues whatever the tolerance.
func TestToleranceWaitsForGuardrails(t *testing.T) {
	b := hardBoxes()[1]
	for _, tolerance := range []float64{.3, 1, 1e6} {
		o := b.options
		o.Tolerance, o.Stop = tolerance, true
		c, err := New(boxGoals(t), b.lower, b.upper, o)
		if err != nil {
			t.Fatal(err)
		}
		playBox(t, c, b.world, 5000, random.New(1, "box"))
		if least, _ := c.Infeasible(); least != nil {
			t.Errorf("tolerance %v: after 5,000 rounds and %d nodes: %v", tolerance, c.Arms(), least)
		}
	}
}
