package drift

import (
	"math"
	"slices"
	"testing"

	"github.com/noregret/noregret/convex"
	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/snapshot/snapshottest"
	"github.com/noregret/noregret/loss"
	"github.com/noregret/noregret/oco"
	"pgregory.net/rapid"
)

func TestOracleO9Ader(t *testing.T) {
	l := must(NewAder(HedgeOptions{Set: must(convex.NewCenteredBall(2, 1)), Lipschitz: 1, Rounds: 10000}))
	prior := l.Weights()
	if len(prior) != 8 {
		t.Fatalf("%d experts, want 8", len(prior))
	}
	near(t, "first weight", prior[0], .5625)
	near(t, "second weight", prior[1], .1875)
	near(t, "last weight", prior[7], .015625)
	if err := l.Update([]float64{1, 0}); err != nil {
		t.Fatal(err)
	}
	near(t, "bound for P = 0", must(l.PathBound(0)), 898.721593)
	near(t, "bound for P = 100", must(l.PathBound(100)), 3585.573106)
}

// TestAderFirstRound computes the point after one round by hand.
func TestAderFirstRound(t *testing.T) {
	l := must(NewAder(HedgeOptions{Set: must(convex.NewCenteredBall(1, 1)), Lipschitz: 1, Rounds: 10000}))
	prior := slices.Clone(l.Weights())
	if err := l.Update([]float64{.5}); err != nil {
		t.Fatal(err)
	}
	// All were at 0 and lost nothing, so the weights are the prior's.
	want := 0.0
	for i, w := range prior {
		want -= w * min(.5*math.Ldexp(.0374165738677, i), 1)
	}
	near(t, "x", l.Predict()[0], want)
	if err := l.Update([]float64{-1}); err != nil {
		t.Fatal(err)
	}
	total := 0.0
	for i, w := range prior {
		prior[i] = w * math.Exp(-.0070710678118655*min(.5*math.Ldexp(.0374165738677, i), 1))
		total += prior[i]
	}
	for i, w := range l.Weights() {
		near(t, "weight", w, prior[i]/total)
	}
}

// dynamic is what the learners for an unknown variation have in common.
type dynamic interface {
	oco.Learner
	oco.LossLearner
	oco.Bounder
	oco.Counter
	DynamicBounder
	snapshottest.Snapshotter
}

// dynamics are the learners with gradients for an unknown variation, on a set with losses of the
// Lipschitz constant and the curvature.
func dynamics(set convex.Set, lipschitz, curvature float64, rounds int) map[string]dynamic {
	o := HedgeOptions{Set: set, Lipschitz: lipschitz, Rounds: rounds}
	g := DefaultGradientOptions(must(NewBudget(rounds, 3)), set, lipschitz)
	all := map[string]dynamic{
		"ader": must(NewAder(o)), "dyadic": must(NewDyadic(o)),
		"adaptive":  must(NewAdaptive(AdaptiveOptions{Set: set, Lipschitz: lipschitz})),
		"restarted": must(NewRestartedDescent(g)), "retuned": retuned{must(NewRetuned(g))},
	}
	if curvature > 0 {
		all["adaptive, curved"] = must(NewAdaptive(AdaptiveOptions{
			Set: set, Lipschitz: lipschitz, Curvature: curvature,
		}))
		g.Curvature, g.Mode = curvature, Schedule
		all["restarted, curved"] = must(NewRestartedDescent(g))
	}
	return all
}

// retuned takes whole losses.
type retuned struct{ *Retuned }

func (l retuned) UpdateLoss(f loss.Function) error {
	g := make([]float64, l.Dim())
	f.Subgradient(g, l.Predict())
	return l.Update(g)
}

