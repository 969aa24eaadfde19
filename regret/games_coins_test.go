package regret_test

import (
	"context"
	"math"
	"testing"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/testsize"
	"github.com/noregret/noregret/loss"
	"github.com/noregret/noregret/oco"
	"github.com/noregret/noregret/regret"
)

// lossesOf returns copies of the first losses of a game.
func lossesOf(t *testing.T, g regret.Game, rounds int) []loss.Function {
	t.Helper()
	g.Restart()
	all := make([]loss.Function, rounds)
	x := make([]float64, g.Set().Dim())
	for i := range all {
		f := *must(g.Next(x)).(*regret.Tilt)
		all[i] = &f
	}
	return all
}

// both returns the two losses of a trap, the one with the lower slope first.
func both(t *testing.T, g regret.Game) (f1, f2 *regret.Tilt) {
	t.Helper()
	for _, f := range lossesOf(t, g, 100) {
		f := f.(*regret.Tilt)
		if f1 == nil || f.Slope < f1.Slope {
			f1 = f
		}
		if f2 == nil || f.Slope > f2.Slope {
			f2 = f
		}
	}
	return f1, f2
}

// TestOracleO6: values of the losses of Besbes, Gur and Zeevi (2015), equations, with
// δ = 0.1, computed by hand.
func TestOracleO6(t *testing.T) {
	g := must(regret.NewGradientTrap(regret.Trap{Batch: 1, Delta: 0.1}, 0, 1))
	f1, f2 := both(t, g)
	at := func(f loss.Function, x float64) float64 { return f.Value([]float64{x}) }
	near(t, "f1(.85)", at(f1, 0.85), 0.44)
	near(t, "f1(.5)", at(f1, 0.5), 0.5)
	near(t, "f2(.15)", at(f2, 0.15), 0.44)
	near(t, "f1(0)", at(f1, 0), 0.6625)
	near(t, "f2(0)", at(f2, 0), 0.4625)
	v := must(regret.VariationOf(g.Set(), []loss.Function{f1, f2}))
	near(t, "A-7: sup", v.Total, 0.2)
	near(t, "A-7: path", v.Path, 0.7)
	if !v.Exact {
		t.Error("A-7: the variation is not exact")
	}

	g = must(regret.NewCurvedTrap(regret.Trap{Batch: 1, Delta: 0.1}, 0, 1))
	f2, f1 = both(t, g) // the slope of f2 is −1.1
	near(t, "A-12: min f1", at(f1, 0.5), 0.5)
	near(t, "A-12: min f2", at(f2, 0.55), 0.4975)
	v = must(regret.VariationOf(g.Set(), []loss.Function{f1, f2}))
	near(t, "A-12: sup over the hull", v.Hull, 0.005)
	near(t, "A-12: sup over [0, 1]", v.Total, 0.05)
	near(t, "A-12: path", v.Path, 0.05)
}

// TestOracleO7: the instances of the lower bounds for T = 10⁴, V = 4 and C̃ = ½, that is noise 1.
func TestOracleO7(t *testing.T) {
	g := must(regret.GradientTrap(10000, 4, 1))
	if g.Batch != 146 {
		t.Errorf("Theorem 2: batch %d, want 146", g.Batch)
	}
	near(t, "Theorem 2: delta", g.Delta, 0.0292)
	near(t, "Theorem 2: divergence", g.Divergence, 0.99588352)
	near(t, "Theorem 2: floor", g.Floor, 7.1058857093)
	c := must(regret.CurvedTrap(10000, 4, 1))
	if c.Batch != 50 {
		t.Errorf("Theorem 4: batch %d, want 50", c.Batch)
	}
	near(t, "Theorem 4: delta", c.Delta, 0.2)
	near(t, "Theorem 4: divergence", c.Divergence, 1)
	near(t, "Theorem 4: floor", c.Floor, 1.1496232537)
}

// TestCostTrap: the floor of a batch solves its equation, and no batch length other than ⌈(T/V)^⅔⌉
// is used.
func TestCostTrap(t *testing.T) {
	for _, c := range []struct {
		rounds       int
		v, sd        float64
		batch, whole int
	}{{1000, 1, 1, 100, 10}, {10000, 10, 0.5, 100, 100}, {10000, 4, 1, 185, 54}, {50, 50, 1, 1, 50}} {
		trap := must(regret.CostTrap(c.rounds, c.v, c.sd))
		if trap.Batch != c.batch {
			t.Errorf("%+v: batch %d", c, trap.Batch)
		}
		square := trap.Delta * trap.Delta
		r := trap.Floor / float64(c.whole)
		near(t, "the fixed point", r, float64(c.batch)*square/128*math.Exp(-square/(c.sd*c.sd)*r))
	}
}

