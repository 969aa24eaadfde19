package play

import (
	"context"
	"math"
	"slices"
	"testing"

	"github.com/noregret/noregret/internal/testsize"
	"github.com/noregret/noregret/regret"
)

// TestDefaults plays every game as "noregret play" does when no option is given, 1,000 rounds in
// the game's own dimension, with every learner that fits it. No pair may fail or exceed its bound.
// In the short form the learners take turns: each game is played by every sixth learner, if it
// fits, and by one at least.
func TestDefaults(t *testing.T) {
	infos, err := Learners()
	if err != nil {
		t.Fatal(err)
	}
	for g, game := range regret.Games() {
		t.Run(game.Name, func(t *testing.T) {
			t.Parallel()
			var learners, fitting []string
			for l, info := range infos {
				if !slices.Contains(info.Games, game.Name) {
					continue
				}
				fitting = append(fitting, info.Name)
				if (l+g)%testsize.Of(1, 6) == 0 {
					learners = append(learners, info.Name)
				}
			}
			if len(learners) == 0 {
				learners = fitting[:1]
			}
			results, err := Run(context.Background(), Options{
				Learners: learners, Game: game.Name, Rounds: 1000, Seed: 1, Runs: 1, Checkpoints: 60, Workers: 1,
			})
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range results {
				if !r.Holds() || r.Comparator == nil || math.IsInf(r.ComparatorLoss, -1) {
					t.Errorf("%s: loss %v, regret %v, bound %v, comparator %v", r.Learner, r.LearnerLoss, r.Regret,
						r.Bound, r.Comparator)
				}
			}
		})
	}
}