// TestDynamicBounds: on squared distances to a point that jumps and drifts at random, the regret
// against the minimizers of all rounds is below the bound for the true variation, after every
// round; and for Ader the regret is below the bound for the true path.
func TestDynamicBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const d = 2
		r := random.New(rapid.Uint64().Draw(t, "seed"), "dynamic")
		rounds := rapid.IntRange(1, 150).Draw(t, "rounds")
		jumps := rapid.IntRange(1, 60).Draw(t, "jumps")
		speed := rapid.Float64Range(0, .2).Draw(t, "speed")
		for _, set := range []convex.Set{must(convex.NewCube(d, -1, 1)), must(convex.NewCenteredBall(d, 1))} {
			for name, l := range dynamics(set, 8, 2, rounds) {
				regret, variation, path := 0.0, 0.0, 0.0
				c := []float64{.5, -.5}
				var before *loss.SquaredDistance
				best, last := make([]float64, d), make([]float64, d)
				for round := range rounds {
					for i := range c {
						if round%jumps == 0 {
							c[i] = 2*r.Float64() - 1
						}
						c[i] += speed * (r.Float64() - .5)
					}
					f := must(loss.NewSquaredDistance(slices.Clone(c)))
					set.Project(best, c)
					if before != nil {
						variation += distanceVariation(set, before, f)
						path += math.Hypot(best[0]-last[0], best[1]-last[1])
					}
					copy(last, best)
					before = f
					x := l.Predict()
					if !set.Contains(x, 1e-12) {
						t.Fatalf("%s: %v is not in %v", name, x, set)
					}
					regret += f.Value(x) - f.Value(best)
					if err := l.UpdateLoss(f); err != nil {
						t.Fatal(err)
					}
					if b := must(l.DynamicBound(variation)); regret > b*(1+1e-9) {
						t.Fatalf("%s: regret %v above %v for the variation %v after round %d", name, regret, b,
							variation,
							round+1)
					}
					if p, ok := l.(PathBounder); ok && regret > must(p.PathBound(path))*(1+1e-9) {
						t.Fatalf("%s: regret %v above the bound for the path %v", name, regret, path)
					}
				}
			}
		}
	})
}

// TestDynamicBoundsOfLongGradients: the bounds hold for gradients much longer than G as well, which
// are shortened, and a restored learner keeps them.
func TestDynamicBoundsOfLongGradients(t *testing.T) {
	const d, rounds = 2, 40
	set := must(convex.NewCube(d, -1, 1))
	for _, name := range []string{"ader", "dyadic", "adaptive", "adaptive, curved"} {
		l := dynamics(set, 1e-3, 2, rounds)[name]
		f := must(loss.NewSquaredDistance([]float64{.9, -.9}))
		regret := 0.0
		for range rounds {
			regret += f.Value(l.Predict())
			if err := l.UpdateLoss(f); err != nil {
				t.Fatal(err)
			}
		}
		bound := must(l.DynamicBound(0))
		if static := must(l.Bound(f.C)); regret > bound || regret > static {
			t.Errorf("%s: regret %v above the bound %v or %v", name, regret, bound, static)
		}
		if bound > 2e3 {
			t.Errorf("%s: the bound %v is vacuous", name, bound)
		}
		again := dynamics(set, 1e-3, 2, rounds)[name]
		snapshottest.Restore(t, l, again)
		if b := must(again.DynamicBound(0)); b != bound {
			t.Errorf("%s: bound %v, restored %v", name, bound, b)
		}
	}
}

// TestHedging: with a target that alternates, the learners for an unknown variation do much better
// than one that suits a world that stands still; and there they lose little.
func TestHedging(t *testing.T) {
	const rounds = 5000
	set := must(convex.NewCube(1, -2, 2))
	run := func(l oco.Learner, period int, noise float64) (regret float64) {
		r := random.New(9, "hedging")
		for round := range rounds {
			target := float64(1 - round/period%2)
			x := l.Predict()[0]
			regret += (x - target) * (x - target) / 2
			if err := l.Update([]float64{x - target + noise*r.NormFloat64()}); err != nil {
				t.Fatal(err)
			}
		}
		return regret
	}
	for name, c := range map[string]struct {
		period              int
		noise, moving, calm float64
	}{
		"ader": {250, 1, 200, 110}, "dyadic": {250, 1, 240, 120}, "adaptive": {1000, .1, 140, 10},
		"adaptive, curved": {1000, .1, 330, 5},
	} {
		moving := run(dynamics(set, 3, 1, rounds)[name], c.period, c.noise)
		calm := run(dynamics(set, 3, 1, rounds)[name], rounds, c.noise)
		still := run(must(oco.NewSubgradientDescent(set, nil, oco.StronglyConvex(1))), c.period, c.noise)
		if moving > c.moving || calm > c.calm || moving > .6*still {
			t.Errorf("%s: regret %.1f with changes, %.1f without; that of never adapting is %.1f", name, moving, calm,
				still)
		}
	}
}

