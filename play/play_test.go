package play

import (
	"context"
	"math"
	"slices"
	"testing"

	"github.com/noregret/noregret/internal/testsize"
	"github.com/noregret/noregret/regret"
)

// TestEveryPair plays every learner in every game that it can play and checks its bounds.
func TestEveryPair(t *testing.T) {
	sharper := map[string]bool{} // learners with a sharp bound below the stated one
	infos, err := Learners()
	if err != nil {
		t.Fatal(err)
	}
	for _, info := range infos {
		if len(info.Games) == 0 {
			t.Errorf("%s plays no game", info.Name)
		}
		for _, game := range info.Games {
			for _, rounds := range []int{4, 9, 150} {
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
						t.Errorf("%s in %s, seed %d, %d rounds: regret %v above the bound %v", info.Name, game, r.Seed,
							rounds, r.Regret, r.Bound)
					}
					if s := r.SharpBound; !math.IsNaN(s) {
						sharp := *r.Certificate
						if sharp.Bound = s; s > r.Bound || !sharp.Holds() {
							t.Errorf("%s in %s, seed %d, %d rounds: regret %v, bound %v, sharp bound %v", info.Name,
								game, r.Seed, rounds, r.Regret, r.Bound, s)
						}
						if s < r.Bound {
							sharper[info.Name] = true
						}
					}
					if e, err := regret.FindGame(game); err != nil || e == nil {
						t.Error(err)
					}
				}
			}
		}
	}
	for _, name := range []string{"adagrad", "adagrad-full", "ogd-adaptive", "ons"} {
		if !sharper[name] {
			t.Errorf("%s has no sharp bound below its bound in any game", name)
		}
	}
}

// TestWorkersDoNotMatter compares the results of one worker and of several, bit for bit.
func TestWorkersDoNotMatter(t *testing.T) {
	o := Options{
		Learners: []string{"adagrad", "ogd-fixed", "ftrl:alpha=2"}, Game: "linear-box:density=0.3",
		Rounds: 300, Seed: 5, Runs: 4, Checkpoints: 5, Workers: 1,
	}
	one, err := Run(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	o.Workers = 4
	many, err := Run(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	if len(one) != 12 || len(many) != 12 {
		t.Fatalf("%d and %d results, want 12", len(one), len(many))
	}
	for i := range one {
		a, b := one[i], many[i]
		if a.Learner != b.Learner || a.Seed != b.Seed || a.LearnerLoss != b.LearnerLoss || a.Regret != b.Regret ||
			a.Bound != b.Bound {
			t.Errorf("result %d is %+v with one worker, %+v with four", i, a, b)
		}
	}
	if one[0].Seed != 5 || one[11].Seed != 8 || one[1].Learner != "ogd-fixed" || one[2].Learner != "ftrl:alpha=2" {
		t.Errorf("results are out of order: %v, %v, ...", one[0], one[1])
	}
}

func TestRefusals(t *testing.T) {
	good := Options{Learners: []string{"adagrad"}, Game: "linear-box", Rounds: 5, Runs: 1}
	for what, change := range map[string]func(o *Options){
		"no learners":        func(o *Options) { o.Learners = nil },
		"no rounds":          func(o *Options) { o.Rounds = 0 },
		"no runs":            func(o *Options) { o.Runs = 0 },
		"runs beyond memory": func(o *Options) { o.Runs = math.MaxInt },
		"unknown learner":    func(o *Options) { o.Learners = []string{"adagrad", "nobody"} },
		"unknown game":       func(o *Options) { o.Game = "chess" },
		"wrong set":          func(o *Options) { o.Game = "linear-ball" },
		"unknown option":     func(o *Options) { o.Learners = []string{"adagrad:eta=1"} },
		"option of the game": func(o *Options) { o.Game = "linear-box:depth=1" },
		"text for a number":  func(o *Options) { o.Game = "linear-box:radius=wide" },
		"empty name":         func(o *Options) { o.Learners = []string{""} },
		"option twice":       func(o *Options) { o.Game = "linear-box:radius=1:radius=2" },
		"negative dimension": func(o *Options) { o.Dim = -1 },
		"examples":           func(o *Options) { o.Examples = []regret.Example{{Z: []float64{1}, Y: 1}} },
	} {
		o := good
		change(&o)
		if _, err := Run(context.Background(), o); err == nil || err.Error() == "" {
			t.Errorf("%s: taken (%v)", what, err)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	good.Rounds = 100000
	if _, err := Run(ctx, good); err == nil {
		t.Error("a cancelled run returned no error")
	}
}

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
