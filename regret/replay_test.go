package regret_test

import (
	"context"
	"math"
	"testing"

	"github.com/noregret/noregret/internal/vec"
	"github.com/noregret/noregret/oco"
	"github.com/noregret/noregret/regret"
)

// TestReplay compares the certified comparator of logistic losses with a long independent solve.
func TestReplay(t *testing.T) {
	for _, radius := range []float64{0.5, 3, 50} { // active and inactive constraints
		g, _, err := must(regret.FindGame("classification")).New(regret.GameParams{
			Dim: 3, Seed: 5, Options: map[string]float64{"radius": radius, "examples": 40},
		})
		if err != nil {
			t.Fatal(err)
		}
		u, value, gap, err := regret.Replay(context.Background(), g, 80)
		if err != nil {
			t.Fatal(err)
		}
		// Plain projected gradient, many steps of 1/(T·M).
		x, grad, sum := make([]float64, 3), make([]float64, 3), make([]float64, 3)
		var f float64
		before := make([]float64, 3)
		for range 12000 {
			copy(before, x)
			g.Restart()
			clear(sum)
			f = 0
			for range 80 {
				l := must(g.Next(x))
				f += l.Value(x)
				l.Subgradient(grad, x)
				for i := range sum {
					sum[i] += grad[i]
				}
			}
			for i := range x {
				x[i] -= sum[i] / (80 * .25)
			}
			g.Set().Project(x, x)
			if vec.MaxDistance(x, before) < 1e-13*radius {
				break
			}
		}
		if gap > 1e-7*value || math.Abs(value-f) > gap+1e-9*f {
			t.Errorf("radius %v: Replay %v at %v with gap %v, descent %v at %v", radius, value, u, gap, f, x)
		}
	}
	space := must(regret.NewRegression([]regret.Example{{[]float64{1}, 1}}, math.Inf(1)))
	if _, _, _, err := regret.Replay(context.Background(), space, 3); err == nil {
		t.Error("a replay on an unbounded set")
	}
}

// TestReplayKinks: with kinks the gap is larger but still certified.
func TestReplayKinks(t *testing.T) {
	for _, name := range []string{"absolute", "linear-ball", "experts", "guess", "gradual"} {
		g, _, err := must(regret.FindGame(name)).New(regret.GameParams{Seed: 3})
		if err != nil {
			t.Fatal(err)
		}
		_, value, gap, err := regret.Replay(context.Background(), g, 101)
		if err != nil {
			t.Fatal(err)
		}
		c := play(t, must(oco.NewLinearLeader(g.Set(), nil)), g, 101)
		if best := c.ComparatorLoss; value < best-c.Gap-1e-12*(1+math.Abs(best)) ||
			value-gap > best+1e-12*(1+math.Abs(best)) || gap > 0.05*(1+math.Abs(best)) {
			t.Errorf("%s: replays find %v with gap %v, the summary %v", name, value, gap, best)
		}
	}
}
