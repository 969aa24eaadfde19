package regret_test

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/convex"
	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/loss"
	"github.com/noregret/noregret/oco"
	"github.com/noregret/noregret/regret"
)

// script is a game that plays given losses.
type script struct {
	set    convex.Set
	losses []loss.Function
	t      int
}

func (g *script) Set() convex.Set         { return g.set }
func (g *script) Features() []float64     { return nil }
func (g *script) Summary() regret.Summary { return nil }
func (g *script) Restart()                { g.t = 0 }
func (g *script) Next([]float64) (loss.Function, error) {
	g.t++
	return g.losses[(g.t-1)%len(g.losses)], nil
}

// kinds are generators of random losses in d dimensions of every kind that can be measured.
func kinds(r *random.Source, d int) map[string]func() loss.Function {
	vector := func() []float64 {
		v := make([]float64, d)
		for i := range v {
			v[i] = 2*r.Float64() - 1
		}
		return v
	}
	example := func(phi loss.Scalar) func() loss.Function {
		return func() loss.Function {
			y := 1.0
			if r.IntN(2) == 0 {
				y = -1
			}
			return must(loss.NewExample(vector(), y, phi))
		}
	}
	all := map[string]func() loss.Function{
		"linear":   func() loss.Function { return must(loss.NewLinear(vector())) },
		"distance": func() loss.Function { return must(loss.NewSquaredDistance(vector())) },
		"composite": func() loss.Function {
			return must(loss.NewComposite(must(loss.NewLinear(vector())), 0.1))
		},
		"squared": example(loss.Squared{}), "logistic": example(loss.LogisticLoss{}),
		"absolute": example(loss.Absolute{}),
	}
	if d == 1 {
		all["tilt"] = func() loss.Function {
			return &regret.Tilt{
				Shape: regret.Shape{Curvature: 1, Wall: 2, Low: -0.3, High: 0.2}, Slope: 4*r.Float64() - 2,
				Offset: r.Float64(),
			}
		}
	}
	return all
}

// TestDynamicRegret compares the dynamic regret, the variation and the interval regret with
// exhaustive searches over grids of points, for losses of every kind.
func TestDynamicRegret(t *testing.T) {
	const rounds = 12
	r := random.New(1, "dynamic")
	for d := 1; d <= 2; d++ {
		set := must(convex.NewCube(d, -1, 1))
		grid := gridOf(d, 60)
		all := kinds(r, d)
		// In order, as all draw from one source.
		for _, name := range slices.Sorted(maps.Keys(all)) {
			draw := all[name]
			t.Run(fmt.Sprintf("%s/%d", name, d), func(t *testing.T) {
				g := &script{set: set}
				for range rounds {
					g.losses = append(g.losses, draw())
				}
				p := &feedbackLog{x: make([]float64, d)}
				c := dynamics(t, p, g, rounds)
				paid, least := make([]float64, rounds), 0.0
				for i, f := range g.losses {
					paid[i] = f.Value(p.x)
					v, _ := lowest(grid, g.losses[i:i+1])
					least += v
				}
				// A grid's minimum is above the true one, and by no more than its mesh allows.
				const mesh = 2.0 / 60 * 3
				if v := c.Dynamic.ComparatorLoss; !(v <= least+1e-9 && v >= least-rounds*mesh) {
					t.Errorf("comparator %v, on the grid %v", v, least)
				}
				near(t, "regret", c.Dynamic.Regret, c.LearnerLoss-c.Dynamic.ComparatorLoss)
				checkVariation(t, c.Dynamic.Variation, grid, g.losses, mesh)
				for _, v := range c.Dynamic.Intervals {
					want := math.Inf(-1)
					for first := v.Length; first+v.Length-1 <= rounds; first += v.Length {
						want = max(want, excess(grid, g.losses, paid, first, v.Length))
					}
					if !(v.Regret >= want-1e-9 && v.Regret <= want+float64(v.Length)*mesh) {
						t.Errorf("interval %+v, on the grid %v", v, want)
					}
				}
				if n := len(c.Dynamic.Intervals); n != 3 { // lengths 1, 2, 4: [4, 7] and [8, 11]
					t.Errorf("%d lengths of intervals", n)
				}
			})
		}
	}
}

// gridOf is a grid of the cube [−1, 1]^d with n cells a side.
func gridOf(d, n int) [][]float64 {
	all := [][]float64{{}}
	for range d {
		var next [][]float64
		for _, x := range all {
			for i := range n + 1 {
				next = append(next, append(append([]float64{}, x...), 2*float64(i)/float64(n)-1))
			}
		}
		all = next
	}
	return all
}