func TestDynamicsContinue(t *testing.T) {
	set := must(convex.NewCube(3, -1, 1))
	for name, a := range dynamics(set, 2, 1, 60) {
		b := dynamics(set, 2, 1, 60)[name]
		r := random.New(11, name)
		g := make([]float64, 3)
		draw := func() []float64 {
			for i := range g {
				g[i] = 4 * (r.Float64() - .5)
			}
			return g
		}
		for range 21 {
			if err := a.Update(draw()); err != nil {
				t.Fatal(err)
			}
		}
		snapshottest.Restore(t, a, b)
		for range 6 {
			if !slices.Equal(a.Predict(), b.Predict()) {
				t.Fatalf("%s: %v, restored %v", name, a.Predict(), b.Predict())
			}
			draw()
			if a.Update(g) != nil || b.Update(g) != nil {
				t.Fatal("refused")
			}
		}
		if a.Rounds() != 27 {
			t.Errorf("%s: %d rounds", name, a.Rounds())
		}
		before := must(a.MarshalBinary())
		refused(t, name, a.Update([]float64{math.NaN(), 0, 0}))
		refused(t, name, a.Update([]float64{1}))
		_, err := a.DynamicBound(math.NaN())
		refused(t, name, err)
		_, err = a.Bound([]float64{1})
		refused(t, name, err)
		if !slices.Equal(before, must(a.MarshalBinary())) {
			t.Errorf("%s: a refused call changed it", name)
		}
		if name == "restarted" || name == "restarted, curved" {
			continue // a restart makes a learner
		}
		for range 38 {
			if err := a.Update(draw()); err != nil {
				t.Fatal(err)
			}
		}
		if n := testing.AllocsPerRun(20, func() { _, _ = a.Predict(), a.Update(g) }); n != 0 {
			t.Errorf("%s: %v allocations a round", name, n)
		}
	}
}

func TestHedgesRefuse(t *testing.T) {
	set := must(convex.NewCube(2, -1, 1))
	good := HedgeOptions{Set: set, Lipschitz: 1, Rounds: 10}
	for name, change := range map[string]func(o *HedgeOptions){
		"set":       func(o *HedgeOptions) { o.Set = nil },
		"space":     func(o *HedgeOptions) { o.Set = must(convex.NewSpace(2)) },
		"lipschitz": func(o *HedgeOptions) { o.Lipschitz = 0 },
		"rounds":    func(o *HedgeOptions) { o.Rounds = 0 },
		"first":     func(o *HedgeOptions) { o.First = []float64{3, 3} },
	} {
		o := good
		change(&o)
		refused(t, name, second(NewAder(o)))
		refused(t, name, second(NewDyadic(o)))
		if name != "rounds" {
			refused(t, name, second(NewAdaptive(AdaptiveOptions{Set: o.Set, Lipschitz: o.Lipschitz, First: o.First})))
		}
	}
	refused(t, "curvature", second(NewAdaptive(AdaptiveOptions{Set: set, Lipschitz: 1, Curvature: -1})))
	refused(t, "nil loss", must(NewAder(good)).UpdateLoss(nil))
	refused(t, "nil loss", must(NewAdaptive(AdaptiveOptions{Set: set, Lipschitz: 1})).UpdateLoss(nil))
	_, err := must(NewAder(good)).PathBound(-1)
	refused(t, "path", err)
	_, err = must(NewAdaptive(AdaptiveOptions{Set: set, Lipschitz: 1})).IntervalBound(3, 2)
	refused(t, "interval", err)
	l := must(NewAder(HedgeOptions{Set: set, Lipschitz: 1, Rounds: 1}))
	for range 2 {
		if err := l.Update([]float64{9, 9}); err != nil {
			t.Fatal(err)
		}
	}
	if b := must(l.PathBound(0)); !math.IsInf(b, 1) {
		t.Errorf("a bound of %v after the horizon", b)
	}
}