// TestTrapsKeepTheirBudget: the measured variation of every trap is within its budget, and the
// difference of the losses is capped where the budget is large.
func TestTrapsKeepTheirBudget(t *testing.T) {
	for _, rounds := range []int{1, 7, 100, 1000} {
		for _, v := range []float64{0.01, 1, 7, float64(rounds)} {
			if v > float64(rounds) {
				continue
			}
			for _, sd := range []float64{0.01, 1, 100} {
				for name, make := range map[string]func() (regret.Trap, regret.Game){
					"gradient": func() (regret.Trap, regret.Game) {
						trap := must(regret.GradientTrap(rounds, v, sd))
						return trap, must(regret.NewGradientTrap(trap, sd, 3))
					},
					"curved": func() (regret.Trap, regret.Game) {
						trap := must(regret.CurvedTrap(rounds, v, sd))
						return trap, must(regret.NewCurvedTrap(trap, sd, 3))
					},
					"cost": func() (regret.Trap, regret.Game) {
						trap := must(regret.CostTrap(rounds, v, sd))
						return trap, must(regret.NewCostTrap(trap, sd, 3))
					},
				} {
					trap, g := make()
					got := must(regret.VariationOf(g.Set(), lossesOf(t, g, rounds)))
					measured := got.Hull
					if name == "gradient" {
						measured = got.Total
					}
					if !(measured <= v*(1+1e-12)) || !got.Exact {
						t.Errorf("%s, T = %d, V = %v, noise %v: variation %+v with %+v", name, rounds, v, sd, got, trap)
					}
					if !(trap.Floor >= 0 && trap.Floor <= float64(rounds)) {
						t.Errorf("%s: floor %v", name, trap.Floor)
					}
				}
			}
		}
	}
}

// TestVariationTrapFloors: the mean dynamic regret of learners in a trap is above the floor that it
// states, for gradient descent with constant and with decreasing steps. Steps of 0 are hurt most.
func TestVariationTrapFloors(t *testing.T) {
	testsize.NoRace(t)
	const rounds, runs = 2000, 30
	for _, name := range []string{"gradient-trap", "curved-trap", "cost-trap", "restless"} {
		for _, rate := range []oco.Rate{oco.Constant(0.001), oco.Constant(0.1), oco.InverseSqrt(1, 2)} {
			entry := must(regret.FindGame(name))
			var sum, floor float64
			for seed := range uint64(runs) {
				g, f, err := entry.New(regret.GameParams{Rounds: rounds, Seed: seed})
				if err != nil {
					t.Fatal(err)
				}
				c, err := regret.Play(context.Background(), descent(g.Set(), rate), g, rounds,
					regret.Options{Dynamic: &regret.DynamicOptions{}})
				if err != nil {
					t.Fatal(err)
				}
				sum += c.Dynamic.Regret
				floor = f.DynamicFloor
				if !(c.Dynamic.Variation.Hull <= f.Variation*(1+1e-9)) {
					t.Errorf("%s: variation %+v, the fact is %v", name, c.Dynamic.Variation, f.Variation)
				}
				if c.Noisy != (f.Noise > 0) {
					t.Errorf("%s: noisy %v with noise %v", name, c.Noisy, f.Noise)
				}
			}
			if mean := sum / runs; !(floor > 0 && mean >= floor) {
				t.Errorf("%s, %v: mean dynamic regret %v, floor %v", name, rate, mean, floor)
			}
		}
	}
}

func TestTrapRefusals(t *testing.T) {
	nan := math.NaN()
	do := func(_ any, err error) error { return err }
	for name, err := range map[string]error{
		"rounds":           do(regret.GradientTrap(0, 1, 1)),
		"variation 0":      do(regret.GradientTrap(10, 0, 1)),
		"variation NaN":    do(regret.CurvedTrap(10, nan, 1)),
		"variation > T":    do(regret.CostTrap(10, 11, 1)),
		"no noise":         do(regret.CurvedTrap(10, 1, 0)),
		"noise NaN":        do(regret.CostTrap(10, 1, nan)),
		"trap of no batch": do(regret.NewGradientTrap(regret.Trap{Delta: 0.1}, 1, 1)),
		"trap too wide":    do(regret.NewGradientTrap(regret.Trap{Batch: 1, Delta: 0.25}, 1, 1)),
		"curved too wide":  do(regret.NewCurvedTrap(regret.Trap{Batch: 1, Delta: 1.1}, 1, 1)),
		"restless 0":       do(regret.NewRestless(0, 0, 1)),
		"negative noise":   do(regret.NewRestless(0.5, -1, 1)),
		"pattern":          do(regret.NewTarget(4, 10, 0, 0, 1)),
		"pattern 0":        do(regret.NewTarget(0, 10, 0, 0, 1)),
		"target rounds":    do(regret.NewTarget(regret.Jump, 0, 0, 0, 1)),
		"start":            do(regret.NewTarget(regret.Jump, 10, -1, 0, 1)),
		"block":            do(regret.NewAlternating(0, 0, 0)),
		"first":            do(regret.NewAlternating(1, 2, 0)),
		"offset":           do(regret.NewAlternating(1, 0, nan)),
		"no losses":        do(regret.VariationOf(interval(), nil)),
		"no set":           do(regret.VariationOf(nil, []loss.Function{&loss.Linear{C: []float64{1}}})),
		"other dimension":  do(regret.VariationOf(interval(), []loss.Function{&loss.Linear{C: []float64{1, 2}}})),
	} {
		if noregret.CodeOf(err) != noregret.BadInput {
			t.Errorf("%s: %v", name, err)
		}
	}
}