// lowest is the least of a sum of losses on a grid.
func lowest(grid [][]float64, losses []loss.Function) (least float64, at []float64) {
	least = math.Inf(1)
	for _, x := range grid {
		var v float64
		for _, f := range losses {
			v += f.Value(x)
		}
		if v < least {
			least, at = v, x
		}
	}
	return least, at
}

// excess is the regret in an interval against the best point of the grid.
func excess(grid [][]float64, losses []loss.Function, paid []float64, first, length int) float64 {
	v, _ := lowest(grid, losses[first-1:first-1+length])
	for _, w := range paid[first-1 : first-1+length] {
		v -= w
	}
	return -v
}

// checkVariation compares with the largest differences on a grid.
func checkVariation(t *testing.T, v regret.Variation, grid [][]float64, losses []loss.Function, mesh float64) {
	t.Helper()
	var total float64
	for i := 1; i < len(losses); i++ {
		var most float64
		for _, x := range grid {
			most = max(most, math.Abs(losses[i].Value(x)-losses[i-1].Value(x)))
		}
		total += most
	}
	// The grid has the corners of the cube, where affine and convex differences are largest.
	if v.Exact && math.Abs(v.Total-total) > 1e-9 {
		t.Errorf("variation %v, on the grid %v", v.Total, total)
	}
	if !v.Exact && !(v.Total <= total+float64(len(losses))*mesh && v.Total >= 0.7*total) {
		t.Errorf("variation estimated as %v, on the grid %v", v.Total, total)
	}
	if !(v.Hull <= v.Total) || !(v.Hull >= 0) || !(v.Path >= 0) {
		t.Errorf("variation %+v", v)
	}
}

// TestSlidingIntervals compares all intervals of given lengths with searches over a fine grid, and
// with the static regret for the whole game.
func TestSlidingIntervals(t *testing.T) {
	const rounds = 40
	r := random.New(2, "sliding")
	set := must(convex.NewCube(1, -1, 1))
	grid := gridOf(1, 1000)
	for _, name := range []string{"linear", "distance", "composite", "tilt"} {
		g := &script{set: set}
		draw := kinds(r, 1)[name]
		for range rounds {
			g.losses = append(g.losses, draw())
		}
		p := descent(set, oco.Constant(0.2))
		c, err := regret.Play(context.Background(), p, g, rounds,
			regret.Options{Dynamic: &regret.DynamicOptions{Lengths: []int{1, 7, rounds}}})
		if err != nil {
			t.Fatal(err)
		}
		again := must(oco.NewSubgradientDescent(set, nil, oco.Constant(0.2)))
		var paid []float64
		gradient := make([]float64, 1)
		for _, f := range g.losses {
			paid = append(paid, f.Value(again.Predict()))
			f.Subgradient(gradient, again.Predict())
			must(0, again.Update(gradient))
		}
		for i, n := range []int{1, 7, rounds} {
			v := c.Dynamic.Intervals[i]
			want, first := math.Inf(-1), 0
			for k := 1; k+n-1 <= rounds; k++ {
				if e := excess(grid, g.losses, paid, k, n); e > want {
					want, first = e, k
				}
			}
			if v.Length != n || v.First != first || math.Abs(v.Regret-want) > 0.01*float64(n) {
				t.Errorf("%s: interval %+v, on the grid %v from round %d", name, v, want, first)
			}
		}
		if v := c.Dynamic.Intervals[2]; math.Abs(v.Regret-c.Regret) > 1e-6+c.Gap {
			t.Errorf("%s: the regret of all rounds is %v, the static regret %v", name, v.Regret, c.Regret)
		}
		if w := c.Dynamic.Worst(); w.Regret < c.Dynamic.Intervals[1].Regret {
			t.Errorf("%s: the worst interval is %+v", name, w)
		}
	}
}

// TestMovingAgreesWithDynamic: the minimizers, given as a sequence, yield the same dynamic regret.
func TestMovingAgreesWithDynamic(t *testing.T) {
	const rounds = 300
	g := must(regret.NewTarget(regret.Ramp, rounds, 50, 0, 1))
	c, err := regret.Play(context.Background(), descent(g.Set(), oco.Constant(0.1)), g, rounds, regret.Options{
		Dynamic: &regret.DynamicOptions{},
		Moving:  func(u []float64, t int) { u[0] = regret.Ramp.Target(t, 50, rounds) },
	})
	if err != nil {
		t.Fatal(err)
	}
	near(t, "dynamic regret", c.Dynamic.Regret, c.DynamicRegret)
}

