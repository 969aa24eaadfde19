package regret_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/noregret/noregret/regret"
)

// TestOutlines: an outline has the set of the game, and states the facts that the game states.
func TestOutlines(t *testing.T) {
	outlines := 0
	for _, e := range regret.Games() {
		for _, dim := range []int{1, 2, 5} {
			for _, radius := range []float64{0, .5, 3} {
				p := regret.GameParams{Dim: dim, Rounds: 10, Seed: 1}
				if e.FixedDim {
					p.Dim = 0
				}
				for _, o := range e.Options {
					if o.Name == "radius" && radius >= o.Low && e.Outline != nil {
						p.Options = map[string]float64{"radius": radius}
					}
				}
				set, facts, err := e.Preview(p)
				if err != nil {
					t.Fatalf("%s: %v", e.Name, err)
				}
				if set == nil {
					continue
				}
				outlines++
				game, want, err := e.New(p)
				if err != nil {
					t.Fatal(err)
				}
				if a, b := fmt.Sprint(set), fmt.Sprint(game.Set()); a != b {
					t.Errorf("%s: the outline's set is %s, the game's %s", e.Name, a, b)
				}
				if a, b := stated(facts), stated(want); a != b {
					t.Errorf("%s with %v: the outline states %s, the game %s", e.Name, p.Options, a, b)
				}
				p.Examples = []regret.Example{{Z: make([]float64, dim), Y: 1}}
				if set, _, err := e.Preview(p); set != nil || err != nil {
					t.Errorf("%s: an outline with examples: %v, %v", e.Name, set, err)
				}
			}
		}
		if _, _, err := e.Preview(regret.GameParams{Rounds: 10, Dim: -1}); err == nil {
			t.Errorf("%s: a negative dimension was taken", e.Name)
		}
	}
	if outlines < 18 {
		t.Errorf("%d outlines were compared", outlines)
	}
}

// stated tells which facts are known.
func stated(f regret.Facts) string {
	known := func(v float64) bool { return v > 0 && !math.IsInf(v, 1) }
	return fmt.Sprint(known(f.Lipschitz), known(f.LipschitzInf), known(f.StrongConvexity), known(f.Smoothness),
		known(f.ExpConcavity), f.SquaredDistance, f.Features, f.L1, f.Vertices)
}
