package regret_test

import (
	"context"
	"testing"

	"github.com/noregret/noregret/oco"
	"github.com/noregret/noregret/regret"
)

// TestGolden pins loss, regret and bound of games of 500 rounds with seed 1. They were checked for
// sense when they were taken: 0 < regret ≤ bound, but for the gradual game, where a learner that
// follows the losses beats every fixed point.
func TestGolden(t *testing.T) {
	for _, c := range []struct {
		game, learner       string
		loss, regret, bound float64
	}{
		{"linear-ball", "ogd-adaptive", -46.4495273165, 9.26532244268, 33.475089098},
		{"linear-box", "adagrad", -99.0429222856, 35.9323045126, 105.771160506},
		{"experts", "adahedge", 217.819414933, 11.8194149333, 15.2170295751},
		{"regression", "vaw", 25.6012073281, 3.892125861, 5.43741375604},
		{"classification", "ons", 258.182484552, 22.4229087117, 43.3086994603},
		{"sparse", "composite-ftrl", -38.890779155, 5.67627139547, 19.6408384115},
		{"drift", "mean-leader", 198.693471627, 1.59305277288, 1.59305277288},
		{"gradual", "gradual-ftrl", 0.300111171879, -11.53913034, 0.697885298299},
		{"absolute", "ogd-sqrt", 138.380608684, 12.5660690084, 32.8220208846},
		{"linear-space", "ftrl", -87.292819488, 469.855678104, 1124.22142002},
	} {
		const rounds = 500
		g, f, err := must(regret.FindGame(c.game)).New(regret.GameParams{Rounds: rounds, Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		options := map[string]float64{}
		if f.L1 > 0 {
			options["kappa"] = f.L1
		}
		l := must(must(oco.Find(c.learner)).New(problem(g.Set(), rounds, f), options))
		var p regret.Player = l
		if f.L1 > 0 {
			p = must(regret.NewWithoutL1(l, f.L1))
		}
		got := must(regret.Play(context.Background(), p, g, rounds, regret.Options{}))
		near(t, c.game+"/"+c.learner+": loss", got.LearnerLoss, c.loss)
		near(t, c.game+"/"+c.learner+": regret", got.Regret, c.regret)
		near(t, c.game+"/"+c.learner+": bound", got.Bound, c.bound)
	}
}