// TestEveryGameHasDynamics measures every game whose losses have minima with a learner that plays
// anywhere; the dynamic regret is at least the static one.
func TestEveryGameHasDynamics(t *testing.T) {
	for _, e := range regret.Games() {
		g, f, err := e.New(regret.GameParams{Rounds: 40, Seed: 3})
		if err != nil {
			t.Fatal(err)
		}
		var p regret.Player = descent(g.Set(), oco.Constant(0.1))
		if f.Vertices {
			p = must(regret.NewDeterministic(p))
		}
		c, err := regret.Play(context.Background(), p, g, 40, regret.Options{Dynamic: &regret.DynamicOptions{}})
		if e.Name == "linear-space" || e.Name == "betting-trap" {
			if noregret.CodeOf(err) != noregret.BadInput || !strings.Contains(err.Error(), "no minimum") {
				t.Errorf("%s: %v", e.Name, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", e.Name, err)
			continue
		}
		d := c.Dynamic
		if !(d.Regret+d.Gap >= c.Regret-1e-9) || !(d.Variation.Hull <= d.Variation.Total) || !d.Holds() {
			t.Errorf("%s: static regret %v, dynamics %+v", e.Name, c.Regret, d)
		}
		if !math.IsNaN(f.Variation) && !(d.Variation.Hull <= f.Variation*(1+1e-9)) {
			t.Errorf("%s: variation %v, the fact is %v", e.Name, d.Variation.Hull, f.Variation)
		}
	}
}

// bounded is a player with a dynamic bound.
type bounded struct {
	feedbackLog
	bound, variation float64
}

func (p *bounded) DynamicBound(v float64) (float64, error) {
	p.variation = v
	return p.bound, nil
}

// TestDynamicBound: the player's bound is for the variation over the hull of the minimizers.
func TestDynamicBound(t *testing.T) {
	g := must(regret.NewAlternating(5, 0, 0))
	p := &bounded{feedbackLog: feedbackLog{x: []float64{0}}, bound: 4}
	c := dynamics(t, p, g, 20)
	near(t, "variation", p.variation, 3)
	near(t, "regret", c.Dynamic.Regret, 10)
	if c.Dynamic.Bound != 4 || c.Dynamic.Holds() {
		t.Errorf("%+v", c.Dynamic)
	}
	if p.bound = 10; !dynamics(t, p, g, 20).Dynamic.Holds() {
		t.Error("regret 10 is within 10")
	}
	none := dynamics(t, &feedbackLog{x: []float64{0}}, g, 20)
	if !math.IsInf(none.Dynamic.Bound, 1) || !none.Dynamic.Holds() {
		t.Errorf("%+v", none.Dynamic)
	}
}

// strange is a loss of a kind that the referee does not know.
type strange struct{ loss.Function }

type strangeClone struct{ strange }

func (f strangeClone) Clone() loss.Function { return f }

func TestDynamicRefusals(t *testing.T) {
	set := must(convex.NewCube(1, -1, 1))
	square := must(loss.NewSquaredDistance([]float64{0.25}))
	p := &feedbackLog{x: []float64{0}}
	run := func(g regret.Game, rounds int, lengths ...int) (*regret.Certificate, error) {
		return regret.Play(context.Background(), p, g, rounds,
			regret.Options{Comparator: []float64{0}, Dynamic: &regret.DynamicOptions{Lengths: lengths}})
	}
	for name, g := range map[string]*script{
		"unknown loss": {set: set, losses: []loss.Function{strange{square}}},
		"length 0":     {set: set, losses: []loss.Function{square}},
	} {
		var lengths []int
		if name == "length 0" {
			lengths = []int{0}
		}
		if _, err := run(g, 3, lengths...); err == nil {
			t.Errorf("%s was accepted", name)
		}
	}
	logistic := must(loss.NewExample([]float64{1}, 1, loss.LogisticLoss{}))
	if _, err := run(&script{set: set, losses: []loss.Function{logistic}}, 3, 2); err == nil ||
		!strings.Contains(err.Error(), "geometric") {
		t.Errorf("lengths for logistic losses: %v", err)
	}
	if _, err := run(must(regret.NewAlternating(1, 0, 0)), math.MaxInt); err == nil {
		t.Error("a game that needs too much memory was accepted")
	}
	// A loss that can be cloned is searched for its minimum.
	c, err := run(&script{set: set, losses: []loss.Function{strangeClone{strange{square}}}}, 3)
	if err != nil {
		t.Fatal(err)
	}
	if d := c.Dynamic; math.Abs(d.Regret-3.0/16) > 1e-6 || d.Variation.Exact || d.Variation.Total != 0 {
		t.Errorf("%+v", d)
	}
}
