package play

import (
	"context"
	"math"
	"testing"

	"github.com/noregret/noregret/regret"
)

// TestEveryPair plays every learner in every game that it can play and holds it to its bound.
func TestEveryPair(t *testing.T) {
	infos, err := Learners()
	if err != nil {
		t.Fatal(err)
	}
	for _, info := range infos {
		if len(info.Games) == 0 {
			t.Errorf("%s plays no game", info.Name)
		}
		for _, game := range info.Games {
			for _, rounds := range []int{1, 7, 150} {
				results, err := Run(context.Background(), Options{
					Learners: []string{info.Name}, Game: game, Rounds: rounds, Seed: 3, Runs: 2, Checkpoints: 10,
				})
				if err != nil {
					t.Errorf("%s in %s: %v", info.Name, game, err)
					continue
				}
				for _, r := range results {
					if math.IsInf(r.ComparatorLoss, -1) || r.Comparator == nil {
						t.Errorf("%s in %s has no comparator", info.Name, game)
					}
					if !r.Holds() {
						t.Errorf("%s in %s, seed %d, %d rounds: regret %v above the bound %v", info.Name, game, r.Seed, rounds, r.Regret, r.Bound)
					}
					if e, err := regret.FindGame(game); err != nil || e == nil {
						t.Error(err)
					}
				}
			}
		}
	}
}
