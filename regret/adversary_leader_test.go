package regret_test

import (
	"context"
	"fmt"
	"math"
	"testing"

	"github.com/noregret/noregret/convex"
	"github.com/noregret/noregret/oco"
	"github.com/noregret/noregret/regret"
)

func TestLeaderTrap(t *testing.T) {
	g := regret.NewLeaderTrap()
	for _, start := range []float64{0, 1, -0.5} {
		l := must(oco.NewLinearLeader(g.Set(), []float64{start}))
		c := play(t, l, g, 10)
		near(t, "the leader's loss", c.LearnerLoss, 9-start/2)
		near(t, "LeaderLoss", g.LeaderLoss(10, start), c.LearnerLoss)
		near(t, "the best point's loss", c.ComparatorLoss, -0.5)
		near(t, "the regret", c.Regret, 9.5-start/2)
	}
	zero := must(regret.Play(context.Background(), must(oco.NewLinearLeader(g.Set(), nil)), g, 10,
		regret.Options{Comparator: []float64{0}}))
	near(t, "the regret against 0", zero.Regret, 9)
	c := play(t, descent(g.Set(), oco.Adaptive(2*math.Sqrt2/2)), g, 1000)
	if !c.Holds() || c.Regret > 2*math.Sqrt2*math.Sqrt(1000) {
		t.Errorf("adaptive descent: regret %v, bound %v", c.Regret, c.Bound)
	}
}

func TestDecreasingRate(t *testing.T) {
	for rounds, want := range map[int][3]float64{
		400:  {168.9995331993, 5.8189832352, 33.3021844463},
		1600: {733.6063452867, 5.8326300477, 66.6043688926},
		6400: {3062.7433750435, 5.8326361736, 133.2087377852},
	} {
		g := must(regret.NewDecreasingRate(rounds))
		set := must(convex.NewSimplex(2))
		reg := must(convex.Restrict(must(convex.NewNegativeEntropy(2)), set))
		rate := oco.RateFunc("√(ln2/t)", func(t int) float64 { return math.Sqrt(math.Ln2 / float64(t)) })
		near(t, fmt.Sprintf("mirror descent, T = %d", rounds),
			play(t, must(oco.NewMirrorDescent(reg, nil, rate, math.Inf(1))), g, rounds).Regret, want[0])
		c := play(t, must(oco.NewEntropicFTRL(2, 1, 1/math.Sqrt(math.Ln2))), g, rounds)
		near(t, fmt.Sprintf("FTRL, T = %d", rounds), c.Regret, want[1])
		near(t, "2L√(T ln d)", 2*math.Sqrt(float64(rounds)*math.Ln2), want[2])
		if !c.Holds() || c.Bound > want[2]*(1+1e-12) {
			t.Errorf("T = %d: regret %v, bound %v", rounds, c.Regret, c.Bound)
		}
	}
}
